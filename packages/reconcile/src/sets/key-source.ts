/**
 * The keys of one side, in a form that can be hashed again under another salt. A set holds each key
 * once; a key that is given twice counts once.
 */

import { type HashScheme, hashKeys, type Key, type PackedKeys, packKeys } from 'bloomery';
import { wrongOption } from '../reconcile-error.ts';

export interface KeySource {
  readonly size: number;
  keyAt(place: number): Key;
  /** Lower and upper halves of the hashes of all keys in turn. */
  hashes(scheme: HashScheme): Int32Array;
}

/** The source of an iterable of keys, or of packed ones. Iterables but arrays are copied. */
export function keySource(keys: Iterable<Key> | PackedKeys): KeySource {
  if ((keys as PackedKeys)?.offsets !== undefined) return packedSource(keys as PackedKeys);
  if (typeof keys === 'string' || keys instanceof Uint8Array || !(keys as Iterable<Key>)?.[Symbol.iterator])
    wrongOption('an iterable of keys or a KeySet', typeof keys);
  const list: readonly Key[] = Array.isArray(keys) ? keys : Array.from(keys as Iterable<Key>);
  return {
    size: list.length,
    keyAt: (place) => list[place],
    hashes: (scheme) => hashKeys(list, scheme).words,
  };
}

function packedSource(keys: PackedKeys): KeySource {
  const { bytes, offsets } = keys;
  return {
    size: offsets.length - 1,
    keyAt: (place) => bytes.subarray(offsets[place], offsets[place + 1]),
    hashes: (scheme) => hashKeys(keys, scheme).words,
  };
}

/** Whether two keys are the same key: whether they have the same bytes. */
export function sameKey(a: Key, b: Key): boolean {
  return a === b || textOf(a) === textOf(b);
}

/** A text that only keys with the same bytes have. */
export function textOf(key: Key): string {
  return String(packKeys([key]).bytes);
}
