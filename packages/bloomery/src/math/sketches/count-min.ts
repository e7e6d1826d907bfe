/**
 * The formulas of the Count-Min sketch: d rows of w counters. A key adds its amount to one counter
 * of each row, and its count is the least of the d.
 *
 * Cormode and Muthukrishnan, "An improved data stream summary: the count-min sketch and its
 * applications", LATIN 2004 (survey, section 9, [8]). N is the sum of all amounts, none of them
 * negative, and f the true count of a key.
 *
 * - In one row each other key falls on the key's counter with probability 1/w, so the expected
 *   excess is (N - f)/w.
 * - By Markov's inequality, the excess of one row is above t with probability at most N/(w·t), and
 *   that of all rows with (N/(w·t))^d. With w = e/ε and d = ln(1/δ), the count is at most f + ε·N
 *   with probability 1 - δ.
 *
 * Markov's inequality does not use the distribution of the keys, and most streams do far better. If
 * the number of distinct keys is known, `countMinExactRate` says how often an answer has no error
 * at all.
 */

import { atLeastOne } from '../at-least-one.ts';
import { checkInteger, checkNumber, checkRate, MAX_BITS, wrongValue } from '../checks.ts';

export interface CountMinSize {
  readonly width: number;
  readonly depth: number;
}

/** The fewest counters with which a count is at most ε·N above the truth with probability 1 - δ. */
export function sizeCountMin(request: { readonly epsilon: number; readonly delta: number }): CountMinSize {
  const width = Math.ceil(Math.E / checkRate('epsilon', request.epsilon));
  const depth = Math.ceil(Math.log(1 / checkRate('delta', request.delta)));
  if (width * depth > MAX_BITS) {
    const limit = `one that needs at most ${MAX_BITS} counters`;
    throw wrongValue('epsilon', limit, `${request.epsilon}, which needs ${depth} rows of ${width}`);
  }
  return { width, depth };
}

/**
 * The excess over the truth that a count stays within with probability `confidence`: (N/w)·(1 -
 * confidence)^(-1/d).
 */
export function countMinErrorBound(
  { width, depth }: CountMinSize,
  total: number,
  confidence: number,
): number {
  checkInteger('width', width, 1);
  checkInteger('depth', depth, 1);
  checkNumber('total', total);
  checkRate('confidence', confidence);
  return (total / width) * (1 - confidence) ** (-1 / depth);
}

/**
 * The probability that the count of a key is exact when `others` other keys were added: 1 - (1 - (1
 * - 1/w)^n)^d. A row is exact if none of the n others falls on the key's counter.
 */
export function countMinExactRate({ width, depth }: CountMinSize, others: number): number {
  checkInteger('width', width, 1);
  checkInteger('depth', depth, 1);
  checkInteger('others', others, 0);
  // A single counter is shared by all keys: (1 - 1/w)^n is then 0, and 0^0 is 1.
  const clean = width === 1 ? Number(others === 0) : Math.exp(others * Math.log1p(-1 / width));
  return atLeastOne(clean, depth);
}
