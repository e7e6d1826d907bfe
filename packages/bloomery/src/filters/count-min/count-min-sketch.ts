/**
 * The Count-Min sketch (Cormode and Muthukrishnan, LATIN 2004; survey, sections 8.1 and 9): how
 * often each key was added, in an array whose size does not depend on the number of keys.
 *
 * What it is. `depth` rows of `width` counters. A key has one counter in each row. Adding it
 * increments them, and its count is the least of them: other keys can only have increased a
 * counter, so the least one is closest to the truth.
 *
 * What it promises. `count` is never below the truth. With N the `total` of all additions, it is
 * above the truth by more than epsilon·N with probability at most delta. `forError` sizes for that:
 * width = e/epsilon, depth = ln(1/delta). epsilon 0.001 and delta 0.01 take 2719 times 5 counters,
 * 54 KB, for any keys in any number. The error is measured against N, so the sketch is for keys
 * that make up much of a stream (see `HeavyHitters`), and says little about keys that occur once.
 * `countEstimate` gives the interval.
 *
 * Two ways to update. 'plain' adds to all counters of a key. 'conservative' (Estan and Varghese;
 * survey 8.1) raises only those that are below the new count: the key's count was at most the least
 * of its counters, M, so M + amount is enough for all of them. The answer is worse for no key, and
 * usually much better: for 200,000 additions to 20,000 keys after Zipf's law, in 2719 times 5
 * counters, the mean error falls from 11.2 to 5.4 (count-min-sketch.test.ts). The price: a counter
 * is at least each of its keys' counts but no longer their sum, so nothing can be subtracted, and
 * there is no inner product.
 *
 * Counters have 32 bits (default) or 64 (integers up to 2^53 - 1). They saturate instead of
 * wrapping: a count that is equal to `maximum` means "this or more", and a saturated counter stays
 * saturated.
 *
 * Where it breaks down. Subtracting assumes that the amount was added before (the strict turnstile
 * model). If a key's counters show that it was not, `subtract` refuses. If other keys hide it, this
 * cannot be detected, and counts of other keys may then be too low.
 *
 * Which guarantee the hash gives. That no count is below the truth holds for any hash and any
 * stream. The bound on the excess needs more. The paper draws a function from a pairwise
 * independent family for each row, so that two keys share a counter with probability 1/width,
 * independently in each row, for every stream that was fixed before the functions were drawn. Ours
 * is no such family: one seeded 64-bit hash, Forge64, from which the columns of all rows are
 * derived. So for an unkeyed sketch the bound is no theorem. These are the consequences:
 * - For streams that do not depend on the seed, regular patterns included, the hash behaves as
 *   random functions do. That is measured at 5 sigma, for one row and for two rows together.
 * - An attacker who knows the seed, which is public and 0 by default, finds for each row a key on
 *   the victim's counter, after about width tries each. With depth such keys the victim's count is
 *   N/depth instead of epsilon·N. More rows do not help. A seed is no secret: frames store it.
 * - With a secret `key` the hash is SipHash-2-4. If that is a pseudorandom function, as its authors
 *   claim, the bound holds for every stream whose keys were chosen without the answers of the
 *   sketch, whatever else the attacker knows. The keys of the attack above are then like any
 *   others: also measured.
 * - An attacker who may read counts while adding keys can learn collisions from them, even under a
 *   secret key. The bound of the paper does not cover such streams. Do not show counts to clients
 *   that choose the keys, or change the key.
 * test/filters/count-min-adversary.test.ts has the measurements.
 */

import { COUNT_MIN_FRAME, COUNT_MIN_UPDATES } from '../../frames/counter-kinds.ts';
import { FrameError } from '../../frames/envelope.ts';
import { decodeFrame, encodeFrame } from '../../frames/frame.ts';
import { checkSameScheme, type HashOptions, type HashScheme, hashScheme } from '../../hashing/hash-scheme.ts';
import type { SecretKey } from '../../hashing/secret-key.ts';
import type { KeyBatch } from '../../kernel/batches/batch.ts';
import { hashInto, hashOut, type KeyHash } from '../../kernel/batches/hash-key.ts';
import { checkOptions } from '../../keys/check-options.ts';
import type { Key } from '../../keys/key.ts';
import { INSPECT } from '../../keys/printing.ts';
import { checkChoice, checkInteger, MAX_BITS } from '../../math/checks.ts';
import { sizeCountMin } from '../../math/sketches/count-min.ts';
import { areAlike, checkAlike } from '../shared/alike.ts';
import { type Amounts, checkAmount } from './count-min-amounts.ts';
import { Counters, type CountersOptions, type VisitAddition } from './count-min-counters.ts';

