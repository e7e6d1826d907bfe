import { describe, expect, test } from 'vitest';
import { MAX_BITS } from '../checks.ts';
import { fitProbability } from '../entropy.ts';
import { sizeBlocked } from '../size-blocked.ts';
import { sizeClassic } from '../size-classic.ts';
import { rateTrue } from '../true-rate.ts';
import { DEFAULT_SPREAD, type PlanRequest, plan } from './plan.ts';

// Large enough that true rate, f' and f agree to the digits the papers print.
const n = 100_000;

/**
 * Compressed Bloom Filters, tables I to VII: m/n, k, f and z/n by the formulas, z for deltas
 * with c.
 */
const WHOLE = [
  ['I', 8, 6, '0.021577', '7.9824'],
  ['I', 14, 2, '0.017721', '7.9231'],
  ['I', 92, 1, '0.010811', '7.9231'],
  ['II', 16, 11, '0.00045871', '15.9996'],
  ['II', 28, 4, '0.00031405', '15.8463'],
  ['II', 48, 3, '0.00022240', '15.8290'],
  ['III', 4, 3, '0.146892', '3.9912'],
  ['III', 7, 1, '0.133122', '3.9616'],
  ['IV', 12.6, 2, '0.021542', '7.5815'],
  ['IV', 46, 1, '0.021505', '6.8911'],
  ['V', 37.5, 3, '0.00045447', '14.6663'],
  ['V', 93, 2, '0.00045266', '13.8147'],
] as const;
const DELTAS = [
  ['VI', 0.05, 8, 5, '0.021679', '1.6713'],
  ['VI', 0.05, 12, 3, '0.010823', '1.6532'],
  ['VI', 0.05, 32, 2, '0.0036708', '1.6607'],
  ['VI', 0.05, 13, 2, '0.020334', '1.3124'],
  ['VII', 0.01, 8, 5, '0.021679', '0.4624'],
  ['VII', 0.01, 16, 3, '0.0049977', '0.4856'],
  ['VII', 0.01, 48, 2, '0.0016655', '0.4500'],
  ['VII', 0.01, 13, 2, '0.020334', '0.3430'],
] as const;

/** Rounds to as many significant digits as the printed number has. */
const like = (printed: string, value: number) =>
  value.toPrecision(printed.replace('.', '').replace(/^0+/, '').length);
const significant = (printed: string) =>
  Number(printed).toPrecision(printed.replace('.', '').replace(/^0+/, '').length);

describe('evaluation reproduces the tables to the last digit of the formulas', () => {
  test.each(WHOLE)('table %s: m/n = %d, k = %d', (_table, bitsPerKey, hashes, f, z) => {
    const got = plan({ capacity: n, bits: bitsPerKey * n, hashes, goal: 'transmission' });
    expect(like(f, got.rateAsymptotic)).toBe(significant(f));
    expect(got.transmissionBitsPerKey.toFixed(4)).toBe(z);
    expect(got).toMatchObject({ bits: bitsPerKey * n, hashes, bitsPerKey, capacity: n });
  });

  test.each(DELTAS)(
    'table %s: c = %d, m/n = %d, k = %d',
    (_table, changedFraction, bitsPerKey, hashes, f, z) => {
      const got = plan({ capacity: n, bits: bitsPerKey * n, hashes, changedFraction });
      expect(got.goal).toBe('delta');
      expect(like(f, got.rateAsymptotic)).toBe(significant(f));
      expect((got.expectedDeltaBits! / n).toFixed(4)).toBe(z);
    },
  );
});

