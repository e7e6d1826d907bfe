/**
 * One filter in several threads. A filter made with `shared: true` keeps its bits in a
 * SharedArrayBuffer, and `share()` gives the options that make the same filter in another thread:
 *
 *     worker.postMessage(filter.share());                    // here
 *     const filter = new BloomFilter(message);               // there; a keyed one: { ...message, key }
 *
 * Additions are atomic, so several threads can build at once and no addition is lost. For the
 * fastest build, let each thread fill a private filter and merge them: an atomic OR costs several
 * times a plain one.
 */

import { type HashScheme, hashScheme } from '../../hashing/hash-scheme.ts';
import { BitStore } from '../../kernel/bits/bit-store.ts';
import type { FilterOptions } from './options.ts';

/** Opens the store and the hash scheme that the options ask for. */
export function openStore(
  bits: number,
  options: FilterOptions,
  scheme: HashScheme = hashScheme(options),
): [store: BitStore, scheme: HashScheme] {
  const { buffer, shared } = options;
  if (buffer === undefined) return [BitStore.allocate(bits, shared), scheme];
  const store = new BitStore(new Uint32Array(buffer));
  if (!store.shared || store.wordCount !== Math.ceil(bits / 32)) {
    throw new RangeError(
      `Cannot use buffer: expected a SharedArrayBuffer of ${Math.ceil(bits / 32) * 4} bytes, got ${buffer} of ${store.wordCount * 4}`,
    );
  }
  return [store, scheme];
}

/**
 * The options that `share` adds to a filter's parameters: plain data, without the secret key of a
 * keyed filter.
 */
export function sharedOptions({ shared, words }: BitStore, { secret, seed, id }: HashScheme) {
  if (!shared) throw new TypeError('Cannot share a filter: expected shared: true, got false');
  return {
    buffer: words.buffer as SharedArrayBuffer,
    hash: id,
    ...(secret === null && { seed }),
  };
}
