import { withEffort } from '@bloomery/testkit/effort';
import { expectBinomial, expectNormal, Random } from '@bloomery/testkit/statistics';
import { describe, expect, test } from 'vitest';
import { SharingError } from '../sharing-error.ts';
import { RandomisedFilter } from './randomised-filter.ts';
import { RandomisedPublisher } from './randomised-publisher.ts';

const salt = new Random(244).bytes(16);
const keysOf = (count: number, name = 'key') => Array.from({ length: count }, (_, i) => `${name} ${i}`);

const HEAD = 14;
const bitOf = (filter: RandomisedFilter, bit: number) =>
  (filter.encode()[HEAD + (bit >> 3)] >> (bit & 7)) & 1;

function publisher(random: Random, shape: { bits: number; hashes: number; epsilon: number }) {
  return new RandomisedPublisher({ ...shape, budget: 1e6, noiseSecret: random.bytes(16), salt });
}

describe('the noise', () => {
  test.each([
    { hashes: 1, epsilon: 1 },
    { hashes: 2, epsilon: 2 },
    { hashes: 2, epsilon: 4 },
    { hashes: 4, epsilon: 2 },
  ])(
    'changes the odds of every bit by e^(epsilon/k): k = $hashes, epsilon = $epsilon',
    ({ hashes, epsilon }) => {
      const bits = 48;
      const random = new Random(245 + 10 * hashes + epsilon);
      // Two sets that differ in one key, and the bits in which their true filters differ.
      const without = keysOf(6);
      const withKey = [...without, 'the key in question'];
      const trials = withEffort(2500, 1500);
      const ones = [new Uint32Array(bits), new Uint32Array(bits)];
      for (let trial = 0; trial < trials; trial++) {
        const source = publisher(random, { bits, hashes, epsilon });
        [without, withKey].forEach((set, which) => {
          const bytes = source.release(set).encode();
          for (let bit = 0; bit < bits; bit++)
            ones[which][bit] += (bytes[HEAD + (bit >> 3)] >> (bit & 7)) & 1;
        });
      }
      const p = 1 / (1 + Math.exp(epsilon / hashes));
      let differing = 0;
      for (let bit = 0; bit < bits; bit++) {
        const [a, b] = ones.map((counts) => counts[bit]);
        const [trueA, trueB] = [a, b].map((count) => count > trials / 2);
        for (const [count, truth] of [
          [a, trueA],
          [b, trueB],
        ] as const) {
          expectBinomial(count, trials, truth ? 1 - p : p, `ones of bit ${bit}`);
        }
        if (trueA === trueB) continue;
        differing++;
        // The ratio of the likelihoods, for a one and for a zero. Deviations by the delta method.
        for (const [top, bottom] of [
          [b, a],
          [trials - a, trials - b],
        ]) {
          const sigma = Math.sqrt((1 - top / trials) / top + (1 - bottom / trials) / bottom);
          expectNormal(Math.log(top / bottom), epsilon / hashes, sigma, `log likelihood ratio of bit ${bit}`);
        }
      }
      expect(differing).toBeGreaterThan(0);
      expect(differing).toBeLessThanOrEqual(hashes);
    },
  );

  test('is the same when a set is published again, by the same or another publisher', () => {
    const options = {
      bits: 4000,
      hashes: 2,
      epsilon: 2,
      budget: 2,
      salt,
      noiseSecret: new Random(246).bytes(16),
    };
    const first = new RandomisedPublisher(options);
    const bytes = first.release(keysOf(200)).encode();
    expect(first.release(keysOf(200).reverse()).encode()).toEqual(bytes);
    expect(first.spent).toBeLessThanOrEqual(2);
    const second = new RandomisedPublisher({ ...options, state: JSON.parse(JSON.stringify(first.state)) });
    expect(second.release([...keysOf(200), 'key 0']).encode()).toEqual(bytes);
    expect(second.spent).toBe(first.spent);
  });

  test('is independent for a set that changed, so a difference proves no change', () => {
    const bits = 40_000;
    const source = publisher(new Random(247), { bits, hashes: 2, epsilon: 2 });
    const [a, b] = [keysOf(200), keysOf(201)].map((set) => source.release(set).encode().subarray(HEAD));
    let different = 0;
    for (let i = 0; i < bits; i++) different += ((a[i >> 3] ^ b[i >> 3]) >> (i & 7)) & 1;
    const p = 1 / (1 + Math.exp(1));
    // The two true bits of the added key move the count by less than a standard deviation.
    expectBinomial(different, bits, 2 * p * (1 - p), 'bits that differ between two releases');
  });

  test('has no pattern: neighbouring bits are flipped independently', () => {
    const bits = 60_000;
    const p = 1 / (1 + Math.exp(0.5));
    const bytes = publisher(new Random(248), { bits, hashes: 2, epsilon: 1 }).release([]).encode();
    const flipped = (bit: number) => (bytes[HEAD + (bit >> 3)] >> (bit & 7)) & 1;
    for (const distance of [1, 2, 8, 32]) {
      let both = 0;
      let trials = 0;
      for (let bit = 0; bit + distance < bits; bit += 2 * distance, trials++) {
        both += flipped(bit) & flipped(bit + distance);
      }
      expectBinomial(both, trials, p * p, `flips at distance ${distance}`);
    }
  });
});

