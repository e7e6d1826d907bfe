/**
 * What a rotating filter is made of, and how options become it: the checks, the sizes, the first generations. The
 * filter itself is rotating-bloom-filter.ts.
 */

import { BLOOM_LAYOUTS } from '../../frames/frame-kinds.ts';
import { MAX_GENERATIONS, type ROTATIONS } from '../../frames/nested-kinds.ts';
import { type HashOptions, hashScheme } from '../../hashing/hash-scheme.ts';
import { BitStore } from '../../kernel/bits/bit-store.ts';
import { checkChoice, checkInteger, checkRate } from '../../math/checks.ts';
import { sizeClassic } from '../../math/size-classic.ts';
import { BloomFilter, type BloomLayout } from '../bloom-filter.ts';
import { checkOptions } from '../shared/options.ts';

export interface RotatingBloomFilterOptions extends HashOptions {
  /** The distinct keys that each generation is made for. */
  readonly capacity: number;
  /** The rate of all generations together, each filled to its capacity. */
  readonly falsePositiveRate: number;
  /** G, from 2 to 32. Default 3. */
  readonly generations?: number;
  /** Rotates by time: keys are remembered for at least so many milliseconds after they were last added. */
  readonly ttlMs?: number;
  /** With `ttlMs`: the time now, in whole milliseconds since whichever moment, such as `Date.now()`. */
  readonly nowMs?: number;
  /** Rotates when the newest generation holds `capacity` distinct keys and another one comes. */
  readonly rotateWhenFull?: boolean;
  readonly layout?: BloomLayout;
}

/** What makes it rotate. */
export type Rotation = (typeof ROTATIONS)[number];

/** All there is to a filter. */
export interface RotatingState {
  readonly rotation: Rotation;
  readonly ttlMs: number | undefined;
  readonly clock: number;
  readonly count: number;
  readonly filters: readonly BloomFilter[];
}

/** Times 31 it is still an exact double. */
export const MAX_TIME = 2 ** 48 - 1;
const OPTIONS = [
  'capacity',
  'falsePositiveRate',
  'generations',
  'ttlMs',
  'nowMs',
  'rotateWhenFull',
  'layout',
  'seed',
  'key',
] as const;

export function rotatingState(options: RotatingBloomFilterOptions): RotatingState {
  checkOptions('RotatingBloomFilter', options, OPTIONS);
  const { falsePositiveRate, generations = 3, ttlMs, nowMs, rotateWhenFull = false } = options;
  const layout = checkChoice('layout', options.layout ?? 'classic', BLOOM_LAYOUTS);
  const capacity = checkInteger('capacity', options.capacity, 1);
  checkRate('falsePositiveRate', falsePositiveRate);
  checkInteger('generations', generations, 2, MAX_GENERATIONS);
  if (typeof rotateWhenFull !== 'boolean') throw new TypeError('rotateWhenFull must be true or false');
  if (ttlMs !== undefined) {
    checkInteger('ttlMs', ttlMs, 1, MAX_TIME);
    if (rotateWhenFull)
      throw new TypeError('ttlMs or rotateWhenFull: a full generation would break the promise of the ttl');
    checkInteger('nowMs', nowMs, 0, MAX_TIME);
  } else if (nowMs !== undefined) {
    throw new TypeError('nowMs means nothing without ttlMs');
  }
  // 1 - (1-P)^(1/G): with G of them the compound rate is P.
  const rate = -Math.expm1(Math.log1p(-falsePositiveRate) / generations);
  const { bits, hashes } = sizeClassic({ capacity, falsePositiveRate: rate, layout });
  const scheme = hashScheme(options);
  const shape = { bits, hashes, layout, capacity };
  const make = () => new BloomFilter(shape, BitStore.allocate(bits), scheme);
  return {
    rotation: ttlMs !== undefined ? 'by-time' : rotateWhenFull ? 'when-full' : 'by-hand',
    ttlMs,
    clock: nowMs ?? 0,
    count: 0,
    filters: Array.from({ length: generations }, make),
  };
}
