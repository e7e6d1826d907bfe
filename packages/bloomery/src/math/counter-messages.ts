/**
 * How small a counting filter becomes on the wire, whole or as a delta, and how far single filters
 * scatter around that. Mitzenmacher, Compressed Bloom Filters (2002), section V: "Our optimization
 * approach for finding appropriate parameters can be extended to this situation."
 *
 * Whole. Counters are Poisson with mean x = kn/m, so an ideal coder takes m times the entropy of
 * that distribution (`counterEntropy`): 1.59 bits per counter at x = ln 2, where a bit takes 1.
 *
 * Deltas. A share c of the keys is replaced. A counter consists of kept counts, Poisson of mean
 * (1-c)x, and of fallen ones, Poisson of mean cx, and gets risen ones, Poisson of mean cx. Both
 * sides know the old value j = kept + fallen, so the size is the entropy of the change given j. Our
 * code uses the number of binary digits of j (docs/spec/wire.md), and so does the formula.
 *
 * Scatter. The size of a message is the sum over the counters of g = -log2 P(its value). The totals
 * of kept, fallen and risen counts are fixed by the number of keys, so only the part of g that is
 * not linear in them scatters:
 *
 *     Var = m · ( Var g - Σ Cov(g, Y)² / Var Y ),   Y over these independent Poisson counts
 *
 * For the zeros of a Bloom filter (g an indicator) that is the textbook's m·e^-x·(1 - (1+x)·e^-x).
 *
 * Not counted: frame headers, and the coder's own overhead of about five bytes per plane. Where it
 * breaks down: counters that are cut at their maximum (4 bits, x above 4). Above x = 50 the
 * changes, and above 1000 the counters, are taken as normally distributed. No filter is planned
 * there, but the planner's search passes through.
 */

import { checkNumber } from './checks.ts';
import { counterEntropy } from './entropy.ts';

/** Expected bits of the counters of a counting filter sent through an ideal coder. Compressed V. */
export function counterBits(m: number, k: number, n: number): number {
  const x = load(m, k, n);
  if (x <= LARGEST_SUM) return m * counterEntropy(m, k, n);
  // The series of the entropy for large means. Its next term is below 1e-10 here.
  return m * (Math.log(2 * Math.PI * Math.E * x) / 2 - 1 / (12 * x) - 1 / (24 * x * x)) * Math.LOG2E;
}

/** Standard deviation of that size in bits. */
export function counterBitsDeviation(m: number, k: number, n: number): number {
  const mean = load(m, k, n);
  if (mean > LARGEST_SUM) return Math.sqrt(m * NORMAL_VARIANCE);
  const terms = poissonTerms(mean);
  const scatter = new Scatter([mean]);
  for (const { value, chance } of terms) scatter.add(chance, -Math.log2(chance), [value]);
  return Math.sqrt(m * scatter.variance());
}

/** Expected bits of a delta of the counters when a share c of the keys is replaced. */
export function counterDeltaBits(m: number, k: number, n: number, c: number): number {
  return m * changes(load(m, k, n), c).entropy;
}

/** Standard deviation of that size in bits. */
export function counterDeltaBitsDeviation(m: number, k: number, n: number, c: number): number {
  return Math.sqrt(m * changes(load(m, k, n), c).variance);
}

/** kn/m, checked. */
function load(m: number, k: number, n: number): number {
  checkNumber('m', m, 1);
  checkNumber('k', k, Number.MIN_VALUE);
  checkNumber('n', n);
  return (k * n) / m;
}

/** Entropy of the change of one counter given the digits of its old value, and its variance. */
function changes(x: number, c: number): Changes {
  checkNumber('c', c, 0, 1);
  if (last?.x === x && last.c === c) return last;
  if (x > LARGEST_EXACT) {
    const spread = 2 * Math.PI * Math.E * 2 * c * x;
    return { entropy: Math.max(0, Math.log2(spread) / 2), variance: NORMAL_VARIANCE };
  }
  const keptTerms = poissonTerms((1 - c) * x);
  const movedTerms = poissonTerms(c * x);
  // By the digits of the old value and by the change. No value above 255 is likely enough to
  // appear.
  const chances = new Float64Array(9 * 512);
  const digitChances = new Float64Array(9);
  const eachState = (visit: (chance: number, digits: number, cell: number, counts: number[]) => void) => {
    for (const kept of keptTerms) {
      for (const fallen of movedTerms) {
        const old = kept.chance * fallen.chance;
        if (old < LEAST_CHANCE) continue;
        const digits = 32 - Math.clz32(kept.value + fallen.value);
        for (const risen of movedTerms) {
          const chance = old * risen.chance;
          const cell = 512 * digits + 256 + risen.value - fallen.value;
          if (chance >= LEAST_CHANCE) visit(chance, digits, cell, [kept.value, fallen.value, risen.value]);
        }
      }
    }
  };
  eachState((chance, digits, cell) => {
    digitChances[digits] += chance;
    chances[cell] += chance;
  });
  const scatter = new Scatter([(1 - c) * x, c * x, c * x]);
  eachState((chance, digits, cell, counts) => {
    scatter.add(chance, -Math.log2(chances[cell] / digitChances[digits]), counts);
  });
  last = { x, c, entropy: scatter.mean(), variance: scatter.variance() };
  return last;
}

interface Changes {
  readonly entropy: number;
  readonly variance: number;
}

/** The planner asks for the mean and then for the deviation of the same filter. */
let last: (Changes & { readonly x: number; readonly c: number }) | undefined;

/** Rarer states change the entropy by less than 1e-9 of it. */
const LEAST_CHANCE = 1e-13;
const LARGEST_EXACT = 50;
/** The largest mean for which the values of a counter are summed one by one. */
const LARGEST_SUM = 1000;
/** The variance of -log2 of a normal density at its own value. */
const NORMAL_VARIANCE = Math.LOG2E ** 2 / 2;

/** Mean of a function g of Poisson counts, and the part of its variance that fixed totals leave. */
class Scatter {
  readonly #means: readonly number[];
  readonly #products: number[];
  #sum = 0;
  #squares = 0;

  constructor(means: readonly number[]) {
    this.#means = means;
    this.#products = means.map(() => 0);
  }

  add(chance: number, g: number, counts: readonly number[]): void {
    this.#sum += chance * g;
    this.#squares += chance * g * g;
    for (const [i, count] of counts.entries()) this.#products[i] += chance * g * (count - this.#means[i]);
  }

  mean(): number {
    return this.#sum;
  }

  variance(): number {
    // The variance of a Poisson count is its mean.
    const explained = this.#products.reduce(
      (sum, product, i) => sum + (this.#means[i] === 0 ? 0 : product ** 2 / this.#means[i]),
      0,
    );
    return Math.max(0, this.#squares - this.#sum ** 2 - explained);
  }
}

interface PoissonTerm {
  readonly value: number;
  readonly chance: number;
}

/** The values of a Poisson count that are more likely than 1e-14, from the lowest on. */
function poissonTerms(mean: number): PoissonTerm[] {
  const mode = Math.floor(mean);
  let log = -mean;
  for (let i = 1; i <= mode; i++) log += Math.log(mean / i);
  const terms = [{ value: mode, chance: Math.exp(log) }];
  for (let value = mode, chance = terms[0].chance; value > 0 && chance > 1e-14; value--) {
    chance *= value / mean;
    terms.unshift({ value: value - 1, chance });
  }
  for (let value = mode + 1, chance = (terms.at(-1)!.chance * mean) / (mode + 1); chance > 1e-14; value++) {
    terms.push({ value, chance });
    chance *= mean / (value + 1);
  }
  return terms;
}
