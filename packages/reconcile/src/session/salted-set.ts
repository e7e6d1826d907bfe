/**
 * One side's keys under the salt of the current attempt. The hashes are computed when they are
 * first asked for, and again after `next`.
 */

import type { HashScheme } from 'bloomery';
import { ReconcileError } from '../reconcile-error.ts';
import { findIds } from '../sets/find-ids.ts';
import { hashCounters, sketchOf } from '../sets/hash-counters.ts';
import { type HashedKeys, hashedKeys, sumOfHashes } from '../sets/hashed-keys.ts';
import { sessionScheme } from '../sets/session-salt.ts';
import { idBytesOf } from '../symbols/cell.ts';
import { SymbolSource } from '../symbols/symbol-source.ts';
import { OwnCells } from './own-cells.ts';
import { KEPT_ID_BYTES, type KeptSymbols, type OwnSet } from './own-set.ts';

/** Attempts from this one on use lists. */
export const FIRST_LIST_ATTEMPT = 2;

export class SaltedSet {
  readonly set: OwnSet;
  readonly #most: number;
  #ofInitiator: Uint8Array = new Uint8Array(0);
  /** The randomness of the responder, which attempt 1 brings. */
  ofResponder: Uint8Array | null = null;
  #kept: KeptSymbols | null = null;
  #attempt = 0;
  #scheme: HashScheme | null = null;
  #hashed: HashedKeys | null = null;
  #sum: bigint | null = null;

  constructor(set: OwnSet, maxAttempts: number) {
    this.set = set;
    this.#most = maxAttempts;
  }

  /** Begins attempt 0 with the randomness of the initiator, or with kept symbols. */
  begin(ofInitiator: Uint8Array, keptInUse: boolean): void {
    this.#ofInitiator = ofInitiator;
    this.#forget();
    this.#kept = keptInUse ? this.set.kept : null;
  }

  get attempt(): number {
    return this.#attempt;
  }

  /** Whether kept symbols are in use. */
  get keptInUse(): boolean {
    return this.#kept !== null;
  }

  /** Goes to the next salt, or throws if there were too many attempts. */
  next(): void {
    this.#attempt++;
    this.#forget();
    if (this.#attempt < this.#most) return;
    throw new ReconcileError('exhausted', `expected success in ${this.#attempt} attempts, got none`);
  }

  get scheme(): HashScheme {
    this.#scheme ??= this.#kept?.scheme ?? sessionScheme(this.#ofInitiator, this.ofResponder, this.#attempt);
    return this.#scheme;
  }

  get hashed(): HashedKeys {
    this.#hashed ??= this.#kept?.hashed ?? hashedKeys(this.set.source, this.scheme);
    return this.#hashed;
  }

  /** Sum of the hashes of all keys. */
  get sum(): bigint {
    this.#sum ??= this.#kept?.sum ?? sumOfHashes(this.hashed.words);
    return this.#sum;
  }

  /** The counters of all keys. */
  get counters(): Uint8Array {
    return this.#kept?.counters ?? hashCounters(this.hashed.words);
  }

  /** The sketch of all keys, of `bytes` bytes. */
  sketch(bytes: number): Uint8Array {
    return sketchOf(this.counters, bytes);
  }

  /** The cells of `keys`, which are all keys of this side or some of them, of `width` bytes. */
  cells(keys: HashedKeys, width: number): OwnCells {
    const idBytes = idBytesOf(width);
    const kept = keys === this.#kept?.hashed && idBytes === KEPT_ID_BYTES ? this.#kept : null;
    return new OwnCells(() => kept?.blocks() ?? new SymbolSource(keys.words, keys.size, idBytes), width);
  }

  /** The numbers in `keys` of the keys with these ids, as `findIds` gives them. */
  find(keys: HashedKeys, ids: Int32Array, bits: number): Int32Array {
    const kept = keys === this.#kept?.hashed ? this.#kept.find(ids, bits) : null;
    return kept ?? findIds(keys.words, ids, bits);
  }

  /** Sum of the hashes of `keys` without those of the given numbers. */
  sumWithout(keys: HashedKeys, numbers: Int32Array): bigint {
    let sum = keys === this.#hashed ? this.sum : sumOfHashes(keys.words);
    for (const k of numbers) sum -= sumOfHashes(keys.words.subarray(2 * k, 2 * k + 2));
    return BigInt.asUintN(64, sum);
  }

  #forget(): void {
    this.#kept = null;
    this.#scheme = null;
    this.#hashed = null;
    this.#sum = null;
  }
}
