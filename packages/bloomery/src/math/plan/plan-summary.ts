/**
 * The form of a summary that is kept current at others: a set of positions (one hash function, an
 * array that is never held) or a Bloom filter with k hash functions, at the same rate.
 *
 * Mitzenmacher leaves open whether "the Bloom filter is necessarily the best data structure for
 * this problem" (compressed VI). For messages it is not. At a given rate f the fewest bits per key
 * are those of one hash function in an array of n/f bits: its compressed size nears the limit of
 * section II, and its changes are one bit per key that comes or goes, where k functions flip up to
 * 2k. A set does better still, because a key that goes is one of n known ones and not one of n/f
 * bits. For memory the Bloom filter is better: 1.44 log2(1/f) bits per key, where the set needs
 * about 42 with its ranks. So the answer depends on which of the two is scarce, as always.
 *
 * 100,000 keys, bytes of a delta with c replaced, and of the full state:
 *
 *     rate      c      set      k = 2 (m/n)       k = 3 (m/n)       full: set, k = 2, k = 3
 *     1.08 %    1 %    2,806    4,670 (18.2)      5,511 (12)        99,018, 109,614, 114,353
 *     1.08 %    5 %    11,139   18,108            20,665
 *     0.0078 %  1 %    3,726    6,896 (225)       8,374 (69)        188,574, 205,542, 218,665
 *
 * The rate. With p false positives wanted per look-up over N summaries, each may have f = p/N. A
 * rate of 1 % is wrong for a fleet: 256 neighbours give 2.6 false candidates for every key that no
 * neighbour has.
 *
 * Not counted: message heads (36 bytes) and what the coders lose, 0.2 to 0.6 %. Where it breaks
 * down: below some hundred changes the entropy is a few bytes off; c near 1 means that the full
 * state is sent.
 */

import { checkInteger, checkNumber, checkRate } from '../checks.ts';
import { binaryEntropy, compressedBits, deltaBits, deltaDensity } from '../entropy.ts';

/** The rate of each summary, or of all neighbours together; never both. */
export type SummaryRequest = (EachRate | CommonRate) & {
  /** Keys of the summary. */
  readonly capacity: number;
  /** Share of the keys that is replaced between two messages. */
  readonly changedFraction: number;
  /** Memory that the receiver has for the summary. Default: any. */
  readonly maxMemoryBytes?: number;
};

interface EachRate {
  /** The rate of each summary. */
  readonly falsePositiveRate: number;
  readonly falseCandidates?: never;
  readonly neighbours?: never;
}

interface CommonRate {
  /** False positives wanted per look-up of a non-member key, over all neighbours together. */
  readonly falseCandidates: number;
  readonly neighbours: number;
  readonly falsePositiveRate?: never;
}

/** A form of the summary, and what it takes. */
export interface SummaryForm {
  readonly structure: 'set' | 'bloom';
  /** Bits of the array, or the universe of the set. */
  readonly bits: number;
  readonly hashes: number;
  readonly deltaBytes: number;
  readonly fullBytes: number;
  /** Memory of a receiver that keeps the summary as it was sent. */
  readonly memoryBytes: number;
}

export interface SummaryPlan {
  readonly falsePositiveRate: number;
  /** The form with the smallest deltas that fits into the memory, or undefined if none does. */
  readonly best: SummaryForm | undefined;
  /** All forms: the set, then Bloom filters with 2, 3, … hash functions. */
  readonly forms: readonly SummaryForm[];
}

/** Compares the forms of a summary at one rate. */
export function planSummary(request: SummaryRequest): SummaryPlan {
  const n = checkInteger('capacity', request.capacity, 1);
  const c = checkNumber('changedFraction', request.changedFraction, 0, 1);
  const falsePositiveRate = rateOf(request);
  const most = checkNumber('maxMemoryBytes', request.maxMemoryBytes ?? Number.MAX_VALUE);
  const forms = [setForm(n, falsePositiveRate, c)];
  // Beyond the memory optimum, more functions need more of everything.
  const optimum = Math.max(2, Math.round(-Math.log2(falsePositiveRate)));
  for (let k = 2; k <= optimum; k++) forms.push(bloomForm(n, falsePositiveRate, c, k));
  const fitting = forms.filter(({ memoryBytes }) => memoryBytes <= most);
  const best = fitting.reduce<SummaryForm | undefined>(
    (least, form) => (least === undefined || form.deltaBytes < least.deltaBytes ? form : least),
    undefined,
  );
  return { falsePositiveRate, best, forms };
}

/** Memory of a set with ranks, in bytes per position; wire/sets/position-set.ts measures it. */
const SET_BYTES_PER_KEY = 5.3;

function rateOf({ falsePositiveRate, falseCandidates, neighbours }: SummaryRequest): number {
  if (falsePositiveRate !== undefined) {
    if (falseCandidates !== undefined || neighbours !== undefined) {
      throw new RangeError(
        'Cannot plan a summary: expected falsePositiveRate, or falseCandidates and neighbours, got both',
      );
    }
    return checkRate('falsePositiveRate', falsePositiveRate);
  }
  const wanted = checkNumber('falseCandidates', falseCandidates, Number.MIN_VALUE);
  return checkRate('falseCandidates / neighbours', wanted / checkInteger('neighbours', neighbours, 1));
}

function setForm(n: number, rate: number, c: number): SummaryForm {
  // The share of positions that are in the set is the rate: 1 - e^(-n/U). Keys may share one.
  const universe = Math.ceil(-n / Math.log1p(-rate));
  const held = rate * universe;
  const free = universe - held;
  const changed = (universe * deltaDensity(1 - rate, c)) / 2;
  return {
    structure: 'set',
    bits: universe,
    hashes: 1,
    // Which of the held positions went, and which of the others came.
    deltaBytes: (held * binaryEntropy(changed / held) + free * binaryEntropy(changed / free)) / 8,
    fullBytes: (universe * binaryEntropy(rate)) / 8,
    memoryBytes: SET_BYTES_PER_KEY * n,
  };
}

function bloomForm(n: number, rate: number, c: number, k: number): SummaryForm {
  // (1 - e^(-kn/m))^k = rate
  const bits = Math.ceil((-k * n) / Math.log1p(-(rate ** (1 / k))));
  return {
    structure: 'bloom',
    bits,
    hashes: k,
    deltaBytes: deltaBits(bits, k, n, c) / 8,
    fullBytes: compressedBits(bits, k, n) / 8,
    memoryBytes: bits / 8,
  };
}
