/**
 * The range sketch: how many integer keys of a stream lie in a range, how many are at most x, and
 * which key is at a given rank, in memory that does not grow with the stream (Cormode and
 * Muthukrishnan 2004, section 4; survey, section 9: "several problems on data streams").
 *
 * How. Every key lies in one dyadic interval of each level: itself, its pair, its group of four, up
 * to the whole universe. The intervals of the upper levels are few, and are counted exactly. Those
 * of the lower levels are counted in one Count-Min sketch, as keys of their own. A range is a union
 * of at most two intervals of each level, and its count is the sum of theirs. A quantile is found
 * by walking down from the universe, half by half.
 *
 * What it promises. N is the `total`.
 * - `count` and `rank` are never below the truth, for any stream and any hash.
 * - `count` is above the truth by more than epsilon·N with probability at most delta, for each
 *   query, and `rank` by more than epsilon·N/2. math/sketches/range-sketch.ts has the proof.
 * - `quantile(q)` is never above the true quantile, and at least (q - epsilon/2)·N keys are at most
 *   as large, with probability 1 - delta.
 * `rangeEstimate` and `quantileEstimate` give the intervals. CountMinSketch says for which streams
 * the probabilities hold: all that were not chosen with knowledge of the hash.
 *
 * What it costs. The bound grows with the square of the sketched levels, so it is a large sketch:
 * for keys of 32 bits, epsilon 0.01 and delta 0.01 take 3.7 MB (range-sketch.test.ts). Choose it if
 * keys must be subtracted, if sketches must be merged without loss, or if a query may name any
 * range. If only quantiles of a stream are wanted, sketches that keep a sample are far smaller. In
 * practice the error is a small part of the bound.
 *
 * A small universe is counted exactly as a whole, without a sketch, where that takes less memory.
 *
 * Two ways to update, as in `CountMinSketch`: 'plain' (default) can subtract, and merging two
 * sketches gives exactly the sketch of both streams. 'conservative' is more exact and can do
 * neither. A counter that is saturated stands for "this or more"; the exact count of the next
 * interval above it is taken in its place, so the promises hold even then.
 *
 * What was refused. We refused keys that are not integers: text has no order that a hash keeps. For
 * fractions and negative numbers, scale and shift: `add(Math.round(ms * 1000))`. We refused a
 * sketch per level, as the paper has it: the bound is the same, and one sketch shares its counters
 * between the levels.
 */

import { COUNT_MIN_UPDATES, RANGE_FRAME } from '../../frames/counter-kinds.ts';
import { FrameError } from '../../frames/envelope.ts';
import { decodeFrame, encodeFrame } from '../../frames/frame.ts';
import { type HashOptions, type HashScheme, hashScheme } from '../../hashing/hash-scheme.ts';
import type { SecretKey } from '../../hashing/secret-key.ts';
import { checkOptions } from '../../keys/check-options.ts';
import { typeName } from '../../keys/key.ts';
import type { PackedKeys } from '../../keys/packed-keys.ts';
import { INSPECT } from '../../keys/printing.ts';
import { checkChoice, checkInteger, checkNumber, wrongValue } from '../../math/checks.ts';
import { MAX_EXACT_BITS, MAX_UNIVERSE_BITS, sizeRangeSketch } from '../../math/sketches/range-sketch.ts';
import { type Amounts, amountsOf, checkAmount } from '../count-min/count-min-amounts.ts';
import { CountMinSketch, type CountMinUpdate } from '../count-min/count-min-sketch.ts';
import { areAlike, checkAlike } from '../shared/alike.ts';
import { ExactTree, LEAF_BYTES } from './exact-tree.ts';

interface CommonOptions extends HashOptions {
  /** u: keys are integers from 0 to 2^u - 1. From 1 to 52. */
  readonly universeBits: number;
  /** 'plain' (default) allows subtraction. 'conservative' is more exact. */
  readonly update?: CountMinUpdate | undefined;
  /** 32 (default) or 64: counters of the sketch. The exact ones hold up to 2^53 - 1. */
  readonly counterBits?: 32 | 64 | undefined;
}

