/**
 * Plans for a filter that stays in memory: fewest bits for a rate, or the best rate for the bits.
 */

import { MAX_BITS } from '../checks.ts';
import { bestHashes } from './plan-layout.ts';
import type { Choice, PlanBinding, PlanOutcome, Problem } from './plan-problem.ts';

/** Solves the problem for a given number of keys. */
export function solveMemory(problem: Problem, n: number): PlanOutcome {
  const { bits, maxBits, falsePositiveRate } = problem;
  if (bits !== undefined) return forBits(problem, n, bits, 'bits');
  if (falsePositiveRate !== undefined) return forRate(problem, n, falsePositiveRate);
  return forBits(problem, n, maxBits!, 'maxBits');
}

function forBits(problem: Problem, n: number, bits: number, field: 'bits' | 'maxBits'): PlanOutcome {
  const { model, hashes, hashLimit, falsePositiveRate } = problem;
  const limit = hashes === undefined ? hashLimit : hashes;
  const free = bestHashes(model, bits, n, Math.max(limit, Math.min(model.practicalHashes, model.mostHashes)));
  const best = hashes === undefined ? bestHashes(model, bits, n, limit) : atHashes(problem, n, bits, hashes);
  if (!best || !free) return { impossible: `${field} ${bits} are too few for the ${model.name} layout` };
  if (falsePositiveRate !== undefined && best.rate > falsePositiveRate) {
    return { impossible: contradiction(problem, n, `${field} ${bits}`, bits, best) };
  }
  const limited = free.rate < best.rate;
  const binding: PlanBinding = !limited ? field : hashes !== undefined ? 'hashes' : 'maxHashes';
  const notes: string[] = [];
  if (best.bits < bits) {
    notes.push(`Of ${bits} bits ${best.bits} are used: the ${model.name} layout has sizes in steps.`);
  }
  if (limited) notes.push(`${free.hashes} hashes would give ${rounded(free.rate)} in the same memory.`);
  if (falsePositiveRate !== undefined && problem.capacity !== undefined) {
    notes.push(`The rate asked for, ${falsePositiveRate}, is kept: these bits give ${rounded(best.rate)}.`);
  }
  return { bits: best.bits, hashes: best.hashes, binding, notes };
}

function forRate(problem: Problem, n: number, rate: number): PlanOutcome {
  const { model, hashes, hashLimit, maxBits = MAX_BITS } = problem;
  const size = model.smallest(n, rate, hashes, hashLimit);
  if (!size || size.bits > maxBits) {
    const best =
      hashes === undefined ? bestHashes(model, maxBits, n, hashLimit) : atHashes(problem, n, maxBits, hashes);
    const name = problem.maxBits === undefined ? `the limit of ${MAX_BITS} bits` : `maxBits ${maxBits}`;
    return { impossible: contradiction(problem, n, name, maxBits, best) };
  }
  const free = model.smallest(n, rate, undefined, Math.min(model.practicalHashes, model.mostHashes));
  const limited = free !== undefined && free.bits < size.bits;
  const choice: Choice = { ...pick(size), binding: 'falsePositiveRate', notes: [] };
  if (!limited) return choice;
  const saving = `${free.hashes} hashes would need ${free.bits} bits instead of ${size.bits}.`;
  return { ...choice, binding: hashes === undefined ? 'maxHashes' : 'hashes', notes: [saving] };
}

function atHashes({ model }: Problem, n: number, bits: number, hashes: number) {
  const used = model.usable(bits, hashes);
  return used === 0 ? undefined : { bits: used, hashes, rate: model.rate(used, hashes, n) };
}

function pick({ bits, hashes }: { readonly bits: number; readonly hashes: number }) {
  return { bits, hashes };
}

function contradiction(
  { falsePositiveRate, hashes, maxHashes }: Problem,
  n: number,
  size: string,
  bits: number,
  best: { readonly hashes: number; readonly rate: number } | undefined,
): string {
  const limits =
    hashes !== undefined ? `, hashes ${hashes}` : maxHashes !== undefined ? `, maxHashes ${maxHashes}` : '';
  const outcome = best
    ? `${bits} bits give at best ${rounded(best.rate)} (k = ${best.hashes})`
    : 'there is no such filter';
  return `capacity ${n}, ${size}${limits} and falsePositiveRate ${falsePositiveRate} contradict: ${outcome}`;
}

/** A rate with three digits, as it is printed. */
export function rounded(rate: number): string {
  return String(Number(rate.toPrecision(3)));
}
