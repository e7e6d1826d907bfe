import { expect, test } from 'vitest';
import { planWarmUp } from './warm-plan.ts';

const object = (key: string, bytes: number, freshMs: number) => ({ key, varied: [], bytes, freshMs });

test('planWarmUp takes the objects first that stay fresh for the longest time, then the smaller', () => {
  const offered = [object('a', 10, 1e6), object('b', 10, 3e6), object('c', 5, 1e6), object('d', 1, 59_999)];
  const { wanted, bytes, stale, tooMany } = planWarmUp(offered, 1e9);
  expect(wanted.map(({ key }) => key)).toEqual(['b', 'c', 'a']);
  expect([bytes, stale, tooMany]).toEqual([3 * 1024 + 25, 1, 0]);
});

test('planWarmUp never takes more than there is room for', () => {
  const offered = [object('large', 9000, 3e6), object('small', 100, 2e6), object('other', 100, 1e6)];
  expect(planWarmUp(offered, 3000)).toMatchObject({
    wanted: [{ key: 'small' }, { key: 'other' }],
    tooMany: 1,
  });
  expect(planWarmUp(offered, 0)).toMatchObject({ wanted: [], bytes: 0, tooMany: 3 });
});
