import { expectBinomial } from '@bloomery/testkit/statistics';
import { VirtualClock } from '@bloomery/testkit/virtual-clock';
import { expect, test } from 'vitest';
import { arrivals, NO_FAULTS } from './link-faults.ts';

const message = Uint8Array.from({ length: 100 }, (_, i) => i);
const TRIALS = 20_000;

test('arrivals without faults has one, at once, with bytes of its own', () => {
  const [only, ...more] = arrivals(message, NO_FAULTS, new VirtualClock());
  expect(only).toEqual({ bytes: message, delayMs: 0, isReordered: false });
  expect(only.bytes).not.toBe(message);
  expect(more).toEqual([]);
});

test('arrivals has each fault as often as it was asked for', () => {
  const clock = new VirtualClock({ seed: 3 });
  const faults = { loss: 0.3, duplication: 0.1, reordering: 0.2, damage: 0.05, delayMs: 10, jitterMs: 5 };
  let [lost, doubled, arrived, reordered, hurt] = [0, 0, 0, 0, 0];
  for (let i = 0; i < TRIALS; i++) {
    const all = arrivals(message, faults, clock);
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
  const [only] = arrivals(new Uint8Array(0), { ...NO_FAULTS, damage: 1 }, new VirtualClock());
  expect(only.bytes).toEqual(new Uint8Array(0));
});
