import { describe, expect, test } from 'vitest';
import {
  binaryEntropy,
  bitsAtConfidence,
  compressedBits,
  compressedBitsDeviation,
  counterEntropy,
  deltaBits,
  deltaBitsDeviation,
  deltaDensity,
  deltaFitProbability,
  fitProbability,
} from './entropy.ts';

const relativeError = (got: number, want: number) => Math.abs(got / want - 1);

describe('binary entropy', () => {
  test('limits, symmetry and known values', () => {
    expect(binaryEntropy(0)).toBe(0);
    expect(binaryEntropy(1)).toBe(0);
    expect(binaryEntropy(0.5)).toBe(1);
    expect(relativeError(binaryEntropy(0.25), 2 - 0.75 * Math.log2(3))).toBeLessThan(1e-15);
    expect(relativeError(binaryEntropy(0.3), binaryEntropy(0.7))).toBeLessThan(1e-14);
    // x·log2(e/x) for small x.
    expect(relativeError(binaryEntropy(1e-300), 1e-300 * Math.log2(Math.E / 1e-300))).toBeLessThan(1e-12);
    expect(() => binaryEntropy(1.1)).toThrow(
      new RangeError('Cannot use p: expected a number from 0 to 1, got 1.1'),
    );
  });
});

describe('tables of the paper on compression', () => {
  // z/n to the digits printed; the paper writes the array size where nothing is gained (8, 16, 4).
  test.each([
    ['I', 8, 6, '7.9824'],
    ['I', 14, 2, '7.923'],
    ['I', 92, 1, '7.923'],
    ['II', 16, 11, '15.9996'],
    ['II', 28, 4, '15.846'],
    ['II', 48, 3, '15.829'],
    ['III', 4, 3, '3.9912'],
    ['III', 7, 1, '3.962'],
    ['IV', 12.6, 2, '7.582'],
    ['IV', 46, 1, '6.891'],
    ['V', 37.5, 3, '14.666'],
    ['V', 93, 2, '13.815'],
  ])('table %s: m/n = %d, k = %d sends %s bits per key', (_table, bitsPerKey, k, printed) => {
    const digits = printed.split('.')[1]!.length;
    // 7.5815 rounds to the printed 7.582 only from its unrounded value 7.58152.
    expect((compressedBits(bitsPerKey * 10_000, k, 10_000) / 10_000).toFixed(digits)).toBe(printed);
  });

  test.each([
    ['VI', 0.05, 8, 5, '1.6713'],
    // The paper prints 1.6607 for 12 and 1.6532 for 32: the two columns are swapped.
    ['VI', 0.05, 12, 3, '1.6532'],
    ['VI', 0.05, 32, 2, '1.6607'],
    ['VI', 0.05, 13, 2, '1.3124'],
    ['VII', 0.01, 8, 5, '0.4624'],
    ['VII', 0.01, 16, 3, '0.4856'],
    ['VII', 0.01, 48, 2, '0.4500'],
    ['VII', 0.01, 13, 2, '0.3430'],
  ])('table %s: c = %d, m/n = %d, k = %d sends %s bits per key', (_table, c, bitsPerKey, k, printed) => {
    expect((deltaBits(bitsPerKey * 10_000, k, 10_000, c) / 10_000).toFixed(4)).toBe(printed);
  });

  // n = 10,000, bytes.
  test.each([
    [140_000, 2, '9903.9'],
    [480_000, 3, '19786.2'],
    [70_000, 1, '4952.0'],
    [126_000, 2, '9476.9'],
  ])('entropy of the simulated filters: m = %d, k = %d', (m, k, bytes) => {
    expect((compressedBits(m, k, 10_000) / 8).toFixed(1)).toBe(bytes);
  });

  test('the delta that was simulated: 2075.9 bytes, not the 2066.5 of the swapped column', () => {
    expect((deltaBits(320_000, 2, 10_000, 0.05) / 8).toFixed(1)).toBe('2075.9');
    expect((deltaBits(120_000, 3, 10_000, 0.05) / 8).toFixed(1)).toBe('2066.5');
  });
});

