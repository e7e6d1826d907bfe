/**
 * The properties of a layout that the planner needs: its true rate, its fill, and which sizes
 * exist.
 *
 * Sizes come in steps: a partitioned filter has a multiple of k bits, a blocked one whole blocks. A
 * request for 1000 bits gets the largest existing size that is not above it, and a note.
 */

import { atLeastOne } from '../at-least-one.ts';
import {
  BLOCK_BITS,
  inBlockHit,
  inBlockRates,
  type RateAtLoad,
  rateOverLoads,
  SPLIT_BLOCK_BITS,
  SPLIT_BLOCK_HASHES,
  splitBlockRate,
} from '../blocked-rate.ts';
import { checkChoice } from '../checks.ts';
import { BLOCKED_LAYOUTS, BLOOM_LAYOUTS } from '../layouts.ts';
import { ratePartitioned, zeroProbabilityExact, zeroProbabilityPartitioned } from '../rates.ts';
import { MAX_BLOCKED_HASHES, sizeBlocked } from '../size-blocked.ts';
import { sizeClassic } from '../size-classic.ts';
import { rateTrue } from '../true-rate.ts';

export type PlanLayout = 'classic' | 'partitioned' | 'blocked' | 'split-block';

export interface LayoutModel {
  readonly name: PlanLayout;
  readonly minHashes: number;
  /** The most hash functions that the layout can have. */
  readonly mostHashes: number;
  /**
   * The most hash functions that are proposed without being asked for: a rate of 2^-64 cannot be
   * measured.
   */
  readonly practicalHashes: number;
  /** Whether m·H(p) describes the compressed size of this layout. */
  readonly sendable: boolean;
  readonly rate: (m: number, k: number, n: number) => number;
  /** Expected share of ones. */
  readonly fill: (m: number, k: number, n: number) => number;
  /** The largest existing size of at most m bits; 0 if there is none. */
  readonly usable: (m: number, k: number) => number;
  /** The fewest bits for a rate, or undefined if they exceed the limit. */
  readonly smallest: (
    n: number,
    rate: number,
    hashes: number | undefined,
    maxHashes: number,
  ) => Size | undefined;
}

interface Size {
  readonly bits: number;
  readonly hashes: number;
}

/** The best number of hash functions for m bits and n keys, with the usable size and its rate. */
export function bestHashes(
  model: LayoutModel,
  m: number,
  n: number,
  limit: number,
): { readonly bits: number; readonly hashes: number; readonly rate: number } | undefined {
  const at = (hashes: number) => {
    const bits = model.usable(m, hashes);
    return { bits, hashes, rate: bits === 0 ? Number.POSITIVE_INFINITY : model.rate(bits, hashes, n) };
  };
  // Survey 2.1: near ln 2 · m/n. The true optimum of small filters lies lower, and sizes in steps
  // cause ripples.
  const start = Math.min(limit, Math.max(model.minHashes, Math.round((Math.LN2 * m) / n)));
  let best = at(start);
  for (let k = start - 1, worse = 0; k >= model.minHashes && worse < 3; k--) {
    const candidate = at(k);
    // On equal rates fewer hashes win.
    if (candidate.rate <= best.rate) [best, worse] = [candidate, 0];
    else worse++;
  }
  for (let k = start + 1, worse = 0; k <= limit && worse < 3; k++) {
    const candidate = at(k);
    if (candidate.rate < best.rate) [best, worse] = [candidate, 0];
    else worse++;
  }
  return best.bits === 0 ? undefined : best;
}

export function layoutModel(name: PlanLayout): LayoutModel {
  checkChoice('layout', name, [...BLOOM_LAYOUTS, ...BLOCKED_LAYOUTS]);
  return name === 'classic' || name === 'partitioned' ? plainModel(name) : blockedModel(name);
}

function plainModel(name: 'classic' | 'partitioned'): LayoutModel {
  const classic = name === 'classic';
  return {
    name,
    minHashes: 1,
    mostHashes: Number.MAX_SAFE_INTEGER,
    practicalHashes: 64,
    sendable: true,
    rate: classic ? rateTrue : ratePartitioned,
    fill: (m, k, n) => 1 - (classic ? zeroProbabilityExact : zeroProbabilityPartitioned)(m, k, n),
    usable: (m, k) => (classic ? m : Math.floor(m / k) * k),
    smallest: (capacity, falsePositiveRate, hashes, maxHashes) =>
      orUndefined(() =>
        sizeClassic(
          hashes === undefined
            ? { capacity, falsePositiveRate, maxHashes, layout: name }
            : { capacity, falsePositiveRate, hashes, layout: name },
        ),
      ),
  };
}

function blockedModel(name: 'blocked' | 'split-block'): LayoutModel {
  const split = name === 'split-block';
  const blockBits = split ? SPLIT_BLOCK_BITS : BLOCK_BITS;
  const tables = new Map<number, RateAtLoad>();
  const rateAt = (k: number) => {
    if (split) return splitBlockRate;
    const table = tables.get(k) ?? inBlockRates(k);
    tables.set(k, table);
    return table;
  };
  return {
    name,
    minHashes: split ? SPLIT_BLOCK_HASHES : 1,
    mostHashes: split ? SPLIT_BLOCK_HASHES : MAX_BLOCKED_HASHES,
    practicalHashes: MAX_BLOCKED_HASHES,
    sendable: false,
    rate: (m, k, n) => rateOverLoads(n, m / blockBits, rateAt(k)),
    fill: (m, k, n) => {
      // A key hits a given bit if it chooses the bit's block and then sets the bit there.
      return atLeastOne((inBlockHit(name, k) * blockBits) / m, n);
    },
    usable: (m) => Math.floor(m / blockBits) * blockBits,
    smallest: (capacity, falsePositiveRate, hashes, maxHashes) => {
      const limits = hashes === undefined ? { maxHashes } : { hashes };
      const size = orUndefined(() => sizeBlocked({ capacity, falsePositiveRate, ...limits, layout: name }));
      return size && { bits: size.blocks * blockBits, hashes: size.hashes };
    },
  };
}

/**
 * The arguments were checked already, so a RangeError can only mean that the size limit was
 * exceeded.
 */
function orUndefined<T>(size: () => T): T | undefined {
  try {
    return size();
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
