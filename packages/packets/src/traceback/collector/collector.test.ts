import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Random } from '@bloomery/testkit/statistics';
import { afterEach, expect, test } from 'vitest';
import {
  ethernet,
  gre,
  ipv4,
  ipv6,
  join as joined,
  tcp,
  udp,
  VXLAN_HEADER,
} from '../../../test/captures/build-packet.ts';
import { PacketBatch } from '../../capture/packet-batch.ts';
import { LINKTYPE_RAW } from '../digests/one-packet.ts';
import { formsOf } from '../transforms/packet-forms.ts';
import { Collector, type CollectorOptions } from './collector.ts';

const KEY = Uint8Array.from({ length: 16 }, (_, i) => i + 100);
const EVER = { firstS: 0, lastS: 1e12 };
const random = new Random(8);
const folders: string[] = [];

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function open(options: Partial<CollectorOptions> = {}): Collector {
  const folder = mkdtempSync(join(tmpdir(), 'bloomery-collector-'));
  folders.push(folder);
  return Collector.open({ folder, key: KEY, tableBytes: 1 << 14, ...options });
}

/** Gives packets to a collector, one second apart from `timeS` on, or all at once. */
function take(collector: Collector, packets: readonly Uint8Array[], timeS = 100, stepS = 0): void {
  const batch = new PacketBatch(packets.length);
  batch.bytes = joined(...packets);
  batch.view = new DataView(batch.bytes.buffer);
  batch.count = packets.length;
  let at = 0;
  for (const [row, packet] of packets.entries()) {
    batch.offset[row] = at;
    batch.capturedLength[row] = packet.length;
    batch.wireLength[row] = packet.length;
    batch.linkType[row] = LINKTYPE_RAW;
    batch.seconds[row] = timeS + stepS * row;
    at += packet.length;
  }
  collector.take(batch);
}

const udpPacket = (id: number, more: Partial<Parameters<typeof ipv4>[0]> = {}) =>
  ipv4({ protocol: 17, id, ...more }, udp(1000, 53, [...random.bytes(200)]));

test('a packet is found with another TTL, at its time, and another packet is not', async () => {
  const collector = open();
  const packets = Array.from({ length: 300 }, (_, i) => udpPacket(i));
  take(collector, packets, 1000, 1);
  const forwarded = packets[130].slice();
  forwarded[8] = 3;
  const answer = await collector.seen(forwarded, { firstS: 1100, lastS: 1140 });
  expect(answer).toMatchObject({ seen: true, tables: 2, yes: 1, changes: [] });
  expect(answer.sightings[0].firstS).toBeLessThanOrEqual(1130);
  expect(answer.sightings[0].lastS).toBeGreaterThanOrEqual(1130);
  expect((await collector.seen(udpPacket(7), EVER)).seen).toBe(false);
  expect(collector.status).toMatchObject({ digested: 300, cut: 0, coveredFromS: 1000 });
  collector.close();
});

test('on a full disk a collector keeps the newest packets and sources, and says so once', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'bloomery-collector-'));
  folders.push(folder);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=100k', 'tmpfs', folder], { stdio: 'pipe' });
  } catch {
    return context.skip('this user may not mount a small disk');
  }
  try {
    const warnings: string[] = [];
    const options = {
      folder,
      tableBytes: 1 << 12,
      changes: true,
      warn: (message: string) => warnings.push(message),
    };
    let collector = open(options);
    const from = (i: number) => [10, i >> 16, (i >> 8) & 255, i & 255];
    const sent = (i: number) =>
      ipv4({ protocol: 17, id: i & 0xffff, source: from(i) }, udp(i >> 16, 53, [...new Uint8Array(60)]));
    const rounds = 40;
    for (let round = 0; round < rounds; round++) {
      take(
        collector,
        Array.from({ length: 400 }, (_, i) => sent(400 * round + i)),
        30 * round,
      );
      collector.flush();
      // Another program takes the rest of the disk for a while.
      if (round === 10) {
        try {
          writeFileSync(join(folder, 'other'), new Uint8Array(1 << 18));
        } catch {
          // The disk is full, as it should be.
        }
      }
      if (round === 30) rmSync(join(folder, 'other'));
    }
    expect(collector.status.discarded).toBeGreaterThan(5);
    expect(warnings.length).toBeLessThan(10);
    const newest = 400 * rounds - 1;
    const lately = { firstS: 30 * (rounds - 1), lastS: 1e12 };
    for (let restart = 0; restart < 2; restart++) {
      expect((await collector.seen(sent(newest), lately)).seen).toBe(true);
      expect((await collector.source(Uint8Array.from(from(newest)), lately)).seen).toBe(true);
      collector.close();
      collector = open(options);
    }
    collector.close();
  } finally {
    execFileSync('umount', ['-l', folder]);
  }
});

test('a source is found at the times at which it sent, over a restart', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'bloomery-collector-'));
  folders.push(folder);
  let collector = open({ folder });
  // The first source sends all the time, the second once, and one of IPv6 once.
  const steady = Array.from({ length: 400 }, (_, i) => udpPacket(i));
  take(collector, steady, 1000, 0.25);
  take(
    collector,
    [udpPacket(1, { source: [10, 9, 9, 9] }), ipv6(17, udp(1, 2, [...random.bytes(60)]))],
    1050,
  );
  collector.flush();
  collector = open({ folder });
  const since = (firstS: number, lastS = 1e12) => ({ firstS, lastS });
  expect((await collector.source(Uint8Array.of(10, 0, 0, 1), since(1095))).seen).toBe(true);
  expect((await collector.source(Uint8Array.of(10, 9, 9, 9), since(1000))).seen).toBe(true);
  expect((await collector.source(Uint8Array.of(10, 9, 9, 9), since(2000))).tables).toBe(0);
  expect((await collector.source(Uint8Array.of(10, 9, 9, 8), since(1000))).seen).toBe(false);
  const six = Uint8Array.from([0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
  expect((await collector.source(six, since(1000))).seen).toBe(true);
  collector.close();
});

