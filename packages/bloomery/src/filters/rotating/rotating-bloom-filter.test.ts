import { withEffort } from '@bloomery/testkit/effort';
import { expectBinomial, Random } from '@bloomery/testkit/statistics';
import { describe, expect, test } from 'vitest';
import { codecContract } from '../../../test/contracts/codec.ts';
import { membershipContract } from '../../../test/contracts/membership.ts';
import { codecSubject, inBothKernels, type Subject } from '../../../test/contracts/subject.ts';
import { forgeFrame } from '../../../test/forge-frame.ts';
import { awkwardStrings, counterKeys } from '../../../test/keys.ts';
import { FrameError } from '../../frames/envelope.ts';
import type { FrameKind } from '../../frames/frame.ts';
import { SecretKey } from '../../hashing/secret-key.ts';
import { hashKey } from '../../kernel/batches/hash-key.ts';
import { hashKeys } from '../../kernel/batches/hash-keys.ts';
import { useKernel } from '../../kernel/wasm/kernel-choice.ts';
import { sizeClassic } from '../../math/size-classic.ts';
import { rateTrue, rateTrueVariance } from '../../math/true-rate.ts';
import { BloomFilter } from '../bloom-filter.ts';
import { sizeEstimate } from '../shared/estimates.ts';
import { joinFilters, type NestedFilter } from '../shared/nested-frames.ts';
import { RotatingBloomFilter, type RotatingBloomFilterOptions } from './rotating-bloom-filter.ts';

const subject = (extra: object, name: string): Subject<RotatingBloomFilter> => ({
  name: `RotatingBloomFilter, ${name}`,
  seedable: true,
  fixedSize: false,
  create: (options) => new RotatingBloomFilter({ ...options, ...extra }),
  decode: (bytes, options) => RotatingBloomFilter.decode(bytes, options),
  sizeEstimate: (filter, options) => sizeEstimate(filter.flattened(), options),
  theory: (filter, n) => rateTrue(filter.bits, filter.hashes, n),
});

/** Each kind of rotation with its golden frame. */
const kinds = [
  {
    extra: {},
    golden: {
      hex: '424c4d59010a0001000000000000000003000000000000000000000000de00000000000000000000003e0000000000424c4d59010100010000000000000000f000000000081400000000008bf80245a42d1d6713db618bcc29682bbd6a753a6aac980db9b90512d4d41940d5490000000000003e0000000000424c4d59010100010000000000000000f0000000000814000000000000000000000000000000000000000000000000000000000000000000000052804e850000000000003e0000000000424c4d59010100010000000000000000f0000000000814000000000000000000000000000000000000000000000000000000000000000000000052804e854d0c4c7d',
      falsePositives: [4, 6, 26, 105, 114, 125, 128, 138, 141, 163],
    },
  },
  {
    extra: { ttlMs: 60_000, nowMs: 1_700_000_000_000, generations: 4 },
    golden: {
      hex: '424c4d59010a010100000000000000000460ea000000000068e5cf8b01300100000000000000000000400000000000424c4d59010100010000000000000000fc00000000081400000000008d68070a913675389bd81524916907de4e4eb52b36ea583115d2e52690a04e0dd0e15348000000000000400000000000424c4d59010100010000000000000000fc000000000814000000000000000000000000000000000000000000000000000000000000000000000000000e3c8347000000000000400000000000424c4d59010100010000000000000000fc000000000814000000000000000000000000000000000000000000000000000000000000000000000000000e3c8347000000000000400000000000424c4d59010100010000000000000000fc000000000814000000000000000000000000000000000000000000000000000000000000000000000000000e3c8347e5df72d2',
      falsePositives: [6, 45, 48, 74, 84, 97, 138, 161, 163, 174],
    },
  },
  {
    extra: { rotateWhenFull: true, generations: 2 },
    golden: {
      hex: '424c4d59010a02010000000000000000020000000000000000000000009000000000001400000000003c0000000000424c4d59010100010000000000000000df000000000714000000000007fc4111cdd57192e88225993bf807aafa4aa7ceca6de4e50314f46aa27042b70000000000003c0000000000424c4d59010100010000000000000000df0000000007140000000000000000000000000000000000000000000000000000000000000000003d9648b5adec2e6e',
      falsePositives: [38, 44, 67, 82, 108, 114, 138, 139, 144, 156],
    },
  },
];

