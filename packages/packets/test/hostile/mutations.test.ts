/**
 * Hostile input: every strict prefix, every flipped bit, and random mutations of captures and of
 * flow exports. The promise is that there is no untyped error, no packet outside its memory, and an
 * end. The full form (BLOOMERY_EFFORT=20) makes ten million mutations, five of captures and five of
 * datagrams: 240 s and 126 s in November 2026, on a machine with a load of 12.
 *
 * BLOOMERY_DATA names a folder whose `captures` holds real captures. BLOOMERY_TCPDUMP_TESTS names
 * the folder `tests` of a checkout of tcpdump, whose captures are malformed on purpose.
 */

import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join as joinPath } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { EFFORT, withEffort } from '@bloomery/testkit/effort';
import { expect, test } from 'vitest';
import { CaptureError, CaptureWriter, ExportDecoder, FlowRecords } from '../../src/capture/index.ts';
import {
  ethernet,
  extension,
  fragmentHeader,
  gre,
  ipv4,
  ipv6,
  join,
  tcp,
  udp,
  VXLAN_HEADER,
} from '../captures/build-packet.ts';
import { decodeHostile, mutate, numbersFrom } from './hostile-input.ts';

const MUTATIONS = withEffort(EFFORT > 1 ? 250_000 : 25_000, 2500);

// Most mutations end in an error, and collecting its stack would cost more than the decoding.
Error.stackTraceLimit = 0;

const INNER = join(ethernet(0x0800, [0x8100, 3]), ipv4({ protocol: 6 }, tcp(1, 2)));
/** One packet for each way through the decoder. */
const PACKETS: readonly [linkType: number, bytes: Uint8Array][] = [
  [1, join(ethernet(0x0800), ipv4({ protocol: 6, options: [7, 4, 0, 0] }, tcp(1234, 80)))],
  [
    1,
    join(
      ethernet(0x86dd, [0x88a8, 1], [0x8100, 2]),
      ipv6(0, join(extension(43, 1), extension(17, 0), udp(1, 2))),
    ),
  ],
  [1, join(ethernet(0x86dd), ipv6(44, join(fragmentHeader(17, 0, true, 9), udp(3, 4))))],
  [1, join(ethernet(0x0800), ipv4({ protocol: 17, fragmentOffset: 3 }, new Uint8Array(8)))],
  [1, join(ethernet(0x0800), ipv4({ protocol: 47 }, join(gre(0xb000, 0x6558), INNER)))],
  [1, join(ethernet(0x0800), ipv4({ protocol: 17 }, udp(9, 4789, join(VXLAN_HEADER, INNER))))],
  [
    1,
    join(
      ethernet(0x8847),
      [0, 1, 0, 9, 0, 1, 1, 9],
      ipv4({ protocol: 4 }, ipv4({ protocol: 1 }, Uint8Array.of(8, 0))),
    ),
  ],
  [1, join(ethernet(0x8864), [17, 0, 0, 1, 0, 42, 0, 0x21], ipv4({ protocol: 132 }, tcp(5, 6)))],
];

function captureOf(format: 'pcap' | 'pcapng'): Uint8Array {
  const writer = new CaptureWriter({ format });
  for (const [linkType, bytes] of PACKETS)
    writer.add({ seconds: 1_700_000_000, nanoseconds: 5, bytes, linkType });
  if (format === 'pcapng') {
    writer.add({
      seconds: 1,
      nanoseconds: 1,
      bytes: PACKETS[0][1].subarray(14),
      linkType: 101,
      comment: 'raw',
    });
  }
  return writer.take();
}

const CAPTURES = [captureOf('pcap'), captureOf('pcapng')];

test('CaptureDecoder gives the whole packets of every strict prefix, and says that it was cut', () => {
  for (const file of CAPTURES) {
    let last = 0;
    for (let length = 0; length < file.length; length++) {
      const { packets, code } = decodeHostile(file.subarray(0, length), 1 + (length % 97));
      expect(packets === last || packets === last + 1, `${length}`).toBe(true);
      expect(['', 'truncated', 'not-a-capture']).toContain(code);
      last = packets;
    }
    expect(decodeHostile(file, 1000)).toEqual({ packets: last + 1, code: '' });
  }
});

test('CaptureDecoder survives every flipped bit', () => {
  for (const file of CAPTURES) {
    for (let bit = 0; bit < file.length * 8; bit++) {
      file[bit >>> 3] ^= 1 << (bit & 7);
      decodeHostile(file, 1 + (bit % 300));
      file[bit >>> 3] ^= 1 << (bit & 7);
    }
  }
});

