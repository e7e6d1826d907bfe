/**
 * The dump of a RedisBloom chain: header and chunks, and the records that put them into one file.
 * redisbloom.ts describes the layout.
 */

import { MAX_BITS } from '../math/checks.ts';
import {
  ENTS_IS_BITS,
  FORCE64,
  hashesFor,
  type Link,
  type LinkHeader,
  NO_SCALING,
  NOROUND,
  rangeOf,
} from './redisbloom-link.ts';
import { ForeignBits } from './shared/foreign-bits.ts';
import {
  type ForeignDecodeOptions,
  ForeignReader,
  limitOf,
  MAX_FOREIGN_HASHES,
} from './shared/foreign-reader.ts';
import { FormatError } from './shared/format-error.ts';

/** One answer of BF.SCANDUMP, and the arguments of one BF.LOADCHUNK. */
export interface RedisBloomChunk {
  readonly iterator: number;
  readonly data: Uint8Array;
}

export interface Chain {
  readonly flags: number;
  readonly expansion: number;
  readonly links: Link[];
}

/**
 * The chain of all chunks, in order. They are read twice: first for their sizes, then for their
 * bytes.
 */
export function readChunks(chunks: Iterable<RedisBloomChunk>, options: ForeignDecodeOptions): Chain {
  const maxBytes = limitOf(options);
  const fail = (
    code: 'truncated' | 'trailing' | 'limit' | 'payload',
    at: number,
    expected: string,
    got: unknown,
  ): never => {
    throw new FormatError('redisbloom', code, at, `expected ${expected}, got ${got}`);
  };
  const [head] = chunks;
  if (head === undefined) return fail('truncated', 0, 'a header chunk', 'none');
  if (head.iterator !== 1) fail('payload', 0, 'a header chunk with iterator 1', head.iterator);
  const { flags, expansion, links } = readRedisBloomHeader(head.data);
  // The sizes are compared with the available bytes before anything is allocated.
  const wanted = links.reduce((sum, link) => sum + link.bits / 8, 0);
  let present = -head.data.length;
  let count = 0;
  for (const { data } of chunks) {
    present += data.length;
    count++;
  }
  if (wanted > maxBytes) fail('limit', HEADER, `at most ${maxBytes} bytes of bits`, wanted);
  if (present !== wanted) {
    fail(present < wanted ? 'truncated' : 'trailing', HEADER, `chunks of ${wanted} bytes in all`, present);
  }
  let at = 0;
  let taken = 1;
  const body = chunks[Symbol.iterator]();
  body.next(); // the header
  const loaded = links.map((link) => {
    const length = link.bits / 8;
    const data = ForeignBits.zeros(length);
    for (let filled = 0; filled < length; taken++) {
      const { iterator, data: piece }: RedisBloomChunk = body.next().value;
      if (iterator - 1 - piece.length !== at || piece.length === 0 || piece.length > length - filled) {
        const place = `a chunk at ${at} that ends with its link at ${at + length - filled}`;
        fail('payload', at, place, `${piece.length} bytes with iterator ${iterator}`);
      }
      data.put(filled, piece);
      filled += piece.length;
      at += piece.length;
    }
    const range = rangeOf(link);
    const beyond = data.onesFrom(range.m);
    if (beyond > 0) fail('payload', at - 1, `no ones from bit ${range.m} of a link on`, beyond);
    return { ...link, data, range };
  });
  if (taken < count) fail('trailing', at, 'no more chunks', count - taken);
  return { flags, expansion, links: loaded };
}

/**
 * The chunks in a file that `encode` wrote, as views of its bytes. They are never collected: a file
 * of zeros has an empty record in every 16 bytes, and an object for each would take ten times the
 * file.
 */
export function chunkRecords(bytes: Uint8Array): Iterable<RedisBloomChunk> {
  return {
    *[Symbol.iterator]() {
      const reader = new ForeignReader('redisbloom', bytes, 'little-endian');
      do {
        const iterator = reader.size('iterator');
        const length = reader.size('chunk length');
        if (length > reader.left) reader.fail('truncated', `a chunk of ${length} bytes`, reader.left);
        if (iterator === 0 && length === 0 && reader.at > RECORD && reader.left === 0) return; // the server's last
        if (length === 0) reader.fail('payload', 'a chunk of at least 1 byte', length, reader.at - 8);
        yield { iterator, data: bytes.subarray(reader.at, reader.at + length) };
        reader.at += length;
      } while (reader.left > 0);
    },
  };
}

