/**
 * Lookups in a row of Bloom filters of one hash scheme, in order, until one may have the key: the
 * stages of a scalable filter, the generations of a rotating one, the levels of an attenuated one.
 * A key is hashed once, and a batch goes to the next filter without the keys that were found.
 */

import type { HashScheme } from '../../hashing/hash-scheme.ts';
import { chunkHashes, countOf, eachChunk, type KeyBatch } from '../../kernel/batches/batch.ts';
import type { KeyHash } from '../../kernel/batches/hash-key.ts';
import type { KeyHashes } from '../../kernel/batches/hash-keys.ts';
import type { WasmKernel } from '../../kernel/wasm/wasm-kernel.ts';
import { atLeastOneOf } from '../../math/at-least-one.ts';
import type { BloomFilter } from '../bloom-filter.ts';
import { withRoom } from './batch-probing.ts';

/** The index of the first filter that may have the key; -1 if all say no. */
export function firstHolder(filters: readonly BloomFilter[], hash: KeyHash): number {
  for (let i = 0; i < filters.length; i++) if (filters[i].hasHash(hash)) return i;
  return -1;
}

/**
 * The same for many keys, in order. `filters` may change between chunks, because keys may come from
 * a generator.
 */
export function firstHolders(
  filters: readonly BloomFilter[],
  keys: KeyBatch,
  scheme: HashScheme,
): Int16Array {
  let holders = new Int16Array(countOf(keys));
  let seen = 0;
  eachChunk(keys, scheme, (count, wasm) => {
    holders = withRoom(holders, seen + count);
    holders.set(holdersOfChunk(filters, ownHashes(scheme, count, wasm)), seen);
    seen += count;
  });
  return seen === holders.length ? holders : holders.slice(0, seen);
}

/** One byte per key: 1 if one of the filters may have it. */
export function hasInChain(filters: readonly BloomFilter[], keys: KeyBatch, scheme: HashScheme): Uint8Array {
  return Uint8Array.from(firstHolders(filters, keys, scheme), (holder) => (holder < 0 ? 0 : 1));
}

/** The holders of a chunk whose hashes are in memory of their own. The hashes are not changed. */
export function holdersOfChunk(filters: readonly BloomFilter[], hashes: KeyHashes): Int16Array {
  const holders = new Int16Array(hashes.length).fill(-1);
  const places = Int32Array.from(holders.keys());
  const words = hashes.words.slice();
  let length = hashes.length;
  for (let f = 0; f < filters.length && length > 0; f++) {
    const open = { scheme: hashes.scheme, words: words.subarray(0, 2 * length), length };
    const answers = filters[f].hasMany(open);
    let left = 0;
    for (let i = 0; i < length; i++) {
      if (answers[i] === 1) {
        holders[places[i]] = f;
        continue;
      }
      // Keys that were not found yet move to the front.
      words[2 * left] = words[2 * i];
      words[2 * left + 1] = words[2 * i + 1];
      places[left++] = places[i];
    }
    length = left;
  }
  return holders;
}

/**
 * The hashes of the current chunk, copied, because a lookup in a filter may move the kernel's
 * memory.
 */
export function ownHashes(scheme: HashScheme, count: number, wasm: WasmKernel | null): KeyHashes {
  return { scheme, words: chunkHashes(wasm).slice(0, 2 * count), length: count };
}

/** Hash number i of a batch. */
export function hashAt({ scheme, words }: KeyHashes, i: number): KeyHash {
  return { scheme, low: words[2 * i] >>> 0, high: words[2 * i + 1] >>> 0 };
}

/** Estimates the rate at which a chain answers "maybe" for keys that are in none of its filters. */
export function chainRate(filters: readonly BloomFilter[]): number {
  return atLeastOneOf(filters.map((filter) => filter.estimatedFalsePositiveRate()));
}
