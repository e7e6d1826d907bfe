/**
 * Queues under the kernel's own TCP: 20 connections of iperf3 and one flow of UDP that does not
 * respond, through our router. bench/queues has the table; here each test asserts the sign of an
 * effect that is many times as large as its noise.
 */

import { Random } from '@bloomery/testkit/statistics';
import { describe, expect, test } from 'vitest';
import type { IpItem } from '../../src/queues/ip-queue.ts';
import { QUEUE_CHOICES, type QueueName } from '../../src/simulation/queue-choices.ts';
import { RealBottleneck, type RealResult, whyNoTun } from './real-bottleneck.ts';
import { drawsFrom, keysFrom } from './test-item.ts';

const why = whyNoTun();
const BITS = 8e6;
const LOAD = { tcpFlows: 20, udpBitsPerSecond: 8e6, seconds: 4, warmUpSeconds: 3 };

async function measure(name: QueueName, ecn: boolean): Promise<RealResult> {
  const random = new Random(1);
  const tools = {
    random: drawsFrom(random),
    nextKey: keysFrom(random),
    packetMs: (8000 * 1400) / BITS,
  };
  const queue = QUEUE_CHOICES[name].make<IpItem>(60, tools);
  await using line = await RealBottleneck.start({ queue, bitsPerSecond: BITS, delayMs: 20, ecn });
  return await line.load(LOAD);
}

describe.skipIf(why !== null)(`real TCP${why === null ? '' : ` (skipped: ${why})`}`, () => {
  test('a flood takes most of a FIFO, and its headroom of a queue of fair rates', async () => {
    const fifo = await measure('fifo', false);
    expect(fifo.udp / fifo.fairShare).toBeGreaterThan(10);
    const rates = await measure('rates', false);
    expect(rates.udp / rates.fairShare).toBeLessThan(2);
    expect(rates.tcp.filter((rate) => rate > 0).length).toBeGreaterThanOrEqual(20);
    expect(rates.udpLoss).toBeGreaterThan(0.5);
  });

  test('stochastic fair Blue tames the flood, and marks connections that asked for ECN', async () => {
    const sfb = await measure('sfb-survey', true);
    expect(sfb.udp / sfb.fairShare).toBeLessThan(8);
    expect(sfb.tcpMarked).toBeGreaterThan(0);
  });
});
