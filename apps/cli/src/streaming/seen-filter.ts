/**
 * The filter in which `uniq` remembers lines: that of a file, or a new one. A file is an ordinary
 * filter file, so `info`, `check` and `add` work on it. A new one is
 *
 * - a `ScalableBloomFilter`, which grows with the stream, or a `BlockedBloomFilter` (a
 *   `BloomFilter` below a rate of 0.1 %) if the number of lines is given;
 * - a `RotatingBloomFilter` of 5 generations that rotates by time, for a window;
 * - a `CountingBloomFilter` whose counters reach N, for the Nth sight.
 */

import {
  BlockedBloomFilter,
  BloomFilter,
  CountingBloomFilter,
  RotatingBloomFilter,
  ScalableBloomFilter,
  type SecretKey,
} from 'bloomery';
import type { FilterFile } from '../files/filter-file.ts';
import { className, type OwnFilter } from '../files/structures.ts';
import { defaultStructure } from '../planning/default-structure.ts';
import { UsageError } from '../usage-error.ts';
import { isRemembering, type RememberingFilter } from './line-sieve.ts';

export interface SeenOptions {
  readonly capacity?: number | undefined;
  readonly rate: number;
  /** Milliseconds for which a line is remembered. */
  readonly window?: number | undefined;
  /** The sight at which a line passes. */
  readonly at: number;
  readonly key?: SecretKey | undefined;
}

/** Lines of one window, or lines to count, if the user does not say how many there are. */
const DEFAULT_CAPACITY = 1_000_000;
/** The first stage of a filter that grows. */
const FIRST_STAGE = 100_000;
const GENERATIONS = 5;
/** The most sights that the widest counters count. */
export const MOST_SIGHTS = 65_535;

/** Makes a new filter. */
export function newSeenFilter(options: SeenOptions, nowMs: number): OwnFilter & RememberingFilter {
  const { window, at, rate: falsePositiveRate, key } = options;
  const keyed = key === undefined ? {} : { key };
  if (at > 1) {
    const counterBits = at <= 15 ? 4 : at <= 255 ? 8 : 16;
    const { capacity = DEFAULT_CAPACITY } = options;
    return CountingBloomFilter.forCapacity({ capacity, falsePositiveRate, counterBits, ...keyed });
  }
  if (window !== undefined) {
    // The lines of a window fall into the generations but one.
    const capacity = Math.ceil((options.capacity ?? DEFAULT_CAPACITY) / (GENERATIONS - 1));
    const time = { ttlMs: window, nowMs, generations: GENERATIONS };
    return new RotatingBloomFilter({ capacity, falsePositiveRate, ...time, ...keyed });
  }
  const { capacity } = options;
  if (capacity === undefined) {
    return new ScalableBloomFilter({ falsePositiveRate, initialCapacity: FIRST_STAGE, ...keyed });
  }
  const structure =
    defaultStructure({ rate: falsePositiveRate }) === 'blocked' ? BlockedBloomFilter : BloomFilter;
  return structure.forCapacity({ capacity, falsePositiveRate, ...keyed });
}

/** The filter of a file, if it can do what the options ask for. */
export function fileSeenFilter(
  { path, ...file }: FilterFile,
  { window, at }: Pick<SeenOptions, 'window' | 'at'>,
): OwnFilter & RememberingFilter {
  const filter = file.format === 'bloomery' ? file.filter : undefined;
  if (filter === undefined || !isRemembering(filter)) {
    const what = file.format === 'bloomery' ? `a ${file.structure.name}` : `a ${file.format} file`;
    throw new UsageError(`${path} is ${what}, in which uniq cannot remember lines; name a new file`);
  }
  if (at > 1) {
    if (!(filter instanceof CountingBloomFilter))
      throw unlike(path, filter, '--at counts in a CountingBloomFilter');
    if (filter.maxCount < at) throw unlike(path, filter, `its counters reach ${filter.maxCount}`);
  }
  if (window !== undefined) {
    if (!(filter instanceof RotatingBloomFilter) || filter.ttlMs === undefined) {
      throw unlike(path, filter, '--window needs a RotatingBloomFilter that rotates by time');
    }
    if (filter.ttlMs !== window) throw unlike(path, filter, `its window is ${filter.ttlMs / 1000} s`);
  }
  return filter;
}

function unlike(path: string, filter: OwnFilter, why: string): UsageError {
  return new UsageError(`${path} is a ${className(filter)}, and ${why}; name a new file`);
}
