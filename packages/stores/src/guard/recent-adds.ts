/**
 * The keys that were added lately, as hashes with their times. A rebuild puts them into the new
 * filter, because the source may not have shown their rows: a row whose transaction was open when
 * the source was read, or a replica that was behind.
 *
 * Old adds are forgotten from the front. The array is copied only when at least half of it is old,
 * so an add costs the same however many there are.
 */

import type { KeyHash } from 'bloomery';

interface RecentAdd {
  readonly hash: KeyHash;
  readonly at: number;
}

export class RecentAdds {
  #adds: RecentAdd[] = [];
  #first = 0;

  push(hash: KeyHash, at: number): void {
    this.#adds.push({ hash, at });
  }

  /** Forgets the adds before a time. */
  forgetBefore(time: number): void {
    while (this.#first < this.#adds.length && this.#adds[this.#first]!.at < time) this.#first++;
    if (2 * this.#first < this.#adds.length || this.#first === 0) return;
    this.#adds = this.#adds.slice(this.#first);
    this.#first = 0;
  }

  get size(): number {
    return this.#adds.length - this.#first;
  }

  /** The hashes of all of them. */
  *hashes(): Iterable<KeyHash> {
    for (let at = this.#first; at < this.#adds.length; at++) yield this.#adds[at]!.hash;
  }
}
