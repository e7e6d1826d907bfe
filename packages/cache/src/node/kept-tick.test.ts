import { expect, test } from 'vitest';
import { keepTick, keptTick } from './kept-tick.ts';

test('keepTick keeps an object that process.nextTick made', async () => {
  keepTick();
  const tick = () => {};
  await new Promise<void>((resolve) => process.nextTick(resolve, tick));
  // The names of Node's tick objects.
  expect(Object.keys(keptTick() ?? {})).toEqual(['callback', 'args']);
});
