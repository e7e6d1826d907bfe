/**
 * Many hashes at once: a batch of keys is hashed once, and the hashes are used with many
 * structures.
 */

import type { HashOptions, HashScheme } from '../../hashing/hash-scheme.ts';
import { NEWLINE } from '../../keys/lines.ts';
import { CHUNK_KEYS } from '../wasm/chunk.ts';
import { chunkHashes, countOf, eachChunk, type KeyBatch, type KeyLines } from './batch.ts';
import { schemeOf } from './hash-key.ts';

/**
 * The hashes of a batch of keys, in order. They are a batch themselves, for every structure with
 * the same seed or key.
 */
export interface KeyHashes {
  readonly scheme: HashScheme;
  /** The lower and the upper half of each hash in turn, as int32. */
  readonly words: Int32Array;
  readonly length: number;
}

/**
 * Hashes all keys of a batch. If `room` is large enough, the hashes are written there, and `words`
 * is a view of it. A caller that hashes one batch after the other thereby saves the time for
 * allocating memory.
 */
export function hashKeys(keys: KeyBatch, options?: HashOptions | HashScheme, room?: Int32Array): KeyHashes {
  const scheme = schemeOf('hashKeys', options);
  const { lines } = keys as Partial<KeyLines>;
  const expected = lines instanceof Uint8Array ? expectedLines(lines) : countOf(keys);
  const needed = 2 * (expected || CHUNK_KEYS);
  let words = room !== undefined && room.length >= needed ? room : new Int32Array(needed);
  let length = 0;
  eachChunk(keys, scheme, (added, wasm) => {
    if (2 * (length + added) > words.length) {
      const larger = new Int32Array(Math.max(2 * words.length, 2 * (length + added)));
      larger.set(words);
      words = larger;
    }
    words.set(chunkHashes(wasm).subarray(0, 2 * added), 2 * length);
    length += added;
  });
  if (words.length !== 2 * length)
    words = words === room ? words.subarray(0, 2 * length) : words.slice(0, 2 * length);
  return { scheme, words, length };
}

/**
 * Estimates the number of lines from those at the beginning, because growing the array repeatedly
 * would cost more than hashing.
 */
function expectedLines(bytes: Uint8Array): number {
  const looked = Math.min(bytes.length, 4096);
  let newlines = 1;
  for (let i = 0; i < looked; i++) if (bytes[i] === NEWLINE) newlines++;
  return Math.ceil((1.1 * bytes.length * newlines) / looked) || 0;
}
