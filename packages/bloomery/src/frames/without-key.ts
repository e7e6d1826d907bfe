/**
 * A keyed filter for callers that do not have its key. Bits, counters and sizes do not depend on
 * the secret key; only the places of a key's bits do. So the contents of the frame can be shown, by
 * reading it as if its hash were the one with seed 0. Such a filter must never be used for lookups:
 * every answer would be wrong.
 */

import { FORGE64 } from '../hashing/hash-scheme.ts';
import { checkFrame, nestedFrames } from './check-frame.ts';
import { viewOf, writeChecksum } from './envelope.ts';
import { HEADER } from './frame.ts';

/**
 * A copy of a complete plain keyed frame, and of the frames in it, that decodes without the key.
 * The candidates of a HeavyHitters are left out, because reading them compares them with the
 * counters, which needs the hash; `candidatesOf` returns them. A frame without a key is returned
 * unchanged.
 */
export function withoutKey(frame: Uint8Array): Uint8Array {
  const head = checkFrame(frame);
  if (!head.hash.keyed) return frame;
  const candidates = head.structure === 'HeavyHitters' ? head.parameters.candidateBytes : 0;
  const copy = frame.slice(0, frame.length - candidates);
  // The length of the candidates is the last parameter, of 5 bytes.
  if (head.structure === 'HeavyHitters') copy.fill(0, head.start - 5, head.start);
  for (const { start, end } of nestedFrames(copy)) removeKey(copy.subarray(start, end));
  removeKey(copy);
  return copy;
}

function removeKey(frame: Uint8Array): void {
  const view = viewOf(frame);
  view.setUint8(HASH, FORGE64);
  view.setBigUint64(HEADER - 8, 0n, true);
  writeChecksum(frame);
}

/** The offset of the number of the hash. Its seed follows. */
const HASH = 7;