export type CountMinUpdate = 'plain' | 'conservative';

interface CommonOptions extends HashOptions {
  /** 'plain' (default) allows subtraction. 'conservative' is more exact. */
  readonly update?: CountMinUpdate;
  /** 32 (default) or 64. */
  readonly counterBits?: 32 | 64;
}

export interface CountMinOptions extends CommonOptions {
  /** Counters in a row. */
  readonly width: number;
  /** Rows, from 1 to 255. */
  readonly depth: number;
}

export interface CountMinErrorOptions extends CommonOptions {
  /**
   * A count exceeds the truth by at most epsilon times the total, except with probability `delta`.
   */
  readonly epsilon: number;
  /** The probability that a count exceeds the truth by more than that. */
  readonly delta: number;
}

export class CountMinSketch {
  readonly width: number;
  readonly depth: number;
  readonly update: CountMinUpdate;
  readonly counterBits: 32 | 64;
  readonly scheme: HashScheme;
  readonly #counters: Counters;

  /** Sized by width and depth; `CountMinSketch.forError` sizes by error. */
  constructor(options: CountMinOptions);
  /** @internal */
  constructor(options: CountMinOptions, scheme: HashScheme, counters?: Counters);
  constructor(options: CountMinOptions, scheme?: HashScheme, counters?: Counters) {
    checkOptions('CountMinSketch', options, OPTIONS);
    const { width, depth, update = 'plain', counterBits = 32 } = options;
    this.depth = checkInteger('depth', depth, 1, MAX_DEPTH);
    this.counterBits = checkCounterBits(counterBits);
    this.width = checkInteger('width', width, 1, Math.floor(MAX_BITS / (depth * counterBits)));
    this.update = checkChoice('update', update, COUNT_MIN_UPDATES);
    this.scheme = scheme ?? hashScheme(options);
    this.#counters = counters ?? new Counters(countersOptions(this), this.scheme);
    if (new.target === CountMinSketch) Object.freeze(this);
  }

  /**
   * Makes the smallest sketch whose counts exceed the truth by at most epsilon·N, with probability
   * 1 - delta.
   */
  static forError(options: CountMinErrorOptions): CountMinSketch {
    checkOptions('CountMinSketch.forError', options, ERROR_OPTIONS);
    const { epsilon, delta, ...rest } = options;
    return new CountMinSketch({ ...rest, ...sizeCountMin({ epsilon, delta }) });
  }

  /**
   * The error of `count`, as a share of the total, that holds with probability 1 - `delta`:
   * e/width.
   */
  get epsilon(): number {
    return Math.E / this.width;
  }

  /** The probability that a count exceeds that error: e^(-depth). */
  get delta(): number {
    return Math.exp(-this.depth);
  }

  /** The largest possible count, which means "this or more". */
  get maximum(): number {
    return this.#counters.maximum;
  }

  /** The exact sum of all additions, N. */
  get total(): number {
    return this.#counters.total;
  }

