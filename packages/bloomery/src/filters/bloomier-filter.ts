/**
 * The Bloomier filter (Chazelle, Kilian, Rubinfeld, Tal 2004; survey section 9): values for a fixed
 * set of keys, without the keys. A Bloom filter says whether a key is in a set; this one gives the
 * value that belongs to the key.
 *
 * What it promises. `get` returns the value of every key of the set. For any other key it returns
 * undefined, except that with the false positive rate it returns an arbitrary value. That rate is
 * 2^-c exactly for c check bits, at every size. Values can be changed at any time (`set`), the set
 * of keys cannot. `set` of a key changes the value of no other key. The same keys with the same
 * values give the same bytes, whatever their order and whatever values were set before.
 *
 * How. A binary fuse table (kernel/tables/fuse.ts) has four slots for each key, and solving it
 * assigns one of them to each key as its own. A slot has two fields. The first fields of the four
 * slots, XORed with the key's fingerprint, give c zeros and the number of the own slot, two bits.
 * The second field of that slot is the value. These are the two tables of the mutable form in
 * section 3 of the paper, side by side, so that one memory access fetches both.
 *
 * What it costs. About 1.07 (c + 2 + r) bits per key for values of r bits at a million keys, 1.37
 * times the sum at a thousand (math/fuse-size.ts). With c = 8 and r = 8 that is 19.3 bits, where a
 * Map takes hundreds, plus the keys. A lookup reads four slots. The two bits are the price of
 * `set`.
 *
 * What it cannot do. It cannot add or delete a key, because the table solves equations for all keys
 * together: build it again. It cannot list its keys, which are not stored, and it cannot merge.
 * `set` of a key that is not in the set throws if the check bits show it. With the false positive
 * rate they do not, and then the value of another key may be overwritten (at a million keys, 93
 * times in a hundred such cases). So set only keys that you know to be in the set. Keys are
 * distinguished by their 64-bit hashes. Two keys with the same hash would share their value, and
 * are refused if their values differ. A set of n keys has two such keys with probability n^2 /
 * 2^65.
 */

import { decodeFrame, encodeFrame, type FrameWriter } from '../frames/frame.ts';
import { BLOOMIER_FRAME, INDEX_BITS, MOST_CHECK_BITS, MOST_VALUE_BITS } from '../frames/table-kinds.ts';
import { checkSameScheme, type HashOptions, type HashScheme, hashScheme } from '../hashing/hash-scheme.ts';
import type { KeyBatch } from '../kernel/batches/batch.ts';
import { hashInto, hashOut, type KeyHash } from '../kernel/batches/hash-key.ts';
import type { KeyHashes } from '../kernel/batches/hash-keys.ts';
import { BitStore } from '../kernel/bits/bit-store.ts';
import { fuseAnswer, located, readField, writeField } from '../kernel/tables/fuse.ts';
import { buildFuse, hashesOf } from '../kernel/tables/fuse-build.ts';
import { fuseGetInWasm, fuseSetInWasm } from '../kernel/tables/fuse-wasm.ts';
import { WASM_POSSIBLE } from '../kernel/wasm/wasm-possible.ts';
import { checkOptions } from '../keys/check-options.ts';
import { type Key, typeName } from '../keys/key.ts';
import { INSPECT } from '../keys/printing.ts';
import { checkInteger } from '../math/checks.ts';
import { fuseShape } from '../math/fuse-size.ts';
import { areAlike } from './shared/alike.ts';
import { probeBatch, valueBatch } from './shared/batch-probing.ts';
import { bitsAsked, FuseTable, readTable } from './shared/fuse-table.ts';
import type { DecodeOptions } from './shared/options.ts';

/** The check bits by their number or by a rate, never both. */
export type BloomierFilterOptions = HashOptions &
  (CheckOption | RateOption) & {
    /** r: values are integers from 0 to 2^valueBits - 1. From 1 to 32. */
    readonly valueBits: number;
  };

