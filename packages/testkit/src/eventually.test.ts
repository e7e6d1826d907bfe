import { expect, test } from 'vitest';
import { eventually, until } from './eventually.ts';

test('eventually returns the first answer that is neither undefined nor false', async () => {
  const answers = [undefined, false, 0, 1];
  expect(await eventually(() => answers.shift())).toBe(0);
  expect(answers).toEqual([1]);
  expect(await eventually(async () => '')).toBe('');
});

test('eventually gives up at the deadline, and says what did not come', async () => {
  await expect(eventually(() => undefined, 20)).rejects.toThrow(
    'Cannot wait any longer: expected within 20 ms: () => undefined',
  );
});

test('until waits for a condition that holds, and names its event otherwise', async () => {
  let asked = 0;
  await until('the third question', () => ++asked === 3);
  expect(asked).toBe(3);
  await expect(until('a miracle', () => null, 20)).rejects.toThrow('expected within 20 ms: a miracle');
});
