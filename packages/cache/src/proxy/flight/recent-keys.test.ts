import { expect, test } from 'vitest';
import { RecentKeys } from './recent-keys.ts';

test('RecentKeys forgets the key that was set longest ago, and setting it again renews it', () => {
  const keys = new RecentKeys<number>(2);
  keys.set('a', 1);
  keys.set('b', 2);
  keys.set('a', 3);
  keys.set('c', 4);
  expect([keys.get('a'), keys.get('b'), keys.get('c')]).toEqual([3, undefined, 4]);
  keys.delete('a');
  expect(keys.get('a')).toBe(undefined);
});
