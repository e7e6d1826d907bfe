import { expectBinomial, expectNormal } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { randomStream } from '../engine/random-stream.ts';
import { arrivals, IDEAL_LINK, isPlain, linkConditions } from './link-conditions.ts';

const message = Uint8Array.from({ length: 100 }, (_, i) => i);
const TRIALS = 20_000;

test('arrivals on an ideal link has one, at once', () => {
  const [only, ...more] = arrivals(message, IDEAL_LINK, randomStream(1, 'ideal'));
  expect(only).toEqual({ bytes: message, delayMs: 0, isReordered: false });
  expect(more).toEqual([]);
});

test('arrivals has each fault as often as it was asked for', () => {
  const random = randomStream(3, 'faults');
  const faults = linkConditions({
    loss: 0.3,
    duplication: 0.1,
    reordering: 0.2,
    damage: 0.05,
    delayMs: 10,
    jitterMs: 5,
  });
  let [lost, doubled, arrived, reordered, hurt] = [0, 0, 0, 0, 0];
  for (let i = 0; i < TRIALS; i++) {
    const all = arrivals(message, faults, random);
    if (all.length === 0) lost++;
    if (all.length === 2) doubled++;
    for (const { bytes, delayMs, isReordered } of all) {
      arrived++;
      if (isReordered) reordered++;
      else expect(delayMs >= 10 && delayMs < 15).toBe(true);
      const flipped = bytes.reduce((sum, byte, at) => sum + (byte === message[at] ? 0 : 1), 0);
      expect(flipped).toBeLessThanOrEqual(1);
      hurt += flipped;
    }
  }
  expectBinomial(lost, TRIALS, 0.3, 'lost');
  expectBinomial(doubled, TRIALS - lost, 0.1, 'doubled');
  expectBinomial(reordered, arrived, 0.2, 'reordered');
  expectBinomial(hurt, arrived, 0.05, 'damaged');
});

test('arrivals damages an empty message without a fault', () => {
  const [only] = arrivals(new Uint8Array(0), linkConditions({ damage: 1 }), randomStream(1, 'x'));
  expect(only.bytes).toEqual(new Uint8Array(0));
});

test('arrivals with exponential jitter has the mean and the tail of that distribution', () => {
  const random = randomStream(5, 'jitter');
  const conditions = linkConditions({ delayMs: 10, jitterMs: 20, jitter: 'exponential' });
  const times = Array.from({ length: TRIALS }, () => arrivals(message, conditions, random)[0].delayMs - 10);
  expect(Math.min(...times)).toBeGreaterThanOrEqual(0);
  const mean = times.reduce((sum, ms) => sum + ms, 0) / TRIALS;
  expectNormal(mean, 20, 20 / Math.sqrt(TRIALS), 'mean');
  expectBinomial(times.filter((ms) => ms > 60).length, TRIALS, Math.exp(-3), 'beyond three means');
});

test('linkConditions refuses probabilities, times and rates that no link has', () => {
  expect(() => linkConditions({ loss: 1.5 })).toThrow(
    'Cannot set up a link: expected a probability from 0 to 1, got 1.5 (loss)',
  );
  expect(() => linkConditions({ delayMs: -1 })).toThrow(
    'Cannot set up a link: expected a finite time, got -1 (delayMs)',
  );
  expect(() => linkConditions({ bytesPerSecond: 0 })).toThrow(
    'Cannot set up a link: expected more than 0 bytes per second, got 0',
  );
});

test('isPlain is true only for a fixed delay', () => {
  expect(isPlain(linkConditions({ delayMs: 50 }))).toBe(true);
  for (const some of [{ loss: 0.1 }, { damage: 0.1 }, { jitterMs: 1 }, { bytesPerSecond: 1e6 }])
    expect(isPlain(linkConditions(some))).toBe(false);
});
