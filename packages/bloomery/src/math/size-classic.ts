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
 * hence the search goes up to twice as far. It begins at log2(1/p) and goes both ways. Another k
 * must reach the rate with the bits of the best pair so far, and one look at that size refuses most
 * of them. At a fixed size the rate has one valley over k, so a second refusal that is worse than
 * the one before ends the search on that side. Among pairs with equally many bits the smallest
 * number of hash functions wins: the rate is kept anyway, and hash functions cost time.
 *
 * This file is part of every bundle that can create a filter, so it does not use the planner.
 */

import { checkChoice, checkInteger, checkRate, MAX_BITS, MAX_HASHES, wrongValue } from './checks.ts';
import { BLOOM_LAYOUTS } from './layouts.ts';
import { bitsAsymptotic, uncheckedRatePartitioned } from './rates.ts';
import { uncheckedRateTrue } from './true-rate.ts';

export interface ClassicSizeRequest {
  /** Number of distinct keys that the filter is to hold. */
  readonly capacity: number;
  /** Rate not to be exceeded at capacity, strictly between 0 and 1. */
  readonly falsePositiveRate: number;
  /** Fixes k instead of choosing it. */
  readonly hashes?: number | undefined;
  /** Upper limit for k. Default 255, the most that a filter has. */
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
  const { hashes: fixed, layout = 'classic', maxHashes = fixed ?? MAX_HASHES } = request;
  const n = checkInteger('capacity', request.capacity, 1);
  const rate = checkRate('falsePositiveRate', request.falsePositiveRate);
  const unit = checkInteger('multipleOf', request.multipleOf ?? 1, 1, MAX_BITS);
  checkInteger('maxHashes', maxHashes, 1);
  if (fixed !== undefined) checkInteger('hashes', fixed, 1, maxHashes);
  checkChoice('layout', layout, BLOOM_LAYOUTS);
  const rateOf: (m: number, k: number, n: number, limit?: number) => number =
    layout === 'classic' ? uncheckedRateTrue : uncheckedRatePartitioned;
  let bits = MAX_BITS + 1;
  let hashes = 0;
  let last = 0;
  /** Takes k if it needs at most `most` bits. Returns whether to try the next k on this side. */
  const attempt = (k: number, most: number): boolean => {
    const step = layout === 'classic' ? unit : unit * k;
    // f is below the true rate, so this is too few bits. It may be exact except for rounding, hence
    // one step less: `low` is always too little.
    let low = Math.max(0, Math.ceil(bitsAsymptotic(k, n, rate) / step) - 2);
    let high = Math.floor(most / step) + 1;
    let first = 0;
    // Newton's method on ln f, whose slope has a closed form. It begins at the upper end, where
    // most candidates fail.
    for (let at = high - 1; high - low > 1; ) {
      const m = at * step;
      const excess = Math.log(rateOf(m, k, n, rate) / rate);
      first ||= excess;
      if (excess > 0) low = at;
      else [high, bits, hashes] = [at, m, k];
      const load = (k * n) / m;
      at += Math.ceil((excess * m * Math.expm1(load)) / (load * k * step));
      at = Math.max(low + 1, Math.min(high - 1, at));
    }
    const goOn = layout !== 'classic' || last <= 0 || first <= last;
    last = first;
    return goOn;
  };
  // Survey 2.1: f is least at p = 1/2, where f = 2^-k.
  const best = -Math.floor(Math.log2(rate));
  let k = fixed ?? Math.min(maxHashes, best);
  const most = fixed ?? Math.min(maxHashes, 3 + 2 * best);
  for (let down = k; down >= (fixed ?? 1) && attempt(down, Math.min(bits, MAX_BITS)); ) down--;
  last = 0;
  while (k < most && attempt(++k, bits - 1));
  if (bits > MAX_BITS) {
    const limit = maxHashes < MAX_HASHES ? ` with at most ${maxHashes} hashes` : '';
    throw wrongValue(
      `capacity ${n} at falsePositiveRate ${rate}${limit}`,
      `at most ${MAX_BITS} bits`,
      'more',
    );
  }
  return { bits, hashes, falsePositiveRate: rateOf(bits, hashes, n) };
}
