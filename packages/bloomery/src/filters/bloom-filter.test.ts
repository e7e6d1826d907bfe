import { expectNormal } from '@bloomery/testkit/statistics';
import { describe, expect, test } from 'vitest';
import { codecContract } from '../../test/contracts/codec.ts';
import { membershipContract } from '../../test/contracts/membership.ts';
import { mergeableContract } from '../../test/contracts/mergeable.ts';
import { rateContract } from '../../test/contracts/rate.ts';
import { codecSubject, inBothKernels, type Subject } from '../../test/contracts/subject.ts';
import { awkwardStrings, counterKeys } from '../../test/keys.ts';
import { referenceForge64, referenceIndex } from '../../test/reference.ts';
import { SecretKey } from '../hashing/secret-key.ts';
import { keyBytes } from '../keys/key.ts';
import { ratePartitioned } from '../math/rates.ts';
import { rateTrue } from '../math/true-rate.ts';
import { BloomFilter, type BloomLayout } from './bloom-filter.ts';
import { intersectionEstimate, unionEstimate } from './shared/estimates.ts';

function subject(layout: BloomLayout): Subject<BloomFilter> {
  return {
    name: `BloomFilter, ${layout}`,
    seedable: true,
    create: (options) => BloomFilter.forCapacity({ ...options, layout }),
    decode: (bytes, options) => BloomFilter.decode(bytes, options),
    ...(layout === 'partitioned' ? { ownRate: rateOfSlices } : {}),
    theory: ({ bits, hashes }, n) => (layout === 'classic' ? rateTrue : ratePartitioned)(bits, hashes, n),
  };
}

/** The product of the slices' fills, read off the payload of the frame. */
function rateOfSlices(filter: BloomFilter): number {
  const { bits, hashes } = filter;
  const payload = filter.encode().subarray(-4 - Math.ceil(bits / 8), -4);
  const slice = bits / hashes;
  const ones = new Float64Array(hashes);
  for (let bit = 0; bit < bits; bit++) ones[Math.floor(bit / slice)] += (payload[bit >> 3] >> (bit & 7)) & 1;
  return ones.reduce((rate, count) => rate * (count / slice), 1);
}

const goldens = {
  classic: {
    hex: '424c4d59010100010000000000000000c20000000006140000000000067d2051aee614bca0a09da107a8fde2645635a8b501c4ad0388ee69a1',
    falsePositives: [4, 21, 36, 38, 55, 66, 71, 75, 83, 97],
  },
  partitioned: {
    hex: '424c4d59010101010000000000000000c400000000071400000000003f5c532c9f43de53c3cdf68ea185c0ad872dc19707a5f5ba0288199bdd',
    falsePositives: [15, 23, 30, 96, 97, 102, 105, 118, 120, 123],
  },
};

