/**
 * The Bloom filter of Go's bits-and-blooms/bloom, as WriteTo, MarshalBinary and MarshalJSON write
 * it.
 *
 *     binary  u64 m | u64 k | u64 length of the bitset | ceil(length / 64) words of 64 bits, all big-endian
 *     JSON    {"m":9586,"k":7,"b":"<base64 of length and words>"}
 *
 * Two settings of the Go program change the bytes and are not in the file: `bitset.LittleEndian()`
 * reverses the bytes of length and words, `bitset.Base64StdEncoding()` uses the other alphabet.
 * Both are detected: only one order of the length fits the bytes that follow (a length that reads
 * the same both ways is taken as big-endian), and the alphabets differ in two digits. A filter is
 * written back in the way it was read. gob puts the binary form into an envelope, which is not read
 * here.
 *
 * Indices range over m. The bitset may be longer (`FromWithM`). A shorter one answers "no" beyond
 * its end, as in Go. Keys cannot be added to it here, where Go would let it grow.
 *
 * Two MurmurHash3 of 128 bits, of the key and of the key followed by a byte 1, give four numbers h;
 * index i is h[i mod 2] + i h[2 + ((i + i mod 2) mod 4) / 2] mod 2^64, mod m.
 */

import { areAlike, checkAlike } from '../filters/shared/alike.ts';
import { UNCLONEABLE } from '../hashing/uncloneable.ts';
import { checkOptions } from '../keys/check-options.ts';
import { INSPECT } from '../keys/printing.ts';
import { checkChoice, checkInteger, checkRate, MAX_BITS } from '../math/checks.ts';
import { murmur3x64 } from './hashes/murmur3.ts';
import { type Base64Alphabet, base64Length, decodeBase64, encodeBase64 } from './shared/base64.ts';
import { type BitOrder, ForeignBits } from './shared/foreign-bits.ts';
import type { ForeignBloomFilter } from './shared/foreign-filter.ts';
import { appendByte, keyWords, loadKey } from './shared/foreign-key.ts';
import {
  type ForeignDecodeOptions,
  ForeignReader,
  limitOf,
  MAX_FOREIGN_HASHES,
} from './shared/foreign-reader.ts';
import { add, multiply, r, set } from './shared/int64.ts';
import { Modulus } from './shared/modulus.ts';

export type { ForeignDecodeOptions } from './shared/foreign-reader.ts';
export { FormatError, type FormatErrorCode } from './shared/format-error.ts';

export type GoBloomForm = 'binary' | 'json';

export interface GoBloomCreateOptions {
  readonly capacity: number;
  readonly falsePositiveRate: number;
}

export class GoBloomFilter implements ForeignBloomFilter<string | Uint8Array> {
  /** @internal */ readonly clone = UNCLONEABLE;
  readonly format = 'go-bloom';
  readonly hash = 'murmur3-x64-128/bits-and-blooms';
  readonly hashes: number;
  /** The length of the bitset in bits: m, unless the filter was made around an existing bitset. */
  readonly length: number;
  /** The form that it was read from; `encode` writes the same. */
  readonly form: GoBloomForm;
  readonly byteOrder: 'big-endian' | 'little-endian';
  readonly base64: Base64Alphabet;
  readonly #bits: ForeignBits;
  readonly #modulus: Modulus;

  private constructor(header: GoBloomHeader, bits: ForeignBits) {
    this.hashes = header.hashes;
    this.length = header.length;
    this.form = header.form;
    this.base64 = header.base64;
    this.byteOrder = bits.order === 'bytes' ? 'little-endian' : 'big-endian';
    this.#bits = bits;
    this.#modulus = new Modulus(header.bits);
  }

  /** Makes a filter with the size that `bloom.NewWithEstimates` chooses. */
  static create(options: GoBloomCreateOptions): GoBloomFilter {
    checkOptions('GoBloomFilter.create', options, ['capacity', 'falsePositiveRate']);
    const { capacity, falsePositiveRate } = options;
    checkInteger('capacity', capacity, 1);
    checkRate('falsePositiveRate', falsePositiveRate);
    const bits = Math.ceil((-capacity * Math.log(falsePositiveRate)) / Math.LN2 ** 2);
    checkInteger('bits', bits, 1, MAX_BITS);
    const hashes = Math.ceil((Math.LN2 * bits) / capacity);
    const header = { bits, hashes, length: bits, form: 'binary', base64: 'url' } as const;
    return new GoBloomFilter(header, ForeignBits.zeros(8 * Math.ceil(bits / 64), 'big-endian words'));
  }

