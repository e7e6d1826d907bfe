/**
 * The BloomFilter of pybloom-live (Python), as `tofile` writes it. Read only.
 *
 *     0   f64  the error rate that was asked for
 *     8   u64  k, the number of slices
 *     16  u64  bits of each slice
 *     24  u64  capacity
 *     32  u64  number of keys that were added
 *     40       the bits of all slices, one after the other; bit i is bit i % 8 of byte i / 8
 *
 * Everything is little-endian. Each key sets one bit in each slice. The indices are the numbers of
 * 16, 32 or 64 bits in a digest (as many as a slice needs), modulo the slice. The digest is the
 * shortest that has enough of them: MD5, SHA-1, SHA-256, SHA-384 or SHA-512; if that is too short,
 * more digests follow. It is taken over the digest of the number of the round, and the key.
 *
 * Release 4.0 (2022) replaced MD5 by XXH128 and kept the file as it was. So a filter that needs at
 * most 128 bits does not say by which of both it can be asked. Those are filters with k up to 8 and
 * slices below 2^15 bits, or k up to 4. `beforeVersion4` says that it is MD5. XXH128 is not
 * implemented here, and without the option such a filter cannot be asked, because a wrong guess
 * would be a silent "no". It can be measured, merged and written back. All others can be asked.
 *
 * Keys are strings in UTF-8, and integers as their decimal digits: Python hashes `str(key)`. Bytes
 * are refused, because releases before 4.1 hashed the text that `repr` makes of them. A
 * ScalableBloomFilter has another file, which is not read.
 */

import { areAlike, checkAlike } from '../filters/shared/alike.ts';
import { UNCLONEABLE } from '../hashing/uncloneable.ts';
import { checkOptions } from '../keys/check-options.ts';
import { INSPECT } from '../keys/printing.ts';
import { MAX_BITS } from '../math/checks.ts';
import { decayOf, sizeFromOnes } from '../math/from-ones.ts';
import { md5 } from './hashes/md5.ts';
import { type ShaName, sha } from './hashes/sha.ts';
import { ForeignBits } from './shared/foreign-bits.ts';
import type { ForeignBloomFilter } from './shared/foreign-filter.ts';
import { keyWords, loadKey, unlikeKey } from './shared/foreign-key.ts';
import { type ForeignDecodeOptions, ForeignReader } from './shared/foreign-reader.ts';
import { Modulus } from './shared/modulus.ts';

export type { ForeignDecodeOptions } from './shared/foreign-reader.ts';
export { FormatError, type FormatErrorCode } from './shared/format-error.ts';

/** A string, or an integer, which stands for its decimal digits. */
export type PybloomKey = string | number | bigint;

export interface PybloomDecodeOptions extends ForeignDecodeOptions {
  /** Whether a release before 4.0 wrote the file. It matters only for filters with a short hash. */
  readonly beforeVersion4?: boolean;
}

export class PybloomFilter implements ForeignBloomFilter<PybloomKey> {
  /** @internal */ readonly clone = UNCLONEABLE;
  readonly format = 'pybloom';
  /** The rate that was asked for. */
  readonly falsePositiveRate: number;
  readonly hashes: number;
  readonly bitsPerSlice: number;
  readonly capacity: number;
  /** The number of keys that were added, as the file says. */
  readonly size: number;
  /** The digest, or undefined for one of MD5 and XXH128. */
  readonly digest: 'md5' | ShaName | undefined;
  readonly #bits: ForeignBits;
  readonly #modulus: Modulus;
  /** The digest of the number of each round. */
  readonly #salts: Uint8Array[] = [];

  private constructor(header: PybloomHeader, bits: ForeignBits, beforeVersion4: boolean) {
    this.falsePositiveRate = header.falsePositiveRate;
    this.hashes = header.hashes;
    this.bitsPerSlice = header.bitsPerSlice;
    this.capacity = header.capacity;
    this.size = header.size;
    const digest = digestOf(header);
    this.digest = digest === 'md5' && !beforeVersion4 ? undefined : digest;
    this.#bits = bits;
    this.#modulus = new Modulus(header.bitsPerSlice);
  }

  static decode(bytes: Uint8Array, options: PybloomDecodeOptions = {}): PybloomFilter {
    checkOptions('PybloomFilter.decode', options, ['maxBytes', 'beforeVersion4']);
    const header = readPybloomHeader(bytes, options);
    const bits = ForeignBits.of(bytes, header.start, header.length);
    const used = header.hashes * header.bitsPerSlice;
    const beyond = bits.onesFrom(used);
    if (beyond > 0) {
      const reader = new ForeignReader('pybloom', bytes, 'little-endian');
      reader.fail('payload', `no ones from bit ${used} on`, beyond, bytes.length - 1);
    }
    return new PybloomFilter(header, bits, options.beforeVersion4 === true);
  }

