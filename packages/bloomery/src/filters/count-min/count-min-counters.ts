/**
 * An array of counters that keys share, with its update rule, its total and its batches: the common
 * part of `CountMinSketch` and `SpectralBloomFilter`. Each of the two adds its public methods, its
 * sizes and its promises.
 *
 * kernel/counters/sketches.ts explains the rules. A batch gives the same result as one key after
 * the other, even when a key occurs in it twice, and the same result in both kernels.
 */

import { TOTAL_BYTES } from '../../frames/counter-kinds.ts';
import type { HashScheme } from '../../hashing/hash-scheme.ts';
import type { KeyBatch } from '../../kernel/batches/batch.ts';
import { BitStore } from '../../kernel/bits/bit-store.ts';
import {
  counterMaximum,
  leastCounter,
  raiseInto,
  readCounter,
  recurringCount,
  recurringFrom,
  recurringInto,
  type SketchShape,
  subtractFrom,
  sumInto,
  writeCounter,
} from '../../kernel/counters/sketches.ts';
import {
  countChunk,
  raiseChunk,
  recurringCountChunk,
  recurringSubtractChunk,
  recurringSumChunk,
  subtractChunk,
  sumChunk,
} from '../../kernel/counters/sketches-wasm.ts';
import { wasmKernel } from '../../kernel/wasm/kernel-choice.ts';
import type { WasmKernel } from '../../kernel/wasm/wasm-kernel.ts';
import { WASM_POSSIBLE } from '../../kernel/wasm/wasm-possible.ts';
import { hasBatch, type Prober, probeBatch, valueBatch } from '../shared/batch-probing.ts';
import type { FillGauge } from '../shared/fill-gauge.ts';
import { type Amounts, amountsOf } from './count-min-amounts.ts';

export type CounterRule = 'sum' | 'raise' | 'recurring';

export interface CountersOptions extends Pick<SketchShape, 'bits' | 'range' | 'stride' | 'k'> {
  readonly rule: CounterRule;
  /** The length of the second array of the rule "recurring"; 0 for the other rules. */
  readonly second: number;
}

/**
 * Called for each key of a batch, in order, with its least counter before the addition and the
 * amount added.
 */
export type VisitAddition = (before: number, amount: number, at: number) => void;

export class Counters {
  /** The largest value of a counter, which stands for "this or more". */
  readonly maximum: number;
  /** The sum of all amounts that were added. */
  total = 0;
  readonly #store: BitStore;
  readonly #options: CountersOptions;
  readonly #scheme: HashScheme;
  readonly #shape: SketchShape;
  readonly #second: SketchShape;
  readonly #prober: Prober;
  readonly #addChunk: ChunkLoop<number> | null;
  readonly #countChunk: ChunkLoop<void> | null;

  constructor(options: CountersOptions, scheme: HashScheme, store?: BitStore) {
    const { bits, range, stride, k, rule, second } = options;
    this.maximum = counterMaximum(bits);
    this.#options = options;
    this.#scheme = scheme;
    this.#shape = { bits, range, stride, k, first: 0, offset: 0 };
    // The second array uses probes with other numbers, so two keys that collide in one array are
    // independent in the other.
    this.#second = { bits, range: second, stride: 0, k, first: k, offset: range };
    this.#store = store ?? BitStore.allocate(bits * countersIn(options));
    this.#prober = membershipProber(this.#shape);
    this.#addChunk = WASM_POSSIBLE ? chunkAdder(rule) : null;
    this.#countChunk = WASM_POSSIBLE ? (rule === 'recurring' ? recurringCountChunk : countChunk) : null;
  }

  get byteLength(): number {
    return this.#store.wordCount * 4;
  }

  /**
   * Adds an amount; returns the key's least counter before the addition. The halves of the hash are
   * int32.
   */
  add(low: number, high: number, amount: number): number {
    this.#grow(amount);
    const wasm = WASM_POSSIBLE ? this.#enter(low, high, amount) : null;
    if (!WASM_POSSIBLE || wasm === null) return this.#addOutside(low, high, amount);
    this.#addChunk?.(wasm, 1, this.#store.address, this.#shape, this.#options.second);
    return wasm.values[0];
  }

  count(low: number, high: number): number {
    const wasm = WASM_POSSIBLE ? this.#enter(low, high, 0) : null;
    if (!WASM_POSSIBLE || wasm === null) return this.#countOutside(low, high);
    this.#countChunk?.(wasm, 1, this.#store.address, this.#shape, this.#options.second);
    return wasm.values[0];
  }

