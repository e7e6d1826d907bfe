/**
 * ristretto255 by libsodium in WebAssembly (`libsodium-wrappers-sumo`, an optional peer
 * dependency).
 *
 * We compared it with @noble/curves (bench/results/private.md). libsodium is nine times as fast,
 * and it is written without branches and table lookups that depend on secrets, which WebAssembly
 * engines keep in practice, though no engine promises it. noble-curves is smaller and was audited,
 * and says itself that its arithmetic, on BigInt, does not take constant time. The peer chooses the
 * points that we multiply by one secret scalar, thousands in one session, and sees how long it
 * takes, so this decides.
 */

import type { PrimeOrderGroup } from './intersection/prime-order-group.ts';

/** Loads libsodium. The first call compiles it, the others return at once. */
export async function ristretto255(): Promise<PrimeOrderGroup> {
  const { default: sodium } = await import('libsodium-wrappers-sumo');
  await sodium.ready;
  return {
    sha512: (message) => sodium.crypto_hash_sha512(message),
    elementFrom: (uniform) => sodium.crypto_core_ristretto255_from_hash(uniform),
    scalarFrom: (uniform) => sodium.crypto_core_ristretto255_scalar_reduce(uniform),
    multiply: (element, scalar) => {
      try {
        // It refuses encodings that are not canonical, and the identity as a result.
        return sodium.crypto_scalarmult_ristretto255(scalar, element);
      } catch {
        return null;
      }
    },
  };
}
