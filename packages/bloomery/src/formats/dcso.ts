/**
 * DCSO's `.bloom` files, of the Go library and command `bloom`, and of flor (Python) and fleur (C).
 * They are used to exchange lists of indicators and hashes.
 *
 *     0   u64  version and flags: 1
 *     8   u64  n, the capacity
 *     16  f64  p, the false positive rate
 *     24  u64  k
 *     32  u64  m
 *     40  u64  N, the number of keys that were added and were not in yet
 *     48  ceil(m / 64) words of 64 bits; then free bytes to the end of the file, `data`
 *
 * Everything is little-endian. h is FNV-1 (64 bits) of the key, mod P. Then k times h = (h · g mod
 * 2^64) mod P, and the index is h mod m, with P = 2^64 - 59 and g = P - 1410. Because of the wrap
 * at 2^64 before the division by P, this is not the generator that its authors describe. We compute
 * the same as their code.
 *
 * m is rounded down, unlike elsewhere. The whole file may be compressed with gzip:
 * `decodeMaybeGzip` and `encodeGzip`. The compressed bytes differ between programs; the bytes
 * inside do not.
 *
 * A file with other flags than the version may be one of Poppy's, with other indices, and is
 * refused.
 */

import { areAlike, checkAlike } from '../filters/shared/alike.ts';
import { UNCLONEABLE } from '../hashing/uncloneable.ts';
import { type AbortOptions, throwIfAborted } from '../keys/abort.ts';
import { checkOptions } from '../keys/check-options.ts';
import { INSPECT } from '../keys/printing.ts';
import { checkInteger, checkRate, MAX_BITS } from '../math/checks.ts';
import { beginSequence, nextInSequence } from './hashes/dcso-generator.ts';
import { fnv1 } from './hashes/fnv1.ts';
import { ForeignBits } from './shared/foreign-bits.ts';
import type { ForeignBloomFilter } from './shared/foreign-filter.ts';
import { keyWords, loadKey } from './shared/foreign-key.ts';
import {
  checkBytes,
  copyOf,
  type ForeignDecodeOptions,
  ForeignReader,
  limitOf,
  MAX_FOREIGN_HASHES,
} from './shared/foreign-reader.ts';
import { gunzip, gzip, isGzip } from './shared/gzip.ts';
import { r } from './shared/int64.ts';
import { Modulus } from './shared/modulus.ts';

export type { ForeignDecodeOptions } from './shared/foreign-reader.ts';
export { FormatError, type FormatErrorCode } from './shared/format-error.ts';

export interface DcsoCreateOptions {
  readonly capacity: number;
  readonly falsePositiveRate: number;
  /** Free bytes after the bits. */
  readonly data?: Uint8Array;
}

export class DcsoFilter implements ForeignBloomFilter<string | Uint8Array> {
  /** @internal */ readonly clone = UNCLONEABLE;
  readonly format = 'dcso';
  readonly hash = 'fnv1-64/dcso';
  readonly capacity: number;
  /** The false positive rate that it was made for. */
  readonly falsePositiveRate: number;
  readonly hashes: number;
  /** Free bytes after the bits, for the command's `set-data` and `get-data`. */
  data: Uint8Array;
  #size: number;
  readonly #modulus: Modulus;
  readonly #bits: ForeignBits;

  private constructor(header: DcsoHeader, bits: ForeignBits, data: Uint8Array) {
    this.capacity = header.capacity;
    this.falsePositiveRate = header.falsePositiveRate;
    this.hashes = header.hashes;
    this.#size = header.size;
    this.#modulus = new Modulus(header.bits);
    this.#bits = bits;
    this.data = data;
  }

  /** Makes a filter with the size that `bloom create` chooses. */
  static create(options: DcsoCreateOptions): DcsoFilter {
    checkOptions('DcsoFilter.create', options, ['capacity', 'falsePositiveRate', 'data']);
    const { capacity, falsePositiveRate, data = new Uint8Array(0) } = options;
    checkInteger('capacity', capacity, 1);
    checkRate('falsePositiveRate', falsePositiveRate);
    checkData(data);
    const bits = Math.abs(Math.ceil((capacity * Math.log(falsePositiveRate)) / Math.LN2 ** 2));
    checkInteger('bits', bits, 1, MAX_BITS);
    const hashes = Math.ceil((Math.LN2 * bits) / capacity);
    const header = { capacity, falsePositiveRate, hashes, bits, size: 0 };
    return new DcsoFilter(header, ForeignBits.zeros(8 * Math.ceil(bits / 64)), copyOf(data, 0));
  }

  /** Reads a file that is not compressed. */
  static decode(bytes: Uint8Array, options: ForeignDecodeOptions = {}): DcsoFilter {
    checkOptions('DcsoFilter.decode', options, ['maxBytes']);
    const { start, length, ...header } = readDcsoHeader(bytes, options);
    const bits = ForeignBits.of(bytes, start, length);
    const beyond = bits.onesFrom(header.bits);
    if (beyond > 0) {
      const reader = new ForeignReader('dcso', bytes, 'little-endian');
      reader.fail('payload', `no ones from bit ${header.bits} on`, beyond, start + length - 8);
    }
    return new DcsoFilter(header, bits, copyOf(bytes, start + length));
  }

  /** Reads a file, compressed or not. The limit applies to the uncompressed bytes. */
  static async decodeMaybeGzip(
    bytes: Uint8Array,
    { signal, ...options }: ForeignDecodeOptions & AbortOptions = {},
  ): Promise<DcsoFilter> {
    throwIfAborted(signal);
    if (!isGzip(bytes)) return DcsoFilter.decode(bytes, options);
    checkOptions('DcsoFilter.decodeMaybeGzip', options, ['maxBytes']);
    return DcsoFilter.decode(await gunzip('dcso', bytes, limitOf(options), signal), options);
  }

