/**
 * The parameters of a spectral Bloom filter: its options, how they are checked, and how they are
 * written in a frame. spectral-bloom-filter.ts has the filter itself and explains its methods.
 */

import type { HashOptions } from '../../hashing/hash-scheme.ts';
import type { SecretKey } from '../../hashing/secret-key.ts';
import { checkInteger, MAX_BITS } from '../../math/checks.ts';
import type { CounterRule, CountersOptions } from '../count-min/count-min-counters.ts';
import type { OverfullPolicy } from '../shared/options.ts';

export type SpectralMethod = 'minimum-selection' | 'minimal-increase' | 'recurring-minimum';

type CommonOptions = HashOptions & {
  /** 8, 16 (default) or 32. */
  readonly counterBits?: 8 | 16 | 32 | undefined;
  /** 'allow' (default), 'warn' (once, on the console) or 'throw' (an `OverfullError`). */
  readonly overfull?: OverfullPolicy;
};

/** `secondary` is for recurring minimum only. */
export type SpectralFilterOptions = CommonOptions &
  (OneArray | TwoArrays) & {
    /** The number of counters in the (first) array, m. */
    readonly counters: number;
    /** The number of hashes per key, k. From 1 to 255. */
    readonly hashes: number;
    /** The distinct keys that the filter is meant for; only the overfull policy uses it. */
    readonly capacity?: number | undefined;
  };

interface OneArray {
  readonly method?: SpectralMethod | undefined;
  readonly secondary?: undefined;
}

interface TwoArrays {
  readonly method: 'recurring-minimum';
  /** Counters in the second array. Default: half as many as in the first, rounded up. */
  readonly secondary?: number | undefined;
}

export type SpectralCapacityOptions = CommonOptions & {
  readonly method?: SpectralMethod | undefined;
  /**
   * The number of distinct keys that the filter is to hold. How often each is added matters only
   * for `counterBits`.
   */
  readonly capacity: number;
  /** The false positive rate of `has` at capacity, strictly between 0 and 1. */
  readonly falsePositiveRate: number;
};

/** Options of `SpectralBloomFilter.decode`. */
export interface SpectralDecodeOptions {
  /** The secret key of a keyed filter. */
  readonly key?: SecretKey | undefined;
  readonly overfull?: OverfullPolicy;
}

/** The parameters that define a filter. */
export interface SpectralShape {
  readonly counters: number;
  readonly secondary: number;
  readonly hashes: number;
  readonly counterBits: 8 | 16 | 32;
  readonly method: SpectralMethod;
}

const RULES: Record<SpectralMethod, CounterRule> = {
  'minimum-selection': 'sum',
  'minimal-increase': 'raise',
  'recurring-minimum': 'recurring',
};
const COMMON_OPTIONS = ['method', 'counterBits', 'seed', 'key', 'hash', 'overfull'];
export const OPTIONS = ['counters', 'hashes', 'secondary', 'capacity', ...COMMON_OPTIONS];
export const CAPACITY_OPTIONS = ['capacity', 'falsePositiveRate', ...COMMON_OPTIONS];

export function countersOptions({
  counters,
  secondary,
  hashes,
  counterBits,
  method,
}: SpectralShape): CountersOptions {
  return {
    bits: counterBits,
    range: counters,
    stride: 0,
    k: hashes,
    rule: RULES[method],
    second: secondary,
  };
}

export function checkCounterBits(value: unknown): 8 | 16 | 32 {
  if (value === 8 || value === 16 || value === 32) return value;
  throw new RangeError(`Cannot use counterBits: expected 8, 16 or 32, got ${String(value)}`);
}

export function checkSecondary(
  { method, counters, counterBits }: Pick<SpectralShape, 'method' | 'counters' | 'counterBits'>,
  secondary: number | undefined,
): number {
  if (method !== 'recurring-minimum') {
    if (secondary === undefined) return 0;
    throw new TypeError(`Cannot use secondary: expected method recurring-minimum, got ${method}`);
  }
  return checkInteger(
    'secondary',
    secondary ?? Math.ceil(counters / 2),
    1,
    MAX_BITS / counterBits - counters,
  );
}
