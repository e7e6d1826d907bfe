import { expect, test } from 'vitest';
import { FlowRecords, HeaderBatch, KEY_WORDS, PacketBatch, STATUS } from '../capture/index.ts';
import { FlowMeter, type FlowMeterOptions } from './flow-meter.ts';
import { parseFlowFields } from './keys/flow-fields.ts';
import { parseFlow } from './keys/flow-key.ts';

const SECRET = new Uint8Array(16).fill(5);

interface Packet {
  readonly source: number;
  readonly bytes: number;
  readonly second: number;
  readonly version?: 4 | 6;
}

/** Batches as a capture's reader would fill them; a packet without a version is not IP. */
function addTo(meter: FlowMeter, packets: readonly Packet[]): void {
  const batch = new PacketBatch(packets.length);
  const headers = new HeaderBatch(packets.length);
  for (const [row, { source, bytes, second, version }] of packets.entries()) {
    headers.status[row] = version === undefined ? STATUS.notIp : STATUS.decoded;
    headers.version[row] = version ?? 0;
    const words = version === 6 ? [0x20010000, 0, 0, source, 0, 0, 0, 1] : [source, 0x7f000001];
    headers.keys.set([...words, (1000 << 16) | 80, ((version ?? 0) << 8) | 6], row * KEY_WORDS);
    headers.ipLength[row] = bytes;
    batch.wireLength[row] = bytes + 14;
    batch.seconds[row] = second;
    batch.nanoseconds[row] = 500_000_000;
  }
  batch.count = packets.length;
  headers.count = packets.length;
  meter.add(batch, headers);
}

function meterOf(options: Partial<FlowMeterOptions> = {}): FlowMeter {
  return new FlowMeter({ secret: SECRET, memory: 2 ** 21, ...options });
}

const PACKETS: Packet[] = [
  { source: 1, bytes: 1000, second: 100, version: 4 },
  { source: 2, bytes: 60, second: 100, version: 4 },
  { source: 2, bytes: 60, second: 101, version: 4 },
  { source: 9, bytes: 9999, second: 101 },
  { source: 3, bytes: 700, second: 102, version: 6 },
];

test('FlowMeter reports bytes and packets of each flow, and leaves out what is not IP', () => {
  const meter = meterOf();
  addTo(meter, PACKETS);
  const report = meter.report();
  expect(report).toMatchObject({ exact: true, completeFrom: 0, flows: 3, bytes: 1820, packets: 4 });
  expect([report.first, report.last]).toEqual([100.5, 102.5]);
  expect(report.top.map(({ flow, bytes, packets }) => [flow.source, bytes.atLeast, packets.atMost])).toEqual([
    ['0.0.0.1', 1000, 1],
    ['2001::3', 700, 1],
    ['0.0.0.2', 120, 2],
  ]);
  expect(meter.report({ top: 1 }).top.length).toBe(1);
  expect(meter.report({ share: 0.3 }).top.length).toBe(2);
  const empty = meterOf().report();
  expect(empty).toMatchObject({ exact: true, flows: 0, first: null, last: null, top: [] });
});

test('by packets, by bytes on the wire, by other fields', () => {
  const byPackets = meterOf({ measure: 'packets' });
  addTo(byPackets, PACKETS);
  expect(byPackets.report().top[0]).toMatchObject({
    flow: { source: '0.0.0.2' },
    bytes: { atLeast: 120, atMost: 120 },
    packets: { atLeast: 2, atMost: 2 },
  });
  const wire = meterOf({ wire: true, fields: parseFlowFields('dport') });
  addTo(wire, PACKETS);
  expect(wire.report()).toMatchObject({ bytes: 1820 + 4 * 14, flows: 1 });
  expect(wire.report().top[0].flow).toEqual({
    source: null,
    destination: null,
    sourcePort: null,
    destinationPort: 80,
    protocol: null,
  });
});

test('intervals are multiples of their length; late packets count where they come', () => {
  const reports: [number, number | null][] = [];
  const meter: FlowMeter = meterOf({
    intervalSeconds: 10,
    onInterval: () => reports.push([meter.report().packets, meter.report().first]),
  });
  const at = (second: number): Packet => ({ source: second, bytes: 100, second, version: 4 });
  addTo(meter, [at(108), at(109), at(110), at(105), at(119)]);
  addTo(meter, [at(150), at(151)]);
  expect(reports).toEqual([
    [2, 108.5],
    [3, 105.5],
  ]);
  expect(meter.report()).toMatchObject({ packets: 2, first: 150.5, last: 151.5, from: 150, to: 160 });
  expect(meterOf().report()).toMatchObject({ from: null, to: null });
});

test('count gives one flow, whether or not it came', () => {
  const meter = meterOf({ fields: parseFlowFields('src/8') });
  addTo(meter, PACKETS);
  expect(meter.count(parseFlow('src=0.0.0.0/8').key)).toEqual({
    bytes: { atLeast: 1120, atMost: 1120 },
    packets: { atLeast: 3, atMost: 3 },
  });
  expect(meter.count(parseFlow('src=10.0.0.0/8').key).bytes).toEqual({ atLeast: 0, atMost: 0 });
});

test('records of flow exports add their sums, multiplied by the sampling', () => {
  const meter = meterOf({ intervalSeconds: 60 });
  const records = new FlowRecords();
  for (const [bytes, sampling] of [
    [5000, 1],
    [700, 10],
    [2 ** 60, 1],
    [Number.NaN, 1],
  ]) {
    const row = records.addRow();
    records.version[row] = 4;
    records.keys.set([7, 8], row * KEY_WORDS);
    records.setTransport(row, 5, 6, 17);
    records.bytes[row] = bytes;
    records.packets[row] = 3;
    records.sampling[row] = sampling;
  }
  expect(meter.addRecords(records, 50)).toBe(2);
  expect(meter.report().top).toMatchObject([
    {
      flow: { source: '0.0.0.7', destination: '0.0.0.8', sourcePort: 5, destinationPort: 6, protocol: 17 },
      bytes: { atLeast: 12_000, atMost: 12_000 },
      packets: { atLeast: 33, atMost: 33 },
    },
  ]);
  // Numbers of an exporter that samples are estimates, also while every flow has an entry.
  expect(meter.report()).toMatchObject({ exact: false, sampledRecords: 1, completeFrom: 0 });
  meter.passTime(59.9);
  expect(meter.report().packets).toBe(33);
  meter.passTime(60);
  expect(meter.report()).toMatchObject({ packets: 0, exact: true, sampledRecords: 0 });
});

test('when the memory is full, the other amount has a lower bound only where the flow came late', () => {
  const meter = meterOf({ width: 1024, depth: 2, memory: 65_536 + 8192 + 65_536 });
  const flood = Array.from({ length: 30_000 }, (_, i) => ({
    source: i,
    bytes: 40,
    second: 1,
    version: 4 as const,
  }));
  addTo(meter, flood);
  addTo(
    meter,
    Array.from({ length: 500 }, () => ({ source: 1e6, bytes: 1500, second: 2, version: 4 as const })),
  );
  const { exact, completeFrom, top } = meter.report({ top: 1 });
  expect(exact).toBe(false);
  expect(completeFrom).toBeGreaterThan(40);
  expect(top[0].flow.source).toBe('0.15.66.64');
  expect(top[0].bytes.atLeast).toBeLessThanOrEqual(750_000);
  expect(top[0].bytes.atMost).toBeGreaterThanOrEqual(750_000);
  expect(top[0].packets.atMost).toBe(Number.POSITIVE_INFINITY);
});
