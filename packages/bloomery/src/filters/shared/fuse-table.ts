/**
 * The binary fuse table (kernel/tables/fuse.ts) that `StaticFilter` and `BloomierFilter` hold, with
 * the hash scheme of its keys: batches, copies, comparison, sizes, and the number of bits for a
 * rate. The meaning of an answer stays in the filters: Bloomier's lowest two bits select a slot,
 * and all other bits of an answer are zero for a key of the set.
 *
 * The table as one object made the bundle of `StaticFilter` 117 bytes larger (gzip) than functions
 * on its parts. README.md has its size. A lookup of one key stays in the filters, because only
 * `StaticFilter` has it in WebAssembly.
 */

import type { HashScheme } from '../../hashing/hash-scheme.ts';
import type { KeyBatch } from '../../kernel/batches/batch.ts';
import { BitStore } from '../../kernel/bits/bit-store.ts';
import { bandAnswer } from '../../kernel/tables/band.ts';
import { FuseLayout, fuseAnswer } from '../../kernel/tables/fuse.ts';
import { fuseHasInWasm } from '../../kernel/tables/fuse-wasm.ts';
import { WASM_POSSIBLE } from '../../kernel/wasm/wasm-possible.ts';
import { checkInteger, checkRate } from '../../math/checks.ts';
import { hasBatch, type Prober } from './batch-probing.ts';

export class FuseTable {
  /** The number of keys, by their hashes. */
  declare readonly size: number;
  declare readonly layout: FuseLayout;
  declare readonly store: BitStore;
  declare readonly scheme: HashScheme;
  readonly #indexBits: number;
  readonly #prober: Prober;

  /** Takes the parts. `indexBits` is the number of lowest bits of an answer that select a slot. */
  constructor(size: number, layout: FuseLayout, store: BitStore, scheme: HashScheme, indexBits: number) {
    this.size = size;
    this.layout = layout;
    this.store = store;
    this.scheme = scheme;
    this.#indexBits = indexBits;
    this.#prober = fuseProber(layout, indexBits);
  }

  /** One byte per key, in order: 1 maybe, 0 certainly not. */
  hasMany(keys: KeyBatch): Uint8Array {
    const answers = hasBatch(this.store, this.#prober, keys, this.scheme);
    // The table of an empty set is all zeros, which would match fingerprints of 0.
    return this.size > 0 ? answers : answers.fill(0);
  }

  /** A copy in memory of its own. */
  copy(): FuseTable {
    const { size, layout, store, scheme } = this;
    return new FuseTable(size, layout, store.copy(), scheme, this.#indexBits);
  }

  /** Whether another table of the same shape has the same slots. */
  equals({ layout, store }: FuseTable): boolean {
    return (
      this.layout.attempt === layout.attempt &&
      this.layout.segments === layout.segments &&
      this.store.words.every((word, i) => word === store.words[i])
    );
  }

  /** The rate of false positives with `bits` bits that must be zero, or 0 if there are no keys. */
  rate(bits: number): number {
    return this.size > 0 ? 2 ** -bits : 0;
  }

  /** The bytes in memory. */
  get byteLength(): number {
    return this.store.wordCount * 4;
  }

  /** All bits in memory divided by the number of keys, or 0 if there are none. */
  get bitsPerKey(): number {
    return this.size > 0 ? (8 * this.byteLength) / this.size : 0;
  }
}

/**
 * The probes of a table: a key may be in the set if its answer is zero above the `indexBits`
 * lowest.
 */
export function fuseProber(layout: FuseLayout, indexBits: number): Prober {
  return {
    has:
      layout.segments > 0
        ? (words, low, high) => fuseAnswer(words, layout, low, high) >>> indexBits === 0
        : (words, low, high) => bandAnswer(words, layout, low, high) === 0,
    add: unused,
    inWasm: WASM_POSSIBLE
      ? {
          hasKey: unused,
          has: (wasm, count, address) => fuseHasInWasm(wasm, count, address, layout, indexBits),
          add: unused,
        }
      : null,
  };
}

/**
 * Reads a table from the payload of a frame, whose kind has checked the parameters. A slot has
 * `stride` bits, of which the lowest `width` are XORed to an answer.
 */
export function readTable(
  payload: Uint8Array,
  [attempt, segments, segmentLength]: readonly number[],
  width: number,
  stride = width,
): [layout: FuseLayout, store: BitStore] {
  const layout = new FuseLayout({ segments, segmentLength }, attempt, { stride, width });
  const store = BitStore.allocate(32 * layout.wordCount);
  store.setBytes(payload);
  return [layout, store];
}

/**
 * The number of bits that options ask for: by the option `name`, or by a rate, which is rounded
 * down to a power of two. `most` is the largest number that a `type` can have.
 */
export function bitsAsked<Name extends string>(
  type: string,
  name: Name,
  most: number,
  options: { readonly [N in Name | 'falsePositiveRate']?: number | undefined },
): number {
  const { [name]: bits, falsePositiveRate } = options;
  if (falsePositiveRate === undefined) return checkInteger(name, bits ?? 8, 1, most);
  if (bits !== undefined)
    throw new TypeError(`Cannot size a ${type}: expected ${name} or falsePositiveRate, got both`);
  checkRate('falsePositiveRate', falsePositiveRate);
  for (let width = 1; width <= most; width++) if (2 ** -width <= falsePositiveRate) return width;
  throw new RangeError(
    `Cannot use falsePositiveRate: expected at least 2^-${most} in a ${type}, got ${falsePositiveRate}`,
  );
}

/** Required by `Prober`, but never called: no method adds a key, or looks one up with a prober. */
function unused(): never {
  throw new TypeError('Cannot add to a table: its keys are fixed');
}
