import { expect, test } from 'vitest';
import { ethernet, ipv4, join, udp } from '../../../test/captures/build-packet.ts';
import { formatAddress } from '../headers/flow-key.ts';
import { KEY_WORDS } from '../headers/header-batch.ts';
import { ExportDecoder } from './export-decoder.ts';
import { FlowRecords } from './flow-records.ts';

const u16 = (...values: number[]) => values.flatMap((value) => [value >>> 8, value & 255]);
const u32 = (...values: number[]) => values.flatMap((value) => u16(value >>> 16, value & 0xffff));

/** A set of NetFlow 9 or IPFIX. */
const set = (id: number, body: readonly number[]) => [...u16(id, body.length + 4), ...body];

const netflow9 = (...sets: number[][]) =>
  Uint8Array.from([...u16(9, sets.length), ...u32(100_000, 1_700_000_000, 1, 7), ...sets.flat()]);

const ipfix = (...sets: number[][]) => {
  const body = sets.flat();
  return Uint8Array.from([...u16(10, 16 + body.length), ...u32(1_700_000_000, 1, 7), ...body]);
};

/** Source, destination, ports, protocol, bytes, packets, first and last packet. */
const FIELDS = [8, 4, 12, 4, 7, 2, 11, 2, 4, 1, 1, 4, 2, 4, 22, 4, 21, 4];
const TEMPLATE = [...u16(258, FIELDS.length / 2), ...u16(...FIELDS)];
const RECORD = [...u32(0x0a000001, 0x0a000002), ...u16(1234, 80), 6, ...u32(5000, 10, 90_000, 99_000)];

/** Records of a batch as text. */
function textOf(records: FlowRecords): string[] {
  return Array.from({ length: records.count }, (_, row) => {
    const version = records.version[row] === 4 ? 4 : 6;
    const words = version === 4 ? 1 : 4;
    const at = row * KEY_WORDS;
    const ports = records.keys[at + 2 * words];
    const addresses = `${formatAddress(version, records.keys, at)} ${formatAddress(version, records.keys, at + words)}`;
    const protocol = records.keys[at + 2 * words + 1] & 255;
    return `${addresses} ${ports >>> 16} ${ports & 0xffff} ${protocol}: ${records.bytes[row]} ${records.packets[row]} x${records.sampling[row]}`;
  });
}

const FLOW = '10.0.0.1 10.0.0.2 1234 80 6: 5000 10 x1';

/** Decodes datagrams of one exporter and returns all records. */
function decodeAll(decoder: ExportDecoder, ...datagrams: Uint8Array[]): string[] {
  const records = new FlowRecords();
  return datagrams.flatMap((datagram) => {
    decoder.decode(datagram, 'router', records);
    return textOf(records);
  });
}

test('ExportDecoder reads NetFlow 5 with its sampling rate and times', () => {
  const record = [
    ...u32(0x0a000001, 0x0a000002, 0, 0, 10, 5000, 90_000, 99_000),
    ...u16(1234, 80),
    ...[0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0],
  ];
  const head = [...u16(5, 1), ...u32(100_000, 1_700_000_000, 500_000_000, 1), 0, 0, ...u16(0x4000 + 100)];
  const records = new FlowRecords();
  const decoder = new ExportDecoder();
  decoder.decode(Uint8Array.from([...head, ...record]), 'router', records);
  expect(textOf(records)).toEqual(['10.0.0.1 10.0.0.2 1234 80 6: 5000 10 x100']);
  expect(records.startMs[0]).toBe(1_700_000_000_500 - 10_000);
  expect(records.endMs[0]).toBe(1_700_000_000_500 - 1000);
});

test('ExportDecoder waits for a template, and reads the data that come after it', () => {
  const decoder = new ExportDecoder();
  expect(decodeAll(decoder, netflow9(set(258, RECORD)), netflow9(set(258, RECORD)))).toEqual([]);
  expect(decoder.waiting).toEqual([{ exporter: 'router', domain: 7, template: 258, sets: 2 }]);
  const later = [...RECORD, ...RECORD, 0, 0, 0];
  expect(decodeAll(decoder, netflow9(set(0, TEMPLATE), set(258, later)))).toEqual([FLOW, FLOW]);
  expect(decoder.waiting).toEqual([]);
  expect(decodeAll(decoder, netflow9(set(258, RECORD)))).toEqual([FLOW]);
});

