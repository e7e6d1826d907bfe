import { hashKey } from 'bloomery';
import { expect, test } from 'vitest';
import { rendezvousOrder } from '../../rendezvous.ts';
import { GroupDirectory, type GroupList } from './group-directory.ts';

const list = (group: string, version: number, ...members: string[]): GroupList => ({
  group,
  claim: { epoch: 5, leader: members[0] ?? 'x', stability: 1 },
  version,
  members,
});
const KEYS = Array.from({ length: 3000 }, (_, i) => hashKey(`key ${i}`));

test('ownerOf agrees in all groups: one group owns a key, and its first member is asked first', () => {
  const lists = ['a', 'b', 'c'].map((group) => list(group, 1, `${group}1`, `${group}2`, `${group}3`));
  const views = lists.map(({ group }) => {
    const directory = new GroupDirectory({ own: group });
    for (const each of lists) if (each.group !== group) directory.hear(each, 0);
    return { group, directory };
  });
  const owned = new Map<string, number>();
  for (const key of KEYS) {
    const owner = rendezvousOrder(key, ['c', 'a', 'b'])[0]!;
    owned.set(owner, (owned.get(owner) ?? 0) + 1);
    for (const { group, directory } of views) {
      const found = directory.ownerOf(key, 0);
      if (group === owner) expect(found).toBe(null);
      else
        expect(found).toEqual({
          group: owner,
          nodes: rendezvousOrder(key, [`${owner}1`, `${owner}2`, `${owner}3`]).slice(0, 2),
        });
    }
  }
  // A third of 3,000 each: sigma is 25.8, and five of them are 129.
  for (const count of owned.values()) expect(Math.abs(count - 1000)).toBeLessThan(129);
});

test('a member that leaves moves only the keys that it owned', () => {
  const directory = new GroupDirectory({ own: 'a' });
  directory.hear(list('b', 1, 'b1', 'b2', 'b3'), 0);
  const before = KEYS.map((key) => directory.ownerOf(key, 0));
  expect(directory.hear(list('b', 2, 'b1', 'b3'), 0)).toBe(true);
  for (const [i, key] of KEYS.entries()) {
    const owner = before[i] ?? null;
    const expected = owner?.nodes[0] === 'b2' ? owner.nodes[1] : owner?.nodes[0];
    expect(directory.ownerOf(key, 0)?.nodes[0]).toBe(expected);
  }
});

test('hear refuses lists of weaker claims and earlier versions', () => {
  const directory = new GroupDirectory({ own: 'a' });
  const claim = { epoch: 7, leader: 'b2', stability: 3 };
  expect(directory.hear({ ...list('b', 4, 'b1', 'b2'), claim }, 0)).toBe(true);
  for (const [weaker, version] of [
    [{ epoch: 6, leader: 'b1', stability: 99 }, 9],
    [{ epoch: 7, leader: 'b1', stability: 2 }, 9],
    [claim, 3],
  ] as const)
    expect(directory.hear({ ...list('b', version, 'b9'), claim: weaker }, 1)).toBe(false);
  expect(directory.list('b')!.members).toEqual(['b1', 'b2']);
  // A new leader counts its versions from 1 on.
  const later = { epoch: 8, leader: 'b1', stability: 0 };
  expect(directory.hear({ ...list('b', 1, 'b1'), claim: later }, 2)).toBe(true);
  expect(directory.list('b')!.members).toEqual(['b1']);
});

test('a group that was not heard for a while owns nothing until it is heard again', () => {
  const directory = new GroupDirectory({ own: 'a', freshMs: 10 });
  directory.hear(list('b', 1, 'b1'), 0);
  const key = KEYS.find((each) => directory.ownerOf(each, 0) !== null)!;
  expect(directory.ownerOf(key, 10)).not.toBe(null);
  expect(directory.ownerOf(key, 11)).toBe(null);
  expect(directory.names(11)).toEqual(['a']);
  directory.hear(list('b', 1, 'b1'), 20);
  expect(directory.ownerOf(key, 30)).not.toBe(null);
});

test('a group that counts as gone is taken back under any claim, as after a clock that was ahead', () => {
  const directory = new GroupDirectory({ own: 'a', freshMs: 10 });
  const ahead = { epoch: 9_000_000_000, leader: 'b1', stability: 9 };
  directory.hear({ ...list('b', 9e12, 'b1', 'b2'), claim: ahead }, 0);
  // The clocks of the group were set right, and all of its nodes restarted.
  const right = { epoch: 1_800_000_000, leader: 'b2', stability: 0 };
  const after = { ...list('b', 1.8e12, 'b2', 'b1'), claim: right };
  expect(directory.hear(after, 10)).toBe(false);
  expect(directory.hear(after, 11)).toBe(true);
  expect(directory.names(11)).toEqual(['a', 'b']);
  // Only its leader was restarted, and the claim is the same.
  expect(directory.hear({ ...after, version: 1e12 }, 21)).toBe(false);
  expect(directory.hear({ ...after, version: 1e12 }, 22)).toBe(true);
});

test('a group that is gone is forgotten, whatever names come and go', () => {
  const directory = new GroupDirectory({ own: 'a', freshMs: 10 });
  for (let i = 0; i < 1000; i++) directory.hear(list(`zone-${i}`, 1, `n${i}`), i);
  const known = Array.from({ length: 1000 }, (_, i) => directory.list(`zone-${i}`));
  expect(known.filter((each) => each !== null).length).toBeLessThan(20);
  expect(directory.list('zone-999')?.members).toEqual(['n999']);
});
