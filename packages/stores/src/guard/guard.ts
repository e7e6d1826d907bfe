/**
 * A filter in front of any lookup. `guard(findUser, { filter })` is a function like `findUser`. It
 * answers "not there" from memory where the filter is certain, and asks the store otherwise.
 *
 * What it promises: the answer is that of the lookup, as long as every key in the store is in the
 * filter. A key that was inserted without `add` is not found until the filter is rebuilt; `audit`
 * looks for such keys. While the filter is not sure of itself (its `state` is not 'live'), every
 * call goes to the store. A key that was deleted from the store costs a lookup, and nothing else.
 *
 * Where it does not help: in front of a lookup in memory, which is as fast as the filter, and where
 * nearly all keys that are asked for exist. `stats()` says what it saved.
 *
 * The four counters have Squid's names. A false miss can only be known for lookups that were made
 * although the filter said no, which is what `audit` does.
 */

import type { Key } from 'bloomery';
import { expectedRate, type GuardingFilter, isLive } from './guarded-filter.ts';
import { type RateProblem, RateWatch } from './rate-watch.ts';

/** A lookup: undefined or null means that the key is not there. */
export type Lookup<K extends Key, Rest extends unknown[], Found> = (
  key: K,
  ...rest: Rest
) => Promise<Found | null | undefined>;

export interface GuardOptions<K extends Key = Key> {
  readonly filter: GuardingFilter;
  /**
   * The rate of false hits that the filter was made for. Default: the filter's own
   * `falsePositiveRate`, which `RebuiltFilter` has. Filters of the library do not keep it. They are
   * judged by the rate that follows from their bits, which rises when the filter is too full.
   */
  readonly falsePositiveRate?: number | undefined;
  /**
   * Share of the "certainly not" answers that are checked in the store all the same, from 0 to 1.
   * Default 0. A key that is found there was never added to the filter: see `falseMissed`.
   */
  readonly audit?: number | undefined;
  /** Called when false hits exceed the promised rate. Default: one line by `console.warn`. */
  readonly rateExceeded?: ((problem: RateProblem) => void) | undefined;
  /** Called for a key that an audit found in the store. Default: one line by `console.warn`. */
  readonly falseMissed?: ((key: K) => void) | undefined;
  /** Milliseconds of a clock that does not go back. Default `performance.now`. */
  readonly now?: (() => number) | undefined;
  /** Randomness for audits, in [0, 1). Default `Math.random`. */
  readonly random?: (() => number) | undefined;
}

export interface GuardStats {
  /** All calls. */
  readonly asked: number;
  /** Calls that went to the store because the filter was not live. */
  readonly unsure: number;
  /** The filter said maybe, and the key was there. */
  readonly trueHits: number;
  /** The filter said maybe, and the key was not there. */
  readonly falseHits: number;
  /** The filter said no, and the store was not asked, or had no such key either. */
  readonly trueMisses: number;
  /** The filter said no, and an audit found the key. Not 0 means that keys were not added. */
  readonly falseMisses: number;
  /** Lookups that failed. They count neither as hits nor as misses. */
  readonly failures: number;
  /** Calls that did not go to the store. */
  readonly saved: number;
  /** Mean time of the lookups that were made, in ms; undefined before the first. */
  readonly meanLookupMs: number | undefined;
  /** `saved` times the mean lookup of an absent key (or of any key, as long as there was none). */
  readonly savedMs: number;
}

/** A lookup with a filter in front of it. */
export interface Guarded<K extends Key, Rest extends unknown[], Found> {
  (key: K, ...rest: Rest): Promise<Found | undefined>;
  stats(): GuardStats;
  /** Adds a key to the filter: at the latest when its insertion has committed. */
  add(key: K): Promise<void>;
}

export function guard<K extends Key, Rest extends unknown[], Found>(
  lookup: Lookup<K, Rest, Found>,
  options: GuardOptions<K>,
): Guarded<K, Rest, Found> {
  if (typeof lookup !== 'function')
    throw new TypeError(`Cannot guard a lookup: expected a function, got ${typeof lookup}`);
  const gate = new Gate(lookup, checked(options));
  const guarded = (key: K, ...rest: Rest) => gate.ask(key, rest);
  return Object.assign(guarded, {
    stats: () => gate.stats(),
    add: (key: K) => gate.add(key),
  });
}

class Gate<K extends Key, Rest extends unknown[], Found> {
  readonly #lookup: Lookup<K, Rest, Found>;
  readonly #options: GuardOptions<K>;
  readonly #audit: number;
  readonly #now: () => number;
  readonly #random: () => number;
  readonly #rates = new RateWatch();
  #asked = 0;
  #unsure = 0;
  #trueHits = 0;
  #falseHits = 0;
  #saved = 0;
  #confirmed = 0;
  #falseMisses = 0;
  #failures = 0;
  readonly #present = new MeanTime();
  readonly #absent = new MeanTime();

