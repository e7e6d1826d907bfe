/**
 * Decides from counts of answers whether a filter keeps its promises. Three things are checked:
 *
 * - Keys that were added are all found. A single miss is a failure: "no" must be certain.
 * - Non-member keys are answered "maybe" as often as the number of ones in this filter predicts,
 *   two-sided, at five standard deviations. A higher rate means a bad hash or damage; a lower rate
 *   means that the filter is not what it seems. For filters that are asked one after the other and
 *   may hold the same keys (rotating, attenuated), the estimate is an upper bound. Files of other
 *   systems that promise a rate are checked against that promise only, because with double hashing
 *   small filters have more false positives than their ones say (docs/spec/formats.md, Redis).
 * - Non-member keys are not answered "maybe" more often than the file promises. The promise is a
 *   mean over filters. The rates of small filters scatter around it, as the numbers of their ones
 *   do, so five standard deviations of that scatter are allowed as well.
 *
 * A sketch has no members. There "maybe" is a count that is too high by more than ε·total, and the
 * promise is δ (Cormode and Muthukrishnan 2005).
 */

import { CountMinSketch, HeavyHitters, type KeyBatch, RangeSketch } from 'bloomery';
import { atLeastOneOf, occupancyVariance, zeroProbability } from 'bloomery/math';
import { askerOf } from '../checking/ask.ts';
import type { FilterFile } from '../files/filter-file.ts';
import { bitArraysOf } from '../inspecting/bit-arrays.ts';
import { describeForeign } from '../inspecting/describe-foreign.ts';
import { describeOwn } from '../inspecting/describe-own.ts';
import { eachKey } from '../keys/each-key.ts';
import { onesBetween } from '../terminal/bit-picture.ts';
import { UsageError } from '../usage-error.ts';
import { type BinomialInterval, fiveSigma } from './binomial-interval.ts';

/** Whether every promise that was measured is kept. */
export function isKept({ estimated: claim }: Subject, { estimated, promised }: FilterVerdict): boolean {
  return promised?.kept !== false && (estimated?.kept !== false || claim?.decides === false);
}

/** How answers of a filter are counted. */
export interface Subject {
  /** Returns one byte per key: 1 if it is found. */
  readonly find: (keys: KeyBatch) => Uint8Array;
  /** Returns how many of these non-member keys get a wrong answer. */
  readonly countWrong: (strangers: KeyBatch) => number;
  /**
   * The rate by the ones of this filter. With `atMost` it is an upper bound; with `decides` a rate
   * outside its interval is a failure.
   */
  readonly estimated?:
    | { readonly rate: number; readonly atMost: boolean; readonly decides: boolean }
    | undefined;
  /**
   * The rate that the file promises, and how far filters of this size scatter around it (one
   * standard deviation).
   */
  readonly promised?:
    | { readonly rate: number; readonly scatter: number; readonly capacity?: number | undefined }
    | undefined;
}

export interface FilterVerdict {
  readonly estimated?: (BinomialInterval & { readonly rate: number; readonly kept: boolean }) | undefined;
  readonly promised?: { readonly rate: number; readonly most: number; readonly kept: boolean } | undefined;
}

export function subjectOf(file: FilterFile): Subject {
  const { ask } = askerOf(file);
  if (file.format === 'bloomery' && file.filter instanceof RangeSketch) {
    throw new UsageError(
      `${file.path} is a RangeSketch, whose keys are numbers; verify asks for text: bloomery count`,
    );
  }
  if (
    file.format === 'bloomery' &&
    (file.filter instanceof CountMinSketch || file.filter instanceof HeavyHitters)
  ) {
    const sketch = file.filter;
    const limit = (Math.E / sketch.width) * sketch.total;
    return {
      find: ask,
      countWrong: (strangers) => countAbove(countsOf(sketch, strangers), limit),
      promised: { rate: Math.exp(-sketch.depth), scatter: 0 },
    };
  }
  const {
    estimatedFalsePositiveRate,
    promisedFalsePositiveRate: promised,
    ...details
  } = file.format === 'bloomery' ? describeOwn(file) : describeForeign(file);
  const { layout } = details.parameters;
  const parts = details.parts ?? [{ ...numbersOf(details.parameters), capacity: details.capacity }];
  const even = file.format === 'bloomery' && layout !== 'blocked' && layout !== 'split-block';
  const rate = layout === 'partitioned' ? rateBySlices(file, parts) : estimatedFalsePositiveRate;
  const atMost = file.format === 'bloomery' && CHAINS.includes(file.structure.option);
  const decides = file.format === 'bloomery' || promised === undefined;
  return {
    find: ask,
    countWrong: (strangers) => countOnes(ask(strangers)),
    estimated: rate === undefined ? undefined : { rate, atMost, decides },
    promised:
      promised === undefined
        ? undefined
        : { rate: promised, scatter: scatterOf(parts, even), capacity: details.capacity },
  };
}

