import { withEffort } from '@bloomery/testkit/effort';
import { expectBinomial, expectNormal, Random } from '@bloomery/testkit/statistics';
import { describe, expect, test } from 'vitest';
import { codecContract } from '../../../test/contracts/codec.ts';
import { type CodecSubject, inBothKernels } from '../../../test/contracts/subject.ts';
import { awkwardStrings, counterKeys } from '../../../test/keys.ts';
import { referenceForge64, referenceIndex } from '../../../test/reference.ts';
import { FrameError } from '../../frames/envelope.ts';
import { SecretKey } from '../../hashing/secret-key.ts';
import { hashKey } from '../../kernel/batches/hash-key.ts';
import { hashKeys } from '../../kernel/batches/hash-keys.ts';
import { useKernel } from '../../kernel/wasm/kernel-choice.ts';
import { type Key, keyBytes } from '../../keys/key.ts';
import { packKeys } from '../../keys/packed-keys.ts';
import { textEncoder } from '../../keys/platform.ts';
import { countMinErrorBound, countMinExactRate } from '../../math/sketches/count-min.ts';
import { countEstimate } from './count-min-estimate.ts';
import { type CountMinOptions, CountMinSketch, type CountMinUpdate } from './count-min-sketch.ts';

const UPDATES = ['plain', 'conservative'] as const;

/** The counters, read off the frame: rows of numbers. */
function rowsOf(sketch: CountMinSketch): number[][] {
  const bytes = sketch.encode();
  const view = new DataView(bytes.buffer);
  const size = sketch.counterBits / 8;
  return Array.from({ length: sketch.depth }, (_, row) =>
    Array.from({ length: sketch.width }, (_, column) => {
      const at = 16 + 7 + 8 + size * (row * sketch.width + column);
      return size === 4 ? view.getUint32(at, true) : Number(view.getBigUint64(at, true));
    }),
  );
}

/** The columns of a key, by the definition. */
function columnsOf(sketch: CountMinSketch, key: Key): number[] {
  const hash = referenceForge64(keyBytes(key), sketch.scheme.seed);
  return Array.from({ length: sketch.depth }, (_, row) => referenceIndex(hash, row, sketch.width));
}

/** A stream of key numbers after Zipf's law: key r with a weight of 1/(r + 1)^s. */
function zipf(length: number, keys: number, s: number, seed: number): Uint32Array {
  const random = new Random(seed);
  const sums = new Float64Array(keys);
  let sum = 0;
  for (let r = 0; r < keys; r++) sums[r] = sum += (r + 1) ** -s;
  return Uint32Array.from({ length }, () => {
    const u = ((random.bits() >>> 0) / 2 ** 32) * sum;
    let low = 0;
    for (let high = keys - 1; low < high; ) {
      const middle = (low + high) >> 1;
      if (sums[middle] < u) low = middle + 1;
      else high = middle;
    }
    return low;
  });
}

function subject(options: Pick<CountMinOptions, 'update' | 'counterBits'>): CodecSubject<CountMinSketch> {
  return {
    name: `CountMinSketch, ${options.update}, ${options.counterBits} bits`,
    seedable: true,
    build: (keys, { falsePositiveRate: _, ...hash }) => {
      const sketch = new CountMinSketch({
        ...options,
        ...hash,
        width: Math.min(600, Math.ceil(keys.length / 3)),
        depth: 4,
      });
      sketch.addMany(keys);
      return sketch;
    },
    decode: (bytes, o) => CountMinSketch.decode(bytes, o as object),
    answers: (sketch, keys) => [...sketch.countMany(keys)],
  };
}