test('ExportDecoder keeps the templates of exporters and domains apart', () => {
  const decoder = new ExportDecoder();
  const records = new FlowRecords();
  decoder.decode(netflow9(set(0, TEMPLATE)), 'router', records);
  decoder.decode(netflow9(set(258, RECORD)), 'switch', records);
  expect(records.count).toBe(0);
  expect(decoder.waiting).toEqual([{ exporter: 'switch', domain: 7, template: 258, sets: 1 }]);
});

test('ExportDecoder takes sampling rates from options of NetFlow 9 and IPFIX', () => {
  // NetFlow 9: scope "system", then sampler 3 with one in 500.
  const options9 = [...u16(300, 4, 8), ...u16(1, 4, 48, 1, 50, 4)];
  const sampled = [...u16(259, FIELDS.length / 2 + 1), ...u16(...FIELDS, 48, 1)];
  const decoder = new ExportDecoder();
  const datagram = netflow9(
    set(1, options9),
    set(300, [...u32(0), 3, ...u32(500)]),
    set(0, sampled),
    set(259, [...RECORD, 3]),
  );
  expect(decodeAll(decoder, datagram)).toEqual(['10.0.0.1 10.0.0.2 1234 80 6: 5000 10 x500']);
  expect(decoder.counts).toMatchObject({ records: 1, options: 1 });
  // IPFIX: selector 0 takes 1 packet and leaves out 99.
  const options10 = [...u16(301, 3, 1), ...u16(302, 1, 305, 4, 306, 4)];
  const fields = FIELDS.with(14, 152).with(15, 8).with(16, 153).with(17, 8);
  const times = [0, 0, 1, 0x8b, 0xcf, 0xe5, 0x68, 0, 0, 0, 1, 0x8b, 0xcf, 0xe5, 0x6b, 0xe8];
  const message = ipfix(
    set(3, options10),
    set(301, [0, ...u32(1, 99)]),
    set(2, [...u16(260, fields.length / 2), ...u16(...fields)]),
    set(260, [...RECORD.slice(0, 21), ...times]),
  );
  const records = new FlowRecords();
  decoder.decode(message, 'router', records);
  expect(textOf(records)).toEqual(['10.0.0.1 10.0.0.2 1234 80 6: 5000 10 x100']);
  expect([records.startMs[0], records.endMs[0]]).toEqual([1_700_000_000_000, 1_700_000_001_000]);
});

test('ExportDecoder reads IPFIX fields of variable length, of enterprises, and short counters', () => {
  const fields = [
    ...u16(400, 7),
    ...u16(0x8000 + 12, 0xffff),
    ...u32(29_305),
    ...u16(27, 16, 28, 16, 4, 1, 139, 2, 1, 3, 2, 1),
  ];
  const v6 = (last: number) => [0x20, 1, 0x0d, 0xb8, ...new Array(11).fill(0), last];
  const record = (name: number[]) => [...name, ...v6(1), ...v6(2), 58, ...u16(0x8000), 1, 0, 0, 200];
  const decoder = new ExportDecoder();
  const records = decodeAll(
    decoder,
    ipfix(set(2, fields), set(400, [...record([2, 65, 66]), ...record([255, 0, 1, 65]), ...record([0])])),
  );
  expect(records).toEqual(new Array(3).fill('2001:db8::1 2001:db8::2 0 32768 58: 65536 200 x1'));
});

test('ExportDecoder forgets withdrawn templates of IPFIX', () => {
  const decoder = new ExportDecoder();
  const fields = [...u16(500, 2), ...u16(8, 4, 12, 4)];
  decodeAll(decoder, ipfix(set(2, fields)));
  expect(decodeAll(decoder, ipfix(set(500, u32(1, 2))))).toHaveLength(1);
  decodeAll(decoder, ipfix(set(2, u16(500, 0))));
  expect(decodeAll(decoder, ipfix(set(500, u32(1, 2))))).toEqual([]);
});

