/**
 * The keys of a batch one by one, as bytes: for structures of other systems, which take no batch,
 * and for sketches, which are asked key by key.
 */

import { eachLine, type KeyBatch, type KeyLines, type PackedKeys } from 'bloomery';

/** Yields the keys of a batch of lines or of packed keys, as views of its bytes. */
export function* eachKey(keys: KeyBatch): Generator<Uint8Array> {
  const { lines, bytes, offsets } = keys as Partial<KeyLines & PackedKeys>;
  if (lines !== undefined) {
    yield* eachLine(lines);
  } else if (bytes !== undefined && offsets !== undefined) {
    for (let i = 0; i + 1 < offsets.length; i++) yield bytes.subarray(offsets[i], offsets[i + 1]);
  } else {
    throw new TypeError('Cannot visit the keys of a batch: expected lines or packed keys, got another form');
  }
}
