import { expect, test } from 'vitest';
import { MemberList } from './member-list.ts';
import type { Member, MembershipChange } from './member-source.ts';

const member = (address: string, source = 'settings'): Member => ({ address, name: null, source });
const addresses = (members: readonly Member[]) => members.map(({ address }) => address);

function watched(list: MemberList) {
  const told: { joined: string[]; left: string[] }[] = [];
  list.watch(({ joined, left }: MembershipChange) =>
    told.push({ joined: addresses(joined), left: addresses(left) }),
  );
  return told;
}

test('a list tells which members joined and which left, and an unchanged one tells nothing', () => {
  const list = new MemberList();
  const told = watched(list);
  list.replace([member('b'), member('a'), member('a', 'dns')]);
  list.replace([member('a'), member('b')]);
  list.replace([member('c'), member('a')]);
  list.replace([]);
  expect(told).toEqual([
    { joined: ['a', 'b'], left: [] },
    { joined: ['c'], left: ['b'] },
    { joined: [], left: ['a', 'c'] },
  ]);
});

test('an address counts once, under the first source that names it', () => {
  const list = new MemberList();
  list.replace([member('a', 'settings'), member('a', 'dns')]);
  expect(list.all()).toEqual([member('a', 'settings')]);
  list.replace([member('a', 'dns')]);
  expect(list.all()).toEqual([member('a', 'dns')]);
});

test('a list that is too long keeps the members it has, whatever the order', () => {
  const list = new MemberList(3);
  expect(list.replace(['f', 'e', 'd'].map((each) => member(each)))).toBe(0);
  const told = watched(list);
  expect(list.replace(['a', 'b', 'e', 'f', 'd', 'c'].map((each) => member(each)))).toBe(3);
  expect(addresses(list.all())).toEqual(['d', 'e', 'f']);
  expect(told).toEqual([]);
  // A place that becomes free is taken in the order of the addresses.
  expect(list.replace(['c', 'b', 'a', 'e', 'f'].map((each) => member(each)))).toBe(2);
  expect(told).toEqual([{ joined: ['a'], left: ['d'] }]);
});

test('a listener that was cancelled hears no more, also if it is passed twice', () => {
  const list = new MemberList();
  let calls = 0;
  const listener = () => void calls++;
  const cancel = list.watch(listener);
  list.watch(listener);
  list.replace([member('a')]);
  expect(calls).toBe(2);
  cancel();
  list.replace([]);
  expect(calls).toBe(3);
});
