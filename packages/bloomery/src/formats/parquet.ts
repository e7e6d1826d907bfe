/**
 * Parquet's split-block Bloom filter, as it lies in a Parquet file at a column's
 * `bloom_filter_offset`: a header in Thrift's compact protocol, and the blocks (parquet-format,
 * BloomFilter.md).
 *
 *     15 <zigzag varint: bytes of the bitset>   1c 1c 00 00   1c 1c 00 00   1c 1c 00 00   00
 *        field 1, i32                           algorithm     hash          compression   stop
 *                                               BLOCK         XXHASH        UNCOMPRESSED
 *     blocks of 8 little-endian words of 32 bits
 *
 * The bits are a `BlockedBloomFilter` in the split-block layout, which does the work. Callers can
 * use it as `filter`, with its batches and its folding. This file adds the header, the sizes that
 * Parquet writers choose, and keys as columns store them.
 *
 * Keys. A column of BYTE_ARRAY takes strings and bytes, INT64 takes integers, and their bytes are
 * the library's own bytes for such keys. For other columns the caller must give the width:
 * `plainBytes(42, 'INT32')` is another key than 42, and a lookup of the wrong one is a silent "no"
 * (apache/arrow-rs#5550).
 *
 * Sizes. Arrow and parquet-java write powers of two up to 128 MiB, and some readers refuse anything
 * else; `create` does the same. Files with other sizes are read and written back.
 */

import { BlockedBloomFilter } from '../filters/blocked-bloom-filter.ts';
import { checkAlike } from '../filters/shared/alike.ts';
import { checkOptions } from '../keys/check-options.ts';
import { integerHalves, splitInteger } from '../keys/integer-key.ts';
import type { Key } from '../keys/key.ts';
import { INSPECT } from '../keys/printing.ts';
import { checkInteger, checkRate, MAX_BITS, wrongValue } from '../math/checks.ts';
import type { ForeignBloomFilter } from './shared/foreign-filter.ts';
import { type ForeignDecodeOptions, ForeignReader } from './shared/foreign-reader.ts';

export type { ForeignDecodeOptions } from './shared/foreign-reader.ts';
export { FormatError, type FormatErrorCode } from './shared/format-error.ts';

/** Physical types of columns whose PLAIN encoding has a fixed width. */
export type ParquetType = 'INT32' | 'INT64' | 'FLOAT' | 'DOUBLE';

export interface ParquetCreateOptions {
  /** The number of distinct values in the column chunk. */
  readonly capacity: number;
  /** Default 0.01, as in parquet-java. */
  readonly falsePositiveRate?: number;
}

export class ParquetFilter implements ForeignBloomFilter<Key> {
  readonly format = 'parquet';
  readonly hash = 'xxh64/0 split-block';
  readonly hashes = 8;
  /** The bits, with all methods of a `BlockedBloomFilter`. */
  readonly filter: BlockedBloomFilter;

  /** Wraps a filter in the split-block layout. */
  constructor(filter: BlockedBloomFilter) {
    if (!(filter instanceof BlockedBloomFilter) || filter.layout !== 'split-block') {
      throw new TypeError(
        `Cannot use filter: expected a BlockedBloomFilter with layout 'split-block', got ${String(filter)}`,
      );
    }
    this.filter = filter;
  }

  /**
   * Makes a filter with the size that parquet-java chooses: a power of two from 32 bytes to 128
   * MiB. Larger ones are refused.
   */
  static create(options: ParquetCreateOptions): ParquetFilter {
    checkOptions('ParquetFilter.create', options, ['capacity', 'falsePositiveRate']);
    const { capacity, falsePositiveRate = 0.01 } = options;
    checkInteger('capacity', capacity, 1);
    checkRate('falsePositiveRate', falsePositiveRate);
    const bits = Math.floor((-8 * capacity) / Math.log(1 - falsePositiveRate ** (1 / 8)));
    checkInteger('bits', bits, 0, MAX_WRITTEN_BITS);
    // parquet-java intends to round up to whole blocks here and clears bit 8 instead. Rounding to a
    // power of two mostly hides it.
    const bytes = Math.floor(Math.max((bits + 255) & ~256, 256) / 8);
    let blocks = 1;
    while (32 * blocks < bytes && 256 * blocks < MAX_WRITTEN_BITS) blocks *= 2;
    return new ParquetFilter(new BlockedBloomFilter({ blocks, layout: 'split-block' }));
  }

