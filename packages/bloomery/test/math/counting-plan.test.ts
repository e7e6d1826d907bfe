/** Plans of counting filters for transmission, against the sizes that the coder gives them. */

import { withEffort } from '@bloomery/testkit/effort';
import { expectNormal } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { CountingBloomFilter } from '../../src/filters/counting/counting-bloom-filter.ts';
import {
  counterBits,
  counterBitsDeviation,
  counterDeltaBits,
  counterDeltaBitsDeviation,
  plan,
} from '../../src/math/index.ts';
import { compressFrame } from '../../src/wire/coding/compressed-frame.ts';
import { makeDelta } from '../../src/wire/coding/delta.ts';
import { counterKeys } from '../keys.ts';

const n = 10_000;

function counting(counters: number, hashes: number, seed: number): CountingBloomFilter {
  const filter = new CountingBloomFilter({ counters, hashes, seed });
  filter.addMany(counterKeys(n, 0, 21));
  return filter;
}

/** Bytes of the coded counters without the head and the checksum. */
function codedBytes(filter: CountingBloomFilter): number {
  return compressFrame(filter.encode()).length - 33;
}

/** Bytes of a delta without its head and its checksum, when a share c of the keys is replaced. */
function deltaBytes(filter: CountingBloomFilter, c: number): number {
  const from = filter.encode();
  filter.deleteMany(counterKeys(c * n, 0, 21));
  filter.addMany(counterKeys(c * n, n, 21));
  return makeDelta(from, filter.encode()).length - 25;
}

test('the coded size of a counting filter has the mean and the scatter of the formulas', () => {
  for (const [perKey, hashes] of [
    [9.6, 7],
    [19, 2],
    [60, 1],
  ]) {
    const m = Math.round(perKey * n);
    const trials = withEffort(60);
    const sizes = Array.from({ length: trials }, (_, seed) => codedBytes(counting(m, hashes, seed)));
    const mean = sizes.reduce((sum, size) => sum + size, 0) / trials;
    const theory = counterBits(m, hashes, n) / 8;
    const deviation = counterBitsDeviation(m, hashes, n) / 8;
    // The coder adds about four bytes for each of up to nine planes.
    expect(mean, `${perKey} counters per key`).toBeGreaterThan(theory - (5 * deviation) / Math.sqrt(trials));
    expect(mean, `${perKey} counters per key`).toBeLessThan(
      theory + (5 * deviation) / Math.sqrt(trials) + 40,
    );
    // The variance of a sample of normal numbers has the relative deviation √(2/(trials - 1)). The
    // coder rounds to bytes in each plane.
    const variance = sizes.reduce((sum, size) => sum + (size - mean) ** 2, 0) / (trials - 1);
    const rounding = 9 / 12 + 1;
    expectNormal(
      variance,
      deviation ** 2 + rounding / 2,
      (deviation ** 2 + rounding) * Math.sqrt(2 / (trials - 1)) + rounding / 2,
      `variance at ${perKey} counters per key`,
    );
  }
});

test('the size of a counting delta has the mean of the formula', () => {
  for (const [perKey, hashes, c] of [
    [9.6, 7, 0.05],
    [19, 2, 0.01],
  ]) {
    const m = Math.round(perKey * n);
    const trials = withEffort(20);
    let sum = 0;
    for (let seed = 0; seed < trials; seed++) sum += deltaBytes(counting(m, hashes, seed), c);
    const theory = counterDeltaBits(m, hashes, n, c) / 8;
    const slack = (5 * counterDeltaBitsDeviation(m, hashes, n, c)) / 8 / Math.sqrt(trials);
    expect(sum / trials, `c = ${c}`).toBeGreaterThan(theory - slack);
    // Five contexts with up to five planes and nodes of two to five bytes.
    expect(sum / trials, `c = ${c}`).toBeLessThan(theory + slack + 95);
  }
});

test('plan finds the smallest message for a rate among all numbers of hashes', () => {
  for (const [falsePositiveRate, spread] of [
    [0.01, 2],
    [0.01, 16],
    [0.001, 4],
  ]) {
    const memory = plan({ capacity: n, falsePositiveRate, structure: 'counting' });
    const maxBits = spread * memory.bits;
    const request = { capacity: n, falsePositiveRate, structure: 'counting', maxBits } as const;
    const found = plan({ ...request, goal: 'transmission' });
    expect(found.falsePositiveRate).toBeLessThanOrEqual(falsePositiveRate);
    expect(found.expectedTransmissionBits).toBe(counterBits(found.bits, found.hashes, n));
    // At the memory optimum the message is 1.6 bits per counter. A sparse array takes 0.6 of it.
    expect(found.expectedTransmissionBits).toBeLessThan(0.65 * memory.expectedTransmissionBits);
    for (let hashes = 1; hashes <= memory.hashes; hashes++) {
      try {
        const other = plan({ ...request, hashes, goal: 'memory' });
        expect(other.expectedTransmissionBits).toBeGreaterThanOrEqual(found.expectedTransmissionBits);
      } catch (error) {
        if (!(error instanceof RangeError)) throw error; // an array above maxBits
      }
    }
    // And the coder keeps what the plan says.
    const measured = 8 * codedBytes(counting(found.bits, found.hashes, 3));
    const deviation = counterBitsDeviation(found.bits, found.hashes, n);
    expect(measured).toBeGreaterThan(found.expectedTransmissionBits - 5 * deviation);
    expect(measured).toBeLessThan(found.expectedTransmissionBits + 5 * deviation + 8 * 45);
  }
});

test('plan finds the lowest rate for a message, which then fits', () => {
  const maxMessageBytes = 12_000;
  const found = plan({ capacity: n, maxMessageBytes, structure: 'counting', maxBits: 40 * n });
  expect([found.goal, found.structure]).toEqual(['transmission', 'counting']);
  expect(found.transmissionBytesAtConfidence).toBeLessThanOrEqual(maxMessageBytes);
  expect(found.transmissionBytesAtConfidence).toBeGreaterThan(maxMessageBytes - 50);
  for (let seed = 0; seed < 5; seed++) {
    // The planner does not count the coder's overhead.
    expect(codedBytes(counting(found.bits, found.hashes, seed))).toBeLessThan(maxMessageBytes + 45);
  }
  // Bits reach a lower rate in the same message: they hold less.
  const bits = plan({ capacity: n, maxMessageBytes, maxBits: 40 * n });
  expect(bits.falsePositiveRate).toBeLessThan(found.falsePositiveRate);
  const delta = plan({ capacity: n, falsePositiveRate: 0.01, structure: 'counting', changedFraction: 0.05 });
  expect(delta.expectedDeltaBits).toBe(counterDeltaBits(delta.bits, delta.hashes, n, 0.05));
});

test('a request without capacity is answered in a moment', () => {
  const found = plan({ falsePositiveRate: 0.01, structure: 'counting', maxMessageBytes: 20_000 });
  expect(found.capacity).toBeGreaterThan(15_000);
  expect(found.transmissionBytesAtConfidence).toBeLessThanOrEqual(20_000);
});

test('structures are checked', () => {
  expect(plan({ capacity: 9, falsePositiveRate: 0.1 }).structure).toBe('bloom');
  expect(() => plan({ capacity: 9, falsePositiveRate: 0.1, structure: 'spectral' as never })).toThrow(
    /Cannot use structure: expected 'bloom' or 'counting'/,
  );
  expect(() =>
    plan({ capacity: 9, falsePositiveRate: 0.1, structure: 'counting', layout: 'blocked' }),
  ).toThrow(/expected layout 'classic' or 'partitioned' for structure 'counting', got 'blocked'/);
});
