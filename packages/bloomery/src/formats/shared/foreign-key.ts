/**
 * Keys as the bytes that foreign programs hash, in one buffer that is reused. The bytes of a key
 * differ from program to program. A wrong guess would be a silent "no", so each format documents
 * the keys that it takes.
 *
 * Java's UTF-8 differs from JavaScript's in one point: a lone surrogate becomes `?` and not U+FFFD.
 */

import { splitInteger } from '../../keys/integer-key.ts';
import { type KeyTarget, writeKey } from '../../keys/key.ts';

/**
 * The words of the key that was loaded last. A longer key replaces the array, so do not keep it.
 */
export function keyWords(): Int32Array {
  return target().words;
}

/** Loads bytes, or a string as UTF-8. Returns the number of bytes. */
export function loadKey(key: string | Uint8Array): number {
  if (typeof key !== 'string' && !(key instanceof Uint8Array))
    throw unlikeKey('a string or a Uint8Array', key);
  for (;;) {
    const length = writeKey(key, target());
    if (length >= 0) return length;
    loaded = keyTarget(typeof key === 'string' ? 3 * key.length : key.length);
  }
}

/** Loads a string as Java's `getBytes(UTF_8)` encodes it, or bytes. */
export function loadJavaKey(key: string | Uint8Array): number {
  return loadKey(
    typeof key === 'string' && LONE_SURROGATE.test(key) ? key.replace(LONE_SURROGATES, '?') : key,
  );
}

/** Loads a string as its UTF-16 code units, little-endian. */
export function loadUtf16(text: string): number {
  if (typeof text !== 'string') throw unlikeKey('a string', text);
  if (2 * text.length > target().bytes.length) loaded = keyTarget(2 * text.length);
  const { words } = target();
  const length = text.length;
  for (let i = 0; i < length; i += 2) {
    words[i >>> 1] = text.charCodeAt(i) | (i + 1 < length ? text.charCodeAt(i + 1) << 16 : 0);
  }
  return 2 * length;
}

/** Loads a 32-bit signed integer, little-endian. */
export function loadInt32(key: number): number {
  if (!Number.isInteger(key) || key !== (key | 0)) throw unlikeKey('an integer from -2^31 to 2^31 - 1', key);
  target().words[0] = key;
  return 4;
}

/** Loads a 64-bit signed integer, little-endian. */
export function loadInt64(key: number | bigint): number {
  if (splitInteger(key) !== 8) throw unlikeKey('a safe integer, or a bigint from -2^63 to 2^63 - 1', key);
  return writeKey(key, target());
}

/** Appends a byte to the key that was loaded last, of `length` bytes. Returns the new length. */
export function appendByte(length: number, byte: number): number {
  const before = target();
  if (length === before.bytes.length) {
    loaded = keyTarget(length + 1);
    loaded.bytes.set(before.bytes);
  }
  target().bytes[length] = byte;
  return length + 1;
}

/** The error for a key that the format does not accept. */
export function unlikeKey(expected: string, key: unknown): TypeError {
  const got = typeof key === 'number' || typeof key === 'bigint' ? key : typeof key;
  return new TypeError(`Cannot use the key: expected ${expected}, got ${String(got)}`);
}

const LONE_SURROGATE = /\p{Cs}/u;
const LONE_SURROGATES = /\p{Cs}/gu;
let loaded: KeyTarget | undefined;

function target(): KeyTarget {
  loaded ??= keyTarget(4096);
  return loaded;
}

function keyTarget(byteLength: number): KeyTarget {
  if (new Uint8Array(Uint32Array.of(1).buffer)[0] === 0)
    throw new Error('Cannot load a key: expected a little-endian machine, got another');
  const words = new Int32Array(Math.ceil(byteLength / 4) + 4); // hashes read whole blocks
  return { words, bytes: new Uint8Array(words.buffer) };
}