  /** Adds a key `count` times (0 to 2^53 - 1). Returns its new count. */
  add(key: Key, count = 1): number {
    checkAmount(count);
    hashInto(key, this.scheme);
    return Math.min(this.maximum, this.#counters.add(hashOut[0], hashOut[1], count) + count);
  }

  /** How often the key was added; never less than the truth. */
  count(key: Key): number {
    hashInto(key, this.scheme);
    return this.#counters.count(hashOut[0], hashOut[1]);
  }

  /**
   * Subtracts `count` from a key. Returns false, and changes nothing, if the key was certainly not
   * added that often. True means that its counters allowed it, not that the key was there: other
   * keys may have raised them.
   */
  subtract(key: Key, count = 1): boolean {
    this.#checkPlain('subtract', 'a counter does not know whose amounts it did not take up');
    checkAmount(count);
    hashInto(key, this.scheme);
    return this.#counters.subtract(hashOut[0], hashOut[1], count);
  }

  /** `add` by the key's hash; see `hashKey`. */
  addHash(hash: KeyHash, count = 1): number {
    checkSameScheme(hash.scheme, this.scheme);
    const before = this.#counters.add(hash.low | 0, hash.high | 0, checkAmount(count));
    return Math.min(this.maximum, before + count);
  }

  /** `count` by the key's hash. */
  countHash(hash: KeyHash): number {
    checkSameScheme(hash.scheme, this.scheme);
    return this.#counters.count(hash.low | 0, hash.high | 0);
  }

  /** `subtract` by the key's hash. */
  subtractHash(hash: KeyHash, count = 1): boolean {
    this.#checkPlain('subtract', 'a counter does not know whose amounts it did not take up');
    checkSameScheme(hash.scheme, this.scheme);
    return this.#counters.subtract(hash.low | 0, hash.high | 0, checkAmount(count));
  }

  /**
   * Adds many keys, faster than one by one and with the same result: each `counts` times, or each
   * its own number of times. Returns how many were certainly absent before.
   */
  addMany(keys: KeyBatch, counts?: Amounts): number {
    return this.#counters.addMany(keys, counts);
  }

  /** The counts of many keys, in order. */
  countMany(keys: KeyBatch): Float64Array {
    return this.#counters.countMany(keys);
  }

  /**
   * Subtracts many keys, one after the other. Returns for how many of them `subtract` would have
   * returned true.
   */
  subtractMany(keys: KeyBatch, counts?: Amounts): number {
    this.#checkPlain('subtract', 'a counter does not know whose amounts it did not take up');
    return this.#counters.subtractMany(keys, counts);
  }

  /**
   * @internal `addMany` that reports, for each key, its least counter before the addition and the
   * amount added.
   */
  addManySeen(keys: KeyBatch, counts: Amounts | undefined, visit: VisitAddition): void {
    this.#counters.addMany(keys, counts, undefined, visit);
  }

  /**
   * An upper bound on the sum over all keys of (count here) · (count there): the size of the join
   * of two streams, or the second moment of a stream with itself. It exceeds the truth by more than
   * epsilon·N·N' with probability at most delta. Above 2^53 it is rounded upwards. Infinity if
   * saturated counters leave no bound. Only for plain updates.
   */
  innerProduct(other: CountMinSketch): number {
    this.#checkPlain('take the inner product', 'a counter is less than the sum of its keys');
    checkAlike(areAlike(CountMinSketch, this, other), 'multiply', this, other);
    let least = Number.POSITIVE_INFINITY;
    for (let row = 0; row < this.depth; row++) least = Math.min(least, this.#rowProduct(other, row));
    return least;
  }

  /** Removes everything. */
  clear(): void {
    this.#counters.clear();
  }

  /** An independent sketch with the same counters. */
  copy(): CountMinSketch {
    return new CountMinSketch(this.#parameters(), this.scheme, this.#counters.copy());
  }

  /**
   * Adds the content of another sketch. With plain updates the result is exactly the sketch of both
   * streams. With conservative updates each side's counters are at least the counts of its keys, so
   * the sums are at least the counts in both streams together. They may be above the counters of a
   * single sketch of both streams, and are never above those of a plain one.
   */
  merge(other: CountMinSketch): this {
    checkAlike(areAlike(CountMinSketch, this, other), 'merge', this, other);
    this.#counters.merge(other.#counters);
    return this;
  }

  /** A new sketch of both streams; see `merge`. */
  union(other: CountMinSketch): CountMinSketch {
    return this.copy().merge(other);
  }

  /** Whether both have the same parameters, counters and total. */
  equals(other: CountMinSketch): boolean {
    return areAlike(CountMinSketch, this, other) && this.#counters.equals(other.#counters);
  }

  /** The bytes that the counters take in memory. */
  get byteLength(): number {
    return this.#counters.byteLength;
  }

  /**
   * The sketch as a frame: bytes to save or send, read back by `CountMinSketch.decode` anywhere.
   */
  encode(): Uint8Array<ArrayBuffer> {
    return encodeFrame(COUNT_MIN_FRAME, {
      variant: COUNT_MIN_UPDATES.indexOf(this.update),
      scheme: this.scheme,
      parameters: [this.width, this.depth, this.counterBits],
      payload: this.encodeCounters(),
    });
  }

  /** Reads a frame. Throws a `FrameError` if it is invalid; a keyed sketch needs its key. */
  static decode(
    frame: Uint8Array,
    { key, ...options }: { readonly key?: SecretKey | undefined } = {},
  ): CountMinSketch {
    checkOptions('CountMinSketch.decode', options, []);
    const { variant, parameters, payload, scheme, start } = decodeFrame(COUNT_MIN_FRAME, frame, key);
    const [width, depth, counterBits] = parameters;
    const sketch = new CountMinSketch(
      { width, depth, counterBits: counterBits as 32 | 64, update: COUNT_MIN_UPDATES[variant] },
      scheme,
    );
    sketch.decodeCounters(payload, start);
    return sketch;
  }

  toString(): string {
    const { width, depth, counterBits, update, scheme } = this;
    return `CountMinSketch(${depth} rows of ${width} counters, ${counterBits} bits, ${update}, ${scheme.id})`;
  }

  /** @internal */
  [INSPECT](): string {
    return this.toString();
  }

  /** @internal The total and the counters, as written in frames. */
  encodeCounters(): Uint8Array {
    return this.#counters.toPayload();
  }

  /** @internal Reads them into an empty sketch. `offset` is their offset in the frame. */
  decodeCounters(payload: Uint8Array, offset: number): void {
    const wrong = this.#counters.setPayload(payload) ?? this.#contradiction();
    if (wrong !== undefined) throw new FrameError('payload', offset, `no sketch has ${wrong}`);
  }

  /**
   * Describes a row that does not fit the total: a row adds up to the total in a plain sketch, and
   * to no more in a conservative one.
   */
  #contradiction(): string | undefined {
    const { width, depth, total, maximum, update } = this;
    for (let row = 0; row < depth; row++) {
      let sum = 0;
      let saturated = false;
      this.#counters.each(row * width, (row + 1) * width, (value) => {
        sum += value;
        saturated ||= value === maximum;
      });
      // A saturated counter did not take up all additions, and was not lowered by subtractions.
      const sound = update === 'plain' ? saturated || sum === total : sum <= total && sum > 0 === total > 0;
      if (!sound) return `a row that adds up to ${sum} with a total of ${total}`;
    }
    return undefined;
  }

