/**
 * Makes randomised filters of one owner's sets, and counts what they cost.
 *
 * The noise is a function of a secret and of the true bits. A set that did not change gets the same
 * bytes again, in this process or a later one, so that readers gain nothing by asking often. (Fresh
 * noise would average out: ten releases of ε = 1 cost ε = 10.) A set that did change gets noise
 * that is independent of the earlier one. We refused to keep the noise of each bit over changes, as
 * one would for a single reported value (RAPPOR's permanent response): then a bit that differs
 * between two releases would prove that the set changed there, and no ε holds.
 *
 * So every different set costs one ε, and the publisher refuses when the budget is used up. Sets
 * that change daily need a schedule: one release a month, whatever changed.
 *
 * The guarantee is computational: it holds as long as SipHash-2-4 is a pseudorandom function.
 */

import { hashKey } from 'bloomery';
import { epsilonOf, FLIP_STEPS, flipThreshold } from '../math/randomised-response.ts';
import { SharingError } from '../sharing-error.ts';
import { deriveKeyBytes, secretKey } from './derived-key.ts';
import { MAX_BITS, MAX_HASHES, positionSchemes, RandomisedFilter, trueBits } from './randomised-filter.ts';

export interface RandomisedPublisherOptions {
  /** The number of bits. It is public: choose it for a rounded number of keys, 20 bits for each. */
  readonly bits: number;
  /** The number of hashes. Default 2. */
  readonly hashes?: number;
  /** The privacy that one release costs each key. */
  readonly epsilon: number;
  /** The privacy that all releases together may cost. */
  readonly budget: number;
  /** 16 random bytes that no reader has. The noise comes from them. */
  readonly noiseSecret: Uint8Array;
  /** 16 bytes that readers have as well: public, or the secret of a pair or a group. */
  readonly salt: Uint8Array;
  /** The state of an earlier publisher of the same owner, from `state`. */
  readonly state?: RandomisedState;
}

/** The releases that were made: to be kept for as long as the noise secret. It is plain JSON. */
export interface RandomisedState {
  readonly releases: readonly { readonly id: string; readonly epsilon: number }[];
}

export class RandomisedPublisher {
  readonly #options: RandomisedPublisherOptions & { readonly hashes: number };
  readonly #flips: number;
  readonly #releases: Map<string, number>;

  constructor(options: RandomisedPublisherOptions) {
    const { bits, hashes = 2, epsilon, budget, state } = options;
    check('bits', bits, Number.isSafeInteger(bits) && bits >= 1 && bits <= MAX_BITS, 'from 1 to 2^31');
    check(
      'hashes',
      hashes,
      Number.isSafeInteger(hashes) && hashes >= 1 && hashes <= MAX_HASHES,
      'from 1 to 8',
    );
    check('epsilon', epsilon, epsilon > 0 && epsilon <= 20 * hashes, 'above 0, and at most 20 per hash');
    check('budget', budget, budget >= epsilon && Number.isFinite(budget), 'of at least epsilon');
    this.#options = { ...options, hashes };
    this.#flips = flipThreshold(epsilon, hashes);
    check('epsilon', epsilon, this.#flips < FLIP_STEPS / 2, 'that 32 bits of randomness can tell from 0');
    this.#releases = new Map(state?.releases.map(({ id, epsilon: cost }) => [id, checkedCost(cost)]));
  }

  /**
   * The randomised filter of a set: the same bytes for the same set. Throws a `SharingError` with
   * the code `budget` if it would be one release too many.
   */
  release(keys: Iterable<string>): RandomisedFilter {
    const { bits, hashes, salt, noiseSecret, budget } = this.#options;
    const parameters = { bits, hashes, flips: this.#flips, salt };
    const truth = trueBits(keys, bits, positionSchemes(parameters));
    const statement = releaseStatement(parameters, truth);
    const id = toHex(deriveKeyBytes(noiseSecret, prefixed('id', statement)));
    if (!this.#releases.has(id)) {
      const cost = epsilonOf(this.#flips / FLIP_STEPS, hashes);
      // The sum of n equal costs may be off by rounding in its last digits.
      if (this.spent + cost > budget * (1 + 1e-9)) {
        throw new SharingError(
          'budget',
          `Cannot release a filter: expected a cost of at most ${budget}, got ${(this.spent + cost).toPrecision(6)} (release ${this.#releases.size + 1})`,
        );
      }
      this.#releases.set(id, cost);
    }
    addNoise(truth, bits, this.#flips, deriveKeyBytes(noiseSecret, prefixed('noise', statement)));
    return new RandomisedFilter(parameters, truth);
  }

  /** The privacy that the releases so far have cost each key. */
  get spent(): number {
    let sum = 0;
    for (const cost of this.#releases.values()) sum += cost;
    return sum;
  }

  get state(): RandomisedState {
    return { releases: Array.from(this.#releases, ([id, epsilon]) => ({ id, epsilon })) };
  }
}

/** Flips each bit if its 32 random bits are below the threshold. */
function addNoise(bytes: Uint8Array, bits: number, flips: number, key: Uint8Array): void {
  const { scheme } = secretKey(key);
  for (let pair = 0; 2 * pair < bits; pair++) {
    const { low, high } = hashKey(pair, scheme);
    const bit = 2 * pair;
    if (low < flips) bytes[bit >>> 3] ^= 1 << (bit & 7);
    if (high < flips && bit + 1 < bits) bytes[bit >>> 3] ^= 2 << (bit & 7);
  }
}

/** The parameters and the true bits: everything that the noise depends on. */
function releaseStatement(
  { bits, hashes, flips, salt }: { bits: number; hashes: number; flips: number; salt: Uint8Array },
  truth: Uint8Array,
): Uint8Array {
  const statement = new Uint8Array(12 + salt.length + truth.length);
  const view = new DataView(statement.buffer);
  view.setUint32(0, bits, true);
  view.setUint32(4, hashes, true);
  view.setUint32(8, flips, true);
  statement.set(salt, 12);
  statement.set(truth, 12 + salt.length);
  return statement;
}

function prefixed(purpose: string, statement: Uint8Array): Uint8Array {
  const words = new TextEncoder().encode(`bloomery randomised filter 1 ${purpose} `);
  const all = new Uint8Array(words.length + statement.length);
  all.set(words);
  all.set(statement, words.length);
  return all;
}

function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

function checkedCost(cost: number): number {
  check('the cost of an earlier release', cost, cost > 0 && Number.isFinite(cost), 'above 0');
  return cost;
}

function check(name: string, value: unknown, correct: boolean, range: string): void {
  if (typeof value !== 'number') {
    throw new TypeError(`Cannot make a randomised filter: expected ${name} ${range}, got ${typeof value}`);
  }
  if (!correct)
    throw new RangeError(`Cannot make a randomised filter: expected ${name} ${range}, got ${value}`);
}
