import { withEffort } from '@bloomery/testkit/effort';
import { Random } from '@bloomery/testkit/statistics';
import { describe, expect, test } from 'vitest';
import { referenceIndex } from '../../../test/reference.ts';
import { BitStore } from '../bits/bit-store.ts';
import { useKernel, wasmKernel } from '../wasm/kernel-choice.ts';
import type { WasmKernel } from '../wasm/wasm-kernel.ts';
import {
  counterMaximum,
  leastCounter,
  raiseInto,
  readCounter,
  recurringCount,
  recurringFrom,
  recurringInto,
  type SketchCounterBits,
  type SketchShape,
  subtractFrom,
  sumInto,
  writeCounter,
} from './sketches.ts';
import {
  countChunk,
  raiseChunk,
  recurringCountChunk,
  recurringSubtractChunk,
  recurringSumChunk,
  subtractChunk,
  sumChunk,
} from './sketches-wasm.ts';

const WIDTHS: readonly SketchCounterBits[] = [8, 16, 32, 64];

/**
 * The definition: plain numbers, sets of indices, one rule a method. Shares no code with the
 * kernels.
 */
class Model {
  readonly cells: number[];
  readonly shape: SketchShape;
  readonly second: SketchShape;

  constructor(shape: SketchShape, second: SketchShape) {
    this.shape = shape;
    this.second = second;
    this.cells = new Array(Math.max(shape.stride * shape.k, shape.range) + second.range).fill(0);
  }

  own({ range, stride, k, first, offset }: SketchShape, hash: bigint): number[] {
    const own = new Set<number>();
    for (let i = 0; i < k; i++) own.add(offset + i * stride + referenceIndex(hash, first + i, range));
    return [...own];
  }

  get maximum(): number {
    return this.shape.bits === 64 ? 2 ** 53 - 1 : 2 ** this.shape.bits - 1;
  }

  least(shape: SketchShape, hash: bigint): number {
    return Math.min(...this.own(shape, hash).map((at) => this.cells[at]));
  }

  sum(shape: SketchShape, hash: bigint, amount: number): number {
    const before = this.least(shape, hash);
    for (const at of this.own(shape, hash)) this.cells[at] = Math.min(this.maximum, this.cells[at] + amount);
    return before;
  }

  raise(hash: bigint, amount: number): number {
    const before = this.least(this.shape, hash);
    const target = Math.min(this.maximum, before + amount);
    for (const at of this.own(this.shape, hash)) this.cells[at] = Math.max(this.cells[at], target);
    return before;
  }

  subtract(shape: SketchShape, hash: bigint, amount: number): boolean {
    const own = this.own(shape, hash).filter((at) => this.cells[at] !== this.maximum);
    if (own.some((at) => this.cells[at] < amount)) return false;
    for (const at of own) this.cells[at] -= amount;
    return true;
  }

  recurs(hash: bigint): boolean {
    const least = this.least(this.shape, hash);
    return this.own(this.shape, hash).filter((at) => this.cells[at] === least).length > 1;
  }

  recurringCount(hash: bigint): number {
    const least = this.least(this.shape, hash);
    const moved = this.least(this.second, hash);
    return this.recurs(hash) || moved === 0 ? least : Math.min(least, moved);
  }

  recurringSum(hash: bigint, amount: number): number {
    const before = this.sum(this.shape, hash, amount);
    if (amount === 0) return before;
    if (this.least(this.second, hash) > 0) this.sum(this.second, hash, amount);
    else if (!this.recurs(hash)) this.sum(this.second, hash, this.least(this.shape, hash));
    return before;
  }

  recurringSubtract(hash: bigint, amount: number): boolean {
    if (!this.subtract(this.shape, hash, amount)) return false;
    if (this.least(this.second, hash) > 0) this.subtract(this.second, hash, amount);
    return true;
  }
}