membershipContract(subject({}, 'by hand'));
membershipContract(subject({ ttlMs: 1000, nowMs: 5, layout: 'partitioned' }, 'by time'));
codecContract(codecSubject(subject(kinds[1].extra, 'by time')), kinds[1].golden);

/** No false positive comes up in a few ten thousand questions, so models are exact. */
const TINY = 1e-9;

inBothKernels('RotatingBloomFilter: forgetting', (kernel) => {
  test.each([
    [2, 1000],
    [3, 1000],
    [4, 1001],
    [8, 50],
    [5, 7],
  ])('%i generations, ttl of %i ms: remembered that long, forgotten soon after', (generations, ttlMs) => {
    const random = new Random(generations);
    let now = 1_700_000_000_000 + random.below(5000);
    let filter = new RotatingBloomFilter({
      capacity: 2000,
      falsePositiveRate: TINY,
      generations,
      ttlMs,
      nowMs: now,
    });
    const lastAdded = new Map<number, number>();
    const longest = (ttlMs * generations) / (generations - 1);
    let remembered = 0;
    let forgotten = 0;
    let between = 0;
    const check = (key: number, answer: boolean) => {
      const age = now - (lastAdded.get(key) ?? Number.NEGATIVE_INFINITY);
      if (age <= ttlMs) {
        remembered++;
        if (!answer) throw new Error(`forgotten after ${age} ms of ${ttlMs}`);
      } else if (age >= longest) {
        forgotten++;
        if (answer) throw new Error(`remembered after ${age} ms of at most ${longest}`);
      } else {
        between++;
      }
    };
    for (let step = 0; step < withEffort(10_000, 10_000); step++) {
      const command = random.below(1000);
      const key = random.below(400);
      if (command < 250) {
        const known = filter.has(key);
        expect(filter.add(key)).toBe(!known);
        lastAdded.set(key, now);
      } else if (command < 300) {
        const keys = Array.from({ length: random.below(20) }, () => random.below(400));
        filter.addMany(keys);
        for (const k of keys) lastAdded.set(k, now);
      } else if (command < 550) {
        now += random.below(Math.ceil(ttlMs / 20) + 1);
        filter.advance(now);
      } else if (command < 560) {
        now += random.below(3 * ttlMs);
        filter.advance(now);
      } else if (command < 565) {
        expect(filter.advance(now - random.below(10 * ttlMs))).toBe(0);
        expect(filter.nowMs).toBe(now);
      } else if (command < 570) {
        filter = RotatingBloomFilter.decode(filter.encode());
      } else if (command < 600) {
        const keys = Array.from({ length: 20 }, () => random.below(400));
        for (const [i, answer] of filter.hasMany(keys).entries()) check(keys[i], answer === 1);
      } else {
        check(key, filter.has(key));
      }
    }
    for (const count of [remembered, forgotten, between]) expect(count).toBeGreaterThan(50);
  });

  test.each([2, 3, 6])('by hand, %i generations: ages against sets', (generations) => {
    const random = new Random(11);
    let filter = new RotatingBloomFilter({ capacity: 500, falsePositiveRate: TINY, generations });
    let sets: Set<number>[] = Array.from({ length: generations }, () => new Set());
    let turn = 0;
    const modelAge = (key: number) => sets.findIndex((set) => set.has(key));
    const modelAdd = (key: number) => {
      const fresh = modelAge(key) < 0;
      sets[0].add(key);
      return fresh;
    };
    for (let step = 0; step < withEffort(5000); step++) {
      const command = random.below(100);
      const key = random.below(600);
      if (command < 25) {
        expect(filter.add(key)).toBe(modelAdd(key));
      } else if (command < 30) {
        const keys = Array.from({ length: random.below(30) }, () => random.below(600));
        expect(filter.addMany(keys)).toBe(keys.filter(modelAdd).length);
      } else if (command < 32) {
        filter.rotate();
        sets = [new Set(), ...sets.slice(0, -1)];
        expect(filter.turn).toBe(++turn);
      } else if (command === 32) {
        filter = RotatingBloomFilter.decode(filter.encode());
      } else if (command === 33) {
        filter = filter.copy();
      } else if (command === 34 && random.below(10) === 0) {
        filter.clear();
        for (const set of sets) set.clear();
      } else if (command < 40) {
        const keys = Array.from({ length: random.below(30) }, () => random.below(600));
        expect([...filter.ageMany(keys)]).toEqual(keys.map(modelAge));
      } else {
        const age = modelAge(key);
        expect(filter.age(key)).toBe(age < 0 ? undefined : age);
        expect(filter.has(key)).toBe(age >= 0);
      }
    }
  });

  test('when full: rotates with the key that finds no room, against sets, one by one and in batches', () => {
    const random = new Random(12);
    const options = { capacity: 100, falsePositiveRate: TINY, generations: 3, rotateWhenFull: true };
    const filter = new RotatingBloomFilter(options);
    const twin = new RotatingBloomFilter(options);
    let sets: Set<number>[] = [new Set(), new Set(), new Set()];
    let turn = 0;
    const modelAdd = (key: number) => {
      const fresh = !sets.some((set) => set.has(key));
      if (sets[0].has(key)) return false;
      if (sets[0].size === 100) {
        sets = [new Set(), ...sets.slice(0, 2)];
        turn++;
      }
      sets[0].add(key);
      return fresh;
    };
    for (let step = 0; step < withEffort(1500); step++) {
      const spread = random.below(10) === 0 ? 2000 : 300;
      const keys = Array.from({ length: random.below(40) }, () => random.below(spread));
      const expected = keys.filter(modelAdd).length;
      expect(filter.addMany(keys)).toBe(expected);
      expect(keys.filter((key) => twin.add(key)).length).toBe(expected);
      expect(filter.turn).toBe(turn);
      const asked = Array.from({ length: 20 }, () => random.below(2000));
      expect([...filter.ageMany(asked)]).toEqual(asked.map((key) => sets.findIndex((set) => set.has(key))));
      if (random.below(100) === 0) {
        filter.rotate();
        twin.rotate();
        sets = [new Set(), ...sets.slice(0, 2)];
        turn++;
      }
    }
    expect(twin.equals(filter)).toBe(true);
    expect(twin.encode()).toEqual(filter.encode());
    expect(turn).toBeGreaterThan(20);
    expect(RotatingBloomFilter.decode(filter.encode()).equals(filter)).toBe(true);
  });

  test('the compound rate of full generations is the one asked for', () => {
    for (const [generations, rate] of [
      [2, 0.1],
      [3, 0.01],
      [8, 0.05],
    ]) {
      const n = 3000;
      const filter = new RotatingBloomFilter({ capacity: n, falsePositiveRate: rate, generations });
      let right = 1;
      let stray = 0;
      for (let g = 0; g < generations; g++) {
        if (g > 0) filter.rotate();
        filter.addMany(counterKeys(n, 0, g + 1));
        right *= 1 - rateTrue(filter.bits, filter.hashes, n);
        stray += rateTrueVariance(filter.bits, filter.hashes, n);
      }
      expect(1 - right).toBeLessThanOrEqual(rate);
      expect(1 - right).toBeGreaterThan(0.97 * rate);
      const own = filter.estimatedFalsePositiveRate();
      expect(Math.abs(own - (1 - right))).toBeLessThan(5 * Math.sqrt(stray));
      const questions = withEffort(kernel === 'wasm' ? 200_000 : 40_000);
      const found = filter.hasMany(counterKeys(questions, 0, 99)).reduce((sum, a) => sum + a, 0);
      expectBinomial(found, questions, own, `${generations} generations`);
    }
  });
});