  has(low: number, high: number): boolean {
    return leastCounter(this.#store.words, this.#shape, low, high) > 0;
  }

  /** Returns false, and changes nothing, if the key was certainly not added that often. */
  subtract(low: number, high: number, amount: number): boolean {
    if (amount > this.total || !this.#subtractOutside(low, high, amount)) return false;
    this.total -= amount;
    return true;
  }

  /**
   * Adds a batch; returns how many keys had a counter of 0, that is, were certainly new. The gauge
   * may refuse one of them; those before it have been added.
   */
  addMany(keys: KeyBatch, counts: Amounts | undefined, gauge?: FillGauge, visit?: VisitAddition): number {
    const { batch, uniform, each } = amountsOf(keys, counts);
    const chunk = this.#addChunk;
    let fresh = 0;
    let whole = true;
    probeBatch(this.#store, batch, this.#scheme, {
      before: (count, at) => {
        whole = gauge?.before(count) ?? true;
        if (whole) this.#grow(each === null ? count * uniform : sum(each, at, at + count));
        return whole;
      },
      inWasm:
        WASM_POSSIBLE && chunk !== null
          ? (wasm, count, address, at) => {
              fillAmounts(wasm, count, uniform, each, at);
              const added = chunk(wasm, count, address, this.#shape, this.#options.second);
              gauge?.after(added);
              fresh += added;
              if (visit === undefined) return;
              for (let i = 0; i < count; i++)
                visit(wasm.values[i], each === null ? uniform : each[at + i], at + i);
            }
          : null,
      outside: (low, high, at) => {
        const amount = each === null ? uniform : each[at];
        if (!whole) {
          if (!gauge?.before(1) && !this.has(low, high)) gauge?.refuse();
          this.#grow(amount);
        }
        const least = this.#addOutside(low, high, amount);
        if (least === 0) {
          gauge?.after(1);
          fresh++;
        }
        visit?.(least, amount, at);
      },
    });
    return fresh;
  }

  countMany(keys: KeyBatch): Float64Array {
    const chunk = this.#countChunk;
    const inWasm =
      WASM_POSSIBLE && chunk !== null
        ? (wasm: WasmKernel, count: number, address: number) =>
            void chunk(wasm, count, address, this.#shape, this.#options.second)
        : null;
    return valueBatch(this.#store, keys, this.#scheme, inWasm, (low, high) => this.#countOutside(low, high));
  }

  hasMany(keys: KeyBatch): Uint8Array {
    return hasBatch(this.#store, this.#prober, keys, this.#scheme);
  }

  /** Subtracts a batch; returns the number of keys for which `subtract` succeeded. */
  subtractMany(keys: KeyBatch, counts: Amounts | undefined): number {
    const { batch, uniform, each } = amountsOf(keys, counts);
    const { rule, second } = this.#options;
    let done = 0;
    probeBatch(this.#store, batch, this.#scheme, {
      inWasm: WASM_POSSIBLE
        ? (wasm, count, address, at) => {
            fillAmounts(wasm, count, uniform, each, at);
            done +=
              rule === 'recurring'
                ? recurringSubtractChunk(wasm, count, address, this.#shape, second, this.total)
                : subtractChunk(wasm, count, address, this.#shape, this.total);
            for (let i = 0; i < count; i++) {
              if (wasm.results[i] === 1) this.total -= each === null ? uniform : each[at + i];
            }
          }
        : null,
      outside: (low, high, at) => {
        if (this.subtract(low, high, each === null ? uniform : each[at])) done++;
      },
    });
    return done;
  }

  /** The number of counters of the first array that are not 0 in at least one of the two. */
  unitedNonZeroCount(other: Counters): number {
    const { bits, range } = this.#options;
    const [mine, theirs] = [this.#store.words, other.#store.words];
    let ones = 0;
    for (let i = 0; i < range; i++) {
      if (readCounter(mine, bits, i) + readCounter(theirs, bits, i) > 0) ones++;
    }
    return ones;
  }

  /** Adds counter by counter, saturating. Both must have the same options and scheme. */
  merge(other: Counters): void {
    const { bits } = this.#options;
    this.#grow(other.total);
    const [mine, theirs] = [this.#store.words, other.#store.words];
    for (let i = countersIn(this.#options) - 1; i >= 0; i--) {
      const sum = readCounter(mine, bits, i) + readCounter(theirs, bits, i);
      writeCounter(mine, bits, i, Math.min(this.maximum, sum));
    }
  }

  equals(other: Counters): boolean {
    const [mine, theirs] = [this.#store.words, other.#store.words];
    return this.total === other.total && mine.every((word, i) => word === theirs[i]);
  }

  copy(): Counters {
    const copy = new Counters(this.#options, this.#scheme, this.#store.copy());
    copy.total = this.total;
    return copy;
  }

  clear(): void {
    this.#store.words.fill(0);
    this.total = 0;
  }

  /** Visits the counters from `from` up to `to`, in order. */
  each(from: number, to: number, visit: (value: number, at: number) => void): void {
    const { bits } = this.#options;
    const { words } = this.#store;
    for (let i = from; i < to; i++) visit(readCounter(words, bits, i), i);
  }

  /** The number of counters of the first array that are not 0. */
  nonZeroCount(): number {
    const { bits, range } = this.#options;
    const { words } = this.#store;
    let ones = 0;
    for (let i = 0; i < range; i++) if (readCounter(words, bits, i) > 0) ones++;
    return ones;
  }

  /** The total as eight bytes, followed by the counters, little-endian. */
  toPayload(): Uint8Array {
    const counters = this.#store.subarray(0, countersLength(this.#options));
    const payload = new Uint8Array(TOTAL_BYTES + counters.length);
    new DataView(payload.buffer).setBigUint64(0, BigInt(this.total), true);
    payload.set(counters, TOTAL_BYTES);
    return payload;
  }

  /**
   * Reads the output of `toPayload`, whose length was checked. Returns a description of what is
   * wrong with it, or undefined.
   */
  setPayload(payload: Uint8Array): string | undefined {
    const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
    const total = view.getBigUint64(0, true);
    if (total > BigInt(Number.MAX_SAFE_INTEGER)) return `a total of ${total}`;
    this.total = Number(total);
    this.#store.setBytes(payload.subarray(TOTAL_BYTES));
    let excess = 0;
    if (this.#options.bits === 64) {
      this.each(0, countersIn(this.#options), (value) => {
        if (value > this.maximum) excess = value;
      });
    }
    return excess > 0 ? `a counter of ${excess}, above ${this.maximum}` : undefined;
  }

  /**
   * The kernel with this key as its chunk, or null if the counters do not live in its memory. A
   * call for one key takes a third of the time of the JavaScript loop.
   */
  #enter(low: number, high: number, amount: number): WasmKernel | null {
    const wasm = wasmKernel();
    if (wasm === null || wasm.admit(this.#store, 1, 0) === 0) return null;
    wasm.hashes[0] = low;
    wasm.hashes[1] = high;
    wasm.values[0] = amount;
    return wasm;
  }

  #addOutside(low: number, high: number, amount: number): number {
    const { words } = this.#store;
    const { rule } = this.#options;
    if (rule === 'sum') return sumInto(words, this.#shape, low, high, amount);
    if (rule === 'raise') return raiseInto(words, this.#shape, low, high, amount);
    return recurringInto(words, this.#shape, this.#second, low, high, amount);
  }

  #countOutside(low: number, high: number): number {
    const { words } = this.#store;
    return this.#options.rule === 'recurring'
      ? recurringCount(words, this.#shape, this.#second, low, high)
      : leastCounter(words, this.#shape, low, high);
  }

  #subtractOutside(low: number, high: number, amount: number): boolean {
    const { words } = this.#store;
    return this.#options.rule === 'recurring'
      ? recurringFrom(words, this.#shape, this.#second, low, high, amount)
      : subtractFrom(words, this.#shape, low, high, amount);
  }

  /** Adds to the total. Throws before anything changed if the total would become inexact. */
  #grow(amount: number): void {
    if (!(this.total + amount <= Number.MAX_SAFE_INTEGER)) {
      throw new RangeError(
        `Cannot add keys: expected a total of at most 2^53 - 1, got ${this.total} + ${amount}`,
      );
    }
    this.total += amount;
  }
}

function countersIn({ range, stride, k, second }: CountersOptions): number {
  return (stride === 0 ? range : stride * k) + second;
}

function countersLength(options: CountersOptions): number {
  return (countersIn(options) * options.bits) / 8;
}

type ChunkLoop<Result> = (
  wasm: WasmKernel,
  count: number,
  address: number,
  shape: SketchShape,
  second: number,
) => Result;

function chunkAdder(rule: CounterRule): ChunkLoop<number> {
  return rule === 'sum' ? sumChunk : rule === 'raise' ? raiseChunk : recurringSumChunk;
}

function fillAmounts(
  wasm: WasmKernel,
  count: number,
  uniform: number,
  each: Float64Array | null,
  at: number,
): void {
  if (each === null) wasm.values.fill(uniform, 0, count);
  else wasm.values.set(each.subarray(at, at + count));
}

function sum(numbers: Float64Array, from: number, to: number): number {
  let total = 0;
  for (let i = from; i < to; i++) total += numbers[i];
  return total;
}

/** For `hasBatch`, which looks up and never adds. */
function membershipProber(shape: SketchShape): Prober {
  return {
    has: (words, low, high) => leastCounter(words, shape, low, high) > 0,
    add: () => false,
    inWasm: WASM_POSSIBLE
      ? {
          hasKey: () => -1,
          has: (wasm, count, address) => countChunk(wasm, count, address, shape),
          add: () => 0,
        }
      : null,
  };
}
