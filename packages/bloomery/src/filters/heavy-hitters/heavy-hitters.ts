/**
 * Heavy hitters: the keys that make up at least a share φ (`threshold`) of a stream, with their
 * counts, in memory that does not grow with the stream (survey 8.1: the flows whose least counter
 * is above a threshold are put on a list; Cormode and Muthukrishnan, LATIN 2004, for the bounds of
 * the sketch).
 *
 * What it promises. N is the `total`, f the true count of a key.
 * - Every key with f >= φ·N is in `list()`. Always, for any stream and any hash.
 * - A key with f < (φ - ε)·N is in it with probability at most δ. ε and δ are those of the sketch.
 * - `count` of an entry is at least f, `atLeast` is at most f.
 * - Memory: the sketch, and at most about (2 + ln(φ·N))/φ keys, for any stream.
 *
 * How. A Count-Min sketch estimates each key as it is added, and a key whose estimate reaches the
 * bar φ·N becomes a candidate. A candidate carries an upper bound on its count, which is the count
 * in the list.
 *
 * Why no heavy key is missed. Let U be the bound of a candidate, taken at its last addition.
 * Suppose that f >= φ·N holds now. At the key's last addition f was the same and N no larger, so U
 * >= f >= φ·N, and φ·N is at least the bar at that time and at every moment since. So the key
 * became or stayed a candidate. It was never removed, because only candidates with U below the bar
 * are.
 *
 * Why the memory is bounded. The estimate alone does not bound it: an attacker who knows the hash
 * can send any number of keys that share all counters with a heavy one, and each of them is
 * estimated above the bar. But by the first promise a key that is not a candidate has less than
 * φ·N. So when it becomes one at a total of n, U is at most φ·n plus the amount added, however
 * large its estimate. From then on U grows only by additions of that key. So a candidate that came
 * at n was added at least φ·(N - n) times in the last N - n additions: it has to keep up a share of
 * φ, or it is removed.
 *
 * Order the candidates by their age d = N - n and let S_j be the sum of the j smallest ages. The
 * additions of these j all lie in the last d_j, hence φ·S_j <= d_j = S_j - S_(j-1), that is S_j >=
 * S_(j-1)/(1 - φ). And d_j >= j. So S grows from about 1/(2φ²) at j = 1/φ by the factor 1/(1 - φ)
 * with each further candidate, to N/φ at most: there are at most 1/φ + 1 + ln(2φN)/φ. (This is the
 * argument of lossy counting: Manku and Motwani, VLDB 2002.) For φ = 1 % and 10^9 additions that is
 * 1800 keys in the worst case; a stream that is not adversarial has about 1/φ. Stale records are
 * deleted when the number of records has doubled. Merging adds the bounds of the two sides.
 *
 * What was refused. We refused a mode for "the K largest" without a share: the K-th largest may be
 * as small as one addition, and no bounded memory can promise to find it. Use φ = 1/K and
 * `list().slice(0, K)`. We refused deleting: a key that becomes heavy because others were deleted
 * may not have been a candidate when it was last seen.
 *
 * Conservative update is the default here, because nothing is ever subtracted. Keys can be of all
 * types. They are returned as they were first given, bytes as a copy. A batch of hashes is refused,
 * because the list must contain keys.
 */

import { COUNT_MIN_UPDATES, doublesOf, HEAVY_FRAME, halvesOf } from '../../frames/counter-kinds.ts';
import { FrameError } from '../../frames/envelope.ts';
import { decodeFrame, encodeFrame } from '../../frames/frame.ts';
import { type HashOptions, type HashScheme, hashScheme } from '../../hashing/hash-scheme.ts';
import type { SecretKey } from '../../hashing/secret-key.ts';
import type { KeyBatch, KeyLines } from '../../kernel/batches/batch.ts';
import { checkOptions } from '../../keys/check-options.ts';
import type { Key } from '../../keys/key.ts';
import { lineEnd } from '../../keys/lines.ts';
import type { PackedKeys } from '../../keys/packed-keys.ts';
import { INSPECT } from '../../keys/printing.ts';
import { checkRate } from '../../math/checks.ts';
import { sizeCountMin } from '../../math/sketches/count-min.ts';
import type { Amounts } from '../count-min/count-min-amounts.ts';
import { CountMinSketch, type CountMinUpdate } from '../count-min/count-min-sketch.ts';
import { areAlike, checkAlike } from '../shared/alike.ts';
import { type Candidate, Candidates, decodeCandidates, encodeCandidates } from './heavy-candidates.ts';
import { rememberedKey } from './heavy-keys.ts';

