import { QUICK, withEffort } from '@bloomery/testkit/effort';
import { expectBinomial, Random } from '@bloomery/testkit/statistics';
import { describe, expect, test } from 'vitest';
import { codecContract } from '../../test/contracts/codec.ts';
import { membershipContract } from '../../test/contracts/membership.ts';
import { codecSubject, inBothKernels, type Subject } from '../../test/contracts/subject.ts';
import { forgeFrame } from '../../test/forge-frame.ts';
import { awkwardStrings, counterKeys } from '../../test/keys.ts';
import { FrameError } from '../frames/envelope.ts';
import type { FrameKind } from '../frames/frame.ts';
import { SecretKey } from '../hashing/secret-key.ts';
import { hashKey } from '../kernel/batches/hash-key.ts';
import { hashKeys } from '../kernel/batches/hash-keys.ts';
import { useKernel } from '../kernel/wasm/kernel-choice.ts';
import { checkInteger } from '../math/checks.ts';
import { sizeClassic } from '../math/size-classic.ts';
import { rateTrueVariance } from '../math/true-rate.ts';
import { BloomFilter, type BloomLayout } from './bloom-filter.ts';
import { ScalableBloomFilter, scalableSizeEstimate } from './scalable-bloom-filter.ts';
import { joinFilters, type NestedFilter } from './shared/nested-frames.ts';

const subject = (layout: BloomLayout): Subject<ScalableBloomFilter> => ({
  name: `ScalableBloomFilter, ${layout}`,
  seedable: true,
  fixedSize: false,
  create: ({ capacity, ...rest }) =>
    new ScalableBloomFilter({ ...rest, layout, initialCapacity: checkInteger('capacity', capacity, 1) }),
  decode: (bytes, options) => ScalableBloomFilter.decode(bytes, options),
  sizeEstimate: scalableSizeEstimate,
  theory: (filter) => filter.falsePositiveRate,
});

/** Runs the contract with a first stage that is far too small, so that keys spread over stages. */
const growing = (layout: BloomLayout): Subject<ScalableBloomFilter> => ({
  ...subject(layout),
  name: `ScalableBloomFilter, growing, ${layout}`,
  create: ({ capacity, ...rest }) =>
    new ScalableBloomFilter({
      ...rest,
      layout,
      initialCapacity: Math.ceil(checkInteger('capacity', capacity, 1, 1e6) / 100),
    }),
});

/** The same twenty keys in a single stage. */
const goldenSingle = {
  hex: '424c4d590109000100000000000000007b14ae47e17a843f0000000000000040000000000000e03f140000000000014800000000001400000000003c0000000000424c4d59010100010000000000000000df000000000714000000000007fc4111cdd57192e88225993bf807aafa4aa7ceca6de4e50314f46aa27042b7b27f5343',
};

const goldenGrowing = {
  hex: '424c4d590109000100000000000000007b14ae47e17a843f0000000000000040000000000000e03f010000000000051c0100000000010000000000220000000000424c4d590101000100000000000000000d000000000501000000000043050ef7f258020000000000240000000000424c4d590101000100000000000000001b0000000007020000000000b6815e0286829e50040000000000280000000000424c4d590101000100000000000000003a00000000090400000000000d51e6a74399b200e0ed3bdd080000000000300000000000424c4d590101000100000000000000007e000000000a0800000000004a2359e6a9255181b63ca45a86b94a1bf5f5dd90050000000000420000000000424c4d5901010001000000000000000010010000000b10000000000004601a080004030064024402801250007440d25010460010000000a24000004202a2cb63f0beee665681',
  falsePositives: [52, 65, 67, 79, 81, 84, 87, 97, 112, 122],
};

membershipContract(subject('classic'));
membershipContract(growing('partitioned'));
codecContract(codecSubject(growing('classic')), goldenGrowing);

