import { expect, test } from 'vitest';
import { EventHash } from './event-hash.ts';

type Event = [timeMs: number, node: number, kind: number];

function hashOf(...events: Event[]): string {
  const hash = new EventHash();
  for (const event of events) hash.add(...event);
  return hash.toString();
}

test('EventHash changes with time, node, kind, order and number of events', () => {
  const events: Event[] = [
    [1.5, 7, 1],
    [2, 8, 2],
  ];
  const hashes = [
    hashOf(...events),
    hashOf(...[...events].reverse()),
    hashOf(...events, [2, 8, 2]),
    hashOf([1.5000000001, 7, 1], events[1]),
    hashOf([1.5, 6, 1], events[1]),
    hashOf([1.5, 7, 2], events[1]),
    // The sum of node and kind is the same.
    hashOf([1.5, 6, 2], events[1]),
    hashOf(),
  ];
  expect(new Set(hashes).size).toBe(hashes.length);
  expect(hashOf(...events)).toBe(hashes[0]);
});

test('EventHash has no collision among 40,000 runs that differ in one small number', () => {
  const hashes = new Set<string>();
  for (let i = 0; i < 10_000; i++) {
    hashes.add(hashOf([i, 1, 1], [5, 5, 1]));
    hashes.add(hashOf([0.5, i, 1], [5, 5, 1]));
    hashes.add(hashOf([0.25 + i / 1024, 3, 2], [5, 5, 1]));
    hashes.add(hashOf([7, 3, 2], [5, 5, 1], [1e9, i, 3]));
  }
  expect(hashes.size).toBe(40_000);
});

test('EventHash is pinned, and does not tell the two zeros apart', () => {
  expect(hashOf([0, 1, 1])).toBe(hashOf([-0, 1, 1]));
  expect(hashOf([0, 0, 0], [1000, 0xffffffff, 3])).toMatchInlineSnapshot(`"9bfcba1ee2d01406"`);
});
