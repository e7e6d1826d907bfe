import { expect, test } from 'vitest';
import { VolumeLimit } from './volume-limit.ts';

const MB = 1_000_000;

test('VolumeLimit: a volume with room for all leaves the configured capacity', () => {
  const limit = new VolumeLimit(100 * MB);
  limit.measured(0, 10_000 * MB, 0);
  expect(limit.bytes).toBe(100 * MB);
});

test('VolumeLimit: a smaller volume is used up to a 64th, including what is there already', () => {
  const limit = new VolumeLimit(100 * MB);
  limit.measured(44 * MB, 20 * MB, 0);
  expect(limit.bytes).toBe(63 * MB);
});

test('VolumeLimit: on a tiny volume 64 KiB stay free, and a full one leaves nothing', () => {
  const limit = new VolumeLimit(100 * MB);
  limit.measured(0, MB, 0);
  expect(limit.bytes).toBe(MB - 65_536);
  limit.measured(0, 10, 0);
  expect(limit.bytes).toBe(0);
});

test('VolumeLimit: a refused write lowers it below the bytes in use, by the write or a 64th', () => {
  const limit = new VolumeLimit(100 * MB);
  limit.refused(64 * MB, 10, 0);
  expect(limit.bytes).toBe(63 * MB);
  limit.refused(64 * MB, 8 * MB, 0);
  expect(limit.bytes).toBe(56 * MB);
  // A refusal of a moment at which more was in use says nothing new.
  limit.refused(90 * MB, 10, 0);
  expect(limit.bytes).toBe(56 * MB);
});

test('VolumeLimit: it may rise a minute after the last refusal, and only if it is lowered', () => {
  const limit = new VolumeLimit(100 * MB);
  expect(limit.mayRise(1e9)).toBe(false);
  limit.refused(64 * MB, 10, 1000);
  expect([limit.mayRise(60_999), limit.mayRise(61_000)]).toEqual([false, true]);
  limit.measured(60 * MB, 4 * MB, 61_000);
  expect(limit.bytes).toBe(63 * MB);
  expect([limit.mayRise(120_999), limit.mayRise(121_000)]).toEqual([false, true]);
  limit.measured(60 * MB, 400 * MB, 121_000);
  expect([limit.bytes, limit.mayRise(1e9)]).toEqual([100 * MB, false]);
});
