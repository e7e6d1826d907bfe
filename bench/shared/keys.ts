/**
 * The keys that every lane is asked about. They are made once a run, written to two files (bytes
 * and offsets), and read from there by every process, native code included: same keys for all, and
 * no process holds more of them than it needs.
 *
 * Keys are a bijection of their number, so they are distinct, in no order that a hash could profit
 * from, and held-out keys (numbers from 2^31) differ from the stored ones as those differ from each
 * other.
 */

import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';

export type KeyKind = 'url' | 'url50' | 'key12' | 'stream';

export const KEY_KINDS: Readonly<Record<KeyKind, string>> = {
  url: 'URLs of 44 to 56 characters, 50 on average',
  url50: 'URLs of exactly 50 characters',
  key12: 'keys of exactly 12 characters',
  stream: 'occurrences of URLs, Zipf-distributed',
};

/** Files of the keys of one kind: `bytes` end to end, and n + 1 offsets as 32-bit integers. */
export interface KeyFiles {
  readonly kind: KeyKind;
  readonly count: number;
  readonly bytes: string;
  readonly offsets: string;
  readonly averageLength: number;
}

export interface Packed {
  readonly bytes: Uint8Array;
  readonly offsets: Uint32Array;
}

/** Numbers from here on are never stored in a filter: they are the held-out keys. */
const HELD_OUT = 0x80000000;
const BATCH = 1 << 16;

export function writeKeys(directory: string, kind: KeyKind, count: number, heldOut: boolean): KeyFiles {
  const name = `${kind}-${heldOut ? 'held-out' : 'stored'}`;
  const bytes = join(directory, `${name}.bytes`);
  const offsets = join(directory, `${name}.offsets`);
  const bytesFile = openSync(bytes, 'w');
  const offsetsFile = openSync(offsets, 'w');
  const buffer = Buffer.alloc(BATCH * 64);
  const ends = new Uint32Array(BATCH);
  let total = 0;
  writeSync(offsetsFile, new Uint32Array(1));
  const text = heldOut && kind === 'stream' ? 'url' : kind;
  for (let start = 0; start < count; start += BATCH) {
    const end = Math.min(count, start + BATCH);
    let used = 0;
    for (let i = start; i < end; i++) {
      used += buffer.write(keyText(text, heldOut ? i + HELD_OUT : i), used, 'latin1');
      ends[i - start] = total + used;
    }
    total += used;
    writeSync(bytesFile, buffer, 0, used);
    writeSync(offsetsFile, ends, 0, (end - start) * 4);
  }
  closeSync(bytesFile);
  closeSync(offsetsFile);
  return { kind, count, bytes, offsets, averageLength: total / count };
}

/** Keys start..start+count-1, with offsets that begin at 0. */
export function readKeys(files: KeyFiles, start: number, count: number): Packed {
  if (start + count > files.count) throw new RangeError(`only ${files.count} keys were written`);
  const offsets = new Uint32Array(count + 1);
  read(files.offsets, new Uint8Array(offsets.buffer), start * 4);
  const first = offsets[0];
  for (let i = 0; i <= count; i++) offsets[i] -= first;
  const bytes = new Uint8Array(offsets[count]);
  read(files.bytes, bytes, first);
  return { bytes, offsets };
}

/**
 * Strings as most programs hold them: flat, one byte a character. That is not a matter of course.
 * What `slice`, `split` or `+` return are sliced and cons strings, on which `charCodeAt` takes
 * twice as long; a benchmark that queries with such strings measures them. Strings made from a
 * Buffer are always flat.
 */
export function flatStrings({ bytes, offsets }: Packed): string[] {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const strings = new Array<string>(offsets.length - 1);
  for (let i = 0; i < strings.length; i++) strings[i] = buffer.toString('latin1', offsets[i], offsets[i + 1]);
  return strings;
}

