/**
 * The salt of an attempt, made from the randomness of both sides. A third party that chose some of
 * the keys beforehand cannot know it, so its keys are as good as random ones.
 */

import { type HashScheme, hashKey, SecretKey } from 'bloomery';

/** Bytes of randomness that each side contributes. */
export const RANDOM_BYTES = 8;

/** The keyed hash of attempt `attempt`. */
export function sessionScheme(ofInitiator: Uint8Array, ofResponder: Uint8Array, attempt: number): HashScheme {
  const bytes = new Uint8Array(2 * RANDOM_BYTES);
  bytes.set(ofInitiator);
  bytes.set(ofResponder, RANDOM_BYTES);
  const { scheme } = new SecretKey(bytes);
  const view = new DataView(new ArrayBuffer(16));
  for (let half = 0; half < 2; half++) {
    const { low, high } = hashKey(Uint8Array.of(attempt, half), scheme);
    view.setUint32(8 * half, low, true);
    view.setUint32(8 * half + 4, high, true);
  }
  return new SecretKey(new Uint8Array(view.buffer)).scheme;
}
