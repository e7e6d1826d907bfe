/**
 * The plan of a filter that travels in a packet: the fewest bytes that keep false alarms on a path
 * of a given length below a rate.
 *
 * The bytes are paid by every packet at every hop, so the plan looks for the fewest of them, and
 * takes the number of bits per node that is best there. Both are searched with the exact rate of
 * path-alarm.ts. More bytes never raise the best rate, so the bytes are bisected; for a given size
 * the rate falls and then rises with the bits per node, so we walk downhill. The tests compare both
 * searches with a full one.
 *
 * Repetitions are the cheaper way on long paths: 32 nodes at 1e-3 need 67 bytes with the first
 * repetition as the alarm, and 33 with the second one. The
 * price is one more hop for a packet that does loop.
 */

import { checkInteger, checkRate } from '../checks.ts';
import {
  MAX_PATH_BITS,
  MAX_PATH_HASHES,
  MAX_PATH_HOPS,
  MAX_PATH_REPEATS,
  pathAlarmRate,
} from './path-alarm.ts';

export interface PathRequest {
  /** The number of nodes on the longest path that must not be taken for a loop. */
  readonly hops: number;
  /** The probability of a false alarm on such a path. */
  readonly falseAlarmRate: number;
  /** Nodes in a row that must see no change before the alarm. Default 1. */
  readonly repeats?: number | undefined;
}

export interface PathPlan {
  /** The size of the filter, a multiple of 8. */
  readonly bits: number;
  /** The bits that each node sets. */
  readonly hashes: number;
  readonly repeats: number;
  /** The exact probability of a false alarm on a path of `hops` nodes. */
  readonly falseAlarmRate: number;
}

/** Plans the smallest filter for a packet that visits up to `hops` nodes. */
export function planPath({ hops, falseAlarmRate, repeats = 1 }: PathRequest): PathPlan {
  checkInteger('hops', hops, 1, MAX_PATH_HOPS);
  checkRate('falseAlarmRate', falseAlarmRate);
  checkInteger('repeats', repeats, 1, MAX_PATH_REPEATS);
  let best = bestHashes(MAX_PATH_BITS, hops, repeats);
  if (best.falseAlarmRate > falseAlarmRate) {
    throw new RangeError(
      `Cannot plan a path filter: expected a rate of at least ${best.falseAlarmRate.toPrecision(3)}, the best of ${MAX_PATH_BITS} bits on ${hops} hops, got ${falseAlarmRate}`,
    );
  }
  for (let low = 1, high = MAX_PATH_BITS / 8; low < high; ) {
    const middle = (low + high) >> 1;
    const found = bestHashes(8 * middle, hops, repeats);
    if (found.falseAlarmRate <= falseAlarmRate) {
      high = middle;
      best = found;
    } else low = middle + 1;
  }
  return best;
}

/** The number of bits per node with the lowest rate, walking downhill from a guess. */
function bestHashes(bits: number, hops: number, repeats: number): PathPlan {
  const most = Math.min(bits, MAX_PATH_HASHES);
  const rate = (k: number) =>
    k < 1 || k > most ? Number.POSITIVE_INFINITY : pathAlarmRate(bits, k, hops, repeats);
  let hashes = Math.min(most, Math.max(1, Math.round((0.6 * bits) / hops)));
  let falseAlarmRate = rate(hashes);
  for (const step of [-1, 1]) {
    for (let next = rate(hashes + step); next < falseAlarmRate; next = rate(hashes + step)) {
      hashes += step;
      falseAlarmRate = next;
    }
  }
  return { bits, hashes, repeats, falseAlarmRate };
}