describe.each(['classic', 'partitioned'] as const)('%s', (layout) => {
  const tested = subject(layout);
  membershipContract(tested);
  mergeableContract(tested, () => {
    const like = tested.create({ capacity: 500, falsePositiveRate: 0.01 });
    const { bits, hashes } = like;
    const other = layout === 'classic' ? 'partitioned' : 'classic';
    const even = hashes * Math.ceil(bits / hashes);
    return [
      new BloomFilter({ bits: bits + hashes, hashes, layout }),
      new BloomFilter({ bits: even, hashes: 1, layout }),
      new BloomFilter({ bits: even, hashes, layout: other }),
      new BloomFilter({ bits, hashes, layout, seed: 1 }),
      new BloomFilter({ bits, hashes, layout, key: new SecretKey(new Uint8Array(16)) }),
    ];
  });
  codecContract(codecSubject(tested), goldens[layout]);
  rateContract(tested, {
    again: ({ bits, hashes }, seed) => new BloomFilter({ bits, hashes, layout, seed }),
  });

  inBothKernels(`${layout}: structure`, () => {
    test('sets exactly the bits of the definition', () => {
      for (const k of [1, 2, 7, 30]) {
        const bits = 60 * k + (layout === 'classic' ? 7 : 0);
        const slice = layout === 'classic' ? bits : bits / k;
        for (const key of awkwardStrings(100, k)) {
          const filter = new BloomFilter({ bits, hashes: k, layout, seed: 3 });
          filter.addMany([key]);
          const hash = referenceForge64(keyBytes(key), 3n);
          const expected = new Set<number>();
          for (let i = 0; i < k; i++) {
            expected.add((layout === 'classic' ? 0 : i * slice) + referenceIndex(hash, i, slice));
          }
          const bytes = filter.encode();
          const payload = bytes.subarray(bytes.length - 4 - Math.ceil(bits / 8), bytes.length - 4);
          const ones: number[] = [];
          payload.forEach((byte, i) => {
            for (let b = 0; b < 8; b++) if ((byte >> b) & 1) ones.push(8 * i + b);
          });
          expect(ones).toEqual([...expected].sort((x, y) => x - y));
        }
      }
    });

    test('halving is the filter of half the size, again and again, and loses no key', () => {
      const keys = awkwardStrings(800, 5);
      const big = BloomFilter.forCapacity({ capacity: 800, falsePositiveRate: 1e-4, layout, halvings: 4 });
      big.addMany(keys);
      for (let times = 0; times <= 4; times++) {
        const small = new BloomFilter({ bits: big.bits / 2 ** times, hashes: big.hashes, layout });
        small.addMany(keys);
        expect(big.halve(times).equals(small), `${times} times`).toBe(true);
        expect(
          big
            .halve(times)
            .hasMany(keys)
            .every((answer) => answer === 1),
        ).toBe(true);
      }
      expect(big.halve().halve().equals(big.halve(2))).toBe(true);
      expect(() => new BloomFilter({ bits: 7 * 9, hashes: 7, layout }).halve()).toThrow(
        layout === 'classic' ? /a multiple of 2 bits, got 63/ : /a multiple of 2 bits, got 9/,
      );
    });

    test('sizes of union and intersection are estimated within their intervals', () => {
      const make = (from: number, count: number) => {
        const filter = BloomFilter.forCapacity({ capacity: 30_000, falsePositiveRate: 0.01, layout });
        filter.addMany(counterKeys(count, from, 1));
        return filter;
      };
      const a = make(0, 12_000);
      const b = make(8000, 10_000); // 4000 in common, 18000 together
      const wide = { confidence: 1 - 5.7e-7 };
      const union = unionEstimate(a, b, wide);
      const common = intersectionEstimate(a, b, wide);
      expect(union.low <= 18_000 && 18_000 <= union.high, JSON.stringify(union)).toBe(true);
      expect(common.low <= 4000 && 4000 <= common.high, JSON.stringify(common)).toBe(true);
      expect(union.high - union.low).toBeLessThan(2000);
      expect(common.high - common.low).toBeLessThan(2000);
    });

    test('the estimated rate of a filter is the rate of that filter', () => {
      for (const [n, k] of [
        [50, 3],
        [2000, 5],
      ]) {
        const filter = new BloomFilter({ bits: 6 * n * (k / k) - ((6 * n) % k), hashes: k, layout });
        filter.addMany(counterKeys(n));
        const rate = layout === 'classic' ? filter.estimatedFalsePositiveRate() : rateOfSlices(filter);
        // Equal, unless the slices differ.
        expect(filter.estimatedFalsePositiveRate()).toBeGreaterThanOrEqual(rate);
        const trials = 200_000;
        const found = filter.hasMany(counterKeys(trials, 0, 9)).reduce((sum, answer) => sum + answer, 0);
        expectNormal(found, trials * rate, Math.sqrt(trials * rate * (1 - rate)), `n = ${n}`);
      }
    });
  });
});