codecContract(subject({ update: 'plain', counterBits: 32 }), {
  hex: '424c4d59010500010000000000000000070000000004201400000000000000040000000300000002000000030000000300000003000000020000000100000004000000030000000200000001000000060000000300000002000000030000000200000004000000040000000300000002000000040000000500000001000000010000000400000002000000030000003ad983b4',
  falsePositives: [0, 2, 3, 4, 6, 7, 8, 10, 11, 12],
});
codecContract(subject({ update: 'conservative', counterBits: 64 }), {
  hex: '424c4d5901050101000000000000000007000000000440140000000000000002000000000000000200000000000000020000000000000002000000000000000200000000000000010000000000000002000000000000000100000000000000020000000000000002000000000000000200000000000000010000000000000002000000000000000100000000000000020000000000000002000000000000000200000000000000020000000000000002000000000000000200000000000000020000000000000002000000000000000200000000000000010000000000000001000000000000000200000000000000020000000000000002000000000000007a4fde97',
  falsePositives: [0, 2, 3, 4, 6, 7, 8, 10, 11, 12],
});

describe.each(UPDATES)('%s', (update) => {
  inBothKernels(`CountMinSketch, ${update}`, () => {
    test('the counters are those of the definition', () => {
      const random = new Random(5);
      for (const depth of [1, 3, 8]) {
        const sketch = new CountMinSketch({ width: 29, depth, update, seed: 77 });
        const model = Array.from({ length: depth }, () => new Array<number>(29).fill(0));
        const keys = awkwardStrings(60, 3);
        const stream = Array.from({ length: 400 }, () => random.pick(keys));
        const counts = stream.map(() => random.below(9));
        sketch.addMany(stream.slice(0, 300), counts.slice(0, 300));
        for (let i = 300; i < 400; i++) sketch.add(stream[i], counts[i]);
        for (const [i, key] of stream.entries()) {
          const columns = columnsOf(sketch, key);
          const least = Math.min(...columns.map((column, row) => model[row][column]));
          for (const [row, column] of columns.entries()) {
            const old = model[row][column];
            model[row][column] = update === 'plain' ? old + counts[i] : Math.max(old, least + counts[i]);
          }
        }
        expect(rowsOf(sketch)).toEqual(model);
        expect(sketch.total).toBe(counts.reduce((a, b) => a + b));
      }
    });

    test('every way in gives the same sketch, with one count and with one a key', () => {
      const text = textEncoder();
      const lines = awkwardStrings(1500, 3).map((line) => line.replaceAll('\n', '_'));
      lines.push(...lines.slice(0, 500)); // twice, also within a chunk
      lines[1600] = lines[1599];
      const counts = lines.map((_, i) => (i * i) % 17);
      const make = () => new CountMinSketch({ width: 500, depth: 4, update, seed: 9 });
      const { scheme } = make();
      for (const amounts of [undefined, 3, Uint8Array.from(counts)]) {
        const amount = (i: number) => (typeof amounts === 'object' ? amounts[i] : amounts);
        const waysIn: ((sketch: CountMinSketch) => void)[] = [
          (s) => lines.forEach((key, i) => void s.add(key, amount(i))),
          (s) => lines.forEach((key, i) => void s.addHash(hashKey(key, scheme), amount(i))),
          (s) => s.addMany(lines, amounts),
          (s) => s.addMany(lines.values(), amounts),
          (s) =>
            s.addMany(
              lines.map((line) => text.encode(line)),
              amounts,
            ),
          (s) => s.addMany(packKeys(lines), amounts),
          (s) => s.addMany({ lines: text.encode(lines.join('\n')) }, amounts),
          (s) => s.addMany({ lines: text.encode(`${lines.join('\n')}\n`) }, amounts),
          (s) => s.addMany(hashKeys(lines, scheme), amounts),
        ];
        const sketches = waysIn.map((add) => {
          const sketch = make();
          add(sketch);
          return sketch;
        });
        for (const [way, sketch] of sketches.entries()) {
          expect(sketch.equals(sketches[0]), `way ${way}`).toBe(true);
          expect(sketch.total).toBe(lines.reduce((sum, _, i) => sum + (amount(i) ?? 1), 0));
        }
        const [first] = sketches;
        const asked = [...first.countMany(lines)];
        expect(asked).toEqual(lines.map((key) => first.count(key)));
        expect(asked).toEqual(lines.map((key) => first.countHash(hashKey(key, scheme))));
        expect([...first.countMany(packKeys(lines))]).toEqual(asked);
        expect([...first.countMany(lines.values())]).toEqual(asked);
      }
    });

    test('add returns the new count, addMany how many keys were certainly new', () => {
      const sketch = new CountMinSketch({ width: 1000, depth: 4, update });
      expect(sketch.add('a')).toBe(1);
      expect(sketch.add('a', 4)).toBe(5);
      expect(sketch.add('a', 0)).toBe(5);
      expect(sketch.addHash(hashKey('a'), 2)).toBe(7);
      expect([sketch.count('a'), sketch.count('b'), sketch.total]).toEqual([7, 0, 7]);
      expect(sketch.addMany(['a', 'b', 'c', 'b'])).toBe(2);
      expect(sketch.addMany([])).toBe(0);
    });

    test('against a Map: thousands of random commands', () => {
      const random = new Random(41);
      let sketch = new CountMinSketch({ width: 64, depth: 4, update });
      const truth = new Map<string, number>();
      let total = 0;
      const put = (key: string, count: number) => {
        truth.set(key, (truth.get(key) ?? 0) + count);
        total += count;
      };
      const name = () => `key ${random.below(150)}`;
      for (let step = 0; step < withEffort(10_000); step++) {
        const key = name();
        const command = random.below(100);
        const count = random.below(20);
        if (command < 35) {
          put(key, count);
          expect(sketch.add(key, count)).toBeGreaterThanOrEqual(truth.get(key)!);
        } else if (command < 45) {
          const keys = Array.from({ length: random.below(20) }, name);
          const counts = keys.map(() => random.below(9));
          keys.forEach((k, i) => void put(k, counts[i]));
          sketch.addMany(keys, counts);
        } else if (command < 60 && update === 'plain') {
          const most = truth.get(key) ?? 0;
          const amount = random.below(most + 1);
          expect(sketch.subtract(key, amount)).toBe(true);
          put(key, -amount);
        } else if (command < 64 && update === 'plain') {
          const keys = [...new Set(Array.from({ length: 8 }, name))];
          const amounts = keys.map((k) => random.below((truth.get(k) ?? 0) + 1));
          expect(sketch.subtractMany(keys, amounts)).toBe(keys.length);
          keys.forEach((k, i) => void put(k, -amounts[i]));
        } else if (command < 65 && update === 'plain') {
          const before = sketch.encode();
          const excess = sketch.count(key) + 1;
          expect(sketch.subtract(key, excess)).toBe(false);
          expect(sketch.subtractMany([key, key], excess)).toBe(0);
          expect(sketch.encode()).toEqual(before);
        } else if (command < 66) {
          sketch = CountMinSketch.decode(sketch.encode());
        } else if (command < 67) {
          const other = new CountMinSketch({ width: 64, depth: 4, update });
          other.addMany([key, key, 'x'], 2);
          put(key, 4);
          put('x', 2);
          sketch = random.below(2) ? sketch.union(other) : sketch.copy().merge(other);
        } else if (command < 68 && random.below(30) === 0) {
          sketch.clear();
          truth.clear();
          total = 0;
        } else {
          expect(sketch.count(key)).toBeGreaterThanOrEqual(truth.get(key) ?? 0);
        }
        expect(sketch.total).toBe(total);
      }
      for (const [key, count] of truth) expect(sketch.count(key)).toBeGreaterThanOrEqual(count);
    });

    test.each([32, 64] as const)('counters of %i bits saturate, and say so', (counterBits) => {
      const maximum = counterBits === 32 ? 2 ** 32 - 1 : 2 ** 53 - 1;
      const sketch = new CountMinSketch({ width: 50, depth: 3, update, counterBits });
      expect(sketch.maximum).toBe(maximum);
      expect(sketch.add('heavy', maximum - 5)).toBe(maximum - 5);
      expect(countEstimate(sketch, 'heavy').high).toBe(maximum - 5);
      if (counterBits === 64) {
        expect(() => sketch.add('heavy', 6)).toThrow(
          /a total of at most 2\^53 - 1, got 90071992547409\d\d \+ 6/,
        );
        expect(() => sketch.addMany(['a', 'b'], 3)).toThrow(RangeError);
        expect(() => sketch.merge(sketch)).toThrow(RangeError);
        expect(sketch.total).toBe(maximum - 5);
        expect(sketch.add('heavy', 5)).toBe(maximum);
      } else {
        sketch.addMany(['heavy', 'heavy'], [3, 2 ** 40]);
      }
      expect(sketch.count('heavy')).toBe(maximum);
      expect(countEstimate(sketch, 'heavy').high).toBe(Number.POSITIVE_INFINITY);
      const again = CountMinSketch.decode(sketch.encode());
      expect(again.equals(sketch)).toBe(true);
      if (update === 'conservative') return;
      // What a saturated counter has missed is unknown: it stays.
      expect(sketch.subtract('heavy', 1000)).toBe(true);
      expect(sketch.count('heavy')).toBe(maximum);
      expect(sketch.innerProduct(sketch)).toBe(Number.POSITIVE_INFINITY);
      expect(CountMinSketch.decode(sketch.encode()).equals(sketch)).toBe(true);
      // But more than everything was certainly not there.
      expect(sketch.subtract('heavy', sketch.total)).toBe(true);
      expect(sketch.total).toBe(0);
      expect(sketch.subtract('heavy')).toBe(false);
      expect(sketch.subtractMany(['heavy'])).toBe(0);
    });

    test('both streams: merge and union', () => {
      const left = zipf(3000, 400, 1, 1);
      const right = zipf(5000, 400, 1, 2);
      const make = (...streams: Uint32Array[]) => {
        const sketch = new CountMinSketch({ width: 60, depth: 4, update, seed: 3 });
        for (const stream of streams) sketch.addMany([...stream]);
        return sketch;
      };
      const [a, b] = [make(left), make(right)];
      const both = make(left, right);
      const sum = a.union(b);
      expect(sum.total).toBe(8000);
      expect(b.union(a).equals(sum)).toBe(true);
      expect(sum.equals(both)).toBe(update === 'plain');
      expect(a.equals(make(left))).toBe(true); // left alone
      const plain = new CountMinSketch({ width: 60, depth: 4, seed: 3 });
      plain.addMany([...left, ...right]);
      const truth = new Float64Array(400);
      for (const key of [...left, ...right]) truth[key]++;
      for (let key = 0; key < 400; key++) {
        expect(sum.count(key)).toBeGreaterThanOrEqual(truth[key]);
        expect(sum.count(key)).toBeLessThanOrEqual(plain.count(key));
      }
      expect(a.merge(b)).toBe(a);
      expect(a.equals(sum)).toBe(true);
      a.merge(a);
      expect(a.total).toBe(16_000);
      expect(a.count(0)).toBe(2 * sum.count(0));
    });

    test('the miss rate keeps to delta, and the interval to its confidence', () => {
      // 10,000 answers of 50 sketches with seeds of their own. Markov's bound is far from tight, so
      // one side is all it has.
      const stream = zipf(4000, 600, 0.8, 7);
      const truth = new Float64Array(600);
      for (const key of stream) truth[key]++;
      const keys = Array.from(stream);
      let [misses, outside, asked] = [0, 0, 0];
      for (let seed = 0; seed < withEffort(50); seed++) {
        const sketch = CountMinSketch.forError({ epsilon: 0.05, delta: 0.05, update, seed });
        sketch.addMany(keys);
        for (let key = 0; key < 600; key += 3) {
          asked++;
          const { value, low, high } = countEstimate(sketch, key, { confidence: 0.9 });
          expect(value >= truth[key] && high === value && low <= value).toBe(true);
          if (value > truth[key] + 0.05 * 4000) misses++;
          if (low > truth[key]) outside++;
        }
      }
      const sigmas = (observed: number, p: number) => (observed - asked * p) / Math.sqrt(asked * p * (1 - p));
      expect(sigmas(misses, 0.05)).toBeLessThan(5);
      expect(sigmas(outside, 0.1)).toBeLessThan(5);
    });
  });
});

