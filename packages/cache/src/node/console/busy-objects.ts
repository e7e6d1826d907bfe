/**
 * The objects that one process is asked for most, by the library's `HeavyHitters`
 * (docs/spec/console.md, "Busiest objects"): every object with a share of 0.5 % of the answers is
 * in the list, whatever the number of objects, in 150 kB for each of two sketches.
 *
 * A sketch counts for an hour, and an answer counts in the hour in which its request arrived, also
 * if it waits in a batch until the next day. The list is that of the last full hour and the running
 * one together, so an object that was busy yesterday does not stay in it.
 *
 * Cost: keys are gathered and added 512 at a time, because a batch is cheaper than single adds. We
 * refused to count a sample: the error of the counts would then depend on chance for each object,
 * and the promise of the sketch would not hold.
 *
 * URLs are untrusted input, so the hash has a secret key. A key above 2000 characters counts under
 * its first 2000: the candidates are kept as text, and an attacker could fill memory by long ones.
 */

import { randomBytes } from 'node:crypto';
import { HeavyHitters, SecretKey } from 'bloomery';

export const BUSY = { threshold: 0.005, epsilon: 0.0005, delta: 0.001 } as const;

const HOUR_MS = 3_600_000;
const GATHERED = 512;
const MOST_CHARACTERS = 2000;

interface BusyKey {
  readonly key: string;
  readonly count: number;
  readonly atLeast: number;
}

export interface BusyList {
  /** Time of the first answer that is counted. */
  readonly since: number;
  readonly total: number;
  /** The largest first. */
  readonly keys: readonly BusyKey[];
}

export class BusyObjects {
  readonly #clock: () => number;
  readonly #secret = new SecretKey(randomBytes(16));
  #current = this.#newSketch();
  #currentSince: number;
  #last: HeavyHitters | null = null;
  #lastSince = 0;
  #gathered: string[] = [];

  constructor(clock: () => number) {
    this.#clock = clock;
    this.#currentSince = clock();
  }

  /** Counts one answer, to a request that arrived at a time. It is called for each request. */
  add(key: string, at: number): void {
    if (at - this.#currentSince >= HOUR_MS) this.#beginHour(at);
    this.#gathered.push(key.length > MOST_CHARACTERS ? key.slice(0, MOST_CHARACTERS) : key);
    if (this.#gathered.length >= GATHERED) this.#flush();
  }

  list(): BusyList {
    const now = this.#clock();
    if (now - this.#currentSince >= HOUR_MS || now < this.#currentSince) this.#beginHour(now);
    this.#flush();
    const sketch = this.#last === null ? this.#current : this.#last.union(this.#current);
    return {
      since: this.#last === null ? this.#currentSince : this.#lastSince,
      total: sketch.total,
      keys: sketch.list().map(({ key, count, atLeast }) => ({ key: key as string, count, atLeast })),
    };
  }

  #beginHour(now: number): void {
    this.#flush();
    const passedMs = now - this.#currentSince;
    // After a quiet time, or a clock that was set, the hour before is no longer the last one.
    const isLast = passedMs >= 0 && passedMs < 2 * HOUR_MS;
    this.#last = isLast ? this.#current : null;
    this.#lastSince = this.#currentSince;
    this.#current = this.#newSketch();
    this.#currentSince = now;
  }

  #flush(): void {
    if (this.#gathered.length === 0) return;
    this.#current.addMany(this.#gathered);
    this.#gathered = [];
  }

  #newSketch(): HeavyHitters {
    return HeavyHitters.forThreshold({ ...BUSY, key: this.#secret });
  }
}
