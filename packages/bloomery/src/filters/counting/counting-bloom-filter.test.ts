import { withEffort } from '@bloomery/testkit/effort';
import { expectBinomial, expectNormal, Random } from '@bloomery/testkit/statistics';
import { describe, expect, test } from 'vitest';
import { codecContract } from '../../../test/contracts/codec.ts';
import { membershipContract } from '../../../test/contracts/membership.ts';
import { mergeableContract } from '../../../test/contracts/mergeable.ts';
import { rateContract } from '../../../test/contracts/rate.ts';
import { codecSubject, inBothKernels, type Subject } from '../../../test/contracts/subject.ts';
import { awkwardStrings, counterKeys } from '../../../test/keys.ts';
import { referenceForge64, referenceIndex } from '../../../test/reference.ts';
import { SecretKey } from '../../hashing/secret-key.ts';
import { hashKey } from '../../kernel/batches/hash-key.ts';
import { hashKeys } from '../../kernel/batches/hash-keys.ts';
import { useKernel } from '../../kernel/wasm/kernel-choice.ts';
import { keyBytes } from '../../keys/key.ts';
import { packKeys } from '../../keys/packed-keys.ts';
import { textEncoder } from '../../keys/platform.ts';
import { counterOverflowBoundOptimal, counterProbability } from '../../math/bounds.ts';
import { ratePartitioned } from '../../math/rates.ts';
import { rateTrue } from '../../math/true-rate.ts';
import { BloomFilter, type BloomLayout } from '../bloom-filter.ts';
import { type CounterBits, CountingBloomFilter } from './counting-bloom-filter.ts';

const WIDTHS: readonly CounterBits[] = [2, 4, 8, 16];

function subject(layout: BloomLayout, counterBits: CounterBits): Subject<CountingBloomFilter> {
  return {
    name: `CountingBloomFilter, ${layout}, ${counterBits} bits`,
    seedable: true,
    multiset: true,
    create: ({ shared: _, ...options }) =>
      CountingBloomFilter.forCapacity({ ...options, layout, counterBits }),
    decode: (bytes, options) => CountingBloomFilter.decode(bytes, options),
    ...(layout === 'partitioned' ? { ownRate: rateOfSlices } : {}),
    theory: ({ counters, hashes }, n) =>
      (layout === 'classic' ? rateTrue : ratePartitioned)(counters, hashes, n),
  };
}

/** All counters, read off the frame. */
function countersOf(filter: CountingBloomFilter): number[] {
  const bytes = filter.encode();
  const payload = bytes.subarray(29, -4);
  expect(payload.length).toBe(Math.ceil((filter.counters * filter.counterBits) / 8));
  return Array.from({ length: filter.counters }, (_, i) => {
    let value = 0;
    for (let bit = 0; bit < filter.counterBits; bit++) {
      const at = i * filter.counterBits + bit;
      value += ((payload[at >> 3] >> (at & 7)) & 1) << bit;
    }
    return value;
  });
}

/** The product of the slices' fills: the rate of a partitioned filter, exactly. */
function rateOfSlices(filter: CountingBloomFilter): number {
  const counters = countersOf(filter);
  const slice = filter.counters / filter.hashes;
  let rate = 1;
  for (let i = 0; i < filter.hashes; i++) {
    rate *= counters.slice(i * slice, (i + 1) * slice).filter((c) => c > 0).length / slice;
  }
  return rate;
}

/** The distinct counters of a key, by the definition. */
function referenceCounters(key: string, { counters, hashes, layout, scheme }: CountingBloomFilter): number[] {
  const hash = referenceForge64(keyBytes(key), scheme.seed);
  const slice = layout === 'classic' ? counters : counters / hashes;
  const found = Array.from(
    { length: hashes },
    (_, i) => (layout === 'classic' ? 0 : i * slice) + referenceIndex(hash, i, slice),
  );
  return [...new Set(found)];
}