export function judge({ estimated, promised }: Subject, trials: number, wrong: number): FilterVerdict {
  const interval = estimated && fiveSigma(trials, estimated.rate);
  const low = estimated?.atMost ? 0 : (interval?.low ?? 0);
  const most = promised && fiveSigma(trials, Math.min(1, promised.rate + 5 * promised.scatter)).high;
  return {
    estimated: interval && {
      rate: estimated.rate,
      low,
      high: interval.high,
      kept: wrong >= low && wrong <= interval.high,
    },
    promised: promised && most !== undefined ? { rate: promised.rate, most, kept: wrong <= most } : undefined,
  };
}

interface Part {
  readonly bits?: number | undefined;
  readonly hashes?: number | undefined;
  readonly capacity?: number | undefined;
}

/**
 * The standard deviation of the rate of filters that hold their capacity, to first order: the rate
 * is fill^k, so the deviation is k·f·sd(ones)/ones. In `even` arrays the ones scatter as occupied
 * cells do. In blocks, and with double hashing, they scatter at most as independent bits would, by
 * √(m·z·(1-z)).
 */
function scatterOf(parts: readonly Part[], even: boolean): number {
  let variance = 0;
  for (const { bits, hashes, capacity } of parts) {
    if (bits === undefined || hashes === undefined || capacity === undefined) continue;
    const fill = 1 - zeroProbability(bits, hashes, capacity);
    const ones = even ? occupancyVariance(bits, hashes * capacity) : bits * fill * (1 - fill);
    variance += (hashes * fill ** (hashes - 1)) ** 2 * (ones / bits ** 2);
  }
  return Math.sqrt(variance);
}

/**
 * The rate of a partitioned filter from its slices. Each probe has its own slice, so the rate of
 * this filter is the product of their fills. `estimatedFalsePositiveRate` uses a power of the mean
 * fill, which is higher, by 3 % at 200 bits.
 */
function rateBySlices(file: FilterFile, parts: readonly Part[]): number {
  const rates = bitArraysOf(file).map(({ bytes, bits }, i) => {
    const { hashes = 1 } = parts[i];
    const slice = bits / hashes;
    let rate = 1;
    for (let j = 0; j < hashes; j++) rate *= onesBetween(bytes, j * slice, (j + 1) * slice) / slice;
    return rate;
  });
  return atLeastOneOf(rates);
}

function numbersOf({ bits, counters, hashes }: Readonly<Record<string, string | number | boolean>>): Part {
  const size = bits ?? counters;
  return {
    bits: typeof size === 'number' ? size : undefined,
    hashes: typeof hashes === 'number' ? hashes : undefined,
  };
}

function countsOf(sketch: CountMinSketch | HeavyHitters, keys: KeyBatch): Iterable<number> {
  if (sketch instanceof CountMinSketch) return sketch.countMany(keys);
  return Array.from(eachKey(keys), (key) => sketch.count(key));
}

function countAbove(counts: Iterable<number>, limit: number): number {
  let above = 0;
  for (const count of counts) if (count > limit) above++;
  return above;
}

function countOnes(answers: Uint8Array): number {
  let ones = 0;
  for (const answer of answers) ones += answer;
  return ones;
}

/** Structures whose filters may hold the same keys. */
const CHAINS: readonly string[] = ['rotating', 'attenuated'];