interface CommonOptions extends HashOptions {
  /** φ: the share of the total that makes a key heavy, strictly between 0 and 1. */
  readonly threshold: number;
  /** 'conservative' (default) or 'plain'; see `CountMinSketch`. */
  readonly update?: CountMinUpdate | undefined;
  /** 32 (default) or 64. */
  readonly counterBits?: 32 | 64 | undefined;
}

export interface HeavyHittersOptions extends CommonOptions {
  /** Counters in a row of the sketch. */
  readonly width: number;
  /** Rows of the sketch. */
  readonly depth: number;
}

export interface HeavyThresholdOptions extends CommonOptions {
  /**
   * Keys below (threshold - epsilon) of the total are listed only with probability `delta`.
   * Default: a tenth of the threshold.
   */
  readonly epsilon?: number | undefined;
  /** The probability that a key below that share is listed. Default 0.001. */
  readonly delta?: number | undefined;
}

/** A key of the list. Its true count lies between `atLeast` and `count`. */
export type HeavyHitter = Candidate;

export class HeavyHitters {
  readonly threshold: number;
  readonly scheme: HashScheme;
  readonly #sketch: CountMinSketch;
  readonly #candidates: Candidates;

  /** Sized by the size of the sketch; `HeavyHitters.forThreshold` sizes by threshold and error. */
  constructor(options: HeavyHittersOptions);
  /** @internal */
  constructor(options: HeavyHittersOptions, scheme: HashScheme, sketch?: CountMinSketch);
  constructor(options: HeavyHittersOptions, scheme?: HashScheme, sketch?: CountMinSketch) {
    checkOptions('HeavyHitters', options, OPTIONS);
    const { threshold, width, depth, update = 'conservative', counterBits = 32 } = options;
    this.threshold = checkRate('threshold', threshold);
    this.#sketch =
      sketch ?? new CountMinSketch({ width, depth, update, counterBits }, scheme ?? hashScheme(options));
    this.scheme = this.#sketch.scheme;
    this.#candidates = new Candidates(this.threshold);
    if (new.target === HeavyHitters) Object.freeze(this);
  }

  /**
   * Makes the smallest tracker that lists all heavy keys, and a key below (threshold - epsilon)
   * only with probability `delta`.
   */
  static forThreshold(options: HeavyThresholdOptions): HeavyHitters {
    checkOptions('HeavyHitters.forThreshold', options, THRESHOLD_OPTIONS);
    const { epsilon, delta = 0.001, ...rest } = options;
    const threshold = checkRate('threshold', options.threshold);
    return new HeavyHitters({ ...rest, ...sizeCountMin({ epsilon: epsilon ?? threshold / 10, delta }) });
  }

  /** The number of counters in a row of the sketch. `depth` is the number of rows. */
  get width(): number {
    return this.#sketch.width;
  }

  get depth(): number {
    return this.#sketch.depth;
  }

  get update(): CountMinUpdate {
    return this.#sketch.update;
  }

  get counterBits(): 32 | 64 {
    return this.#sketch.counterBits;
  }

  /** The exact sum of all additions, N. */
  get total(): number {
    return this.#sketch.total;
  }

  /** Adds a key `count` times. Returns the upper bound on its count. */
  add(key: Key, count = 1): number {
    const before = this.total;
    return this.#candidates.add(key, this.#bound(this.#sketch.add(key, count)), count, before);
  }

  /**
   * Adds many keys at once: each `counts` times, or each its own number of times. Hashes are
   * refused.
   */
  addMany(keys: KeyBatch, counts?: Amounts): void {
    const { lines, words, offsets } = (keys ?? {}) as Partial<KeyLines & PackedKeys & { words: unknown }>;
    if (words !== undefined) {
      throw new TypeError('Cannot add to HeavyHitters: expected keys, which it lists, got their hashes');
    }
    if (lines !== undefined) this.#addEach(keys, counts, lineKeys(lines));
    else if (offsets !== undefined) this.#addEach(keys, counts, packedKeys(keys as PackedKeys));
    else if (Array.isArray(keys)) this.#addEach(keys, counts, (i) => keys[i]);
    else this.#addIterable(keys as Iterable<Key>, counts);
  }

  /** How often a key was added; never less than the truth. */
  count(key: Key): number {
    const estimate = this.#sketch.count(key);
    return this.#candidates.get(key, this.total)?.count ?? estimate;
  }

