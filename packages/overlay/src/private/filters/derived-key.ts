/**
 * Keys for one purpose each, derived from a secret of 16 bytes. SipHash-2-4 is a pseudorandom
 * function of its key, so a derived key tells nothing about the secret or about other derived keys.
 * We took it instead of HKDF because the library has it, and because it is not asynchronous.
 */

import { hashKey, SecretKey } from 'bloomery';

/** 16 bytes that only a holder of `secret` can compute: two SipHashes of the purpose. */
export function deriveKeyBytes(secret: Uint8Array, purpose: string | Uint8Array): Uint8Array<ArrayBuffer> {
  const { scheme } = secretKey(secret);
  const text = typeof purpose === 'string' ? new TextEncoder().encode(purpose) : purpose;
  const message = new Uint8Array(text.length + 1);
  message.set(text, 1);
  const derived = new Uint8Array(16);
  const view = new DataView(derived.buffer);
  for (let half = 0; half < 2; half++) {
    message[0] = half;
    const { low, high } = hashKey(message, scheme);
    view.setUint32(8 * half, low, true);
    view.setUint32(8 * half + 4, high, true);
  }
  return derived;
}

/** The secret as a key of the library; checks that it has 16 bytes. */
export function secretKey(secret: Uint8Array): SecretKey {
  return new SecretKey(secret);
}