test(`CaptureDecoder and HeaderDecoder survive ${MUTATIONS} mutations`, { timeout: 3_600_000 }, () => {
  const next = numbersFrom(22);
  const codes = new Map<string, number>();
  for (let i = 0; i < MUTATIONS; i++) {
    const { code } = decodeHostile(mutate(CAPTURES, next), 1 + next(2000));
    codes.set(code, (codes.get(code) ?? 0) + 1);
  }
  // The mutations reach every kind of end; otherwise they would test nothing.
  for (const code of ['', 'truncated', 'malformed', 'not-a-capture', 'version']) {
    expect(codes.get(code), code).toBeGreaterThan(0);
  }
});

const u16 = (...values: number[]) => values.flatMap((value) => [value >>> 8, value & 255]);
const u32 = (...values: number[]) => values.flatMap((value) => u16(value >>> 16, value & 0xffff));

/** A datagram of each kind, with templates, options, variable lengths and samples. */
const DATAGRAMS = [
  [...u16(5, 2), ...u32(9, 9, 9, 9, 9), ...new Array<number>(96).fill(7)],
  [
    ...u16(9, 3, 0, 9, 0, 9, 0, 1, 0, 7),
    ...u16(0, 24, 258, 4, 8, 4, 12, 4, 1, 8, 4, 1),
    ...u16(1, 18, 300, 4, 4, 1, 4, 34, 4),
    ...u16(300, 12, 0, 0, 0, 100),
    ...u16(258, 21),
    ...new Array<number>(17).fill(1),
  ],
  [
    ...u16(10, 78, 0, 9, 0, 1, 0, 7),
    ...u16(2, 24, 400, 3, 0x800c, 0xffff, 0, 9, 27, 16, 28, 16),
    ...u16(400, 38),
    ...[1, 65],
    ...new Array<number>(32).fill(2),
  ],
  [
    ...u32(5, 1, 1, 0, 1, 1, 2),
    ...u32(2, 4, 0),
    ...u32(1, 32 + 24 + 56, 1, 1, 256, 0, 0, 1, 2, 1, 1, 16 + 56, 1, 100, 4, 54),
    ...join(ethernet(0x0800), ipv4({ protocol: 6 }, tcp(1, 2))),
    ...[0, 0],
  ],
].map((bytes) => Uint8Array.from(bytes));

test(`ExportDecoder survives ${MUTATIONS} mutations with one state`, { timeout: 3_600_000 }, () => {
  const next = numbersFrom(23);
  const decoder = new ExportDecoder();
  const records = new FlowRecords();
  for (const datagram of DATAGRAMS) decoder.decode(datagram, 'whole', records);
  expect(decoder.counts.refused).toBe(0);
  for (let i = 0; i < MUTATIONS; i++) {
    const datagram = mutate(DATAGRAMS, next);
    try {
      decoder.decode(datagram, `exporter ${next(5000)}`, records);
    } catch (error) {
      if (!(error instanceof CaptureError)) throw error;
    }
    if (records.count > datagram.length) throw new Error(`Cannot accept ${records.count} records`);
  }
  const { refused, datagrams, records: read } = decoder.counts;
  expect(refused).toBeGreaterThan(datagrams / 10);
  expect(read).toBeGreaterThan(datagrams / 10);
  expect(decoder.waiting.length).toBeLessThanOrEqual(1024);
});

const DATA = joinPath(process.env.BLOOMERY_DATA ?? '', 'captures');
const hasData = process.env.BLOOMERY_DATA !== undefined && existsSync(DATA);

test.skipIf(!hasData)('CaptureDecoder survives prefixes and mutations of real captures', () => {
  const next = numbersFrom(24);
  for (const name of readdirSync(DATA).filter((file) => file.includes('.pcap'))) {
    const file = readFileSync(joinPath(DATA, name));
    const whole = (name.endsWith('.gz') ? gunzipSync(file) : file).subarray(0, 1 << 16);
    for (let length = 0; length < 2000; length++)
      decodeHostile(whole.subarray(0, length), 1 + (length % 700));
    for (let i = withEffort(200, 20); i > 0; i--) decodeHostile(mutate([whole], next), 1 + next(1 << 16));
  }
});

const TCPDUMP = process.env.BLOOMERY_TCPDUMP_TESTS ?? '';

test.skipIf(!existsSync(TCPDUMP))(
  "CaptureDecoder reads tcpdump's malformed captures as far as tcpdump",
  () => {
    const names = readdirSync(TCPDUMP).filter((file) => /\.(pcap|pcapng|cap)$/.test(file));
    expect(names.length).toBeGreaterThan(100);
    for (const name of names) {
      const path = joinPath(TCPDUMP, name);
      const whole = readFileSync(path);
      const { packets, code } = decodeHostile(whole, whole.length);
      for (const chunkBytes of [1, 77])
        expect(decodeHostile(whole, chunkBytes), name).toEqual({ packets, code });
      const { stdout, status } = spawnSync('tcpdump', ['--count', '-r', path], { encoding: 'utf8' });
      expect(`${packets}`, name).toBe(/^(\d+) packet/m.exec(stdout)?.[1]);
      expect(code === '', name).toBe(status === 0);
    }
  },
);