describe('RandomisedPublisher', () => {
  test('refuses a release above the budget, and only that one', () => {
    const options = { bits: 1000, epsilon: 1, budget: 3, salt, noiseSecret: new Random(249).bytes(16) };
    const source = new RandomisedPublisher(options);
    for (let size = 1; size <= 3; size++) source.release(keysOf(size));
    const state = source.state;
    expect(() => source.release(keysOf(4))).toThrow(
      expect.objectContaining({ name: 'SharingError', code: 'budget' }),
    );
    expect(source.state).toEqual(state);
    source.release(keysOf(2)); // an earlier set costs nothing
    const later = new RandomisedPublisher({ ...options, state });
    expect(() => later.release(keysOf(4))).toThrow(SharingError);
    expect(later.spent).toBeLessThanOrEqual(3);
    expect(later.spent).toBeGreaterThan(2.99);
  });

  test('costs never more than epsilon, for all that 32 bits can tell', () => {
    for (const epsilon of [0.001, 0.1, 1, 4, 12]) {
      for (const hashes of [1, 2, 8]) {
        const filter = publisher(new Random(250), { bits: 64, hashes, epsilon }).release([]);
        expect(filter.epsilon).toBeLessThanOrEqual(epsilon);
        expect(filter.epsilon / epsilon).toBeGreaterThan(0.999);
      }
    }
  });

  test('refuses parameters that no filter has', () => {
    const right = { bits: 100, hashes: 2, epsilon: 1, budget: 1, salt, noiseSecret: new Uint8Array(16) };
    for (const wrong of [
      { bits: 0 },
      { bits: 2 ** 31 + 1 },
      { hashes: 9 },
      { hashes: 1.5 },
      { epsilon: 0 },
      { epsilon: 50 },
      { epsilon: 1e-12 },
      { epsilon: Number.NaN },
      { budget: 0.5 },
      { budget: Number.POSITIVE_INFINITY },
      { state: { releases: [{ id: 'x', epsilon: -1 }] } },
    ]) {
      expect(() => new RandomisedPublisher({ ...right, ...wrong })).toThrow(RangeError);
    }
    expect(() => new RandomisedPublisher({ ...right, bits: '100' as never })).toThrow(TypeError);
    expect(() => new RandomisedPublisher({ ...right, salt: new Uint8Array(3) }).release([])).toThrow(
      RangeError,
    );
  });
});