inBothKernels('CountMinSketch: statistics', () => {
  test('the error of a row is (N - f)/width on the average', () => {
    // One key per seed, so the trials are independent. Each other key collides with it with
    // probability 1/w.
    const width = 50;
    const others = Array.from({ length: 120 }, (_, i) => 1 + ((i * i) % 40));
    const trials = withEffort(2000);
    let excess = 0;
    for (let seed = 0; seed < trials; seed++) {
      const sketch = new CountMinSketch({ width, depth: 1, seed });
      sketch.addMany(
        others.map((_, i) => i),
        others,
      );
      excess += sketch.add('asked', 10) - 10;
    }
    const mean = others.reduce((a, b) => a + b) / width;
    const variance = others.reduce((sum, f) => sum + f * f, 0) * (1 / width) * (1 - 1 / width);
    expectNormal(excess, trials * mean, Math.sqrt(trials * variance), 'excess of one row');
  });

  test.each(UPDATES)('%s: an answer is exact as often as the formula says', (update) => {
    // For the last key of a stream both ways to update answer the same: rows without a collision
    // are exact in both.
    const trials = withEffort(1500);
    for (const [width, depth, others] of [
      [40, 3, 50],
      [100, 5, 100],
      [7, 8, 12],
    ]) {
      let exact = 0;
      const keys = counterKeys(others);
      for (let seed = 0; seed < trials; seed++) {
        const sketch = new CountMinSketch({ width, depth, update, seed });
        sketch.addMany(keys);
        if (sketch.add('asked', 2) === 2) exact++;
      }
      expectBinomial(exact, trials, countMinExactRate({ width, depth }, others), `${width} x ${depth}`);
    }
  });

  test('conservative is never worse, key by key, and much better on a Zipf stream', () => {
    const stream = Array.from(zipf(200_000, 20_000, 1, 11));
    const truth = new Float64Array(20_000);
    for (const key of stream) truth[key]++;
    const make = (update: CountMinUpdate) => {
      const sketch = CountMinSketch.forError({ epsilon: 0.001, delta: 0.01, update, seed: 1 });
      sketch.addMany(stream);
      return sketch.countMany(Array.from(truth, (_, key) => key));
    };
    const [plain, conservative] = UPDATES.map(make);
    let [plainError, conservativeError] = [0, 0];
    for (let key = 0; key < truth.length; key++) {
      expect(conservative[key]).toBeGreaterThanOrEqual(truth[key]);
      expect(conservative[key]).toBeLessThanOrEqual(plain[key]);
      plainError += plain[key] - truth[key];
      conservativeError += conservative[key] - truth[key];
    }
    // The stream and the seed are fixed, so these are figures: 11.16 and 5.44, the mean excesses of
    // a count.
    expect(plainError / 20_000).toBeCloseTo(11.163, 3);
    expect(conservativeError / 20_000).toBeCloseTo(5.44, 3);
  });
});