/** Reads and checks the header chunk. */
export function readRedisBloomHeader(bytes: Uint8Array): {
  readonly flags: number;
  readonly expansion: number;
  readonly links: LinkHeader[];
} {
  const reader = new ForeignReader('redisbloom', bytes, 'little-endian');
  const size = reader.size('size');
  const count = reader.u32('link count');
  reader.expect(count > 0 && count <= MAX_LINKS, 4, `1 to ${MAX_LINKS} links`, count);
  const flags = reader.u32('options');
  reader.expect((flags & ~ALL_OPTIONS) === 0, 4, 'options from 0 to 15', flags);
  const expansion = reader.u32('expansion');
  if (reader.left !== count * LINK) {
    const code = reader.left < count * LINK ? 'truncated' : 'trailing';
    reader.fail(code, `${count} links of ${LINK} bytes`, reader.left);
  }
  const links = Array.from({ length: count }, () => readLink(reader, flags));
  const total = links.reduce((sum, link) => sum + link.size, 0);
  if (total !== size) reader.fail('parameters', `${total} keys, the sum of the links`, size, 0);
  return { flags, expansion, links };
}

function readLink(reader: ForeignReader, flags: number): LinkHeader {
  const bytes = reader.size('link bytes');
  reader.expect(bytes > 0 && 8 * bytes <= MAX_BITS, 8, `1 to ${MAX_BITS / 8} bytes`, bytes);
  const bits = reader.size('bits');
  reader.expect(bits === 8 * bytes, 8, `${8 * bytes} bits`, bits);
  const size = reader.size('link size');
  const error = reader.f64('error');
  reader.expect(error > 0 && error < 1, 8, 'an error rate between 0 and 1', error);
  const perEntry = reader.f64('bits per entry');
  const hashes = reader.u32('hashes');
  const sound = hashes === hashesFor(perEntry) && hashes > 0 && hashes <= MAX_FOREIGN_HASHES;
  reader.expect(sound, 4, `the hashes of ${perEntry} bits per entry, 1 to ${MAX_FOREIGN_HASHES}`, hashes);
  const entries = reader.size('entries');
  const n2 = reader.u8('n2');
  // The server accepts any power of two up to the bits; it has only ever written this one.
  const fitting = n2 === 0 || bits === 64 * Math.ceil(2 ** n2 / 64);
  reader.expect(fitting, 1, `a power of two that makes ${bits} bits`, `2^${n2}`);
  reader.expect(n2 > 0 || (flags & ENTS_IS_BITS) === 0, 1, 'n2 of at least 1 with these options', n2);
  return { bits, size, error, perEntry, hashes, entries, n2 };
}

/** The chunks of a chain, as a server returns them. */
export function writeChunks(chain: Chain): RedisBloomChunk[] {
  const chunks: RedisBloomChunk[] = [{ iterator: 1, data: writeHeader(chain) }];
  let iterator = 1;
  for (const { data } of chain.links) {
    for (let start = 0; start < data.length; start += MAX_CHUNK) {
      const chunk = data.slice(start, Math.min(start + MAX_CHUNK, data.length));
      iterator += chunk.length;
      chunks.push({ iterator, data: chunk });
    }
  }
  return chunks;
}

/** Writes the chunks into one file, with a record for each. */
export function writeChunkRecords(chunks: readonly RedisBloomChunk[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(chunks.reduce((sum, { data }) => sum + RECORD + data.length, 0));
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const { iterator, data } of chunks) {
    view.setBigUint64(at, BigInt(iterator), true);
    view.setBigUint64(at + 8, BigInt(data.length), true);
    bytes.set(data, at + RECORD);
    at += RECORD + data.length;
  }
  return bytes;
}

function writeHeader({ flags, expansion, links }: Chain): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(HEADER + LINK * links.length);
  const view = new DataView(bytes.buffer);
  const u64 = (at: number, value: number) => view.setBigUint64(at, BigInt(value), true);
  u64(
    0,
    links.reduce((sum, link) => sum + link.size, 0),
  );
  view.setUint32(8, links.length, true);
  view.setUint32(12, flags, true);
  view.setUint32(16, expansion, true);
  for (const [i, link] of links.entries()) {
    const at = HEADER + LINK * i;
    u64(at, link.data.length);
    u64(at + 8, link.bits);
    u64(at + 16, link.size);
    view.setFloat64(at + 24, link.error, true);
    view.setFloat64(at + 32, link.perEntry, true);
    view.setUint32(at + 40, link.hashes, true);
    u64(at + 44, link.entries);
    view.setUint8(at + 52, link.n2);
  }
  return bytes;
}

const ALL_OPTIONS = NOROUND | ENTS_IS_BITS | FORCE64 | NO_SCALING;
const MAX_CHUNK = 2 ** 24;
/**
 * The most links. Each has half the error of the one before, and the 1076th would have 0, so no
 * server makes it.
 */
export const MAX_LINKS = 1075;
const HEADER = 20;
const LINK = 53;
const RECORD = 16;
