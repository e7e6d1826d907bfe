/**
 * The formulas of range sums over dyadic intervals.
 *
 * Cormode and Muthukrishnan, "An improved data stream summary: the count-min sketch and its
 * applications", 2004, section 4 (survey, section 9, [8]). The keys are 0 to 2^u - 1. A dyadic
 * interval of level l has 2^l keys and begins at a multiple of that. The levels of few intervals
 * are counted exactly, down to 2^t intervals. The intervals of the s = u - t levels below are the
 * keys of one Count-Min sketch of d rows of W counters, to which each addition adds s times.
 *
 * - A range is the union of disjoint intervals, at most two from each level, so at most 2s of them
 *   are estimated. A prefix takes one from each level, so at most s.
 * - In one row each estimate exceeds the truth by s·N/W on average, so j of them by j·s·N/W. By
 *   Markov's inequality, the sum of one row is above e times that with probability 1/e at most, and
 *   the sum of the least counters is at most the least of the d sums. With W = 2e·s²/ε and d =
 *   ln(1/δ), a range is at most ε·N above the truth with probability 1 - δ, and a prefix ε·N/2.
 *
 * The paper gives each level a sketch of its own. One sketch for all levels has the same bound with
 * the same number of counters, and levels with few intervals in use leave their share to the
 * others.
 */

import { checkInteger, checkNumber, checkRate, MAX_BITS, wrongValue } from '../checks.ts';

/** Keys have at most 52 bits, so that the number of every interval is an exact double. */
export const MAX_UNIVERSE_BITS = 52;
/** At most 2^26 exact counters, 1 GiB of memory. */
export const MAX_EXACT_BITS = 26;

export interface RangeSketchSize {
  /** u: keys are from 0 to 2^u - 1. */
  readonly universeBits: number;
  /** t: the intervals of the levels down to 2^t intervals are counted exactly. */
  readonly exactBits: number;
  /** Counters in a row; 0 if t = u. */
  readonly width: number;
  /** Rows; 0 if t = u. */
  readonly depth: number;
}

export interface RangeSketchRequest {
  readonly universeBits: number;
  readonly epsilon: number;
  readonly delta: number;
  /** 32 (default) or 64. */
  readonly counterBits?: number;
}

/**
 * The sketch of least memory with which the count of a range is at most ε·N above the truth with
 * probability 1 - δ.
 */
export function sizeRangeSketch(request: RangeSketchRequest): RangeSketchSize {
  const { counterBits = 32 } = request;
  const universeBits = checkInteger('universeBits', request.universeBits, 1, MAX_UNIVERSE_BITS);
  const epsilon = checkRate('epsilon', request.epsilon);
  const rows = Math.ceil(Math.log(1 / checkRate('delta', request.delta)));
  let best: RangeSketchSize | undefined;
  let least = MAX_BITS;
  for (let exactBits = 0; exactBits <= Math.min(universeBits, MAX_EXACT_BITS); exactBits++) {
    const levels = universeBits - exactBits;
    const width = Math.ceil((2 * Math.E * levels ** 2) / epsilon);
    const depth = levels === 0 ? 0 : rows;
    const bits = exactTreeBits(exactBits) + width * depth * counterBits;
    if (bits > least) continue;
    least = bits;
    best = { universeBits, exactBits, width, depth };
  }
  if (best !== undefined) return best;
  throw wrongValue('epsilon', `one that needs at most ${MAX_BITS} bits`, request.epsilon);
}

/** Bits of the exact counters in memory: 64 for each interval of the levels that they cover. */
function exactTreeBits(exactBits: number): number {
  return 64 * 2 ** (exactBits + 1);
}

/**
 * The excess over the truth that the sum of `intervals` estimates stays within with probability
 * `confidence`: (j·s·N/W)·(1 - confidence)^(-1/d).
 */
export function rangeErrorBound(
  { universeBits, exactBits, width, depth }: RangeSketchSize,
  intervals: number,
  total: number,
  confidence: number,
): number {
  checkNumber('total', total);
  checkRate('confidence', confidence);
  if (intervals === 0) return 0;
  const levels = universeBits - exactBits;
  return ((intervals * levels * total) / width) * (1 - confidence) ** (-1 / depth);
}