inBothKernels('ScalableBloomFilter: structure', (kernel) => {
  test('one by one, in batches and in any cut, the same keys in the same order make the same bytes', () => {
    const random = new Random(8);
    // Keys come again and again, within a batch, across batches and across stages.
    const keys = Array.from({ length: 9000 }, () => `key ${random.below(5000)}`);
    for (const options of [
      { initialCapacity: 1 },
      { initialCapacity: 100, growth: 1.5, tightening: 0.8 },
      { initialCapacity: 1000, layout: 'partitioned' as const },
      { initialCapacity: 1000, key: new SecretKey(new Uint8Array(16)) },
    ]) {
      const make = () => new ScalableBloomFilter({ falsePositiveRate: 0.02, ...options });
      const single = make();
      let fresh = 0;
      for (const key of keys) if (single.add(key)) fresh++;
      expect(single.leastSize).toBe(fresh);
      const all = make();
      expect(all.addMany(keys)).toBe(fresh);
      const cut = make();
      let cutFresh = 0;
      for (let at = 0; at < keys.length; ) {
        const part = keys.slice(at, at + random.below(1500));
        cutFresh += random.below(2) ? cut.addMany(part) : cut.addMany(hashKeys(part, cut.scheme));
        at += part.length;
      }
      expect(cutFresh).toBe(fresh);
      const bytes = single.encode();
      for (const filter of [all, cut]) {
        expect(same(filter.encode(), bytes)).toBe(true);
        expect(filter.equals(single)).toBe(true);
      }
      expect(single.hasMany(keys).every((answer) => answer === 1)).toBe(true);
    }
  });

  test.each([
    [0.05, 0.5, 2],
    [0.01, 0.5, 2],
    [0.01, 0.85, 3],
  ])('the compound rate stays below %f at 1, 10, 100 and 1000 times the first capacity', (rate, r, s) => {
    const filter = new ScalableBloomFilter({
      falsePositiveRate: rate,
      initialCapacity: 100,
      tightening: r,
      growth: s,
    });
    let added = 0;
    for (const times of [1, 10, 100, 1000]) {
      const target = 100 * times;
      filter.addMany(counterKeys(target - added, added, 1));
      added = target;
      const own = filter.estimatedFalsePositiveRate();
      const questions = withEffort(kernel === 'wasm' ? 200_000 : 30_000);
      const found = filter.hasMany(counterKeys(questions, 0, 2 + times)).reduce((sum, a) => sum + a, 0);
      expectBinomial(found, questions, own, `${times} times`);
      expect(found).toBeLessThanOrEqual(questions * rate + 5 * Math.sqrt(questions * rate));
      // The rate of the very bits strays around its mean, which is below the promised one.
      const stray = filter.stages.reduce(
        (sum, { bits, hashes, count }) => sum + rateTrueVariance(bits, hashes, count),
        0,
      );
      expect(own).toBeLessThanOrEqual(rate + 5 * Math.sqrt(stray));
      const { low, high } = scalableSizeEstimate(filter, { confidence: 1 - 5.7e-7 });
      expect(low <= target && target <= high, `${low} <= ${target} <= ${high}`).toBe(true);
      expect(high - low).toBeLessThan(20 + 12 * Math.sqrt(target * rate));
    }
    expect(filter.stages.length).toBeGreaterThanOrEqual(s === 2 ? 10 : 7);
  });

  test('estimatedFalsePositiveRate is right at a high rate, where the stages are not independent', () => {
    const filter = new ScalableBloomFilter({ falsePositiveRate: 0.5, initialCapacity: 100 });
    for (const times of [4, 40, 400]) {
      filter.addMany(counterKeys(100 * times, 0, times));
      const questions = withEffort(200_000);
      const found = filter.hasMany(counterKeys(questions, 0, 1000)).reduce((sum, a) => sum + a, 0);
      // The estimate itself is measured with 65,536 hashes: as many questions have the same error.
      const counted = Math.round((found / questions) * 50_000);
      expectBinomial(counted, 50_000, filter.estimatedFalsePositiveRate(), `${times} times`);
      const independent = filter.stages.reduce(
        (right, one) => right * (1 - one.estimatedFalsePositiveRate),
        1,
      );
      expect(found / questions / (1 - independent)).toBeGreaterThan(1.015);
      expect(Math.abs(found / questions / filter.estimatedFalsePositiveRate() - 1)).toBeLessThan(0.012);
    }
  });

  test('against a model of sets: thousands of commands, stages filled to the key', () => {
    const random = new Random(9);
    let filter = new ScalableBloomFilter({ falsePositiveRate: 1e-9, initialCapacity: 100 });
    // At 1e-9 no false positive comes up, so the model is exact.
    let stages: Set<number>[] = [new Set()];
    const modelHas = (key: number) => stages.some((stage) => stage.has(key));
    const modelAdd = (key: number) => {
      if (modelHas(key)) return false;
      const capacity = 100 * 2 ** (stages.length - 1);
      if (stages[stages.length - 1].size === capacity) stages.push(new Set());
      stages[stages.length - 1].add(key);
      return true;
    };
    for (let step = 0; step < withEffort(10_000); step++) {
      const command = random.below(1000);
      const key = random.below(3000);
      if (command < 300) {
        expect(filter.add(key)).toBe(modelAdd(key));
      } else if (command < 400) {
        const keys = Array.from({ length: random.below(30) }, () => random.below(3000));
        expect(filter.addMany(keys)).toBe(keys.filter(modelAdd).length);
      } else if (command < 405) {
        filter = ScalableBloomFilter.decode(filter.encode());
      } else if (command < 410) {
        filter = filter.copy();
      } else if (command === 410) {
        filter.clear();
        stages = [new Set()];
      } else if (command < 450) {
        const keys = Array.from({ length: random.below(30) }, () => random.below(3000));
        expect([...filter.hasMany(keys)]).toEqual(keys.map((k) => (modelHas(k) ? 1 : 0)));
      } else {
        expect(filter.has(key)).toBe(modelHas(key));
      }
      if (step % 500 === 0) {
        expect(filter.stages.map(({ count, capacity }) => [count, capacity])).toEqual(
          stages.map(({ size }, i) => [size, 100 * 2 ** i]),
        );
      }
    }
    expect(filter.leastSize).toBe(stages.reduce((sum, { size }) => sum + size, 0));
  });

  test('keys may come from a generator that adds to the filter itself', () => {
    const filter = new ScalableBloomFilter({ falsePositiveRate: 0.01, initialCapacity: 50 });
    filter.addMany(
      (function* () {
        for (let i = 0; i < 3000; i++) {
          if (i % 700 === 0) filter.add(`extra ${i}`);
          yield `key ${i}`;
        }
      })(),
    );
    for (let i = 0; i < 3000; i += 700) expect(filter.has(`extra ${i}`)).toBe(true);
    for (let i = 0; i < 3000; i++) if (!filter.has(`key ${i}`)) throw new Error(`key ${i} is missing`);
  });
});

