import { expect, test } from 'vitest';
import { Membership } from './membership.ts';
import { StaticMembers } from './static-members.ts';

const addresses = (membership: Membership) => membership.members().map(({ address }) => address);

test('a member of two sources joins once, and leaves with the last of them', () => {
  const [one, two] = [new StaticMembers(['a', 'b']), new StaticMembers(['b', 'c'])];
  const all = new Membership([one, two]);
  const told: string[] = [];
  all.watch(({ joined, left }) => {
    for (const { address } of joined) told.push(`+${address}`);
    for (const { address } of left) told.push(`-${address}`);
  });
  expect(addresses(all)).toEqual(['a', 'b', 'c']);
  one.change(['a']);
  expect(told).toEqual([]);
  two.change(['c', 'd']);
  expect(told).toEqual(['+d', '-b']);
  expect(addresses(all)).toEqual(['a', 'c', 'd']);
});

test('sources can be replaced: one that goes is closed, and one that stays is not', () => {
  const closed: string[] = [];
  const named = (name: string) => {
    const source = new StaticMembers([name]);
    source.close = () => void closed.push(name);
    return source;
  };
  const [first, second, third] = [named('first'), named('second'), named('third')];
  const all = new Membership([first, second]);
  all.use([second, third]);
  expect(closed).toEqual(['first']);
  expect(addresses(all)).toEqual(['second', 'third']);
  first.change(['later']);
  expect(addresses(all)).toEqual(['second', 'third']);
  all.close();
  expect(closed).toEqual(['first', 'second', 'third']);
  third.change(['later']);
  expect(addresses(all)).toEqual(['second', 'third']);
});