  constructor(lookup: Lookup<K, Rest, Found>, options: GuardOptions<K>) {
    this.#lookup = lookup;
    this.#options = options;
    this.#audit = options.audit ?? 0;
    this.#now = options.now ?? (() => performance.now());
    this.#random = options.random ?? Math.random;
  }

  async ask(key: K, rest: Rest): Promise<Found | undefined> {
    const { filter } = this.#options;
    this.#asked++;
    const verdict = isLive(filter) ? (filter.has(key) ? 'maybe' : 'no') : 'unsure';
    const isAudit = verdict === 'no' && this.#audit > 0 && this.#random() < this.#audit;
    if (verdict === 'no' && !isAudit) {
      this.#saved++;
      this.#countAbsent(false);
      return undefined;
    }
    const found = await this.#timed(key, rest);
    if (verdict === 'unsure') this.#unsure++;
    else if (verdict === 'maybe') this.#countMaybe(found !== undefined);
    else this.#countAudit(key, found !== undefined);
    return found;
  }

  async add(key: K): Promise<void> {
    const { filter } = this.#options;
    if (filter.add === undefined)
      throw new TypeError('Cannot add a key: expected a filter with add, got one without');
    await filter.add(key);
  }

  stats(): GuardStats {
    const lookups = this.#present.count + this.#absent.count;
    const mean = lookups === 0 ? undefined : (this.#present.sum + this.#absent.sum) / lookups;
    return {
      asked: this.#asked,
      unsure: this.#unsure,
      trueHits: this.#trueHits,
      falseHits: this.#falseHits,
      trueMisses: this.#saved + this.#confirmed,
      falseMisses: this.#falseMisses,
      failures: this.#failures,
      saved: this.#saved,
      meanLookupMs: mean,
      savedMs: this.#saved * (this.#absent.mean ?? mean ?? 0),
    };
  }

  async #timed(key: K, rest: Rest): Promise<Found | undefined> {
    const began = this.#now();
    let found: Found | null | undefined;
    try {
      found = await this.#lookup(key, ...rest);
    } catch (error) {
      this.#failures++;
      throw error;
    }
    const isThere = found !== undefined && found !== null;
    (isThere ? this.#present : this.#absent).add(this.#now() - began);
    return found ?? undefined;
  }

  #countMaybe(isThere: boolean): void {
    if (isThere) {
      this.#trueHits++;
      return;
    }
    this.#falseHits++;
    this.#countAbsent(true);
  }

  #countAbsent(isFalseHit: boolean): void {
    const { filter, falsePositiveRate, rateExceeded = warnOfRate } = this.#options;
    const problem = this.#rates.count(isFalseHit, () => falsePositiveRate ?? expectedRate(filter));
    if (problem !== undefined) rateExceeded(problem);
  }

  #countAudit(key: K, isThere: boolean): void {
    if (!isThere) {
      this.#confirmed++;
      this.#countAbsent(false);
      return;
    }
    this.#falseMisses++;
    const { falseMissed = warnOfFalseMiss } = this.#options;
    falseMissed(key);
  }
}

class MeanTime {
  sum = 0;
  count = 0;

  add(ms: number): void {
    this.sum += ms;
    this.count++;
  }

  get mean(): number | undefined {
    return this.count === 0 ? undefined : this.sum / this.count;
  }
}

function checked<K extends Key>(options: GuardOptions<K>): GuardOptions<K> {
  const { filter, audit = 0, falsePositiveRate: rate = 0 } = options ?? {};
  if (typeof filter?.has !== 'function')
    throw new TypeError('Cannot guard a lookup: expected { filter } with a method has, got none');
  if (!(audit >= 0 && audit <= 1))
    throw new RangeError(`Cannot guard a lookup: expected an audit from 0 to 1, got ${audit}`);
  if (!(rate >= 0 && rate < 1))
    throw new RangeError(
      `Cannot guard a lookup: expected a falsePositiveRate of at least 0 and below 1, got ${rate}`,
    );
  return options;
}

function warnOfRate({ falseHits, absent, measuredRate, promisedRate }: RateProblem): void {
  console.warn(
    `guard: ${falseHits} of ${absent} absent keys passed the filter (${percent(measuredRate)}), ` +
      `which promised ${percent(promisedRate)}: it holds too many keys or deleted ones, or is asked for a key that passes again and again; rebuild it`,
  );
}

/** The line does not have the key, which may be private. */
function warnOfFalseMiss(): void {
  console.warn(
    'guard: an audit found a key in the store that is not in the filter; add keys when they are inserted',
  );
}

function percent(rate: number): string {
  return `${Number((100 * rate).toPrecision(2))} %`;
}