export interface RangeSketchOptions extends CommonOptions {
  /** The levels of at most 2^exactBits intervals are counted exactly. From 0 to 26. */
  readonly exactBits: number;
  /** Counters in a row of the sketch; none if exactBits is universeBits. */
  readonly width?: number;
  /** Rows of the sketch, from 1 to 255; none if exactBits is universeBits. */
  readonly depth?: number;
}

export interface RangeErrorOptions extends CommonOptions {
  /**
   * The count of a range exceeds the truth by at most epsilon times the total, except with
   * probability `delta`.
   */
  readonly epsilon: number;
  /** The probability that the count of a range exceeds the truth by more than that. */
  readonly delta: number;
}

export class RangeSketch {
  readonly universeBits: number;
  readonly exactBits: number;
  readonly update: CountMinUpdate;
  readonly counterBits: 32 | 64;
  readonly scheme: HashScheme;
  readonly #tree: ExactTree;
  /** The intervals of the lower levels, or null if all levels are exact. */
  readonly #sketch: CountMinSketch | null;

  /** Sized by levels, width and depth; `RangeSketch.forError` sizes by error. */
  constructor(options: RangeSketchOptions);
  /** @internal */
  constructor(options: RangeSketchOptions, scheme: HashScheme, state?: RangeState);
  constructor(options: RangeSketchOptions, scheme?: HashScheme, state?: RangeState) {
    checkOptions('RangeSketch', options, OPTIONS);
    const { width = 0, depth = 0, update = 'plain', counterBits = 32 } = options;
    this.universeBits = checkInteger('universeBits', options.universeBits, 1, MAX_UNIVERSE_BITS);
    const most = Math.min(this.universeBits, MAX_EXACT_BITS);
    this.exactBits = checkInteger('exactBits', options.exactBits, 0, most);
    this.update = checkChoice('update', update, COUNT_MIN_UPDATES);
    this.counterBits = counterBits;
    this.scheme = scheme ?? hashScheme(options);
    const exact = this.exactBits === this.universeBits;
    if (exact && width + depth > 0) {
      throw wrongValue('width', 'none where exactBits is universeBits', `${depth} rows of ${width}`);
    }
    // If all levels are exact, a sketch of one counter checks `update` and `counterBits`, and is
    // dropped.
    const shape = exact ? { width: 1, depth: 1 } : { width, depth };
    const sketch = state?.sketch ?? new CountMinSketch({ ...shape, update, counterBits }, this.scheme);
    this.#sketch = exact ? null : sketch;
    this.#tree = state?.tree ?? new ExactTree(this.exactBits);
    if (new.target === RangeSketch) Object.freeze(this);
  }

  /**
   * Makes the smallest sketch whose counts of ranges exceed the truth by at most epsilon·N, with
   * probability 1 - delta.
   */
  static forError(options: RangeErrorOptions): RangeSketch {
    checkOptions('RangeSketch.forError', options, ERROR_OPTIONS);
    const { epsilon, delta, ...rest } = options;
    const { universeBits, counterBits } = rest;
    const request = { universeBits, epsilon, delta };
    const size = sizeRangeSketch(counterBits === undefined ? request : { ...request, counterBits });
    return new RangeSketch({ ...rest, ...size });
  }

  /** The largest key: 2^universeBits - 1. */
  get largestKey(): number {
    return 2 ** this.universeBits - 1;
  }

  /** The number of counters in a row of the sketch; 0 if all levels are exact. */
  get width(): number {
    return this.#sketch?.width ?? 0;
  }

  /** The number of rows of the sketch; 0 if all levels are exact. */
  get depth(): number {
    return this.#sketch?.depth ?? 0;
  }

  /**
   * The error of `count`, as a share of the total, that holds with probability 1 - `delta`:
   * 2e·s²/width for s sketched levels. That of `rank` and `quantile` is half of it.
   */
  get epsilon(): number {
    return this.#sketch === null ? 0 : (2 * Math.E * this.#levels ** 2) / this.width;
  }

  /** The probability that a count exceeds that error: e^(-depth), or 0 if all levels are exact. */
  get delta(): number {
    return this.#sketch === null ? 0 : Math.exp(-this.depth);
  }

  /** The exact sum of all additions, N. */
  get total(): number {
    return this.#tree.total;
  }

