/**
 * Squid's Cache Digest: a summary of a cache's contents, which its siblings fetch to know which
 * cache to ask. This file handles only the digest, not fetching and serving it.
 *
 *     0    i16  version, and required version: 5 and 3
 *     4    i32  capacity in entries
 *     8    i32  count (unreliable: Squid does not reset it when it resizes)
 *     12   i32  requested deletions (none is ever made)
 *     16   i32  bytes of the mask: floor((capacity · bits per entry + 7) / 8)
 *     20   u8   bits per entry, u8 hash functions (4), i16 0, and 104 reserved bytes
 *     128       the mask; bit i is bit i % 8 of byte i / 8
 *
 * Everything is big-endian. A key is the MD5 of a byte for the method (GET 1, POST 2, PUT 3, HEAD
 * 4) and the URL. Its four words of 32 bits, mod the bits of the mask, are the indices.
 * `canonicalUrl` brings a URL into the form that Squid hashes: host in lower case and without a dot
 * at its end, no user, no default port, `/` for an empty path, escapes unchanged. `add` and `has`
 * call it themselves.
 *
 * Squid refuses a digest with more than 65 % ones; `useful` says whether it would accept this one.
 * Version and sizes are checked as in Squid. With 4 hashes fixed, the rate depends only on the bits
 * per entry: 9.2 % for 5 (Squid's default), 2.4 % for 8, 0.24 % for 16.
 */

import { areAlike, checkAlike } from '../filters/shared/alike.ts';
import { UNCLONEABLE } from '../hashing/uncloneable.ts';
import { checkOptions } from '../keys/check-options.ts';
import { INSPECT } from '../keys/printing.ts';
import { checkInteger, wrongValue } from '../math/checks.ts';
import { md5 } from './hashes/md5.ts';
import { ForeignBits } from './shared/foreign-bits.ts';
import type { ForeignBloomFilter } from './shared/foreign-filter.ts';
import { keyWords, loadKey, unlikeKey } from './shared/foreign-key.ts';
import { copyOf, type ForeignDecodeOptions, ForeignReader } from './shared/foreign-reader.ts';

export type { ForeignDecodeOptions } from './shared/foreign-reader.ts';
export { FormatError, type FormatErrorCode } from './shared/format-error.ts';

export type SquidMethod = 'GET' | 'POST' | 'PUT' | 'HEAD';

/** A URL (requested with GET), a method and a URL, or the 16 bytes of a cache key. */
export type SquidKey = string | { readonly method: SquidMethod; readonly url: string } | Uint8Array;

export interface SquidCreateOptions {
  /** The number of entries of the cache. */
  readonly capacity: number;
  /** Default 5, like Squid's `digest_bits_per_entry`. */
  readonly bitsPerEntry?: number;
}

export class SquidDigest implements ForeignBloomFilter<SquidKey> {
  /** @internal */ readonly clone = UNCLONEABLE;
  readonly format = 'squid';
  readonly hash = 'md5/squid';
  readonly hashes = HASHES;
  readonly capacity: number;
  readonly bitsPerEntry: number;
  #count: number;
  readonly #header: Uint8Array;
  readonly #bits: ForeignBits;

  private constructor(header: Uint8Array, bits: ForeignBits) {
    const view = new DataView(header.buffer, header.byteOffset);
    this.capacity = view.getInt32(4);
    this.bitsPerEntry = view.getUint8(20);
    this.#count = view.getInt32(8);
    this.#header = header;
    this.#bits = bits;
  }

  static create(options: SquidCreateOptions): SquidDigest {
    checkOptions('SquidDigest.create', options, ['capacity', 'bitsPerEntry']);
    const { capacity, bitsPerEntry = 5 } = options;
    checkInteger('bitsPerEntry', bitsPerEntry, 1, 255);
    checkInteger('capacity', capacity, 1, Math.floor((2 ** 31 - 9) / bitsPerEntry));
    const header = new Uint8Array(HEADER);
    const view = new DataView(header.buffer);
    view.setInt16(0, CURRENT);
    view.setInt16(2, REQUIRED);
    view.setInt32(4, capacity);
    view.setInt32(16, maskBytes(capacity, bitsPerEntry));
    view.setUint8(20, bitsPerEntry);
    view.setUint8(21, HASHES);
    return new SquidDigest(header, ForeignBits.zeros(maskBytes(capacity, bitsPerEntry)));
  }

