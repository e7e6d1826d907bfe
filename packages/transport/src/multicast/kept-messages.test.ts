import { VirtualClock } from '@bloomery/testkit/virtual-clock';
import { expect, test } from 'vitest';
import { KeptMessages } from './kept-messages.ts';

const one = Uint8Array.of(1);

/** The numbers that a request brings to the group. */
function repeated(kept: KeptMessages, first: number, last: number, topic = 'x'): number[] {
  const asked = Array.from({ length: last - first + 1 }, (_, i) => first + i);
  const numbers: number[] = [];
  kept.repeat(topic, asked, (number) => numbers.push(number));
  return numbers;
}

test('KeptMessages numbers each topic for itself, and keeps the last 256 messages of each', () => {
  const kept = new KeptMessages(new VirtualClock());
  for (let i = 1; i <= 262; i++) expect(kept.add('x', one)).toBe(i);
  expect(kept.add('y', one)).toBe(1);
  expect(kept.numbers()).toEqual({ x: 262, y: 1 });
  expect(kept.get('x', 6)).toBe(undefined);
  expect(kept.get('x', 7)).toBe(one);
  expect(kept.get('x', 263)).toBe(undefined);
  expect(kept.get('z', 1)).toBe(undefined);
});

test('KeptMessages keeps 1 MiB of a topic, and its last message however long that is', () => {
  const kept = new KeptMessages(new VirtualClock());
  const half = new Uint8Array(512 * 1024);
  for (let i = 0; i < 3; i++) kept.add('x', half);
  expect([1, 2, 3].map((number) => kept.get('x', number) !== undefined)).toEqual([false, true, true]);
  kept.add('x', new Uint8Array(8 * 1024 * 1024));
  expect(kept.get('x', 3)).toBe(undefined);
  expect(kept.get('x', 4)?.length).toBe(8 * 1024 * 1024);
});

test('KeptMessages repeats a message at most once in 100 ms, however many nodes ask', async () => {
  const clock = new VirtualClock();
  const kept = new KeptMessages(clock);
  kept.add('x', one);
  kept.add('x', one);
  expect(repeated(kept, 1, 1)).toEqual([1]);
  expect(repeated(kept, 1, 2)).toEqual([2]);
  await clock.advance(99);
  expect(repeated(kept, 1, 2)).toEqual([]);
  await clock.advance(1);
  expect(repeated(kept, 1, 2)).toEqual([1, 2]);
});

test('KeptMessages repeats at most 50 messages a second in all', async () => {
  const clock = new VirtualClock();
  const kept = new KeptMessages(clock);
  for (let i = 0; i < 32; i++) {
    kept.add('x', one);
    kept.add('y', one);
  }
  expect(repeated(kept, 1, 32).length + repeated(kept, 1, 32, 'y').length).toBe(50);
  await clock.advance(1000);
  expect(repeated(kept, 1, 32).length).toBe(32);
});

test('KeptMessages says whether all messages of a request are kept', () => {
  const kept = new KeptMessages(new VirtualClock());
  for (let i = 0; i < 257; i++) kept.add('x', one);
  expect(kept.repeat('x', [1, 2], () => {})).toBe(false);
  expect(kept.repeat('x', [2, 3], () => {})).toBe(true);
  expect(kept.repeat('x', [257, 258], () => {})).toBe(false);
});
