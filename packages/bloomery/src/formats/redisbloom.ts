/**
 * RedisBloom's filter (the BF. commands of Redis 8), as BF.SCANDUMP gives it and BF.LOADCHUNK takes
 * it.
 *
 * A filter is a chain of links. `add` asks all links first, and adds a key to the newest only if
 * none of them has it. When the newest is full, a new link is appended with `expansion` times its
 * capacity and half its error. The first link has half the error that was asked for, so the chain
 * as a whole keeps it. This code does the same, so a filter that is made here and loaded into a
 * server goes on growing as if it had been made there, and BF.INFO and BF.CARD are right.
 *
 * The dump is a header and chunks; every chunk is sent back with the iterator that came with it:
 *
 *     header   u64 size | u32 links | u32 options | u32 expansion, then for each link
 *              u64 bytes | u64 bits | u64 size | f64 error | f64 bits per entry | u32 hashes |
 *              u64 entries | u8 n2
 *     chunk    up to 16 MiB of one link; bit i is bit i % 8 of byte i / 8
 *
 * The place of a chunk in the links laid end to end is iterator - 1 - length. Everything is
 * little-endian. The indices are (a + i b mod 2^64) mod bits, where a and b are MurmurHash64A under
 * the seeds c6a4a7935bd1e995 and a.
 *
 * `encode` and `decode` put the chunks into one file, with a record for each: u64 iterator | u64
 * length | data. That file format is this library's, not Redis's. A client of a server uses
 * `toChunks` and `fromChunks`.
 *
 * The loader of the server checks little (RedisBloom#721, #1002); this one does the same checks and
 * more. It also reads and extends old filters, with sizes that are powers of two and 32-bit hashes.
 * It does not read RDB files and DUMP.
 *
 * `bits per entry` is a logarithm that equals the one of C to its last digit (precise-log.ts), so
 * that headers are equal as well.
 */

import { checkAlike } from '../filters/shared/alike.ts';
import { UNCLONEABLE } from '../hashing/uncloneable.ts';
import { checkOptions } from '../keys/check-options.ts';
import { INSPECT } from '../keys/printing.ts';
import { atLeastOneOf } from '../math/at-least-one.ts';
import { checkInteger, checkNumber } from '../math/checks.ts';
import {
  chunkRecords,
  MAX_LINKS,
  type RedisBloomChunk,
  readChunks,
  writeChunkRecords,
  writeChunks,
} from './redisbloom-dump.ts';
import {
  FORCE64,
  fullError,
  hashForLinks,
  type Link,
  NO_SCALING,
  NOROUND,
  newLink,
  probe,
  type RedisBloomLink,
} from './redisbloom-link.ts';
import type { ForeignBloomFilter } from './shared/foreign-filter.ts';
import type { ForeignDecodeOptions } from './shared/foreign-reader.ts';

export type { RedisBloomChunk } from './redisbloom-dump.ts';
export type { RedisBloomLink } from './redisbloom-link.ts';
export type { ForeignDecodeOptions } from './shared/foreign-reader.ts';
export { FormatError, type FormatErrorCode } from './shared/format-error.ts';

export interface RedisBloomCreateOptions {
  /** The number of keys until the first link is full, from 1 to 2^30. */
  readonly capacity: number;
  /** The rate of the whole chain, at most 0.25 as in the server. Default 0.01. */
  readonly falsePositiveRate?: number;
  /**
   * Ratio of each link's capacity to the one before; 0 means that the filter never grows. Default
   * 2.
   */
  readonly expansion?: number;
  /** Refuses keys beyond the capacity instead of growing, like NONSCALING. */
  readonly nonScaling?: boolean;
}

export class RedisBloomFilter implements ForeignBloomFilter<string | Uint8Array> {
  /** @internal */ readonly clone = UNCLONEABLE;
  readonly format = 'redisbloom';
  /** Ratio of each link's capacity to the one before. */
  readonly expansion: number;
  readonly #options: number;
  readonly #links: Link[];

  private constructor(options: number, expansion: number, links: Link[]) {
    this.#options = options;
    this.expansion = expansion;
    this.#links = links;
  }