  static decode(bytes: Uint8Array, options: ForeignDecodeOptions = {}): SquidDigest {
    checkOptions('SquidDigest.decode', options, ['maxBytes']);
    const length = readSquidHeader(bytes, options);
    return new SquidDigest(copyOf(bytes, 0, HEADER), ForeignBits.of(bytes, HEADER, length));
  }

  /** Adds a key. Returns true if a bit changed. `count` is incremented in any case, as in Squid. */
  add(key: SquidKey): boolean {
    this.#hash(key);
    this.#count++;
    return this.#bits.probe(HASHES, true, (i) => this.#index(i));
  }

  has(key: SquidKey): boolean {
    this.#hash(key);
    return this.#bits.probe(HASHES, false, (i) => this.#index(i));
  }

  /** Adds all entries of a digest of the same size. */
  merge(other: SquidDigest): this {
    checkAlike(areAlike(SquidDigest, this, other), 'merge', this, other);
    this.#bits.merge(other.#bits);
    this.#count += other.#count;
    return this;
  }

  /** A new digest with the entries of both. */
  union(other: SquidDigest): SquidDigest {
    return this.copy().merge(other);
  }

  copy(): SquidDigest {
    return new SquidDigest(this.encode().slice(0, HEADER), this.#bits.copy());
  }

  equals(other: SquidDigest): boolean {
    return areAlike(SquidDigest, this, other) && this.#bits.equals(other.#bits);
  }

  /**
   * The number of additions according to the header. Squid's own is unreliable; `estimatedSize` is
   * not.
   */
  get count(): number {
    return this.#count;
  }

  get bits(): number {
    return 8 * this.#bits.length;
  }

  get byteLength(): number {
    return this.#bits.length;
  }

  /** Whether Squid would accept it: at most 65 % ones. */
  get useful(): boolean {
    return this.onesCount() <= MAX_FILL * this.bits;
  }

  onesCount(): number {
    return this.#bits.ones();
  }

  estimatedSize(): number {
    return this.#bits.estimatedSize(this.bits, HASHES);
  }

  estimatedFalsePositiveRate(): number {
    return this.#bits.estimatedRate(this.bits, HASHES);
  }

  /** Writes exactly header and mask: Squid before 7.6 can overflow on a longer body. */
  encode(): Uint8Array<ArrayBuffer> {
    const bytes = new Uint8Array(HEADER + this.#bits.length);
    bytes.set(this.#header);
    new DataView(bytes.buffer).setInt32(8, Math.min(this.#count, 2 ** 31 - 1));
    this.#bits.writeTo(bytes, HEADER);
    return bytes;
  }

  toString(): string {
    return `SquidDigest(capacity ${this.capacity}, ${this.bitsPerEntry} bits per entry, ${this.bits} bits)`;
  }

  /** @internal */
  [INSPECT](): string {
    return this.toString();
  }

  #hash(key: SquidKey): void {
    if (key instanceof Uint8Array) {
      if (key.length !== 16) throw wrongValue('a cache key', '16 bytes', key.length);
      digest.set(new Int32Array(Uint8Array.from(key).buffer));
      return;
    }
    if (typeof key === 'string') hashRequest(key, 'GET', digest);
    else if (typeof key === 'object' && key !== null) hashRequest(key.url, key.method, digest);
    else throw unlikeKey('a URL, { method, url } or the 16 bytes of a cache key', key);
  }

  /** Word i of the digest, which MD5 leaves little-endian and Squid reads big-endian. */
  #index(i: number): number {
    const word = digest[i];
    const turned = (word << 24) | ((word & 0xff00) << 8) | ((word >>> 8) & 0xff00) | (word >>> 24);
    return (turned >>> 0) % this.bits;
  }
}

/**
 * The cache key of a request: 16 bytes. One key can be looked up in the digests of several caches.
 */
export function squidKey(url: string, method: SquidMethod = 'GET'): Uint8Array<ArrayBuffer> {
  const out = new Int32Array(4);
  hashRequest(url, method, out);
  return new Uint8Array(out.buffer);
}

/**
 * An absolute URL as Squid hashes it (AnyP::Uri::parse and absolute). Squid changes more in unusual
 * URLs (spaces, authorities without a host), and older versions kept the user in an https URL,
 * which no client should send.
 */
export function canonicalUrl(url: string): string {
  const parts = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)(.*)$/is.exec(url);
  if (parts === null)
    throw new TypeError(`Cannot use the key: expected an absolute URL, got ${JSON.stringify(url)}`);
  const scheme = parts[1].toLowerCase();
  const web = scheme === 'http' || scheme === 'https';
  const authority = parts[2].slice(web ? parts[2].lastIndexOf('@') + 1 : 0).toLowerCase();
  const port = `:${PORTS[scheme]}`;
  const host = authority.endsWith(port) ? authority.slice(0, -port.length) : authority;
  const path = parts[3].startsWith('/') ? parts[3] : `/${parts[3]}`;
  return `${scheme}://${host.replace(/\.(?=$|:\d*$)/, '')}${path}`;
}

/** @internal Reads and checks the header; returns the number of bytes of the mask. */
export function readSquidHeader(bytes: Uint8Array, options: ForeignDecodeOptions): number {
  const reader = new ForeignReader('squid', bytes, 'big-endian');
  const current = reader.i16('version');
  const required = reader.i16('required version');
  if (required > CURRENT || current < REQUIRED || required > current) {
    reader.fail(
      'version',
      `version ${CURRENT} that requires ${REQUIRED}`,
      `${current} that requires ${required}`,
      0,
    );
  }
  const capacity = reader.i32('capacity');
  reader.expect(capacity > 0, 4, 'a capacity of at least 1', capacity);
  const count = reader.i32('count');
  reader.expect(count >= 0, 4, 'a count of at least 0', count);
  reader.i32('deletions');
  const length = reader.i32('mask size');
  const bitsPerEntry = reader.u8('bits per entry');
  reader.expect(bitsPerEntry > 0, 1, 'at least 1 bit per entry', bitsPerEntry);
  const hashes = reader.u8('hash functions');
  reader.expect(hashes === HASHES, 1, `${HASHES} hash functions`, hashes);
  if (length !== maskBytes(capacity, bitsPerEntry)) {
    reader.fail('parameters', `${maskBytes(capacity, bitsPerEntry)} bytes of mask`, length, 16);
  }
  // Squid counts bits in an int.
  if (length >= 2 ** 28) reader.fail('parameters', `fewer than ${2 ** 28} bytes of mask`, length, 16);
  if (bytes.length < HEADER) reader.fail('truncated', `${HEADER} header bytes`, bytes.length, bytes.length);
  reader.at = HEADER;
  reader.payload(length, options);
  return length;
}

function hashRequest(url: string, method: SquidMethod, out: Int32Array): void {
  const code = METHODS.indexOf(method) + 1;
  if (code === 0) throw wrongValue('method', `one of ${METHODS.join(', ')}`, method);
  const length = loadKey(String.fromCharCode(code) + canonicalUrl(url));
  md5(keyWords(), length, out);
}

function maskBytes(capacity: number, bitsPerEntry: number): number {
  return Math.floor((capacity * bitsPerEntry + 7) / 8);
}

const METHODS = ['GET', 'POST', 'PUT', 'HEAD'] as const satisfies readonly SquidMethod[];
const PORTS: Readonly<Record<string, string>> = { http: '80', https: '443', ftp: '21' };
const HASHES = 4;
const HEADER = 128;
const CURRENT = 5;
const REQUIRED = 3;
const MAX_FILL = 0.65;
const digest = /* @__PURE__ */ new Int32Array(4);
