import { describe, expect, test } from 'vitest';
import { occupancyDistribution } from '../occupancy.ts';
import {
  type Estimate,
  estimateIntersectionSize,
  estimateJaccard,
  estimateSize,
  estimateUnionSize,
  expectedInnerProduct,
} from './estimators.ts';
import { estimateJoinSize, estimateSemiJoin } from './join-size.ts';

/** xorshift32 with an odd seed: enough for counting balls, and the same in every engine. */
function generator(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return Math.floor(((state >>> 0) / 2 ** 32) * below);
  };
}

const relativeError = (got: number, want: number) => Math.abs(got / want - 1);
const covers = ({ low, high }: Estimate, truth: number) => low <= truth && truth <= high;

describe('size', () => {
  test('inverts the expected number of ones (survey 2.4)', () => {
    for (const [bits, hashes, n] of [
      [1000, 3, 100],
      [9595, 7, 1000],
      [2 ** 34, 7, 1e9],
    ] as const) {
      const ones = Math.round(-bits * Math.expm1(hashes * n * Math.log1p(-1 / bits)));
      const estimate = estimateSize({ bits, hashes, ones });
      // Rounding the ones to an integer moves the estimate by half a bit over a slope of k·Z/m bits
      // per key: at half fill by a relative 1/(kn).
      expect(relativeError(estimate.value, n)).toBeLessThan(1.1 / (hashes * n));
      expect(estimate.low).toBeLessThan(n);
      expect(estimate.high).toBeGreaterThan(n);
    }
  });

  test('known answers: 2 of 4 bits with k = 1 are ln(1/2)/ln(3/4) keys', () => {
    expect(
      relativeError(estimateSize({ bits: 4, hashes: 1, ones: 2 }).value, Math.log(0.5) / Math.log(0.75)),
    ).toBeLessThan(1e-14);
    const slices = estimateSize({ bits: 8, hashes: 2, ones: 4, layout: 'partitioned' });
    expect(relativeError(slices.value, Math.log(0.5) / Math.log(0.75))).toBeLessThan(1e-14);
  });

  test('empty and full', () => {
    expect(estimateSize({ bits: 100, hashes: 3, ones: 0 })).toEqual({
      value: 0,
      low: 0,
      high: 0,
      standardError: 0,
    });
    const full = estimateSize({ bits: 100, hashes: 3, ones: 100 });
    expect(full.value).toBe(Number.POSITIVE_INFINITY);
    expect(full.high).toBe(Number.POSITIVE_INFINITY);
    // With `low` keys about q² = 3.84 zeros are expected, and none is the edge of plausible.
    expect(full.low).toBeGreaterThan((100 / 3) * Math.log(100 / 6));
    expect(full.low).toBeLessThan((100 / 3) * Math.log(100 / 2));
  });

  test('every count of tiny filters has an interval around its value', () => {
    for (let bits = 1; bits < 40; bits++) {
      for (let ones = 0; ones <= bits; ones++) {
        for (const confidence of [0.5, 0.95, 0.999_999_4]) {
          const { value, low, high } = estimateSize({ bits, hashes: 2, ones, confidence });
          expect(low, `${ones} of ${bits}`).toBeLessThanOrEqual(value * (1 + 1e-9));
          expect(high, `${ones} of ${bits}`).toBeGreaterThanOrEqual(value * (1 - 1e-9));
          expect(high === Number.POSITIVE_INFINITY, `${ones} of ${bits}`).toBe(ones === bits);
        }
      }
    }
  });

  test('one key in a large filter is one key', () => {
    const one = estimateSize({ bits: 1_000_000, hashes: 7, ones: 7 });
    expect(Math.round(one.value)).toBe(1);
    expect(one.low).toBeGreaterThan(0.99);
    expect(one.high).toBeLessThan(1.01);
  });

  test.each([
    [1000, 3, 30],
    [1000, 3, 200],
    [1000, 7, 400],
    [500, 4, 60],
  ])('exact coverage of the 95 %% interval: %d bits, k = %d, %d keys', (bits, hashes, n) => {
    // The whole distribution of the ones is known, so the coverage can be computed instead of
    // simulated. It would be 0.95 but for the ones being integers: one more or fewer at each end is
    // worth up to the density there, 0.06 divided by their standard deviation (2.4 at the least
    // here), at both ends.
    const chance = occupancyDistribution(bits, hashes * n);
    let [coverage, mean, square] = [0, 0, 0];
    chance.forEach((p, ones) => {
      if (p < 1e-12) return;
      mean += p * ones;
      square += p * ones * ones;
      if (covers(estimateSize({ bits, hashes, ones }), n)) coverage += p;
    });
    const deviation = Math.sqrt(square - mean * mean);
    expect(Math.abs(coverage - 0.95)).toBeLessThan(0.005 + (2 * 0.06) / deviation);
  });

  test.each([
    ['classic', 0.95],
    ['classic', 0.8],
    ['partitioned', 0.95],
  ] as const)('simulated coverage: %s at %d', (layout, confidence) => {
    const random = generator(2463534242);
    const [bits, hashes, n, trials] = [2000, 4, 350, 2000];
    const slice = layout === 'classic' ? bits : bits / hashes;
    let [covered, sum, squares] = [0, 0, 0];
    for (let trial = 0; trial < trials; trial++) {
      const array = new Uint8Array(bits);
      for (let i = 0; i < n * hashes; i++) {
        array[(layout === 'classic' ? 0 : (i % hashes) * slice) + random(slice)] = 1;
      }
      const ones = array.reduce((a, b) => a + b, 0);
      const estimate = estimateSize({ bits, hashes, ones, layout, confidence });
      if (covers(estimate, n)) covered++;
      sum += estimate.value;
      squares += (estimate.value - n) ** 2;
    }
    // The ones have a deviation near 12: integers may move the coverage by 0.06/12 = 0.005; five
    // sigma are 0.024.
    expect(Math.abs(covered / trials - confidence)).toBeLessThan(
      0.005 + 5 * Math.sqrt((confidence * (1 - confidence)) / trials),
    );
    // The standard error is the scatter seen: s² of 2000 values has a relative deviation of
    // √(2/2000).
    const typical = estimateSize({
      bits,
      hashes,
      ones: Math.round(-bits * Math.expm1((-n * hashes) / bits)),
      layout,
    });
    expect(Math.abs(squares / trials / typical.standardError ** 2 - 1)).toBeLessThan(
      0.02 + 5 * Math.sqrt(2 / trials),
    );
    expect(Math.abs(sum / trials - n)).toBeLessThan(0.2 + (5 * typical.standardError) / Math.sqrt(trials));
  });
});

