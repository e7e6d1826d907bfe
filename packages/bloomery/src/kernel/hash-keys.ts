/** Many hashes at once: hash a batch of keys once, ask many filters with `hasHashes`. */

import { chunkHashes, eachKeyChunk, eachPackedChunk } from './batch.ts';
import { type HashOptions, HashScheme, hashScheme } from './hash-scheme.ts';
import type { Key } from './key.ts';
import { isPackedKeys, type PackedKeys } from './packed-keys.ts';

/** The hashes of a batch of keys, in order. */
export interface KeyHashes {
  readonly scheme: HashScheme;
  /** The lower and the upper half of each hash in turn, as int32. */
  readonly words: Int32Array;
  readonly length: number;
}

export function hashKeys(keys: Iterable<Key> | PackedKeys, options?: HashOptions | HashScheme): KeyHashes {
  const scheme = options instanceof HashScheme ? options : hashScheme(options);
  let words = new Int32Array(2048);
  let length = 0;
  const visit = (count: number, wasm: Parameters<typeof chunkHashes>[0]) => {
    if (2 * (length + count) > words.length) {
      const larger = new Int32Array(Math.max(2 * words.length, 2 * (length + count)));
      larger.set(words);
      words = larger;
    }
    words.set(chunkHashes(wasm).subarray(0, 2 * count), 2 * length);
    length += count;
  };
  if (isPackedKeys(keys)) eachPackedChunk(keys, scheme, visit);
  else eachKeyChunk(keys, scheme, visit);
  return { scheme, words: words.slice(0, 2 * length), length };
}
