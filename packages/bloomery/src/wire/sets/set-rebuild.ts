/**
 * A set of positions that is built from hashes while hashes come and go: the wider set of a
 * publisher that outgrew its universe. The caller walks through its collection in steps and tells
 * each hash once, and tells the changes at once, in the middle of the walk.
 *
 * A hash that goes may have been told before, or not yet, or never. So the hashes that were told
 * are remembered, all 64 bits of them: a wrong guess would take the position away from another key,
 * and subscribers would answer a false "no". They lie in 256 maps, because a single map with a
 * million entries held the event loop for 250 ms when it grew (on a busy machine). That takes 45 to
 * 65 bytes per hash until the set is built.
 */

import type { KeyHash } from '../../kernel/batches/hash-key.ts';
import { CountedSet } from './counted-set.ts';
import { PositionSum, positionOf } from './positions.ts';

type Hash = Pick<KeyHash, 'low' | 'high'>;

export class SetRebuild {
  readonly universe: number;
  readonly set: CountedSet;
  readonly sum: PositionSum;
  readonly #told: readonly Map<number, number>[] = Array.from({ length: 256 }, () => new Map());
  /** Hashes whose upper half is that of another one. */
  readonly #twins = new Set<bigint>();

  constructor(universe: number, keyId: number) {
    this.universe = universe;
    this.set = new CountedSet(universe);
    this.sum = PositionSum.ofEmpty(universe, keyId);
  }

  /** Takes a hash of the walk, unless it was told already. */
  visit(hash: Hash): void {
    if (this.#tell(hash)) this.#count(hash);
  }

  /** Takes a hash that came meanwhile. */
  add(hash: Hash): void {
    this.#tell(hash);
    this.#count(hash);
  }

  /** Takes away a hash that went meanwhile. The walk may give it all the same. */
  delete(hash: Hash): void {
    if (this.#tell(hash)) return;
    const position = positionOf(hash, this.universe);
    if (this.set.deleteSettled(position)) this.sum.subtract(position);
  }

  #count(hash: Hash): void {
    const position = positionOf(hash, this.universe);
    if (this.set.addSettled(position)) this.sum.add(position);
  }

  /** Remembers a hash. Returns false if it was told before. */
  #tell({ low, high }: Hash): boolean {
    const map = this.#told[high & 255];
    const known = map.get(high);
    if (known === undefined) {
      map.set(high, low);
      return true;
    }
    if (known === low) return false;
    const whole = (BigInt(high) << 32n) | BigInt(low);
    if (this.#twins.has(whole)) return false;
    this.#twins.add(whole);
    return true;
  }
}
