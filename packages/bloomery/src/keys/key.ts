/**
 * The types of keys, and the bytes of each. The bytes are part of every frame's meaning: a program
 * in another language that makes the same bytes gets the same answers.
 *
 * | key              | bytes                                                                      |
 * |------------------|----------------------------------------------------------------------------|
 * | string           | its UTF-8 encoding; a lone surrogate becomes U+FFFD (EF BF BD)             |
 * | Uint8Array       | the bytes themselves                                                       |
 * | number           | a safe integer, as a 64-bit two's complement integer, little-endian        |
 * | bigint           | likewise; beyond 64 bits, the shortest two's complement form, little-endian |
 *
 * So 42 and 42n are the same key, '42' is another one (two bytes against eight), and a string
 * equals the Uint8Array of its UTF-8 form. Fractions, NaN and integers beyond 2^53 are refused,
 * because they would be rounded silently.
 */

import { integerBytes, integerHalves, splitInteger } from './integer-key.ts';
import { textEncoder } from './platform.ts';

export type Key = string | number | bigint | Uint8Array;

/**
 * Two views of one buffer into which a key is written: as bytes, and as the words that the hashes
 * read. Typed arrays have the byte order of the machine, which `hashScheme` has checked to be
 * little-endian.
 */
export interface KeyTarget {
  readonly bytes: Uint8Array;
  readonly words: Int32Array;
}

// Up to this length a loop over charCodeAt (7.5 ns and 1.9 ns per character) beats encodeInto (60
// ns): npm run bench:kernel.
const SHORT_TEXT = 24;

/**
 * Writes the key's bytes to the start of `target`. Returns their number, or -1 if they do not fit.
 */
export function writeKey(key: Key, target: KeyTarget): number {
  if (typeof key === 'string') {
    const length = key.length;
    if (length <= SHORT_TEXT) {
      const written = writeShortAscii(key, target.words);
      if (written >= 0) return written;
    }
    if (length * 3 > target.bytes.length) return -1;
    return textEncoder().encodeInto(key, target.bytes).written;
  }
  const integer = splitInteger(key);
  if (integer > 0) {
    target.words[0] = integerHalves[0];
    target.words[1] = integerHalves[1];
    target.words[2] = 0;
    return integer;
  }
  const bytes = keyBytes(key);
  if (bytes.length > target.bytes.length) return -1;
  target.bytes.set(bytes);
  return bytes.length;
}

/** The key's bytes, copied only if they have to be computed. Slow; `writeKey` is the hot path. */
export function keyBytes(key: Key): Uint8Array {
  if (key instanceof Uint8Array) return key;
  if (typeof key === 'string') return textEncoder().encode(key);
  if (typeof key === 'bigint' || Number.isSafeInteger(key)) return integerBytes(BigInt(key));
  const message = 'Cannot read a key: expected a string, a Uint8Array, a safe integer or a bigint, got ';
  if (typeof key === 'number') throw new RangeError(message + key);
  throw new TypeError(message + typeName(key));
}

function writeShortAscii(text: string, words: Int32Array): number {
  const length = text.length;
  let i = 0;
  let seen = 0;
  for (; i + 4 <= length; i += 4) {
    const a = text.charCodeAt(i);
    const b = text.charCodeAt(i + 1);
    const c = text.charCodeAt(i + 2);
    const d = text.charCodeAt(i + 3);
    seen |= a | b | c | d;
    words[i >> 2] = a | (b << 8) | (c << 16) | (d << 24);
  }
  if (i < length) {
    const last = i >> 2;
    let word = 0;
    for (let shift = 0; i < length; i++, shift += 8) {
      const code = text.charCodeAt(i);
      seen |= code;
      word |= code << shift;
    }
    words[last] = word;
  }
  return seen < 128 ? length : -1;
}

/** The type of a value, for messages: the name of its class if it is an object. */
export function typeName(value: unknown): string {
  if (value === null) return 'null';
  return typeof value === 'object' ? (value.constructor?.name ?? 'object') : typeof value;
}
