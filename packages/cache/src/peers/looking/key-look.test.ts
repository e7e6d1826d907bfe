import { hashKey } from 'bloomery';
import { positionOf } from 'bloomery/wire';
import { expect, test } from 'vitest';
import { lookAtPosition, lookAtSummary } from './key-look.ts';

test('lookAtPosition shows 64 bits with the position among them, and fewer at the end', () => {
  const set = new Set([0, 70, 99]);
  const look = (position: number) => lookAtPosition(position, 100, (at) => set.has(at));
  expect(look(0)).toEqual({ position: 0, isSet: true, window: { from: 0, bits: `1${'0'.repeat(63)}` } });
  expect(look(70)).toMatchObject({ isSet: true, window: { from: 64 } });
  expect(look(99).window.bits).toBe(`000000100000000000000000000000000001`);
  expect(look(98).isSet).toBe(false);
});

test('lookAtSummary says maybe exactly if the position of the key is set', () => {
  const universe = 4096;
  const hash = hashKey('http://o/a');
  const position = positionOf(hash, universe);
  const peer = { address: 'http://b', id: 'b' };
  const summary = (set: ReadonlySet<number>) => ({
    universe,
    size: 8,
    hasPosition: (at: number) => set.has(at),
  });
  const yes = lookAtSummary(peer, summary(new Set([position])), hash, null);
  expect(yes).toMatchObject({ ...peer, answer: 'maybe', why: null, falsePositiveRate: 8 / universe });
  expect(yes.positions).toMatchObject([{ position, isSet: true }]);
  expect(lookAtSummary(peer, summary(new Set([position ^ 1])), hash, 'down')).toMatchObject({
    answer: 'no',
    why: 'down',
  });
  expect(lookAtSummary(peer, null, hash, null)).toMatchObject({
    answer: 'unknown',
    why: 'no summary yet',
    positions: [],
    universe: null,
  });
});
