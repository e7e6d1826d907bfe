/**
 * Plans for a filter that is sent: whole, or as the changes since the last time.
 *
 * Mitzenmacher, Compressed Bloom Filters (2002), sections II-B, III and IV. A larger array with
 * fewer hash functions is sparser and compresses to less than a small full one: for the same z the
 * rate falls, towards 0.5^(z/n) as m grows without end. The limit is the receiver's memory, so
 * there is always a cap on m: `maxBits`, or else 16 times the budget (16 times the memory-optimal
 * size if there is no budget). The plan says when the cap is the binding constraint.
 *
 * For each k the size sent grows with m, so
 * - with a budget: the largest m that fits, for every k; the pair with the lowest true rate wins;
 * - with a rate: the smallest m that reaches it, for every k; the pair that sends least wins.
 *
 * Only the sparse side is searched, kn/m <= 0.8 (p >= 0.45). The theory has a mirror image with p
 * near 0, where many hash functions fill the array almost completely (the paper's "infinite
 * number"). It needs tens of hashes where two are enough on this side. A single hash function is
 * always allowed.
 *
 * The size is m·H(p) (or m·H(q) for a delta). `maxMessageBytes` requires that the size including
 * its scatter fits: mean + quantile(fitProbability) · deviation, from entropy.ts.
 *
 * Counting filters (compressed V) have the same rates for m counters as for m bits, and larger
 * messages: m times the entropy of a Poisson count (counter-messages.ts). That entropy grows with
 * the load, so sparse arrays gain far more than those of bits. At 1 % a key takes 15.6 bits of the
 * message with 9.6 counters per key, 9.5 with 19, and 8.1 with 99 (bits: 9.6, 8.9, 8.0). The dense
 * mirror image does not exist for counters.
 */

import { MAX_BITS } from '../checks.ts';
import {
  counterBits,
  counterBitsDeviation,
  counterDeltaBits,
  counterDeltaBitsDeviation,
} from '../counter-messages.ts';
import {
  bitsAtConfidence,
  compressedBits,
  compressedBitsDeviation,
  deltaBits,
  deltaBitsDeviation,
} from '../entropy.ts';
import { rounded } from './plan-memory.ts';
import type { PlanBinding, PlanOutcome, Problem } from './plan-problem.ts';

/**
 * Upper limit of an array's size as a multiple of the budget (or the memory-optimal size), if
 * maxBits is not given.
 */
export const DEFAULT_SPREAD = 16;

/** Solves the problem for a given number of keys. */
export function solveTransmission(problem: Problem, n: number): PlanOutcome {
  const budgeted = problem.transmissionBits !== undefined || problem.maxMessageBytes !== undefined;
  return budgeted ? forBudget(problem, n) : forRate(problem, n);
}

/** Expected size of the message, whole filter or delta, in bits. */
function messageBits(problem: Problem, m: number, k: number, n: number): number {
  return problem.goal === 'delta' ? changedBits(problem, m, k, n) : wholeBits(problem, m, k, n);
}

/** Expected size of the whole filter in bits. */
export function wholeBits({ structure }: Problem, m: number, k: number, n: number): number {
  return structure === 'counting' ? counterBits(m, k, n) : compressedBits(m, k, n);
}

/** Expected size of a delta in bits. The problem has a changedFraction. */
export function changedBits(
  { structure, changedFraction }: Problem,
  m: number,
  k: number,
  n: number,
): number {
  const size = structure === 'counting' ? counterDeltaBits : deltaBits;
  return size(m, k, n, changedFraction!);
}

/** The size that a message does not exceed with probability `fitProbability`, in bits. */
export function messageBitsAtConfidence(problem: Problem, m: number, k: number, n: number): number {
  const counting = problem.structure === 'counting';
  const deviation =
    problem.goal === 'delta'
      ? (counting ? counterDeltaBitsDeviation : deltaBitsDeviation)(m, k, n, problem.changedFraction!)
      : (counting ? counterBitsDeviation : compressedBitsDeviation)(m, k, n);
  return bitsAtConfidence(messageBits(problem, m, k, n), deviation, problem.fitProbability);
}

interface Candidate {
  readonly bits: number;
  readonly hashes: number;
  readonly rate: number;
}

