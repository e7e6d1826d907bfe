/**
 * The digests that this process expects of bodies, by cache key. It also counts the checks, and
 * bounds the memory of bodies that are held back until they are checked.
 *
 * There are two kinds of digests by key. A digest in the URL (`policy/named-digest.ts`) is certain:
 * another body can never be the one that the client asked for. A digest that was learnt from
 * metadata of the origin (metadata-reader.ts) is forgotten when the origin itself sends another
 * body: the file was replaced under its name, and the next attempt of the client gets it.
 */

import { randomBytes } from 'node:crypto';
import type { ResponseHead } from '../../policy/message-head.ts';
import { digestInKey, type NamedDigest } from '../../policy/named-digest.ts';
import { LearntDigests } from './learnt-digests.ts';
import { type MetadataDesk, type MetadataReader, metadataReader } from './metadata-reader.ts';

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

export interface DigestBookOptions {
  /** 16 random bytes, by which learnt digests are found. */
  readonly secret?: Uint8Array;
}

export class DigestBook {
  readonly #desk: MetadataDesk & { others: MetadataDesk['others'] };
  #held = 0;
  readonly #counts = {
    rightFromOrigins: 0,
    wrongFromOrigins: 0,
    rightFromNeighbours: 0,
    wrongFromNeighbours: 0,
  };

  constructor({ secret = randomBytes(16) }: DigestBookOptions = {}) {
    this.#desk = { learnt: new LearntDigests(secret), others: new Map(), readers: 0 };
  }

  /** Number of digests that were learnt from metadata. */
  get learnt(): number {
    return this.#desk.learnt.size;
  }

  /** Sets which other origins the metadata of an origin may speak for. */
  set metadataOrigins(others: ReadonlyMap<string, ReadonlySet<string>>) {
    this.#desk.others = others;
  }

  get counts(): DigestCounts {
    return { ...this.#counts };
  }

  /** Bytes that are held back at the moment. */
  get heldBytes(): number {
    return this.#held;
  }

  /** The digest of the body under a key, or null if none is known. */
  expected(key: string): NamedDigest | null {
    return digestInKey(key) ?? this.#desk.learnt.find(key);
  }

  /** Forgets a learnt digest, because the origin sends another body. */
  forget(key: string): void {
    this.#desk.learnt.forget(key);
  }

  /** A reader for a response of the origin, or null if it is no metadata. */
  metadataReader(key: string, head: ResponseHead): MetadataReader | null {
    return metadataReader(this.#desk, key, head);
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
