import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { TestItem } from '../../test/queues/test-item.ts';
import { FairQueue } from './fair-queue.ts';

test('FairQueue gives flows with packets of different lengths the same bytes', () => {
  const queue = new FairQueue<TestItem>({ limitPackets: 10_000 });
  const lengths = new Map([
    [1, 1500],
    [2, 100],
    [3, 700],
  ]);
  for (const [flow, byteLength] of lengths)
    for (let i = 0; i < 3000; i++) queue.enqueue(new TestItem(flow, { byteLength }));
  const sent = new Map<number, number>();
  for (let bytes = 0; bytes < 600_000; ) {
    const { flow, byteLength } = queue.dequeue()!;
    sent.set(flow, (sent.get(flow) ?? 0) + byteLength);
    bytes += byteLength;
  }
  // Shreedhar and Varghese, theorem 4.3: at most a packet and two quanta apart, with margin.
  const bytes = [...sent.values()];
  expect(Math.max(...bytes) - Math.min(...bytes)).toBeLessThanOrEqual(1500 + 2 * 1514);
});

test('FairQueue drops the packets of the longest queue, and keeps the others', () => {
  const queue = new FairQueue<TestItem>({ limitPackets: 10 });
  const flood = Array.from({ length: 10 }, () => new TestItem(1));
  for (const item of flood) queue.enqueue(item);
  const small = new TestItem(2);
  expect(queue.enqueue(small)).toEqual([flood[0]]);
  expect([queue.length, queue.bytes, queue.flows, queue.drops]).toEqual([10, 10_000, 2, 1]);
  expect([queue.dequeue(), queue.dequeue()]).toEqual([flood[1], small]);
});

test('FairQueue stays within its bytes when one long packet costs many short ones', () => {
  const queue = new FairQueue<TestItem>({ limitBytes: 10_000 });
  for (let i = 0; i < 100; i++) queue.enqueue(new TestItem(1, { byteLength: 100 }));
  expect(queue.enqueue(new TestItem(2, { byteLength: 1500 }))).toHaveLength(15);
  expect(queue.bytes).toBe(10_000);
  const giant = new TestItem(3, { byteLength: 20_000 });
  expect(queue.enqueue(giant)).toEqual([giant]);
});

test('FairQueue forgets flows whose packets were all dropped', () => {
  const queue = new FairQueue<TestItem>({ limitPackets: 10 });
  // A flood in which each packet is a flow of its own, while the link sends nothing.
  for (let flow = 0; flow < 5000; flow++) queue.enqueue(new TestItem(flow));
  expect([queue.length, queue.flows]).toEqual([10, 10]);
  const sent = Array.from({ length: 10 }, () => queue.dequeue()!.flow);
  expect(new Set(sent).size).toBe(10);
  expect([queue.dequeue(), queue.flows]).toEqual([null, 0]);
  // A flow that comes back has a new turn.
  queue.enqueue(new TestItem(3));
  expect(queue.dequeue()?.flow).toBe(3);
});

test('FairQueue loses no packet and invents none', () => {
  const random = new Random(1);
  const queue = new FairQueue<TestItem>({ limitPackets: 50, limitBytes: 30_000 });
  const inside = new Set<TestItem>();
  for (let i = 0; i < 20_000; i++) {
    const item = new TestItem(random.below(12), { byteLength: 40 + random.below(1460) });
    inside.add(item);
    for (const dropped of queue.enqueue(item)) if (!inside.delete(dropped)) expect.fail(`drop ${i}`);
    while (random.below(2) === 0) {
      const next = queue.dequeue();
      if (next === null ? inside.size > 0 : !inside.delete(next)) expect.fail(`packet ${i}`);
      if (next === null) break;
    }
    if (queue.length !== inside.size || queue.length > 50 || queue.bytes > 30_000)
      expect.fail(`${queue.length} packets, ${queue.bytes} bytes, expected ${inside.size}`);
  }
  while (queue.dequeue() !== null);
  expect([queue.length, queue.bytes, queue.flows]).toEqual([0, 0, 0]);
});