  has(key: PybloomKey): boolean {
    const { digest } = this;
    if (digest === undefined) {
      throw new TypeError(
        'Cannot use the key: expected a file of pybloom-live before 4.0, got one that may be later, with XXH128 (decode with beforeVersion4: true)',
      );
    }
    const width = widthOf(this.bitsPerSlice);
    const length = loadKey(textOf(key));
    let view = new DataView(new ArrayBuffer(0));
    let at = 0;
    let round = 0;
    return this.#bits.probe(this.hashes, false, (i) => {
      if (at === view.byteLength) {
        view = new DataView(this.#salted(digest, round++, length).buffer);
        at = 0;
      }
      const low = width === 2 ? view.getUint16(at, true) : view.getUint32(at, true);
      const high = width === 8 ? view.getUint32(at + 4, true) : 0;
      at += width;
      return i * this.bitsPerSlice + this.#modulus.of(high, low);
    });
  }

  /** A new filter with the keys of both. As in Python, its `size` is that of this filter. */
  union(other: PybloomFilter): PybloomFilter {
    checkAlike(areAlike(PybloomFilter, this, other), 'merge', this, other);
    const bits = this.#bits.copy();
    bits.merge(other.#bits);
    return new PybloomFilter(this, bits, (this.digest ?? other.digest) === 'md5');
  }

  get hash(): string {
    return `${this.digest ?? 'md5 or xxh128'}/pybloom`;
  }

  get bits(): number {
    return this.hashes * this.bitsPerSlice;
  }

  get byteLength(): number {
    return this.#bits.length;
  }

  onesCount(): number {
    return this.#bits.ones();
  }

  estimatedSize(): number {
    return sizeFromOnes(this.bits, this.onesCount(), decayOf(1, 1 / this.bitsPerSlice));
  }

  estimatedFalsePositiveRate(): number {
    return this.#bits.estimatedRate(this.bits, this.hashes);
  }

  encode(): Uint8Array<ArrayBuffer> {
    const bytes = new Uint8Array(HEADER + this.#bits.length);
    const view = new DataView(bytes.buffer);
    view.setFloat64(0, this.falsePositiveRate, true);
    const fields = [this.hashes, this.bitsPerSlice, this.capacity, this.size];
    for (const [i, field] of fields.entries()) view.setBigUint64(8 + 8 * i, BigInt(field), true);
    this.#bits.writeTo(bytes, HEADER);
    return bytes;
  }

  toString(): string {
    return `PybloomFilter(${this.hashes} slices of ${this.bitsPerSlice} bits, capacity ${this.capacity}, rate ${this.falsePositiveRate})`;
  }

  /** @internal */
  [INSPECT](): string {
    return this.toString();
  }

  /** The digest of the salt of a round, followed by the key of `length` bytes that was loaded. */
  #salted(digest: 'md5' | ShaName, round: number, length: number): Uint8Array<ArrayBuffer> {
    this.#salts[round] ??= digestBytes(digest, new Uint8Array(Uint32Array.of(round).buffer));
    const salt = this.#salts[round];
    const key = keyWords();
    const message = new Uint8Array(salt.length + length);
    message.set(salt);
    message.set(new Uint8Array(key.buffer, key.byteOffset, length), salt.length);
    return digestBytes(digest, message);
  }
}

interface PybloomHeader {
  readonly falsePositiveRate: number;
  readonly hashes: number;
  readonly bitsPerSlice: number;
  readonly capacity: number;
  readonly size: number;
}

/** @internal Reads and checks everything except the bits. */
export function readPybloomHeader(
  bytes: Uint8Array,
  options: ForeignDecodeOptions,
): PybloomHeader & { readonly start: number; readonly length: number } {
  const reader = new ForeignReader('pybloom', bytes, 'little-endian');
  const falsePositiveRate = reader.f64('error rate');
  const sound = falsePositiveRate > 0 && falsePositiveRate < 1;
  reader.expect(sound, 8, 'an error rate between 0 and 1', falsePositiveRate);
  const hashes = reader.size('slices');
  reader.expect(hashes >= 1 && hashes <= MOST_SLICES, 8, `1 to ${MOST_SLICES} slices`, hashes);
  const bitsPerSlice = reader.size('bits of a slice');
  const fits = bitsPerSlice >= 1 && hashes * bitsPerSlice <= MAX_BITS;
  reader.expect(fits, 8, `slices of 1 to ${Math.floor(MAX_BITS / hashes)} bits`, bitsPerSlice);
  const capacity = reader.size('capacity');
  reader.expect(capacity >= 1, 8, 'a capacity of at least 1', capacity);
  const size = reader.size('key count');
  const length = Math.ceil((hashes * bitsPerSlice) / 8);
  const start = reader.payload(length, options);
  return { falsePositiveRate, hashes, bitsPerSlice, capacity, size, start, length };
}

/** The bytes of each index in a digest. */
function widthOf(bitsPerSlice: number): 2 | 4 | 8 {
  return bitsPerSlice >= 2 ** 31 ? 8 : bitsPerSlice >= 2 ** 15 ? 4 : 2;
}

/** The shortest digest with an index for each slice, or the longest that there is. */
function digestOf({ hashes, bitsPerSlice }: PybloomHeader): 'md5' | ShaName {
  const needed = 8 * hashes * widthOf(bitsPerSlice);
  if (needed > 384) return 'sha512';
  if (needed > 256) return 'sha384';
  if (needed > 160) return 'sha256';
  return needed > 128 ? 'sha1' : 'md5';
}

function digestBytes(digest: 'md5' | ShaName, message: Uint8Array): Uint8Array<ArrayBuffer> {
  if (digest !== 'md5') return sha(digest, message, message.length).slice();
  const words = new Int32Array(Math.ceil(message.length / 4) + 1);
  new Uint8Array(words.buffer).set(message);
  const out = new Int32Array(4);
  md5(words, message.length, out);
  return new Uint8Array(out.buffer);
}

function textOf(key: PybloomKey): string {
  if (typeof key === 'string') return key;
  if (typeof key === 'bigint' || Number.isSafeInteger(key)) return String(key);
  throw unlikeKey('a string or an integer', key);
}

const HEADER = 40;
/** An error rate of 2^-1074, the least positive number, makes as many. */
const MOST_SLICES = 1074;
