/**
 * One message, one direction (survey 5.2; Byers, Considine, Mitzenmacher, Rost 2002): B sends a
 * Bloom filter of its keys, and A sends every key of its own that the filter does not have. Those
 * keys are certainly new to B. Keys that pass the filter by accident are missed: with 10 bits per
 * key, 0.8 % of them.
 *
 * It is right where most of the difference is enough, such as blocks of a fountain code, or where
 * the answer is large compared with the filter. The message has `bitsPerKey` bits for each key that
 * B holds, however small the difference is. Two equal sets of a million keys cost 1.25 MB, where an
 * exact session costs 45 bytes. bench/results/reconcile-methods.md has the comparison.
 *
 * The filter is the library's own: `encode` and `BloomFilter.decode` carry it, and every structure
 * with `hasMany` can take its place.
 */

import { BloomFilter, type HashOptions, type Key, type KeyBatch, type PackedKeys } from 'bloomery';
import { keySource } from '../sets/key-source.ts';
import { hashesFor } from './tree-plan.ts';

export interface BloomSummaryOptions extends HashOptions {
  /** Default 10, which misses 0.8 %. With 8 bits it is 2.2 %, with 16 bits 0.05 %. */
  readonly bitsPerKey?: number;
}

/** A filter of all keys, for a peer that holds others. */
export function bloomSummary(
  keys: Iterable<Key> | PackedKeys,
  options: BloomSummaryOptions = {},
): BloomFilter {
  const { bitsPerKey = 10, ...hashing } = options;
  checkBits('bitsPerKey', bitsPerKey);
  const batch = batchOf(keys);
  const bits = Math.max(1, Math.round(bitsPerKey * keySource(batch).size));
  const filter = new BloomFilter({ ...hashing, bits, hashes: hashesFor(bitsPerKey) });
  filter.addMany(batch);
  return filter;
}

/** The part of a filter that a search needs. */
export interface Summary {
  hasMany(keys: KeyBatch): Uint8Array;
}

/** The keys that the sender of a summary certainly lacks, in the order in which they were given. */
export function surelyMissing(keys: Iterable<Key> | PackedKeys, summary: Summary): Key[] {
  const batch = batchOf(keys);
  const source = keySource(batch);
  const passed = summary.hasMany(batch);
  const missing: Key[] = [];
  for (let place = 0; place < passed.length; place++) {
    if (passed[place] === 0) missing.push(source.keyAt(place));
  }
  return missing;
}

/** @internal Refuses a number of bits per key that no filter has. */
export function checkBits(name: string, bits: number): void {
  if (!(bits > 0 && bits <= 64))
    throw new RangeError(`Cannot reconcile: expected ${name} above 0 and up to 64, got ${bits}`);
}

/** The keys in a form that can be read twice. */
function batchOf(keys: Iterable<Key> | PackedKeys): readonly Key[] | PackedKeys {
  if ((keys as PackedKeys)?.offsets !== undefined) return keys as PackedKeys;
  if (typeof keys === 'string' || keys instanceof Uint8Array || !(keys as Iterable<Key>)?.[Symbol.iterator])
    throw new TypeError(`Cannot reconcile: expected an iterable of keys, got ${typeof keys}`);
  return Array.isArray(keys) ? keys : Array.from(keys as Iterable<Key>);
}
