import { withEffort } from '@bloomery/testkit/effort';
import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import {
  exactCounts,
  keyOfFlow,
  ORDERS,
  SECRET,
  type TestPacket,
  zipfPackets,
} from '../../test/flows/flow-streams.ts';
import { FlowTable, FlowTableError, type FlowTableOptions } from './flow-table.ts';
import { STATE } from './kernel/layout.ts';

const SMALL = { width: 2048, depth: 4, memory: 65_536 + 4 * 4 * 2048 + 131_072 };

function tableOf(options: Partial<FlowTableOptions> = {}): FlowTable {
  return new FlowTable({ secret: SECRET, ...SMALL, ...options });
}

/** Adds packets in batches of random sizes. */
function addAll(table: FlowTable, packets: readonly TestPacket[], seed = 1): void {
  const random = new Random(seed);
  for (let at = 0; at < packets.length; ) {
    const batch = packets.slice(at, at + 1 + random.below(1024));
    let place = 0;
    for (const [i, { flow, bytes }] of batch.entries()) {
      const key = keyOfFlow(flow);
      table.keys.set(key, place);
      place += key.length;
      table.amounts[i] = bytes;
      table.others[i] = 1;
    }
    table.addBatch(batch.length);
    at += batch.length;
  }
}

/** Expects that the bounds hold, and that no flow of the threshold or more is missing. */
function expectSound(table: FlowTable, packets: readonly TestPacket[]): void {
  const truth = exactCounts(packets);
  const listed = table.list();
  for (const { key, atLeast, atMost, other } of listed) {
    const exact = truth.get(key[1])!;
    if (!(atLeast <= exact.bytes && exact.bytes <= atMost && other <= exact.packets)) {
      expect.fail(`flow ${key[1]}: ${atLeast} <= ${exact.bytes} <= ${atMost}, ${other} <= ${exact.packets}`);
    }
    if (atLeast === atMost) expect(other).toBe(exact.packets);
  }
  const found = new Set(listed.map(({ key }) => key[1]));
  for (const [flow, { bytes }] of truth) {
    if (bytes >= table.threshold && !found.has(flow)) expect.fail(`flow ${flow} with ${bytes} is missing`);
    const { atLeast, atMost } = table.count(keyOfFlow(flow));
    if (!(atLeast <= bytes && bytes <= atMost)) expect.fail(`flow ${flow}: ${atLeast}, ${bytes}, ${atMost}`);
  }
  expect(table.total).toBe(packets.reduce((sum, { bytes }) => sum + bytes, 0));
  expect(table.totalOther).toBe(packets.length);
  for (const [i, { atMost }] of listed.entries()) {
    if (i > 0) expect(atMost).toBeLessThanOrEqual(listed[i - 1].atMost);
  }
}

for (const kernel of ['wasm', 'javascript'] as const) {
  test(`${kernel}: exact while the flows fit, in every order`, () => {
    for (const order of ORDERS) {
      const packets = zipfPackets(withEffort(6000, 2000), 900, order, 3);
      const table = tableOf({ kernel });
      addAll(table, packets);
      expect(table.threshold).toBe(0);
      const truth = exactCounts(packets);
      expect(table.size).toBe(truth.size);
      for (const { key, atLeast, atMost, other } of table.list()) {
        expect([atLeast, atMost, other]).toEqual([
          truth.get(key[1])!.bytes,
          truth.get(key[1])!.bytes,
          truth.get(key[1])!.packets,
        ]);
      }
      expect(table.count(keyOfFlow(1_000_000))).toMatchObject({ atLeast: 0, atMost: 0, other: 0 });
    }
  });

  test(`${kernel}: bounds hold in every order when the flows do not fit`, () => {
    for (const order of ORDERS) {
      const packets = zipfPackets(withEffort(24_000, 20_000), 30_000, order, 4);
      const table = tableOf({ kernel });
      addAll(table, packets.slice(0, 10_000));
      expectSound(table, packets.slice(0, 10_000));
      addAll(table, packets.slice(10_000));
      expect(table.threshold).toBeGreaterThan(0);
      expectSound(table, packets);
    }
  });
}

test('both kernels leave the same entries and counters', () => {
  for (const order of ORDERS) {
    const [wasm, script] = (['wasm', 'javascript'] as const).map((kernel) => {
      const table = tableOf({ kernel });
      for (const seed of [1, 2]) {
        addAll(table, zipfPackets(withEffort(16_000, 12_000), 20_000, order, seed), seed);
        if (seed === 1) table.nextInterval();
      }
      return table;
    });
    expect(wasm.threshold).toBeGreaterThan(0);
    expect([wasm.threshold, wasm.size]).toEqual([script.threshold, script.size]);
    expect(wasm.list()).toEqual(script.list());
    // Scratch of the WebAssembly kernel lies below the keys.
    const bytes = ({ keys }: FlowTable) => Buffer.from(keys.buffer, 65_536, SMALL.memory - 65_536);
    expect(bytes(wasm).equals(bytes(script))).toBe(true);
  }
});

