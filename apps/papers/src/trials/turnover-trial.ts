/**
 * A counting filter whose set turns over: in each step a random member leaves and a new key comes.
 * Survey 2.5 lets a counter that overflows stay at its maximum and still lowers it when keys leave;
 * the library never lowers a counter that has reached its maximum.
 *
 * Three arrays see the same keys. The true counters never overflow. The survey's counters follow
 * its rule. The third is the library's `CountingBloomFilter` of the same width. The positions of a
 * key come from the library as well: a scratch filter tells which of its bits the key changes.
 *
 * The members that leave are drawn by a generator with the seed of the trial, so a trial gives the
 * same numbers everywhere.
 */

import { CountingBloomFilter } from 'bloomery';

export interface TurnoverShape {
  /** Number of counters. */
  readonly bits: number;
  readonly hashes: number;
  readonly keys: number;
  readonly counterBits: 2 | 4;
  /** How often the whole set is replaced, on average, before the state is read. */
  readonly turnovers: number;
}

/** Trials end here even if no counter has overflowed: longer than any of them takes. */
const MOST_TURNOVERS = 100_000;

/** The numbers of a trial, in the order of `COLUMNS.turnover`. */
export function turnoverTrial(shape: TurnoverShape, seed: number): readonly number[] {
  const { keys, turnovers, counterBits } = shape;
  const limit = 2 ** counterBits;
  const run = new TurnoverRun(shape, seed);
  for (let i = 0; i < keys; i++) run.insert();
  let crossings = 0;
  let watched = -1;
  let overflowStep = 0;
  let lossSteps = 0;
  let firstLoss = 0;
  let state: readonly number[] | undefined;
  for (let step = 1; step <= MOST_TURNOVERS * keys; step++) {
    for (const at of run.replace()) {
      if (run.truth[at] !== limit) continue;
      if (step <= turnovers * keys) crossings++;
      // A counter that was exact until now: 2^b stand for it, and it holds 2^b - 1.
      if (watched >= 0 || run.lostIn(at) !== 1) continue;
      watched = at;
      overflowStep = step;
    }
    if (firstLoss === 0 && run.losses.length > 0) firstLoss = step;
    if (lossSteps === 0 && step > overflowStep && run.losses.includes(watched))
      lossSteps = step - overflowStep;
    if (step === turnovers * keys) state = run.state();
    if (state !== undefined && lossSteps > 0) break;
  }
  return [crossings, overflowStep, lossSteps, firstLoss, ...(state ?? run.state())];
}

class TurnoverRun {
  /** How many members each counter stands for. */
  readonly truth: Uint16Array;
  /** Counters that the last removal took to 0 although members need them. */
  losses: number[] = [];
  readonly #held: Uint16Array;
  readonly #maximum: number;
  readonly #library: CountingBloomFilter;
  readonly #scratch: CountingBloomFilter;
  readonly #members: { key: number; positions: Float64Array }[] = [];
  #next = 0;
  #random: number;

  constructor({ bits, hashes, counterBits }: TurnoverShape, seed: number) {
    this.truth = new Uint16Array(bits);
    this.#held = new Uint16Array(bits);
    this.#maximum = 2 ** counterBits - 1;
    this.#library = new CountingBloomFilter({ counters: bits, hashes, counterBits, seed });
    this.#scratch = new CountingBloomFilter({ counters: bits, hashes, seed, trackChanges: true });
    this.#random = seed;
  }

  insert(): Float64Array {
    const key = this.#next++;
    this.#scratch.add(key);
    const positions = this.#scratch.takeChanges();
    this.#scratch.delete(key);
    this.#scratch.takeChanges();
    for (const at of positions) {
      this.truth[at]++;
      if (this.#held[at] < this.#maximum) this.#held[at]++;
    }
    this.#library.add(key);
    this.#members.push({ key, positions });
    return positions;
  }

  /** A random member leaves, a new key comes. Returns the positions of the new key. */
  replace(): Float64Array {
    const at = Math.floor(this.#draw() * this.#members.length);
    const { key, positions } = this.#members[at];
    this.#members[at] = this.#members[this.#members.length - 1];
    this.#members.pop();
    this.#library.delete(key);
    this.losses = [];
    for (const position of positions) {
      this.truth[position]--;
      if (this.#held[position] === 0) continue;
      this.#held[position]--;
      if (this.#held[position] === 0 && this.truth[position] > 0) this.losses.push(position);
    }
    return this.insert();
  }

  /** Increments that the counter has lost. */
  lostIn(at: number): number {
    return this.truth[at] - this.#held[at];
  }

  /** Members that are denied under the survey's rule and by the library; stuck counters. */
  state(): readonly number[] {
    const lost = this.#members.filter(({ positions }) => positions.some((at) => this.#held[at] === 0)).length;
    const denied = this.#members.filter(({ key }) => !this.#library.has(key)).length;
    return [lost, denied, this.#library.saturatedCount()];
  }

  /** A number from 0 up to but not including 1: Marsaglia's xorshift after a Weyl step. */
  #draw(): number {
    this.#random = (this.#random + 0x9e3779b9) | 0;
    let x = this.#random || 1;
    for (let round = 0; round < 3; round++) {
      x ^= x << 13;
      x ^= x >>> 17;
      x ^= x << 5;
      x = Math.imul(x, 0x2c1b3c6d);
    }
    return (x >>> 0) / 2 ** 32;
  }
}
