/**
 * The curves behind `bloomery plan --plot`: the rate for each number of hash functions, all else as
 * in the plan.
 *
 * In memory the array is fixed: tutorial, figure 1. For a filter that is sent, the message is fixed
 * and the array is as large as fits: compressed, figures 1 and 2, with the standard filter (the
 * array is the message) beside it, which is best where the compressed one is worst. Each point is a
 * plan of the library, so the curve and the table cannot disagree.
 */

import type { Point } from '@bloomery/papers/drawing';
import { DEFAULT_SPREAD, type Plan, type PlanRequest, plan } from 'bloomery/math';

export interface RateCurve {
  readonly name: string;
  /** The rate for each number of hash functions. */
  readonly points: readonly Point[];
}

/** The curves of a plan; none where the layout leaves no choice. */
export function ratesByHashes(found: Plan, request: PlanRequest): RateCurve[] {
  const { capacity, layout, goal, bits, hashes } = found;
  if (layout === 'split-block') return [];
  if (goal === 'memory') {
    const most = layout === 'blocked' ? MOST_IN_BLOCK : MOST_HASHES;
    const reach = Math.min(most, reachOf(bits / capacity, hashes));
    return [curve('this array', reach, (k) => ({ capacity, layout, bits, hashes: k }))];
  }
  const { changedFraction } = request;
  const sent = goal === 'delta' ? (found.expectedDeltaBits ?? 0) : found.expectedTransmissionBits;
  const standard = Math.max(1, Math.round(sent));
  const reach = goal === 'delta' ? Math.max(10, 2 * hashes) : reachOf(sent / capacity, hashes);
  // As far as the plan itself looked, so that its point is the best of its curve.
  const maxBits = Math.max(bits, request.bits ?? request.maxBits ?? DEFAULT_SPREAD * standard);
  const message = { capacity, layout, goal, changedFraction, transmissionBits: sent * ROUNDING, maxBits };
  const name = goal === 'delta' ? 'deltas of this size' : 'messages of this size, compressed';
  const compressed = curve(name, reach, (k) => ({ ...message, hashes: k }));
  if (goal === 'delta') return [compressed];
  return [
    compressed,
    curve('the same size, not compressed', reach, (k) => ({ capacity, layout, bits: standard, hashes: k })),
  ];
}

/**
 * Twice the best of an array of that many bits per key (survey 2.1), at least 10, and beyond the
 * chosen one.
 */
function reachOf(bitsPerKey: number, chosen: number): number {
  return Math.min(MOST_HASHES, Math.max(10, Math.round(2 * Math.LN2 * bitsPerKey), chosen + 3));
}

function curve(name: string, reach: number, request: (hashes: number) => PlanRequest): RateCurve {
  const points: Point[] = [];
  for (let k = 1; k <= reach; k++) {
    try {
      points.push([k, plan(request(k)).falsePositiveRate]);
    } catch (error) {
      // No such filter with this k: a gap in the curve.
      if (!(error instanceof RangeError)) throw error;
    }
  }
  return { name, points };
}

const MOST_HASHES = 64;
/** The blocked layout has no more; docs/spec/frame.md. */
const MOST_IN_BLOCK = 24;
/** The plan's own message, computed twice, must not fail to fit by a rounding error. */
const ROUNDING = 1 + 1e-9;
