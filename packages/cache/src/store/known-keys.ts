/**
 * Which keys a slower store has, as its listeners were told: a set that answers at once. It holds 64-bit hashes of the keys in two typed arrays, with open
 * addressing: 11 to 22 bytes a key, where a `Set` of strings takes 100 and more, which for a million keys on disk matters.
 *
 * It can be wrong when two keys have the same hash: for a million keys that happens with probability 3·10^-8. Then removing one removes both; the other one is fetched
 * again. It is never a reason for wrong bytes, since the store itself compares keys.
 *
 * Why not ask the store itself: it changes a little before it tells, or a little after; who decides by both must see them change together.
 */

import { randomBytes } from 'node:crypto';
import { hashKey, SecretKey } from 'bloomery';

export class KnownKeys {
  /** A slot is free if both halves are 0; a key with that hash gets 1 for its low half. */
  #low = new Uint32Array(1024);
  #high = new Uint32Array(1024);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get byteLength(): number {
    return this.#low.byteLength + this.#high.byteLength;
  }

  has(key: string): boolean {
    const { low, high } = hashOf(key);
    return this.#isFree(this.#slotOf(low, high)) === false;
  }

  add(key: string): void {
    const { low, high } = hashOf(key);
    const slot = this.#slotOf(low, high);
    if (!this.#isFree(slot)) return;
    this.#low[slot] = low;
    this.#high[slot] = high;
    if (++this.#size * 4 > this.#low.length * 3) this.#grow();
  }

  delete(key: string): void {
    const { low, high } = hashOf(key);
    let hole = this.#slotOf(low, high);
    if (this.#isFree(hole)) return;
    this.#size--;
    // What follows without a gap moves up if the hole lies between its own place and where it is: no tombstones are needed.
    const mask = this.#low.length - 1;
    for (let slot = (hole + 1) & mask; !this.#isFree(slot); slot = (slot + 1) & mask) {
      const distance = (slot - this.#low[slot]!) & mask;
      if (distance < ((slot - hole) & mask)) continue;
      this.#low[hole] = this.#low[slot]!;
      this.#high[hole] = this.#high[slot]!;
      hole = slot;
    }
    this.#low[hole] = this.#high[hole] = 0;
  }

  #isFree(slot: number): boolean {
    return this.#low[slot] === 0 && this.#high[slot] === 0;
  }

  /** Where a hash is, or the free slot where it would be. */
  #slotOf(low: number, high: number): number {
    const mask = this.#low.length - 1;
    let slot = low & mask;
    while (!this.#isFree(slot) && (this.#low[slot] !== low || this.#high[slot] !== high))
      slot = (slot + 1) & mask;
    return slot;
  }

  #grow(): void {
    const low = this.#low;
    const high = this.#high;
    this.#low = new Uint32Array(low.length * 2);
    this.#high = new Uint32Array(low.length * 2);
    for (let i = 0; i < low.length; i++) {
      if (low[i] === 0 && high[i] === 0) continue;
      const slot = this.#slotOf(low[i]!, high[i]!);
      this.#low[slot] = low[i]!;
      this.#high[slot] = high[i]!;
    }
  }
}

/** Clients choose keys. Without a secret one of them could look for two with the same hash, or for many that crowd together. */
const secret = new SecretKey(randomBytes(16));

function hashOf(key: string): { low: number; high: number } {
  const { low, high } = hashKey(key, { key: secret });
  return low === 0 && high === 0 ? { low: 1, high } : { low, high };
}