/** The same keys, each followed by a newline. */
export function lines({ bytes, offsets }: Packed): Uint8Array {
  const count = offsets.length - 1;
  const out = new Uint8Array(bytes.length + count);
  for (let i = 0; i < count; i++) {
    out.set(bytes.subarray(offsets[i], offsets[i + 1]), offsets[i] + i);
    out[offsets[i + 1] + i] = 10;
  }
  return out;
}

/**
 * A 64-bit integer for each key, as who uses a structure that takes nothing else would make it. Two
 * hashes of 32 bits (FNV-1a's step, two multipliers, MurmurHash3's end); no two keys of this
 * benchmark meet.
 */
export function integers({ bytes, offsets }: Packed): bigint[] {
  const out = new Array<bigint>(offsets.length - 1);
  const halves = new Uint32Array(2);
  const whole = new BigUint64Array(halves.buffer);
  for (let i = 0; i < out.length; i++) {
    let a = 0x811c9dc5;
    let b = 0x9747b28c;
    for (let at = offsets[i]; at < offsets[i + 1]; at++) {
      a = Math.imul(a ^ bytes[at], 0x01000193);
      b = Math.imul(b ^ bytes[at], 0x5bd1e995);
      b ^= b >>> 15;
    }
    halves[0] = scramble(a);
    halves[1] = scramble(b ^ 0x2545f491);
    out[i] = whole[0];
  }
  return out;
}

/** How many different keys the first `count` ones are. Only a stream repeats itself. */
export function distinctKeys(kind: KeyKind, count: number): number {
  if (kind !== 'stream') return count;
  const seen = new Uint8Array(STREAM_KEYS);
  for (let i = 0; i < count; i++) seen[zipfRank(i)] = 1;
  return seen.reduce((sum, one) => sum + one, 0);
}

const HOSTS = ['www.example.org', 'www.example.com', 'shop.example.net', 'news.example.org'];
const SECTIONS = ['news', 'items', 'photos', 'articles'];

export function keyText(kind: KeyKind, i: number): string {
  if (kind === 'stream') return keyText('url', zipfRank(i));
  const id = scramble(i);
  const hex = id.toString(16).padStart(8, '0');
  if (kind === 'key12') return `user${hex}`;
  if (kind === 'url50') return `https://www.example.org/articles/${hex}/${hex.slice(4)}.htm`;
  // Lengths vary from key to key, as in life: code that branches on the length pays for it here.
  const host = HOSTS[id & 3];
  const section = SECTIONS[(id >>> 2) & 3];
  const page = hex.slice(0, 1 + ((id >>> 4) & 7));
  return `https://${host}/${section}/${hex}?page=${page}`;
}

/** The ranks that a stream draws from, and its seed. */
const STREAM_KEYS = 1_000_000;
const STREAM_SEED = 0x5eed;
let zipfSums: Float64Array | undefined;

/**
 * The key at place i of a stream: rank r (from 0) has a share proportional to 1 / (r + 1), Zipf's
 * law.
 */
function zipfRank(i: number): number {
  if (zipfSums === undefined) {
    zipfSums = new Float64Array(STREAM_KEYS);
    for (let r = 0, sum = 0; r < STREAM_KEYS; r++) zipfSums[r] = sum += 1 / (r + 1);
  }
  const point = (scramble(i ^ STREAM_SEED) / 2 ** 32) * zipfSums[STREAM_KEYS - 1];
  let low = 0;
  let high = STREAM_KEYS - 1;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (zipfSums[middle] <= point) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** A bijection of 32-bit integers (the mixing function of MurmurHash3). */
function scramble(i: number): number {
  let x = i | 0;
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return (x ^ (x >>> 16)) >>> 0;
}

function read(path: string, target: Uint8Array, position: number): void {
  const file = openSync(path, 'r');
  // One call reads at most 2 GiB.
  for (let at = 0; at < target.length; ) {
    const got = readSync(file, target, at, Math.min(target.length - at, 1 << 30), position + at);
    if (got === 0) throw new Error(`${path} is shorter than expected`);
    at += got;
  }
  closeSync(file);
}
