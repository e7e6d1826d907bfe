/**
 * The state of a rotating filter, and how it is built from options: the checks, the sizes, the
 * first generations. The filter itself is rotating-bloom-filter.ts.
 */

import { MAX_GENERATIONS, type ROTATIONS } from '../../frames/nested-kinds.ts';
import { type HashOptions, hashScheme } from '../../hashing/hash-scheme.ts';
import { BitStore } from '../../kernel/bits/bit-store.ts';
import { checkOptions } from '../../keys/check-options.ts';
import { typeName } from '../../keys/key.ts';
import { eachOfAtLeastOne } from '../../math/at-least-one.ts';
import { checkChoice, checkInteger, checkRate } from '../../math/checks.ts';
import { BLOOM_LAYOUTS } from '../../math/layouts.ts';
import { sizeClassic } from '../../math/size-classic.ts';
import { BloomFilter, type BloomLayout } from '../bloom-filter.ts';

/** Rotation by time, when full, or by hand (`rotate`) without either option. */
export type RotatingBloomFilterOptions = HashOptions &
  (ByTime | WhenFull) & {
    /** The number of distinct keys that each generation is made for. */
    readonly capacity: number;
    /** The false positive rate of all generations together, each filled to its capacity. */
    readonly falsePositiveRate: number;
    /** The number of generations, G, from 2 to 32. Default 3. */
    readonly generations?: number;
    readonly layout?: BloomLayout;
  };

interface ByTime {
  /**
   * Rotates by time: keys are remembered for at least this many milliseconds after they were last
   * added.
   */
  readonly ttlMs: number;
  /** The current time, in whole milliseconds since any fixed moment, such as `Date.now()`. */
  readonly nowMs: number;
  readonly rotateWhenFull?: false;
}

interface WhenFull {
  /** Rotates when the newest generation holds `capacity` distinct keys and another one is added. */
  readonly rotateWhenFull?: boolean;
  readonly ttlMs?: never;
  readonly nowMs?: never;
}

/** The event that makes the filter rotate. */
export type Rotation = (typeof ROTATIONS)[number];

/** The complete state of a filter. */
export interface RotatingState {
  readonly rotation: Rotation;
  readonly ttlMs: number | undefined;
  readonly clock: number;
  readonly count: number;
  readonly filters: readonly BloomFilter[];
}

/** The largest time. Multiplied by 31, the most periods per ttl, it is still an exact double. */
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
  'hash',
] as const;

export function rotatingState(options: RotatingBloomFilterOptions): RotatingState {
  checkOptions('RotatingBloomFilter', options, OPTIONS);
  const { falsePositiveRate, generations = 3, ttlMs, nowMs, rotateWhenFull = false } = options;
  const layout = checkChoice('layout', options.layout ?? 'classic', BLOOM_LAYOUTS);
  const capacity = checkInteger('capacity', options.capacity, 1);
  checkRate('falsePositiveRate', falsePositiveRate);
  checkInteger('generations', generations, 2, MAX_GENERATIONS);
  if (typeof rotateWhenFull !== 'boolean') {
    throw new TypeError(`Cannot use rotateWhenFull: expected true or false, got ${typeName(rotateWhenFull)}`);
  }
  if (ttlMs !== undefined) {
    checkInteger('ttlMs', ttlMs, 1, MAX_TIME);
    if (rotateWhenFull) {
      throw new TypeError(
        'Cannot rotate: expected ttlMs or rotateWhenFull, got both (a full generation would break the promise of the ttl)',
      );
    }
    checkInteger('nowMs', nowMs, 0, MAX_TIME);
  } else if (nowMs !== undefined) {
    throw new TypeError('Cannot use nowMs: expected ttlMs with it, got none');
  }
  const rate = eachOfAtLeastOne(falsePositiveRate, generations);
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
