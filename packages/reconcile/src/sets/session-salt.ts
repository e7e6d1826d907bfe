/**
 * The salt of an attempt. In attempt 0 it comes from the randomness of the initiator alone, so that
 * its first message can already say something about its keys. Later attempts take the randomness of
 * both sides. A third party that chose some of the keys beforehand knows neither, so its keys are
 * as good as random ones. An initiator that chose keys of the responder beforehand can make attempt
 * 0 of its own session useless, and no other.
 */

import { type HashScheme, hashKey, SecretKey } from 'bloomery';
import { RANDOM_BYTES } from '../wire/message-types.ts';

/** The keyed hash of attempt `attempt`. `ofResponder` is null in attempt 0. */
export function sessionScheme(
  ofInitiator: Uint8Array,
  ofResponder: Uint8Array | null,
  attempt: number,
): HashScheme {
  const bytes = new Uint8Array(2 * RANDOM_BYTES);
  bytes.set(ofInitiator);
  if (ofResponder !== null) bytes.set(ofResponder, RANDOM_BYTES);
  const { scheme } = new SecretKey(bytes);
  const view = new DataView(new ArrayBuffer(16));
  for (let half = 0; half < 2; half++) {
    const { low, high } = hashKey(Uint8Array.of(attempt, half), scheme);
    view.setUint32(8 * half, low, true);
    view.setUint32(8 * half + 4, high, true);
  }
  return new SecretKey(new Uint8Array(view.buffer)).scheme;
}
