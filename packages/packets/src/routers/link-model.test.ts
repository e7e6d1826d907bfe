import { expectBinomial, Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { LinkModel } from './link-model.ts';

test('LinkModel lets packets through at once unless it is told otherwise', () => {
  expect(new LinkModel().offer(1500, 10, 0)).toEqual({ atMs: 10 });
  expect(new LinkModel({ delayMs: 25 }).offer(1500, 10, 0.5)).toEqual({ atMs: 35 });
});

test('LinkModel loses the share of packets that was asked for', () => {
  const random = new Random(1);
  const link = new LinkModel({ loss: 0.3 });
  let lost = 0;
  for (let i = 0; i < 10_000; i++) if ('drop' in link.offer(100, i, (random.bits() >>> 0) / 2 ** 32)) lost++;
  expectBinomial(lost, 10_000, 0.3, 'lost packets');
});

test('LinkModel sends at its bandwidth, and drops at the tail of a full queue', () => {
  // 8 Mbit/s are 1000 bytes per millisecond.
  const link = new LinkModel({ bitsPerSecond: 8e6, queueBytes: 3000, delayMs: 5 });
  const fates = Array.from({ length: 5 }, () => link.offer(1000, 0, 0.9));
  expect(fates).toEqual([{ atMs: 6 }, { atMs: 7 }, { atMs: 8 }, { drop: 'queue' }, { drop: 'queue' }]);
  expect(link.offer(1000, 2, 0.9)).toEqual({ atMs: 9 });
  expect(link.offer(1000, 100, 0.9)).toEqual({ atMs: 106 });
});

test('LinkModel refuses a link that cannot be', () => {
  for (const options of [
    { delayMs: -1 },
    { loss: 2 },
    { bitsPerSecond: 0 },
    { queueBytes: 0 },
    { loss: Number.NaN },
  ])
    expect(() => new LinkModel(options)).toThrow('Cannot make a link');
});