describe('CountMinSketch', () => {
  test('figure 2 of the survey: 4 new bytes raise the counters to 6 and no further', () => {
    // Counters of 3, 2, 9 and 5 by other flows: this one can have had 2 bytes at most.
    const before = [3, 2, 9, 5];
    const build = (update: CountMinUpdate) => {
      const sketch = new CountMinSketch({ width: 64, depth: 4, update });
      const own = columnsOf(sketch, 'flow');
      const taken = [new Set<number>(), new Set<number>(), new Set<number>(), new Set<number>()];
      let candidate = 0;
      for (const [row, bytes] of before.entries()) {
        // Another flow that shares just this one counter, and none with the flows before it.
        for (; ; candidate++) {
          const columns = columnsOf(sketch, candidate);
          const shares = columns.map((column, r) => column === own[r]);
          if (shares.filter(Boolean).length === 1 && shares[row] && !columns.some((c, r) => taken[r].has(c)))
            break;
        }
        sketch.add(candidate, bytes);
        columnsOf(sketch, candidate).forEach((column, r) => void taken[r].add(column));
      }
      return { sketch, read: () => own.map((column, row) => rowsOf(sketch)[row][column]) };
    };
    const { sketch, read } = build('conservative');
    expect(read()).toEqual(before);
    expect(sketch.count('flow')).toBe(2);
    expect(sketch.add('flow', 4)).toBe(6);
    expect(read()).toEqual([6, 6, 9, 6]);
    const plain = build('plain');
    expect(plain.sketch.add('flow', 4)).toBe(6);
    expect(plain.read()).toEqual([7, 6, 13, 9]);
  });

  test('the kernels write the same bytes', () => {
    const keys = awkwardStrings(5000, 12);
    const counts = keys.map((_, i) => (i % 7) * 2 ** (i % 30));
    for (const update of UPDATES) {
      for (const counterBits of [32, 64] as const) {
        const [wasm, javascript] = (['wasm', 'javascript'] as const).map((kernel) => {
          useKernel(kernel);
          const sketch = new CountMinSketch({
            width: 777,
            depth: 6,
            update,
            counterBits,
            seed: 2n ** 64n - 1n,
          });
          sketch.addMany(keys, counts);
          sketch.addMany(keys.slice(1000));
          if (update === 'plain') sketch.subtractMany(keys.slice(500), counts.slice(500));
          return sketch.encode();
        });
        useKernel('auto');
        expect(wasm).toEqual(javascript);
      }
    }
  });

  test('inner product: never below the join size, and within epsilon·N·N of it', () => {
    const left = zipf(6000, 500, 1, 21);
    const right = zipf(9000, 500, 0.5, 22);
    const count = (stream: Uint32Array) => {
      const counts = new Float64Array(500);
      for (const key of stream) counts[key]++;
      return counts;
    };
    const [f, g] = [count(left), count(right)];
    const truth = f.reduce((sum, value, i) => sum + value * g[i], 0);
    let misses = 0;
    const trials = withEffort(100);
    for (let seed = 0; seed < trials; seed++) {
      const make = (stream: Uint32Array) => {
        const sketch = CountMinSketch.forError({ epsilon: 0.02, delta: 0.05, seed });
        sketch.addMany([...stream]);
        return sketch;
      };
      const [a, b] = [make(left), make(right)];
      const product = a.innerProduct(b);
      expect(product).toBeGreaterThanOrEqual(truth);
      expect(b.innerProduct(a)).toBe(product);
      if (seed < 3) {
        const [mine, theirs] = [rowsOf(a), rowsOf(b)];
        const products = mine.map((row, r) => row.reduce((sum, value, i) => sum + value * theirs[r][i], 0));
        expect(product).toBe(Math.min(...products));
      }
      if (product > truth + 0.02 * 6000 * 9000) misses++;
    }
    expect((misses - 0.05 * trials) / Math.sqrt(trials * 0.05 * 0.95)).toBeLessThan(5);
  });

  test('inner product: beyond 2^53 it is rounded upwards', () => {
    const random = new Random(8);
    for (let round = 0; round < 50; round++) {
      const make = () => {
        const sketch = new CountMinSketch({ width: 40, depth: 2, counterBits: 64, seed: 5 });
        for (let key = 0; key < 100; key++) sketch.add(key, random.below(2 ** 45));
        return sketch;
      };
      const [a, b] = [make(), make()];
      const [mine, theirs] = [rowsOf(a), rowsOf(b)];
      const exact = mine.map((row, r) =>
        row.reduce((sum, value, i) => sum + BigInt(value) * BigInt(theirs[r][i]), 0n),
      );
      const [least] = exact.sort((x, y) => (x < y ? -1 : 1));
      const product = a.innerProduct(b);
      expect(BigInt(product) >= least).toBe(true);
      expect(product).toBeLessThan(Number(least) * (1 + 1e-12));
    }
  });

  test('inner product of conservative sketches would be below the truth, so there is none', () => {
    // Two keys that share a counter in the first of two rows: it says 1 where a sum would say 2.
    const sketch = new CountMinSketch({ width: 8, depth: 2, update: 'conservative' });
    const [first, second] = columnsOf(sketch, 0);
    let other = 1;
    for (; ; other++) {
      const [a, b] = columnsOf(sketch, other);
      if (a === first && b !== second) break;
    }
    sketch.addMany([0, other]);
    const squares = rowsOf(sketch).map((row) => row.reduce((sum, value) => sum + value * value, 0));
    expect(squares).toEqual([1, 2]); // the least is below 1 + 1
    expect(() => sketch.innerProduct(sketch)).toThrow(
      /Cannot take the inner product with conservative update/,
    );
  });

  test('the interval: known answers', () => {
    const sketch = new CountMinSketch({ width: 100, depth: 2 });
    sketch.add('a', 1000);
    sketch.add('b', 50);
    // (1050/100) · 0.01^(-1/2) = 105
    expect(countEstimate(sketch, 'a', { confidence: 0.99 })).toEqual({ value: 1000, low: 895, high: 1000 });
    expect(countEstimate(sketch, 'b', { confidence: 0.99 })).toEqual({ value: 50, low: 0, high: 50 });
    const { low } = countEstimate(sketch, 'a', { confidence: 1 - sketch.delta });
    expect(low).toBe(Math.ceil(1000 - sketch.epsilon * sketch.total));
    expect(countEstimate(sketch, 'a').low).toBe(Math.ceil(1000 - countMinErrorBound(sketch, 1050, 0.95)));
    expect(() => countEstimate(sketch, 'a', { confidence: 1 })).toThrow(/confidence/);
  });

  test('parameters, in words and in errors', () => {
    const sketch = CountMinSketch.forError({ epsilon: 0.001, delta: 0.01 });
    expect(String(sketch)).toBe('CountMinSketch(5 rows of 2719 counters, 32 bits, plain, forge64/0)');
    expect(sketch.byteLength).toBe(5 * 2719 * 4);
    expect(sketch.epsilon).toBeLessThanOrEqual(0.001);
    expect(sketch.delta).toBeLessThanOrEqual(0.01);
    const make = (options: object) => () => new CountMinSketch({ width: 5, depth: 2, ...options });
    for (const width of [0, -1, 1.5, Number.NaN, 2 ** 36, '5', undefined]) {
      expect(make({ width }), `${width}`).toThrow(/Cannot use width: expected/);
    }
    for (const depth of [0, 1.5, 256, '2']) expect(make({ depth })).toThrow(/Cannot use depth: expected/);
    for (const counterBits of [0, 16, 33, '32']) {
      expect(make({ counterBits })).toThrow(/Cannot use counterBits: expected 32 or 64/);
    }
    expect(make({ update: 'lazy' })).toThrow(
      /Cannot use update: expected 'plain' or 'conservative', got lazy/,
    );
    expect(make({ widht: 3 })).toThrow(/got option 'widht'/);
    expect(make({ seed: -1 })).toThrow(/seed/);
    expect(() => CountMinSketch.forError({ epsilon: 0, delta: 0.1 })).toThrow(/epsilon/);
    expect(() => CountMinSketch.forError({ epsilon: 0.1, delta: 0.1, width: 3 } as never)).toThrow(
      /got option 'width'/,
    );
  });

  test('counts that are none are refused before anything changes', () => {
    const sketch = new CountMinSketch({ width: 50, depth: 2 });
    for (const count of [-1, 0.5, Number.NaN, 2 ** 53, '1', 1n]) {
      for (const act of [
        () => sketch.add('a', count as number),
        () => sketch.subtract('a', count as number),
        () => sketch.addHash(hashKey('a'), count as number),
        () => sketch.subtractHash(hashKey('a'), count as number),
      ]) {
        expect(act, `${count}`).toThrow(/Cannot use count: expected an integer/);
      }
      expect(() => sketch.addMany(['a', 'b'], [1, count as number])).toThrow(
        /Cannot use counts\[1\]: expected an integer/,
      );
    }
    expect(() => sketch.addMany(['a', 'b'], [1])).toThrow(/2 keys, 1 counts/);
    expect(() => sketch.addMany(new Set(['a', 'b']), [1, 2, 3])).toThrow(/2 keys, 3 counts/);
    expect(() => sketch.addMany({ lines: textEncoder().encode('a\nb\n') }, [1])).toThrow(/2 keys, 1 counts/);
    expect(() => sketch.addMany(packKeys(['a', 'b']), [1])).toThrow(/2 keys, 1 counts/);
    expect(() => sketch.addMany(hashKeys(['a', 'b']), [1])).toThrow(/2 keys, 1 counts/);
    expect(() => sketch.addMany(['a'], 'x' as never)).toThrow(/a number or an array/);
    expect(() => sketch.addMany(['a'], {} as never)).toThrow(/a number or an array/);
    expect(() => sketch.addMany(['a'], null as never)).toThrow(/a number or an array/);
    expect(() => sketch.addMany('ab' as never, [1, 2])).toThrow(/Cannot read keys: expected an iterable/);
    expect(() => sketch.add(1.5)).toThrow(/safe integer/);
    expect(sketch.total).toBe(0);
    expect(sketch.equals(new CountMinSketch({ width: 50, depth: 2 }))).toBe(true);
  });

  test('what cannot be undone says why', () => {
    const sketch = new CountMinSketch({ width: 50, depth: 2, update: 'conservative' });
    sketch.add('a', 5);
    for (const act of [
      () => sketch.subtract('a'),
      () => sketch.subtractHash(hashKey('a')),
      () => sketch.subtractMany(['a']),
    ]) {
      expect(act).toThrow(/Cannot subtract with conservative update: .*use update: 'plain'/);
    }
  });

  test('unlike sketches are refused, with both sides in the message', () => {
    const options = { width: 50, depth: 2 };
    const sketch = new CountMinSketch(options);
    for (const different of [
      { width: 51 },
      { depth: 3 },
      { counterBits: 64 as const },
      { update: 'conservative' as const },
      { seed: 1 },
      { key: new SecretKey(new Uint8Array(16)) },
    ]) {
      const other = new CountMinSketch({ ...options, ...different });
      expect(() => sketch.merge(other)).toThrow(`unlike filters: ${sketch} and ${other}`);
      expect(() => sketch.union(other)).toThrow(RangeError);
      expect(() => sketch.innerProduct(other)).toThrow(`unlike filters: ${sketch} and ${other}`);
      expect(sketch.equals(other)).toBe(false);
    }
    expect(() => sketch.merge({} as never)).toThrow(RangeError);
    expect(() => sketch.countHash(hashKey('a', { seed: 5 }))).toThrow(RangeError);
    expect(() => sketch.addHash(hashKey('a', { seed: 5 }))).toThrow(RangeError);
    expect(() => sketch.subtractHash(hashKey('a', { seed: 5 }))).toThrow(RangeError);
    expect(() => sketch.addMany(hashKeys(['a'], { seed: 5 }))).toThrow(RangeError);
  });

  test('frames that contradict themselves are refused', () => {
    for (const update of UPDATES) {
      const sketch = new CountMinSketch({ width: 4, depth: 2, update, counterBits: 64 });
      sketch.addMany(['a', 'b', 'a'], [5, 6, 7]);
      const bytes = sketch.encode();
      const changed = (at: number, value: number) => {
        const copy = Uint8Array.from(bytes);
        copy[at] = value;
        new DataView(copy.buffer).setUint32(copy.length - 4, hashKey(copy.subarray(0, -4)).low, true);
        return () => CountMinSketch.decode(copy);
      };
      expect(changed(0, bytes[0])().equals(sketch)).toBe(true);
      if (update === 'plain') expect(changed(23, 19)).toThrow(/adds up to 18 with a total of 19/);
      expect(changed(23, 17)).toThrow(/adds up to 18 with a total of 17/);
      expect(changed(23, 0)).toThrow(/with a total of 0/);
      expect(changed(29, 0x20)).toThrow(/a total of 9007199254741010/);
      expect(changed(31 + 6, 0x20)).toThrow(/above 9007199254740991/);
      expect(changed(6, 2)).toThrow(/no filter has update 2/);
      expect(changed(22, 16)).toThrow(FrameError);
    }
  });
});