interface CheckOption {
  /**
   * c, from 1 to 30. Keys that are not in the set get a value at the rate 2^-checkBits. Default 8.
   */
  readonly checkBits?: number;
  readonly falsePositiveRate?: never;
}

interface RateOption {
  /** The rate, instead of `checkBits`. Rounded down to a power of two; at least 2^-30. */
  readonly falsePositiveRate?: number;
  readonly checkBits?: never;
}

export class BloomierFilter {
  /** The number of different keys (exactly: of different 64-bit hashes, as explained above). */
  readonly size: number;
  readonly valueBits: number;
  readonly checkBits: number;
  readonly scheme: HashScheme;
  readonly #table: FuseTable;

  private constructor(table: FuseTable) {
    const { size, layout, scheme } = table;
    this.size = size;
    this.valueBits = layout.stride - layout.width;
    this.checkBits = layout.width - INDEX_BITS;
    this.scheme = scheme;
    this.#table = table;
    Object.freeze(this);
  }

  /**
   * Builds the filter from pairs of a key and its value, such as a Map. A key may occur again with
   * the same value.
   */
  static from(
    entries: Iterable<readonly [key: Key, value: number]>,
    options: BloomierFilterOptions,
  ): BloomierFilter {
    if (typeof entries?.[Symbol.iterator] !== 'function') {
      throw new TypeError(
        `Cannot read entries: expected pairs of a key and a value, got ${typeName(entries)} (fromColumns takes columns)`,
      );
    }
    const keys: Key[] = [];
    const values: number[] = [];
    for (const entry of entries) {
      if (!Array.isArray(entry) || entry.length !== 2) {
        const got = Array.isArray(entry) ? `${entry.length} elements` : typeName(entry);
        throw new TypeError(
          `Cannot read entry ${keys.length}: expected a pair of a key and a value, got ${got}`,
        );
      }
      keys.push(entry[0]);
      values.push(entry[1]);
    }
    return BloomierFilter.fromColumns(keys, values, options);
  }

  /** Builds the filter from a batch of keys and, in the same order, their values. */
  static fromColumns(
    keys: KeyBatch,
    values: ArrayLike<number>,
    options: BloomierFilterOptions,
  ): BloomierFilter {
    checkOptions('BloomierFilter', options, OPTIONS);
    const valueBits = checkInteger('valueBits', options.valueBits, 1, MOST_VALUE_BITS);
    const width = INDEX_BITS + bitsAsked('BloomierFilter', 'checkBits', MOST_CHECK_BITS, options);
    const scheme = hashScheme(options);
    const hashes = hashesOf(keys, scheme);
    checkValues(values, hashes.length / 2, valueBits);
    const fields = { stride: width + valueBits, width };
    const { size, layout, words } = buildFuse(hashes, { ...fields, ownIndex: true, shapeOf: fuseShape });
    const filter = new BloomierFilter(new FuseTable(size, layout, new BitStore(words), scheme, INDEX_BITS));
    filter.#fill(filter.#hashes(hashes), values);
    return filter;
  }

  /** The key's value, or undefined if the key is certainly not in the set. */
  get(key: Key): number | undefined {
    hashInto(key, this.scheme);
    return this.#valueAt(this.#ownSlot(hashOut[0], hashOut[1]));
  }

  /** `get` by the key's hash; see `hashKey`. */
  getHash(hash: KeyHash): number | undefined {
    return this.#valueAt(this.#slotOf(hash));
  }

  /** One number per key, in order: its value, or NaN where `get` returns undefined. */
  getMany(keys: KeyBatch): Float64Array {
    const layout = this.#table.layout;
    const values = valueBatch(
      this.#table.store,
      keys,
      this.scheme,
      WASM_POSSIBLE ? (wasm, count, address) => fuseGetInWasm(wasm, count, address, layout) : null,
      (low, high) => this.#valueAt(this.#ownSlot(low, high)) ?? Number.NaN,
    );
    return this.size > 0 ? values : values.fill(Number.NaN);
  }

