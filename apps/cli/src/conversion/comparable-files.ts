/**
 * Prepares filter files for the estimators, as bit arrays of one shape whose ones can be counted,
 * alone and together. If the structures differ, those that contain a Bloom filter (counters above
 * 0, lists of ones, generations) are converted to it. So a local counting filter can be compared
 * with a snapshot of it on a peer.
 */

import {
  BlockedBloomFilter,
  BloomFilter,
  type Comparable,
  CountingBloomFilter,
  HashList,
  RotatingBloomFilter,
  SpectralBloomFilter,
} from 'bloomery';
import type { ForeignBloomFilter } from 'bloomery/formats';
import { ParquetFilter } from 'bloomery/formats/parquet';
import { RedisBloomFilter } from 'bloomery/formats/redisbloom';
import type { FilterFile } from '../files/filter-file.ts';
import { UsageError } from '../usage-error.ts';
import type { AnyFilter } from './filter-facts.ts';
import { unlikeFiles } from './unlike-files.ts';

/**
 * Returns all files as filters of one kind. Two files with different parameters are an error that
 * shows both.
 */
export function comparableFiles(files: readonly FilterFile[]): Comparable<unknown>[] {
  const [first, ...others] = files;
  for (const other of others) {
    if (other.format !== first.format || !sameSize(first.filter, other.filter)) {
      throw unlikeFiles('compare', first, other);
    }
  }
  const kinds = new Set(files.map(({ filter }) => filter.constructor));
  const filters = files.map((file) => comparable(file, kinds.size > 1));
  for (const [i, other] of filters.entries()) {
    try {
      filters[0].sharedOnesCount(other);
    } catch (error) {
      if (error instanceof RangeError) throw unlikeFiles('compare', first, files[i]);
      throw error;
    }
  }
  return filters;
}

/**
 * Whether the sizes are equal. This is checked before a list of a few ones in 2^36 bits is expanded
 * to the whole array.
 */
function sameSize(one: AnyFilter, other: AnyFilter): boolean {
  return !('bits' in one && 'bits' in other) || one.bits === other.bits;
}

function comparable(file: FilterFile, asBloomFilter: boolean): Comparable<unknown> {
  const { filter } = file;
  if (filter instanceof ParquetFilter) return filter.filter as Comparable<unknown>;
  if (file.format !== 'bloomery') return foreign(file);
  const plain = asBloomFilter ? bloomFilterOf(filter) : undefined;
  if (plain !== undefined) return plain as Comparable<unknown>;
  const direct = [BloomFilter, BlockedBloomFilter, CountingBloomFilter, HashList];
  if (direct.some((structure) => filter instanceof structure)) return filter as Comparable<unknown>;
  const within = bloomFilterOf(filter);
  if (within !== undefined) return within as Comparable<unknown>;
  throw new UsageError(`${file.path} is a ${String(filter)}, of which no ones can be counted and compared`);
}

/** The Bloom filter that a structure contains, or undefined if it contains none. */
export function bloomFilterOf(filter: AnyFilter): BloomFilter | undefined {
  if (filter instanceof BloomFilter) return filter;
  if (filter instanceof CountingBloomFilter) return filter.snapshot();
  if (filter instanceof SpectralBloomFilter) return filter.toBloomFilter();
  if (filter instanceof HashList) return filter.toFilter();
  if (filter instanceof RotatingBloomFilter) return filter.flattened();
  return undefined;
}

type Uniting = ForeignBloomFilter<never> & { union(other: unknown): Uniting };

interface ForeignComparable extends Comparable<unknown> {
  readonly filter: Uniting;
}

/** |ones of A AND B| = |A| + |B| - |A OR B|, where the OR is the union of each format. */
function foreign({ path, filter }: FilterFile): ForeignComparable {
  if (!('union' in filter) || !('onesCount' in filter)) {
    throw new UsageError(`${path} is a ${String(filter)}, of which no ones can be counted and compared`);
  }
  if (filter instanceof RedisBloomFilter && filter.links.length > 1) {
    throw new UsageError(
      `${path} has grown to ${filter.links.length} links; only chains of one can be compared`,
    );
  }
  const uniting = filter as unknown as Uniting;
  const { bits, hashes } = uniting;
  return {
    filter: uniting,
    bits,
    hashes,
    layout: 'classic',
    onesCount: () => uniting.onesCount(),
    sharedOnesCount: (other) => {
      const { filter: theirs } = other as ForeignComparable;
      return uniting.onesCount() + theirs.onesCount() - uniting.union(theirs).onesCount();
    },
  };
}