describe('the planner is at least as good as the tables', () => {
  test.each(WHOLE.filter(([table]) => table <= 'III'))(
    'table %s: the message of the first row, an array of %d bits per key, k = %d is the best',
    (table, bitsPerKey, _k, f) => {
      const budget = { I: 8, II: 16, III: 4 }[table as 'I' | 'II' | 'III'] * n;
      const got = plan({ capacity: n, transmissionBits: budget, maxBits: bitsPerKey * n });
      expect(got.expectedTransmissionBits).toBeLessThanOrEqual(budget);
      expect(got.bits).toBeLessThanOrEqual(bitsPerKey * n);
      // Rounding of the printed f is the only room allowed.
      expect(Number(like(f, got.rateAsymptotic))).toBeLessThanOrEqual(Number(f));
      expect(got.binding).toBe('maxBits');
    },
  );

  test.each([
    [0.0216, 12.6, 7.582],
    [0.0216, 46, 6.891],
    [0.000459, 37.5, 14.666],
    [0.000459, 93, 13.815],
  ])(
    'tables IV and V: rate %d within %d array bits per key sends at most %d',
    (falsePositiveRate, cap, z) => {
      const got = plan({ capacity: n, falsePositiveRate, goal: 'transmission', maxBits: cap * n });
      expect(got.transmissionBitsPerKey).toBeLessThanOrEqual(z);
      expect(got.falsePositiveRate).toBeLessThanOrEqual(falsePositiveRate);
    },
  );

  test.each([
    [0.05, 1.6713, 8, 0.0217],
    [0.05, 1.6713, 12, 0.0108],
    [0.05, 1.6713, 32, 0.00367],
    [0.01, 0.4856, 16, 0.005],
    [0.01, 0.4856, 48, 0.00167],
  ])(
    'tables VI and VII: c = %d, %d bits per key, array %d: rate at most %d',
    (changedFraction, z, cap, f) => {
      const request = { capacity: n, changedFraction, transmissionBits: z * n + 1, maxBits: cap * n };
      const got = plan(request);
      expect(got.expectedDeltaBits).toBeLessThanOrEqual(request.transmissionBits);
      expect(Number(got.rateAsymptotic.toPrecision(3))).toBeLessThanOrEqual(f);
    },
  );

  test('tables VI and VII, last columns: the rate of the standard filter for a smaller delta', () => {
    for (const [changedFraction, z] of [
      [0.05, 1.3124],
      [0.01, 0.343],
    ] as const) {
      const got = plan({ capacity: n, changedFraction, falsePositiveRate: 0.0217, maxBits: 13 * n });
      expect(got.expectedDeltaBits! / n).toBeLessThanOrEqual(z);
      expect(got.hashes).toBe(2);
    }
  });
});

