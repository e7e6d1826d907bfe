import { expectNormal, Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { drawsFrom, TestItem } from '../../test/queues/test-item.ts';
import { FifoQueue } from './fifo-queue.ts';
import { RedQueue } from './red-queue.ts';

const options = { minimum: 5, maximum: 15, packetMs: 1, limitPackets: 100 };

test('FifoQueue drops at its tail, by packets and by bytes', () => {
  const queue = new FifoQueue<TestItem>({ limitPackets: 3, limitBytes: 2500 });
  const items = [900, 900, 900, 500, 100].map((byteLength, i) => new TestItem(i, { byteLength }));
  expect(items.map((item) => queue.enqueue(item).length)).toEqual([0, 0, 1, 0, 1]);
  expect([queue.length, queue.bytes, queue.drops]).toEqual([3, 2300, 2]);
  expect([queue.dequeue(), queue.dequeue(), queue.dequeue(), queue.dequeue()]).toEqual([
    items[0],
    items[1],
    items[3],
    null,
  ]);
  for (const limits of [{}, { limitPackets: 0 }, { limitBytes: Number.NaN }])
    expect(() => new FifoQueue(limits)).toThrow('Cannot make a queue');
});

test('RedQueue marks nothing below its minimum, and everything far above its maximum', () => {
  const random = drawsFrom(new Random(1));
  const low = new RedQueue<TestItem>({ ...options, random });
  for (let i = 0; i < 4; i++) low.enqueue(new TestItem(1), 0);
  for (let i = 0; i < 5000; i++) {
    low.enqueue(new TestItem(1), i);
    low.dequeue(i);
  }
  expect(low.stats).toEqual({ earlydrop: 0, queuedrop: 0, marked: 0 });
  const high = new RedQueue<TestItem>({ ...options, random, weight: 1 });
  for (let i = 0; i < 31; i++) high.enqueue(new TestItem(1, { isEcnCapable: true }), 0);
  const before = high.stats.marked;
  for (let i = 0; i < 20; i++) high.enqueue(new TestItem(1, { isEcnCapable: true }), 0);
  expect(high.stats.marked - before).toBe(20);
});

test('RedQueue drops the share that its average says, evenly spread', () => {
  const random = drawsFrom(new Random(2));
  const queue = new RedQueue<TestItem>({ ...options, random });
  // A weight of 0.002 and a length that stays at 10, the middle: base probability 0.05.
  while (queue.length < 10) queue.enqueue(new TestItem(1, { isEcnCapable: true }), 0);
  for (let i = 0; i < 6000; i++) {
    queue.enqueue(new TestItem(1, { isEcnCapable: true }), 0);
    queue.dequeue(0);
  }
  const start = queue.stats.marked;
  const packets = 20_000;
  for (let i = 0; i < packets; i++) {
    queue.enqueue(new TestItem(1, { isEcnCapable: true }), 0);
    queue.dequeue(0);
  }
  expect(queue.average).toBeGreaterThan(9.9);
  // The gaps are uniform from 1 to 1/p - 1 packets, because the probability after n packets is
  // p/(1 - np), which is 1 at the last of them (Floyd and Jacobson, section 4).
  const most = 19;
  const gap = (most + 1) / 2;
  const marks = packets / gap;
  const deviation = Math.sqrt((packets * (most ** 2 - 1)) / 12 / gap ** 3);
  expectNormal(queue.stats.marked - start, marks, deviation, 'marks');
});

test('RedQueue forgets its average while the link is idle', () => {
  const queue = new RedQueue<TestItem>({ ...options, random: () => 0.99, weight: 0.1 });
  for (let i = 0; i < 30; i++) queue.enqueue(new TestItem(1, { isEcnCapable: true }), 0);
  while (queue.dequeue(0) !== null);
  const before = queue.average;
  queue.enqueue(new TestItem(1), 10);
  // Ten packet times of idling, and one packet that finds an empty queue: eleven times 0.9.
  expect(queue.average).toBeCloseTo(before * 0.9 ** 11, 10); // a product of doubles
  expect(() => new RedQueue({ ...options, maximum: 4, random: () => 0 })).toThrow('Cannot make a RED queue');
});
