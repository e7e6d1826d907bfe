/**
 * Decides how a join moves its bytes: the whole far table, the near keys, or a filter of them. Pure
 * arithmetic on counts.
 *
 * With n near keys, N far rows of c bytes, and a share a of far rows that match, a filter of rate p
 * costs 0.26·n·ln(1/p) bytes, and lets N(1-a)p rows pass in vain. The sum is least at
 *
 *     p* = 0.26·n / (N(1-a)c).
 *
 * Mullin ("Optimal semijoins for distributed database systems", 1990) sends the filter in slices,
 * and stops when the next slice would save less than it costs. A slice that is half full halves the
 * rows that pass in vain, so the point where he stops is p*. Here one slice is sent: the rows that
 * pass it tell a, and then the formula gives the rest at once, because a server that filters by a
 * parameter keeps nothing between two slices. A join in which most rows match is given up after
 * that slice, of at most 180 kB for each million near keys.
 */

import type { Estimate } from 'bloomery';
import { normalQuantile } from 'bloomery/math';
import type { SliceCount, SliceSample } from './join-side.ts';
import { LEAST_BITS_LOG2, MOST_BITS_LOG2, MOST_HASHES } from './pushdown-filter.ts';

export type JoinWay = 'all' | 'keys' | 'filter';

export interface JoinFacts {
  /** Distinct keys of the near side. */
  readonly nearKeys: number;
  /** Mean bytes of such a key in a list of keys, with its separators. */
  readonly keyBytes: number;
  /** Rows of the far table: counted, or estimated from a sample of a large one. */
  readonly farRows: number;
  /** Bytes of a far row on the wire. */
  readonly rowBytes: number;
  /** The share of far rows that have a partner. */
  readonly matchShare: Estimate;
  /** Bytes of the slice that told the share. */
  readonly sliceBytes: number;
}

export interface JoinPlan extends JoinFacts {
  readonly way: JoinWay;
  /** p*, or 1 if no filter pays. */
  readonly bestRate: number;
  /** The filter that was chosen: a power of two of bits. */
  readonly filter: {
    readonly bitsLog2: number;
    readonly hashes: number;
    readonly bytes: number;
    readonly falsePositiveRate: number;
  };
  /** Far rows that match. */
  readonly matches: Estimate;
  /** Bytes moved by each way, the slice included. */
  readonly bytes: Readonly<Record<JoinWay, number>>;
  /** The reason for this way, as a sentence. */
  readonly reason: string;
}

/** Bytes for each key and each factor of e in the rate: 1 / (8 ln² 2). */
const BYTES_PER_KEY = 1 / (8 * Math.LN2 ** 2);
/** A way that saves less than this share of the bytes is not worth the server's time. */
const LEAST_SAVING = 0.4;
/** A filter must save this share compared with keys, which have no false positives. */
const LEAST_GAIN = 0.1;
/**
 * The share of additional bytes that is accepted for a filter with fewer hashes, which the server
 * asks faster.
 */
const SLACK = 0.01;
/** A parameter with more bytes of keys than this would be too long for a JavaScript string. */
const MOST_KEY_BYTES = 2 ** 28;
const SLICE_BITS_PER_KEY = 1 / Math.LN2;

/** The power of two of a slice: at most 1.44 bits for each key, so it is half full or fuller. */
export function sliceBitsLog2(nearKeys: number): number {
  const log2 = Math.floor(Math.log2(Math.max(1, SLICE_BITS_PER_KEY * nearKeys)));
  return Math.min(MOST_BITS_LOG2, Math.max(LEAST_BITS_LOG2, log2));
}

/**
 * The share of far rows that match, from those that pass a slice of the rate `rate` of false
 * positives. Rows with equal keys pass together, which makes the estimate less certain:
 * `rowsPerKey` says how many there are. A sample adds its own error.
 */
export function matchShareOf(
  { rows, passed, sample }: SliceCount,
  { rate, rowsPerKey = 1, confidence = 0.95 }: { rate: number; rowsPerKey?: number; confidence?: number },
): Estimate {
  if (rows === 0) return { value: 0, low: 0, high: 0, standardError: 0 };
  if (rate >= 1) return { value: 0.5, low: 0, high: 1, standardError: 0.5 };
  const value = Math.min(1, Math.max(0, (passed / rows - rate) / (1 - rate)));
  // Rows that match pass for certain; each of the others passes with the probability `rate`.
  const others = Math.max(1 - value, 1 / rows);
  const slice = (others * rate * rowsPerKey) / (rows * (1 - rate));
  const standardError = Math.sqrt(
    slice + (sample === undefined ? 0 : sampleVariance(sample, rate) / rows ** 2),
  );
  const reach = normalQuantile((1 + confidence) / 2) * standardError;
  return { value, low: Math.max(0, value - reach), high: Math.min(1, value + reach), standardError };
}

/**
 * The variance of the matches that a sample of blocks tells. Rows of a block may belong together,
 * so it follows from the differences between groups of blocks, and not from the number of rows.
 */
function sampleVariance({ share, groups }: SliceSample, rate: number): number {
  const matches = groups.map(({ rows, passed }) => (passed - rate * rows) / (1 - rate));
  const mean = matches.reduce((sum, one) => sum + one, 0) / matches.length;
  const squares = matches.reduce((sum, one) => sum + (one - mean) ** 2, 0);
  return ((1 - share) * squares * matches.length) / (matches.length - 1) / share ** 2;
}