  /** Adds a key `count` times. */
  add(key: number, count = 1): void {
    this.#checkKey(key);
    this.#checkRoom(checkAmount(count));
    this.#eachNode(key, (node) => this.#sketch?.add(node, count));
    this.#tree.add(this.#leafOf(key), count);
  }

  /**
   * Adds many keys, faster than one by one and with the same result: each `counts` times, or each
   * its own number of times. Everything is checked before anything is added.
   */
  addMany(keys: Iterable<number>, counts?: Amounts): void {
    const list = this.#checkKeys(keys);
    const { uniform, each } = amountsOf(list, counts);
    this.#checkRoom(each === null ? uniform * list.length : each.reduce((sum, one) => sum + one, 0));
    for (let from = 0; from < list.length; from += PIECE_KEYS) {
      const piece = list.subarray(from, from + PIECE_KEYS);
      const amounts = each === null ? uniform : this.#repeated(each.subarray(from, from + PIECE_KEYS));
      this.#sketch?.addMany(this.#packed(piece), amounts);
    }
    for (let i = 0; i < list.length; i++) {
      this.#tree.add(this.#leafOf(list[i]), each === null ? uniform : each[i]);
    }
  }

  /**
   * Subtracts `count` from a key. Returns false, and changes nothing, if the key was certainly not
   * added that often. True means that its counters allowed it; see `CountMinSketch.subtract`.
   */
  subtract(key: number, count = 1): boolean {
    if (this.update !== 'plain') {
      throw new TypeError(
        "Cannot subtract with conservative update: a counter does not know whose amounts it did not take up; use update: 'plain'",
      );
    }
    this.#checkKey(key);
    checkAmount(count);
    if (this.#tree.at(this.#tree.leaves + this.#leafOf(key)) < count) return false;
    // Two intervals of one key may share a counter. It may allow the first subtraction and refuse
    // the second, and then the first is undone.
    const subtracted: number[] = [];
    let allowed = true;
    this.#eachNode(key, (node) => {
      allowed &&= this.#sketch!.subtract(node, count);
      if (allowed) subtracted.push(node);
    });
    if (allowed) this.#tree.add(this.#leafOf(key), -count);
    else for (const node of subtracted) this.#sketch!.add(node, count);
    return allowed;
  }

  /**
   * How many keys from `from` to `to` were added, both included. Without `to`, how often the key
   * `from` was added. Never less than the truth.
   */
  count(from: number, to = from): number {
    this.#checkRange(from, to);
    let sum = 0;
    eachInterval(this.universeBits, from, to, (node, level) => {
      sum += this.#at(node, level);
    });
    // The finest exact intervals that cover the range hold all of its keys.
    return Math.min(sum, this.#tree.sum(this.#leafOf(from), this.#leafOf(to)));
  }

  /** How many keys of at most `key` were added. Never less than the truth. */
  rank(key: number): number {
    return this.count(0, key);
  }

  /**
   * The key at the rank ⌈share·N⌉, at least 1: 0.5 is the median, 0 the least key and 1 the
   * largest. Never above the truth. Undefined if nothing was added.
   */
  quantile(share: number): number | undefined {
    checkNumber('share', share, 0, 1);
    return this.total === 0 ? undefined : this.keyAtRank(Math.max(1, Math.ceil(share * this.total)));
  }

  /**
   * @internal A key x for which the estimated number of keys below x is less than `rank`. The true
   * number is as well, because no estimate is below the truth.
   */
  keyAtRank(rank: number): number {
    let node = 1;
    let left = rank;
    for (let level = this.universeBits - 1; level >= 0; level--) {
      node *= 2;
      const count = this.#at(node, level);
      if (count >= left) continue;
      left -= count;
      node++;
    }
    return node - 2 ** this.universeBits;
  }

  /** @internal The end of the last exact interval that is not empty: no key is above it. */
  get keyLimit(): number {
    return (this.#tree.lastLeaf() + 1) * 2 ** this.#levels - 1;
  }

  /** @internal The number of estimates of which `count(from, to)` is the sum. */
  estimatesIn(from: number, to: number): number {
    this.#checkRange(from, to);
    let estimates = 0;
    eachInterval(this.universeBits, from, to, (_, level) => {
      if (level < this.#levels) estimates++;
    });
    return estimates;
  }

  /** Removes everything. */
  clear(): void {
    this.#sketch?.clear();
    this.#tree.clear();
  }

  /** An independent sketch with the same counters. */
  copy(): RangeSketch {
    const state = { tree: this.#tree.copy(), sketch: this.#sketch?.copy() };
    return new RangeSketch(this.#parameters(), this.scheme, state);
  }

  /**
   * Adds the content of another sketch. With plain updates the result is exactly the sketch of both
   * streams; with conservative ones see `CountMinSketch.merge`.
   */
  merge(other: RangeSketch): this {
    checkAlike(areAlike(RangeSketch, this, other), 'merge', this, other);
    this.#checkRoom(other.total);
    if (other.#sketch !== null) this.#sketch?.merge(other.#sketch);
    this.#tree.merge(other.#tree);
    return this;
  }

  /** A new sketch of both streams; see `merge`. */
  union(other: RangeSketch): RangeSketch {
    return this.copy().merge(other);
  }

  /** Whether both have the same parameters and the same counters. */
  equals(other: RangeSketch): boolean {
    return (
      areAlike(RangeSketch, this, other) &&
      this.#tree.equals(other.#tree) &&
      (this.#sketch === null || this.#sketch.equals(other.#sketch!))
    );
  }

  /** The bytes that the counters take in memory. */
  get byteLength(): number {
    return this.#tree.byteLength + (this.#sketch?.byteLength ?? 0);
  }

  /** The sketch as a frame: bytes to save or send, read back by `RangeSketch.decode` anywhere. */
  encode(): Uint8Array<ArrayBuffer> {
    const { universeBits, exactBits, width, depth, counterBits, update, scheme } = this;
    const leafBytes = LEAF_BYTES * this.#tree.leaves;
    const counters = this.#sketch?.encodeCounters() ?? new Uint8Array(0);
    const payload = new Uint8Array(leafBytes + counters.length);
    this.#tree.write(payload);
    payload.set(counters, leafBytes);
    return encodeFrame(RANGE_FRAME, {
      variant: COUNT_MIN_UPDATES.indexOf(update),
      scheme,
      parameters: [universeBits, exactBits, width, depth, counterBits],
      payload,
    });
  }

  /** Reads a frame. Throws a `FrameError` if it is invalid; a keyed sketch needs its key. */
  static decode(
    frame: Uint8Array,
    { key, ...options }: { readonly key?: SecretKey | undefined } = {},
  ): RangeSketch {
    checkOptions('RangeSketch.decode', options, []);
    const { variant, parameters, payload, scheme, start } = decodeFrame(RANGE_FRAME, frame, key);
    const [universeBits, exactBits, width, depth, counterBits] = parameters;
    const sketch = new RangeSketch(
      {
        universeBits,
        exactBits,
        width,
        depth,
        counterBits: counterBits as 32 | 64,
        update: COUNT_MIN_UPDATES[variant],
      },
      scheme,
    );
    sketch.#decodeCounters(payload, start);
    return sketch;
  }

  toString(): string {
    const { universeBits, exactBits, width, depth, counterBits, update, scheme } = this;
    const rows = this.#sketch === null ? '' : `, ${depth} rows of ${width} counters, ${counterBits} bits`;
    return `RangeSketch(keys of ${universeBits} bits, ${exactBits} of them exact${rows}, ${update}, ${scheme.id})`;
  }

  /** @internal */
  [INSPECT](): string {
    return this.toString();
  }

  #decodeCounters(payload: Uint8Array, start: number): void {
    const leafBytes = LEAF_BYTES * this.#tree.leaves;
    const wrong = this.#tree.read(payload.subarray(0, leafBytes));
    if (wrong !== undefined) throw new FrameError('payload', start, `no range sketch has ${wrong}`);
    if (this.#sketch === null) return;
    this.#sketch.decodeCounters(payload.subarray(leafBytes), start + leafBytes);
    const { total } = this.#sketch;
    if (total === this.total * this.#levels) return;
    const what = `a sketch of ${total} with a total of ${this.total} in ${this.#levels} levels`;
    throw new FrameError('payload', start + leafBytes, `no range sketch has ${what}`);
  }

  /** The number of levels that are sketched, from the single keys upwards. */
  get #levels(): number {
    return this.universeBits - this.exactBits;
  }

  /** The count of an interval: exact, or the estimate, which the exact count above it limits. */
  #at(node: number, level: number): number {
    const below = this.#levels - level;
    if (below <= 0) return this.#tree.at(node);
    const estimate = this.#sketch!.count(node);
    const most = this.#tree.at(Math.floor(node / 2 ** below));
    return estimate < most && estimate < this.#sketch!.maximum ? estimate : most;
  }

  /** The exact interval of a key, from 0. */
  #leafOf(key: number): number {
    return Math.floor(key / 2 ** this.#levels);
  }

  /** Visits the sketched intervals of a key, the smallest first. */
  #eachNode(key: number, visit: (node: number) => void): void {
    let node = 2 ** this.universeBits + key;
    for (let level = 0; level < this.#levels; level++, node = Math.floor(node / 2)) visit(node);
  }

  /** The sketched intervals of many keys, as packed keys: the bytes of integers. */
  #packed(keys: Float64Array): PackedKeys {
    const count = keys.length * this.#levels;
    const bytes = new Uint8Array(8 * count);
    const view = new DataView(bytes.buffer);
    let at = 0;
    for (const key of keys) {
      this.#eachNode(key, (node) => {
        view.setUint32(at, node, true);
        view.setUint32(at + 4, node / 4294967296, true);
        at += 8;
      });
    }
    return { bytes, offsets: Uint32Array.from({ length: count + 1 }, (_, i) => 8 * i) };
  }

  /** The amount of each key, once for each of its sketched intervals. */
  #repeated(amounts: Float64Array): Float64Array {
    const repeated = new Float64Array(amounts.length * this.#levels);
    for (let i = 0; i < amounts.length; i++) {
      repeated.fill(amounts[i], i * this.#levels, (i + 1) * this.#levels);
    }
    return repeated;
  }

  #checkKey(key: number): number {
    return checkInteger('key', key, 0, this.largestKey);
  }

  #checkKeys(keys: Iterable<number>): Float64Array {
    if (typeof keys !== 'object' || typeof keys?.[Symbol.iterator] !== 'function') {
      throw new TypeError(`Cannot read keys: expected an iterable of integers, got ${typeName(keys)}`);
    }
    const list = Array.isArray(keys) ? (keys as number[]) : [...keys];
    for (let i = 0; i < list.length; i++) checkInteger(`keys[${i}]`, list[i], 0, this.largestKey);
    return Float64Array.from(list);
  }

  #checkRange(from: number, to: number): void {
    checkInteger('from', from, 0, this.largestKey);
    checkInteger('to', to, from, this.largestKey);
  }

  /** Throws before anything changed if a total would become inexact. */
  #checkRoom(amount: number): void {
    const most = Math.floor(Number.MAX_SAFE_INTEGER / Math.max(1, this.#levels));
    if (this.total + amount <= most) return;
    throw new RangeError(
      `Cannot add keys: expected a total of at most ${most}, got ${this.total} + ${amount}`,
    );
  }

  #parameters(): RangeSketchOptions {
    const { universeBits, exactBits, width, depth, update, counterBits } = this;
    return { universeBits, exactBits, width, depth, update, counterBits };
  }
}

interface RangeState {
  readonly tree: ExactTree;
  readonly sketch: CountMinSketch | undefined;
}

/**
 * Visits the fewest dyadic intervals that make up a range, by their number in the tree whose root
 * is 1 and whose leaves are the keys, and their level.
 */
function eachInterval(
  universeBits: number,
  from: number,
  to: number,
  visit: (node: number, level: number) => void,
): void {
  let left = 2 ** universeBits + from;
  let right = 2 ** universeBits + to + 1;
  for (let level = 0; left < right; level++, left /= 2, right /= 2) {
    if (left % 2 === 1) visit(left++, level);
    if (right % 2 === 1) visit(--right, level);
  }
}

/** How many keys are packed together. */
const PIECE_KEYS = 1024;
const COMMON_OPTIONS = ['universeBits', 'update', 'counterBits', 'seed', 'key', 'hash'];
const OPTIONS = ['exactBits', 'width', 'depth', ...COMMON_OPTIONS];
const ERROR_OPTIONS = ['epsilon', 'delta', ...COMMON_OPTIONS];
