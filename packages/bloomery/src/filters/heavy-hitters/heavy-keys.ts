/**
 * Keys that are remembered, and not only hashed: when two of them are the same, and how they are
 * written in a frame.
 *
 * Two keys are the same if their bytes are (keys/key.ts): 42 and 42n, a string and the bytes of its
 * UTF-8 form. The identity of a key is its bytes as a string of characters 0 to 255, which works
 * well as the key of a Map. The identity of an ASCII string is the string itself, at no cost.
 */

import { type Key, keyBytes } from '../../keys/key.ts';

/** A string that is equal for two keys exactly when they are the same key. */
export function identityOf(key: Key): string {
  if (typeof key === 'string' && isAscii(key)) return key;
  const bytes = keyBytes(key);
  let identity = '';
  for (let at = 0; at < bytes.length; at += 4096) {
    identity += String.fromCharCode(...bytes.subarray(at, at + 4096));
  }
  return identity;
}

/** A key that stays the same if the caller changes the bytes that were given. */
export function rememberedKey(key: Key): Key {
  return key instanceof Uint8Array ? key.slice() : key;
}

/** The number of a key's type in frames. */
export function keyTag(key: Key): number {
  return TYPES.indexOf(key instanceof Uint8Array ? 'bytes' : (typeof key as 'string'));
}

/** The key of this type with these bytes, or undefined if there is none. */
export function keyFromBytes(tag: number, bytes: Uint8Array): Key | undefined {
  const type = TYPES[tag];
  const key =
    type === 'string'
      ? textOf(bytes)
      : type === 'number'
        ? Number(integerOf(bytes))
        : type === 'bigint'
          ? integerOf(bytes)
          : type === 'bytes'
            ? bytes.slice()
            : undefined;
  if (key === undefined || (type === 'number' && !Number.isSafeInteger(key))) return undefined;
  // An integer has only one form, and decoding a string must lose nothing.
  const own = keyBytes(key);
  return own.length === bytes.length && own.every((byte, i) => byte === bytes[i]) ? key : undefined;
}

const TYPES = ['string', 'number', 'bigint', 'bytes'] as const;

function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 127) return false;
  return true;
}

/** Decodes strict UTF-8 without a TextDecoder: percent-decoding is part of the language. */
function textOf(bytes: Uint8Array): string | undefined {
  let escaped = '';
  for (const byte of bytes) escaped += `%${byte.toString(16).padStart(2, '0')}`;
  try {
    return decodeURIComponent(escaped);
  } catch {
    return undefined;
  }
}

/** Reads two's complement, little-endian. */
function integerOf(bytes: Uint8Array): bigint {
  let value = 0n;
  for (let i = bytes.length - 1; i >= 0; i--) value = (value << 8n) | BigInt(bytes[i]);
  return BigInt.asIntN(8 * bytes.length, value);
}
