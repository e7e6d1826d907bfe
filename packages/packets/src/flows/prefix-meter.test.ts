import { withEffort } from '@bloomery/testkit/effort';
import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { HeaderBatch, KEY_WORDS, PacketBatch, STATUS } from '../capture/index.ts';
import type { HeavyPrefix } from './heavy-prefixes.ts';
import { PrefixMeter, type PrefixMeterOptions } from './prefix-meter.ts';

interface Packet {
  readonly address: number;
  readonly bytes: number;
  readonly version?: 4 | 6;
}

function meterOf(packets: readonly Packet[], options: Partial<PrefixMeterOptions> = {}): PrefixMeter {
  const meter = new PrefixMeter({ seed: 4n, ...options });
  const [batch, headers] = [new PacketBatch(packets.length), new HeaderBatch(packets.length)];
  for (const [row, { address, bytes, version = 4 }] of packets.entries()) {
    headers.status[row] = STATUS.decoded;
    headers.version[row] = version;
    headers.keys.set([address, address ^ 1], row * KEY_WORDS);
    headers.ipLength[row] = bytes;
    batch.wireLength[row] = bytes + 14;
  }
  headers.count = packets.length;
  meter.add(batch, headers);
  return meter;
}

/** Addresses that cluster: few networks have most of the bytes. */
function traffic(count: number, seed: number): Packet[] {
  const random = new Random(seed);
  const skewed = (limit: number) => Math.floor(limit * (random.below(1 << 16) / 65_536) ** 4);
  return Array.from({ length: count }, () => ({
    address: (skewed(200) * 2 ** 24 + skewed(256) * 2 ** 16 + skewed(256) * 256 + skewed(256)) >>> 0,
    bytes: 40 + random.below(1461),
  }));
}

/** The definition, level by level from the addresses upwards, with a map for each. */
function byDefinition(packets: readonly Packet[], share: number): string[] {
  const total = packets.reduce((sum, { bytes }) => sum + bytes, 0);
  let left = new Map<number, number>();
  for (const { address, bytes } of packets) left.set(address, (left.get(address) ?? 0) + bytes);
  const found: string[] = [];
  for (let length = 32; length >= 0; length--) {
    const next = new Map<number, number>();
    for (const [address, bytes] of left) {
      const isHeavy = bytes >= share * total;
      if (isHeavy) found.push(`${address}/${length} ${bytes}`);
      const size = 2 ** (33 - length);
      const around = address - (address % size);
      next.set(around, (next.get(around) ?? 0) + (isHeavy ? 0 : bytes));
    }
    left = next;
  }
  return found.sort();
}

const named = ({ address, length, aloneAtMost }: HeavyPrefix) => `${address}/${length} ${aloneAtMost}`;

test('PrefixMeter lists the heavy prefixes as they are defined, while it is exact', () => {
  for (const [seed, share] of [
    [1, 0.01],
    [2, 0.05],
    [3, 0.3],
    [4, 1],
  ]) {
    const packets = traffic(withEffort(6000, 2000), seed);
    const report = meterOf(packets).report(share);
    expect(report).toMatchObject({ exact: true, error: 0, ipv6: 0 });
    expect(report.prefixes.map(named).sort()).toEqual(byDefinition(packets, share));
    expect(report.prefixes.length).toBeLessThanOrEqual(1 / share);
  }
});

test('a host and a network of small hosts are listed once, one inside the other', () => {
  const hosts = Array.from({ length: 256 }, (_, i) => ({ address: 0x0a010200 + i, bytes: 10 }));
  const report = meterOf([...hosts, { address: 0x0a010207, bytes: 2000 }]).report(0.3);
  expect(report.total).toBe(4560);
  expect(report.prefixes).toMatchObject([
    { address: 0x0a010200, length: 24, atMost: 4560, aloneAtMost: 2550, depth: 0 },
    { address: 0x0a010207, length: 32, atMost: 2010, aloneAtMost: 2010, depth: 1 },
  ]);
});

test('beyond its exact addresses no prefix outside the list is heavy, and no sum is too low', () => {
  const packets = traffic(withEffort(6000, 3000), 7);
  const total = packets.reduce((sum, { bytes }) => sum + bytes, 0);
  const report = meterOf(packets, { exactAddresses: 300, epsilon: 0.005 }).report(0.02);
  expect(report).toMatchObject({ exact: false, total, error: 0.005 * total, delta: 0.01 });
  let beyond = 0;
  for (const { address, length, atMost } of report.prefixes) {
    const size = 2 ** (32 - length);
    const inside = packets.filter((one) => one.address >= address && one.address < address + size);
    const truth = inside.reduce((sum, { bytes }) => sum + bytes, 0);
    expect(atMost).toBeGreaterThanOrEqual(truth);
    if (atMost > truth + report.error) beyond++;
  }
  expect(beyond).toBeLessThanOrEqual(1 + 0.01 * report.prefixes.length);
  const listed = new Set(report.prefixes.map(({ address, length }) => `${address}/${length}`));
  expect(listed.size).toBeGreaterThan(5);
  // Bytes that are in no listed prefix so far, from the addresses upwards.
  let left = new Map(packets.map(({ address }) => [address, 0]));
  for (const { address, bytes } of packets) left.set(address, left.get(address)! + bytes);
  for (let length = 32; length >= 0; length--) {
    const next = new Map<number, number>();
    for (const [address, bytes] of left) {
      const isListed = listed.has(`${address}/${length}`);
      if (!isListed && bytes >= 0.02 * total) expect.fail(`${address}/${length} with ${bytes} is missing`);
      const around = address - (address % 2 ** (33 - length));
      next.set(around, (next.get(around) ?? 0) + (isListed ? 0 : bytes));
    }
    left = next;
  }
});

test('PrefixMeter counts the other side, packets, bytes on the wire, and IPv6 apart', () => {
  const packets: Packet[] = [
    { address: 4, bytes: 100 },
    { address: 4, bytes: 100 },
    { address: 9, bytes: 50, version: 6 },
  ];
  const of = (options: Partial<PrefixMeterOptions>) => meterOf(packets, options).report(0.5);
  expect(of({ side: 'destination' })).toMatchObject({ prefixes: [{ address: 5, length: 32 }] });
  expect(of({ measure: 'packets' })).toMatchObject({ total: 2, ipv6: 1, measure: 'packets' });
  expect(of({ wire: true })).toMatchObject({ total: 228, ipv6: 64 });
  expect(new PrefixMeter({ seed: 1n }).report(0.1).prefixes).toEqual([]);
  expect(() => of({ exactAddresses: 0 })).toThrow('Cannot use exactAddresses');
  expect(() => meterOf(packets).report(0)).toThrow('expected a share above 0');
});

test('PrefixMeter refuses a share below the error of its sketch, which would list noise', () => {
  const random = new Random(12);
  const packets = Array.from({ length: 20_000 }, () => ({ address: random.bits() >>> 0, bytes: 1000 }));
  const meter = meterOf(packets, { exactAddresses: 1000, epsilon: 0.01 });
  expect(meter.exact).toBe(false);
  expect(meter.report(0.01).prefixes.length).toBeLessThan(300);
  expect(() => meter.report(1e-9)).toThrow(
    'Cannot list prefixes: expected a share of at least 0.01, the error of the sketch, got 1e-9',
  );
  expect(meterOf(packets).report(1e-9).exact).toBe(true);
});
