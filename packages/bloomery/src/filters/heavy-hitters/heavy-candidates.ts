/**
 * The candidates: keys whose count may be at least a share of the total. `HeavyHitters` keeps them
 * next to its sketch; the proofs are in heavy-hitters.ts.
 *
 * A record is stale when its count has fallen below the bar, because the total has grown. A stale
 * record counts as no record everywhere. When it is deleted depends on the timing of pruning, and
 * no result may depend on that.
 */

import { CANDIDATE_BYTES, candidateRecords } from '../../frames/counter-kinds.ts';
import type { Key } from '../../keys/key.ts';
import { keyBytes } from '../../keys/key.ts';
import { identityOf, keyFromBytes, keyTag, rememberedKey } from './heavy-keys.ts';

export interface Candidate {
  readonly key: Key;
  /** Upper bound on the true count. */
  readonly count: number;
  /** Lower bound on the true count: the additions seen since the key became a candidate. */
  readonly atLeast: number;
}

export class Candidates {
  // Slightly below the threshold, because of rounding: in a merge, the sum of the bars of two
  // totals must not exceed the bar of the sum of the totals.
  readonly #share: number;
  readonly #records = new Map<string, Candidate>();
  #limit = LEAST_LIMIT;

  constructor(threshold: number) {
    this.#share = threshold * (1 - 2 ** -48);
  }

  /** The count that a key needs to be a candidate. */
  bar(total: number): number {
    return this.#share * total;
  }

  /**
   * Records that a key was added. `estimate` is the sketch's count now (Infinity if it is
   * saturated), `before` the total before the addition. Returns the best upper bound on its count.
   */
  add(key: Key, estimate: number, amount: number, before: number): number {
    const bar = this.bar(before + amount);
    if (estimate < bar || amount === 0) return estimate;
    const identity = identityOf(key);
    const record = this.#live(identity, before);
    const count = Math.min(estimate, (record?.count ?? this.unseenBound(before)) + amount);
    if (count >= bar) {
      this.#records.set(identity, {
        key: record?.key ?? rememberedKey(key),
        count,
        atLeast: (record?.atLeast ?? 0) + amount,
      });
      if (this.#records.size > this.#limit) this.prune(before + amount);
    }
    return count;
  }

  /** The record of a key, or undefined if it is not a candidate. */
  get(key: Key, total: number): Candidate | undefined {
    return this.#live(identityOf(key), total);
  }

  /** Upper bound on the count of any key that is not a candidate. */
  unseenBound(total: number): number {
    return Math.max(0, Math.ceil(this.bar(total)) - 1);
  }

  /** Deletes stale records; returns how many are left. */
  prune(total: number): number {
    for (const [identity, { count }] of this.#records) {
      if (count < this.bar(total)) this.#records.delete(identity);
    }
    this.#limit = Math.max(LEAST_LIMIT, 2 * this.#records.size);
    return this.#records.size;
  }

  clear(): void {
    this.#records.clear();
    this.#limit = LEAST_LIMIT;
  }

  /** All candidates, largest counts first; equal counts in the order of the keys' bytes. */
  sorted(total: number): Candidate[] {
    this.prune(total);
    return [...this.#records]
      .sort(([a, x], [b, y]) => y.count - x.count || (a < b ? -1 : 1))
      .map(([, record]) => record);
  }

  /**
   * Takes over the records that are candidates at this total. Returns false if a key occurs twice.
   */
  fill(records: Iterable<Candidate>, total: number): boolean {
    this.clear();
    for (const record of records) {
      if (record.count < this.bar(total)) continue;
      const identity = identityOf(record.key);
      if (this.#records.has(identity)) return false;
      this.#records.set(identity, record);
    }
    this.#limit = Math.max(LEAST_LIMIT, 2 * this.#records.size);
    return true;
  }

  #live(identity: string, total: number): Candidate | undefined {
    const record = this.#records.get(identity);
    return record !== undefined && record.count >= this.bar(total) ? record : undefined;
  }
}

/** Up to this many records, stale ones are not looked for. */
const LEAST_LIMIT = 64;

/**
 * Writes one record after the other: type (1), count (8), at least (8), length of the key (4), its
 * bytes.
 */
export function encodeCandidates(candidates: readonly Candidate[]): Uint8Array {
  const keys = candidates.map(({ key }) => keyBytes(key));
  const bytes = new Uint8Array(keys.reduce((sum, key) => sum + CANDIDATE_BYTES + key.length, 0));
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const [i, { key, count, atLeast }] of candidates.entries()) {
    view.setUint8(at, keyTag(key));
    view.setBigUint64(at + 1, BigInt(count), true);
    view.setBigUint64(at + 9, BigInt(atLeast), true);
    view.setUint32(at + 17, keys[i].length, true);
    bytes.set(keys[i], at + CANDIDATE_BYTES);
    at += CANDIDATE_BYTES + keys[i].length;
  }
  return bytes;
}

/** Reads the records. `fail` throws, and gets the offset in `bytes` of the error. */
export function decodeCandidates(bytes: Uint8Array, fail: (at: number, what: string) => never): Candidate[] {
  const candidates: Candidate[] = [];
  for (const { at, type, count, atLeast, key: keyBytes } of candidateRecords(bytes, fail)) {
    const key = keyFromBytes(type, keyBytes);
    if (key === undefined) return fail(at, `a key of type ${type} with such bytes`);
    if (!(atLeast >= 1 && atLeast <= count)) fail(at + 9, `a candidate of ${atLeast} to ${count}`);
    candidates.push({ key, count, atLeast });
  }
  return candidates;
}
