import { expectBinomial, Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { drawsFrom, keysFrom, TestItem } from '../../../test/queues/test-item.ts';
import { FairRateQueue } from './fair-rate-queue.ts';

/** A link of 1000 packets per second. Each millisecond `send` names the flows that send one. */
function serve(
  queue: FairRateQueue<TestItem>,
  ms: number,
  send: (nowMs: number) => readonly number[],
  { isEcnCapable = false, fromMs = 0 } = {},
): Map<number, number> {
  const served = new Map<number, number>();
  for (let nowMs = fromMs; nowMs < fromMs + ms; nowMs++) {
    for (const flow of send(nowMs)) queue.enqueue(new TestItem(flow, { isEcnCapable }), nowMs);
    const item = queue.dequeue();
    if (item !== null) served.set(item.flow, (served.get(item.flow) ?? 0) + 1);
  }
  return served;
}

function newQueue(seed: number, options = {}): FairRateQueue<TestItem> {
  const random = new Random(seed);
  return new FairRateQueue<TestItem>({
    packetsPerSecond: 1000,
    busyPackets: 10,
    limitPackets: 100,
    random: drawsFrom(random),
    nextKey: keysFrom(random),
    ...options,
  });
}

/** Flow 0 sends a packet each millisecond, flows 1 to 10 one every ten. */
const flood = (nowMs: number) => [0, 1 + (nowMs % 10)];

test('FairRateQueue leaves a flood its headroom, and the others all that they send', () => {
  const served = serve(newQueue(1), 20_000, flood);
  // Eleven flows: a fair part is 91 packets per second, and the flood may have 1.3 of it. The
  // others send 100 each, 1.1 fair parts. What they leave of the link (none) goes to no flow.
  const fair = 20_000 / 11;
  expect(served.get(0)! / fair).toBeLessThan(1.6);
  for (let flow = 1; flow <= 10; flow++)
    expect(served.get(flow)! / fair, `flow ${flow}`).toBeGreaterThan(0.9);
});

test('FairRateQueue lets a flow have what the others leave', () => {
  const queue = newQueue(2);
  // Ten flows send 10 packets per second each, and flow 0 sends 890: the link is not full.
  const served = serve(queue, 10_000, (nowMs) => (nowMs % 100 < 10 ? [1 + (nowMs % 100)] : [0]));
  expect(served.get(0)).toBe(9000);
  expect(queue.stats).toEqual({ earlydrop: 0, queuedrop: 0, marked: 0 });
});

test('FairRateQueue marks a flow that understands marks, up to twice its part, and drops beyond', () => {
  const marking = newQueue(3);
  // Two flows of 900 packets per second: 1.8 fair parts each, so 1 - 1.3/1.8 are hit.
  const two = (nowMs: number) => (nowMs % 10 === 0 ? [] : [1, 2]);
  serve(marking, 2000, two, { isEcnCapable: true });
  const before = marking.stats;
  serve(marking, 20_000, two, { isEcnCapable: true, fromMs: 2000 });
  const { marked, earlydrop } = marking.stats;
  expectBinomial(marked - before.marked, 2 * 18_000, 1 - 1.3 / 1.8, 'marked packets');
  expect(earlydrop).toBe(0);
  const dropping = newQueue(4);
  serve(dropping, 5000, flood, { isEcnCapable: true });
  expect(dropping.stats.earlydrop).toBeGreaterThan(1000);
});

test('FairRateQueue keeps its judgement when the hash function moves', () => {
  const queue = newQueue(5, { rehashMs: 5000 });
  serve(queue, 4900, flood);
  // The change is at 5000 ms; new bins that had not learned would let the flood pass.
  const served = serve(queue, 400, flood, { fromMs: 4900 });
  expect(served.get(0)).toBeLessThan(100);
});

test('FairRateQueue forgets rates in a quiet time, and refuses options that make no queue', () => {
  const queue = newQueue(6);
  serve(queue, 2000, flood);
  while (queue.dequeue() !== null);
  const before = queue.stats.earlydrop;
  // Nothing is known any more an hour later, so a burst of the flood is queued.
  for (let i = 0; i < 50; i++) queue.enqueue(new TestItem(0), 3_600_000);
  expect([queue.stats.earlydrop - before, queue.length]).toEqual([0, 50]);
  for (const options of [
    { headroom: 0.5 },
    { bins: 2 ** 21 },
    { levels: 0 },
    { packetsPerSecond: 0 },
    { intervalMs: 0 },
    { limitPackets: 0 },
  ])
    expect(() => newQueue(1, options), JSON.stringify(options)).toThrow(RangeError);
});