describe('RotatingBloomFilter', () => {
  const options = { capacity: 100, falsePositiveRate: 0.01 };

  test('the periods are exact, also where they are no whole number of milliseconds', () => {
    const filter = new RotatingBloomFilter({ ...options, generations: 4, ttlMs: 10, nowMs: 0 });
    // Periods of 10/3 ms begin at 0, 3.33, 6.67, 10, …
    const turns = Array.from({ length: 21 }, (_, now) => {
      filter.advance(now);
      return filter.turn;
    });
    expect(turns).toEqual([0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 5, 5, 5, 6]);
    const late = new RotatingBloomFilter({ ...options, generations: 32, ttlMs: 3, nowMs: 2 ** 48 - 2 });
    expect(late.turn).toBe(Number(((2n ** 48n - 2n) * 31n) / 3n));
    late.add('a');
    late.advance(2 ** 48 - 1);
    expect(late.turn).toBe(Number(((2n ** 48n - 1n) * 31n) / 3n));
  });

  test('a jump beyond everything forgets everything, and says how many turns it was', () => {
    const filter = new RotatingBloomFilter({ ...options, ttlMs: 100, nowMs: 1000 });
    filter.addMany(['a', 'b']);
    expect(filter.advance(1_000_000)).toBe(19_980);
    expect(filter.hasMany(['a', 'b'])).toEqual(Uint8Array.of(0, 0));
    expect(filter.estimatedSize()).toBe(0);
    expect(filter.turn).toBe(20_000);
  });

  test('adding again renews', () => {
    const filter = new RotatingBloomFilter({ ...options, falsePositiveRate: TINY });
    expect(filter.add('kept')).toBe(true);
    expect(filter.add('lost')).toBe(true);
    for (let turn = 0; turn < 5; turn++) {
      filter.rotate();
      expect(filter.age('kept')).toBe(1);
      expect(filter.add('kept')).toBe(false);
    }
    expect(filter.has('kept')).toBe(true);
    expect(filter.has('lost')).toBe(false);
    expect(filter.age('lost')).toBe(undefined);
    expect(filter.ageHash(hashKey('kept'))).toBe(0);
    expect(() => filter.ageHash(hashKey('kept', { seed: 1 }))).toThrow(
      /expected one by filter.scheme \(forge64\/0\), got forge64\/1/,
    );
    expect(() => filter.ageMany(hashKeys(['a'], { seed: 1 }))).toThrow(RangeError);
  });

  test('sizes: of each generation, and of the union, where renewed keys count once', () => {
    const filter = new RotatingBloomFilter({ capacity: 5000, falsePositiveRate: 0.01 });
    filter.addMany(counterKeys(4000, 0, 1));
    filter.rotate();
    filter.addMany(counterKeys(3000, 2000, 1)); // half of it renewed
    const wide = { confidence: 1 - 5.7e-7 };
    const within = ({ low, high }: { low: number; high: number }, truth: number) =>
      expect(low <= truth && truth <= high && high - low < 1000, `${low} ${truth} ${high}`).toBe(true);
    within(sizeEstimate(filter.flattened(), wide), 5000);
    within(sizeEstimate(filter.generation(0), wide), 3000);
    within(sizeEstimate(filter.generation(1), wide), 4000);
    expect(filter.estimatedSizes()).toEqual([0, 1, 2].map((age) => filter.generation(age).estimatedSize()));
    expect(filter.estimatedSizes()[2]).toBe(0);
    filter.generation(0).add('a copy of mine');
    expect(filter.byteLength).toBe(3 * filter.generation(0).byteLength);
    expect(() => filter.generation(3)).toThrow(/Cannot use age: expected an integer from 0 to 2/);
  });

  test('merging: generation by generation, where the turns agree', () => {
    const make = (nowMs: number, from: number) => {
      const filter = new RotatingBloomFilter({ ...options, ttlMs: 200, nowMs });
      filter.addMany(counterKeys(30, from));
      filter.advance(nowMs + 100);
      filter.addMany(counterKeys(30, from + 20));
      return filter;
    };
    const both = make(1000, 0);
    both.merge(make(1040, 500));
    const whole = new RotatingBloomFilter({ ...options, ttlMs: 200, nowMs: 1000 });
    whole.addMany(counterKeys(30, 0));
    whole.addMany(counterKeys(30, 500));
    whole.advance(1140);
    whole.addMany(counterKeys(30, 20));
    whole.addMany(counterKeys(30, 520));
    expect(both.equals(whole)).toBe(true);
    expect(both.encode()).toEqual(whole.encode());
    expect(() => both.merge(make(1200, 0))).toThrow(/at turns 11 and 13/);
    const plain = new RotatingBloomFilter(options);
    expect(() => both.merge(plain)).toThrow(/unlike filters: RotatingBloomFilter\(.*by-time.*by-hand/);
    expect(() => plain.merge({} as never)).toThrow(RangeError);
    expect(() => plain.merge(new RotatingBloomFilter({ ...options, seed: 1 }))).toThrow(/unlike/);
    const full = new RotatingBloomFilter({ ...options, rotateWhenFull: true });
    expect(() => full.merge(full.copy())).toThrow(/each turns at moments of its own/);
  });

  test('copies are independent; equality sees keys, turns and time', () => {
    const filter = new RotatingBloomFilter({ ...options, ttlMs: 100, nowMs: 7 });
    filter.addMany(counterKeys(50));
    const copy = filter.copy();
    expect(copy.equals(filter)).toBe(true);
    copy.advance(8);
    expect(copy.equals(filter)).toBe(false);
    const other = filter.copy();
    other.add('more');
    expect(other.equals(filter)).toBe(false);
    expect(filter.has('more')).toBe(false);
    const plain = new RotatingBloomFilter(options);
    const turned = plain.copy();
    turned.rotate();
    expect(turned.equals(plain)).toBe(false);
    expect(plain.equals({} as never)).toBe(false);
  });

  test('both kernels make the same bytes', () => {
    const keys = awkwardStrings(4000, 4);
    const frames = (['wasm', 'javascript'] as const).map((kernel) => {
      useKernel(kernel);
      const filter = new RotatingBloomFilter({ ...options, capacity: 700, rotateWhenFull: true });
      filter.addMany(keys);
      for (const key of keys.slice(0, 900)) filter.add(key);
      return filter.encode();
    });
    useKernel('auto');
    expect(frames[0]).toEqual(frames[1]);
  });

  test('errors name what is wrong', () => {
    const make = (extra: object) => () => new RotatingBloomFilter({ ...options, ...extra });
    for (const generations of [1, 33, 2.5]) {
      expect(make({ generations })).toThrow(/Cannot use generations: expected an integer from 2 to 32/);
    }
    expect(make({ ttlMs: 0, nowMs: 0 })).toThrow(/Cannot use ttlMs: expected/);
    expect(make({ ttlMs: 100 })).toThrow(/Cannot use nowMs: expected/);
    expect(make({ ttlMs: 100, nowMs: 1.5 })).toThrow(/Cannot use nowMs: expected an integer/);
    expect(make({ nowMs: 5 })).toThrow(/Cannot use nowMs: expected ttlMs with it, got none/);
    expect(make({ ttlMs: 100, nowMs: 0, rotateWhenFull: true })).toThrow(/ttlMs or rotateWhenFull/);
    expect(make({ rotateWhenFull: 'yes' })).toThrow(/true or false/);
    expect(make({ layout: 'x' })).toThrow(/Cannot use layout: expected/);
    expect(make({ ttl: 5 })).toThrow(/got option 'ttl'/);
    expect(() => new RotatingBloomFilter(undefined as never)).toThrow(TypeError);
    const timed = make({ ttlMs: 100, nowMs: 0 })();
    expect(() => timed.rotate()).toThrow(/Cannot rotate: expected a filter without ttlMs/);
    expect(() => timed.advance(-1)).toThrow(/Cannot use nowMs: expected an integer from 0/);
    expect(() => timed.advance(Number.NaN)).toThrow(/nowMs/);
    expect(() => make({})().advance(5)).toThrow(/made with ttlMs/);
    expect(make({})().nowMs).toBe(undefined);
    expect(String(timed)).toBe(
      'RotatingBloomFilter(3 generations of 100 keys, 1189 bits, 8 hashes, classic, by-time of 100 ms, forge64/0)',
    );
  });
});

describe('frames of a RotatingBloomFilter', () => {
  const kind: FrameKind = { code: 10, name: '', widths: [1, 6, 6, 6], payloadBits: () => 0 };
  const { scheme } = hashKey('a');
  const part = (keys: number, note = 0, more: object = {}) => {
    const filter = new BloomFilter({ bits: 400, hashes: 4, capacity: 50, ...more });
    filter.addMany(counterKeys(keys));
    return { filter, note };
  };
  const forge = (
    filters: NestedFilter[],
    { variant = 0, count = filters.length, ttlMs = 0, clock = 9 } = {},
  ) => {
    const payload = joinFilters(filters);
    return forgeFrame(kind, {
      variant,
      scheme,
      parameters: [count, ttlMs, clock, payload.length],
      payload,
    });
  };
  const errorOf = (frame: Uint8Array): FrameError => {
    try {
      RotatingBloomFilter.decode(frame);
    } catch (error) {
      if (error instanceof FrameError) return error;
      throw error;
    }
    throw new Error('no error');
  };

  test('the golden frames mean what the format says', () => {
    for (const [variant, { extra, golden }] of kinds.entries()) {
      const {
        generations = 3,
        ttlMs = 0,
        nowMs = 0,
        rotateWhenFull = false,
      } = extra as Partial<RotatingBloomFilterOptions>;
      const frame = bytesOf(golden.hex);
      expect(RotatingBloomFilter.decode(frame).encode()).toEqual(frame);
      const view = new DataView(frame.buffer);
      const number48 = (at: number) => view.getUint32(at, true) + 2 ** 32 * view.getUint16(at + 4, true);
      expect([frame[5], frame[6], frame[16]]).toEqual([10, variant, generations]);
      expect([number48(17), number48(23), number48(29)]).toEqual([ttlMs, nowMs, frame.length - 35 - 4]);
      const rate = 1 - 0.99 ** (1 / generations);
      const size = sizeClassic({ capacity: 20, falsePositiveRate: rate });
      const parts = partsIn(frame, 35);
      expect(parts.length).toBe(generations);
      for (const [age, { note, frame: inner }] of parts.entries()) {
        const generation = new BloomFilter({ bits: size.bits, hashes: size.hashes, capacity: 20 });
        if (age === 0) for (let i = 0; i < 20; i++) generation.add(`key-${i}`);
        expect(inner).toEqual(generation.encode());
        expect(note).toBe(rotateWhenFull && age === 0 ? 20 : 0);
      }
    }
  });

  test('sound ones are read', () => {
    const byHand = RotatingBloomFilter.decode(forge([part(3), part(4)]));
    expect([byHand.turn, byHand.rotation, byHand.generations]).toEqual([9, 'by-hand', 2]);
    const byTime = RotatingBloomFilter.decode(forge([part(3), part(4)], { variant: 1, ttlMs: 2 }));
    expect([byTime.turn, byTime.nowMs, byTime.ttlMs]).toEqual([4, 9, 2]);
    const full = RotatingBloomFilter.decode(forge([part(3, 3), part(4)], { variant: 2 }));
    expect(full.rotation).toBe('when-full');
  });

  test('generations that contradict each other are refused', () => {
    expect(errorOf(forge([part(3), part(4, 0, { bits: 401 })])).message).toMatch(/generation 1 to be/);
    expect(errorOf(forge([part(3), part(4, 0, { capacity: 51 })])).message).toMatch(/generation 1 to be/);
    const bare = { capacity: undefined };
    expect(errorOf(forge([part(3, 0, bare), part(4, 0, bare)])).message).toMatch(/no capacity/);
    expect(errorOf(forge([part(3, 3), part(4)])).message).toMatch(/cannot have 3 keys/);
    expect(errorOf(forge([part(3), part(4, 1)], { variant: 2 })).message).toMatch(
      /generation 0 has \d+ ones/,
    );
    expect(errorOf(forge([part(3, 3), part(4, 1)], { variant: 2 })).message).toMatch(/generation 1/);
    expect(errorOf(forge([part(3, 2), part(4)], { variant: 2 })).code).toBe('payload');
    expect(errorOf(forge([part(40, 51), part(4)], { variant: 2 })).code).toBe('payload');
    expect(errorOf(forge([part(0, 1), part(4)], { variant: 2 })).code).toBe('payload');
  });

  test('parameters of no filter are refused', () => {
    for (const wrong of [{ variant: 3 }, { count: 1 }, { count: 33 }, { ttlMs: 5 }, { variant: 1 }]) {
      expect(errorOf(forge([part(3), part(4)], wrong)).code).toBe('parameters');
    }
  });

  test('keyed ones need their key', () => {
    const key = new SecretKey(Uint8Array.from({ length: 16 }, (_, i) => i));
    const options: RotatingBloomFilterOptions = { capacity: 10, falsePositiveRate: 0.1, key };
    const filter = new RotatingBloomFilter(options);
    filter.add('a');
    filter.rotate();
    expect(RotatingBloomFilter.decode(filter.encode(), { key }).equals(filter)).toBe(true);
    expect(errorOf(filter.encode()).code).toBe('key');
  });
});

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
