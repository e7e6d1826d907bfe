import { expectBinomial, expectNormal, Random } from '@bloomery/testkit/statistics';
import { describe, expect, test } from 'vitest';
import { codecContract } from '../../../test/contracts/codec.ts';
import { type CodecSubject, inBothKernels } from '../../../test/contracts/subject.ts';
import { countersOf } from '../../frames/check-frame.ts';
import { FrameError, writeChecksum } from '../../frames/envelope.ts';
import { readFrameHead } from '../../frames/frame-head.ts';
import { SecretKey } from '../../hashing/secret-key.ts';
import { rangeErrorBound, sizeRangeSketch } from '../../math/sketches/range-sketch.ts';
import { CountMinSketch } from '../count-min/count-min-sketch.ts';
import { decodeFilter } from '../decode-filter.ts';
import { quantileEstimate, rangeEstimate } from './range-estimates.ts';
import { RangeSketch, type RangeSketchOptions } from './range-sketch.ts';

const UPDATES = ['plain', 'conservative'] as const;
const SMALL = { universeBits: 10, exactBits: 4, width: 60, depth: 3 } as const;

/** The exact counts of a stream of keys below 2^bits. */
class Model {
  readonly #counts: Float64Array;
  total = 0;

  constructor(bits: number) {
    this.#counts = new Float64Array(2 ** bits);
  }

  add(key: number, amount = 1): void {
    this.#counts[key] += amount;
    this.total += amount;
  }

  count(from: number, to: number): number {
    let sum = 0;
    for (let key = from; key <= to; key++) sum += this.#counts[key];
    return sum;
  }

  /** The least key with at least `rank` keys up to it. */
  keyAtRank(rank: number): number {
    let sum = 0;
    for (let key = 0; key < this.#counts.length; key++) {
      sum += this.#counts[key];
      if (sum >= rank) return key;
    }
    return this.#counts.length - 1;
  }
}

/** Streams of keys of 10 bits: what is common, what is skewed, what is made to be hard. */
const STREAMS = {
  uniform: (random: Random) => random.below(1024),
  // Zipf's law by the inverse of the continuous distribution 1/x on 1 … 1024.
  zipf: (random: Random) => Math.floor(1024 ** ((random.bits() >>> 0) / 2 ** 32)) - 1,
  'one key': () => 900,
  // Around the range that is asked for, and never in it.
  'both ends of the range': (random: Random) => random.pick([299, 701]),
  'every 32nd key': (random: Random) => 32 * random.below(32),
} satisfies Record<string, (random: Random) => number>;

function streamOf(name: keyof typeof STREAMS, length: number, seed: number): number[] {
  const random = new Random(seed);
  return Array.from({ length }, () => STREAMS[name](random));
}

function modelOf(stream: readonly number[]): Model {
  const model = new Model(10);
  for (const key of stream) model.add(key);
  return model;
}

function subject(options: RangeSketchOptions): CodecSubject<RangeSketch> {
  const numberOf = (text: string): number => {
    let sum = 0;
    for (let i = 0; i < text.length; i++) sum = (31 * sum + text.charCodeAt(i)) % 2 ** options.universeBits;
    return sum;
  };
  return {
    name: `RangeSketch, ${options.update}, ${options.exactBits} of ${options.universeBits} bits exact`,
    seedable: true,
    build: (keys, { falsePositiveRate: _, ...hash }) => {
      const sketch = new RangeSketch({ ...options, ...hash });
      sketch.addMany(keys.map(numberOf));
      return sketch;
    },
    decode: (bytes, o) => RangeSketch.decode(bytes, o as object),
    answers: (sketch, keys) => keys.map((key) => sketch.count(numberOf(key))),
  };
}

codecContract(subject({ universeBits: 9, exactBits: 2, width: 9, depth: 2, update: 'plain' }), {
  hex: '424c4d59010d0001000000000000000009020900000000022014000000000000000000000000000000000000000000000000000000000000008c000000000000000a0000002900000007000000050000001d00000009000000160000000b00000006000000060000001400000004000000090000001a0000000e0000000b00000019000000190000005e4e515c',
  falsePositives: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
});
codecContract(
  subject({ universeBits: 30, exactBits: 0, width: 7, depth: 1, update: 'conservative', counterBits: 64 }),
  {
    hex: '424c4d59010d010100000000000000001e0007000000000140140000000000000058020000000000007d000000000000001e00000000000000a3000000000000005f000000000000001c0000000000000056000000000000004900000000000000dc2fc979',
    falsePositives: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
  },
);

