import { VirtualClock } from '@bloomery/testkit/virtual-clock';
import { expect, test } from 'vitest';
import { ipPacket } from '../../test/loops/build-capture.ts';
import { type LinkQueue, type Parcel, QueuedLink } from './queued-link.ts';
import { Router } from './router.ts';

/** A queue of at most three packets, which drops the oldest. */
class Short implements LinkQueue {
  readonly parcels: Parcel[] = [];
  readonly takenMs: number[] = [];

  offer(parcel: Parcel): number {
    this.parcels.push(parcel);
    if (this.parcels.length <= 3) return 0;
    this.parcels.shift();
    return 1;
  }

  take(nowMs: number): Parcel | null {
    const parcel = this.parcels.shift() ?? null;
    if (parcel !== null) this.takenMs.push(nowMs);
    return parcel;
  }
}

const parcelOf = (id: number, length = 1000): Parcel => {
  const packet = new Uint8Array(length).fill(id);
  return { bytes: packet, packet };
};

test('QueuedLink sends at its bandwidth, at computed times even if it is asked late', () => {
  const queue = new Short();
  // 8 Mbit/s are 1000 bytes per millisecond.
  const link = new QueuedLink(queue, 8e6);
  expect(link.nextMs).toBe(Infinity);
  expect([1, 2, 3, 4].map((id) => link.offer(parcelOf(id), 10))).toEqual([0, 0, 0, 0]);
  expect([link.nextMs, link.leave(10.5)]).toEqual([11, null]);
  const left: [number, number][] = [];
  for (let one = link.leave(100); one !== null; one = link.leave(100))
    left.push([one.parcel.packet[0]!, one.atMs]);
  expect(left).toEqual([
    [1, 11],
    [2, 12],
    [3, 13],
    [4, 14],
  ]);
  expect(queue.takenMs).toEqual([10, 11, 12, 13]);
  expect(link.offer(parcelOf(5, 500), 200)).toBe(0);
  expect(link.leave(200.5)?.atMs).toBe(200.5);
  expect(() => new QueuedLink(queue, Infinity)).toThrow('Cannot put a queue before a link');
});

test('Router passes packets through the queue of a port, and counts those that it drops', async () => {
  const clock = new VirtualClock();
  const router = new Router({ clock });
  const arrived: [number, number][] = [];
  const start = clock.monotonic();
  router.attach(
    { send: (packet) => arrived.push([packet[5]!, clock.monotonic() - start]) },
    { delayMs: 20, bitsPerSecond: 8 * 60_000, queue: new Short() },
  );
  router.route('0.0.0.0/0', 0);
  for (const id of [1, 2, 3, 4, 5, 6]) router.receive(0, ipPacket({ id, ttl: 64, timeS: 0 }));
  expect(router.counts.dropped.queue).toBe(2);
  await clock.advance(100);
  // 60 bytes at 60 bytes per millisecond; the first is under way when 2 and 3 are dropped.
  expect(arrived).toEqual([
    [1, 21],
    [4, 22],
    [5, 23],
    [6, 24],
  ]);
  expect(router.counts.sent).toBe(4);
  router.receive(0, ipPacket({ id: 7, ttl: 64, timeS: 0 }));
  router.close();
  await clock.advance(100);
  expect(arrived).toHaveLength(4);
});
