/**
 * The smallest filter that keeps a promised rate: capacity and rate in, bits and hash functions
 * out.
 *
 * The usual formula m = -n·ln p/(ln 2)² (survey 2.1) assumes a continuous k and the rate f. A real
 * filter has an integer k and the rate of `rateTrue`, so rounding that m up does not keep the
 * promise: 1000 keys at 1 % would get 9586 bits and have 1.0044 % there with k = 7. Here each
 * candidate k gets its own smallest m, found with the true rate, and the best pair wins. The price
 * is about one bit per thousand (9595).
 *
 * Which k can win? f never exceeds the true rate (f <= f' because (1-1/m)^m <= 1/e, f' <= true
 * because x^k is convex; the partitioned rate is above f' by survey 2.1), so the m that f asks for
 * is a lower bound for that k. This bound has its minimum at log2(1/p), and the gap between f and
 * the truth grows with k, so little is gained beyond. A coarse `multipleOf` can shift the best k,
 * hence the search goes up to twice as far. Among pairs with equally many bits the smallest number
 * of hash functions wins: the rate is kept anyway, and hash functions cost time.
 *
 * This file is part of every bundle that can create a filter, so it does not use the planner.
 */

import { checkChoice, checkInteger, checkRate, MAX_BITS, wrongValue } from './checks.ts';
import { BLOOM_LAYOUTS } from './layouts.ts';
import { bitsAsymptotic, ratePartitioned } from './rates.ts';
import { rateTrue } from './true-rate.ts';

export interface ClassicSizeRequest {
  /** Number of distinct keys that the filter is to hold. */
  readonly capacity: number;
  /** Rate not to be exceeded at capacity, strictly between 0 and 1. */
  readonly falsePositiveRate: number;
  /** Fixes k instead of choosing it. */
  readonly hashes?: number | undefined;
  /** Upper limit for k. */
  readonly maxHashes?: number | undefined;
  /** 'classic': all functions share m bits. 'partitioned': each owns m/k of them. */
  readonly layout?: 'classic' | 'partitioned' | undefined;
  /** The number of bits, or of bits per slice if partitioned, must be a multiple of this. */
  readonly multipleOf?: number | undefined;
}

export interface ClassicSize {
  readonly bits: number;
  readonly hashes: number;
  /** The true rate at capacity, at most the one asked for. */
  readonly falsePositiveRate: number;
}

/**
 * Finds the fewest bits, with their k, whose true rate at capacity is at most the rate asked for.
 */
export function sizeClassic(request: ClassicSizeRequest): ClassicSize {
  const { hashes: fixed, layout = 'classic', maxHashes = fixed ?? Number.MAX_SAFE_INTEGER } = request;
  const n = checkInteger('capacity', request.capacity, 1);
  const rate = checkRate('falsePositiveRate', request.falsePositiveRate);
  const unit = checkInteger('multipleOf', request.multipleOf ?? 1, 1, MAX_BITS);
  checkInteger('maxHashes', maxHashes, 1);
  if (fixed !== undefined) checkInteger('hashes', fixed, 1, maxHashes);
  checkChoice('layout', layout, BLOOM_LAYOUTS);
  const rateOf = layout === 'classic' ? rateTrue : ratePartitioned;
  let bits = Infinity;
  let hashes = 0;
  // Survey 2.1: f is least at p = 1/2, where f = 2^-k.
  for (let k = fixed ?? Math.min(maxHashes, 3 - 2 * Math.floor(Math.log2(rate))); k >= (fixed ?? 1); k--) {
    const step = layout === 'classic' ? unit : unit * k;
    // f is below the true rate, so this is too few bits. It may be exact except for rounding, hence
    // one step less: `low` is always too little.
    const flattered = bitsAsymptotic(k, n, rate);
    let low = Math.max(0, Math.ceil(flattered / step) - 2);
    if (low * step >= Math.min(bits, MAX_BITS)) continue;
    let high = low + 1;
    for (let stride = 1; high * step <= MAX_BITS && rateOf(high * step, k, n) > rate; stride *= 2) {
      [low, high] = [high, high + stride];
    }
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (rateOf(middle * step, k, n) > rate) low = middle;
      else high = middle;
    }
    if (high * step <= bits) [bits, hashes] = [high * step, k];
  }
  if (bits > MAX_BITS) {
    const limit = maxHashes < Number.MAX_SAFE_INTEGER ? ` with at most ${maxHashes} hashes` : '';
    throw wrongValue(
      `capacity ${n} at falsePositiveRate ${rate}${limit}`,
      `at most ${MAX_BITS} bits`,
      'more',
    );
  }
  return { bits, hashes, falsePositiveRate: rateOf(bits, hashes, n) };
}
