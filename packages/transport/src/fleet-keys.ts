/**
 * The keys of a fleet, derived from the one secret that its operator shares among the nodes. Each
 * purpose has a key of its own (HKDF with SHA-256, RFC 5869), so that a signature for one purpose
 * is worthless for another, and the secret itself is never used as a key.
 *
 * All nodes know the secret, so any of them can pose as any other. This is right for one team on
 * one network. It gives no confidentiality: use https:// addresses for that.
 */

import { hkdfSync } from 'node:crypto';
import { SecretKey } from 'bloomery';

export interface FleetKeys {
  /** Signs requests between nodes. */
  readonly request: Uint8Array;
  /** Signs answers and streams, so that an asker knows that a node of its fleet made them. */
  readonly response: Uint8Array;
  /** Hashes the keys of summaries, so that an outsider cannot aim false positives at a URL. */
  readonly summary: SecretKey;
  /** Names the secret in messages. It is 32 bits and says nothing about the secret. */
  readonly id: number;
}

/** A shorter secret could be found by trying. */
const LEAST_BYTES = 16;

const SALT = 'bloomery fleet 1';

/** Derives the keys of a fleet. The secret is at least 16 random bytes. */
export function fleetKeys(secret: Uint8Array): FleetKeys {
  if (secret.length < LEAST_BYTES)
    throw new RangeError(
      `Cannot derive the keys of a fleet: expected a secret of at least ${LEAST_BYTES} bytes, got ${secret.length}`,
    );
  const derive = (purpose: string, length: number) =>
    new Uint8Array(hkdfSync('sha256', secret, SALT, purpose, length));
  const id = derive('summary key id', 4);
  return {
    request: derive('request', 32),
    response: derive('response', 32),
    summary: new SecretKey(derive('summary', 16)),
    id: new DataView(id.buffer).getUint32(0, true),
  };
}
