/**
 * Estimates how full a filter is, from all of its bits or from a sample, and whether it holds more
 * keys than it was made for.
 *
 * A filter that is changed in place is not read as a whole, only the pages that the keys touch.
 * Hashes choose these pages, so they are a fair sample, and the estimate has the error of the
 * sample. To avoid false warnings, a filter counts as overfull only if the estimate exceeds the
 * capacity by five standard deviations, as in the library (filters/shared/fill-gauge.ts).
 */

import { RotatingBloomFilter, ScalableBloomFilter } from 'bloomery';
import { estimateSize, plan } from 'bloomery/math';

export interface Fullness {
  /** Number of distinct keys in the filter, by a formula. */
  readonly estimatedSize: number;
  /** Number of keys that it was made for. */
  readonly capacity: number | undefined;
  readonly overfull: boolean;
  /** The rate of false positives at that size, where the structure tells. */
  readonly estimatedFalsePositiveRate?: number | undefined;
}

export interface Sampled {
  readonly bits: number;
  readonly hashes: number;
  readonly layout: 'classic' | 'partitioned' | 'blocked' | 'split-block';
  readonly capacity: number | undefined;
}

/**
 * Estimates from the ones in a sample of the bits, plus the keys that were added after it was
 * taken.
 */
export function fullnessFromSample(
  filter: Sampled,
  sample: { readonly bits: number; readonly ones: number },
  newKeys: number,
): Fullness {
  const { bits, hashes, layout } = filter;
  // The survey's estimate (2.4) depends on the share of ones alone.
  const ones = sample.bits === 0 ? 0 : Math.round((sample.ones / sample.bits) * bits);
  const before = estimateSize({ bits, hashes, layout, ones }).value;
  const size = before + newKeys;
  const estimatedFalsePositiveRate = Number.isFinite(size) && size > 0 ? rateAt(filter, size) : undefined;
  return { ...judge(size, filter, sample.bits), estimatedFalsePositiveRate };
}

function rateAt({ bits, hashes, layout }: Sampled, size: number): number {
  return plan({ bits, hashes, layout, capacity: Math.ceil(size) }).falsePositiveRate;
}

/** Asks a filter that estimates its own size. Returns undefined for filters that cannot. */
export function fullnessOf(filter: object): Fullness | undefined {
  if (filter instanceof ScalableBloomFilter) {
    return { estimatedSize: filter.estimatedSize(), capacity: undefined, overfull: false };
  }
  if (filter instanceof RotatingBloomFilter) {
    // The capacity is that of one generation, and keys are added to the newest.
    const newest = judge(filter.estimatedSizes()[0], filter, filter.bits);
    return { ...newest, estimatedSize: filter.estimatedSize() };
  }
  const { estimatedSize, capacity, bits, hashes, counters = bits } = filter as Partial<WholeFilter>;
  if (typeof estimatedSize !== 'function' || counters === undefined || hashes === undefined) return undefined;
  // For an attenuated filter, this is level 0, to which keys are added.
  const judged = judge(estimatedSize.call(filter, 0), { bits: counters, hashes, capacity }, counters);
  const { estimatedFalsePositiveRate: rate } = filter as Partial<WholeFilter>;
  return { ...judged, estimatedFalsePositiveRate: rate?.call(filter) };
}

interface WholeFilter {
  readonly bits: number;
  readonly counters: number;
  readonly hashes: number;
  readonly capacity: number | undefined;
  estimatedSize(distance: number): number;
  estimatedFalsePositiveRate?(): number;
}

function judge(
  estimatedSize: number,
  { bits, hashes, capacity }: Pick<Sampled, 'bits' | 'hashes' | 'capacity'>,
  sampledBits: number,
): Fullness {
  if (capacity === undefined || sampledBits === 0) return { estimatedSize, capacity, overfull: false };
  if (!Number.isFinite(estimatedSize)) return { estimatedSize, capacity, overfull: true };
  // The zeros among the b bits of the sample, with share z, are about binomial. A size is
  // -ln(z)·m/k, so its error is m/k·√((1-z)/(z·b)).
  const zeros = Math.exp((-hashes * estimatedSize) / bits);
  const ofCounting = ((bits / hashes) ** 2 * (1 - zeros)) / (zeros * sampledBits);
  // In addition, the sampled part of a blocked filter may hold more or fewer keys than its share.
  const ofSampling = sampledBits < bits ? (estimatedSize * bits) / sampledBits : 0;
  const deviation = Math.sqrt(ofCounting + ofSampling);
  return { estimatedSize, capacity, overfull: estimatedSize - 5 * deviation > capacity };
}
