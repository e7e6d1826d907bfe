/**
 * A small filter to play with: one of the library's own, with its bits as numbers. The positions of
 * a key are the ones of an empty filter that got this key alone, so they are what the library
 * really sets.
 */

import { BloomFilter, CountingBloomFilter } from 'bloomery';
import { payloadOf } from 'bloomery/frames';
import { binaryEntropy } from 'bloomery/math';
import { codingOf, compressFrame, makeDelta } from 'bloomery/wire';

export type Kind = 'bits' | 'counters';

export interface Shape {
  readonly kind: Kind;
  readonly bits: number;
  readonly hashes: number;
}

export const SIZES = [64, 256, 1024, 4096] as const;
export const MOST_HASHES = 8;
/** The highest count of a counter with four bits, where it stays. */
export const SATURATED = 15;

export interface WorkbenchFacts {
  readonly ones: number;
  readonly fill: number;
  readonly estimatedSize: number;
  readonly falsePositiveRate: number;
  readonly saturated: number;
  /** Bytes of the array as it is, by its entropy, and coded by the library, without the head. */
  readonly arrayBytes: number;
  readonly entropyBytes: number;
  readonly codedBytes: number;
  readonly coding: string;
}

export interface DeltaFacts {
  /** Positions that differ from the moment that was marked. */
  readonly changed: readonly number[];
  /** Bytes of the delta as a message, with its head, and of the whole filter in the same way. */
  readonly deltaBytes: number;
  readonly wholeBytes: number;
}

export class Workbench {
  readonly shape: Shape;
  readonly #filter: BloomFilter | CountingBloomFilter;
  #marked: Uint8Array | null = null;

  constructor(shape: Shape, filter?: BloomFilter) {
    this.shape = shape;
    const { kind, bits, hashes } = shape;
    this.#filter =
      filter ??
      (kind === 'bits'
        ? new BloomFilter({ bits, hashes })
        : new CountingBloomFilter({ counters: bits, hashes, counterBits: 4 }));
  }

  add(key: string): void {
    this.#filter.add(key);
  }

  /** Only counters can be taken out. */
  delete(key: string): void {
    if (this.#filter instanceof CountingBloomFilter) this.#filter.delete(key);
  }

  has(key: string): boolean {
    return this.#filter.has(key);
  }

  /** Distinct positions, rising. */
  positionsOf(key: string): number[] {
    const { bits, hashes } = this.shape;
    const alone = new BloomFilter({ bits, hashes });
    alone.add(key);
    return onesOf(alone);
  }

  /** The value of each cell: a bit, or a counter from 0 to 15. */
  cells(): Uint8Array {
    const payload = payloadOf(this.#filter.encode());
    const width = this.shape.kind === 'bits' ? 1 : 4;
    const mask = 2 ** width - 1;
    return Uint8Array.from({ length: this.shape.bits }, (_, i) => {
      const bit = i * width;
      return (payload[bit >> 3] >> (bit & 7)) & mask;
    });
  }

  /** A filter of half the size with the same keys, or null if this one cannot be halved. */
  halved(): Workbench | null {
    const { bits } = this.shape;
    if (!(this.#filter instanceof BloomFilter) || bits <= SIZES[0] / 2) return null;
    return new Workbench({ ...this.shape, bits: bits / 2 }, this.#filter.halve());
  }

  facts(): WorkbenchFacts {
    const snapshot = this.#snapshot();
    const frame = snapshot.encode();
    const head = frame.length - payloadOf(frame).length;
    const coded = compressFrame(frame);
    const fill = snapshot.fill();
    return {
      ones: snapshot.onesCount(),
      fill,
      estimatedSize: snapshot.estimatedSize(),
      falsePositiveRate: snapshot.estimatedFalsePositiveRate(),
      saturated: this.#filter instanceof CountingBloomFilter ? this.#filter.saturatedCount() : 0,
      arrayBytes: this.shape.bits / 8,
      entropyBytes: (this.shape.bits * binaryEntropy(fill)) / 8,
      codedBytes: coded.length - head,
      coding: codingOf(coded),
    };
  }

  /** Remembers this state, for `delta`. */
  mark(): void {
    this.#marked = this.#snapshot().encode();
  }

  /** The changes since the marked moment, or null if there is none. */
  delta(): DeltaFacts | null {
    if (this.#marked === null) return null;
    const now = this.#snapshot();
    const frame = now.encode();
    const [before, after] = [payloadOf(this.#marked), payloadOf(frame)];
    const changed: number[] = [];
    for (let i = 0; i < this.shape.bits; i++)
      if ((((before[i >> 3] ^ after[i >> 3]) >> (i & 7)) & 1) === 1) changed.push(i);
    return {
      changed,
      deltaBytes: makeDelta(this.#marked, frame).length,
      wholeBytes: compressFrame(frame).length,
    };
  }

  #snapshot(): BloomFilter {
    return this.#filter instanceof BloomFilter ? this.#filter : this.#filter.snapshot();
  }
}

function onesOf(filter: BloomFilter): number[] {
  const payload = payloadOf(filter.encode());
  const ones: number[] = [];
  for (let i = 0; i < filter.bits; i++) if (((payload[i >> 3] >> (i & 7)) & 1) === 1) ones.push(i);
  return ones;
}