/**
 * The smallest filter that makes the planned bytes as certain as `precision` asks, or null if they
 * are so already. It never exceeds the filter of the plan.
 */
export function preciseSlice(
  plan: JoinPlan,
  precision: number,
): { readonly bitsLog2: number; readonly hashes: number } | null {
  const { nearKeys, farRows, rowBytes, matches, filter, bytes } = plan;
  const limit = precision * Math.min(bytes.keys, bytes.filter);
  if (matches.standardError * rowBytes <= limit) return null;
  for (let bitsLog2 = LEAST_BITS_LOG2; bitsLog2 < filter.bitsLog2; bitsLog2++) {
    const bits = 2 ** bitsLog2;
    const hashes = Math.min(MOST_HASHES, Math.max(1, Math.round((bits / nearKeys) * Math.LN2)));
    const rate = (1 - Math.exp((-hashes * nearKeys) / bits)) ** hashes;
    const deviation = Math.sqrt(((farRows - matches.value) * rate) / (1 - rate));
    if (deviation * rowBytes <= limit) return { bitsLog2, hashes };
  }
  return filter;
}

/** The rate p* of the head of this file, at most 1. */
function bestRate({ nearKeys, farRows, rowBytes, matchShare }: JoinFacts): number {
  const inVain = farRows * (1 - matchShare.value) * rowBytes;
  return inVain > 0 ? Math.min(1, (BYTES_PER_KEY * nearKeys) / inVain) : 1;
}

export function planJoin(facts: JoinFacts): JoinPlan {
  const { nearKeys, keyBytes, farRows, rowBytes, matchShare, sliceBytes } = facts;
  const matches = scaled(matchShare, farRows);
  const answer = matches.value * rowBytes;
  const filter = chooseFilter(facts);
  const inVain = (farRows - matches.value) * filter.falsePositiveRate * rowBytes;
  const bytes = {
    all: sliceBytes + farRows * rowBytes,
    keys: sliceBytes + nearKeys * keyBytes + answer,
    filter: sliceBytes + filter.bytes + inVain + answer,
  };
  const way = chooseWay(bytes, nearKeys * keyBytes <= MOST_KEY_BYTES);
  return { ...facts, way, bestRate: bestRate(facts), filter, matches, bytes, reason: reasonFor(way, bytes) };
}

/** The filter with the fewest hashes among those whose bytes are within 1 % of the least. */
function chooseFilter(facts: JoinFacts): JoinPlan['filter'] {
  const { nearKeys, farRows, rowBytes, matchShare } = facts;
  const answer = farRows * matchShare.value * rowBytes;
  const wanted = Math.ceil(Math.log2(Math.max(1, nearKeys * 48)));
  const most = Math.min(MOST_BITS_LOG2, Math.max(LEAST_BITS_LOG2, wanted));
  const choices: { filter: JoinPlan['filter']; total: number }[] = [];
  for (let bitsLog2 = LEAST_BITS_LOG2; bitsLog2 <= most; bitsLog2++) {
    for (let hashes = 1; hashes <= MOST_HASHES; hashes++) {
      const bytes = 2 ** (bitsLog2 - 3);
      const falsePositiveRate = (1 - Math.exp((-hashes * nearKeys) / 2 ** bitsLog2)) ** hashes;
      const inVain = farRows * (1 - matchShare.value) * falsePositiveRate * rowBytes;
      const total = answer + bytes + inVain;
      choices.push({ filter: { bitsLog2, hashes, bytes, falsePositiveRate }, total });
    }
  }
  const least = Math.min(...choices.map(({ total }) => total));
  const good = choices.filter(({ total }) => total <= (1 + SLACK) * least);
  return good.reduce((a, b) => (expense(b.filter, nearKeys) < expense(a.filter, nearKeys) ? b : a)).filter;
}

/**
 * Expected number of bits that the server reads for a row without a partner: it stops at the first
 * 0.
 */
function expense({ bitsLog2, hashes }: JoinPlan['filter'], nearKeys: number): number {
  const fill = 1 - Math.exp((-hashes * nearKeys) / 2 ** bitsLog2);
  return (1 - fill ** hashes) / (1 - fill);
}

function chooseWay({ all, keys, filter }: JoinPlan['bytes'], canSendKeys: boolean): JoinWay {
  if (Math.min(canSendKeys ? keys : filter, filter) > (1 - LEAST_SAVING) * all) return 'all';
  return !canSendKeys || filter <= (1 - LEAST_GAIN) * keys ? 'filter' : 'keys';
}

function reasonFor(way: JoinWay, { all, keys, filter }: JoinPlan['bytes']): string {
  const percent = (share: number) => `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;
  if (way === 'all') {
    const saving = Math.max(0, 1 - Math.min(keys, filter) / all);
    return `most rows match: sending less than the whole table would save only ${percent(saving)} of the bytes`;
  }
  if (way === 'keys')
    return `the keys are short or few: a filter moves ${percent(filter / keys)} of what they move, and has false positives`;
  const gain = 1 - filter / keys;
  const small = gain < 0.3 ? '; compared with the keys the gain is small' : '';
  return `the filter moves ${percent(filter / all)} of the whole table, and ${percent(filter / keys)} of what the keys move${small}`;
}

function scaled({ value, low, high, standardError }: Estimate, by: number): Estimate {
  return { value: value * by, low: low * by, high: high * by, standardError: standardError * by };
}