const LAYOUTS = {
  rows: (bits: SketchCounterBits, k: number) => ({ bits, range: 11, stride: 11, k, first: 0, offset: 0 }),
  'one array': (bits: SketchCounterBits, k: number) => ({
    bits,
    range: 37,
    stride: 0,
    k,
    first: 0,
    offset: 0,
  }),
};

describe.each(WIDTHS)('counters of %i bits', (bits) => {
  test('are read as they were written, and leave their neighbours alone', () => {
    const random = new Random(bits);
    const words = new Uint32Array(40);
    const model = new Array<number>((32 * words.length) / bits).fill(0);
    for (let step = 0; step < 2000; step++) {
      const at = random.below(model.length);
      const value = random.pick([0, 1, counterMaximum(bits), random.below(counterMaximum(bits))]);
      writeCounter(words, bits, at, value);
      model[at] = value;
      if (step % 50 === 0) expect(model.map((_, i) => readCounter(words, bits, i))).toEqual(model);
    }
    // Little-endian, counter after counter: what the frame says.
    const bytes = new DataView(words.buffer);
    model.forEach((value, i) => {
      let read = 0;
      for (let b = bits / 8 - 1; b >= 0; b--) read = read * 256 + bytes.getUint8((i * bits) / 8 + b);
      expect(read).toBe(value);
    });
  });

  for (const [layout, make] of Object.entries(LAYOUTS)) {
    for (const rule of ['sum', 'raise', 'recurring'] as const) {
      if (rule === 'recurring' && (bits === 64 || layout === 'rows')) continue;
      test(`${rule} in ${layout}: both kernels and the definition agree after every step`, () => {
        useKernel('wasm');
        const wasm = wasmKernel()!;
        const maximum = counterMaximum(bits);
        for (const k of [1, 2, 5, 9]) {
          const random = new Random(100 * bits + k);
          const shape: SketchShape = make(bits, k);
          const range2 = rule === 'recurring' ? 19 : 0;
          const second = { bits, range: range2, stride: 0, k, first: k, offset: shape.range };
          const model = new Model(shape, second);
          const store = BitStore.allocate(bits * model.cells.length);
          const words = new Uint32Array(store.wordCount);
          const address = wasm.admit(store, 1e6, 1e6);
          expect(address).toBeGreaterThan(0);
          const three = threeWays(rule, model, words, { wasm, address, range2 });
          const known = Array.from({ length: 25 }, () => [random.bits(), random.bits()] as const);
          for (let step = 0; step < withEffort(30, 30); step++) {
            // Few keys: the same one occurs several times in a chunk.
            const keys = Array.from({ length: 1 + random.below(40) }, () => random.pick(known));
            const large = random.pick([maximum, random.below(maximum)]);
            const amounts = keys.map(() =>
              random.pick([0, 1, 1, 2, 7, random.below(200), step > 20 ? large : 3]),
            );
            if (step === 20) amounts[0] = maximum;
            wasm.hashes.set(keys.flat());
            wasm.values.set(amounts);
            const command = step === 20 ? 1 : random.below(rule === 'raise' ? 2 : 3);
            if (command === 0) {
              three.countChunk(keys.length);
              for (const [i, key] of keys.entries()) {
                const expected = three.count.model(key);
                expect(wasm.values[i]).toBe(expected);
                expect(three.count.javascript(key)).toBe(expected);
                if (rule !== 'recurring') expect(wasm.results[i]).toBe(expected > 0 ? 1 : 0);
              }
            } else if (command === 1) {
              const fresh = three.addChunk(keys.length);
              let zeros = 0;
              for (const [i, key] of keys.entries()) {
                const before = three.add.model(key, amounts[i]);
                expect(wasm.values[i]).toBe(before);
                expect(three.add.javascript(key, amounts[i])).toBe(before);
                if (before === 0) zeros++;
              }
              expect(fresh).toBe(zeros);
            } else {
              let rest = step % 3 === 0 ? 1000 : maximum;
              const done = three.subtractChunk(keys.length, rest);
              let could = 0;
              for (const [i, key] of keys.entries()) {
                const did = amounts[i] <= rest && three.subtract.model(key, amounts[i]);
                expect(wasm.results[i]).toBe(did ? 1 : 0);
                if (amounts[i] <= rest) expect(three.subtract.javascript(key, amounts[i])).toBe(did);
                if (!did) continue;
                rest -= amounts[i];
                could++;
              }
              expect(done).toBe(could);
            }
            expect(model.cells.map((_, i) => readCounter(words, bits, i))).toEqual(model.cells);
            expect(store.words).toEqual(words);
          }
          expect(model.cells).toContain(maximum); // saturation was met on the way
        }
        useKernel('auto');
      });
    }
  }
});

