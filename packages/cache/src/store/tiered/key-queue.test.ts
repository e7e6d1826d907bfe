import { expect, test } from 'vitest';
import { pause } from '../../../test/store/stored-responses.ts';
import { KeyQueue } from './key-queue.ts';

test('tasks of a key run in order, also after one that fails; other keys do not wait', async () => {
  const queue = new KeyQueue();
  const seen: string[] = [];
  const task = (name: string, ms: number) => async () => {
    await pause(ms);
    seen.push(name);
    return name;
  };
  const first = queue.run('a', task('a1', 20));
  const second = queue.run('a', async () => {
    await task('a2', 0)();
    throw new Error('failed');
  });
  const third = queue.run('a', task('a3', 0));
  const other = queue.run('b', task('b1', 0));
  expect(queue.waiting('a')).toBe(3);
  await expect(second).rejects.toThrow('failed');
  expect(await Promise.all([first, third, other])).toEqual(['a1', 'a3', 'b1']);
  expect(seen).toEqual(['b1', 'a1', 'a2', 'a3']);
  await queue.idle();
  expect(queue.waiting('a')).toBe(0);
});
