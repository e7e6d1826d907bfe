import { expect, test } from 'vitest';
import type { Clock } from '../clock.ts';
import { untilBeat, untilOffBeat } from './common-beat.ts';

const EVERY_MS = 5000;

function at(ms: number): Clock {
  return { now: () => ms, monotonic: () => 0, after: () => () => {}, random: () => 0 };
}

test('untilBeat ends at a multiple of the interval, from half an interval to one and a half', () => {
  for (let now = 1_700_000_000_000; now < 1_700_000_010_000; now += 7) {
    const ms = untilBeat(at(now), EVERY_MS);
    expect((now + ms) % EVERY_MS).toBe(0);
    expect(ms).toBeGreaterThanOrEqual(EVERY_MS / 2);
    expect(ms).toBeLessThan(1.5 * EVERY_MS);
  }
});

test('untilOffBeat ends in the middle between two beats', () => {
  for (let now = 1_700_000_000_000; now < 1_700_000_010_000; now += 7) {
    const ms = untilOffBeat(at(now), EVERY_MS);
    expect((now + ms) % EVERY_MS).toBe(EVERY_MS / 2);
    expect(ms).toBeGreaterThanOrEqual(EVERY_MS / 2);
    expect(ms).toBeLessThan(1.5 * EVERY_MS);
  }
});

test('untilBeat does not count a beat twice if a timer fired early', () => {
  expect(untilBeat(at(10_000 - 1), EVERY_MS)).toBe(EVERY_MS + 1);
  expect(untilBeat(at(10_000), EVERY_MS)).toBe(EVERY_MS);
  expect(untilBeat(at(10_000 + 3), EVERY_MS)).toBe(EVERY_MS - 3);
});
