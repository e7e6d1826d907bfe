import { hashKey } from 'bloomery';
import { expect, test } from 'vitest';
import type { Registration } from '../wire/owner-message.ts';
import { MOST_MEMBER_KEYS, OwnerRecords } from './owner-records.ts';

const view = hashKey('view');
const [one, two] = [hashKey('one'), hashKey('two')];
const LEASE_MS = 1000;

function message(some: Partial<Registration>): Registration {
  return { kind: 'changes', boot: 1, base: 1, number: 2, view, added: [], removed: [], ...some };
}

function records(): OwnerRecords {
  const owner = new OwnerRecords(LEASE_MS);
  expect(owner.take('a', message({ kind: 'state', base: 0, number: 1, added: [one] }), 0)).toBe(true);
  return owner;
}

test('OwnerRecords follows a member by states and changes', () => {
  const owner = records();
  expect(owner.take('a', message({ added: [two], removed: [one] }), 10)).toBe(true);
  expect([owner.holders(one), owner.holders(two), owner.size]).toEqual([[], ['a'], 1]);
  // The same message again changes nothing; one that leaves a gap is refused.
  expect(owner.take('a', message({ added: [two], removed: [one] }), 20)).toBe(true);
  expect(owner.take('a', message({ base: 5, number: 6, added: [one] }), 30)).toBe(false);
  expect(owner.holders(one)).toEqual([]);
  expect(owner.take('b', message({ kind: 'state', added: [two] }), 40)).toBe(true);
  expect(owner.holders(two)).toEqual(['a', 'b']);
  owner.forget('a');
  expect([owner.holders(two), owner.known()]).toEqual([['b'], ['b']]);
});

test('OwnerRecords is complete while all members were heard under the view', () => {
  const owner = records();
  expect(owner.isComplete(['a'], view, 500)).toBe(true);
  expect(owner.isComplete(['a', 'b'], view, 500)).toBe(false);
  expect(owner.isComplete(['a'], hashKey('another view'), 500)).toBe(false);
  expect(owner.isComplete(['a'], view, LEASE_MS + 1)).toBe(false);
  expect(owner.take('a', message({ base: 1, number: 1 }), LEASE_MS + 5)).toBe(true);
  expect(owner.isComplete(['a'], view, LEASE_MS + 6)).toBe(true);
});

test('late messages do not renew the lease, and those of an earlier life are refused', () => {
  const owner = records();
  expect(owner.take('a', message({ added: [two] }), 900)).toBe(true);
  expect(owner.take('a', message({ base: 1, number: 1 }), 1800)).toBe(false);
  expect(owner.isComplete(['a'], view, 1901)).toBe(false);
  expect(owner.take('a', message({ kind: 'state', boot: 0, added: [] }), 1850)).toBe(false);
  expect(owner.holders(one)).toEqual(['a']);
  // A member whose clock was set back is believed when the lease is over.
  expect(owner.take('a', message({ kind: 'state', boot: 0, number: 1, added: [two] }), 2000)).toBe(true);
  expect([owner.holders(one), owner.holders(two)]).toEqual([[], ['a']]);
});

test('an old state that comes late is no new one, after the member has left and returned', () => {
  const owner = records();
  expect(owner.take('a', message({ added: [two] }), 10)).toBe(true);
  owner.forget('a');
  expect([owner.known(), owner.holders(one)]).toEqual([[], []]);
  // The first message of the member again: it lacks the key that was confirmed by the second.
  expect(owner.take('a', message({ kind: 'state', base: 0, number: 1, added: [one] }), 20)).toBe(false);
  expect(owner.take('a', message({ base: 2, number: 3 }), 30)).toBe(false);
  expect(owner.isComplete(['a'], view, 30)).toBe(false);
  expect(owner.take('a', message({ kind: 'state', number: 4, added: [one, two] }), 40)).toBe(true);
  expect([owner.known(), owner.holders(two)]).toEqual([['a'], ['a']]);
});

test('a member with more keys than the limit is refused, and nothing is complete then', () => {
  const owner = records();
  const many = Array.from({ length: MOST_MEMBER_KEYS + 1 }, () => one);
  expect(owner.take('a', message({ kind: 'state', number: 2, added: many }), 10)).toBe(false);
  expect(owner.take('a', message({ added: many.slice(1) }), 10)).toBe(false);
  expect(owner.take('a', message({ added: many.slice(2) }), 10)).toBe(true);
});

test('changes of a member that is not known are refused, so that it sends its state', () => {
  expect(new OwnerRecords(LEASE_MS).take('a', message({ added: [one] }), 0)).toBe(false);
});