type Halves = readonly [low: number, high: number];

/** One rule: in the model, in JavaScript and, by the chunk, in WebAssembly. */
function threeWays(
  rule: 'sum' | 'raise' | 'recurring',
  model: Model,
  words: Uint32Array,
  { wasm, address, range2 }: { wasm: WasmKernel; address: number; range2: number },
) {
  const { shape, second } = model;
  const hash = ([a, b]: Halves) => (BigInt(b >>> 0) << 32n) | BigInt(a >>> 0);
  if (rule === 'recurring') {
    return {
      count: {
        model: (key: Halves) => model.recurringCount(hash(key)),
        javascript: ([a, b]: Halves) => recurringCount(words, shape, second, a, b),
      },
      add: {
        model: (key: Halves, amount: number) => model.recurringSum(hash(key), amount),
        javascript: ([a, b]: Halves, amount: number) => recurringInto(words, shape, second, a, b, amount),
      },
      subtract: {
        model: (key: Halves, amount: number) => model.recurringSubtract(hash(key), amount),
        javascript: ([a, b]: Halves, amount: number) => recurringFrom(words, shape, second, a, b, amount),
      },
      countChunk: (count: number) => recurringCountChunk(wasm, count, address, shape, range2),
      addChunk: (count: number) => recurringSumChunk(wasm, count, address, shape, range2),
      subtractChunk: (count: number, total: number) =>
        recurringSubtractChunk(wasm, count, address, shape, range2, total),
    };
  }
  const [add, addChunk] = rule === 'sum' ? [sumInto, sumChunk] : [raiseInto, raiseChunk];
  return {
    count: {
      model: (key: Halves) => model.least(shape, hash(key)),
      javascript: ([a, b]: Halves) => leastCounter(words, shape, a, b),
    },
    add: {
      model: (key: Halves, amount: number) =>
        rule === 'sum' ? model.sum(shape, hash(key), amount) : model.raise(hash(key), amount),
      javascript: ([a, b]: Halves, amount: number) => add(words, shape, a, b, amount),
    },
    subtract: {
      model: (key: Halves, amount: number) => model.subtract(shape, hash(key), amount),
      javascript: ([a, b]: Halves, amount: number) => subtractFrom(words, shape, a, b, amount),
    },
    countChunk: (count: number) => countChunk(wasm, count, address, shape),
    addChunk: (count: number) => addChunk(wasm, count, address, shape),
    subtractChunk: (count: number, total: number) => subtractChunk(wasm, count, address, shape, total),
  };
}

test('indices beyond 2^32 counters of 8 bits stay exact in JavaScript', () => {
  const at = 2 ** 32 + 5;
  // Only the arithmetic is asked: a sparse stand-in for 4 GiB of words.
  const words: Record<number, number> = {};
  writeCounter(words as unknown as Uint32Array, 8, at, 0x7f);
  expect(words).toEqual({ [2 ** 30 + 1]: 0x7f00 });
  expect(readCounter(words as unknown as Uint32Array, 8, at)).toBe(0x7f);
});
