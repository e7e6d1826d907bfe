/**
 * Six ways from a key to the k places of its bits in m: two of this library, three that the papers
 * name, and a weak one. Each is as its author describes it, with its own way to the range 0 … m -
 * 1.
 */

import { hash } from 'node:crypto';
import { hashKey, hashScheme } from 'bloomery';
import { mulHigh } from '../../packages/bloomery/dist/hashing/mul-high.js';
import { probeIndex } from '../../packages/bloomery/dist/kernel/bits/classic.js';
import { randomWords } from './random-words.ts';

/** Writes the k places of a key into `places`. */
export type Places = (key: Uint8Array, k: number, m: number, places: Float64Array) => void;

export const HASH_FAMILIES: Readonly<Record<string, Places>> = {
  Forge64: own('forge64'),
  XXH64: own('xxh64'),
  'MD5 words': md5Words,
  'salted SHA-1': saltedSha1,
  'multiply-shift': multiplyShift(0),
  'weak hash': weakHash,
};

/** The classic layout of this library: k places from 64 bits (docs/spec/frame.md). */
function own(name: string): Places {
  const scheme = hashScheme({ hash: name });
  return (key, k, m, places) => {
    const { low, high } = hashKey(key, scheme);
    for (let i = 0; i < k; i++) places[i] = probeIndex(low | 0, high | 0, i, m);
  };
}

/**
 * Summary Cache (Fan, Cao, Almeida, Broder 1998): the four words of the MD5 of the key modulo
 * m; for more places, those of the MD5 of the key concatenated with itself.
 */
function md5Words(key: Uint8Array, k: number, m: number, places: Float64Array): void {
  let bytes = Buffer.from(key);
  for (let i = 0; i < k; bytes = Buffer.concat([bytes, key])) {
    const digest = hash('md5', bytes, 'buffer');
    for (let word = 0; word < 4 && i < k; word++, i++) places[i] = digest.readUInt32BE(4 * word) % m;
  }
}

/**
 * Using Bloom Filters (Ceglowski 2004): the first word of the SHA-1 of salt and key, modulo m. The
 * salts are the numbers from 1 on, written before the key.
 */
function saltedSha1(key: Uint8Array, k: number, m: number, places: Float64Array): void {
  for (let i = 0; i < k; i++) {
    const digest = hash('sha1', Buffer.concat([Buffer.from(String(i + 1)), key]), 'buffer');
    places[i] = digest.readUInt32BE(0) % m;
  }
}

/**
 * Multiply-shift for vectors (Dietzfelbinger 1996): the sum of a_j x_j over the 32-bit words of the
 * key and its length, with random 64-bit a_j, modulo 2^64. Its upper 32 bits are uniform on 0 … m -
 * 1 by a product. Any two keys have independent hashes; more than two need not. `draw` is the
 * number of the random coefficients, for keys of up to 1000 bytes.
 */
export function multiplyShift(draw: number): Places {
  const coefficients: Uint32Array[] = [];
  return (key, k, m, places) => {
    const words = wordsOf(key);
    for (let i = 0; i < k; i++) {
      coefficients[i] ??= randomWords(256 * draw + i, 512);
      const a = coefficients[i];
      let low = a[0] | 0;
      let high = a[1] | 0;
      for (let j = 0; j < words.length; j++) {
        const product = Math.imul(a[2 * j + 2], words[j]);
        low = (low + product) | 0;
        const carry = low >>> 0 < product >>> 0 ? 1 : 0;
        high = (high + mulHigh(a[2 * j + 2], words[j]) + Math.imul(a[2 * j + 3], words[j]) + carry) | 0;
      }
      places[i] = Math.floor(((high >>> 0) * m) / 2 ** 32);
    }
  };
}

/**
 * The hash of Java's strings, h = 31 h + byte in 32 bits, and k places from it by the rotation of
 * LevelDB: place i is (h + i · rotr(h, 17)) modulo m.
 */
function weakHash(key: Uint8Array, k: number, m: number, places: Float64Array): void {
  let h = 0;
  for (const byte of key) h = (Math.imul(31, h) + byte) | 0;
  const step = (h >>> 17) | (h << 15);
  for (let i = 0; i < k; i++, h = (h + step) | 0) places[i] = (h >>> 0) % m;
}

/** The key as little-endian words, the last filled up with zeros, and its length. */
function wordsOf(key: Uint8Array): Int32Array {
  const words = new Int32Array(Math.ceil(key.length / 4) + 1);
  new Uint8Array(words.buffer).set(key);
  words[words.length - 1] = key.length;
  return words;
}
