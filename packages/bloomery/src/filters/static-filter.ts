/**
 * The static filter: a set that is known beforehand, in fewer bits than any filter that keys can be
 * added to.
 *
 * Survey 2.2 gives the lower bound, n log2(1/p) bits for n keys at rate p. It also shows that a
 * perfect hash function with one fingerprint per key reaches the bound, apart from the function
 * itself. There are two forms of that idea here. Up to 10,000 keys the table is a banded linear
 * system (kernel/tables/band.ts, with the forms that we refused): the fingerprint of a key is the
 * XOR of some of 64 neighbouring columns, and there are hardly more columns than keys. Larger sets
 * are binary fuse filters with four positions per key (Graf, Lemire 2022; kernel/tables/fuse.ts):
 * the fingerprint is the XOR of four slots, of which there are somewhat more than keys.
 * math/fuse-size.ts has the sizes of both.
 *
 * What it promises. `has` answers true for every key of the set. For any other key it answers true
 * with probability 2^-b exactly, where b is the number of bits in a fingerprint. The rate is the
 * same for sets of every size. The same set gives the same bytes, whatever the order of its keys.
 * Building does not fail.
 *
 * What it costs, in memory and in frames alike. Bits per key at b = 8, all included, compared with
 * the bound of 8 and the 11.54 bits of a Bloom filter of the same rate:
 *
 *     keys              10     100    1000   10,000   100,000   1 M     10 M
 *     bits per key      9.60   8.00   8.03   8.21     8.95      8.56    8.38
 *     over the bound    1.20   1.00   1.00   1.03     1.12      1.07    1.05
 *
 * Memory is rounded up to words of 32 bits. Without the rounding ten keys take 8.00 bits each, as
 * they do in the payload of a frame. A lookup reads four slots, or in a band a window for each bit
 * of the fingerprint until one differs. Building a fuse table takes about 150 ns of processor time
 * per key on top of hashing (a million keys, WebAssembly; 400 in JavaScript), and temporarily 31
 * bytes per key.
 *
 * What it cannot do. The table is the solution of one system of equations for all keys together. So
 * there is no `add` and no `delete` (build it again), and no `halve`. There is no `merge`, `union`
 * or `intersection`, because a table that solves both systems cannot be computed from the two
 * solutions. A count of its ones means nothing.
 *
 * Keys are distinguished by their 64-bit hashes. `size` is the number of different hashes, which is
 * one less than the number of different keys with a probability of n^2 / 2^65 (3e-8 for a million).
 */

import { decodeFrame, encodeFrame, type FrameWriter } from '../frames/frame.ts';
import { MOST_FINGERPRINT_BITS, STATIC_FRAME } from '../frames/table-kinds.ts';
import { checkSameScheme, type HashOptions, type HashScheme, hashScheme } from '../hashing/hash-scheme.ts';
import type { KeyBatch } from '../kernel/batches/batch.ts';
import { hashInto, hashOut, type KeyHash } from '../kernel/batches/hash-key.ts';
import { BitStore } from '../kernel/bits/bit-store.ts';
import { bandAnswer } from '../kernel/tables/band.ts';
import { buildBand } from '../kernel/tables/band-build.ts';
import { fuseAnswer } from '../kernel/tables/fuse.ts';
import { buildFuse, hashesOf } from '../kernel/tables/fuse-build.ts';
import { fuseAnswerInWasm, fuseKeyInWasm } from '../kernel/tables/fuse-wasm.ts';
import { WASM_POSSIBLE } from '../kernel/wasm/wasm-possible.ts';
import { checkOptions } from '../keys/check-options.ts';
import type { Key } from '../keys/key.ts';
import { INSPECT } from '../keys/printing.ts';
import { bandColumns, fuseShape } from '../math/fuse-size.ts';
import { areAlike } from './shared/alike.ts';
import { residence } from './shared/batch-probing.ts';
import { bitsAsked, FuseTable, readTable } from './shared/fuse-table.ts';
import type { DecodeOptions } from './shared/options.ts';

/** The size of a fingerprint by its bits or by a rate, never both. */
export type StaticFilterOptions = HashOptions & (FingerprintOption | RateOption);

interface FingerprintOption {
  /** Bits in a fingerprint, from 1 to 32: the rate is 2^-fingerprintBits. Default 8. */
  readonly fingerprintBits?: number;
  readonly falsePositiveRate?: never;
}

interface RateOption {
  /** The rate, instead of `fingerprintBits`. Rounded down to a power of two; at least 2^-32. */
  readonly falsePositiveRate?: number;
  readonly fingerprintBits?: never;
}

export class StaticFilter {
  /** The number of different keys (exactly: of different 64-bit hashes, as explained above). */
  readonly size: number;
  readonly fingerprintBits: number;
  readonly scheme: HashScheme;
  readonly #table: FuseTable;

