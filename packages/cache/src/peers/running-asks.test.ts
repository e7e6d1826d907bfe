import { expect, test } from 'vitest';
import { RunningAsks } from './running-asks.ts';

test('RunningAsks knows a question from its beginning to its end, and forgets all of it', () => {
  const asks = new RunningAsks();
  const first = asks.begin('k', 'a');
  const second = asks.begin('k', 'a');
  const third = asks.begin('k', 'b');
  expect([asks.has('k', 'a'), asks.has('k', 'b'), asks.has('k', 'c'), asks.has('l', 'a')]).toEqual([
    true,
    true,
    false,
    false,
  ]);
  first();
  first();
  expect(asks.has('k', 'a')).toBe(true);
  second();
  expect([asks.has('k', 'a'), asks.has('k', 'b')]).toEqual([false, true]);
  third();
  expect(asks.size).toBe(0);
});