  /** Reads either form. */
  static decode(bytes: Uint8Array, options: ForeignDecodeOptions = {}): GoBloomFilter {
    checkOptions('GoBloomFilter.decode', options, ['maxBytes']);
    const header = readGoBloomHeader(bytes, options);
    const { bitset, start, byteLength, order, length } = header;
    const bits = ForeignBits.of(bitset, start, byteLength, order);
    const beyond = bits.onesFrom(length);
    if (beyond > 0) {
      const reader = new ForeignReader('go-bloom', bytes, 'big-endian');
      reader.fail('payload', `no ones from bit ${length} on`, beyond, Math.max(0, bytes.length - 8));
    }
    return new GoBloomFilter(header, bits);
  }

  /** Adds a key. Returns true if a bit changed, so that it was certainly absent before. */
  add(key: string | Uint8Array): boolean {
    if (this.length < this.bits) {
      throw new RangeError(
        `Cannot add a key: expected a bitset of ${this.bits} bits, got ${this.length} (the filter can only be read)`,
      );
    }
    return this.#probe(key, true);
  }

  has(key: string | Uint8Array): boolean {
    return this.#probe(key, false);
  }

  /** Adds all keys of another filter to this one. */
  merge(other: GoBloomFilter): this {
    checkAlike(areAlike(GoBloomFilter, this, other), 'merge', this, other);
    this.#bits.merge(other.#bits);
    return this;
  }

  /** A new filter with the keys of both. */
  union(other: GoBloomFilter): GoBloomFilter {
    return this.copy().merge(other);
  }

  copy(): GoBloomFilter {
    return new GoBloomFilter(this, this.#bits.copy());
  }

  equals(other: GoBloomFilter): boolean {
    return areAlike(GoBloomFilter, this, other) && this.#bits.equals(other.#bits);
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

  /** Writes the form that it was read from, or another. */
  encode(form: GoBloomForm = this.form): Uint8Array<ArrayBuffer> {
    checkChoice('form', form, ['binary', 'json']);
    const bytes = new Uint8Array(HEADER + 8 + this.#bits.length);
    const view = new DataView(bytes.buffer);
    view.setBigUint64(0, BigInt(this.bits));
    view.setBigUint64(8, BigInt(this.hashes));
    view.setBigUint64(HEADER, BigInt(this.length), this.byteOrder === 'little-endian');
    this.#bits.writeTo(bytes, HEADER + 8);
    if (form === 'binary') return bytes;
    const bitset = encodeBase64(bytes.subarray(HEADER), this.base64);
    return ascii(`{"m":${this.bits},"k":${this.hashes},"b":"${bitset}"}`);
  }

  toString(): string {
    return `GoBloomFilter(${this.bits} bits, ${this.hashes} hashes, bitset of ${this.length}, ${this.byteOrder})`;
  }

  /** @internal */
  [INSPECT](): string {
    return this.toString();
  }

  #probe(key: string | Uint8Array, adding: boolean): boolean {
    const length = loadKey(key);
    murmur3x64(keyWords(), length, 0, first);
    const longer = appendByte(length, 1); // may move the key
    murmur3x64(keyWords(), longer, 0, second);
    // A short bitset answers "no" beyond its end.
    return this.#bits.probe(this.hashes, adding, (i) => {
      const odd = i % 2;
      const factor = (i + odd) % 4; // 0 or 2: which half of the second hash
      set(0, second[factor], second[factor + 1]);
      multiply(0, i, 0);
      add(0, first[2 * odd], first[2 * odd + 1]);
      return this.#modulus.of(r[1], r[0]);
    });
  }
}

interface GoBloomHeader {
  readonly bits: number;
  readonly hashes: number;
  readonly length: number;
  readonly form: GoBloomForm;
  readonly base64: Base64Alphabet;
}

interface GoBloomBitset {
  /** The bytes that hold the bits: the file itself, or the decoded base64. */
  readonly bitset: Uint8Array;
  readonly start: number;
  readonly byteLength: number;
  readonly order: BitOrder;
  readonly length: number;
}

