/**
 * The digests that this process expects of bodies, by cache key. It also counts the checks, and
 * bounds the memory of bodies that are held back until they are checked.
 *
 * There are two kinds of digests by key. A digest in the URL (`policy/named-digest.ts`) is certain:
 * another body can never be the one that the client asked for.
 */

import { digestInKey, type NamedDigest } from '../../policy/named-digest.ts';

/** Longest body that is checked before its first byte goes out. */
const HELD_BODY_BYTES = 1 << 20;
/**
 * All bodies that are held at a time. One that finds no room is passed on while it arrives, all but
 * its last bytes.
 */
const ALL_HELD_BYTES = 64 << 20;

/** Bodies with an expected digest, by their source and by the result. */
export interface DigestCounts {
  readonly rightFromOrigins: number;
  readonly wrongFromOrigins: number;
  readonly rightFromNeighbours: number;
  readonly wrongFromNeighbours: number;
}

export class DigestBook {
  #held = 0;
  readonly #counts = {
    rightFromOrigins: 0,
    wrongFromOrigins: 0,
    rightFromNeighbours: 0,
    wrongFromNeighbours: 0,
  };

  get counts(): DigestCounts {
    return { ...this.#counts };
  }

  /** Bytes that are held back at the moment. */
  get heldBytes(): number {
    return this.#held;
  }

  /** The digest of the body under a key, or null if none is known. */
  expected(key: string): NamedDigest | null {
    return digestInKey(key);
  }

  count(isRight: boolean, fromNeighbour: boolean): void {
    if (fromNeighbour) this.#counts[isRight ? 'rightFromNeighbours' : 'wrongFromNeighbours']++;
    else this.#counts[isRight ? 'rightFromOrigins' : 'wrongFromOrigins']++;
  }

  /** Whether a body of `length` bytes may be held back, of which `held` are held already. */
  mayHold(length: number, held = 0): boolean {
    if (length === 0) return true;
    return length <= HELD_BODY_BYTES && this.#held - held + length <= ALL_HELD_BYTES;
  }

  /** `bytes` more bytes are held, or fewer if it is negative. */
  hold(bytes: number): void {
    this.#held += bytes;
  }
}
