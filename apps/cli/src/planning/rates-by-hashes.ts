/**
 * The curves of `bloomery plan --plot`: the rate for each number of hash functions, with all other
 * parameters as in the plan.
 *
 * For a filter in memory, the array has a fixed size (tutorial, figure 1). For a filter that is
 * sent, the message has a fixed size and the array is as large as fits (compressed, figures 1 and
 * 2). The standard filter, whose array is the message, is drawn next to it; it is best where the
 * compressed one is worst. Each point is a plan of the library, so the curve and the table cannot
 * disagree.
 */

import type { Point } from '@bloomery/papers/drawing';
import { DEFAULT_SPREAD, type Plan, type PlanRequest, plan } from 'bloomery/math';

export interface RateCurve {
  readonly name: string;
  /** The rate for each number of hash functions. */
  readonly points: readonly Point[];
}

/** The curves of a plan. There are none if the layout has a fixed number of hashes. */
export function ratesByHashes(found: Plan, request: PlanRequest): RateCurve[] {
  const { capacity, layout, goal, structure, bits, hashes } = found;
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
  // The same limit as in the plan itself, so that its point is the best of its curve.
  const maxBits = Math.max(bits, request.bits ?? request.maxBits ?? DEFAULT_SPREAD * standard);
  const transmissionBits = sent * ROUNDING;
  const message = { capacity, layout, goal, structure, changedFraction, transmissionBits, maxBits };
  const name = goal === 'delta' ? 'deltas of this size' : 'messages of this size, compressed';
  const compressed = curve(name, reach, (k) => ({ ...message, hashes: k }));
  // There is no uncompressed message to compare with: counters that are not compressed take several
  // bits each.
  if (goal === 'delta' || structure === 'counting') return [compressed];
  return [
    compressed,
    curve('the same size, not compressed', reach, (k) => ({ capacity, layout, bits: standard, hashes: k })),
  ];
}

/**
 * Right end of the curve: twice the best number of hashes for that many bits per key (survey 2.1),
 * at least 10, and beyond the chosen number.
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
      // There is no such filter with this k, so the curve has a gap.
      if (!(error instanceof RangeError)) throw error;
    }
  }
  return { name, points };
}

const MOST_HASHES = 64;
/** The most hashes of the blocked layout (docs/spec/frame.md). */
const MOST_IN_BLOCK = 24;
/** The plan's own message, computed twice, must not fail to fit by a rounding error. */
const ROUNDING = 1 + 1e-9;