  /** Makes a filter as BF.RESERVE does. */
  static create(options: RedisBloomCreateOptions): RedisBloomFilter {
    checkOptions('RedisBloomFilter.create', options, CREATE_OPTIONS);
    const { capacity, falsePositiveRate = 0.01, expansion = 2 } = options;
    const nonScaling = options.nonScaling === true || expansion === 0;
    checkInteger('capacity', capacity, 1, 2 ** 30);
    // Half of the rate is a rate as well, so it is above 0.
    checkNumber('falsePositiveRate', falsePositiveRate, 2 * Number.MIN_VALUE, 0.25);
    checkInteger('expansion', expansion, 0, 32768);
    const error = nonScaling ? falsePositiveRate : falsePositiveRate * TIGHTENING;
    const flags = NOROUND | FORCE64 | (nonScaling ? NO_SCALING : 0);
    return new RedisBloomFilter(flags, expansion, [newLink(capacity, error, flags)]);
  }

  /**
   * Reads the filter from all answers of BF.SCANDUMP, in order. The last, empty one may be left
   * out.
   */
  static fromChunks(chunks: Iterable<RedisBloomChunk>, options: ForeignDecodeOptions = {}): RedisBloomFilter {
    checkOptions('RedisBloomFilter.fromChunks', options, ['maxBytes']);
    const all = [...chunks];
    for (const { iterator, data } of all) {
      // Clients that decode answers as text return strings, which would be loaded as zeros.
      if (typeof iterator !== 'number' || !(data instanceof Uint8Array)) {
        throw new TypeError(
          `Cannot read a chunk: expected a number as iterator and a Uint8Array as data, got ${typeof iterator} and ${typeof data}`,
        );
      }
    }
    if (all.length > 1 && all[all.length - 1].iterator === 0) all.pop();
    return RedisBloomFilter.#read(all, options);
  }

  /** Reads the file that `encode` writes. */
  static decode(bytes: Uint8Array, options: ForeignDecodeOptions = {}): RedisBloomFilter {
    checkOptions('RedisBloomFilter.decode', options, ['maxBytes']);
    return RedisBloomFilter.#read(chunkRecords(bytes), options);
  }