  /** Reads header and bitset. Nothing may follow them. */
  static decode(bytes: Uint8Array, options: ForeignDecodeOptions = {}): ParquetFilter {
    checkOptions('ParquetFilter.decode', options, ['maxBytes']);
    const { start, length } = readParquetHeader(bytes, options, true);
    return fromBitset(bytes, start, length);
  }

  /**
   * Reads a filter inside a Parquet file, at `bloom_filter_offset`. `end` is the offset of the byte
   * after it.
   */
  static decodeAt(
    bytes: Uint8Array,
    offset: number,
    options: ForeignDecodeOptions = {},
  ): { readonly filter: ParquetFilter; readonly end: number } {
    checkOptions('ParquetFilter.decodeAt', options, ['maxBytes']);
    if (bytes instanceof Uint8Array) checkInteger('offset', offset, 0, bytes.length);
    const { start, length } = readParquetHeader(bytes, options, false, offset);
    return { filter: fromBitset(bytes, start, length), end: start + length };
  }

  /**
   * Adds a value of a BYTE_ARRAY or INT64 column, or the bytes of `plainBytes`. Returns true if a
   * bit changed.
   */
  add(key: Key): boolean {
    return this.filter.add(checkKey(key));
  }

  has(key: Key): boolean {
    return this.filter.has(checkKey(key));
  }

  /** Adds all keys of another filter of the same size. */
  merge(other: ParquetFilter): this {
    checkAlike(other instanceof ParquetFilter, 'merge', this, other);
    this.filter.merge(other.filter);
    return this;
  }

  /** A new filter with the keys of both. */
  union(other: ParquetFilter): ParquetFilter {
    return this.copy().merge(other);
  }

  copy(): ParquetFilter {
    return new ParquetFilter(this.filter.copy());
  }

  equals(other: ParquetFilter): boolean {
    return other instanceof ParquetFilter && this.filter.equals(other.filter);
  }

  get bits(): number {
    return this.filter.bits;
  }

  get byteLength(): number {
    return this.filter.byteLength;
  }

  onesCount(): number {
    return this.filter.onesCount();
  }

  estimatedSize(): number {
    return this.filter.estimatedSize();
  }

  estimatedFalsePositiveRate(): number {
    return this.filter.estimatedFalsePositiveRate();
  }

  /**
   * Writes the filter. One of 2 GiB or more cannot be written, because the header has 31 bits for
   * its size.
   */
  encode(): Uint8Array<ArrayBuffer> {
    checkInteger('byteLength', this.byteLength, 32, 2 ** 31 - 32);
    const bitset = this.filter.toBlockBytes();
    const size: number[] = [];
    for (let rest = 2 * bitset.length; rest > 0; rest = Math.floor(rest / 128)) {
      size.push((rest % 128) | (rest >= 128 ? 128 : 0));
    }
    const header = [NUM_BYTES, ...size, ...MARKS.flatMap(({ bytes }) => bytes), STOP];
    const bytes = new Uint8Array(header.length + bitset.length);
    bytes.set(header);
    bytes.set(bitset, header.length);
    return bytes;
  }

  toString(): string {
    return `ParquetFilter(${this.filter.blocks} blocks, ${this.hash})`;
  }

  /** @internal */
  [INSPECT](): string {
    return this.toString();
  }
}

/**
 * The bytes that a column of this type stores for a value, which are its key. A column of unsigned
 * integers stores the same bits: 2^64 - 1 is -1 there.
 */
