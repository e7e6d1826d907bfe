import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { EventHeap } from './event-heap.ts';

/** The labels of all events that wait, in the order in which the heap gives them out. */
function drain(heap: EventHeap): number[] {
  const labels: number[] = [];
  while (heap.nextMs() < Infinity) {
    heap.pop();
    labels.push(heap.owner);
  }
  return labels;
}

test('EventHeap gives events out by time, and those of one time in the order they came in', () => {
  const heap = new EventHeap();
  const times = [5, 1, 5, 0, 1, 5];
  times.forEach((timeMs, i) => void heap.push(timeMs, i, 0, () => {}));
  expect(heap.nextMs()).toBe(0);
  expect(drain(heap)).toEqual([3, 1, 4, 0, 2, 5]);
  expect([heap.size, heap.nextMs()]).toEqual([0, Infinity]);
});

test('EventHeap hands out the fields of each event', () => {
  const heap = new EventHeap();
  let ran = '';
  heap.push(2, 7, 3, () => (ran += 'late'));
  heap.push(1, 8, 1, () => (ran += 'early, '));
  heap.nextMs();
  heap.pop();
  expect([heap.timeMs, heap.owner, heap.kind]).toEqual([1, 8, 1]);
  heap.run();
  heap.nextMs();
  heap.pop();
  expect([heap.timeMs, heap.owner, heap.kind]).toEqual([2, 7, 3]);
  heap.run();
  expect(ran).toBe('early, late');
});

test('EventHeap agrees with a sorted list over 6,000 random additions, removals and cancellations', () => {
  const random = new Random(11);
  const heap = new EventHeap();
  let model: { timeMs: number; label: number; slot: number; order: number }[] = [];
  const first = () =>
    model.reduce((a, b) => (b.timeMs < a.timeMs || (b.timeMs === a.timeMs && b.label < a.label) ? b : a));
  for (let label = 0; label < 6000; label++) {
    const choice = random.below(10);
    if (choice < 5 || model.length === 0) {
      // Few different times, so that many are equal.
      const timeMs = random.below(50);
      const slot = heap.push(timeMs, label, 0, () => {});
      model.push({ timeMs, label, slot, order: heap.orderOf(slot) });
    } else if (choice < 8) {
      const { slot, order, label: gone } = model[random.below(model.length)];
      heap.cancel(slot, order);
      heap.cancel(slot, order);
      model = model.filter((each) => each.label !== gone);
    } else {
      const { timeMs, label: next } = first();
      expect(heap.nextMs()).toBe(timeMs);
      heap.pop();
      expect(heap.owner).toBe(next);
      model = model.filter((each) => each.label !== next);
    }
    expect(heap.size).toBe(model.length);
  }
  const rest = [...model].sort((a, b) => a.timeMs - b.timeMs || a.label - b.label);
  expect(drain(heap)).toEqual(rest.map(({ label }) => label));
});

test('EventHeap does not cancel the successor of an event in the same slot', () => {
  const heap = new EventHeap();
  const slot = heap.push(1, 1, 0, () => {});
  const order = heap.orderOf(slot);
  heap.nextMs();
  heap.pop();
  expect(heap.push(2, 2, 0, () => {})).toBe(slot);
  heap.cancel(slot, order);
  expect(drain(heap)).toEqual([2]);
});

test('EventHeap uses slots again when events are always cancelled', () => {
  const heap = new EventHeap();
  heap.push(1e9, 0, 0, () => {});
  let highest = 0;
  for (let i = 0; i < 10_000; i++) {
    const slot = heap.push(1e6 + i, 1, 0, () => {});
    highest = Math.max(highest, slot);
    heap.cancel(slot, heap.orderOf(slot));
  }
  // A rebuild comes when 64 are cancelled, and more than half of all.
  expect(highest).toBeLessThan(70);
  expect(drain(heap)).toEqual([0]);
});

test('EventHeap cancels all events of one owner', () => {
  const heap = new EventHeap();
  for (let i = 0; i < 3000; i++) heap.push(i % 7, i % 3, 0, () => {});
  heap.cancelOwner(1);
  expect(heap.size).toBe(2000);
  expect(new Set(drain(heap))).toEqual(new Set([0, 2]));
});

test('EventHeap gives the events of a batch out one by one, before later ones of the same time', () => {
  const heap = new EventHeap();
  const ran: string[] = [];
  const cancelled = new Set<number>();
  const batchOf = (name: string, owners: readonly number[]) => ({
    length: owners.length,
    ownerOf: (index: number) => owners[index],
    isCancelled: (index: number) => cancelled.has(owners[index]),
    run: (index: number) => void ran.push(`${name} ${index}`),
  });
  heap.push(5, 1, 0, () => void ran.push('before'));
  heap.pushBatch(5, 2, batchOf('first', [10, 11, 12, 13]));
  heap.pushBatch(5, 2, batchOf('second', [11, 20, 11]));
  heap.pushBatch(5, 2, batchOf('none', []));
  heap.push(5, 2, 0, () => void ran.push('after'));
  heap.push(4, 3, 0, () => void ran.push('earlier'));
  expect(heap.size).toBe(10);
  const owners: number[] = [];
  while (heap.nextMs() < Infinity) {
    heap.pop();
    expect(heap.kind).toBe(heap.owner >= 10 ? 2 : 0);
    owners.push(heap.owner);
    heap.run();
    // An event of the batch adds another one of the same time, and ends the program of two nodes.
    if (heap.owner !== 10) continue;
    heap.push(5, 4, 0, () => void ran.push('added'));
    cancelled.add(11);
  }
  expect(owners).toEqual([3, 1, 10, 12, 13, 20, 2, 4]);
  expect(ran).toEqual(['earlier', 'before', 'first 0', 'first 2', 'first 3', 'second 1', 'after', 'added']);
  expect(heap.size).toBe(0);
});
