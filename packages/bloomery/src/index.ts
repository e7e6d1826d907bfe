/**
 * Bloomery: a set as a small message.
 *
 * @example
 * ```ts
 * import { BloomFilter } from 'bloomery';
 *
 * const songs = BloomFilter.forCapacity({ capacity: 1_000_000, falsePositiveRate: 0.01 });
 * songs.has('So What'); // true means maybe; false means certainly not
 * songs.has('So What'); // true: maybe. false: certainly not
 * ```
 */

export { type AddFromOptions, addFrom, type KeyStream } from './filters/add-from.ts';
export {
  AttenuatedBloomFilter,
  type AttenuatedBloomFilterOptions,
  type AttenuatedCapacityOptions,
} from './filters/attenuated-bloom-filter.ts';
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
export { BloomierFilter, type BloomierFilterOptions } from './filters/bloomier-filter.ts';
export type { Amounts } from './filters/count-min/count-min-amounts.ts';
export { type CountInterval, countEstimate } from './filters/count-min/count-min-estimate.ts';
export {
  type CountMinErrorOptions,
  type CountMinOptions,
  CountMinSketch,
  type CountMinUpdate,
} from './filters/count-min/count-min-sketch.ts';
export {
  type CounterBits,
  CountingBloomFilter,
  type CountingCapacityOptions,
  type CountingDecodeOptions,
  type CountingFilterOptions,
} from './filters/counting/counting-bloom-filter.ts';
export type { ColumnRebuild, ColumnRebuildState } from './filters/filter-table/column-rebuild.ts';
export {
  FilterTable,
  type FilterTableCapacityOptions,
  type FilterTableOptions,
} from './filters/filter-table/filter-table.ts';
export {
  HashList,
  type HashListCapacityOptions,
  type HashListDecodeOptions,
  type HashListFromOptions,
  type HashListOptions,
} from './filters/hash-list/hash-list.ts';
export {
  type HeavyHitter,
  HeavyHitters,
  type HeavyHittersOptions,
  type HeavyThresholdOptions,
} from './filters/heavy-hitters/heavy-hitters.ts';
export { PathFilter, type PathFilterOptions, type PathLengthOptions } from './filters/path-filter.ts';
export { type QuantileInterval, quantileEstimate, rangeEstimate } from './filters/ranges/range-estimates.ts';
export {
  type RangeErrorOptions,
  RangeSketch,
  type RangeSketchOptions,
} from './filters/ranges/range-sketch.ts';
export {
  RotatingBloomFilter,
  type RotatingBloomFilterOptions,
  type Rotation,
} from './filters/rotating/rotating-bloom-filter.ts';
export {
  ScalableBloomFilter,
  type ScalableBloomFilterOptions,
  type ScalableStage,
  scalableSizeEstimate,
} from './filters/scalable-bloom-filter.ts';
export {
  type Comparable,
  type Countable,
  type EstimateOptions,
  intersectionEstimate,
  jaccardEstimate,
  semiJoinEstimate,
  sizeEstimate,
  unionEstimate,
} from './filters/shared/estimates.ts';
export { OverfullError } from './filters/shared/fill-gauge.ts';
export type { DecodeOptions, FilterOptions, OverfullPolicy } from './filters/shared/options.ts';
export {
  SpectralBloomFilter,
  type SpectralCapacityOptions,
  type SpectralDecodeOptions,
  type SpectralFilterOptions,
  type SpectralMethod,
} from './filters/spectral/spectral-bloom-filter.ts';
export { StaticFilter, type StaticFilterOptions } from './filters/static-filter.ts';
export { FrameError, type FrameErrorCode } from './frames/envelope.ts';
export { type FrameLayout, type FrameLayoutOptions, readFrameLayout } from './frames/frame-layout.ts';
export { type HashOptions, type HashScheme, hashScheme } from './hashing/hash-scheme.ts';
export { SecretKey } from './hashing/secret-key.ts';
export { parquetHash } from './hashing/xxh64-scheme.ts';
export type { KeyBatch, KeyLines } from './kernel/batches/batch.ts';
export { hashKey, type KeyHash } from './kernel/batches/hash-key.ts';
export { hashKeys, type KeyHashes } from './kernel/batches/hash-keys.ts';
export { countLines, lineEnds } from './kernel/batches/lines.ts';
export { type KernelChoice, kernelInUse, useKernel } from './kernel/wasm/kernel-choice.ts';
export type { AbortOptions, AbortSignalLike } from './keys/abort.ts';
export type { Key } from './keys/key.ts';
export { eachLine } from './keys/lines.ts';
export { type PackedKeys, packKeys } from './keys/packed-keys.ts';
export type { Estimate } from './math/estimates/estimators.ts';