export function plainBytes(value: number | bigint, type: ParquetType): Uint8Array<ArrayBuffer> {
  if (typeof value !== 'number' && typeof value !== 'bigint') {
    throw new TypeError(`Cannot use value: expected a number or a bigint, got ${typeof value}`);
  }
  const view = new DataView(new ArrayBuffer(type === 'INT32' || type === 'FLOAT' ? 4 : 8));
  if (type === 'INT32') {
    view.setInt32(0, checkInteger('value', Number(value), -(2 ** 31), 2 ** 31 - 1), true);
  } else if (type === 'INT64') {
    if (splitInteger(value) !== 8) {
      throw wrongValue('value', 'a safe integer or a bigint that is a 64-bit integer', value);
    }
    view.setInt32(0, integerHalves[0], true);
    view.setInt32(4, integerHalves[1], true);
  } else if (type === 'FLOAT') view.setFloat32(0, Number(value), true);
  else if (type === 'DOUBLE') view.setFloat64(0, Number(value), true);
  else throw wrongValue('type', 'INT32, INT64, FLOAT or DOUBLE', type);
  return new Uint8Array(view.buffer);
}

/** @internal Reads and checks everything except the bits. */
export function readParquetHeader(
  bytes: Uint8Array,
  options: ForeignDecodeOptions,
  exactly: boolean,
  offset = 0,
): { readonly start: number; readonly length: number } {
  const reader = new ForeignReader('parquet', bytes, 'little-endian');
  reader.at = offset;
  const field = reader.u8('header');
  if (field !== NUM_BYTES) reader.fail('not-this-format', `field 1 (${NUM_BYTES})`, field, offset);
  let zigzag = 0;
  let last: number;
  let shift = 0;
  do {
    last = reader.u8('bitset size');
    zigzag += (last & 127) * 2 ** shift;
    shift += 7;
  } while (last >= 128 && shift < 35);
  const length = zigzag / 2;
  // An odd zigzag number is negative, and a last byte of 0 is padding.
  const sound = last > 0 && last < 128 && length > 0 && length % 32 === 0 && 8 * length <= MAX_BITS;
  reader.expect(sound && length < 2 ** 31, shift / 7, 'a bitset size that is a multiple of 32', length);
  for (const { name, bytes: expected } of MARKS) {
    for (const byte of expected) {
      const found = reader.u8(name);
      if (found !== byte) reader.fail('version', `${name} (${expected})`, found, reader.at - 1);
    }
  }
  const stop = reader.u8('header');
  if (stop !== STOP) reader.fail('version', 'the end of the header (0)', stop, reader.at - 1);
  return { start: reader.payload(length, options, exactly), length };
}

/**
 * Refuses integers of more than 64 bits. The library has such keys, but a column has not, so a
 * lookup would be a silent "no".
 */
function checkKey(key: Key): Key {
  if (typeof key === 'bigint' && BigInt.asIntN(64, key) !== key) {
    throw new RangeError(
      `Cannot use the key: expected a 64-bit integer for a column of INT64, got ${key} (for unsigned ones: BigInt.asIntN(64, key))`,
    );
  }
  return key;
}

function fromBitset(bytes: Uint8Array, start: number, length: number): ParquetFilter {
  const bitset = bytes.subarray(start, start + length);
  return new ParquetFilter(BlockedBloomFilter.fromBlockBytes(bitset, { layout: 'split-block' }));
}

const NUM_BYTES = 0x15;
const STOP = 0;
const MARKS = [
  { name: 'the algorithm BLOCK', bytes: [0x1c, 0x1c, 0, 0] },
  { name: 'the hash XXHASH', bytes: [0x1c, 0x1c, 0, 0] },
  { name: 'no compression', bytes: [0x1c, 0x1c, 0, 0] },
];
/** 128 MiB, the largest size that parquet-java writes and that Arrow reads. */
const MAX_WRITTEN_BITS = 2 ** 30;