  /** True if the key may have a value, false if it certainly has none. */
  has(key: Key): boolean {
    hashInto(key, this.scheme);
    return this.#ownSlot(hashOut[0], hashOut[1]) >= 0;
  }

  /** `has` by the key's hash; see `hashKey`. */
  hasHash(hash: KeyHash): boolean {
    return this.#slotOf(hash) >= 0;
  }

  /** One byte per key, in order: 1 maybe, 0 certainly not. */
  hasMany(keys: KeyBatch): Uint8Array {
    return this.#table.hasMany(keys);
  }

  /**
   * Changes the value of a key of the set. Throws a RangeError if the key is certainly not in the
   * set. The head of this file explains the false positives.
   */
  set(key: Key, value: number): this {
    hashInto(key, this.scheme);
    return this.#change(this.#ownSlot(hashOut[0], hashOut[1]), value);
  }

  /** `set` by the key's hash; see `hashKey`. */
  setHash(hash: KeyHash, value: number): this {
    return this.#change(this.#slotOf(hash), value);
  }

  /**
   * `set` for a batch of keys and, in the same order, their values. The last value of a key counts.
   * If it throws, no value has changed.
   */
  setMany(keys: KeyBatch, values: ArrayLike<number>): this {
    const hashes = this.#hashes(hashesOf(keys, this.scheme));
    checkValues(values, hashes.length, this.valueBits);
    const absent = this.hasMany(hashes).indexOf(0);
    if (absent >= 0) {
      throw new RangeError(
        `Cannot set the value of key ${absent}: expected a key of the set, got one that is not in the set`,
      );
    }
    this.#writeMany(hashes, values);
    return this;
  }

  /** An independent filter with the same keys and values. */
  copy(): BloomierFilter {
    return new BloomierFilter(this.#table.copy());
  }

  /** Whether both have the same table: true for equal keys with equal values and options. */
  equals(other: BloomierFilter): boolean {
    return areAlike(BloomierFilter, this, other) && this.#table.equals(other.#table);
  }

  /**
   * The rate at which keys that are not in the set get a value: 2^-checkBits, or 0 without keys.
   */
  get falsePositiveRate(): number {
    return this.#table.rate(this.checkBits);
  }

  /** The bytes that the table takes in memory. */
  get byteLength(): number {
    return this.#table.byteLength;
  }

  /** All bits in memory divided by the number of keys, or 0 if there are none. */
  get bitsPerKey(): number {
    return this.#table.bitsPerKey;
  }

  /**
   * The filter as a frame: bytes to save or send, read back by `BloomierFilter.decode` anywhere.
   */
  encode(): Uint8Array<ArrayBuffer>;
  /** @internal */
  encode<T>(write: FrameWriter<T>): T;
  encode(write: FrameWriter<unknown> = encodeFrame): unknown {
    const { attempt, segments, segmentLength } = this.#table.layout;
    return write(BLOOMIER_FRAME, {
      variant: 0,
      scheme: this.scheme,
      parameters: [this.size, this.checkBits, this.valueBits, attempt, segments, segmentLength],
      payload: this.#table.store,
    });
  }

  /** Reads a frame. Throws a `FrameError` if it is invalid; a keyed filter needs its key. */
  static decode(frame: Uint8Array, { key, ...options }: Pick<DecodeOptions, 'key'> = {}): BloomierFilter {
    checkOptions('BloomierFilter.decode', options, []);
    const { parameters, payload, scheme } = decodeFrame(BLOOMIER_FRAME, frame, key);
    const [size, checkBits, valueBits, ...table] = parameters;
    const width = INDEX_BITS + checkBits;
    const [layout, store] = readTable(payload, table, width, width + valueBits);
    return new BloomierFilter(new FuseTable(size, layout, store, scheme, INDEX_BITS));
  }

  toString(): string {
    const { size, checkBits, valueBits, scheme } = this;
    return `BloomierFilter(${size} keys, ${valueBits} value bits, ${checkBits} check bits, ${this.#table.layout.slots} slots, ${scheme.id})`;
  }

  /** @internal */
  [INSPECT](): string {
    return this.toString();
  }

  /** The slot that holds the value of a hash, or -1 if the hash has none. */
  #ownSlot(low: number, high: number): number {
    if (this.size === 0) return -1;
    const answer = fuseAnswer(this.#table.store.words, this.#table.layout, low, high);
    return answer < 4 ? located[answer] : -1;
  }

  #slotOf(hash: KeyHash): number {
    checkSameScheme(hash.scheme, this.scheme);
    return this.#ownSlot(hash.low | 0, hash.high | 0);
  }

