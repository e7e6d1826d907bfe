import { expect, test } from 'vitest';
import { type Segment, TcpSender } from './tcp-sender.ts';

/** Sends all that the window allows. */
function burst(sender: TcpSender, nowMs: number): Segment[] {
  const segments: Segment[] = [];
  for (let one = sender.nextPacket(nowMs); one !== null; one = sender.nextPacket(nowMs)) segments.push(one);
  return segments;
}

test('TcpSender doubles its window every round trip until the first loss', () => {
  const sender = new TcpSender();
  for (const [round, expected] of [10, 20, 40, 80].entries()) {
    const segments = burst(sender, 100 * round);
    expect(segments).toHaveLength(expected);
    for (const segment of segments) sender.acknowledge(segment, false, 100 * round + 99);
  }
  expect(sender.delivered).toBe(150);
});

test('TcpSender halves its window once for several losses of a round trip, and sends them again', () => {
  const sender = new TcpSender();
  const first = burst(sender, 0);
  for (const segment of first) if (segment.sequence > 2) sender.acknowledge(segment, false, 100);
  // The third acknowledgement after the losses halves the window; all others have arrived.
  expect(sender.halvings).toBe(1);
  expect(sender.flying).toBe(0);
  const again = burst(sender, 100);
  expect(again.slice(0, 3).map(({ sequence, isRetransmission }) => [sequence, isRetransmission])).toEqual([
    [0, true],
    [1, true],
    [2, true],
  ]);
  for (const segment of again) sender.acknowledge(segment, false, 200);
  expect(sender.delivered).toBe(Math.max(...again.map(({ sequence }) => sequence)) + 1);
  expect([sender.halvings, sender.timeouts]).toEqual([1, 0]);
});

test('TcpSender notices that a retransmission was lost', () => {
  const sender = new TcpSender();
  for (const segment of burst(sender, 0)) if (segment.sequence > 0) sender.acknowledge(segment, false, 100);
  const again = burst(sender, 100);
  expect(again[0]).toMatchObject({ sequence: 0, isRetransmission: true });
  for (const segment of again.slice(1)) sender.acknowledge(segment, false, 200);
  expect(burst(sender, 200)[0]).toMatchObject({ sequence: 0, isRetransmission: true });
});

test('TcpSender halves its window for marks once per round trip, without a retransmission', () => {
  const sender = new TcpSender();
  const first = burst(sender, 0);
  for (const segment of first) sender.acknowledge(segment, true, 100);
  expect([sender.halvings, Math.floor(sender.window)]).toEqual([1, 5]);
  const second = burst(sender, 100);
  expect(second.every(({ isRetransmission }) => !isRetransmission)).toBe(true);
  for (const segment of second) sender.acknowledge(segment, true, 200);
  expect(sender.halvings).toBe(2);
});

test('TcpSender adds one packet per round trip after a loss', () => {
  const sender = new TcpSender();
  for (const segment of burst(sender, 0)) sender.acknowledge(segment, segment.sequence === 0, 100);
  const before = sender.window;
  for (let round = 1; round <= 8; round++)
    for (const segment of burst(sender, 100 * round)) sender.acknowledge(segment, false, 100 * round + 99);
  expect(sender.window - before).toBeGreaterThan(7);
  expect(sender.window - before).toBeLessThan(9);
});

test('TcpSender times out when nothing is acknowledged, later each time, and starts over', () => {
  const sender = new TcpSender();
  for (const segment of burst(sender, 0)) sender.acknowledge(segment, false, 50);
  burst(sender, 50);
  // 50 ms and four times its variation, half of it and shrinking, are below the least of 200 ms.
  expect(sender.deadlineMs).toBe(250);
  sender.timeOut(250);
  expect([sender.window, sender.flying, sender.deadlineMs]).toEqual([1, 0, 650]);
  const [again] = burst(sender, 250);
  expect(again).toMatchObject({ sequence: 10, isRetransmission: true });
  sender.timeOut(650);
  expect(sender.deadlineMs).toBe(650 + 800);
  const [third] = burst(sender, 650);
  sender.acknowledge(third!, false, 700);
  expect([sender.window, sender.deadlineMs]).toEqual([2, 900]);
});

test('TcpSender has no deadline while nothing is under way', () => {
  const sender = new TcpSender();
  expect(sender.deadlineMs).toBe(Infinity);
});
