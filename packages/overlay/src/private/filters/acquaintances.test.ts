import { expectBinomial, Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { Acquaintances } from './acquaintances.ts';
import { keyedFilter } from './keyed-filter.ts';

const random = new Random(242);
const names = Array.from({ length: 20 }, (_, i) => `friend ${i}`);
const booksOf = new Map(
  names.map((name) => [name, Array.from({ length: 100 }, (_, i) => `${name} knows ${i}`)]),
);

function everyone(): Acquaintances {
  const friends = new Acquaintances();
  for (const [name, book] of booksOf) {
    friends.set(
      name,
      keyedFilter([...book, 'all know'], { secret: random.bytes(16), from: name, falsePositiveRate: 0.01 }),
    );
  }
  return friends;
}

test('Acquaintances name every friend who knows an address', () => {
  const friends = everyone();
  for (const [name, book] of booksOf) {
    for (const address of book) expect(friends.whoMayKnow(address).map((one) => one.name)).toContain(name);
  }
  expect(friends.whoMayKnow('all know').map((one) => one.name)).toEqual(names);
  expect(friends.delete('friend 3')).toBe(true);
  expect(friends.delete('friend 3')).toBe(false);
  expect(friends.size).toBe(19);
  expect(friends.whoMayKnow('all know')).toHaveLength(19);
});

test('a filter that knows nearly everyone is refused, and the earlier one stays', () => {
  const friends = new Acquaintances();
  const options = { secret: random.bytes(16), from: 'ann' };
  friends.set('ann', keyedFilter(['bob'], options));
  const full = keyedFilter(['bob'], options);
  for (let i = 0; i < 500; i++) full.add(`spammer ${i}`);
  expect(() => friends.set('ann', full)).toThrow(
    expect.objectContaining({ name: 'SharingError', code: 'overfull' }),
  );
  expect(friends.falseAlarmRate).toBeLessThan(0.01);
  expect(friends.whoMayKnow('bob')).toHaveLength(1);
});

test('falseAlarmRate is the rate at which unknown addresses are found', () => {
  const friends = everyone();
  const asked = 20_000;
  let found = 0;
  for (let i = 0; i < asked; i++) found += friends.whoMayKnow(`unknown ${i}`).length > 0 ? 1 : 0;
  // The estimate comes from the fill of the filters; 20 filters of 1 % give 18.2 %.
  expect(friends.falseAlarmRate).toBeGreaterThan(0.15);
  expectBinomial(found, asked, friends.falseAlarmRate, 'unknown addresses that a friend seems to know');
  expect(new Acquaintances().falseAlarmRate).toBe(0);
});