  /** The heavy keys, largest counts first. */
  list(): HeavyHitter[] {
    const bar = this.threshold * this.total;
    return this.#candidates
      .sorted(this.total)
      .filter(({ count }) => count >= bar)
      .map(({ key, count, atLeast }) => ({ key: rememberedKey(key), count, atLeast }));
  }

  /** Iterates over the heavy keys, largest counts first. */
  [Symbol.iterator](): Iterator<HeavyHitter> {
    return this.list()[Symbol.iterator]();
  }

  /** The number of keys that are remembered: the heavy ones and a few just below the threshold. */
  candidateCount(): number {
    return this.#candidates.prune(this.total);
  }

  /** Removes everything. */
  clear(): void {
    this.#sketch.clear();
    this.#candidates.clear();
  }

  /** An independent tracker with the same state. */
  copy(): HeavyHitters {
    const copy = new HeavyHitters(this.#parameters(), this.scheme, this.#sketch.copy());
    copy.#candidates.fill(this.#candidates.sorted(this.total), this.total);
    return copy;
  }

  /**
   * Adds everything that another tracker has seen. A key that is heavy in both streams together is
   * heavy in at least one of them, so it is a candidate of at least one tracker. In a tracker where
   * it is not a candidate, its count is below that tracker's bar.
   */
  merge(other: HeavyHitters): this {
    checkAlike(areAlike(HeavyHitters, this, other), 'merge', this, other);
    const merged: Candidate[] = [];
    for (const mine of this.#candidates.sorted(this.total)) {
      const theirs = other.#candidates.get(mine.key, other.total);
      merged.push({
        key: mine.key,
        count: mine.count + other.#most(mine.key),
        atLeast: mine.atLeast + (theirs?.atLeast ?? 0),
      });
    }
    for (const theirs of other.#candidates.sorted(other.total)) {
      if (this.#candidates.get(theirs.key, this.total) !== undefined) continue;
      merged.push({
        ...theirs,
        key: rememberedKey(theirs.key),
        count: theirs.count + this.#most(theirs.key),
      });
    }
    this.#sketch.merge(other.#sketch);
    this.#candidates.fill(
      merged.map((one) => ({ ...one, count: Math.min(one.count, this.#bound(this.#sketch.count(one.key))) })),
      this.total,
    );
    return this;
  }

  /** A new tracker of both streams; see `merge`. */
  union(other: HeavyHitters): HeavyHitters {
    return this.copy().merge(other);
  }

  /** Whether both have the same parameters, sketch and candidates. */
  equals(other: HeavyHitters): boolean {
    if (!areAlike(HeavyHitters, this, other) || !this.#sketch.equals(other.#sketch)) return false;
    const mine = this.#candidates.sorted(this.total);
    if (mine.length !== other.#candidates.prune(other.total)) return false;
    return mine.every(({ key, count, atLeast }) => {
      const theirs = other.#candidates.get(key, other.total);
      return theirs?.count === count && theirs.atLeast === atLeast;
    });
  }

  /** The bytes that the counters take in memory. The candidates take more. */
  get byteLength(): number {
    return this.#sketch.byteLength;
  }

  /** The tracker as a frame: bytes to save or send, read back by `HeavyHitters.decode` anywhere. */
  encode(): Uint8Array<ArrayBuffer> {
    const counters = this.#sketch.encodeCounters();
    const candidates = encodeCandidates(this.#candidates.sorted(this.total));
    const payload = new Uint8Array(counters.length + candidates.length);
    payload.set(counters);
    payload.set(candidates, counters.length);
    const { width, depth, counterBits, update, scheme } = this;
    return encodeFrame(HEAVY_FRAME, {
      variant: COUNT_MIN_UPDATES.indexOf(update),
      scheme,
      parameters: [width, depth, counterBits, ...halvesOf(this.threshold), candidates.length],
      payload,
    });
  }

  /** Reads a frame. Throws a `FrameError` if it is invalid; a keyed tracker needs its key. */
  static decode(
    frame: Uint8Array,
    { key, ...options }: { readonly key?: SecretKey | undefined } = {},
  ): HeavyHitters {
    checkOptions('HeavyHitters.decode', options, []);
    const { variant, parameters, payload, scheme, start } = decodeFrame(HEAVY_FRAME, frame, key);
    const [width, depth, bits, low, high, candidateBytes] = parameters;
    const counterBits = bits as 32 | 64;
    const counters = payload.length - candidateBytes;
    const tracker = new HeavyHitters(
      { threshold: doublesOf([low, high])[0], width, depth, counterBits, update: COUNT_MIN_UPDATES[variant] },
      scheme,
    );
    tracker.#sketch.decodeCounters(payload.subarray(0, counters), start);
    const fail = (at: number, what: string): never => {
      throw new FrameError('payload', start + counters + at, `no tracker has ${what}`);
    };
    const candidates = decodeCandidates(payload.subarray(counters), fail);
    const wrong = tracker.#contradiction(candidates);
    return wrong === undefined ? tracker : fail(0, wrong);
  }

  toString(): string {
    const { threshold, width, depth, counterBits, update, scheme } = this;
    return `HeavyHitters(threshold ${threshold}, ${depth} rows of ${width} counters, ${counterBits} bits, ${update}, ${scheme.id})`;
  }

  /** @internal */
  [INSPECT](): string {
    return this.toString();
  }

  /**
   * Takes over the candidates. Returns a description of what a tracker with this sketch cannot
   * have, or undefined.
   */
  #contradiction(candidates: readonly Candidate[]): string | undefined {
    for (const { key, count } of candidates) {
      if (count > this.#bound(this.#sketch.count(key)) || count > this.total) {
        return `a candidate of ${count} where the sketch has fewer`;
      }
    }
    const seen = candidates.reduce((sum, { atLeast }) => sum + atLeast, 0);
    if (seen > this.total) return `candidates that add up to ${seen} with a total of ${this.total}`;
    if (!this.#candidates.fill(candidates, this.total)) return 'one key as two candidates';
    const sorted = this.#candidates.sorted(this.total);
    return candidates.every((one, i) => one === sorted[i])
      ? undefined
      : 'candidates below the threshold, or in another order';
  }

  /** Upper bound on the count of any key. */
  #most(key: Key): number {
    const record = this.#candidates.get(key, this.total);
    const { total } = this;
    return (
      record?.count ?? Math.min(this.#bound(this.#sketch.count(key)), this.#candidates.unseenBound(total))
    );
  }

  /** A count of the sketch as an upper bound: Infinity if it is saturated. */
  #bound(count: number): number {
    return count === this.#sketch.maximum ? Number.POSITIVE_INFINITY : count;
  }

  #addEach(keys: KeyBatch, counts: Amounts | undefined, keyAt: (i: number) => Key): void {
    let before = this.total;
    this.#sketch.addManySeen(keys, counts, (least, amount, at) => {
      const bound = this.#bound(Math.min(least + amount, this.#sketch.maximum));
      // Most keys are light, and need not be extracted from the batch.
      if (bound >= this.#candidates.bar(before + amount)) {
        this.#candidates.add(keyAt(at), bound, amount, before);
      }
      before += amount;
    });
  }

  #addIterable(keys: Iterable<Key>, counts: Amounts | undefined): void {
    const iterable = typeof keys === 'object' && keys !== null && Symbol.iterator in keys;
    if (!iterable || keys instanceof Uint8Array || typeof counts === 'object') {
      // With a list of counts, the batch compares the number of keys with it before anything is
      // added. A value that is no batch throws there as well.
      const all = iterable && !(keys instanceof Uint8Array) ? [...keys] : keys;
      this.#addEach(all, counts, (i) => (all as Key[])[i]);
      return;
    }
    let pending: Key[] = [];
    const flush = () => this.#addEach(pending, counts, (i) => pending[i]);
    for (const key of keys) {
      if (pending.push(key) < PENDING_KEYS) continue;
      flush();
      pending = [];
    }
    flush();
  }

  #parameters(): HeavyHittersOptions {
    const { threshold, width, depth, update, counterBits } = this;
    return { threshold, width, depth, update, counterBits };
  }
}

/** How many keys of an iterable are added together. */
const PENDING_KEYS = 1024;
const COMMON_OPTIONS = ['threshold', 'update', 'counterBits', 'seed', 'key', 'hash'];
const OPTIONS = ['width', 'depth', ...COMMON_OPTIONS];
const THRESHOLD_OPTIONS = ['epsilon', 'delta', ...COMMON_OPTIONS];
function packedKeys({ bytes, offsets }: PackedKeys): (i: number) => Uint8Array {
  return (i) => bytes.subarray(offsets[i], offsets[i + 1]);
}

/** Returns key i of newline-separated ones. Must be called with rising i. */
function lineKeys(lines: Uint8Array): (i: number) => Uint8Array {
  let [number, start] = [0, 0];
  return (i) => {
    for (; number < i; number++) start = lineEnd(lines, start) + 1;
    return lines.subarray(start, lineEnd(lines, start));
  };
}