describe('memory', () => {
  test('capacity and rate: as sizeClassic and sizeBlocked', () => {
    for (const layout of ['classic', 'partitioned'] as const) {
      const { bits, hashes } = sizeClassic({ capacity: 5000, falsePositiveRate: 0.003, layout });
      expect(plan({ capacity: 5000, falsePositiveRate: 0.003, layout })).toMatchObject({
        goal: 'memory',
        bits,
        hashes,
        layout,
        binding: 'falsePositiveRate',
      });
    }
    for (const [layout, blockBits] of [
      ['blocked', 512],
      ['split-block', 256],
    ] as const) {
      const { blocks, hashes, falsePositiveRate } = sizeBlocked({
        capacity: 5000,
        falsePositiveRate: 0.003,
        layout,
      });
      const got = plan({ capacity: 5000, falsePositiveRate: 0.003, layout });
      expect(got).toMatchObject({ bits: blocks * blockBits, hashes, falsePositiveRate, layout });
    }
  });

  test('capacity and bits: the best k of the papers', () => {
    expect(plan({ capacity: n, bits: 8 * n })).toMatchObject({ hashes: 6, binding: 'bits' });
    expect(plan({ capacity: n, bits: 16 * n })).toMatchObject({ hashes: 11 });
    expect(plan({ capacity: n, bits: 32 * n })).toMatchObject({ hashes: 22 }); // tutorial, figure 1
    // No k is better, by trial.
    for (const [capacity, bits] of [
      [1, 10],
      [3, 20],
      [50, 300],
    ] as const) {
      const { falsePositiveRate } = plan({ capacity, bits });
      for (let k = 1; k <= 30; k++)
        expect(rateTrue(bits, k, capacity)).toBeGreaterThanOrEqual(falsePositiveRate);
    }
  });

  test('bits and rate: the largest capacity', () => {
    for (const layout of ['classic', 'partitioned', 'blocked', 'split-block'] as const) {
      for (const hashes of layout === 'split-block' ? [undefined] : [undefined, 3]) {
        const request = { bits: 51_200, falsePositiveRate: 0.02, layout, hashes };
        const got = plan(request);
        expect(got.falsePositiveRate).toBeLessThanOrEqual(0.02);
        expect(() => plan({ ...request, capacity: got.capacity + 1 })).toThrow(/contradict/);
        expect(plan({ ...request, capacity: got.capacity })).toMatchObject({
          hashes: got.hashes,
          bits: got.bits,
        });
      }
    }
    expect(plan({ bits: MAX_BITS, falsePositiveRate: 0.01 }).capacity).toBeGreaterThan(7e9);
  });

  test('fields of the result', () => {
    const got = plan({ capacity: 1e6, falsePositiveRate: 2 ** -10 });
    expect(got.hashes).toBe(10);
    expect(got.expectedFill.toFixed(4)).toBe('0.5000');
    expect(got.overheadOverLowerBound.toFixed(3)).toBe('1.443');
    expect(got.lowerBoundBits).toBeGreaterThanOrEqual(1e7);
    expect(got.rateAsymptotic).toBeLessThanOrEqual(got.rateExact);
    expect(got.rateExact).toBeLessThanOrEqual(got.falsePositiveRate);
    expect(got).not.toHaveProperty('expectedDeltaBits');
    expect(got).not.toHaveProperty('transmissionBytesAtConfidence');
    expect(
      plan({ capacity: 1e6, falsePositiveRate: 0.01, changedFraction: 0.1, goal: 'memory' }),
    ).toHaveProperty('expectedDeltaBits');
  });

  test('what binds, and what relaxing it would bring', () => {
    expect(plan({ capacity: n, falsePositiveRate: 0.01, hashes: 3 })).toMatchObject({
      binding: 'hashes',
      notes: [expect.stringMatching(/^7 hashes would need \d+ bits instead of \d+\.$/)],
    });
    expect(plan({ capacity: n, falsePositiveRate: 0.01, maxHashes: 3 }).binding).toBe('maxHashes');
    expect(plan({ capacity: n, falsePositiveRate: 0.01, maxHashes: 9 }).binding).toBe('falsePositiveRate');
    expect(plan({ capacity: n, bits: 8 * n, hashes: 5 })).toMatchObject({ binding: 'hashes' });
    expect(plan({ capacity: n, bits: 8 * n, hashes: 6 })).toMatchObject({ binding: 'bits', notes: [] });
    expect(plan({ capacity: n, bits: 8 * n, maxHashes: 4 })).toMatchObject({
      binding: 'maxHashes',
      hashes: 4,
    });
    expect(plan({ capacity: n, maxBits: 8 * n })).toMatchObject({
      binding: 'maxBits',
      bits: 8 * n,
      hashes: 6,
    });
    expect(plan({ capacity: 1000, bits: 16_000, falsePositiveRate: 0.01 })).toMatchObject({
      binding: 'bits',
      notes: [expect.stringContaining('is kept')],
    });
    expect(plan({ capacity: 100, bits: 1000, layout: 'partitioned' })).toMatchObject({
      bits: 994,
      hashes: 7,
      notes: [expect.stringContaining('994 are used')],
    });
  });
});

