/**
 * Bloomery: a set as a small message.
 *
 * @example
 * ```ts
 * import { BloomFilter } from 'bloomery';
 *
 * const songs = BloomFilter.forCapacity({ capacity: 1_000_000, falsePositiveRate: 0.01 });
 * songs.add('So What');
 * songs.has('So What'); // true: maybe. false: certainly not
 * ```
 */

export {
  BlockedBloomFilter,
  type BlockedCapacityOptions,
  type BlockedFilterOptions,
  type BlockedLayout,
} from './filters/blocked-bloom-filter.ts';
export {
  type BloomCapacityOptions,
  BloomFilter,
  type BloomFilterOptions,
  type BloomLayout,
} from './filters/bloom-filter.ts';
export {
  type CounterBits,
  CountingBloomFilter,
  type CountingCapacityOptions,
  type CountingDecodeOptions,
  type CountingFilterOptions,
} from './filters/counting-bloom-filter.ts';
export {
  type Comparable,
  type Countable,
  type EstimateOptions,
  intersectionEstimate,
  jaccardEstimate,
  semiJoinEstimate,
  sizeEstimate,
  unionEstimate,
} from './filters/estimates.ts';
export { FrameError, type FrameErrorCode } from './filters/frame.ts';
export type { DecodeOptions, FilterOptions, OverfullPolicy } from './filters/options.ts';
export { OverfullError } from './filters/overfull.ts';
export type { KeyBatch, KeyLines } from './kernel/batch.ts';
export { hashKey, type KeyHash } from './kernel/hash-key.ts';
export { hashKeys, type KeyHashes } from './kernel/hash-keys.ts';
export type { HashOptions, HashScheme } from './kernel/hash-scheme.ts';
export { type KernelChoice, kernelInUse, useKernel } from './kernel/kernel-choice.ts';
export type { Key } from './kernel/key.ts';
export { type PackedKeys, packKeys } from './kernel/packed-keys.ts';
export { SecretKey } from './kernel/secret-key.ts';
export type { Estimate } from './math/estimators.ts';