function forBudget(problem: Problem, n: number): PlanOutcome {
  const { bits, falsePositiveRate } = problem;
  const bytes = problem.maxMessageBytes ?? Number.MAX_VALUE / 8;
  const budget = Math.min(problem.transmissionBits ?? Number.MAX_VALUE, 8 * bytes);
  const cap = bits ?? Math.min(problem.maxBits ?? Math.max(1, Math.floor(DEFAULT_SPREAD * budget)), MAX_BITS);
  const search = (options: Problem) =>
    lowest(
      hashOptions(options, n, cap).map((k) => largest(options, n, k, cap)),
      ({ rate }) => rate,
    );
  const best = search(problem);
  const asked = budgetText(problem);
  if (!best) {
    const size = bits === undefined ? '' : `bits ${bits}, `;
    return { impossible: `capacity ${n}, ${size}${fixed(problem)}${asked} contradict: no such filter fits` };
  }
  if (falsePositiveRate !== undefined && best.rate > falsePositiveRate) {
    const reached = `${rounded(best.rate)} (m = ${best.bits}, k = ${best.hashes})`;
    return {
      impossible: `capacity ${n}, ${fixed(problem)}${asked} and falsePositiveRate ${falsePositiveRate} contradict: the best is ${reached}`,
    };
  }
  const free = search(unlimited(problem));
  if (free && free.rate < best.rate) {
    const better = `${free.hashes} hashes and ${free.bits} bits would give ${rounded(free.rate)} within the same budget.`;
    return { ...pick(best), binding: problem.hashes === undefined ? 'maxHashes' : 'hashes', notes: [better] };
  }
  if (bits !== undefined) return { ...pick(best), binding: 'bits', notes: [] };
  if (best.bits === problem.model.usable(cap, best.hashes)) {
    return { ...pick(best), binding: 'maxBits', notes: capNotes(problem, cap, 'budget') };
  }
  // Fewer functions would do even better, in an array beyond the cap: compressed II-B, the rate
  // falls as p nears 1.
  const notes =
    best.hashes === 1 || problem.hashes !== undefined
      ? []
      : [`With fewer hashes an array of more than ${cap} bits would lower the rate further.`];
  return { ...pick(best), binding: bindingBudget(problem, best, n), notes };
}

function forRate(problem: Problem, n: number): PlanOutcome {
  const { model, bits, hashLimit, falsePositiveRate: rate } = problem;
  if (rate === undefined) return forSize(problem, n, bits ?? problem.maxBits!);
  const memory = model.smallest(n, rate, undefined, hashLimit);
  if (!memory)
    return { impossible: `capacity ${n} at falsePositiveRate ${rate} needs more than ${MAX_BITS} bits` };
  const cap = bits ?? Math.min(problem.maxBits ?? DEFAULT_SPREAD * memory.bits, MAX_BITS);
  const search = (options: Problem) =>
    lowest(
      // Beyond the memory optimum, more functions need more bits and a larger message.
      hashOptions(options, n, cap, memory.hashes).map((k) => {
        const size = bits === undefined ? model.smallest(n, rate, k, hashLimit)?.bits : bits;
        const found = size === undefined || size > cap ? undefined : candidate(options, n, size, k);
        return found && found.rate <= rate ? found : undefined;
      }),
      (found) => messageBits(problem, found.bits, found.hashes, n),
    );
  const best = search(problem);
  if (!best) {
    const size = bits === undefined ? `maxBits ${cap}` : `bits ${bits}`;
    const fewest = `the fewest bits are ${memory.bits} (k = ${memory.hashes})`;
    return {
      impossible: `capacity ${n}, ${fixed(problem)}${size} and falsePositiveRate ${rate} contradict: ${fewest}`,
    };
  }
  const free = search(unlimited(problem));
  if (free && free.hashes !== best.hashes) {
    const better = `${free.hashes} hashes and ${free.bits} bits would make a smaller message.`;
    return { ...pick(best), binding: problem.hashes === undefined ? 'maxHashes' : 'hashes', notes: [better] };
  }
  if (bits !== undefined) return { ...pick(best), binding: 'bits', notes: [] };
  if (best.hashes === 1) return { ...pick(best), binding: 'falsePositiveRate', notes: [] };
  // One function fewer would send even less, but its array exceeds the cap.
  return {
    ...pick(best),
    binding: 'maxBits',
    notes: capNotes(problem, cap, `memory-optimal size of ${memory.bits} bits`),
  };
}

/**
 * Solves a problem with neither rate nor budget: the size is given, and the lowest rate wins, as in
 * memory.
 */