describe('scatter of sizes', () => {
  // The paper's standard deviations come from 100,000 simulated filters: their own relative error
  // is √(1/200,000) = 0.22 %, five of those are 1.1 %. Whole bytes add 1/12 byte² to a variance
  // near 130.
  test.each([
    [140_000, 2, 11.375],
    [480_000, 3, 14.386],
  ])('m = %d, k = %d: %d bytes', (m, k, paper) => {
    const bytes = compressedBitsDeviation(m, k, 10_000) / 8;
    expect(relativeError(Math.sqrt(bytes ** 2 + 1 / 12), paper)).toBeLessThan(0.011);
  });

  test('filters and deltas, against simulation', () => {
    const [m, k, n, c, trials] = [4000, 2, 300, 0.1, 3000];
    let state = 123456789;
    const bit = () => {
      state ^= state << 13;
      state ^= state >>> 17;
      state ^= state << 5;
      return Math.floor(((state >>> 0) / 2 ** 32) * m);
    };
    const sizes: number[] = [];
    const deltas: number[] = [];
    for (let trial = 0; trial < trials; trial++) {
      const before = new Uint8Array(m);
      const after = new Uint8Array(m);
      for (let key = 0; key < n * (1 + c); key++) {
        for (let i = 0; i < k; i++) {
          const at = bit();
          if (key < n) before[at] = 1;
          if (key >= n * c) after[at] = 1;
        }
      }
      let [ones, changed] = [0, 0];
      for (let i = 0; i < m; i++) {
        ones += before[i]!;
        changed += before[i]! ^ after[i]!;
      }
      sizes.push(m * binaryEntropy(ones / m));
      deltas.push(m * binaryEntropy(changed / m));
    }
    const check = (values: number[], mean: number, deviation: number) => {
      const average = values.reduce((a, b) => a + b) / trials;
      const variance = values.reduce((a, b) => a + (b - average) ** 2, 0) / (trials - 1);
      // E H(Z/m) lies below H(E Z/m) by |H''|·Var/(2m²), about half a bit, and s² scatters by
      // √(2/trials).
      expect(Math.abs(average - mean)).toBeLessThan(1 + (5 * deviation) / Math.sqrt(trials));
      expect(Math.abs(variance / deviation ** 2 - 1)).toBeLessThan(0.02 + 5 * Math.sqrt(2 / trials));
    };
    check(sizes, compressedBits(m, k, n), compressedBitsDeviation(m, k, n));
    check(deltas, deltaBits(m, k, n, c), deltaBitsDeviation(m, k, n, c));
  });

  test('fit: one half at the mean, and the quantile in between', () => {
    const mean = compressedBits(140_000, 2, 10_000);
    const deviation = compressedBitsDeviation(140_000, 2, 10_000);
    expect(fitProbability(140_000, 2, 10_000, mean / 8)).toBe(0.5);
    const bytes = bitsAtConfidence(mean, deviation, 0.99) / 8;
    expect(relativeError(fitProbability(140_000, 2, 10_000, bytes), 0.99)).toBeLessThan(1e-12);
    // The paper's budget of 10,000 bytes lies 8 deviations above the entropy.
    expect(fitProbability(140_000, 2, 10_000, 10_000)).toBeGreaterThan(1 - 1e-15);
    expect(fitProbability(1000, 3, 0, 0)).toBe(1);
    expect(deltaFitProbability(320_000, 2, 10_000, 0.05, deltaBits(320_000, 2, 10_000, 0.05) / 8)).toBe(0.5);
  });
});

describe('densities', () => {
  test('q = 2p(1-p^c), with its limits', () => {
    expect(relativeError(deltaDensity(0.5, 1), 0.5)).toBeLessThan(1e-15);
    expect(deltaDensity(0.5, 0)).toBe(0);
    expect(deltaDensity(1, 0.3)).toBe(0);
    expect(deltaDensity(0, 0.3)).toBe(0);
    expect(relativeError(deltaDensity(0.25, 0.5), 0.25)).toBeLessThan(1e-15);
  });

  test('nothing to send', () => {
    expect(compressedBits(1000, 3, 0)).toBe(0);
    expect(deltaBits(1000, 3, 100, 0)).toBe(0);
    expect(counterEntropy(1000, 3, 0)).toBe(0);
  });

  test('sparse filters keep their digits: kn·log2(em/kn) bits', () => {
    const [m, settings] = [2 ** 37, 10];
    const want = settings * Math.log2((Math.E * m) / settings);
    expect(relativeError(compressedBits(m, 10, 1), want)).toBeLessThan(1e-9);
  });
});

describe('counting filters (compressed V)', () => {
  test('Poisson entropy, summed directly', () => {
    for (const mean of [0.01, 0.5, Math.LN2, 3, 20]) {
      let sum = 0;
      let p = Math.exp(-mean);
      for (let i = 0; i < 200 && p > 1e-300; p *= mean / ++i) sum -= p * Math.log2(p);
      expect(relativeError(counterEntropy(1000, 1, 1000 * mean), sum)).toBeLessThan(1e-12);
    }
  });

  test('large means approach ½·log2(2πe·mean)', () => {
    const want = 0.5 * Math.log2(2 * Math.PI * Math.E * 1000);
    expect(relativeError(counterEntropy(1000, 1, 1e6), want)).toBeLessThan(1e-4);
  });

  test('a counter at the optimum carries 1.586 bits instead of 4', () => {
    expect(counterEntropy(1000, 1, 1000 * Math.LN2).toFixed(3)).toBe('1.586');
  });
});