  static #read(chunks: Iterable<RedisBloomChunk>, options: ForeignDecodeOptions): RedisBloomFilter {
    const { flags, expansion, links } = readChunks(chunks, options);
    return new RedisBloomFilter(flags, expansion, links);
  }

  /**
   * Adds a key as BF.ADD does. Returns false, and changes nothing, if some link may have it
   * already. A full filter that does not scale throws a RangeError, as the server returns an error.
   */
  add(key: string | Uint8Array): boolean {
    hashForLinks(key, this.#options);
    if (this.#find()) return false;
    let link = this.#links[this.#links.length - 1];
    if (link.size >= link.entries) {
      if (this.#options & NO_SCALING) {
        throw fullError(`of ${link.size} keys that does not scale`);
      }
      link = newLink(link.entries * this.expansion, link.error * TIGHTENING, this.#options);
      this.#links.push(link);
    }
    probe(link, true);
    link.size++;
    return true;
  }

  has(key: string | Uint8Array): boolean {
    hashForLinks(key, this.#options);
    return this.#find();
  }

  /**
   * Adds all keys of another chain with the same links. Redis has no such command. A key that both
   * have counts once for each, so `size` becomes an upper bound and the filter grows a little
   * early, never late.
   */
  merge(other: RedisBloomFilter): this {
    checkAlike(this.#isLike(other), 'merge', this, other);
    for (const [i, link] of this.#links.entries()) {
      link.data.merge(other.#links[i].data);
      link.size += other.#links[i].size;
    }
    return this;
  }

  /** A new filter with the keys of both. */
  union(other: RedisBloomFilter): RedisBloomFilter {
    return this.copy().merge(other);
  }

  /**
   * Adds all keys of another chain, whatever its links. Links that are alike and have room for the
   * keys of both are merged. Other links are appended, so the rate is at most the sum of both
   * rates: merging two full links of 1,000 keys at 1 % gives 16 %. The link with the most room
   * becomes the newest, to which keys are added. Only the hash must be the same.
   */
  unite(other: RedisBloomFilter): this {
    const isSameHash =
      other instanceof RedisBloomFilter && ((this.#options ^ other.#options) & ~NO_SCALING) === 0;
    checkAlike(isSameHash, 'unite', this, other);
    if (this.#links.length + other.#links.length > MAX_LINKS) {
      throw new RangeError(`Cannot unite filters: expected at most ${MAX_LINKS} links, got more`);
    }
    const appended: Link[] = [];
    for (const link of other.#links) {
      const twin = this.#links.find(
        (mine) => shapeOf(mine) === shapeOf(link) && mine.size + link.size <= mine.entries,
      );
      if (twin === undefined) appended.push({ ...link, data: link.data.copy() });
      else {
        twin.data.merge(link.data);
        twin.size += link.size;
      }
    }
    this.#links.push(...appended);
    const room = ({ entries, size }: Link) => entries - size;
    const newest = this.#links.reduce((best, link) => (room(link) >= room(best) ? link : best));
    this.#links.push(...this.#links.splice(this.#links.indexOf(newest), 1));
    return this;
  }

  copy(): RedisBloomFilter {
    const links = this.#links.map((link) => ({ ...link, data: link.data.copy() }));
    return new RedisBloomFilter(this.#options, this.expansion, links);
  }

  equals(other: RedisBloomFilter): boolean {
    return (
      this.#isLike(other) &&
      this.#links.every(
        (link, i) => link.size === other.#links[i].size && link.data.equals(other.#links[i].data),
      )
    );
  }

  /**
   * The number of keys that were added, as in BF.CARD. Keys that were mistaken for others are not
   * counted.
   */
  get size(): number {
    return this.#links.reduce((sum, link) => sum + link.size, 0);
  }

  /** Whether the filter grows instead of refusing keys. */
  get scaling(): boolean {
    return (this.#options & NO_SCALING) === 0;
  }

  /** The links, oldest first. */
  get links(): readonly RedisBloomLink[] {
    return this.#links.map(({ bits, hashes, entries, size, error }) => ({
      bits,
      hashes,
      entries,
      size,
      error,
    }));
  }

  get hash(): string {
    return this.#options & FORCE64 ? 'murmur64a/c6a4a7935bd1e995' : 'murmur2/9747b28c';
  }

  /** The number of bits of all links. */
  get bits(): number {
    return this.#links.reduce((sum, link) => sum + link.bits, 0);
  }

  /** The number of hashes of the newest link; older ones have fewer. */
  get hashes(): number {
    return this.#links[this.#links.length - 1].hashes;
  }

  get byteLength(): number {
    return this.bits / 8;
  }

  onesCount(): number {
    return this.#links.reduce((sum, link) => sum + link.data.ones(), 0);
  }

  /** Estimated from the zeros, link by link; `size` is the server's own count. */
  estimatedSize(): number {
    return this.#links.reduce((sum, { range, hashes, data }) => sum + data.estimatedSize(range.m, hashes), 0);
  }

  /** Estimates the probability that some link says "maybe" to a non-member key. */
  estimatedFalsePositiveRate(): number {
    return atLeastOneOf(this.#links.map(({ range, hashes, data }) => data.estimatedRate(range.m, hashes)));
  }

  /** The chunks for BF.LOADCHUNK, in order. */
  toChunks(): RedisBloomChunk[] {
    return writeChunks({ flags: this.#options, expansion: this.expansion, links: this.#links });
  }

  encode(): Uint8Array<ArrayBuffer> {
    return writeChunkRecords(this.toChunks());
  }

  toString(): string {
    const links = this.#links.map(({ bits, hashes }) => `${bits} bits ${hashes} hashes`).join(', ');
    return `RedisBloomFilter(${links}; expansion ${this.scaling ? this.expansion : 'none'}, ${this.hash})`;
  }

  /** @internal */
  [INSPECT](): string {
    return this.toString();
  }

  #find(): boolean {
    for (let i = this.#links.length - 1; i >= 0; i--) if (probe(this.#links[i], false)) return true;
    return false;
  }

  #isLike(other: RedisBloomFilter): boolean {
    return other instanceof RedisBloomFilter && this.#shape() === other.#shape();
  }

  /** All parameters except the counts. */
  #shape(): string {
    return JSON.stringify([this.#options, this.expansion, this.#links.map(shapeOf)]);
  }
}

/** All parameters of a link except its count. */
function shapeOf({ bits, error, perEntry, hashes, entries, n2 }: Link): string {
  return [bits, error, perEntry, hashes, entries, n2].join(' ');
}

const TIGHTENING = 0.5;
const CREATE_OPTIONS = ['capacity', 'falsePositiveRate', 'expansion', 'nonScaling'];
