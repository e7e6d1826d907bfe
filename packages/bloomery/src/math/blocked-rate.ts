/**
 * Rates of filters that keep all bits of a key in one block (one cache line, one memory access).
 *
 * Each key goes to one of b blocks and sets its bits there (Putze, Sanders, Singler, Cache-, Hash-
 * and Space-Efficient Bloom Filters, 2007, section 3). The price is that blocks fill unevenly: the
 * load j of a block is binomial, and the crowded blocks raise the mean,
 *
 *     rate = Σ_j C(n,j) (1/b)^j (1-1/b)^(n-j) · r_j.
 *
 * - 'blocked': k probes with replacement among the B = 512 bits of a block. Putze et al. put f into
 *   r_j. But a block is a tiny filter, where f is too low by 1 % and more, so here r_j = E[(X/B)^k]
 *   exactly (covered-probes.ts). The chain is carried from load to load, which makes a whole table
 *   as cheap as its last entry.
 * - 'split-block' (Apache Parquet, BloomFilter.md): eight words of 32 bits, one bit in each. The
 *   words are independent given the load, so r_j = (1-(31/32)^j)^8 exactly.
 *
 * The binomial weights are summed outwards from the mode by their ratios and divided by their own
 * sum, so no factorial is needed. Low rates come from the upper tail of the loads, so the sum ends
 * only when the tail's whole weight is below 1e-10 of the result. This takes some ten microseconds
 * with a new table, some microseconds with an existing one.
 */

import { atLeastOne } from './at-least-one.ts';
import { checkInteger } from './checks.ts';
import { coverProbes, uncoveredProbes } from './covered-probes.ts';

export const BLOCK_BITS = 512;
export const SPLIT_BLOCK_BITS = 256;
export const SPLIT_BLOCK_HASHES = 8;

export interface BlockedRateRequest {
  readonly n: number;
  readonly blocks: number;
  readonly k: number;
  readonly blockBits?: number | undefined;
}

/** The rate of n keys in `blocks` blocks of 512 bits, k probes each. */
export function rateBlocked({ n, blocks, k, blockBits = BLOCK_BITS }: BlockedRateRequest): number {
  return rateOverLoads(n, blocks, inBlockRates(k, blockBits));
}

/** The rate of n keys in a filter of `blocks` split blocks of 256 bits. */
export function rateSplitBlock({ n, blocks }: { readonly n: number; readonly blocks: number }): number {
  return rateOverLoads(n, blocks, splitBlockRate);
}

/** The rate inside a block that holds `load` keys. */
export type RateAtLoad = (load: number) => number;

/** r_j of a split block: one bit of 32 in each of eight words. */
export function splitBlockRate(load: number): number {
  return atLeastOne(1 / 32, load) ** SPLIT_BLOCK_HASHES;
}

/**
 * The probability that a key sets a given bit of the block that it chose: by one of its k probes in
 * a block of 512 bits, by the only one in the bit's word of a split block.
 */
export function inBlockHit(layout: 'blocked' | 'split-block', k: number): number {
  return layout === 'blocked' ? atLeastOne(1 / BLOCK_BITS, k) : 1 / 32;
}

/**
 * r_j = E[(X_kj/B)^k] for any load j. The table behind it grows as far as needed, so one function
 * serves all candidates of a search over block counts.
 */
export function inBlockRates(k: number, blockBits: number = BLOCK_BITS): RateAtLoad {
  checkInteger('k', k, 1);
  checkInteger('blockBits', blockBits, 1);
  const chance = uncoveredProbes(blockBits, k);
  const rates = [0];
  return (load) => {
    // 1 - r_j <= k·(1-1/B)^(kj): beyond this the rate is 1 to the last digit, and the table can
    // end.
    if (k * Math.exp((-k * load) / blockBits) < 1e-16) return 1;
    while (rates.length <= load) rates.push(coverProbes(chance, blockBits, k));
    return rates[load]!;
  };
}

/**
 * Mean of `rateAt` over the binomial load of a block: n keys, each in this block with probability
 * 1/blocks.
 */
export function rateOverLoads(n: number, blocks: number, rateAt: RateAtLoad): number {
  checkInteger('n', n);
  checkInteger('blocks', blocks, 1);
  if (blocks === 1) return rateAt(n);
  const mode = Math.floor((n + 1) / blocks);
  // If every block is full even forty standard deviations below the mode, the rate is 1 without
  // summing over a million loads.
  if (rateAt(Math.max(0, Math.floor(mode - 40 * Math.sqrt(mode)))) === 1) return 1;

  let weights = 1;
  let sum = rateAt(mode);
  for (let j = mode, weight = 1; j < n; ) {
    const ratio = (n - j) / ((j + 1) * (blocks - 1));
    weight *= ratio;
    j++;
    weights += weight;
    sum += weight * rateAt(j);
    // The rest is at most a geometric series of weights times a rate of 1.
    if (ratio < 0.9 && weight < 1e-11 * sum) break;
  }
  for (let j = mode, weight = 1; j > 0 && weight > 1e-17; j--) {
    weight *= (j * (blocks - 1)) / (n - j + 1);
    weights += weight;
    sum += weight * rateAt(j - 1);
  }
  return sum / weights;
}