describe('ScalableBloomFilter', () => {
  test('both kernels make the same bytes', () => {
    const keys = awkwardStrings(5000, 4);
    const frames = (['wasm', 'javascript'] as const).map((kernel) => {
      useKernel(kernel);
      const filter = new ScalableBloomFilter({ falsePositiveRate: 0.01, initialCapacity: 64 });
      filter.addMany(keys);
      return filter.encode();
    });
    useKernel('auto');
    expect(same(frames[0], frames[1])).toBe(true);
  });

  test('grows by stages of known size, and takes a known factor of memory', () => {
    const filter = new ScalableBloomFilter({ falsePositiveRate: 0.01 });
    expect(filter.stages).toHaveLength(1);
    filter.addMany(counterKeys(100_000));
    const stages = filter.stages;
    expect(stages.map(({ capacity }) => capacity)).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000, 64_000]);
    for (const [i, stage] of stages.entries()) {
      if (i < 6) expect(stage.count).toBe(stage.capacity);
      const falsePositiveRate = 0.005 / 2 ** i;
      const size = sizeClassic({ capacity: stage.capacity, falsePositiveRate });
      expect([stage.bits, stage.hashes]).toEqual([size.bits, size.hashes]);
    }
    expect(filter.leastSize).toBeLessThanOrEqual(100_000);
    expect(filter.leastSize).toBeGreaterThan(99_000);
    const right = sizeClassic({ capacity: 100_000, falsePositiveRate: 0.01 }).bits / 8;
    // The sizes follow from the parameters alone. Their ratio is 2.426, rounded to two digits.
    expect(filter.byteLength / right).toBeCloseTo(2.43, 2);
  });

  test('copies are independent, clearing leaves a new filter', () => {
    const filter = new ScalableBloomFilter({ falsePositiveRate: 0.01, initialCapacity: 10, seed: 3 });
    filter.addMany(counterKeys(500));
    const copy = filter.copy();
    expect(copy.equals(filter)).toBe(true);
    copy.addMany(counterKeys(500, 500));
    expect(copy.equals(filter)).toBe(false);
    copy.clear();
    const fresh = new ScalableBloomFilter({ falsePositiveRate: 0.01, initialCapacity: 10, seed: 3 });
    expect(copy.encode()).toEqual(fresh.encode());
    expect(copy.equals(fresh)).toBe(true);
    expect(fresh.equals(new ScalableBloomFilter({ falsePositiveRate: 0.01, initialCapacity: 10 }))).toBe(
      false,
    );
    expect(
      fresh.equals(new ScalableBloomFilter({ falsePositiveRate: 0.02, initialCapacity: 10, seed: 3 })),
    ).toBe(false);
    expect(fresh.equals({} as never)).toBe(false);
  });

  test('cannot be merged, and says why', () => {
    const filter = new ScalableBloomFilter({ falsePositiveRate: 0.01 });
    expect(() => filter.merge(filter)).toThrow(/would add up and break the promised one/);
  });

  test('errors name what is wrong', () => {
    const make = (options: object) => () =>
      new ScalableBloomFilter({ falsePositiveRate: 0.01, ...options } as never);
    expect(make({ falsePositiveRate: 0 })).toThrow(/Cannot use falsePositiveRate: expected strictly/);
    for (const initialCapacity of [0, 1.5, '7']) {
      expect(make({ initialCapacity })).toThrow(/Cannot use initialCapacity: expected/);
    }
    expect(make({ growth: 1 })).toThrow(/Cannot use growth: expected a number from 1.25 to 1000, got 1/);
    expect(make({ tightening: 1 })).toThrow(/Cannot use tightening: expected strictly/);
    expect(make({ layout: 'blocked' })).toThrow(/Cannot use layout: expected 'classic' or 'partitioned'/);
    expect(make({ capacity: 5 })).toThrow(/got option 'capacity'/);
    expect(make({ initialCapacity: 1e12 })).toThrow(/expected at most 68719476736 bits, got more/);
    expect(String(make({ seed: 1 })())).toBe(
      'ScalableBloomFilter(rate 0.01, from 1000 keys on, growth 2, tightening 0.5, classic, forge64/1)',
    );
  });

  // Sizing a stage for a rate of 1e-82 takes a second.
  test.skipIf(QUICK)('where no further stage is possible the error comes before anything is lost', () => {
    // The rate falls by a factor of 1e30 each stage; a later one would be 0.
    const filter = new ScalableBloomFilter({
      falsePositiveRate: 0.01,
      initialCapacity: 1,
      growth: 1.25,
      tightening: 1e-30,
    });
    let added = 0;
    expect(() => {
      for (; added < 1000; added++) filter.add(added);
    }).toThrow(RangeError);
    for (let i = 0; i < added; i++) expect(filter.has(i)).toBe(true);
    expect(ScalableBloomFilter.decode(filter.encode()).equals(filter)).toBe(true);
  });
});

