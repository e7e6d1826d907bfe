/**
 * Facts that any filter may know about itself: how many keys it was made for, how many it holds,
 * and its false positive rate. Structures differ in what they know. An unknown value is undefined
 * here, never a guess.
 */

import {
  AttenuatedBloomFilter,
  BlockedBloomFilter,
  BloomFilter,
  BloomierFilter,
  type Countable,
  CountingBloomFilter,
  HashList,
  RotatingBloomFilter,
  ScalableBloomFilter,
  SpectralBloomFilter,
  StaticFilter,
  sizeEstimate,
} from 'bloomery';
import { BinaryFuseFile } from 'bloomery/formats/binary-fuse';
import { DcsoFilter } from 'bloomery/formats/dcso';
import { ParquetFilter } from 'bloomery/formats/parquet';
import { PybloomFilter } from 'bloomery/formats/pybloom';
import { RedisBloomFilter } from 'bloomery/formats/redisbloom';
import { SquidDigest } from 'bloomery/formats/squid';
import { rateBlocked, ratePartitioned, rateSplitBlock, rateTrue } from 'bloomery/math';
import type { FilterFile } from '../files/filter-file.ts';

export type AnyFilter = FilterFile['filter'];

/** Estimated number of distinct keys, from the zeros; Infinity if no zero is left. */
export function estimatedSizeOf(filter: AnyFilter): number | undefined {
  if (filter instanceof AttenuatedBloomFilter || !('estimatedSize' in filter)) return undefined;
  return (filter as { estimatedSize(): number }).estimatedSize();
}

/** The current rate of "maybe" for keys that are not in the filter. */
export function estimatedRateOf(filter: AnyFilter): number | undefined {
  if ('estimatedFalsePositiveRate' in filter) return filter.estimatedFalsePositiveRate();
  return 'falsePositiveRate' in filter ? filter.falsePositiveRate : undefined;
}

/** The parameters that a filter was made for. Most files of other systems do not record them. */
export interface Design {
  readonly capacity: number;
  /** The rate at capacity. */
  readonly falsePositiveRate: number;
}

export function designOf(filter: AnyFilter): Design | undefined {
  if (filter instanceof ParquetFilter) return designOf(filter.filter);
  if (filter instanceof DcsoFilter || filter instanceof PybloomFilter) return filter;
  if (filter instanceof SquidDigest) {
    const { bits, hashes, capacity } = filter;
    return { capacity, falsePositiveRate: rateTrue(bits, hashes, capacity) };
  }
  if (filter instanceof RedisBloomFilter) {
    const capacity = filter.links.reduce((sum, { entries }) => sum + entries, 0);
    // The first link has half of the requested rate (docs/spec/formats.md).
    return { capacity, falsePositiveRate: filter.links[0].error * (filter.scaling ? 2 : 1) };
  }
  if (filter instanceof ScalableBloomFilter) {
    const capacity = filter.stages.reduce((sum, stage) => sum + stage.capacity, 0);
    return { capacity, falsePositiveRate: filter.falsePositiveRate };
  }
  if (filter instanceof StaticFilter || filter instanceof BloomierFilter) {
    return { capacity: Math.max(1, filter.size), falsePositiveRate: filter.falsePositiveRate };
  }
  if (filter instanceof BinaryFuseFile && filter.size !== undefined) {
    return { capacity: Math.max(1, filter.size), falsePositiveRate: filter.estimatedFalsePositiveRate() };
  }
  if (!isSized(filter) || filter.capacity === undefined) return undefined;
  return { capacity: filter.capacity, falsePositiveRate: rateAt(filter, filter.capacity) };
}

/**
 * A lower bound on the number of distinct keys: the lower end of a wide interval, or a count that
 * the filter keeps.
 */
export function leastSizeOf(filter: AnyFilter): number | undefined {
  if (filter instanceof RedisBloomFilter) return filter.size;
  if (filter instanceof StaticFilter || filter instanceof BloomierFilter) return filter.size;
  const [part, ...more] = partsOf(filter);
  if (part !== undefined)
    return more.length === 0 ? sizeEstimate(part, { confidence: CERTAINTY }).low : undefined;
  if (!('onesCount' in filter)) return undefined;
  const { bits, hashes } = filter;
  const onesCount = () => (filter as { onesCount(): number }).onesCount();
  return sizeEstimate({ bits, hashes, layout: 'classic', onesCount }, { confidence: CERTAINTY }).low;
}

export interface Overfull {
  readonly capacity: number;
  readonly estimatedSize: number;
}

/** The part of a filter that certainly holds more keys than it was made for, if there is one. */
export function overfullPart(filter: AnyFilter): Overfull | undefined {
  if (filter instanceof RedisBloomFilter) {
    const link = filter.links.find(({ size, entries }) => size > entries);
    return link && { capacity: link.entries, estimatedSize: link.size };
  }
  for (const part of partsOf(filter)) {
    const { capacity } = part;
    if (capacity === undefined) continue;
    const estimate = sizeEstimate(part, { confidence: CERTAINTY });
    if (estimate.low > capacity) return { capacity, estimatedSize: estimate.value };
  }
  return undefined;
}

type Sized = BloomFilter | BlockedBloomFilter | CountingBloomFilter | SpectralBloomFilter | HashList;

function isSized(filter: AnyFilter): filter is Sized {
  return [BloomFilter, BlockedBloomFilter, CountingBloomFilter, SpectralBloomFilter, HashList].some(
    (structure) => filter instanceof structure,
  );
}

function rateAt(filter: Sized, n: number): number {
  const { bits, hashes } = filter;
  if (filter instanceof BlockedBloomFilter) {
    const { blocks, layout } = filter;
    return layout === 'blocked' ? rateBlocked({ n, blocks, k: hashes }) : rateSplitBlock({ n, blocks });
  }
  const partitioned = 'layout' in filter && filter.layout === 'partitioned';
  return partitioned ? ratePartitioned(bits, hashes, n) : rateTrue(bits, hashes, n);
}

/** The arrays of bits that a filter consists of, each with its capacity. */
function partsOf(filter: AnyFilter): readonly (Countable & { readonly capacity: number | undefined })[] {
  if (filter instanceof RotatingBloomFilter) {
    return Array.from({ length: filter.generations }, (_, age) => filter.generation(age));
  }
  if (filter instanceof AttenuatedBloomFilter) {
    return Array.from({ length: filter.levels }, (_, distance) => filter.level(distance));
  }
  if (filter instanceof ParquetFilter) return [filter.filter];
  if (isSized(filter) || filter instanceof DcsoFilter || filter instanceof SquidDigest) {
    const { bits, hashes, capacity } = filter;
    const layout = 'layout' in filter ? filter.layout : 'classic';
    return [{ bits, hashes, capacity, layout, onesCount: () => filter.onesCount() }];
  }
  return [];
}

/**
 * Five standard deviations, the same as in the library's own overfull policy, to avoid false
 * warnings.
 */
const CERTAINTY = 0.9999994;
