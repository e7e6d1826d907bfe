import { expect, test } from 'vitest';
import { FlushPacing } from './flush-pacing.ts';

test('FlushPacing is due when the oldest key has waited, however many came after it', () => {
  const pacing = new FlushPacing({ everyMs: 1000, mostKeys: 100 });
  expect(pacing.dueInMs(0)).toBeUndefined();
  pacing.add(1, 10, 5000);
  pacing.add(1, 10, 5900);
  expect(pacing.dueInMs(5900)).toBe(100);
  expect(pacing.dueInMs(7000)).toBe(0);
  pacing.flushed(7000, 7000);
  expect(pacing.dueInMs(7000)).toBeUndefined();
});

test('FlushPacing is due at once for many keys, or for many bytes', () => {
  for (const [keys, bytes] of [
    [100, 1],
    [1, 64 * 2 ** 20],
  ]) {
    const pacing = new FlushPacing({ everyMs: 1000, mostKeys: 100 });
    pacing.add(keys, bytes, 0);
    expect(pacing.dueInMs(0)).toBe(0);
  }
});

test('FlushPacing rests ten times as long as the last write took, except for many keys', () => {
  const pacing = new FlushPacing({ everyMs: 1000, mostKeys: 100 });
  pacing.add(1, 1, 0);
  pacing.flushed(1000, 1500);
  pacing.add(1, 1, 1500);
  expect(pacing.dueInMs(1500)).toBe(5000);
  pacing.add(99, 1, 1600);
  expect(pacing.dueInMs(1600)).toBe(0);
});
