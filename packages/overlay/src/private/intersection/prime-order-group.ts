/**
 * The port for the arithmetic of ristretto255 (RFC 9496), and the hash of keys to its elements (RFC
 * 9380). `@bloomery/overlay/private/sodium` binds it to libsodium.
 *
 * A prime-order group has no small subgroups: every element but the identity generates all of it,
 * so a peer cannot send a point whose multiples tell a part of our scalar.
 */

/** Bytes of an encoded element, and of a scalar. */
export const ELEMENT_BYTES = 32;

/** The operations. Elements and scalars are 32 bytes in their encoding of RFC 9496. */
export interface PrimeOrderGroup {
  /** SHA-512 of a message. */
  sha512(message: Uint8Array): Uint8Array;
  /** The element that 64 uniform bytes stand for (RFC 9496, 4.3.4). */
  elementFrom(uniform: Uint8Array): Uint8Array;
  /** The scalar that 64 uniform bytes stand for: reduced modulo the order of the group. */
  scalarFrom(uniform: Uint8Array): Uint8Array;
  /**
   * The element times the scalar, or null if the bytes are not the canonical encoding of an
   * element, or are that of the identity. The time must not depend on the scalar.
   */
  multiply(element: Uint8Array, scalar: Uint8Array): Uint8Array | null;
}

/**
 * Hashes a key to an element: hash_to_ristretto255 of RFC 9380 (appendix B) with SHA-512. The
 * context is hashed with the key, so that sides with different contexts have nothing in common.
 */
export function elementOfKey(group: PrimeOrderGroup, key: Uint8Array, context: Uint8Array): Uint8Array {
  const message = new Uint8Array(2 + context.length + key.length);
  new DataView(message.buffer).setUint16(0, context.length, true);
  message.set(context, 2);
  message.set(key, 2 + context.length);
  return group.elementFrom(expandMessage(group, message));
}

/**
 * RFC 9380, 5.3.1, expand_message_xmd, for 64 bytes, which are one block of SHA-512:
 * "b_0 = H(msg_prime)", "b_1 = H(b_0 || I2OSP(1, 1) || DST_prime)".
 */
function expandMessage(group: PrimeOrderGroup, message: Uint8Array): Uint8Array {
  // Z_pad, the block size of SHA-512; then msg, I2OSP(64, 2), I2OSP(0, 1), DST_prime.
  const padded = new Uint8Array(128 + message.length + 3 + DST_PRIME.length);
  padded.set(message, 128);
  padded[128 + message.length + 1] = 64;
  padded.set(DST_PRIME, 128 + message.length + 3);
  const next = new Uint8Array(64 + 1 + DST_PRIME.length);
  next.set(group.sha512(padded));
  next[64] = 1;
  next.set(DST_PRIME, 65);
  return group.sha512(next);
}

/** The domain separation tag, which no other protocol uses. */
export const HASH_DOMAIN = 'BLOOMERY-PSI-V1-ristretto255_XMD:SHA-512_R255MAP_RO_';
/** "DST_prime = DST || I2OSP(len(DST), 1)". */
const DST_PRIME = Uint8Array.from([...new TextEncoder().encode(HASH_DOMAIN), HASH_DOMAIN.length]);