describe('frames of a ScalableBloomFilter', () => {
  const kind: FrameKind = {
    code: 9,
    name: '',
    widths: [4, 4, 4, 4, 4, 4, 6, 1, 6],
    payloadBits: () => 0,
  };
  const halves = (value: number) => [...new Uint32Array(Float64Array.of(value).buffer)];
  const scheme = hashKey('a').scheme;
  const stage = (capacity: number, note: number, keys = note, layout: BloomLayout = 'classic') => {
    const filter = new BloomFilter({ bits: 400, hashes: 4, capacity, layout });
    filter.addMany(counterKeys(keys));
    return { filter, note };
  };
  const forge = (
    filters: NestedFilter[],
    { variant = 0, rate = 0.01, growth = 2, tightening = 0.5, capacity = 4, stages = filters.length } = {},
  ) => {
    const payload = joinFilters(filters);
    const parameters = [
      ...halves(rate),
      ...halves(growth),
      ...halves(tightening),
      capacity,
      stages,
      payload.length,
    ];
    return forgeFrame(kind, { variant, scheme, parameters, payload });
  };
  const errorOf = (frame: Uint8Array): FrameError => {
    try {
      ScalableBloomFilter.decode(frame);
    } catch (error) {
      if (error instanceof FrameError) return error;
      throw error;
    }
    throw new Error('no error');
  };

  test('the golden frames mean what the format says', () => {
    for (const { hex } of [goldenSingle, goldenGrowing]) {
      const frame = bytesOf(hex);
      expect(ScalableBloomFilter.decode(frame).encode()).toEqual(frame);
      const view = new DataView(frame.buffer);
      const capacity = hex === goldenSingle.hex ? 20 : 1;
      expect([16, 24, 32].map((at) => view.getFloat64(at, true))).toEqual([0.01, 2, 0.5]);
      expect([view.getUint32(40, true), view.getUint16(44, true)]).toEqual([capacity, 0]);
      const parts = partsIn(frame, 53);
      expect(frame[46]).toBe(parts.length);
      expect(view.getUint32(47, true)).toBe(frame.length - 53 - 4);
      // Filled key by key, in order. None of the twenty is a false positive of the stages before.
      let first = 0;
      for (const [i, { note, frame: inner }] of parts.entries()) {
        const planned = capacity * 2 ** i;
        const size = sizeClassic({ capacity: planned, falsePositiveRate: 0.005 / 2 ** i });
        const stage = new BloomFilter({ bits: size.bits, hashes: size.hashes, capacity: planned });
        expect(note).toBe(Math.min(planned, 20 - first));
        for (let key = first; key < first + note; key++) stage.add(`key-${key}`);
        expect(inner).toEqual(stage.encode());
        first += note;
      }
      expect(first).toBe(20);
    }
  });

  test('sound ones are read, whatever the sizes of their stages', () => {
    const filter = ScalableBloomFilter.decode(forge([stage(4, 4), stage(8, 3)]));
    expect(filter.stages.map(({ capacity, count }) => [capacity, count])).toEqual([
      [4, 4],
      [8, 3],
    ]);
    expect([filter.growth, filter.tightening, filter.falsePositiveRate]).toEqual([2, 0.5, 0.01]);
  });

  test('stages that contradict each other are refused', () => {
    expect(errorOf(forge([stage(4, 3), stage(8, 3)])).message).toMatch(
      /stage 1 of 2 has 3 keys and room for 4/,
    );
    expect(errorOf(forge([stage(4, 5)])).message).toMatch(/room for 4/);
    expect(errorOf(forge([{ filter: new BloomFilter({ bits: 9, hashes: 1 }), note: 0 }])).code).toBe(
      'payload',
    );
    expect(errorOf(forge([stage(4, 1, 3)])).message).toMatch(/has 1 keys and \d+ ones/);
    expect(errorOf(forge([stage(4, 2, 0)])).message).toMatch(/has 2 keys and 0 ones/);
    expect(errorOf(forge([stage(4, 0, 1)])).message).toMatch(/has 0 keys and 4 ones/);
    expect(errorOf(forge([stage(4, 3, 3, 'partitioned')])).message).toMatch(/to be classic/);
    expect(ScalableBloomFilter.decode(forge([stage(4, 3, 3, 'partitioned')], { variant: 1 })).layout).toBe(
      'partitioned',
    );
    expect(errorOf(forge([stage(4, 4), stage(8, 3)], { stages: 1 })).message).toMatch(/after the last/);
  });

  test('parameters of no filter are refused', () => {
    for (const wrong of [
      { variant: 2 },
      { rate: 0 },
      { rate: Number.NaN },
      { growth: 1 },
      { growth: Number.POSITIVE_INFINITY },
      { tightening: 1 },
      { capacity: 0 },
      { stages: 0 },
    ]) {
      expect(errorOf(forge([stage(4, 3)], wrong)).code).toBe('parameters');
    }
  });
});

function same(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}

/** The payload of a frame, cut by hand: notes, and the frames of the filters. */
function partsIn(frame: Uint8Array, start: number): { note: number; frame: Uint8Array }[] {
  const view = new DataView(frame.buffer, frame.byteOffset);
  const number48 = (at: number) => view.getUint32(at, true) + 2 ** 32 * view.getUint16(at + 4, true);
  const parts: { note: number; frame: Uint8Array }[] = [];
  for (let at = start; at < frame.length - 4; ) {
    const end = at + 12 + number48(at + 6);
    parts.push({ note: number48(at), frame: frame.slice(at + 12, end) });
    at = end;
  }
  return parts;
}

function bytesOf(hex: string): Uint8Array {
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}