test('hostile streams: memory stays, bounds hold, and heavy flows are found', () => {
  const random = new Random(9);
  const streams: Record<string, (i: number) => TestPacket> = {
    'ever new flows': (i) => ({ flow: i, bytes: 40 }),
    'new flows beside a heavy one': (i) => ({ flow: i % 3 === 0 ? 0 : i, bytes: 40 }),
    'all flows equal': (i) => ({ flow: i % 9000, bytes: 40 }),
    'huge packets': (i) => ({ flow: random.below(6000) + (i % 2), bytes: 2 ** 31 + random.below(2 ** 30) }),
  };
  for (const [name, packetAt] of Object.entries(streams)) {
    const packets = Array.from({ length: withEffort(24_000, 20_000) }, (_, i) => packetAt(i));
    const table = tableOf();
    addAll(table, packets);
    expect(table.threshold, name).toBeGreaterThan(0);
    expectSound(table, packets);
  }
});

test('nextInterval keeps heavy flows, whose counts are exact from then on', () => {
  const first = zipfPackets(30_000, 30_000, 'mixed', 5);
  const table = tableOf();
  addAll(table, first);
  expect(table.threshold).toBeGreaterThan(0);
  table.nextInterval();
  expect([table.threshold, table.total, table.totalOther]).toEqual([0, 0, 0]);
  expect(table.list()).toEqual([]);
  expect(table.size).toBeGreaterThan(100);
  // The large flows come last, when the table is full of small ones and the threshold has risen.
  const second = zipfPackets(30_000, 30_000, 'elephants last', 6);
  addAll(table, second);
  expectSound(table, second);
  const forgetful = tableOf();
  addAll(forgetful, second);
  const wide = (one: FlowTable) => one.list(50).filter(({ atLeast, atMost }) => atMost > atLeast).length;
  expect(wide(forgetful)).toBeGreaterThan(10);
  expect(wide(table)).toBe(0);
});

test('bounds hold where all that stays is long: large flows of IPv6, small ones of IPv4', () => {
  // Every seventh flow has a key as of IPv6, which takes twice the room of the others.
  const long = (count: number, start: number, bytes: number) =>
    Array.from({ length: count }, (_, i) => ({ flow: 7 * (start + i) + 6, bytes }));
  const [many, heavy, next] = [long(1600, 0, 1000), long(1000, 5000, 2000), long(2000, 9000, 900)];
  const table = tableOf();
  const state = new Uint32Array(table.keys.buffer);
  addAll(table, [...many, ...heavy]);
  expectSound(table, [...many, ...heavy]);
  expect(table.size).toBeGreaterThanOrEqual(1000);
  table.nextInterval();
  const packets = next.flatMap((packet, i) => [packet, { flow: 7 * i, bytes: 40 }]);
  for (let at = 0; at < packets.length; at += 10) {
    addAll(table, packets.slice(at, at + 10));
    // Entries end before the bounds that lie behind them.
    expect(state[STATE.used / 4]).toBeLessThanOrEqual(state[STATE.arenaBytes / 4]);
  }
  expect(table.threshold).toBeGreaterThan(0);
  expectSound(table, packets);
});

test('list: the largest, above a bar, equal ones in the order of their keys', () => {
  const packets = zipfPackets(5000, 900, 'mixed', 7);
  const table = tableOf();
  addAll(table, packets);
  const all = table.list();
  expect(table.list(10)).toEqual(all.slice(0, 10));
  expect(table.list(10, all[4].atMost)).toEqual(all.slice(0, 5));
  expect(table.list(0)).toEqual([]);
  const again = tableOf();
  addAll(again, packets.toReversed());
  expect(again.list()).toEqual(all);
});

test('another secret gives the same answers from other places', () => {
  const packets = zipfPackets(4000, 900, 'mixed', 8);
  const [a, b] = [SECRET, SECRET.map((byte) => byte ^ 1)].map((secret) => {
    const table = tableOf({ secret });
    addAll(table, packets);
    return table;
  });
  expect(a.list()).toEqual(b.list());
});

test('an exact table throws when its memory is full, and until then it is exact', () => {
  const packets = zipfPackets(20_000, 30_000, 'mixed', 4);
  const table = tableOf({ exact: true });
  expect(() => addAll(table, packets)).toThrow(FlowTableError);
  expect(table.threshold).toBe(0);
});

test('wrong options are refused', () => {
  expect(() => tableOf({ memory: 1000 })).toThrow(/Cannot use memory: expected a whole number from/);
  expect(() => tableOf({ secret: new Uint8Array(8) })).toThrow(/Cannot use secret: expected 16 bytes, got 8/);
  expect(() => tableOf({ depth: 9 })).toThrow(/Cannot use depth/);
  expect(() => tableOf().addBatch(1025)).toThrow(/Cannot use count/);
});
