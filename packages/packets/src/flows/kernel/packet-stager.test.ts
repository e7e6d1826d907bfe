import { withEffort } from '@bloomery/testkit/effort';
import { expect, test } from 'vitest';
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
} from '../../../test/captures/build-packet.ts';
import { mutate, numbersFrom } from '../../../test/hostile/hostile-input.ts';
import {
  CaptureDecoder,
  CaptureWriter,
  HeaderBatch,
  HeaderDecoder,
  PacketBatch,
} from '../../capture/index.ts';
import { FlowMeter, type FlowMeterOptions, type FlowReport } from '../flow-meter.ts';
import { parseFlowFields } from '../keys/flow-fields.ts';

const SECRET = new Uint8Array(16).fill(9);
const ALL = { top: Number.POSITIVE_INFINITY };

const PACKETS: readonly Uint8Array[] = [
  join(ethernet(0x0800), ipv4({ protocol: 6 }, tcp(1024, 443, [1, 2, 3]))),
  join(ethernet(0x0800), ipv4({ protocol: 17, options: [7, 3, 4, 0] }, udp(53, 53))),
  join(ethernet(0x0800), ipv4({ protocol: 1 }, Uint8Array.of(8, 0, 1, 2))),
  join(ethernet(0x0800), ipv4({ protocol: 89 }, new Uint8Array(9))),
  join(ethernet(0x0800), ipv4({ protocol: 17, fragmentOffset: 2 }, new Uint8Array(16))),
  join(ethernet(0x0800), ipv4({ protocol: 17, moreFragments: true }, udp(5, 6, new Uint8Array(16)))),
  join(ethernet(0x0800), ipv4({ protocol: 6, length: 0 }, tcp(9, 10))),
  join(ethernet(0x0800), ipv4({ protocol: 47 }, join(gre(0, 0x0800), ipv4({ protocol: 6 }, tcp(1, 2))))),
  join(ethernet(0x0800, [0x8100, 7]), ipv4({ protocol: 6 }, tcp(1, 2))),
  join(ethernet(0x86dd, [0x88a8, 7], [0x8100, 8]), ipv6(17, udp(1, 2))),
  join(ethernet(0x86dd), ipv6(6, tcp(1, 2))),
  join(ethernet(0x86dd), ipv6(58, Uint8Array.of(128, 0, 0, 0))),
  join(ethernet(0x86dd), ipv6(0, join(extension(17, 0), udp(3, 4)))),
  join(ethernet(0x86dd), ipv6(44, join(fragmentHeader(17, 1, false, 5), new Uint8Array(8)))),
  join(ethernet(0x86dd), ipv6(59, new Uint8Array(0))),
  join(ethernet(0x0806), new Uint8Array(28)),
];

interface Outcome {
  readonly reports: readonly FlowReport[];
  readonly counts: HeaderDecoder['counts'];
}

/** Reads a capture in chunks, either into the meter's own memory or as they are. */
function count(
  capture: Uint8Array,
  options: Partial<FlowMeterOptions>,
  way: 'chunk' | 'copy' | 'decode',
  chunkBytes: number,
): Outcome {
  const reports: FlowReport[] = [];
  const onInterval = () => reports.push(meter.report(ALL));
  const kernel = way === 'decode' ? 'javascript' : 'wasm';
  const meter: FlowMeter = new FlowMeter({ secret: SECRET, memory: 2 ** 21, kernel, onInterval, ...options });
  const [decoder, reader, batch] = [new HeaderDecoder(), new CaptureDecoder(), new PacketBatch(2048)];
  const headers = new HeaderBatch(batch.capacity);
  const room = meter.chunk;
  for (let at = 0; at < capture.length; at += chunkBytes) {
    let chunk = capture.subarray(at, at + chunkBytes);
    if (way === 'chunk') {
      room!.set(chunk);
      chunk = room!.subarray(0, chunk.length);
    }
    reader.push(chunk);
    while (reader.next(batch)) {
      if (way !== 'decode') meter.addPackets(batch, decoder);
      else {
        decoder.decode(batch, headers);
        meter.add(batch, headers);
      }
    }
  }
  reader.end();
  reports.push(meter.report(ALL));
  return { reports, counts: decoder.counts };
}

/** A capture of whole and damaged packets, in which unusual ones are rare or many. */
function captureOf(packets: number, next: (below: number) => number, unusual: number): Uint8Array {
  const writer = new CaptureWriter({ format: next(2) === 0 ? 'pcap' : 'pcapng' });
  const whole = PACKETS.slice(0, 4);
  for (let i = 0; i < packets; i++) {
    const isUsual = next(100) >= unusual;
    const bytes = isUsual ? whole[next(4)].slice() : mutate(PACKETS, next);
    // Different flows: the last bytes of both addresses, and the source port.
    if (isUsual) for (const at of [29, 33, 35]) bytes[at] = next(12);
    writer.add({
      seconds: 1_700_000_000 + Math.floor(i / 50) - next(2),
      nanoseconds: next(1e9),
      bytes,
      wireLength: bytes.length + next(3) * 100,
    });
  }
  return writer.take();
}

const OPTIONS: readonly Partial<FlowMeterOptions>[] = [
  {},
  { measure: 'packets', wire: true },
  { intervalSeconds: 3 },
  { fields: parseFlowFields('src/24/64,dport') },
  { fields: parseFlowFields('dport,proto'), intervalSeconds: 1, wire: true },
];

test('addPackets counts as decoding and adding does, for usual and damaged packets', () => {
  const next = numbersFrom(77);
  for (let round = 0; round < withEffort(60, 15); round++) {
    const capture = captureOf(600 + next(3000), next, [1, 20, 100][round % 3]);
    const options = OPTIONS[round % OPTIONS.length];
    const expected = count(capture, options, 'decode', capture.length);
    expect(expected.counts.decoded).toBeGreaterThan(100);
    for (const chunkBytes of [5000 + next(50_000), 40 + next(400)]) {
      expect(count(capture, options, 'chunk', chunkBytes), `round ${round}, chunk`).toEqual(expected);
      expect(count(capture, options, 'copy', chunkBytes), `round ${round}, copy`).toEqual(expected);
    }
  }
});

test('addPackets follows tunnels, and takes long packets, as decoding and adding does', () => {
  const writer = new CaptureWriter({ format: 'pcap' });
  for (let i = 0; i < 3000; i++) {
    const bytes = join(PACKETS[i % PACKETS.length], new Uint8Array(i % 700 === 0 ? 200_000 : 800));
    writer.add({ seconds: 1, nanoseconds: i, bytes });
  }
  const capture = writer.take();
  const expected = count(capture, {}, 'decode', 2 ** 18);
  for (const way of ['chunk', 'copy'] as const) expect(count(capture, {}, way, 2 ** 18)).toEqual(expected);

  const decoders = [0, 1].map(() => new HeaderDecoder({ tunnels: ['gre'] }));
  const meters = [0, 1].map(() => new FlowMeter({ secret: SECRET, memory: 2 ** 21 }));
  const [reader, batch] = [new CaptureDecoder(), new PacketBatch(512)];
  const headers = new HeaderBatch(512);
  reader.push(capture);
  while (reader.next(batch)) {
    meters[0].addPackets(batch, decoders[0]);
    decoders[1].decode(batch, headers);
    meters[1].add(batch, headers);
  }
  expect(meters[0].report(ALL)).toEqual(meters[1].report(ALL));
  expect(decoders[0].counts).toEqual(decoders[1].counts);
  expect(decoders[0].counts.inner).toBeGreaterThan(100);
});
