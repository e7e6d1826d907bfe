/**
 * Keys packed end to end: the fastest form for keys that are hashed many times, and the right form
 * for keys that never were JavaScript strings. Key i is `bytes[offsets[i]]` up to `bytes[offsets[i
 * + 1]]`.
 */

import { type Key, keyBytes } from './key.ts';
import { textEncoder } from './platform.ts';

export interface PackedKeys {
  readonly bytes: Uint8Array;
  /** n + 1 offsets for n keys, in non-decreasing order. */
  readonly offsets: Uint32Array;
}

/** Packs any iterable of keys, once, for use with many filters. */
export function packKeys(keys: Iterable<Key>): PackedKeys {
  if (typeof keys === 'string' || keys instanceof Uint8Array || !keys?.[Symbol.iterator]) {
    const got = keys instanceof Uint8Array ? 'a Uint8Array' : typeof keys;
    throw new TypeError(`Cannot pack keys: expected an iterable of keys, got ${got}`);
  }
  let bytes = new Uint8Array(1024);
  let offsets = new Uint32Array(64);
  let count = 0;
  let used = 0;
  for (const key of keys) {
    const bound = typeof key === 'string' ? key.length * 3 : key instanceof Uint8Array ? key.length : 0;
    if (used + bound > bytes.length) bytes = enlarged(bytes, used + bound);
    if (typeof key === 'string') {
      used += textEncoder().encodeInto(key, bytes.subarray(used)).written;
    } else {
      const own = keyBytes(key);
      if (used + own.length > bytes.length) bytes = enlarged(bytes, used + own.length);
      bytes.set(own, used);
      used += own.length;
    }
    if (used > 0xffffffff) {
      throw new RangeError('Cannot pack keys: expected at most 4 GiB of key bytes, got more');
    }
    count++;
    if (count === offsets.length) {
      const larger = new Uint32Array(2 * offsets.length);
      larger.set(offsets);
      offsets = larger;
    }
    offsets[count] = used;
  }
  return { bytes: bytes.slice(0, used), offsets: offsets.slice(0, count + 1) };
}

function enlarged(bytes: Uint8Array<ArrayBuffer>, atLeast: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(Math.max(atLeast, 2 * bytes.length));
  larger.set(bytes);
  return larger;
}