describe('transmission', () => {
  test('for every k the largest array that fits', () => {
    const request = { capacity: n, transmissionBits: 8 * n };
    const got = plan(request);
    expect(got).toMatchObject({ goal: 'transmission', hashes: 1, binding: 'transmissionBits' });
    expect(() => plan({ ...request, bits: got.bits + 1, hashes: 1 })).toThrow(/contradict/);
    // Better than 0.6185^8 = 0.0214, and above the limit 0.5^8 (compressed II-B).
    expect(got.falsePositiveRate).toBeLessThan(0.0108);
    expect(got.falsePositiveRate).toBeGreaterThan(0.5 ** 8);
  });

  test('without maxBits the default cap binds, and the plan says so', () => {
    const got = plan({ capacity: n, transmissionBits: 18 * n });
    expect(got).toMatchObject({ binding: 'maxBits', bits: DEFAULT_SPREAD * 18 * n });
    // Between two caps the budget binds, but fewer hashes would do better in a larger array.
    const between = plan({ capacity: n, transmissionBits: 16 * n });
    expect(between).toMatchObject({ binding: 'transmissionBits', hashes: 2 });
    expect(between.notes[0]).toContain('With fewer hashes');
    expect(got.notes[0]).toContain('limited to 16 times');
    expect(plan({ capacity: n, falsePositiveRate: 1e-4, goal: 'transmission' }).notes[0]).toContain(
      '16 times',
    );
    expect(plan({ capacity: 1e10, transmissionBits: 8e10 }).notes[0]).toContain('the largest there is');
  });

  test('limits on k', () => {
    const request = { capacity: n, transmissionBits: 16 * n, maxBits: 28 * n };
    expect(plan({ ...request, maxHashes: 2 })).toMatchObject({ hashes: 2, binding: 'maxHashes' });
    expect(plan({ ...request, hashes: 6 })).toMatchObject({ hashes: 6, binding: 'hashes' });
    expect(plan({ ...request, hashes: 4 })).toMatchObject({ hashes: 4, binding: 'maxBits' });
    expect(plan({ ...request, bits: 28 * n })).toMatchObject({ hashes: 4, bits: 28 * n, binding: 'bits' });
  });

  test('maxMessageBytes leaves room for the scatter, and no more', () => {
    for (const probability of [0.9, 0.99, 0.999999]) {
      const got = plan({ capacity: 10_000, maxMessageBytes: 10_000, fitProbability: probability });
      expect(got.binding).toBe('maxMessageBytes');
      expect(got.transmissionBytesAtConfidence).toBe(10_000);
      expect(fitProbability(got.bits, got.hashes, 10_000, 10_000)).toBeGreaterThanOrEqual(probability);
      expect(fitProbability(got.bits + 1000, got.hashes, 10_000, 10_000)).toBeLessThan(probability);
    }
    // The paper leaves 1 % of room by rule of thumb (III); at this size a tenth of that is enough.
    expect(plan({ capacity: 10_000, maxMessageBytes: 10_000 }).expectedTransmissionBits).toBeGreaterThan(
      0.995 * 80_000,
    );
  });

  test('two budgets: the tighter binds', () => {
    const loose = plan({ capacity: 10_000, maxMessageBytes: 10_000, transmissionBits: 90_000 });
    expect(loose.binding).toBe('maxMessageBytes');
    const tight = plan({ capacity: 10_000, maxMessageBytes: 10_000, transmissionBits: 70_000 });
    expect(tight.binding).toBe('transmissionBits');
  });

  test('a message size and a rate: the largest capacity', () => {
    const request = { maxMessageBytes: 1400, falsePositiveRate: 0.02 };
    const got = plan(request);
    expect(got.falsePositiveRate).toBeLessThanOrEqual(0.02);
    expect(got.transmissionBytesAtConfidence).toBeLessThanOrEqual(1400);
    expect(() => plan({ ...request, capacity: got.capacity + 1 })).toThrow(/contradict/);
    // More than an uncompressed filter of 1400 bytes could hold.
    expect(got.capacity).toBeGreaterThan(plan({ bits: 11_200, falsePositiveRate: 0.02 }).capacity * 1.1);
    // An array limit instead of a message size.
    const array = plan({ maxBits: 100_000, falsePositiveRate: 0.01, goal: 'transmission' });
    expect(array.bits).toBeLessThanOrEqual(100_000);
  });

  test('partitioned arrays stay multiples of k', () => {
    const got = plan({ capacity: 1000, transmissionBits: 16_000, maxBits: 28_000, layout: 'partitioned' });
    expect(got.bits % got.hashes).toBe(0);
    expect(got.expectedTransmissionBits).toBeLessThanOrEqual(16_000);
  });

  test('evaluation of a filter fuller than the planner would choose', () => {
    expect(plan({ capacity: n, bits: 4 * n, hashes: 6, goal: 'transmission' })).toMatchObject({
      hashes: 6,
      binding: 'hashes',
    });
  });
});

