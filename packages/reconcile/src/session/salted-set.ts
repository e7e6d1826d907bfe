/**
 * One side's keys under the salt of the current attempt. The hashes are computed when they are
 * first asked for, and again after `next`.
 */

import type { HashScheme } from 'bloomery';
import { ReconcileError } from '../reconcile-error.ts';
import { type HashedKeys, hashedKeys } from '../sets/hashed-keys.ts';
import { sessionScheme } from '../sets/session-salt.ts';
import { type SymbolBlocks, SymbolSource } from '../symbols/symbol-source.ts';
import type { OwnSet } from './own-set.ts';

/** Attempts from this one on use lists. */
export const FIRST_LIST_ATTEMPT = 2;

export class SaltedSet {
  readonly set: OwnSet;
  readonly #most: number;
  #ofInitiator: Uint8Array | null = null;
  #ofResponder: Uint8Array | null = null;
  #keptInUse = false;
  #attempt = 0;
  #scheme: HashScheme | null = null;
  #hashed: HashedKeys | null = null;

  constructor(set: OwnSet, maxAttempts: number) {
    this.set = set;
    this.#most = maxAttempts;
  }

  /** Begins attempt 0 with the randomness of both sides, or with kept symbols if both have them. */
  begin(ofInitiator: Uint8Array, ofResponder: Uint8Array, keptInUse: boolean): void {
    this.#ofInitiator = ofInitiator;
    this.#ofResponder = ofResponder;
    this.#keptInUse = keptInUse;
  }

  get attempt(): number {
    return this.#attempt;
  }

  get begun(): boolean {
    return this.#ofInitiator !== null;
  }

  /** Goes to the next salt, or throws if there were too many attempts. */
  next(): void {
    this.#attempt++;
    this.#keptInUse = false;
    this.#scheme = null;
    this.#hashed = null;
    if (this.#attempt < this.#most) return;
    throw new ReconcileError('exhausted', `expected success in ${this.#attempt} attempts, got none`);
  }

  get scheme(): HashScheme {
    const { kept } = this.set;
    if (this.#keptInUse && kept !== null) return kept.scheme;
    if (this.#ofInitiator === null || this.#ofResponder === null)
      throw new ReconcileError('unexpected', 'expected the randomness of both sides first, got one');
    this.#scheme ??= sessionScheme(this.#ofInitiator, this.#ofResponder, this.#attempt);
    return this.#scheme;
  }

  get hashed(): HashedKeys {
    const { kept, source } = this.set;
    if (this.#keptInUse && kept !== null) return kept.hashed;
    this.#hashed ??= hashedKeys(source, this.scheme);
    return this.#hashed;
  }

  /** The symbols of `keys`, which are all keys of this side or some of them. */
  blocks(keys: HashedKeys, idBytes: number): SymbolBlocks {
    const { kept } = this.set;
    if (this.#keptInUse && kept !== null && keys === kept.hashed && idBytes === 5) return kept.blocks();
    return new SymbolSource(keys.words, keys.size, idBytes);
  }
}