test.each([
  ['UDP', 17, (ports: number) => udp(ports, 53, [1, 2, 3, 4, 5, 6, 7, 8, ...new Uint8Array(60)])],
  ['TCP', 6, (ports: number) => tcp(ports, 80, [...new Uint8Array(60)])],
])('NAT of %s: the later packet leads to the earlier one, over a restart', async (_, protocol, body) => {
  const folder = mkdtempSync(join(tmpdir(), 'bloomery-collector-'));
  folders.push(folder);
  let collector = open({ folder, changes: true });
  const inside = ipv4({ protocol, id: 77, source: [192, 168, 0, 5], ttl: 64 }, body(5000));
  const outside = ipv4({ protocol, id: 77, source: [203, 0, 113, 1], ttl: 63 }, body(61_000));
  const other = ipv4({ protocol, id: 78, source: [192, 168, 0, 6], ttl: 64 }, body(5000));
  take(collector, [inside, other, outside]);
  expect((await collector.seen(inside, EVER)).changes).toEqual([]);
  collector.flush();
  collector = open({ folder, changes: true });
  const { changes } = await collector.seen(outside, EVER);
  expect(changes.map(({ kind }) => kind)).toEqual(['nat']);
  // The earlier form is as good as the packet itself for other collectors.
  const upstream = open();
  take(upstream, [inside]);
  expect((await upstream.seen(changes[0].packet, EVER)).seen).toBe(true);
  expect((await upstream.seen(outside, EVER)).seen).toBe(false);
  expect((await collector.seen(outside, { firstS: 500, lastS: 600 })).changes).toEqual([]);
});

test('NAT of IPv6 is found between packets of any other kind', async () => {
  const collector = open({ changes: true });
  const body = (port: number) => udp(port, 53, [1, 2, 3, 4, 5, 6, 7, 8, ...new Uint8Array(60)]);
  const inside = ipv6(17, body(5000));
  const outside = ipv6(17, body(61_000));
  outside[7] = 63;
  outside[23] = 9;
  const between = [udpPacket(3), ipv4({ protocol: 6, id: 99 }, tcp(7, 8, [...random.bytes(60)]))];
  take(collector, [...between, inside, ...between.map((packet) => packet.slice()), udpPacket(8), outside]);
  const { changes } = await collector.seen(outside, EVER);
  expect(changes.map(({ kind }) => kind)).toEqual(['nat']);
  expect((await collector.seen(changes[0].packet, EVER)).seen).toBe(true);
  expect(collector.status.changes).toBe(1);
});

test('fragments lead to the whole packet, each of them', async () => {
  const collector = open({ changes: true });
  const data = udp(1000, 53, [...random.bytes(2000)]);
  const whole = ipv4({ protocol: 17, id: 9, ttl: 64 }, data);
  const parts = [
    ipv4({ protocol: 17, id: 9, ttl: 63, moreFragments: true }, data.subarray(0, 1480)),
    ipv4({ protocol: 17, id: 9, ttl: 63, fragmentOffset: 185 }, data.subarray(1480)),
  ];
  take(collector, [whole, ...parts]);
  for (const part of parts) {
    const { changes } = await collector.seen(part, EVER);
    expect(changes.map(({ kind }) => kind)).toEqual(['fragment']);
    expect((await collector.seen(changes[0].packet, EVER)).seen).toBe(true);
  }
});

test('a packet that goes in and out unchanged is no change, nor are two packets of one sender', async () => {
  const collector = open({ changes: true });
  const packet = udpPacket(5, { ttl: 64 });
  const after = packet.slice();
  after[8] = 63;
  take(collector, [packet, after, udpPacket(6), udpPacket(6)]);
  expect(collector.status.changes).toBe(0);
});

test.each([
  ['GRE', (inner: Uint8Array) => ipv4({ protocol: 47 }, joined(gre(0, 0x0800), inner))],
  ['IP in IP', (inner: Uint8Array) => ipv4({ protocol: 4 }, inner)],
  [
    'VXLAN',
    (inner: Uint8Array) =>
      ipv4({ protocol: 17 }, udp(9, 4789, joined(VXLAN_HEADER, ethernet(0x0800), inner))),
  ],
])(
  'a collector inside a %s tunnel has seen the packet in it, and the tunnel shows its packet',
  async (_, wrap) => {
    const inner = udpPacket(3, { source: [172, 16, 0, 1] });
    const outer = wrap(inner);
    const collector = open({ tunnels: ['gre', 'ip', 'vxlan'] });
    take(collector, [outer]);
    expect((await collector.seen(inner, EVER)).seen).toBe(true);
    expect((await collector.seen(outer, EVER)).seen).toBe(true);
    const forms = formsOf(outer, 44);
    expect(forms).toEqual([{ kind: 'tunnel', packet: inner }]);
  },
);

test('an ICMP error shows the packet that it quotes, if it quotes enough', () => {
  const dropped = udpPacket(3);
  const error = (bytes: number) =>
    ipv4({ protocol: 1 }, joined([11, 0, 0, 0, 0, 0, 0, 0], dropped.subarray(0, bytes)));
  expect(formsOf(error(200), 44)).toEqual([{ kind: 'icmp', packet: dropped.subarray(0, 200) }]);
  expect(formsOf(error(28), 44)).toEqual([]);
  const ping = ipv4({ protocol: 1 }, joined([8, 0, 0, 0, 0, 0, 0, 0], dropped));
  expect(formsOf(ping, 44)).toEqual([]);
});