describe('BloomFilter', () => {
  test('reads like a Set that says maybe', () => {
    const songs = BloomFilter.forCapacity({ capacity: 1_000_000, falsePositiveRate: 0.01 });
    expect(songs.add('So What')).toBe(true);
    expect(songs.add('So What')).toBe(false);
    expect(songs.has('So What')).toBe(true);
    expect(songs.has('Freddie Freeloader')).toBe(false);
    expect(String(songs)).toMatch(/^BloomFilter\(\d+ bits, 7 hashes, classic, forge64\/0\)$/);
    expect(songs.byteLength).toBe(4 * Math.ceil(songs.bits / 32));
  });

  test('by bits and hashes, with errors that name what is wrong', () => {
    expect(new BloomFilter({ bits: 1, hashes: 1 }).bits).toBe(1);
    for (const bits of [0, -5, 1.5, Number.NaN, 2 ** 36 + 1, '8']) {
      expect(() => new BloomFilter({ bits: bits as number, hashes: 1 }), `${bits}`).toThrow(
        /Cannot use bits: expected/,
      );
    }
    for (const hashes of [0, 1.5, 256, Number.NaN]) {
      expect(() => new BloomFilter({ bits: 8, hashes }), `${hashes}`).toThrow(/Cannot use hashes: expected/);
    }
    expect(() => new BloomFilter({ bits: 10, hashes: 3, layout: 'partitioned' })).toThrow(
      /multiple of hashes/,
    );
    expect(() => new BloomFilter({ bits: 8, hashes: 1, layout: 'round' as never })).toThrow(
      /'classic' or 'partitioned'/,
    );
    expect(() => new BloomFilter({ bits: 8, hashes: 1, overfull: 'throw' })).toThrow(
      /expected a capacity, got none/,
    );
    expect(() => new BloomFilter({ bits: 8, hashes: 1, capcity: 4 } as never)).toThrow(
      /got option 'capcity'/,
    );
    expect(() => new BloomFilter(undefined as never)).toThrow(TypeError);
  });

  test('fewer hashes on request, never more bits than needed', () => {
    const options = { capacity: 10_000, falsePositiveRate: 0.01 };
    const free = BloomFilter.forCapacity(options);
    const capped = BloomFilter.forCapacity({ ...options, maxHashes: 3 });
    expect(capped.hashes).toBe(3);
    expect(capped.bits).toBeGreaterThan(free.bits);
    expect(rateTrue(free.bits - 1, free.hashes, 10_000)).toBeGreaterThan(0.01);
    expect(rateTrue(free.bits, free.hashes, 10_000)).toBeLessThanOrEqual(0.01);
  });

  test('only a shared filter can be shared', () => {
    expect(() => new BloomFilter({ bits: 64, hashes: 2 }).share()).toThrow(/shared: true/);
    const shared = new BloomFilter({ bits: 100, hashes: 2, shared: true, seed: 12 });
    const twin = new BloomFilter(shared.share());
    shared.add('here');
    twin.addMany(['there']);
    expect(twin.has('here') && shared.has('there')).toBe(true);
    expect(shared.equals(twin)).toBe(true);
    const small = new SharedArrayBuffer(4);
    expect(() => new BloomFilter({ ...shared.share(), buffer: small })).toThrow(
      /expected a SharedArrayBuffer of 16 bytes, got \[object SharedArrayBuffer\] of 4/,
    );
    expect(() => new BloomFilter({ ...shared.share(), buffer: new ArrayBuffer(16) as never })).toThrow(
      /expected a SharedArrayBuffer of 16 bytes, got \[object ArrayBuffer\] of 16/,
    );
    const key = new SecretKey(new Uint8Array(16));
    const keyed = new BloomFilter({ bits: 100, hashes: 2, shared: true, key });
    expect(() => new BloomFilter(keyed.share())).toThrow(/expected forge64\/0, got hash siphash-2-4/);
    expect(new BloomFilter({ ...keyed.share(), key }).equals(keyed)).toBe(true);
  });
});
