/**
 * Facts of the files of other systems. They record little: bits and hashes, and only some of them a
 * promised rate.
 */

import { BinaryFuseFile } from 'bloomery/formats/binary-fuse';
import { CassandraFilter } from 'bloomery/formats/cassandra';
import { DataSketchesFilter } from 'bloomery/formats/datasketches';
import { DcsoFilter } from 'bloomery/formats/dcso';
import { GoBloomFilter } from 'bloomery/formats/go-bloom';
import { GuavaFilter } from 'bloomery/formats/guava';
import { ParquetFilter } from 'bloomery/formats/parquet';
import { PybloomFilter } from 'bloomery/formats/pybloom';
import { RedisBloomFilter } from 'bloomery/formats/redisbloom';
import { SparkFilter } from 'bloomery/formats/spark';
import { SquidDigest } from 'bloomery/formats/squid';
import { estimateSize } from 'bloomery/math';
import type { ForeignFile } from '../files/filter-file.ts';
import type { FilterDetails } from './describe-filter.ts';
import { describeSize, isOverfull } from './size-estimate.ts';

export function describeForeign({ filter: opened }: ForeignFile): FilterDetails {
  // The type of its keys does not matter here.
  const filter: unknown = opened;
  const { bits, hashes, hash } = opened;
  const common = { hash, estimatedFalsePositiveRate: opened.estimatedFalsePositiveRate() };
  if (filter instanceof BinaryFuseFile) {
    const { layout, fingerprintBits, size, seed } = filter;
    const parameters = { layout, bits, fingerprintBits };
    return {
      ...common,
      parameters,
      size,
      seed: String(seed),
      promisedFalsePositiveRate: common.estimatedFalsePositiveRate,
    };
  }
  if (filter instanceof ParquetFilter) {
    const ones = filter.onesCount();
    const estimatedSize = describeSize(filter.filter);
    return {
      ...common,
      parameters: { bits, hashes },
      ones,
      fill: ones / bits,
      estimatedSize,
      entropyBits: bits,
    };
  }
  if (filter instanceof RedisBloomFilter) return { ...common, ...redisDetails(filter) };
  if (
    filter instanceof GuavaFilter ||
    filter instanceof DcsoFilter ||
    filter instanceof GoBloomFilter ||
    filter instanceof SparkFilter ||
    filter instanceof DataSketchesFilter ||
    filter instanceof CassandraFilter ||
    filter instanceof PybloomFilter ||
    filter instanceof SquidDigest
  ) {
    const ones = filter.onesCount();
    const bitDetails = { ...common, ones, fill: ones / bits, entropyBits: bits };
    // With double hashing, a key hits the same bit twice a little less often than with random
    // probes. The interval holds to first order.
    const { value, low, high, standardError } = estimateSize({ bits, hashes, ones });
    return {
      ...bitDetails,
      estimatedSize: { value, low, high, standardError },
      ...particulars(filter, value, standardError),
    };
  }
  return { ...common, parameters: { bits, hashes } };
}

type OneArray =
  | GuavaFilter
  | DcsoFilter
  | GoBloomFilter
  | SparkFilter
  | DataSketchesFilter
  | CassandraFilter
  | PybloomFilter
  | SquidDigest;

function particulars(
  filter: OneArray,
  value: number,
  standardError: number,
): Partial<FilterDetails> & Pick<FilterDetails, 'parameters'> {
  const { bits, hashes } = filter;
  if (filter instanceof GuavaFilter) {
    return { parameters: { bits, hashes, strategy: filter.strategy } };
  }
  if (filter instanceof DcsoFilter) {
    const { capacity, falsePositiveRate, size, data } = filter;
    return {
      parameters: { bits, hashes, dataBytes: data.length },
      capacity,
      promisedFalsePositiveRate: falsePositiveRate,
      size,
      overfull: isOverfull({ value, standardError }, capacity),
    };
  }
  if (filter instanceof GoBloomFilter) {
    return { parameters: { bits, hashes, form: filter.form, byteOrder: filter.byteOrder } };
  }
  if (filter instanceof SparkFilter) {
    return { parameters: { bits, hashes, version: filter.version }, seed: String(filter.seed) };
  }
  if (filter instanceof DataSketchesFilter)
    return { parameters: { bits, hashes }, seed: String(filter.seed) };
  if (filter instanceof CassandraFilter) return { parameters: { bits, hashes, release: filter.release } };
  if (filter instanceof PybloomFilter) {
    const { capacity, falsePositiveRate, size, bitsPerSlice } = filter;
    return {
      parameters: { bits, hashes, bitsPerSlice },
      capacity,
      promisedFalsePositiveRate: falsePositiveRate,
      size,
      overfull: isOverfull({ value, standardError }, capacity),
    };
  }
  const { capacity, bitsPerEntry, count, useful } = filter;
  return {
    parameters: { bits, hashes, bitsPerEntry, declaredCount: count, useful },
    capacity,
    // Squid ignores a digest with more than 65 % ones, whatever number of keys it holds
    // (docs/spec/formats.md).
    overfull: !useful || isOverfull({ value, standardError }, capacity),
  };
}

function redisDetails(filter: RedisBloomFilter): Omit<FilterDetails, 'hash'> {
  const { bits, links, scaling, expansion, size } = filter;
  const ones = filter.onesCount();
  const [first] = links;
  return {
    parameters: { bits, links: links.length, scaling, ...(scaling ? { expansion } : {}) },
    // The first link of a chain that may grow has half of the requested error, and each further
    // link half of the one before.
    promisedFalsePositiveRate: scaling ? 2 * first.error : first.error,
    ones,
    fill: ones / bits,
    size,
    estimatedSize: { value: filter.estimatedSize() },
    overfull: scaling ? undefined : size > first.entries,
    parts: links.map((link, i) => ({
      name: `link ${i + 1}`,
      bits: link.bits,
      hashes: link.hashes,
      capacity: link.entries,
      estimatedSize: link.size,
      promisedFalsePositiveRate: link.error,
    })),
  };
}