describe('blocked size', () => {
  test.each([
    ['blocked', 512, 6, 20, 900],
    ['split-block', 256, 8, 40, 900],
    ['blocked', 512, 6, 1, 50],
  ] as const)('%s: simulated coverage and standard error', (layout, blockBits, hashes, blocks, n) => {
    const random = generator(88675123);
    const trials = 2000;
    let [covered, squares] = [0, 0];
    let error = 0;
    for (let trial = 0; trial < trials; trial++) {
      const array = new Uint8Array(blocks * blockBits);
      for (let key = 0; key < n; key++) {
        const start = random(blocks) * blockBits;
        for (let i = 0; i < hashes; i++) {
          array[start + (layout === 'blocked' ? random(blockBits) : i * 32 + random(32))] = 1;
        }
      }
      const ones = array.reduce((a, b) => a + b, 0);
      const estimate = estimateSize({ bits: blocks * blockBits, hashes, layout, ones });
      if (covers(estimate, n)) covered++;
      squares += (estimate.value - n) ** 2;
      error += estimate.standardError;
    }
    const lattice = 0.06 / 6; // ones deviate by 6 at the least (single block)
    expect(Math.abs(covered / trials - 0.95)).toBeLessThan(
      2 * lattice + 5 * Math.sqrt((0.95 * 0.05) / trials),
    );
    expect(Math.abs(squares / trials / (error / trials) ** 2 - 1)).toBeLessThan(
      0.03 + 5 * Math.sqrt(2 / trials),
    );
  });

  test('edges and errors', () => {
    expect(estimateSize({ bits: 1536, hashes: 6, layout: 'blocked', ones: 0 }).high).toBe(0);
    expect(estimateSize({ bits: 1536, hashes: 6, layout: 'blocked', ones: 3 * 512 })).toMatchObject({
      value: Number.POSITIVE_INFINITY,
      high: Number.POSITIVE_INFINITY,
    });
    expect(() => estimateSize({ bits: 1536, hashes: 6, layout: 'blocked', ones: 3 * 512 + 1 })).toThrow(
      new RangeError('Cannot use ones: expected an integer from 0 to 1536, got 1537'),
    );
    expect(() => estimateSize({ bits: 1500, hashes: 6, ones: 1, layout: 'blocked' })).toThrow(
      /multiple of 512/,
    );
    expect(() => estimateSize({ bits: 1536, hashes: 6, ones: 1, layout: 'split-block' })).toThrow(RangeError);
  });
});