describe('refused', () => {
  test.each<[PlanRequest, string | RegExp]>([
    [
      { capacity: 1000, bits: 1000, falsePositiveRate: 0.01 },
      'Cannot plan a filter: capacity 1000, bits 1000 and falsePositiveRate 0.01 contradict: 1000 bits give at best 0.632 (k = 1)',
    ],
    [
      { capacity: 1000, maxBits: 4000, falsePositiveRate: 0.01, maxHashes: 2 },
      'Cannot plan a filter: capacity 1000, maxBits 4000, maxHashes 2 and falsePositiveRate 0.01 contradict: 4000 bits give at best 0.155 (k = 2)',
    ],
    [{ capacity: 1e10, falsePositiveRate: 1e-6 }, /the limit of 68719476736 bits .*contradict/],
    [
      { capacity: 10, falsePositiveRate: 0.1, hashes: 5, maxHashes: 4 },
      'Cannot plan a filter: expected at most maxHashes 4, got hashes 5',
    ],
    [
      { capacity: 10, bits: 100, maxBits: 99 },
      'Cannot plan a filter: expected at most maxBits 99, got bits 100',
    ],
    [{ capacity: 10 }, /^Cannot plan a filter: expected falsePositiveRate, bits, .* got capacity 10 alone$/],
    [
      { bits: 10 },
      /^Cannot plan a filter without capacity: expected falsePositiveRate and .* got no falsePositiveRate$/,
    ],
    [{ falsePositiveRate: 0.1 }, /^Cannot plan a filter without capacity: .* got no size$/],
    [
      { capacity: 10, transmissionBits: 50, goal: 'memory' },
      /^Cannot plan a filter: expected goal 'transmission' with transmissionBits 50, got 'memory'/,
    ],
    [
      { capacity: 10, falsePositiveRate: 0.1, goal: 'delta' },
      "Cannot plan a filter: expected changedFraction for goal 'delta', got none",
    ],
    [
      { capacity: 10, transmissionBits: 50, layout: 'blocked' },
      /^Cannot plan a filter: expected layout 'classic' or 'partitioned' for goal 'transmission', got 'blocked'/,
    ],
    [{ capacity: 10_000, falsePositiveRate: 0.001, maxMessageBytes: 1400 }, /contradict: the best is 0\.\d+/],
    [{ capacity: 1000, bits: 9000, transmissionBits: 100 }, /contradict: no such filter fits/],
    [
      { capacity: 1000, falsePositiveRate: 0.01, maxBits: 9000, goal: 'transmission' },
      /the fewest bits are 9595 \(k = 7\)/,
    ],
    [
      { bits: 100, falsePositiveRate: 0.1, layout: 'blocked' },
      'Cannot plan a filter: bits 100 are too few for the blocked layout',
    ],
    [
      { capacity: 10, bits: 256, layout: 'split-block', hashes: 7 },
      'Cannot use hashes: expected an integer from 8 to 8, got 7',
    ],
    [
      { capacity: 10, falsePositiveRate: 1.5 },
      'Cannot use falsePositiveRate: expected strictly between 0 and 1, got 1.5',
    ],
    [
      { capacity: 1.5, falsePositiveRate: 0.5 },
      'Cannot use capacity: expected an integer of at least 1, got 1.5',
    ],
    [{ capacity: 10, falsePositiveRate: 0.1, changedFraction: 1.2 }, /^Cannot use changedFraction/],
    [{ capacity: 10, bits: 2 ** 37 }, /^Cannot use bits: expected an integer from 1 to 68719476736/],
    [{ capacity: 10, bits: 10, layout: 'blobby' as 'blocked' }, /^Cannot use layout: expected/],
    [{ capacity: 10, bits: 10, goal: 'speed' as 'memory' }, /^Cannot use goal: expected/],
  ])('%j', (request, message) => {
    expect(() => plan(request)).toThrow(RangeError);
    expect(() => plan(request)).toThrow(message);
  });

  test('a typo, or a wrong type, is a TypeError', () => {
    expect(() => plan({ capacity: 10, falsePositveRate: 0.1 } as PlanRequest)).toThrow(
      /^Cannot plan a filter: expected fields of capacity, falsePositiveRate, .* got "falsePositveRate"$/,
    );
    expect(() => plan({ capacity: '10' as unknown as number, bits: 10 })).toThrow(
      new TypeError('Cannot use capacity: expected an integer of at least 1, got "10"'),
    );
    expect(() => plan(null as unknown as PlanRequest)).toThrow(
      new TypeError('Cannot plan a filter: expected an object, got null'),
    );
    expect(() => plan(7 as unknown as PlanRequest)).toThrow(TypeError);
  });
});
