import { expectBinomial, expectUniform } from '@bloomery/testkit/statistics';
import { hashKey } from 'bloomery';
import { expect, test } from 'vitest';
import { rendezvousOrder } from './rendezvous.ts';

const members = Array.from({ length: 16 }, (_, i) => `node-${i}`);
const KEYS = 20_000;
const keys = Array.from({ length: KEYS }, (_, i) => hashKey(`http://example.com/${i}`));

test('rendezvousOrder does not depend on the order of the list', () => {
  for (const key of keys.slice(0, 200))
    expect(rendezvousOrder(key, [...members].reverse())).toEqual(rendezvousOrder(key, members));
});

test('rendezvousOrder gives each member an equal share of first and of second places', () => {
  for (const place of [0, 1]) {
    const counts = new Map(members.map((id) => [id, 0]));
    for (const key of keys) {
      const id = rendezvousOrder(key, members)[place];
      counts.set(id, (counts.get(id) ?? 0) + 1);
    }
    expectUniform([...counts.values()], `place ${place}`);
  }
});

test('rendezvousOrder moves only the keys of a member that leaves, each to its second place', () => {
  const rest = members.slice(0, -1);
  let moved = 0;
  for (const key of keys) {
    const [first, second] = rendezvousOrder(key, members);
    const owner = rendezvousOrder(key, rest)[0];
    if (first === 'node-15') moved++;
    expect(owner).toBe(first === 'node-15' ? second : first);
  }
  expectBinomial(moved, KEYS, 1 / 16, 'keys of the member that left');
});

test('rendezvousOrder is pinned, because nodes of all versions must agree', () => {
  expect(rendezvousOrder({ low: 1, high: 2 }, members.slice(0, 5))).toEqual([
    'node-2',
    'node-3',
    'node-0',
    'node-4',
    'node-1',
  ]);
  expect(rendezvousOrder(hashKey('bloomery'), members.slice(0, 5))).toEqual([
    'node-1',
    'node-3',
    'node-4',
    'node-2',
    'node-0',
  ]);
});

test('rendezvousOrder accepts no members, and halves as signed or unsigned numbers', () => {
  expect(rendezvousOrder({ low: 1, high: 2 }, [])).toEqual([]);
  expect(rendezvousOrder({ low: -1, high: -2 }, members)).toEqual(
    rendezvousOrder({ low: 0xffffffff, high: 0xfffffffe }, members),
  );
});