test('ExportDecoder reads samples of sFlow 5: raw headers and addresses', () => {
  const header = join(ethernet(0x0800), ipv4({ protocol: 17 }, udp(1000, 53, [1, 2])), [0, 0, 0]);
  const padding = new Array((4 - (header.length % 4)) % 4).fill(0);
  const raw = [
    ...u32(1, 16 + header.length + padding.length, 1, 1518, 4, header.length),
    ...header,
    ...padding,
  ];
  const addresses = [...u32(3, 32, 900, 6, 0xc0000201, 0xc0000202, 50_000, 443, 0, 0)];
  const sample = [...u32(1, 32 + raw.length), ...u32(1, 1, 256, 0, 0, 1, 2, 1), ...raw];
  const expanded = [
    ...u32(3, 44 + addresses.length),
    ...u32(1, 0, 1, 512, 0, 0, 0, 1, 0, 2, 1),
    ...addresses,
  ];
  const counters = u32(2, 8, 0, 0);
  const head = u32(5, 1, 0xc0000301, 0, 1, 1000, 3);
  const decoder = new ExportDecoder();
  expect(decodeAll(decoder, Uint8Array.from([...head, ...sample, ...counters, ...expanded]))).toEqual([
    '10.0.0.1 10.0.0.2 1000 53 17: 30 1 x256',
    '192.0.2.1 192.0.2.2 50000 443 6: 900 1 x512',
  ]);
  expect(decoder.counts).toMatchObject({ records: 2, otherSamples: 1 });
  // A header that says it is longer than its record, and a sample longer than the datagram.
  const records = new FlowRecords();
  for (const place of [28 + 8 + 32 + 8 + 12, 28 + 4]) {
    const damaged = Uint8Array.from([...head, ...sample, ...counters, ...expanded]);
    new DataView(damaged.buffer).setUint32(place, 200);
    expect(() => decoder.decode(damaged, 'switch', records), `${place}`).toThrow(
      expect.objectContaining({ code: 'malformed' }),
    );
    expect(records.count).toBe(0);
  }
});

test('ExportDecoder counts a damaged datagram as refused, and holds no record of it', () => {
  const decoder = new ExportDecoder();
  const records = new FlowRecords();
  const whole = netflow9(set(0, TEMPLATE), set(258, RECORD), set(258, RECORD));
  for (let length = 0; length < whole.length; length++) {
    try {
      decoder.decode(whole.subarray(0, length), 'router', records);
    } catch (error) {
      expect(error).toMatchObject({ name: 'CaptureError', code: 'malformed' });
      expect(records.count).toBe(0);
    }
  }
  expect(decodeAll(decoder, whole)).toEqual([FLOW, FLOW]);
  expect(() => decoder.decode(Uint8Array.of(0, 8, 0, 0), 'router', records)).toThrow(
    'Cannot read the flow export: expected NetFlow 5 or 9, IPFIX or sFlow 5, got version 8 (byte 0)',
  );
});

test('ExportDecoder holds a bounded number of templates', () => {
  const decoder = new ExportDecoder();
  const records = new FlowRecords();
  for (let i = 0; i < 3000; i++) {
    decoder.decode(netflow9(set(0, TEMPLATE.with(0, 1 + (i % 200)))), `${i % 1500}`, records);
    decoder.decode(netflow9(set(60_000, RECORD)), `waiting ${i}`, records);
  }
  expect(decoder.waiting.length).toBe(1024);
  // The exporter that was used last still has its template, the first one has lost it.
  decoder.decode(netflow9(set(258 + 256 * (2999 % 200), RECORD)), '1499', records);
  expect(records.count).toBe(1);
  decoder.decode(netflow9(set(258, RECORD)), '0', records);
  expect(records.count).toBe(0);
});