describe('RandomisedFilter', () => {
  test('estimates size and overlap without bias, with the deviation that it states', () => {
    const random = new Random(251);
    const [bits, hashes, epsilon] = [4000, 2, 2];
    const own = [...keysOf(100, 'common'), ...keysOf(150, 'own')];
    const other = [...keysOf(100, 'common'), ...keysOf(100, 'other')];
    const rounds = withEffort(150, 100);
    const overlaps: number[] = [];
    let stated = 0;
    let sizes = 0;
    for (let round = 0; round < rounds; round++) {
      const filter = new RandomisedPublisher({
        bits,
        hashes,
        epsilon,
        budget: 100,
        noiseSecret: random.bytes(16),
        salt: random.bytes(16),
      }).release(other);
      const { value, deviation } = filter.overlapWith(own);
      overlaps.push(value);
      stated += deviation / rounds;
      sizes += filter.estimatedSize() / rounds;
    }
    const mean = overlaps.reduce((sum, value) => sum + value, 0) / rounds;
    const measured = Math.sqrt(overlaps.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (rounds - 1));
    expectNormal(mean, 100, measured / Math.sqrt(rounds), 'mean overlap');
    // A sample's standard deviation has a relative error of 1/sqrt(2 rounds). Collisions of hashes
    // add 3 % to the deviation that the noise causes, in 3000 rounds.
    expectNormal(measured / stated, 1.03, 1.03 / Math.sqrt(2 * rounds), 'deviation, measured by stated');
    // The noise alone: sqrt(m p (1-p)) / (1-2p) ones, and a key for every 1.81 of them at this
    // fill.
    expectNormal(sizes, 200, 33.2 / Math.sqrt(rounds), 'mean size');
  });

  test('likelihoodRatio is within e^epsilon for every key, and higher for members on average', () => {
    const filter = publisher(new Random(252), { bits: 4000, hashes: 2, epsilon: 2 }).release(keysOf(200));
    const ratios = (keys: string[]) => keys.map((key) => filter.likelihoodRatio(key));
    const [members, others] = [ratios(keysOf(200)), ratios(keysOf(5000, 'other'))];
    for (const ratio of [...members, ...others]) {
      expect(ratio).toBeLessThanOrEqual(Math.exp(filter.epsilon));
      expect(ratio).toBeGreaterThanOrEqual(Math.exp(-filter.epsilon));
    }
    const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
    expect(mean(members)).toBeGreaterThan(mean(others));
  });

  test('reads what it wrote, and the positions depend on the salt', () => {
    const filter = publisher(new Random(253), { bits: 1001, hashes: 2, epsilon: 4 }).release(keysOf(50));
    const frame = filter.encode();
    const read = RandomisedFilter.decode(frame, { salt });
    expect(read.encode()).toEqual(frame);
    expect([read.bits, read.hashes, read.epsilon, read.onesCount()]).toEqual([
      1001,
      2,
      filter.epsilon,
      filter.onesCount(),
    ]);
    expect(read.overlapWith(keysOf(50))).toEqual(filter.overlapWith(keysOf(50)));
    const other = RandomisedFilter.decode(frame, { salt: new Uint8Array(16) });
    expect(other.overlapWith(keysOf(50)).value).toBeLessThan(filter.overlapWith(keysOf(50)).value);
    expect(bitOf(filter, 0)).toBe(frame[HEAD] & 1);
  });

  test('decode refuses every prefix, every other head, more bits than allowed, and bits after the end', () => {
    const frame = publisher(new Random(254), { bits: 1001, hashes: 2, epsilon: 4 })
      .release(keysOf(50))
      .encode();
    const code = (bytes: Uint8Array, maxBits?: number) => {
      try {
        RandomisedFilter.decode(bytes, maxBits === undefined ? { salt } : { salt, maxBits });
        return 'read';
      } catch (error) {
        return error instanceof SharingError ? error.code : error;
      }
    };
    for (let length = 0; length < frame.length; length++)
      expect(code(frame.subarray(0, length))).toBe('malformed');
    expect(code(new Uint8Array([...frame, 0]))).toBe('malformed');
    const changed = (at: number, value: number) => {
      const copy = frame.slice();
      copy[at] = value;
      return copy;
    };
    expect(code(changed(0, 0))).toBe('malformed');
    expect(code(changed(4, 2))).toBe('version');
    expect(code(changed(5, 0))).toBe('malformed');
    expect(code(changed(5, 9))).toBe('malformed');
    expect(code(changed(9, 0xff))).toBe('malformed');
    expect(code(changed(13, 0x80))).toBe('malformed');
    expect(code(changed(frame.length - 1, 0xff))).toBe('malformed');
    expect(code(frame, 1000)).toBe('limit');
    expect(code(changed(9, 0x40))).toBe('limit');
    const random = new Random(255);
    for (let i = 0; i < 2000; i++) {
      const bytes = frame.slice();
      for (let j = random.below(4); j >= 0; j--) bytes[random.below(HEAD)] = random.below(256);
      expect(['read', 'malformed', 'version', 'limit']).toContain(code(bytes));
    }
    expect(() => RandomisedFilter.decode('BLRF' as never, { salt })).toThrow(TypeError);
  });
});