/** @internal Reads and checks everything except the bits. */
export function readGoBloomHeader(
  bytes: Uint8Array,
  options: ForeignDecodeOptions,
): GoBloomHeader & GoBloomBitset {
  const reader = new ForeignReader('go-bloom', bytes, 'big-endian');
  // No filter has 2^62 bits, so a binary file never begins with a brace.
  if (bytes[0] === BRACE) return readJson(reader, options);
  const bits = Number(reader.u64('m'));
  const hashes = Number(reader.u64('k'));
  checkParameters(reader, bits, hashes);
  return { bits, hashes, form: 'binary', base64: 'url', ...readBitset(reader, options) };
}

function readJson(reader: ForeignReader, options: ForeignDecodeOptions): GoBloomHeader & GoBloomBitset {
  const { m, k, b } = parseObject(reader);
  checkParameters(reader, m, k);
  const text = typeof b === 'string' ? b : '';
  const maxBytes = limitOf(options);
  const length = base64Length(text);
  if (length < 8) reader.fail('payload', 'the bitset as base64 with padding', `${text.length} characters`, 0);
  if (length - 8 > maxBytes) reader.fail('limit', `at most ${maxBytes} bytes of bits`, length - 8, 0);
  const base64 = /[+/]/.test(text) ? 'standard' : 'url';
  const bitset = new Uint8Array(length);
  const wrong = decodeBase64(text, base64, bitset);
  if (wrong >= 0) reader.fail('payload', 'base64', JSON.stringify(text[wrong]), 0);
  const inner = new ForeignReader('go-bloom', bitset, 'big-endian');
  return { bits: m as number, hashes: k as number, form: 'json', base64, ...readBitset(inner, options) };
}

function parseObject(reader: ForeignReader): { m?: unknown; k?: unknown; b?: unknown } {
  const pieces: string[] = [];
  for (let at = 0; at < reader.bytes.length; at += 8192) {
    pieces.push(String.fromCharCode(...reader.bytes.subarray(at, at + 8192)));
  }
  try {
    return JSON.parse(pieces.join(''));
  } catch {
    return reader.fail('not-this-format', 'a JSON object {"m":…,"k":…,"b":"…"}', 'no JSON', 0);
  }
}

function checkParameters(reader: ForeignReader, bits: unknown, hashes: unknown): void {
  const within = (value: unknown, max: number) =>
    Number.isInteger(value) && (value as number) >= 1 && (value as number) <= max;
  // JSON can hold any value, even objects whose `toString` is not a function, so those are named by
  // their type.
  const shown = (value: unknown) => (typeof value === 'number' ? value : typeof value);
  if (!within(bits, MAX_BITS)) reader.fail('parameters', `m from 1 to ${MAX_BITS}`, shown(bits), 0);
  if (!within(hashes, MAX_FOREIGN_HASHES)) {
    reader.fail('parameters', `k from 1 to ${MAX_FOREIGN_HASHES}`, shown(hashes), Math.min(8, reader.at));
  }
}

/**
 * Reads the bitset's own form. Its byte order is the one in which its length fits the bytes that
 * follow.
 */
function readBitset(reader: ForeignReader, options: ForeignDecodeOptions): GoBloomBitset {
  const field = reader.u64('bitset length');
  const turned = BigInt.asUintN(64, reversed(field));
  const fits = (length: bigint) =>
    length <= BigInt(MAX_BITS) && 8 * Math.ceil(Number(length) / 64) === reader.left;
  const little = !fits(field) && fits(turned);
  // If neither fits, the error is about Go's default order, or about the only plausible one.
  const sane =
    !little && field > BigInt(MAX_BITS) && turned <= BigInt(MAX_BITS) ? turned : little ? turned : field;
  const length = Number(sane);
  if (length > MAX_BITS)
    reader.fail('parameters', `a bitset of at most ${MAX_BITS} bits`, field, reader.at - 8);
  const byteLength = 8 * Math.ceil(length / 64);
  const order = little ? 'bytes' : 'big-endian words';
  return { bitset: reader.bytes, start: reader.payload(byteLength, options), byteLength, order, length };
}

function reversed(value: bigint): bigint {
  const view = new DataView(new ArrayBuffer(8));
  view.setBigUint64(0, value);
  return view.getBigUint64(0, true);
}

function ascii(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

const BRACE = 0x7b;
const HEADER = 16;
const first = /* @__PURE__ */ new Int32Array(4);
const second = /* @__PURE__ */ new Int32Array(4);
