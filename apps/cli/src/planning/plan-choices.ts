/**
 * Choices that a plan leaves open, with their prices: fewer hash functions at nearly the same rate,
 * a power of two bits, and a number of keys that is not known exactly. Each is a plan of the
 * library, so the figures and the plan cannot disagree.
 *
 * - The best number of hashes is flat around its optimum (survey 2.1: a few more or less hardly
 *   change the rate), and each hash costs time. So we look for the fewest hashes whose rate is at
 *   most 5 % above the best.
 * - A power of two is what other systems ask for, and what can be halved. It costs up to twice the
 *   bits, and gives a lower rate for them.
 * - "if the number of elements n in the set S cannot be determined in advance, a misprediction of n
 *   could yield insufficient compression" (compressed III). A filter for a range of capacities is
 *   planned for the upper end, where rate and message are worst, and shown at both.
 */

import { deltaFitProbability, fitProbability, type Plan, type PlanRequest, plan } from 'bloomery/math';

/** The rate may be at most this many times the best one. */
const RATE_TOLERANCE = 1.05;

/** Changes a request so that its plan has the fewest hashes within the tolerance. */
export function withFewestHashes(request: PlanRequest, best: Plan): PlanRequest {
  const { capacity, bits, layout } = best;
  const rateOf = (hashes: number) => plan({ capacity, bits, hashes, layout }).falsePositiveRate;
  // The plan may have fewer hashes than the optimum of its bits, if these were rounded.
  const optimum = plan({ capacity, bits, layout }).falsePositiveRate;
  let hashes = best.hashes;
  while (hashes > 1 && rateOf(hashes - 1) <= RATE_TOLERANCE * optimum) hashes--;
  return { ...request, hashes };
}

/**
 * Changes a request so that the number of bits is a power of two: the next one above for a rate,
 * the next one below for a limit.
 */
export function withPowerOfTwo(request: PlanRequest, best: Plan): PlanRequest {
  const { falsePositiveRate: _, maxBits: __, ...rest } = request;
  const limited = request.falsePositiveRate === undefined;
  const exponent = Math.log2(best.bits);
  const bits = 2 ** (limited ? Math.floor(exponent) : Math.ceil(exponent));
  // The capacity of the plan, because the request may have left it open.
  return { ...rest, capacity: best.capacity, bits };
}

export interface PlanPrice {
  /** Ratios to the plan without the choice. */
  readonly bits: number;
  readonly falsePositiveRate: number;
  /** Hash functions saved. */
  readonly hashesSaved: number;
}

export function priceOf(chosen: Plan, best: Plan): PlanPrice {
  return {
    bits: chosen.bits / best.bits,
    falsePositiveRate: chosen.falsePositiveRate / best.falsePositiveRate,
    hashesSaved: best.hashes - chosen.hashes,
  };
}

export interface RangeEnd {
  readonly capacity: number;
  readonly falsePositiveRate: number;
  readonly expectedFill: number;
  /** Size of the compressed message on average, or of the delta if that is the goal. */
  readonly messageBits: number;
  /** Probability that the message fits into the limit, if there is one. */
  readonly fitProbability: number | undefined;
}

/** The planned filter with another number of keys than it was planned for. */
export function atCapacity(found: Plan, request: PlanRequest, capacity: number): RangeEnd {
  const { bits, hashes, layout, structure } = found;
  const { changedFraction, maxMessageBytes: bytes } = request;
  const there = plan({ capacity, bits, hashes, layout, structure, changedFraction });
  const fit =
    bytes === undefined || structure === 'counting'
      ? undefined
      : changedFraction === undefined
        ? fitProbability(bits, hashes, capacity, bytes)
        : deltaFitProbability(bits, hashes, capacity, changedFraction, bytes);
  return {
    capacity,
    falsePositiveRate: there.falsePositiveRate,
    expectedFill: there.expectedFill,
    messageBits: there.expectedDeltaBits ?? there.expectedTransmissionBits,
    fitProbability: fit,
  };
}

export interface RateRow {
  readonly bitsPerKey: number;
  readonly bestHashes: number;
  /** The rate for 1, 2, 3 … hash functions. */
  readonly rates: readonly number[];
}

/** Rates by bits per key, from 2 on, and by hash functions, from 1 on. */
export function rateTable(
  { capacity, layout }: Pick<Plan, 'capacity' | 'layout'>,
  mostHashes: number,
  mostBitsPerKey: number,
): RateRow[] {
  return Array.from({ length: mostBitsPerKey - 1 }, (_, i) => {
    const bitsPerKey = i + 2;
    const bits = bitsPerKey * capacity;
    const rates = Array.from(
      { length: mostHashes },
      (_, k) => plan({ capacity, bits, hashes: k + 1, layout }).falsePositiveRate,
    );
    return { bitsPerKey, bestHashes: plan({ capacity, bits, layout }).hashes, rates };
  });
}