const goldens = {
  classic: {
    hex: '424c4d59010300010000000000000000c200000000060414000000000020010000011213020000100001000102101210101001101200030100001111100000101000001010011105100100103031020000002010100112121110001011000110031001010101021100001010400101111001000000000100110112201011ed793660',
    falsePositives: [4, 21, 36, 38, 55, 66, 71, 75, 83, 97],
  },
  partitioned: {
    hex: '424c4d59010301010000000000000000c400000000070414000000000011111200001102011200020100111000111102101100000130210111110001021100002202110021100111113011001001001030010100300000002101113010210200100112400001000011130203101101000001011020020111111020211010009867160b',
    falsePositives: [15, 23, 30, 96, 97, 102, 105, 118, 120, 123],
  },
};

describe.each(['classic', 'partitioned'] as const)('%s', (layout) => {
  const tested = subject(layout, 4);
  membershipContract(tested);
  mergeableContract(tested, () => {
    const { counters, hashes } = tested.create({ capacity: 500, falsePositiveRate: 0.01 });
    const other = layout === 'classic' ? 'partitioned' : 'classic';
    const even = hashes * Math.ceil(counters / hashes);
    return [
      new CountingBloomFilter({ counters: counters + hashes, hashes, layout }),
      new CountingBloomFilter({ counters: even, hashes: 1, layout }),
      new CountingBloomFilter({ counters: even, hashes, layout: other }),
      new CountingBloomFilter({ counters, hashes, layout, counterBits: 8 }),
      new CountingBloomFilter({ counters, hashes, layout, seed: 1 }),
      new CountingBloomFilter({ counters, hashes, layout, key: new SecretKey(new Uint8Array(16)) }),
    ];
  });
  codecContract(codecSubject(tested), goldens[layout]);
  rateContract(tested, {
    capacities: [1, 20, 1000],
    again: ({ counters, hashes }, seed) => new CountingBloomFilter({ counters, hashes, layout, seed }),
  });

  inBothKernels(`${layout}: counting`, () => {
    test.each(WIDTHS)('every counter against a naive model: random commands, %i bits', (counterBits) => {
      const random = new Random(100 + counterBits);
      const counters = layout === 'classic' ? 211 : 212;
      let filter = new CountingBloomFilter({ counters, hashes: 4, counterBits, layout, trackChanges: true });
      const most = 2 ** counterBits - 1;
      const naive = new Array<number>(counters).fill(0);
      const inside: string[] = [];
      let snapshot = filter.snapshot();
      const universe = Array.from({ length: 60 }, (_, i) => `key ${i}`);
      const places = new Map(universe.map((key) => [key, referenceCounters(key, filter)]));
      const add = (key: string) => {
        for (const i of places.get(key)!) naive[i] = Math.min(most, naive[i] + 1);
        inside.push(key);
      };
      const remove = (key: string): boolean => {
        const own = places.get(key)!;
        if (own.some((i) => naive[i] === 0)) return false;
        for (const i of own) if (naive[i] < most) naive[i]--;
        return true;
      };
      for (let step = 0; step < withEffort(3000); step++) {
        const key = random.pick(universe);
        const command = random.below(100);
        if (command < 30) {
          const fresh = places.get(key)!.some((i) => naive[i] === 0);
          expect(filter.add(key)).toBe(fresh);
          add(key);
        } else if (command < 40) {
          const keys = Array.from({ length: random.below(20) }, () => random.pick(universe));
          filter.addMany(command % 2 === 0 ? keys : hashKeys(keys, filter.scheme));
          keys.forEach(add);
        } else if (command < 70 && inside.length > 0) {
          const [gone] = inside.splice(random.below(inside.length), 1);
          expect(command % 2 === 0 ? filter.delete(gone) : filter.deleteHash(hashKey(gone))).toBe(true);
          expect(remove(gone)).toBe(true);
        } else if (command < 76) {
          const gone = inside.splice(0, random.below(20));
          expect(filter.deleteMany(gone)).toBe(gone.length);
          gone.forEach(remove);
        } else if (command < 80) {
          // A key that is certainly not in is refused. (Where it looks as if it were in, deleting
          // it would do harm.)
          const stranger = `stranger ${random.below(1000)}`;
          const certain = referenceCounters(stranger, filter).some((i) => naive[i] === 0);
          if (certain) expect(filter.delete(stranger)).toBe(false);
          if (certain) expect(filter.deleteMany([stranger])).toBe(0);
          const changes = filter.takeChanges();
          expect(flipped(snapshot, changes)).toEqual(filter.snapshot().encode());
          filter = CountingBloomFilter.decode(filter.encode(), { trackChanges: true });
          snapshot = filter.snapshot();
        } else if (command < 84) {
          const before = snapshot;
          snapshot = filter.snapshot();
          const changed = filter.changedCount();
          const positions = filter.takeChanges();
          expect(positions.length).toBe(changed);
          expect(flipped(before, positions)).toEqual(snapshot.encode());
          expect(filter.changedCount()).toBe(0);
        } else if (command < 86) {
          const other = filter.copy();
          other.clear();
          const keys = [random.pick(universe), random.pick(universe)];
          other.addMany(keys);
          filter.merge(other);
          keys.forEach(add);
        } else if (command === 99 && random.below(10) === 0) {
          filter.clear();
          naive.fill(0);
          inside.length = 0;
        } else {
          const least = Math.min(...places.get(key)!.map((i) => naive[i]));
          expect(filter.count(key)).toBe(least);
          expect(filter.countHash(hashKey(key))).toBe(least);
          expect(filter.countMany([key, key])[1]).toBe(least);
          expect(filter.has(key)).toBe(least > 0);
          expect(least).toBeGreaterThanOrEqual(Math.min(most, inside.filter((k) => k === key).length));
        }
        if (step % 100 === 0) {
          expect(countersOf(filter)).toEqual(naive);
          expect(filter.onesCount()).toBe(naive.filter((c) => c > 0).length);
          expect(filter.saturatedCount()).toBe(naive.filter((c) => c === most).length);
        }
      }
    });

    test.each(WIDTHS)(
      'the snapshot is the Bloom filter of the keys that are left (%i bits)',
      (counterBits) => {
        for (const capacity of [1, 7, 33, 1000]) {
          const filter = CountingBloomFilter.forCapacity({
            capacity,
            falsePositiveRate: 0.02,
            counterBits,
            layout,
            seed: 5,
          });
          const keys = [...new Set(awkwardStrings(capacity, 3))];
          const gone = awkwardStrings(capacity, 4).filter((key) => !keys.includes(key));
          filter.addMany([...keys, ...gone]);
          filter.deleteMany(gone);
          const { bits, hashes } = filter;
          const bloom = new BloomFilter({ bits, hashes, layout, capacity, seed: 5 });
          bloom.addMany(keys);
          if (filter.saturatedCount() === 0) expect(filter.snapshot().encode()).toEqual(bloom.encode());
          expect(bloom.isSubsetOf(filter.snapshot())).toBe(true);
          const probes = awkwardStrings(500, 6);
          expect([...filter.snapshot().hasMany(probes)]).toEqual([...filter.hasMany(probes)]);
          expect(filter.onesCount()).toBe(filter.snapshot().onesCount());
          expect(filter.estimatedFalsePositiveRate()).toBe(filter.snapshot().estimatedFalsePositiveRate());
        }
      },
    );

    test('a saturated counter never causes a false negative', () => {
      for (const counterBits of [2, 4] as const) {
        const filter = new CountingBloomFilter({ counters: 60, hashes: 3, counterBits, layout });
        const keep = Array.from({ length: 10 }, (_, i) => `keep ${i}`);
        const pass = Array.from({ length: 500 }, (_, i) => `pass ${i}`);
        filter.addMany(keep);
        filter.addMany(pass);
        // Far more keys than it is made for, so that counters saturate.
        expect(filter.saturatedCount()).toBeGreaterThan(30);
        expect(filter.deleteMany(pass)).toBe(pass.length);
        for (const key of keep) expect(filter.has(key)).toBe(true);
        for (const key of keep) expect(filter.delete(key)).toBe(true);
      }
    });

    test('a key added more often than a counter holds stays until the filter is cleared', () => {
      const filter = new CountingBloomFilter({ counters: 1000, hashes: 4, counterBits: 2, layout });
      for (let i = 0; i < 5; i++) filter.add('often');
      expect(filter.count('often')).toBe(filter.maxCount);
      for (let i = 0; i < 5; i++) expect(filter.delete('often')).toBe(true);
      expect(filter.has('often')).toBe(true);
      filter.clear();
      expect(filter.has('often')).toBe(false);
    });

    test('two indices of one key that coincide count once', () => {
      const filter = new CountingBloomFilter({ counters: 4, hashes: 4, counterBits: 8, layout });
      for (const key of awkwardStrings(50, 7)) {
        filter.clear();
        filter.addMany([key]);
        expect(countersOf(filter).every((c) => c <= 1)).toBe(true);
        filter.add(key);
        expect(filter.count(key)).toBe(2);
        expect(filter.deleteMany([key, key, key])).toBe(2);
        expect(filter.onesCount()).toBe(0);
      }
    });

    test('every way in and out gives the same counters', () => {
      const keys = awkwardStrings(3000, 12).map((key) => key.replaceAll('\n', '_'));
      const lines = { lines: textEncoder().encode(keys.join('\n')) };
      const make = () => CountingBloomFilter.forCapacity({ capacity: 1500, falsePositiveRate: 0.01, layout });
      const forms = [keys, new Set(keys), packKeys(keys), lines, hashKeys(keys)];
      const full = make();
      for (const key of [...keys, ...keys]) full.add(key);
      const once = full.copy();
      let removed = 0;
      for (const key of keys) removed += once.delete(key) ? 1 : 0;
      for (const form of forms) {
        const filter = make();
        if (form instanceof Set) for (const _ of [1, 2]) filter.addMany(keys.values());
        else for (const _ of [1, 2]) filter.addMany(form);
        expect(filter.equals(full)).toBe(true);
        expect([...filter.countMany(form)].every((count) => count >= 2)).toBe(true);
        expect(filter.deleteMany(form instanceof Set ? keys.values() : form)).toBe(removed);
        expect(filter.encode()).toEqual(once.encode());
      }
    });

    test('merging knows what changed, and so does clearing', () => {
      const make = (keys: string[]) => {
        const filter = new CountingBloomFilter({
          counters: 4000,
          hashes: 4,
          counterBits: 2,
          layout,
          trackChanges: true,
        });
        filter.addMany(keys);
        return filter;
      };
      const a = make(awkwardStrings(100, 1));
      a.takeChanges();
      const before = a.snapshot();
      a.merge(make(awkwardStrings(100, 2)));
      const merged = a.snapshot();
      expect(flipped(before, a.takeChanges())).toEqual(merged.encode());
      a.clear();
      expect(flipped(merged, a.takeChanges())).toEqual(a.snapshot().encode());
    });
  });
});