function forSize(problem: Problem, n: number, size: number): PlanOutcome {
  const search = (options: Problem) =>
    lowest(
      hashOptions(options, n, size).map((k) => candidate(options, n, size, k)),
      ({ rate }) => rate,
    );
  const best = search(problem);
  if (!best) return { impossible: `${size} bits are too few for the ${problem.model.name} layout` };
  const free = search(unlimited(problem));
  if (free && free.rate < best.rate) {
    return { ...pick(best), binding: problem.hashes === undefined ? 'maxHashes' : 'hashes', notes: [] };
  }
  return { ...pick(best), binding: problem.bits === undefined ? 'maxBits' : 'bits', notes: [] };
}

/** The same problem without its limits on k, to see whether they cost anything. */
function unlimited(problem: Problem): Problem {
  const { hashes: _, maxHashes: __, ...rest } = problem;
  return { ...rest, hashLimit: problem.model.practicalHashes };
}

function pick({ bits, hashes }: Candidate) {
  return { bits, hashes };
}

function capNotes({ maxBits }: Problem, cap: number, reference: string): string[] {
  if (maxBits !== undefined) return [];
  return cap === MAX_BITS
    ? [`The array was limited to ${MAX_BITS} bits, the largest there is.`]
    : [`maxBits was not given; the array was limited to ${DEFAULT_SPREAD} times the ${reference}.`];
}

/**
 * The largest array of at most `cap` bits with k functions whose message fits; only `cap` itself if
 * the size is given.
 */
function largest(problem: Problem, n: number, k: number, cap: number): Candidate | undefined {
  const { model } = problem;
  const fits = (m: number) => m > 0 && isWithinBudget(problem, m, k, n);
  const top = model.usable(cap, k);
  if (fits(top)) return candidate(problem, n, top, k);
  if (problem.bits !== undefined || !fits(model.usable(k, k))) return undefined;
  let low = k;
  let high = cap;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (fits(middle)) low = middle;
    else high = middle;
  }
  return candidate(problem, n, model.usable(low, k), k);
}

function candidate({ model, hashes }: Problem, n: number, m: number, k: number): Candidate | undefined {
  const bits = model.usable(m, k);
  const dense = hashes === undefined && k > 1 && (k * n) / bits > DENSEST;
  if (bits === 0 || dense) return undefined;
  return { bits, hashes: k, rate: model.rate(bits, k, n) };
}

/** kn/m of the fullest array that is considered; ln 2 is the memory optimum. */
const DENSEST = 0.8;

/**
 * The values of k to try: the requested one, or from 1 up to the one that half fills `cap` bits.
 */
function hashOptions({ hashes, hashLimit }: Problem, n: number, cap: number, most = hashLimit): number[] {
  if (hashes !== undefined) return [hashes];
  const top = Math.min(hashLimit, most, Math.max(1, Math.floor((DENSEST * cap) / n)));
  return Array.from({ length: top }, (_, i) => i + 1);
}

function isWithinBudget(problem: Problem, m: number, k: number, n: number): boolean {
  const { transmissionBits, maxMessageBytes } = problem;
  if (transmissionBits !== undefined && messageBits(problem, m, k, n) > transmissionBits) return false;
  return maxMessageBytes === undefined || messageBitsAtConfidence(problem, m, k, n) <= 8 * maxMessageBytes;
}

/** The budget with less room left. */
function bindingBudget(problem: Problem, { bits, hashes }: Candidate, n: number): PlanBinding {
  const { transmissionBits, maxMessageBytes } = problem;
  if (transmissionBits === undefined) return 'maxMessageBytes';
  if (maxMessageBytes === undefined) return 'transmissionBits';
  const room = 1 - messageBits(problem, bits, hashes, n) / transmissionBits;
  const roomAtConfidence = 1 - messageBitsAtConfidence(problem, bits, hashes, n) / (8 * maxMessageBytes);
  return room < roomAtConfidence ? 'transmissionBits' : 'maxMessageBytes';
}

function budgetText({ transmissionBits, maxMessageBytes }: Problem): string {
  const bits = transmissionBits === undefined ? [] : [`transmissionBits ${transmissionBits}`];
  const bytes = maxMessageBytes === undefined ? [] : [`maxMessageBytes ${maxMessageBytes}`];
  return [...bits, ...bytes].join(' and ');
}

function fixed({ hashes, maxHashes }: Problem): string {
  return hashes !== undefined
    ? `hashes ${hashes}, `
    : maxHashes !== undefined
      ? `maxHashes ${maxHashes}, `
      : '';
}

/** The candidate with the least cost. On a tie the first one, which has the fewest hashes. */
function lowest(
  candidates: readonly (Candidate | undefined)[],
  cost: (c: Candidate) => number,
): Candidate | undefined {
  let best: Candidate | undefined;
  for (const c of candidates) if (c && (!best || cost(c) < cost(best))) best = c;
  return best;
}
