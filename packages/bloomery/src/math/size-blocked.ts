/**
 * The fewest blocks that keep a promised rate, for the two blocked layouts.
 *
 * There is no closed form: the rate is a sum over the loads of a block (see blocked-rate.ts). For a
 * given k it falls with the number of blocks, so the smallest number is found by bisection, and one
 * table of in-block rates serves the whole search. Over k the result has one valley, possibly with
 * a flat floor when blocks are few. The search goes from a first guess in both directions until two
 * steps in a row are worse. On a flat floor the smallest number of hash functions wins.
 *
 * What blocking costs, in bits per key: at 1 % 9.92 against the classic 9.59 (split-block 10.5), at
 * 0.1 % 15.5 against 14.4 (16.9), at 0.01 % 22.0 against 19.2 (26.3). Below 1e-4 ask whether the
 * cache line is worth it.
 */

import {
  BLOCK_BITS,
  inBlockRates,
  type RateAtLoad,
  rateOverLoads,
  SPLIT_BLOCK_BITS,
  SPLIT_BLOCK_HASHES,
  splitBlockRate,
} from './blocked-rate.ts';
import { checkChoice, checkInteger, checkRate, MAX_BITS, wrongValue } from './checks.ts';
import { BLOCKED_LAYOUTS } from './layouts.ts';

/**
 * The most probes that the kernel makes in a block. More would save space only below 1e-11 (0.8 %
 * at 1e-12).
 */
export const MAX_BLOCKED_HASHES = 24;

export interface BlockedSizeRequest {
  readonly capacity: number;
  readonly falsePositiveRate: number;
  /** Fixes k, 1 to 24; split blocks always have 8. */
  readonly hashes?: number | undefined;
  readonly maxHashes?: number | undefined;
  readonly layout?: 'blocked' | 'split-block' | undefined;
}

export interface BlockedSize {
  readonly blocks: number;
  readonly hashes: number;
  /** The true rate at capacity, at most the one asked for. */
  readonly falsePositiveRate: number;
}

/** Finds the fewest blocks, with their k, whose rate at capacity is at most the rate asked for. */
export function sizeBlocked(request: BlockedSizeRequest): BlockedSize {
  const n = checkInteger('capacity', request.capacity, 1);
  const rate = checkRate('falsePositiveRate', request.falsePositiveRate);
  const layout = request.layout ?? 'blocked';
  checkChoice('layout', layout, BLOCKED_LAYOUTS);
  const [fewest, most] = hashRange(request, layout);
  const maxBlocks = MAX_BITS / (layout === 'blocked' ? BLOCK_BITS : SPLIT_BLOCK_BITS);
  let best: BlockedSize = { blocks: Number.POSITIVE_INFINITY, hashes: 0, falsePositiveRate: 1 };
  /** Takes k if it needs at most `limit` blocks. Returns whether it does. */
  const attempt = (k: number, limit: number): boolean => {
    const rateAt = layout === 'blocked' ? inBlockRates(k) : splitBlockRate;
    const blocks = smallest(n, rate, rateAt, limit);
    if (blocks > limit) return false;
    best = { blocks, hashes: k, falsePositiveRate: rateOverLoads(n, blocks, rateAt) };
    return true;
  };

  // Half-full blocks would need log2(1/p) functions; uneven loads favour somewhat fewer.
  const start = Math.min(most, Math.max(fewest, Math.round(-0.9 * Math.log2(rate))));
  for (let k = start, worse = 0; k >= fewest && worse < 2; k--) {
    worse = attempt(k, Math.min(best.blocks, maxBlocks)) ? 0 : worse + 1;
  }
  for (let k = start + 1, worse = 0; k <= most && worse < 2; k++) {
    worse = attempt(k, Math.min(best.blocks - 1, maxBlocks)) ? 0 : worse + 1;
  }
  if (best.blocks === Number.POSITIVE_INFINITY) {
    const limits = fewest === most ? ` with ${most} hashes` : '';
    const size = `capacity ${n} at falsePositiveRate ${rate}${limits} in the ${layout} layout`;
    throw wrongValue(size, `at most ${MAX_BITS} bits`, 'more');
  }
  return best;
}

function hashRange(
  { hashes, maxHashes }: BlockedSizeRequest,
  layout: string,
): [fewest: number, most: number] {
  const limit = checkInteger('maxHashes', maxHashes ?? MAX_BLOCKED_HASHES, 1);
  if (layout === 'split-block') {
    if (hashes !== undefined && hashes !== SPLIT_BLOCK_HASHES) {
      throw wrongValue('hashes', `${SPLIT_BLOCK_HASHES} in the split-block layout`, hashes);
    }
    if (limit < SPLIT_BLOCK_HASHES) {
      throw wrongValue('maxHashes', `at least ${SPLIT_BLOCK_HASHES} in the split-block layout`, limit);
    }
    return [SPLIT_BLOCK_HASHES, SPLIT_BLOCK_HASHES];
  }
  if (hashes === undefined) return [1, Math.min(limit, MAX_BLOCKED_HASHES)];
  checkInteger('hashes', hashes, 1, MAX_BLOCKED_HASHES);
  if (hashes > limit) throw wrongValue('hashes', `at most maxHashes (${limit})`, hashes);
  return [hashes, hashes];
}

/** The fewest blocks, or Infinity if even `limit` are not enough. */
function smallest(n: number, rate: number, rateAt: RateAtLoad, limit: number): number {
  const reached = (blocks: number) => rateOverLoads(n, blocks, rateAt) <= rate;
  // Most candidates fail at the limit, which is the size of the best one before them.
  if (limit < 1 || !reached(limit)) return Number.POSITIVE_INFINITY;
  // Invariant: `low` blocks are too few (0 always are), `high` blocks are enough. The first guess
  // is the size of a classic filter. From there the bracket grows or shrinks by small factors,
  // because the tables of crowded blocks are the main cost.
  let low = 0;
  let high = limit;
  const classic = Math.ceil((-n * Math.log2(rate)) / (Math.LN2 * BLOCK_BITS));
  for (let next = Math.min(limit - 1, classic); next > low; ) {
    if (reached(next)) [high, next] = [next, Math.floor(next * 0.8)];
    else [low, next] = [next, Math.min(high - 1, Math.ceil(next * 1.25))];
    if (low > 0 && high < 1.3 * low) break;
  }
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (reached(middle)) high = middle;
    else low = middle;
  }
  return high;
}
