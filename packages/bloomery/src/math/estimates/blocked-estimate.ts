/**
 * How many keys are in a blocked filter, from its number of ones.
 *
 * Keys choose a block first, so the bits of a key lie close together, and because of the uneven
 * loads of the blocks the number of zeros scatters more than in a classic filter of the same fill.
 * Counting pairs of bits as in occupancy.ts, a key misses a given bit with probability 1-h, and two
 * given bits with probability 1-2h in different blocks, and 1-(1-b)/B in the same block, where b is
 * the probability that the key misses both inside it. With E[Z] = m(1-h)^n the relative variance is
 * a sum of expm1 over these classes of pairs.
 * Source of the layouts: Putze, Sanders, Singler 2007; Apache Parquet, BloomFilter.md (split
 * blocks).
 */

import { BLOCK_BITS, SPLIT_BLOCK_BITS, SPLIT_BLOCK_HASHES } from '../blocked-rate.ts';
import { wrongValue } from '../checks.ts';
import { decayOf } from '../from-ones.ts';
import type { ZeroModel } from './zero-count.ts';

export interface BlockedShape {
  readonly bits: number;
  readonly hashes: number;
  readonly layout: 'blocked' | 'split-block';
}

/** The model of how the zeros of a blocked filter fall with the number of keys. */
export function blockedZeroModel({ bits, hashes, layout }: BlockedShape): ZeroModel {
  const blockBits = layout === 'blocked' ? BLOCK_BITS : SPLIT_BLOCK_BITS;
  if (bits % blockBits !== 0) throw wrongValue('bits', `a multiple of ${blockBits}`, bits);
  const blocks = bits / blockBits;
  if (layout === 'blocked') {
    const missOne = (1 - 1 / BLOCK_BITS) ** hashes;
    const missTwo = (1 - 2 / BLOCK_BITS) ** hashes;
    return pairModel(blocks, BLOCK_BITS, missOne, [{ partners: BLOCK_BITS - 1, missTwo }]);
  }
  if (hashes !== SPLIT_BLOCK_HASHES) {
    throw wrongValue('hashes', `${SPLIT_BLOCK_HASHES} in the split-block layout`, hashes);
  }
  return pairModel(blocks, SPLIT_BLOCK_BITS, 31 / 32, [
    { partners: 31, missTwo: 30 / 32 },
    { partners: SPLIT_BLOCK_BITS - 32, missTwo: (31 / 32) ** 2 },
  ]);
}

/**
 * `partners` bits of the same block, each missed together with a given bit with probability
 * `missTwo`.
 */
interface PairClass {
  readonly partners: number;
  readonly missTwo: number;
}

function pairModel(
  blocks: number,
  blockBits: number,
  missOne: number,
  classes: readonly PairClass[],
): ZeroModel {
  const bits = blocks * blockBits;
  const hit = (1 - missOne) / blocks;
  const decay = decayOf(1, hit);
  // ln of P(both missed)/P(one missed)² for a key, by class of pairs.
  const logRatio = (missTwo: number) =>
    Math.log1p(((1 - 2 * missOne + missTwo) / blocks - hit * hit) / (1 - hit) ** 2);
  const apart = Math.log1p(-((hit / (1 - hit)) ** 2));
  return {
    bits,
    decay,
    relativeVariance: (n) => {
      let sum = Math.expm1(decay * n);
      for (const { partners, missTwo } of classes) sum += partners * Math.expm1(n * logRatio(missTwo));
      if (blocks > 1) sum += (bits - blockBits) * Math.expm1(n * apart);
      return sum / bits;
    },
  };
}
