/**
 * The Bloom filter of a table file of Apache Cassandra, `…-Filter.db`. Read only: Cassandra writes
 * it together with the table, and a filter of other keys would hide rows.
 *
 *     0  i32  k
 *     4  i32  number of words of 64 bits
 *     8       the bits
 *
 * Both numbers are big-endian. Since 4.0 bit i is bit i % 8 of byte i / 8. Before, the bits were
 * big-endian words. h1 and h2 are the halves of MurmurHash3_x64_128 under seed 0, in which the
 * bytes of the last block count as signed numbers. Since 3.0 index i is |h2 + i h1| mod m, before
 * it was |h1 + i h2|; the sum is a signed 64-bit number. The file does not say which release wrote
 * it. Its name does: the two letters before the first hyphen are the version of the table, `na` and
 * later for 4.0, `ma` to `me` for 3.x, earlier letters for 2.x, and a name with `-bti-` is 5.0 or
 * later.
 *
 * A key is the serialised partition key. One column of type text is its UTF-8, and one of type blob
 * its bytes. An int is 4 big-endian bytes, a bigint 8. Several columns are joined as Cassandra
 * does: for each a length of 16 bits, the bytes and a zero.
 */

import { areAlike, checkAlike } from '../filters/shared/alike.ts';
import { UNCLONEABLE } from '../hashing/uncloneable.ts';
import { checkOptions } from '../keys/check-options.ts';
import { INSPECT } from '../keys/printing.ts';
import { MAX_BITS, wrongValue } from '../math/checks.ts';
import { murmur3x64 } from './hashes/murmur3.ts';
import { ForeignBits } from './shared/foreign-bits.ts';
import type { ForeignBloomFilter } from './shared/foreign-filter.ts';
import { keyWords, loadJavaKey } from './shared/foreign-key.ts';
import { type ForeignDecodeOptions, ForeignReader } from './shared/foreign-reader.ts';
import { add, r, set } from './shared/int64.ts';
import { Modulus } from './shared/modulus.ts';

export type { ForeignDecodeOptions } from './shared/foreign-reader.ts';
export { FormatError, type FormatErrorCode } from './shared/format-error.ts';

/** 4 stands for 4.0 and all later releases. */
export type CassandraRelease = 2 | 3 | 4;

export interface CassandraDecodeOptions extends ForeignDecodeOptions {
  /** The release that wrote the file; see `cassandraRelease`. Default 4. */
  readonly release?: CassandraRelease;
}

export class CassandraFilter implements ForeignBloomFilter<string | Uint8Array> {
  /** @internal */ readonly clone = UNCLONEABLE;
  readonly format = 'cassandra';
  readonly release: CassandraRelease;
  readonly hashes: number;
  readonly #bits: ForeignBits;
  readonly #modulus: Modulus;

  private constructor(release: CassandraRelease, hashes: number, bits: ForeignBits) {
    this.release = release;
    this.hashes = hashes;
    this.#bits = bits;
    this.#modulus = new Modulus(8 * bits.length);
  }

  static decode(bytes: Uint8Array, options: CassandraDecodeOptions = {}): CassandraFilter {
    checkOptions('CassandraFilter.decode', options, ['maxBytes', 'release']);
    const { release = 4 } = options;
    if (![2, 3, 4].includes(release)) throw wrongValue('release', '2, 3 or 4', release);
    const { hashes, start, length } = readCassandraHeader(bytes, options);
    const order = release === 4 ? 'bytes' : 'big-endian words';
    return new CassandraFilter(release, hashes, ForeignBits.of(bytes, start, length, order));
  }

  /** Looks up a serialised partition key. A string stands for its UTF-8. */
  has(key: string | Uint8Array): boolean {
    const length = loadJavaKey(key);
    murmur3x64(keyWords(), length, 0, hash, true);
    const [base, step] = this.release === 2 ? [0, 2] : [2, 0];
    set(0, hash[base], hash[base + 1]);
    return this.#bits.probe(this.hashes, false, (i) => {
      if (i > 0) add(0, hash[step], hash[step + 1]);
      const sign = r[1] >> 31; // all ones if negative
      const low = (r[0] ^ sign) - sign;
      const high = (r[1] ^ sign) + (sign !== 0 && low === 0 ? 1 : 0);
      return this.#modulus.of(high, low);
    });
  }

  /** A new filter with the keys of both. */
  union(other: CassandraFilter): CassandraFilter {
    checkAlike(areAlike(CassandraFilter, this, other), 'merge', this, other);
    const bits = this.#bits.copy();
    bits.merge(other.#bits);
    return new CassandraFilter(this.release, this.hashes, bits);
  }

  get hash(): string {
    return `murmur3-x64-128/cassandra-${this.release}`;
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
    const bytes = new Uint8Array(HEADER + this.#bits.length);
    const view = new DataView(bytes.buffer);
    view.setInt32(0, this.hashes);
    view.setInt32(4, this.#bits.length / 8);
    this.#bits.writeTo(bytes, HEADER);
    return bytes;
  }

  toString(): string {
    return `CassandraFilter(${this.bits} bits, ${this.hashes} hashes, release ${this.release})`;
  }

  /** @internal */
  [INSPECT](): string {
    return this.toString();
  }
}

/**
 * The release that wrote a file, by its name, such as `nb-1-big-Filter.db`. Undefined if the name
 * does not tell.
 */
export function cassandraRelease(fileName: string): CassandraRelease | undefined {
  const name = fileName.slice(Math.max(fileName.lastIndexOf('/'), fileName.lastIndexOf('\\')) + 1);
  if (/^[a-z]{2}-[^-]+-bti-Filter\.db$/.test(name)) return 4;
  // Before 2.2 the names of keyspace and table came first: Keyspace-table-jb-1-Filter.db.
  const version =
    /^([a-z]{2})-[^-]+-big-Filter\.db$/.exec(name)?.[1] ?? /-([a-z]{2})-\d+-Filter\.db$/.exec(name)?.[1];
  if (version === undefined) return undefined;
  return version >= 'na' ? 4 : version >= 'ma' ? 3 : 2;
}

/** @internal Reads and checks everything except the bits. */
export function readCassandraHeader(
  bytes: Uint8Array,
  options: ForeignDecodeOptions,
): { readonly hashes: number; readonly start: number; readonly length: number } {
  const reader = new ForeignReader('cassandra', bytes, 'big-endian');
  const hashes = reader.i32('k');
  reader.expect(hashes > 0 && hashes <= MOST_HASHES, 4, `k from 1 to ${MOST_HASHES}`, hashes);
  const words = reader.i32('word count');
  reader.expect(words > 0 && 64 * words <= MAX_BITS, 4, `1 to ${MAX_BITS / 64} words`, words);
  return { hashes, start: reader.payload(8 * words, options), length: 8 * words };
}

const HEADER = 8;
/** Cassandra has room for the indices of 21 hashes, and makes at most 20. */
const MOST_HASHES = 21;
const hash = /* @__PURE__ */ new Int32Array(4);