  #rowProduct(other: CountMinSketch, row: number): number {
    const from = row * this.width;
    const theirs = new Float64Array(this.width);
    other.#counters.each(from, from + this.width, (value, at) => (theirs[at - from] = value));
    let sum = 0;
    let bounded = true;
    this.#counters.each(from, from + this.width, (value, at) => {
      const product = value * theirs[at - from];
      sum += product;
      if (product > 0 && (value === this.maximum || theirs[at - from] === this.maximum)) bounded = false;
    });
    if (!bounded) return Number.POSITIVE_INFINITY;
    // 2 · width roundings, each by at most 2^-53 of the sum.
    return sum <= Number.MAX_SAFE_INTEGER ? sum : sum * (1 + (this.width + 1) * 2 ** -51);
  }

  #checkPlain(verb: string, why: string): void {
    if (this.update !== 'plain') {
      throw new TypeError(`Cannot ${verb} with conservative update: ${why}; use update: 'plain'`);
    }
  }

  #parameters(): CountMinOptions {
    const { width, depth, update, counterBits } = this;
    return { width, depth, update, counterBits };
  }
}

const MAX_DEPTH = 255;
const COMMON_OPTIONS = ['update', 'counterBits', 'seed', 'key', 'hash'];
const OPTIONS = ['width', 'depth', ...COMMON_OPTIONS];
const ERROR_OPTIONS = ['epsilon', 'delta', ...COMMON_OPTIONS];
function countersOptions({
  width,
  depth,
  counterBits,
  update,
}: Pick<CountMinSketch, 'width' | 'depth' | 'counterBits' | 'update'>): CountersOptions {
  return {
    bits: counterBits,
    range: width,
    stride: width,
    k: depth,
    rule: update === 'plain' ? 'sum' : 'raise',
    second: 0,
  };
}

function checkCounterBits(value: unknown): 32 | 64 {
  if (value === 32 || value === 64) return value;
  throw new RangeError(`Cannot use counterBits: expected 32 or 64, got ${String(value)}`);
}