describe('two sets', () => {
  /** Counts of two random filters over n1 + n2 - n12 keys. */
  function simulate(
    random: (below: number) => number,
    shape: { bits: number; hashes: number },
    sizes: number[],
  ) {
    const [n1, n2, n12] = sizes as [number, number, number];
    const first = new Uint8Array(shape.bits);
    const second = new Uint8Array(shape.bits);
    for (let key = 0; key < n1 + n2 - n12; key++) {
      for (let i = 0; i < shape.hashes; i++) {
        const bit = random(shape.bits);
        if (key < n1) first[bit] = 1;
        if (key < n12 || key >= n1) second[bit] = 1;
      }
    }
    let [ones1, ones2, onesAnd] = [0, 0, 0];
    for (let i = 0; i < shape.bits; i++) {
      ones1 += first[i]!;
      ones2 += second[i]!;
      onesAnd += first[i]! & second[i]!;
    }
    return { ...shape, ones1, ones2, onesAnd };
  }

  test('the survey\u2019s formula, with Z12 the zeros of the inner product', () => {
    const counts = { bits: 1000, hashes: 3, ones1: 400, ones2: 450, onesAnd: 230 };
    const [Z1, Z2, Z12] = [600, 550, 770];
    const right = (Z1 + Z2 - Z12) / (Z1 * Z2);
    const { value } = estimateIntersectionSize(counts);
    expect(relativeError((1 / 1000) * (1 - 1 / 1000) ** (-3 * value), right)).toBeLessThan(1e-12);
    // It is inclusion and exclusion of the three estimated sizes.
    const size = (ones: number) => estimateSize({ bits: 1000, hashes: 3, ones }).value;
    const union = estimateUnionSize(counts).value;
    expect(union).toBe(size(400 + 450 - 230));
    expect(relativeError(value, size(400) + size(450) - union)).toBeLessThan(1e-12);
  });

  test('expected inner product, by enumeration and by its simplified form', () => {
    // m = 3, k = 1: one shared key, one more in each: 27 outcomes.
    let sum = 0;
    for (let outcome = 0; outcome < 27; outcome++) {
      const [a, b, c] = [outcome % 3, Math.floor(outcome / 3) % 3, Math.floor(outcome / 9)];
      for (let bit = 0; bit < 3; bit++) if ((a === bit || b === bit) && (a === bit || c === bit)) sum++;
    }
    expect(relativeError(expectedInnerProduct(3, 1, 2, 2, 1), sum / 27)).toBeLessThan(1e-14);
    const a = 1 - 1 / 5000;
    const simplified = 5000 * (1 - a ** 1200 - a ** 1500 + a ** (3 * (400 + 500 - 100)));
    expect(relativeError(expectedInnerProduct(5000, 3, 400, 500, 100), simplified)).toBeLessThan(1e-10);
    expect(() => expectedInnerProduct(10, 1, 2, 3, 4)).toThrow(RangeError);
  });

  test.each([
    ['half shared', 300, 400, 150],
    ['disjoint', 300, 300, 0],
    ['nested', 200, 500, 200],
    ['equal', 300, 300, 300],
  ])('%s: coverage of intersection, join size, Jaccard and union', (_name, n1, n2, n12) => {
    const random = generator(n1 * 1_000_003 + n2 * 10_007 + n12 + 1);
    const trials = 2000;
    const covered = { intersection: 0, join: 0, one: 0, jaccard: 0, union: 0 };
    let [squares, joinSquares, errors, joinErrors, sum] = [0, 0, 0, 0, 0];
    for (let trial = 0; trial < trials; trial++) {
      const counts = simulate(random, { bits: 3000, hashes: 4 }, [n1, n2, n12]);
      const intersection = estimateIntersectionSize(counts);
      const join = estimateJoinSize({ ...counts, size1: n1, size2: n2 });
      const one = estimateJoinSize({ ...counts, size1: n1 });
      if (covers(intersection, n12)) covered.intersection++;
      if (covers(join, n12)) covered.join++;
      if (covers(one, n12)) covered.one++;
      if (covers(estimateJaccard(counts), n12 / (n1 + n2 - n12))) covered.jaccard++;
      if (covers(estimateUnionSize(counts), n1 + n2 - n12)) covered.union++;
      sum += intersection.value - n12;
      squares += (intersection.value - n12) ** 2;
      joinSquares += (join.value - n12) ** 2;
      errors += intersection.standardError ** 2;
      joinErrors += join.standardError ** 2;
    }
    // Equal sets leave nothing to chance in a ratio: Jaccard is 1 in every trial, and so is the
    // difference of sizes. With nested sets of known size the join is all but certain, and its
    // interval deliberately generous.
    const { intersection, jaccard, union } = covered;
    const frequencies =
      _name === 'equal' ? { union } : _name === 'nested' ? { intersection, jaccard, union } : covered;
    expect(Math.min(covered.join, covered.one) / trials).toBeGreaterThan(
      0.94 - 5 * Math.sqrt((0.95 * 0.05) / trials),
    );
    for (const [what, count] of Object.entries(frequencies)) {
      // First-order theory, estimated variances and whole bits cost up to 1 %.
      expect(Math.abs(count / trials - 0.95), what).toBeLessThan(
        0.01 + 5 * Math.sqrt((0.95 * 0.05) / trials),
      );
    }
    const scatter = 0.05 + 5 * Math.sqrt(2 / trials);
    expect(Math.abs(squares / errors - 1)).toBeLessThan(scatter);
    expect(joinSquares).toBeLessThan((1 + scatter) * joinErrors);
    if (_name === 'half shared') expect(joinSquares).toBeGreaterThan((1 - scatter) * joinErrors);
    expect(Math.abs(sum / trials)).toBeLessThan(0.5 + (5 * Math.sqrt(squares)) / trials);
    // Knowing the sizes never hurts, and helps where much is shared.
    expect(joinSquares).toBeLessThan(squares * 1.01);
    if (_name === 'nested') expect(joinSquares).toBeLessThan(0.2 * squares);
  });

  test('semi-join: what passes is the matches and the false positives', () => {
    const counts = simulate(generator(12345), { bits: 9600, hashes: 7 }, [1000, 800, 300]);
    const { matches, passing } = estimateSemiJoin({ ...counts, size1: 1000, size2: 800 });
    expect(Math.abs(matches.value - 300)).toBeLessThan(5 * matches.standardError);
    const rate = (counts.ones2 / 9600) ** 7;
    expect(passing).toBe(matches.value + rate * (1000 - matches.value));
  });

  test('partitioned filters', () => {
    // 4 slices of 750 bits; the same counts mean nearly the same sizes.
    const counts = { bits: 3000, hashes: 4, ones1: 1000, ones2: 1200, onesAnd: 600 };
    const classic = estimateIntersectionSize(counts);
    const sliced = estimateIntersectionSize({ ...counts, layout: 'partitioned' });
    expect(relativeError(sliced.value, classic.value)).toBeLessThan(0.002);
    expect(sliced.standardError).toBeLessThan(classic.standardError);
  });

  test('full filters: nothing is known but the bounds', () => {
    const estimate = estimateIntersectionSize({ bits: 100, hashes: 2, ones1: 100, ones2: 40, onesAnd: 40 });
    expect(estimate.value).toBeNaN();
    expect(estimate.low).toBe(0);
    expect(estimate.high).toBe(estimateSize({ bits: 100, hashes: 2, ones: 40 }).high);
    expect(estimateJaccard({ bits: 100, hashes: 2, ones1: 0, ones2: 0, onesAnd: 0 }).value).toBeNaN();
  });

  test('impossible counts', () => {
    const base = { bits: 100, hashes: 2, ones1: 60, ones2: 70, onesAnd: 40 };
    expect(() => estimateUnionSize({ ...base, onesAnd: 61 })).toThrow(
      new RangeError('Cannot use onesAnd: expected an integer from 30 to 60, got 61'),
    );
    expect(() => estimateUnionSize({ ...base, onesAnd: 29 })).toThrow(RangeError);
    expect(() => estimateSize({ bits: 100, hashes: 2, ones: 101 })).toThrow(/^Cannot use ones: /);
    expect(() => estimateSize({ bits: 100, hashes: 3, ones: 1, layout: 'partitioned' })).toThrow(
      new RangeError('Cannot use bits: expected a multiple of hashes (3), got 100'),
    );
    expect(() => estimateSize({ bits: 100, hashes: 2, ones: 1, confidence: 1 })).toThrow(
      /^Cannot use confidence: /,
    );
  });
});
