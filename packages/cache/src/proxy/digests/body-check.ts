/**
 * The digests of one body, computed while it arrives, and their comparison with those that it must
 * have. There is one hash state per algorithm. `bench/cache/digests.mjs` measures what it costs.
 *
 * A store that names bodies by their SHA-256 takes that digest from here (`sha256`), so it is not
 * computed twice.
 */

import { createHash, type Hash } from 'node:crypto';
import type { DigestAlgorithm, NamedDigest } from '../../policy/named-digest.ts';
import { OriginError } from '../origin/origin-error.ts';

/** A body is not the one that its digest names. RFC 9209 has no error type of its own for that. */
export class WrongDigestError extends OriginError {
  constructor(expected: NamedDigest, got: string, bytes: number) {
    const { algorithm, hex } = expected;
    super(
      'http_protocol_error',
      `Cannot pass on a body: expected ${algorithm}:${hex}, got ${algorithm}:${got} (${bytes} bytes)`,
    );
  }
}

export class BodyCheck {
  bytes = 0;
  readonly #expected: readonly NamedDigest[];
  readonly #hashes = new Map<DigestAlgorithm, Hash>();

  constructor(expected: readonly NamedDigest[]) {
    this.#expected = expected;
    for (const { algorithm } of expected) {
      if (!this.#hashes.has(algorithm)) this.#hashes.set(algorithm, createHash(algorithm));
    }
  }

  add(bytes: Uint8Array): void {
    this.bytes += bytes.length;
    for (const hash of this.#hashes.values()) hash.update(bytes);
  }

  /** Whether SHA-256 is among the digests. */
  get hasSha256(): boolean {
    return this.#hashes.has('sha256');
  }

  /** SHA-256 of all bytes so far. */
  sha256(): Uint8Array {
    return this.#hashes.get('sha256')!.copy().digest();
  }

  /** The body is complete. Returns an error if it has another digest than it must have. */
  problem(): WrongDigestError | null {
    for (const expected of this.#expected) {
      const got = this.#hashes.get(expected.algorithm)!.copy().digest('hex');
      // A learnt digest is known by its first bytes only, so the beginnings are compared.
      if (!got.startsWith(expected.hex)) return new WrongDigestError(expected, got, this.bytes);
    }
    return null;
  }
}