describe.each(UPDATES)('%s', (update) => {
  inBothKernels(`RangeSketch, ${update}`, () => {
    test('no count is below the truth, no quantile above it, for any stream', () => {
      for (const name of Object.keys(STREAMS) as (keyof typeof STREAMS)[]) {
        const stream = streamOf(name, 1500, 3);
        const sketch = new RangeSketch({ ...SMALL, update, seed: 5 });
        sketch.addMany(stream.slice(0, 1000));
        for (const key of stream.slice(1000)) sketch.add(key);
        const model = modelOf(stream);
        expect(sketch.total).toBe(1500);
        const random = new Random(8);
        for (let i = 0; i < 300; i++) {
          const [a, b] = [random.below(1024), random.below(1024)];
          const [from, to] = [Math.min(a, b), Math.max(a, b)];
          expect(sketch.count(from, to)).toBeGreaterThanOrEqual(model.count(from, to));
          expect(sketch.rank(to)).toBeGreaterThanOrEqual(model.count(0, to));
          expect(sketch.quantile(i / 300)).toBeLessThanOrEqual(
            model.keyAtRank(Math.max(1, Math.ceil((i / 300) * 1500))),
          );
        }
        // Ranges of whole exact intervals, of 64 keys here, have no error.
        for (let cell = 0; cell < 16; cell++) {
          expect(sketch.count(64 * cell, 1023)).toBe(model.count(64 * cell, 1023));
        }
      }
    });

    test('counts are those of the definition: a Count-Min sketch of the intervals', () => {
      const stream = streamOf('zipf', 700, 4);
      const amounts = stream.map((_, i) => i % 5);
      const sketch = new RangeSketch({ ...SMALL, update, seed: 5 });
      sketch.addMany(stream, amounts);
      const intervals = new CountMinSketch({ width: 60, depth: 3, update, seed: 5 });
      const model = new Model(10);
      for (const [i, key] of stream.entries()) {
        for (let level = 0; level < 6; level++) {
          intervals.add(2 ** (10 - level) + Math.floor(key / 2 ** level), amounts[i]);
        }
        model.add(key, amounts[i]);
      }
      /** Estimates an interval; splits it if it is not wholly inside. */
      const count = (from: number, to: number, level: number, start: number): number => {
        const end = start + 2 ** level - 1;
        if (to < start || from > end) return 0;
        if (from > start || to < end) {
          return count(from, to, level - 1, start) + count(from, to, level - 1, start + 2 ** (level - 1));
        }
        if (level >= 6) return model.count(start, end);
        const cell = 64 * Math.floor(start / 64);
        const estimate = intervals.count(2 ** (10 - level) + start / 2 ** level);
        return Math.min(estimate, model.count(cell, cell + 63));
      };
      const random = new Random(2);
      for (let i = 0; i < 500; i++) {
        const from = random.below(1024);
        const to = from + random.below(1024 - from);
        const cover = model.count(64 * Math.floor(from / 64), 64 * Math.floor(to / 64) + 63);
        expect(sketch.count(from, to)).toBe(Math.min(cover, count(from, to, 10, 0)));
      }
    });

    test('every way in gives the same sketch', () => {
      const stream = streamOf('uniform', 2500, 6);
      const amounts = stream.map((_, i) => (i * i) % 17);
      const make = () => new RangeSketch({ ...SMALL, update });
      const one = make();
      for (const [i, key] of stream.entries()) one.add(key, amounts[i]);
      const ways: RangeSketch[] = [make(), make(), make(), make()];
      ways[0].addMany(stream, amounts);
      ways[1].addMany(Uint16Array.from(stream), amounts);
      ways[2].addMany(
        (function* () {
          yield* stream;
        })(),
        Uint8Array.from(amounts),
      );
      ways[3].addMany(stream.slice(0, 1111), amounts.slice(0, 1111));
      ways[3].addMany(stream.slice(1111), amounts.slice(1111));
      for (const way of ways) {
        expect(way.equals(one)).toBe(true);
        expect(way.encode()).toEqual(one.encode());
      }
      expect(one.copy().equals(one)).toBe(true);
      const changed = one.copy();
      changed.add(3);
      expect(changed.equals(one)).toBe(false);
      changed.clear();
      expect(changed.equals(make())).toBe(true);
    });

    test('merging counts both streams, and unlike sketches are refused', () => {
      const [left, right] = [streamOf('zipf', 900, 1), streamOf('uniform', 900, 2)];
      const make = (stream: readonly number[], options: Partial<RangeSketchOptions> = {}) => {
        const sketch = new RangeSketch({ ...SMALL, update, ...options });
        sketch.addMany(stream);
        return sketch;
      };
      const all = make([...left, ...right]);
      const united = make(left).union(make(right));
      const model = modelOf([...left, ...right]);
      for (let key = 0; key < 1024; key += 7) {
        expect(united.rank(key)).toBeGreaterThanOrEqual(model.count(0, key));
      }
      expect(united.equals(all)).toBe(update === 'plain');
      expect(united.total).toBe(1800);
      for (const other of [{ seed: 1 }, { exactBits: 5 }, { universeBits: 11 }, { width: 61 }] as const) {
        expect(() => all.merge(make([], other))).toThrow(/^Cannot merge unlike filters: RangeSketch\(/);
      }
    });
  });
});

test('conservative updates are never above plain ones, and closer on average', () => {
  const stream = streamOf('zipf', 3000, 9);
  const [plain, careful] = UPDATES.map((update) => {
    const sketch = new RangeSketch({ ...SMALL, update });
    sketch.addMany(stream);
    return sketch;
  });
  const model = modelOf(stream);
  const errors = [0, 0];
  for (let key = 0; key < 1024; key++) {
    expect(careful.rank(key)).toBeLessThanOrEqual(plain.rank(key));
    errors[0] += plain.rank(key) - model.count(0, key);
    errors[1] += careful.rank(key) - model.count(0, key);
  }
  expect(errors[1]).toBeLessThan(errors[0]);
});

describe.each(Object.keys(STREAMS) as (keyof typeof STREAMS)[])('the error of ranges: %s', (name) => {
  const stream = streamOf(name, 200, 12);
  const model = modelOf(stream);
  const [from, to] = [300, 700];

  test('in one row, the mean excess is that of the theory', () => {
    // Each interval of the range shares its counter with every other interval with probability 1/W.
    // The rows are wide, so that the exact count above an interval hardly ever limits it.
    const [width, levels] = [4096, 10];
    const seeds = 1500;
    const excess = new Float64Array(seeds);
    let intervals = 0;
    for (let seed = 0; seed < seeds; seed++) {
      const sketch = new RangeSketch({ universeBits: 10, exactBits: 0, width, depth: 1, seed });
      sketch.addMany(stream);
      excess[seed] = sketch.count(from, to) - model.count(from, to);
      intervals = sketch.estimatesIn(from, to);
    }
    const mean = excess.reduce((sum, one) => sum + one, 0) / seeds;
    const variance = excess.reduce((sum, one) => sum + (one - mean) ** 2, 0) / (seeds - 1);
    const inRange = model.count(from, to);
    const theory = (intervals * levels * model.total - inRange) / width;
    expectNormal(mean, theory, Math.sqrt(variance / seeds), `${name}: excess of ${intervals} intervals`);
  });

  test('above epsilon·N with probability delta at most, and quantiles likewise', () => {
    const delta = Math.exp(-1);
    const seeds = 600;
    let above = 0;
    let low = 0;
    let outside = 0;
    const rank = 100;
    for (let seed = 0; seed < seeds; seed++) {
      const sketch = RangeSketch.forError({
        universeBits: 10,
        epsilon: 0.4,
        delta: 0.3,
        seed: seed + 10_000,
      });
      expect(sketch.depth).toBe(2);
      sketch.addMany(stream);
      if (sketch.count(from, to) - model.count(from, to) > sketch.epsilon * model.total) above++;
      const median = sketch.quantile(0.5)!;
      expect(median).toBeLessThanOrEqual(model.keyAtRank(rank));
      if (model.count(0, median) < rank - (sketch.epsilon / 2) * model.total) low++;
      const { low: least, high } = quantileEstimate(sketch, 0.5, { confidence: 1 - delta })!;
      expect(least).toBe(median);
      if (high < model.keyAtRank(rank)) outside++;
    }
    for (const count of [above, low, outside]) {
      expect(count).toBeLessThanOrEqual(seeds * delta + 5 * Math.sqrt(seeds * delta * (1 - delta)));
    }
  });
});

test('a secret key protects ranges against keys that were chosen for a seed', () => {
  const options = { universeBits: 11, exactBits: 10, width: 16, depth: 2 } as const;
  const victim = 777;
  // The attacker knows the seed and looks for keys that share a counter with the victim, one for
  // each row.
  const columns = (key: number) => {
    const sketch = new CountMinSketch({ width: 16, depth: 2, seed: 0 });
    sketch.add(2 ** 11 + key);
    const bytes = countersOf(sketch.encode());
    return [0, 1].map((row) => bytes.subarray(64 * row, 64 * (row + 1)).indexOf(1));
  };
  const attack = [0, 1].map((row) => {
    for (let key = 0; ; key++) if (columns(key)[row] === columns(victim)[row]) return key;
  });
  expect(attack.some((key) => key >> 1 === victim >> 1)).toBe(false);
  // The neighbour of the victim fills the exact interval that limits the count of both.
  const fill = (sketch: RangeSketch) => {
    sketch.addMany(attack, 500);
    sketch.add(victim ^ 1, 1000);
    return sketch.count(victim);
  };
  expect(fill(new RangeSketch({ ...options, seed: 0 }))).toBeGreaterThanOrEqual(500);
  let hit = 0;
  const keys = 3000;
  for (let i = 0; i < keys; i++) {
    const secret = Uint8Array.from({ length: 16 }, (_, at) => (i >> (8 * (at & 1))) ^ (17 * at));
    if (fill(new RangeSketch({ ...options, key: new SecretKey(secret) })) > 0) hit++;
  }
  // In each row one of the three other keys falls on the victim's counter.
  expectBinomial(hit, keys, (1 - (1 - 1 / 16) ** 3) ** 2, 'keys under which the victim is counted');
});

test('a small universe is counted exactly, without a sketch', () => {
  const sketch = RangeSketch.forError({ universeBits: 8, epsilon: 0.01, delta: 0.01 });
  expect([sketch.exactBits, sketch.width, sketch.epsilon, sketch.delta]).toEqual([8, 0, 0, 0]);
  const model = new Model(8);
  const random = new Random(1);
  for (let i = 0; i < 1000; i++) {
    const key = random.below(256);
    sketch.add(key);
    model.add(key);
  }
  for (let from = 0; from < 256; from += 3) {
    for (let to = from; to < 256; to += 5) expect(sketch.count(from, to)).toBe(model.count(from, to));
  }
  for (let rank = 1; rank <= 1000; rank++) expect(sketch.quantile(rank / 1000)).toBe(model.keyAtRank(rank));
  expect(rangeEstimate(sketch, 3, 200)).toEqual({
    value: sketch.count(3, 200),
    low: sketch.count(3, 200),
    high: sketch.count(3, 200),
  });
  expect(decodeFilter(sketch.encode())).toBeInstanceOf(RangeSketch);
  expect(RangeSketch.decode(sketch.encode()).equals(sketch)).toBe(true);
  expect(countersOf(sketch.encode()).length).toBe(0);
});

test('sizes: the least memory for the error', () => {
  const sketch = RangeSketch.forError({ universeBits: 32, epsilon: 0.01, delta: 0.01 });
  // The figure in the comment at the top of range-sketch.ts.
  expect(sketch.byteLength).toBe(3_666_628);
  expect(sketch.epsilon).toBeLessThanOrEqual(0.01);
  expect(sketch.delta).toBeLessThanOrEqual(0.01);
  for (const universeBits of [1, 9, 20, 52]) {
    const size = sizeRangeSketch({ universeBits, epsilon: 0.02, delta: 0.05 });
    const bytes = (exactBits: number) =>
      new RangeSketch({
        universeBits,
        exactBits,
        ...(exactBits < universeBits
          ? { width: Math.ceil((2 * Math.E * (universeBits - exactBits) ** 2) / 0.02), depth: 3 }
          : {}),
      }).byteLength;
    const least = bytes(size.exactBits);
    for (const near of [size.exactBits - 1, size.exactBits + 1]) {
      if (near >= 0 && near <= universeBits) expect(bytes(near)).toBeGreaterThanOrEqual(least);
    }
  }
  expect(() => sizeRangeSketch({ universeBits: 52, epsilon: 1e-9, delta: 0.01 })).toThrow(
    /^Cannot use epsilon: expected one that needs at most \d+ bits, got 1e-9$/,
  );
});

test('a refused subtraction changes nothing, even where intervals share a counter', () => {
  const [keys, strange] = [
    [3, 7, 20],
    [9, 11, 15, 17, 30],
  ];
  let refused = 0;
  for (let seed = 0; seed < 200; seed++) {
    const sketch = new RangeSketch({ universeBits: 6, exactBits: 1, width: 5, depth: 2, seed });
    sketch.addMany(keys);
    for (const key of strange) {
      const before = sketch.copy();
      if (sketch.subtract(key)) continue;
      refused++;
      expect(sketch.equals(before)).toBe(true);
    }
    expect(RangeSketch.decode(sketch.encode()).equals(sketch)).toBe(true);
  }
  expect(refused).toBeGreaterThan(100);
});

test('subtracting takes back additions, all or nothing', () => {
  const make = () => new RangeSketch(SMALL);
  const [kept, removed] = [streamOf('zipf', 300, 1), streamOf('uniform', 300, 2)];
  const sketch = make();
  sketch.addMany([...kept, ...removed]);
  for (const key of removed) expect(sketch.subtract(key)).toBe(true);
  const expected = make();
  expected.addMany(kept);
  expect(sketch.equals(expected)).toBe(true);
  const before = sketch.encode();
  expect(sketch.subtract(1000, 301)).toBe(false);
  expect(make().subtract(5)).toBe(false);
  expect(sketch.encode()).toEqual(before);
  const careful = new RangeSketch({ ...SMALL, update: 'conservative' });
  expect(() => careful.subtract(1)).toThrow(/^Cannot subtract with conservative update: /);
});

test('saturated counters leave counts above the truth', () => {
  const sketch = new RangeSketch({ ...SMALL, universeBits: 10, counterBits: 32 });
  sketch.add(5, 2 ** 33);
  sketch.add(70, 2 ** 20);
  expect(sketch.count(5)).toBe(2 ** 33);
  expect(sketch.rank(5)).toBe(2 ** 33);
  expect(sketch.quantile(0.5)).toBe(5);
  expect(RangeSketch.decode(sketch.encode()).equals(sketch)).toBe(true);
});

test('keys of 52 bits are counted to the last one', () => {
  const sketch = RangeSketch.forError({ universeBits: 52, epsilon: 0.5, delta: 0.5 });
  const last = 2 ** 52 - 1;
  expect(sketch.largestKey).toBe(last);
  sketch.addMany([0, last, last - 1, 2 ** 51]);
  sketch.add(last);
  expect(sketch.count(0, last)).toBe(5);
  expect(sketch.rank(last)).toBe(5);
  expect(sketch.count(last)).toBeGreaterThanOrEqual(2);
  expect(sketch.quantile(1)).toBeLessThanOrEqual(last);
  expect(sketch.quantile(1)).toBeGreaterThan(2 ** 51);
});

test('intervals of estimates hold their bounds', () => {
  const sketch = new RangeSketch(SMALL);
  expect(sketch.quantile(0.5)).toBeUndefined();
  expect(quantileEstimate(sketch, 0.5)).toBeUndefined();
  sketch.addMany(streamOf('uniform', 2000, 3));
  const { value, low, high } = rangeEstimate(sketch, 100, 900, { confidence: 0.9 });
  expect(value).toBe(sketch.count(100, 900));
  expect(high).toBe(value);
  const bound = rangeErrorBound(sketch, sketch.estimatesIn(100, 900), 2000, 0.9);
  expect(low).toBe(Math.max(0, Math.ceil(value - bound)));
  // 6 sketched levels of 10: 12 intervals at most.
  expect(sketch.estimatesIn(1, 1022)).toBe(12);
  expect(sketch.estimatesIn(0, 63)).toBe(0);
  // e times the mean, exceeded with probability e^-depth: the promise of epsilon and delta.
  // Rounding of a few operations.
  expect(rangeErrorBound(sketch, 12, 2000, 1 - sketch.delta)).toBeCloseTo(sketch.epsilon * 2000, 6);
  expect(quantileEstimate(sketch, 1)!.high).toBe(1023);
  expect(() => rangeEstimate(sketch, 1, 2, { level: 3 } as never)).toThrow(/got option 'level'/);
});

test('wrong keys, ranges and sizes are refused, and change nothing', () => {
  const sketch = new RangeSketch(SMALL);
  sketch.add(7);
  const before = sketch.encode();
  expect(() => sketch.add(1024)).toThrow('Cannot use key: expected an integer from 0 to 1023, got 1024');
  expect(() => sketch.add(-1)).toThrow(RangeError);
  expect(() => sketch.add(1.5)).toThrow(RangeError);
  expect(() => sketch.add('7' as never)).toThrow(TypeError);
  expect(() => sketch.addMany([1, 2, 4096])).toThrow(/^Cannot use keys\[2\]: /);
  expect(() => sketch.addMany('123' as never)).toThrow('expected an iterable of integers, got string');
  expect(() => sketch.addMany([1, 2], [1])).toThrow(/expected as many as keys, got 2 keys, 1 counts/);
  expect(() => sketch.add(1, Number.MAX_SAFE_INTEGER)).toThrow(
    /^Cannot add keys: expected a total of at most/,
  );
  expect(() => sketch.addMany([1, 1], 2 ** 52)).toThrow(/^Cannot add keys: /);
  expect(() => sketch.count(5, 4)).toThrow('Cannot use to: expected an integer from 5 to 1023, got 4');
  expect(() => sketch.rank(2000)).toThrow(RangeError);
  expect(() => sketch.quantile(1.1)).toThrow(/^Cannot use share: /);
  expect(sketch.encode()).toEqual(before);
  expect(() => new RangeSketch({ universeBits: 53, exactBits: 1, width: 1, depth: 1 })).toThrow(
    /universeBits/,
  );
  expect(() => new RangeSketch({ universeBits: 5, exactBits: 6, width: 1, depth: 1 })).toThrow(/exactBits/);
  expect(() => new RangeSketch({ universeBits: 5, exactBits: 5, width: 1, depth: 1 })).toThrow(/width/);
  expect(() => new RangeSketch({ universeBits: 5, exactBits: 4 })).toThrow(/depth/);
  expect(() => new RangeSketch({ ...SMALL, counterBits: 16 as never })).toThrow(/counterBits/);
});

test('frames that contradict themselves are refused', () => {
  const sketch = new RangeSketch({ universeBits: 5, exactBits: 2, width: 3, depth: 1 });
  sketch.addMany([1, 2, 30]);
  const frame = sketch.encode();
  const { start, parameters, structure } = readFrameHead(frame);
  expect(structure).toBe('RangeSketch');
  expect(parameters).toEqual({
    update: 'plain',
    universeBits: 5,
    exactBits: 2,
    width: 3,
    depth: 1,
    counterBits: 32,
  });
  const changed = (at: number, value: number) => {
    const bytes = Object.assign(Uint8Array.from(frame), { [at]: value });
    writeChecksum(bytes);
    return bytes;
  };
  // Another total than the sketch, one that is no double, and parameters that no sketch has.
  expect(() => RangeSketch.decode(changed(start, 5))).toThrow(/no range sketch has a sketch of 9 with/);
  expect(() => RangeSketch.decode(changed(start + 7, 255))).toThrow(/no range sketch has a total of/);
  for (const [at, value] of [
    [16, 0],
    [16, 53],
    [17, 6],
    [17, 5],
  ]) {
    expect(() => RangeSketch.decode(changed(at, value))).toThrow(FrameError);
  }
});
