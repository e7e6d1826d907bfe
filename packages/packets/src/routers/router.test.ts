import { VirtualClock } from '@bloomery/testkit/virtual-clock';
import { expect, test } from 'vitest';
import { ipPacket } from '../../test/loops/build-capture.ts';
import { PathShim } from '../loops/path-shim.ts';
import { Router, type RouterOptions } from './router.ts';

test('Router forwards between its ports, records, and counts what it drops', () => {
  const clock = new VirtualClock();
  const recorded: [number, number][] = [];
  const router = new Router({ clock, record: (packet, port) => recorded.push([packet[8]!, port]) });
  const sent: Uint8Array[][] = [[], []];
  for (const out of sent) router.attach({ send: (packet) => out.push(packet.slice()) });
  router.route('10.1.0.0/16', 0);
  router.route('10.77.0.0/16', 1);
  router.receive(0, ipPacket({ id: 1, ttl: 64, timeS: 0 }));
  router.receive(0, ipPacket({ id: 1, ttl: 1, timeS: 0 }));
  router.receive(0, Uint8Array.of(1, 2, 3));
  expect(sent.map((out) => out.length)).toEqual([0, 1]);
  expect(recorded).toEqual([[63, 1]]);
  expect(router.counts).toMatchObject({ received: 3, sent: 1, dropped: { ttl: 1, malformed: 1 } });
  expect(() => router.receive(2, new Uint8Array(20))).toThrow(
    'Cannot use a port: expected a number below 2, got 2',
  );
});

test('Router delays packets, keeps their order, and forgets them when it is closed', async () => {
  const clock = new VirtualClock();
  const router = new Router({ clock });
  const arrived: [number, number][] = [];
  const start = clock.monotonic();
  router.attach(
    { send: (packet) => arrived.push([packet[5]!, clock.monotonic() - start]) },
    { delayMs: 20, bitsPerSecond: 8 * 60_000 },
  );
  router.route('0.0.0.0/0', 0);
  for (const id of [1, 2, 3]) router.receive(0, ipPacket({ id, ttl: 64, timeS: 0 }));
  await clock.advance(100);
  // 60 bytes at 60 bytes per millisecond.
  expect(arrived).toEqual([
    [1, 21],
    [2, 22],
    [3, 23],
  ]);
  router.receive(0, ipPacket({ id: 4, ttl: 64, timeS: 0 }));
  router.close();
  await clock.advance(100);
  expect(arrived).toHaveLength(3);
});

test('Router has one timer per port, also when a packet comes back while others are sent', async () => {
  const clock = new VirtualClock();
  let timers = 0;
  const counted = {
    monotonic: () => clock.monotonic(),
    random: () => clock.random(),
    after(ms: number, run: () => void) {
      timers++;
      return clock.after(ms, run);
    },
  };
  const router = new Router({ clock: counted });
  // The other end of the link sends each packet straight back.
  let sent = 0;
  const port: number = router.attach(
    {
      send: (packet) => {
        sent++;
        router.receive(port, packet.slice());
      },
    },
    { delayMs: 10 },
  );
  router.route('0.0.0.0/0', port);
  router.receive(port, ipPacket({ id: 1, ttl: 40, timeS: 0 }));
  await clock.advance(1000);
  expect([sent, timers]).toEqual([39, 39]);
});

test('Router counts the header between routers as bytes on the link', async () => {
  const clock = new VirtualClock();
  const shim = new PathShim({ node: 'a', bits: 128, hashes: 6, random: () => clock.random() });
  const router = new Router({ clock, shim });
  const arrived: number[] = [];
  const start = clock.monotonic();
  router.attach({ send: () => {} });
  // 60 bytes of the packet and 24 of the header, at 84 bytes per millisecond.
  const out = router.attach(
    { send: () => arrived.push(clock.monotonic() - start) },
    { isRouter: true, bitsPerSecond: 8 * 84_000 },
  );
  router.route('0.0.0.0/0', out);
  for (const id of [1, 2]) router.receive(0, ipPacket({ id, ttl: 64, timeS: 0 }));
  await clock.advance(100);
  expect(arrived).toEqual([1, 2]);
});

test.each([
  ['TTL alone', undefined, 63],
  ['a filter, alarm after 1', 1, 3],
  ['a filter, alarm after 2', 2, 4],
])('three routers that route in a circle: %s', (_, repeats, hops) => {
  const clock = new VirtualClock();
  const names = ['r1', 'r2', 'r3'];
  let datagrams = 0;
  const routers = names.map((node) => {
    const shim =
      repeats === undefined
        ? undefined
        : new PathShim({ node, bits: 64, hashes: 4, repeats, random: () => clock.random() });
    return new Router({ clock, ...(shim && { shim }) } satisfies RouterOptions);
  });
  for (const [i, router] of routers.entries()) {
    router.attach({ send: () => {} });
    const next = routers[(i + 1) % 3]!;
    const send = (bytes: Uint8Array) => {
      datagrams++;
      next.receive(1, bytes.slice());
    };
    router.attach({ send }, { isRouter: true });
    router.route('10.77.0.0/16', 1);
  }
  routers[0]!.receive(0, ipPacket({ id: 1, ttl: 64, timeS: 0 }));
  expect(datagrams).toBe(hops);
  const [reason, other] = repeats === undefined ? (['ttl', 'loop'] as const) : (['loop', 'ttl'] as const);
  const drops = (why: 'ttl' | 'loop') => routers.reduce((sum, { counts }) => sum + counts.dropped[why], 0);
  expect([drops(reason), drops(other)]).toEqual([1, 0]);
});

test('PathShim carries packets unchanged, and refuses bytes without its header', () => {
  const clock = new VirtualClock();
  const shim = (node: string) => new PathShim({ node, bits: 128, hashes: 6, random: () => clock.random() });
  const packet = ipPacket({ id: 1, ttl: 64, timeS: 0 });
  const datagram = shim('a').wrap(packet);
  const start = shim('b').arrive(datagram);
  expect(start).toBe(24);
  expect(datagram.subarray(24)).toEqual(packet);
  expect(shim('a').arrive(datagram)).toBe('loop');
  expect(shim('b').arrive(packet)).toBe('malformed');
  expect(() => new PathShim({ node: 'a', bits: 7, hashes: 2, random: () => 0 })).toThrow('Cannot use bits');
});