  /** Adds a key. Returns true if a bit changed; then it counts in `size`. */
  add(key: string | Uint8Array): boolean {
    const changed = this.#probe(key, true);
    if (changed) this.#size++;
    return changed;
  }

  has(key: string | Uint8Array): boolean {
    return this.#probe(key, false);
  }

  /**
   * Adds all keys of a filter with the same parameters, and adds up the sizes, as `bloom join`
   * does.
   */
  merge(other: DcsoFilter): this {
    checkAlike(areAlike(DcsoFilter, this, other), 'merge', this, other);
    this.#bits.merge(other.#bits);
    this.#size += other.#size;
    return this;
  }

  /** A new filter with the keys of both, and the data of this one. */
  union(other: DcsoFilter): DcsoFilter {
    return this.copy().merge(other);
  }

  copy(): DcsoFilter {
    return new DcsoFilter(this, this.#bits.copy(), copyOf(this.data, 0));
  }

  /** Whether both have the same parameters, bits and size. The data may differ. */
  equals(other: DcsoFilter): boolean {
    return areAlike(DcsoFilter, this, other) && this.#size === other.#size && this.#bits.equals(other.#bits);
  }

  /** N, the number of keys that were added and not in yet. After `merge` it is an upper bound. */
  get size(): number {
    return this.#size;
  }

  get bits(): number {
    return this.#modulus.m;
  }

  get byteLength(): number {
    return this.#bits.length;
  }

  onesCount(): number {
    return this.#bits.ones();
  }

  estimatedSize(): number {
    return this.#bits.estimatedSize(this.bits, this.hashes);
  }

  estimatedFalsePositiveRate(): number {
    return this.#bits.estimatedRate(this.bits, this.hashes);
  }

  encode(): Uint8Array<ArrayBuffer> {
    checkData(this.data);
    const bytes = new Uint8Array(HEADER + this.#bits.length + this.data.length);
    const view = new DataView(bytes.buffer);
    view.setUint8(0, VERSION);
    view.setBigUint64(8, BigInt(this.capacity), true);
    view.setFloat64(16, this.falsePositiveRate, true);
    view.setBigUint64(24, BigInt(this.hashes), true);
    view.setBigUint64(32, BigInt(this.bits), true);
    view.setBigUint64(40, BigInt(this.#size), true);
    this.#bits.writeTo(bytes, HEADER);
    bytes.set(this.data, HEADER + this.#bits.length);
    return bytes;
  }

  /** The file, compressed with gzip. */
  async encodeGzip({ signal }: AbortOptions = {}): Promise<Uint8Array<ArrayBuffer>> {
    throwIfAborted(signal);
    return gzip(this.encode(), signal);
  }

  toString(): string {
    const { capacity, falsePositiveRate, bits, hashes } = this;
    return `DcsoFilter(capacity ${capacity}, rate ${falsePositiveRate}, ${bits} bits, ${hashes} hashes)`;
  }

  /** @internal */
  [INSPECT](): string {
    return this.toString();
  }

  #probe(key: string | Uint8Array, adding: boolean): boolean {
    const length = loadKey(key);
    fnv1(keyWords(), length, hash);
    beginSequence(hash[0], hash[1]);
    return this.#bits.probe(this.hashes, adding, () => {
      nextInSequence();
      return this.#modulus.of(r[1], r[0]);
    });
  }
}

interface DcsoHeader {
  readonly capacity: number;
  readonly falsePositiveRate: number;
  readonly hashes: number;
  readonly bits: number;
  readonly size: number;
}

/** @internal Reads and checks everything except the bits. */
export function readDcsoHeader(
  bytes: Uint8Array,
  options: ForeignDecodeOptions,
): DcsoHeader & { readonly start: number; readonly length: number } {
  const reader = new ForeignReader('dcso', bytes, 'little-endian');
  if (isGzip(bytes)) reader.fail('not-this-format', 'a plain file', 'gzip: use decodeMaybeGzip');
  const flags = reader.u64('version and flags');
  if (flags !== BigInt(VERSION)) reader.fail('version', `version ${VERSION} without flags`, flags, 0);
  const capacity = reader.size('capacity');
  reader.expect(capacity > 0, 8, 'a capacity of at least 1', capacity);
  const falsePositiveRate = reader.f64('false positive rate');
  reader.expect(
    falsePositiveRate > 0 && falsePositiveRate < 1,
    8,
    'a rate between 0 and 1',
    falsePositiveRate,
  );
  const hashes = Number(reader.u64('k'));
  reader.expect(hashes > 0 && hashes <= MAX_FOREIGN_HASHES, 8, `k from 1 to ${MAX_FOREIGN_HASHES}`, hashes);
  const bits = Number(reader.u64('m'));
  reader.expect(bits > 0 && bits <= MAX_BITS, 8, `m from 1 to ${MAX_BITS}`, bits);
  const size = reader.size('key count');
  const length = 8 * Math.ceil(bits / 64);
  const start = reader.payload(length, options, false);
  return { capacity, falsePositiveRate, hashes, bits, size, start, length };
}

/** Refuses other types, because a string would be written as zeros. */
function checkData(data: unknown): void {
  checkBytes('data', data);
}

const VERSION = 1;
const HEADER = 48;
const hash = /* @__PURE__ */ new Int32Array(2);
