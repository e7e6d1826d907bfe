/** Many hashes at once: hash a batch of keys once, give the hashes to many structures. */

import { chunkHashes, countOf, eachChunk, type KeyBatch } from './batch.ts';
import { CHUNK_KEYS } from './chunk.ts';
import { type HashOptions, HashScheme, hashScheme } from './hash-scheme.ts';

/** The hashes of a batch of keys, in order: itself a batch, for every structure with the same seed or key. */
export interface KeyHashes {
  readonly scheme: HashScheme;
  /** The lower and the upper half of each hash in turn, as int32. */
  readonly words: Int32Array;
  readonly length: number;
}

export function hashKeys(keys: KeyBatch, options?: HashOptions | HashScheme): KeyHashes {
  const scheme = options instanceof HashScheme ? options : hashScheme(options);
  let words = new Int32Array(2 * (countOf(keys) || CHUNK_KEYS));
  let length = 0;
  eachChunk(keys, scheme, (count, wasm) => {
    if (2 * (length + count) > words.length) {
      const larger = new Int32Array(Math.max(2 * words.length, 2 * (length + count)));
      larger.set(words);
      words = larger;
    }
    words.set(chunkHashes(wasm).subarray(0, 2 * count), 2 * length);
    length += count;
  });
  return { scheme, words: words.length === 2 * length ? words : words.slice(0, 2 * length), length };
}