/** The frame of the filter with these bits flipped. */
function flipped(filter: BloomFilter, positions: Float64Array): Uint8Array {
  const content = filter.encode().subarray(0, -4);
  for (const at of positions) content[28 + Math.floor(at / 8)] ^= 1 << (at % 8);
  return withChecksum(content);
}

function withChecksum(content: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(content.length + 4);
  bytes.set(content);
  new DataView(bytes.buffer).setUint32(
    content.length,
    Number(referenceForge64(content, 0n) & 0xffffffffn),
    true,
  );
  return bytes;
}

describe('CountingBloomFilter', () => {
  test('reads like a Set that says maybe and can forget', () => {
    const sessions = CountingBloomFilter.forCapacity({ capacity: 10_000, falsePositiveRate: 0.01 });
    expect(sessions.add('ann')).toBe(true);
    expect(sessions.add('ann')).toBe(false);
    expect(sessions.count('ann')).toBe(2);
    expect(sessions.delete('ann')).toBe(true);
    expect(sessions.has('ann')).toBe(true);
    expect(sessions.delete('ann')).toBe(true);
    expect(sessions.has('ann')).toBe(false);
    expect(sessions.delete('ann')).toBe(false); // certainly not in: nothing was changed
    expect(sessions.onesCount()).toBe(0);
    expect(String(sessions)).toMatch(
      /^CountingBloomFilter\(\d+ counters of 4 bits, 7 hashes, classic, forge64\/0\)$/,
    );
  });

  test('memory: 4 bits a counter, one more with tracked changes', () => {
    const options = { capacity: 100_000, falsePositiveRate: 0.01 };
    const plain = CountingBloomFilter.forCapacity(options);
    expect((plain.byteLength * 8) / plain.counters).toBeLessThan(4.001);
    const tracked = CountingBloomFilter.forCapacity({ ...options, trackChanges: true });
    expect((tracked.byteLength * 8) / tracked.counters).toBeLessThan(5.001);
  });

  test('the two kernels give the same counters for a million keys in and half of them out', () => {
    const count = withEffort(1_000_000, 250_000);
    const filters = (['wasm', 'javascript'] as const).map((kernel) => {
      useKernel(kernel);
      const filter = CountingBloomFilter.forCapacity({
        capacity: 200_000,
        falsePositiveRate: 0.01,
        counterBits: 2,
        trackChanges: true,
      });
      filter.addMany(counterKeys(count));
      const removed = filter.deleteMany(counterKeys(count / 2, count / 4));
      const counts = filter.countMany(counterKeys(1000));
      useKernel('auto');
      return { bytes: filter.encode(), removed, counts, changes: filter.takeChanges() };
    });
    expect(filters[0]).toEqual(filters[1]);
    expect(filters[0].changes.length).toBeGreaterThan(100_000);
  });

  test('counters are distributed as theory says, and overflow as rarely', () => {
    // Survey 2.5: at the best k, P(some counter reaches 16) <= 1.37e-15 * m.
    expect(counterOverflowBoundOptimal(1, 16) / 1.37e-15).toBeGreaterThan(0.995);
    expect(counterOverflowBoundOptimal(1, 16) / 1.37e-15).toBeLessThan(1.005);
    const filter = CountingBloomFilter.forCapacity({ capacity: 50_000, falsePositiveRate: 0.01 });
    filter.addMany(counterKeys(50_000));
    const { counters, hashes } = filter;
    const values = countersOf(filter);
    for (let j = 1; j <= 6; j++) {
      const p = counterProbability(counters, hashes, 50_000, j);
      // A key cannot raise a counter twice, which takes (1 - 1/m) only: far below a deviation here.
      expectBinomial(values.filter((c) => c >= j).length, counters, p, `counters of at least ${j}`);
    }
    expect(values.every((c) => c < 15)).toBe(true);
  });

  test('count is too high as often as theory says', () => {
    const filter = CountingBloomFilter.forCapacity({
      capacity: 20_000,
      falsePositiveRate: 0.05,
      counterBits: 8,
    });
    filter.addMany(counterKeys(20_000));
    const rate = filter.estimatedFalsePositiveRate();
    const counts = filter.countMany(counterKeys(20_000));
    const tooHigh = counts.filter((count) => count > 1).length;
    // Each of its counters is hit by another key as often as a foreign key's counters are: the
    // false positive rate.
    expectNormal(tooHigh, 20_000 * rate, Math.sqrt(20_000 * rate), 'keys whose count is too high');
    expect(counts.every((count) => count >= 1)).toBe(true);
  });

  test('errors name what is wrong', () => {
    const good = { counters: 100, hashes: 3 };
    for (const counterBits of [0, 1, 3, 5, 32, '4', Number.NaN]) {
      const make = () => new CountingBloomFilter({ ...good, counterBits: counterBits as CounterBits });
      expect(make, `${counterBits}`).toThrow(/Cannot use counterBits: expected 2, 4, 8 or 16, got/);
    }
    expect(() => new CountingBloomFilter({ ...good, counters: 0 })).toThrow(/Cannot use counters: expected/);
    expect(() => new CountingBloomFilter({ ...good, counters: 2 ** 36 })).toThrow(
      /Cannot use counters: expected/,
    );
    expect(() => new CountingBloomFilter({ ...good, hashes: 0 })).toThrow(/Cannot use hashes: expected/);
    expect(() => new CountingBloomFilter({ ...good, layout: 'partitioned' })).toThrow(/multiple of hashes/);
    expect(() => new CountingBloomFilter({ ...good, overfull: 'throw' })).toThrow(
      /expected a capacity, got none/,
    );
    expect(() => new CountingBloomFilter({ ...good, shared: true } as never)).toThrow(/got option 'shared'/);
    expect(() => new CountingBloomFilter(good).takeChanges()).toThrow(/trackChanges: true/);
    expect(() => new CountingBloomFilter(good).changedCount()).toThrow(/trackChanges: true/);
    expect(() => new CountingBloomFilter(good).deleteHash(hashKey('a', { seed: 5 }))).toThrow(/forge64\/5/);
    expect(() => new CountingBloomFilter(good).deleteMany('abc')).toThrow(TypeError);
  });
});