  #valueAt(slot: number): number | undefined {
    if (slot < 0) return undefined;
    const { stride, width } = this.#table.layout;
    return readField(this.#table.store.words, slot, stride, width, this.valueBits);
  }

  #write(slot: number, value: number): void {
    const { stride, width } = this.#table.layout;
    writeField(this.#table.store.words, slot, stride, width, this.valueBits, value);
  }

  #change(slot: number, value: number): this {
    checkInteger(`a value of ${this.valueBits} bits`, value, 0, 2 ** this.valueBits - 1);
    if (slot < 0) {
      throw new RangeError('Cannot set a value: expected a key of the set, got one that is not in the set');
    }
    this.#write(slot, value);
    return this;
  }

  /** Writes the values of keys that are in the set. */
  #writeMany(hashes: KeyHashes, values: ArrayLike<number>): void {
    const layout = this.#table.layout;
    probeBatch(this.#table.store, hashes, this.scheme, {
      inWasm: WASM_POSSIBLE
        ? (wasm, count, address, at) => {
            for (let i = 0; i < count; i++) wasm.values[i] = values[at + i];
            fuseSetInWasm(wasm, count, address, layout);
          }
        : null,
      outside: (low, high, at) => this.#write(this.#ownSlot(low, high), values[at]),
    });
  }

  /**
   * Writes all values for the first time. A key that occurs twice ends up with its last value, so
   * reading all of them back finds a key that was given two different values.
   */
  #fill(hashes: KeyHashes, values: ArrayLike<number>): void {
    this.#writeMany(hashes, values);
    const written = this.getMany(hashes);
    for (let i = 0; i < written.length; i++) {
      if (written[i] !== values[i]) {
        throw new RangeError(
          `Cannot use entry ${i}: expected one value for its key, got ${values[i]} and later ${written[i]}`,
        );
      }
    }
  }

  #hashes(words: Int32Array): KeyHashes {
    return { scheme: this.scheme, words, length: words.length / 2 };
  }
}

const OPTIONS = ['valueBits', 'checkBits', 'falsePositiveRate', 'seed', 'key', 'hash'];

/** Throws unless there is a valid value for each key. */
function checkValues(values: ArrayLike<number>, keys: number, valueBits: number): void {
  if (typeof values?.length !== 'number' || typeof values === 'string') {
    throw new TypeError(
      `Cannot read values: expected an array or a typed array of numbers, got ${typeName(values)}`,
    );
  }
  if (values.length !== keys) {
    throw new RangeError(
      `Cannot read values: expected one for each key, got ${values.length} values for ${keys} keys`,
    );
  }
  const most = 2 ** valueBits - 1;
  for (let i = 0; i < keys; i++) {
    const value = values[i];
    // The value is named only for the message, so the name is built only if the check fails.
    if (!(Number.isInteger(value) && value >= 0 && value <= most)) {
      checkInteger(`value ${i} of ${valueBits} bits`, value, 0, most);
    }
  }
}
