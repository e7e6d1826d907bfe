/**
 * `build --never`: keys that the filter must not let pass. They are not in the set, and a false
 * positive on one of them would be expensive. Compressed Bloom Filters, section III, suggests to
 * try hash functions until none of a known list passes. Here another seed is another hash function,
 * and the filter is rebuilt for each seed.
 *
 * A seed succeeds with probability (1 - p)^m for m such keys and the rate p, so about e^(p·m)
 * filters are built: 3 for 100 keys at 1 %, but 150 for 500 keys. If the first filter shows that
 * the most tries would hardly be enough, the search ends at once and names a rate that needs 2.
 *
 * A listed key that is in the set passes with every seed. The search looks for it among the keys
 * once, after the first failure, and then says which one it is.
 */

import type { KeyBatch } from 'bloomery';
import { ownAsker } from '../checking/ask.ts';
import type { OwnFilter } from '../files/structures.ts';
import { eachKey } from '../keys/each-key.ts';
import { type KeyOptions, readKeys } from '../keys/key-source.ts';
import { formatCount, formatRate } from '../terminal/format-values.ts';
import { UsageError } from '../usage-error.ts';

export class NeverKeys {
  readonly #path: string;
  readonly #batches: readonly KeyBatch[];
  readonly count: number;

  private constructor(path: string, batches: readonly KeyBatch[], count: number) {
    this.#path = path;
    this.#batches = batches;
    this.count = count;
  }

  /** Reads the keys, one a line. With `crlf`, lines may end with CR LF. */
  static async read(path: string, { crlf }: Pick<KeyOptions, 'crlf'>): Promise<NeverKeys> {
    const batches: KeyBatch[] = [];
    let total = 0;
    for await (const { keys, count } of readKeys([path], { crlf })) {
      batches.push(keys);
      total += count;
    }
    return new NeverKeys(path, batches, total);
  }

  /** Returns the keys that a filter lets pass. */
  passing(filter: OwnFilter): Set<string> {
    const found = new Set<string>();
    const { ask } = ownAsker(filter);
    for (const keys of this.#batches) {
      const answers = ask(keys);
      let i = 0;
      for (const key of eachKey(keys)) if (answers[i++] === 1) found.add(textOf(key));
    }
    return found;
  }

  /** Throws if one of these keys is in the set itself: no seed would keep it out. */
  async refuseMembers(
    passing: ReadonlySet<string>,
    files: readonly string[],
    options: KeyOptions,
  ): Promise<void> {
    for await (const { keys } of readKeys(files, options)) {
      for (const key of eachKey(keys)) {
        if (!passing.has(textOf(key))) continue;
        const text = JSON.stringify(Buffer.from(key).toString());
        throw new UsageError(`${this.#path}: ${text} is one of the keys, so no seed keeps it out`);
      }
    }
  }

  /** Throws if the number of seeds to try, by the rate of a filter, is out of reach. */
  refuseHopeless(filter: OwnFilter, passing: number, mostTries: number): void {
    const rate =
      'estimatedFalsePositiveRate' in filter
        ? filter.estimatedFalsePositiveRate()
        : 'falsePositiveRate' in filter
          ? filter.falsePositiveRate
          : passing / this.count;
    const expected = (1 - rate) ** -this.count;
    if (expected <= MARGIN * mostTries) return;
    const better = -Math.expm1(-Math.LN2 / this.count);
    throw new UsageError(
      `${formatCount(this.count)} keys of ${this.#path} at a rate of ${formatRate(rate)} need about ` +
        `${expected < 1e15 ? formatCount(expected) : expected.toExponential(0)} seeds, more than ` +
        `${formatCount(mostTries)} (--tries); --rate ${better.toPrecision(2)} needs about 2`,
    );
  }

  /** The error if all tries failed. */
  exhausted(tries: number): UsageError {
    return new UsageError(
      `none of ${formatCount(tries)} seeds keeps all keys of ${this.#path} out; a lower --rate or more --tries can`,
    );
  }
}

/** A search goes on while the expected number of tries is at most this many times the limit. */
const MARGIN = 2;

/** A text for each key, different for different bytes. */
function textOf(key: Uint8Array): string {
  return Buffer.from(key).toString('latin1');
}