  private constructor(table: FuseTable) {
    const { size, layout, scheme } = table;
    this.size = size;
    this.fingerprintBits = layout.width;
    this.scheme = scheme;
    this.#table = table;
    Object.freeze(this);
  }

  /** Builds the filter of these keys. A key may occur any number of times. */
  static from(keys: KeyBatch, options: StaticFilterOptions = {}): StaticFilter {
    checkOptions('StaticFilter.from', options, OPTIONS);
    const width = bitsAsked('StaticFilter', 'fingerprintBits', MOST_FINGERPRINT_BITS, options);
    const scheme = hashScheme(options);
    const hashes = hashesOf(keys, scheme);
    const plan = { stride: width, width, ownIndex: false, shapeOf: fuseShape };
    const { size, layout, words } = buildBand(hashes, width, bandColumns) ?? buildFuse(hashes, plan);
    return new StaticFilter(new FuseTable(size, layout, new BitStore(words), scheme, 0));
  }

  /** True if the key may be in the set, false if it certainly is not. */
  has(key: Key): boolean {
    const wasm = WASM_POSSIBLE ? residence(this.#table.store) : null;
    if (WASM_POSSIBLE && wasm !== null) {
      const answer = fuseKeyInWasm(wasm, key, this.scheme, this.#table.store.address, this.#table.layout);
      if (answer >= 0) return answer === 0 && this.size > 0;
    }
    hashInto(key, this.scheme);
    return this.#has(hashOut[0], hashOut[1]);
  }

  /** `has` by the key's hash; see `hashKey`. */
  hasHash(hash: KeyHash): boolean {
    checkSameScheme(hash.scheme, this.scheme);
    return this.#has(hash.low | 0, hash.high | 0);
  }

  /** One byte per key, in order: 1 maybe, 0 certainly not. */
  hasMany(keys: KeyBatch): Uint8Array {
    return this.#table.hasMany(keys);
  }

  /** A copy in memory of its own. */
  copy(): StaticFilter {
    return new StaticFilter(this.#table.copy());
  }

  /** Whether both have the same table and hash scheme: true for equal sets with equal options. */
  equals(other: StaticFilter): boolean {
    return areAlike(StaticFilter, this, other) && this.#table.equals(other.#table);
  }

  /** The false positive rate: 2^-fingerprintBits, or 0 if there are no keys. */
  get falsePositiveRate(): number {
    return this.#table.rate(this.fingerprintBits);
  }

  /** The bytes that the table takes in memory. */
  get byteLength(): number {
    return this.#table.byteLength;
  }

  /**
   * All bits in memory divided by the number of keys, or 0 if there are none. Bound:
   * `fingerprintBits`.
   */
  get bitsPerKey(): number {
    return this.#table.bitsPerKey;
  }

  /** The filter as a frame: bytes to save or send, read back by `StaticFilter.decode` anywhere. */
  encode(): Uint8Array<ArrayBuffer>;
  /** @internal */
  encode<T>(write: FrameWriter<T>): T;
  encode(write: FrameWriter<unknown> = encodeFrame): unknown {
    const { width, attempt, segments, segmentLength } = this.#table.layout;
    return write(STATIC_FRAME, {
      variant: segments > 0 ? 0 : 1,
      scheme: this.scheme,
      parameters: [this.size, width, attempt, segments, segmentLength],
      payload: this.#table.store,
    });
  }

  /** Reads a frame. Throws a `FrameError` if it is invalid; a keyed filter needs its key. */
  static decode(frame: Uint8Array, { key, ...options }: Pick<DecodeOptions, 'key'> = {}): StaticFilter {
    checkOptions('StaticFilter.decode', options, []);
    const { parameters, payload, scheme } = decodeFrame(STATIC_FRAME, frame, key);
    const [size, width, ...table] = parameters;
    return new StaticFilter(new FuseTable(size, ...readTable(payload, table, width), scheme, 0));
  }

  toString(): string {
    const { slots } = this.#table.layout;
    return `StaticFilter(${this.size} keys, ${this.fingerprintBits} fingerprint bits, ${slots} slots, ${this.scheme.id})`;
  }

  /** @internal */
  [INSPECT](): string {
    return this.toString();
  }

  #has(low: number, high: number): boolean {
    const wasm = WASM_POSSIBLE ? residence(this.#table.store) : null;
    const answer =
      WASM_POSSIBLE && wasm !== null
        ? fuseAnswerInWasm(wasm, low, high, this.#table.store.address, this.#table.layout)
        : (this.#table.layout.segments > 0 ? fuseAnswer : bandAnswer)(
            this.#table.store.words,
            this.#table.layout,
            low,
            high,
          );
    // The table of an empty set is all zeros, which would match fingerprints of 0.
    return answer === 0 && this.size > 0;
  }
}

const OPTIONS = ['fingerprintBits', 'falsePositiveRate', 'seed', 'key', 'hash'];
