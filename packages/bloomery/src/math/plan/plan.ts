/**
 * The planner: it takes the known parameters and computes the others.
 *
 * The papers answer one question each: the best k for m and n (survey 2.1), the fewest bits for a
 * rate (tutorial, figure 2), the best array for a message of z bits (compressed, tables I to III),
 * the smallest message for a rate (IV, V), the same for deltas (VI, VII). They are all the same
 * question with different unknowns, so there is one function.
 *
 * - capacity and falsePositiveRate: the fewest bits, and k.
 * - capacity and bits: the best k, and the rate. With hashes as well: only the evaluation.
 * - bits and falsePositiveRate, or a message size and falsePositiveRate: the largest capacity.
 * - transmissionBits or maxMessageBytes: the lowest rate for that message; with changedFraction,
 *   for that delta.
 * - goal 'transmission' or 'delta' with a rate: the smallest message.
 * - structure 'counting': the same for counting filters (compressed V).
 *
 * All promises are made on the true rate; the textbook rates are reported next to it. `binding`
 * names the field that keeps the result from being better. The notes say what relaxing it would
 * bring, if that is known.
 */

import { lowerBoundBits } from '../bounds.ts';
import { rateAsymptotic, rateExact } from '../rates.ts';
import type { PlanLayout } from './plan-layout.ts';
import { solveMemory } from './plan-memory.ts';
import {
  type Choice,
  checkPlanRequest,
  type PlanBinding,
  type PlanGoal,
  type PlanOutcome,
  type PlanRequest,
  type PlanStructure,
  type Problem,
} from './plan-problem.ts';
import { changedBits, messageBitsAtConfidence, solveTransmission, wholeBits } from './plan-transmission.ts';

export type { PlanLayout } from './plan-layout.ts';
export type { PlanBinding, PlanGoal, PlanRequest, PlanStructure } from './plan-problem.ts';
export { DEFAULT_SPREAD } from './plan-transmission.ts';

export interface Plan {
  readonly layout: PlanLayout;
  readonly goal: PlanGoal;
  readonly structure: PlanStructure;
  readonly capacity: number;
  /** m, the number of bits; of a counting filter, the number of counters. */
  readonly bits: number;
  readonly hashes: number;
  /** The true rate at capacity, for this layout. */
  readonly falsePositiveRate: number;
  /**
   * f' and f of the survey for these bits, hashes and capacity. They do not depend on the layout.
   */
  readonly rateExact: number;
  readonly rateAsymptotic: number;
  readonly bitsPerKey: number;
  /** Expected share of ones at capacity. */
  readonly expectedFill: number;
  /**
   * m·H(p), p = e^(-kn/m): the expected size of the whole filter with an ideal coder. Of a counting
   * filter, m times the entropy of a counter.
   */
  readonly expectedTransmissionBits: number;
  readonly transmissionBitsPerKey: number;
  /**
   * m·H(q), or its counterpart for counters: the expected size of a delta; only with
   * changedFraction.
   */
  readonly expectedDeltaBits?: number;
  /**
   * Bytes that a message for the goal does not exceed with fitProbability; absent for the goal
   * 'memory'.
   */
  readonly transmissionBytesAtConfidence?: number;
  /** The bits that any structure needs for this rate, n·log2(1/rate). */
  readonly lowerBoundBits: number;
  /** Ratio of bits to the lower bound; for the other goals, of the expected transmission to it. */
  readonly overheadOverLowerBound: number;
  readonly binding: PlanBinding;
  readonly notes: readonly string[];
}

/**
 * Completes a request. Throws a RangeError if its fields contradict each other or do not suffice, a
 * TypeError for unknown fields.
 */
export function plan(request: PlanRequest): Plan {
  const problem = checkPlanRequest(request);
  const solve = problem.goal === 'memory' ? solveMemory : solveTransmission;
  const capacity = problem.capacity ?? largestCapacity((n) => solve(problem, n));
  const outcome = solve(problem, capacity);
  if ('impossible' in outcome) throw new RangeError(`Cannot plan a filter: ${outcome.impossible}`);
  return describe(problem, capacity, outcome);
}

/**
 * The largest n that can be solved. The rate and the messages grow with n, so a bisection finds it.
 */
function largestCapacity(solve: (n: number) => PlanOutcome): number {
  const isPossible = (n: number) => !('impossible' in solve(n));
  const one = solve(1);
  if ('impossible' in one) throw new RangeError(`Cannot plan a filter: ${one.impossible}`);
  let low = 1;
  let high = 2;
  while (isPossible(high)) [low, high] = [high, high * 2];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (isPossible(middle)) low = middle;
    else high = middle;
  }
  return low;
}

function describe(problem: Problem, n: number, { bits: m, hashes: k, binding, notes }: Choice): Plan {
  const { model, goal, structure, changedFraction } = problem;
  const rate = model.rate(m, k, n);
  const sent = wholeBits(problem, m, k, n);
  // A full filter (rate 1) needs no bits at all. A rate of 0 means that it is below the smallest
  // double.
  const bound = rate < 1 && rate > 0 ? lowerBoundBits(n, rate) : rate === 0 ? Number.POSITIVE_INFINITY : 0;
  return {
    layout: model.name,
    goal,
    structure,
    capacity: n,
    bits: m,
    hashes: k,
    falsePositiveRate: rate,
    rateExact: rateExact(m, k, n),
    rateAsymptotic: rateAsymptotic(m, k, n),
    bitsPerKey: m / n,
    expectedFill: model.fill(m, k, n),
    expectedTransmissionBits: sent,
    transmissionBitsPerKey: sent / n,
    ...(changedFraction === undefined ? {} : { expectedDeltaBits: changedBits(problem, m, k, n) }),
    ...(goal === 'memory'
      ? {}
      : { transmissionBytesAtConfidence: Math.ceil(messageBitsAtConfidence(problem, m, k, n) / 8) }),
    lowerBoundBits: bound,
    overheadOverLowerBound: (goal === 'memory' ? m : sent) / bound,
    binding,
    notes,
  };
}
