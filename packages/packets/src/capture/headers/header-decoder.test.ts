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
  VXLAN_HEADER,
} from '../../../test/captures/build-packet.ts';
import { PacketBatch } from '../packet-batch.ts';
import { flowAt } from './flow-key.ts';
import { HeaderBatch, MARK, STATUS } from './header-batch.ts';
import { HeaderDecoder, type HeaderDecoderOptions } from './header-decoder.ts';

interface Frame {
  readonly bytes: Uint8Array;
  readonly linkType?: number;
  /** Captured bytes, if fewer than the frame has. */
  readonly captured?: number;
  readonly seconds?: number;
}

/** The frames of a batch, decoded. */
function decode(frames: readonly Frame[], options?: HeaderDecoderOptions) {
  const batch = new PacketBatch(frames.length);
  const shown = frames.map(({ bytes, captured = bytes.length }) => bytes.subarray(0, captured));
  batch.bytes = join(...shown);
  batch.view = new DataView(batch.bytes.buffer);
  let at = 0;
  frames.forEach(({ bytes, linkType = 1, seconds = 0 }, row) => {
    batch.offset[row] = at;
    batch.capturedLength[row] = shown[row].length;
    batch.wireLength[row] = bytes.length;
    batch.linkType[row] = linkType;
    batch.seconds[row] = seconds;
    at += shown[row].length;
  });
  batch.count = frames.length;
  const headers = new HeaderBatch(frames.length);
  const decoder = new HeaderDecoder(options);
  decoder.decode(batch, headers);
  return { batch, headers, counts: decoder.counts };
}

/** The flow of one frame as text, or the number of its status. */
function flowOf(bytes: Uint8Array, linkType = 1, options?: HeaderDecoderOptions): string | number {
  const { headers } = decode([{ bytes, linkType }], options);
  return headers.status[0] === STATUS.decoded ? textAt(headers, 0) : headers.status[0];
}

function textAt(headers: HeaderBatch, row: number): string {
  const { source, sourcePort, destination, destinationPort, protocol } = flowAt(headers, row);
  return `${source} ${sourcePort} ${destination} ${destinationPort} ${protocol} ${headers.ipLength[row]}`;
}

const PACKET = ipv4({ protocol: 6 }, tcp(1234, 80));
const FLOW = '10.0.0.1 1234 10.0.0.2 80 6 40';
const PACKET6 = ipv6(17, udp(53, 5353));
const FLOW6 = '2001:db8::1 53 2001:db8::2 5353 17 48';

test('HeaderDecoder finds IP behind every link header', () => {
  const sll = [0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0];
  const sll2 = [0, 0, 0, 0, 0, 1, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0];
  const links: [number, readonly number[], readonly number[]][] = [
    [1, ethernet(0x0800), ethernet(0x86dd)],
    [1, ethernet(0x0800, [0x8100, 5]), ethernet(0x86dd, [0x8100, 5])],
    [1, ethernet(0x0800, [0x88a8, 5], [0x8100, 6]), ethernet(0x86dd, [0x88a8, 5], [0x8100, 6])],
    [1, [...ethernet(0x8847), 0, 1, 0x20, 255, 0, 1, 1, 255], [...ethernet(0x8847), 0, 1, 1, 255]],
    [
      1,
      [...ethernet(0x8864), 17, 0, 0, 1, 0, 42, 0, 0x21],
      [...ethernet(0x8864), 17, 0, 0, 1, 0, 50, 0, 0x57],
    ],
    [113, [...sll, 8, 0], [...sll, 0x86, 0xdd]],
    [276, [8, 0, ...sll2], [0x86, 0xdd, ...sll2]],
    [101, [], []],
    [12, [], []],
    [228, [], []],
    [0, [2, 0, 0, 0], [30, 0, 0, 0]],
    [0, [0, 0, 0, 2], [0, 0, 0, 10]],
    [108, [0, 0, 0, 2], [0, 0, 0, 24]],
  ];
  for (const [linkType, link, link6] of links) {
    expect(flowOf(join(link, PACKET), linkType), `${linkType}`).toBe(FLOW);
    expect(flowOf(join(link6, PACKET6), linkType), `${linkType}`).toBe(FLOW6);
  }
});

test('HeaderDecoder tells ARP, unknown links and broken headers apart', () => {
  expect(flowOf(join(ethernet(0x0806), new Uint8Array(28)))).toBe(STATUS.notIp);
  expect(flowOf(PACKET, 147)).toBe(STATUS.linkType);
  expect(flowOf(join(ethernet(0x0800), new Uint8Array(30)))).toBe(STATUS.malformed);
  expect(flowOf(join(ethernet(0x0800), [0x44], PACKET.subarray(1)))).toBe(STATUS.malformed);
  expect(flowOf(join(ethernet(0x0800), ipv4({ protocol: 6, length: 19 }, tcp(1, 2))))).toBe(STATUS.malformed);
  expect(flowOf(join(ethernet(0x0800), [0x45, 0, 0]))).toBe(STATUS.cut);
  expect(flowOf(Uint8Array.of(1, 2, 3))).toBe(STATUS.cut);
});

test('HeaderDecoder reads every cut of a packet without reading behind it', () => {
  const whole = join(ethernet(0x0800, [0x8100, 9]), PACKET);
  const frames = Array.from({ length: whole.length + 1 }, (_, captured) => ({ bytes: whole, captured }));
  const { headers, counts } = decode(frames);
  frames.forEach((_, captured) => {
    const expected = captured < 18 + 20 ? STATUS.cut : STATUS.decoded;
    expect(headers.status[captured], `${captured}`).toBe(expected);
    if (captured < 38) return;
    expect(textAt(headers, captured)).toBe(captured < 42 ? '10.0.0.1 0 10.0.0.2 0 6 40' : FLOW);
    expect(headers.marks[captured]).toBe(captured < 42 ? MARK.noPorts : 0);
  });
  expect(counts).toMatchObject({ packets: 59, cut: 38, decoded: 21, noPorts: 4 });
});

test('HeaderDecoder skips options of IPv4 and ends at the IP length, not at the padding', () => {
  const options = [7, 7, 4, 0, 0, 0, 0, 1];
  expect(flowOf(join(ethernet(0x0800), ipv4({ protocol: 17, options }, udp(7, 9))))).toBe(
    '10.0.0.1 7 10.0.0.2 9 17 36',
  );
  const short = join(
    ethernet(0x0800),
    ipv4({ protocol: 17 }, new Uint8Array(2)),
    new Uint8Array(24).fill(255),
  );
  const { headers } = decode([{ bytes: short }]);
  expect(headers.marks[0]).toBe(MARK.noPorts);
});

test('HeaderDecoder takes the length from the wire where offloading left 0', () => {
  const { headers } = decode([
    {
      bytes: join(ethernet(0x0800), ipv4({ protocol: 6, length: 0 }, tcp(1, 2, new Array(5000).fill(1)))),
      captured: 96,
    },
    { bytes: join(ethernet(0x86dd), ipv6(6, tcp(1, 2, new Array(5000).fill(1)), 0)), captured: 96 },
  ]);
  expect([...headers.ipLength]).toEqual([5040, 5060]);
  expect([...headers.marks]).toEqual([MARK.lengthFromWire, MARK.lengthFromWire]);
});

test('HeaderDecoder gives ICMP its type and code as the destination port', () => {
  expect(flowOf(join(ethernet(0x0800), ipv4({ protocol: 1 }, Uint8Array.of(3, 1, 0, 0))))).toBe(
    '10.0.0.1 0 10.0.0.2 769 1 24',
  );
});

test('HeaderDecoder passes over the extension headers of IPv6', () => {
  const payload = join(
    extension(43, 1),
    extension(60, 0),
    extension(51, 2),
    [6, 2, ...new Array(14).fill(0)],
    tcp(5, 6),
  );
  expect(flowOf(join(ethernet(0x86dd), ipv6(0, payload)))).toBe('2001:db8::1 5 2001:db8::2 6 6 124');
  // A chain that is cut keeps the number of the header that is missing.
  const { headers } = decode([
    { bytes: join(ethernet(0x86dd), ipv6(0, payload)), captured: 14 + 40 + 16 + 4 },
  ]);
  expect(flowAt(headers, 0).protocol).toBe(43);
  expect(headers.marks[0]).toBe(MARK.noPorts);
});

test('HeaderDecoder gives later fragments no ports, or those of the first if asked for', () => {
  const first = { protocol: 17, id: 7, moreFragments: true };
  const frames = [
    { bytes: join(ethernet(0x0800), ipv4({ ...first, fragmentOffset: 3 }, new Uint8Array(8))) },
    { bytes: join(ethernet(0x0800), ipv4(first, udp(1000, 2000))) },
    { bytes: join(ethernet(0x0800), ipv4({ protocol: 17, id: 7, fragmentOffset: 2 }, new Uint8Array(8))) },
    { bytes: join(ethernet(0x0800), ipv4({ protocol: 17, id: 8, fragmentOffset: 2 }, new Uint8Array(8))) },
    { bytes: join(ethernet(0x86dd), ipv6(44, join(fragmentHeader(17, 0, true, 9), udp(3, 4)))) },
    { bytes: join(ethernet(0x86dd), ipv6(44, join(fragmentHeader(17, 2, false, 9), new Uint8Array(8)))) },
    {
      bytes: join(ethernet(0x86dd), ipv6(44, join(fragmentHeader(17, 2, false, 9), new Uint8Array(8)))),
      seconds: 31,
    },
  ];
  const ports = (headers: HeaderBatch) => frames.map((_, row) => flowAt(headers, row).destinationPort);
  const apart = decode(frames);
  expect(ports(apart.headers)).toEqual([0, 2000, 0, 0, 4, 0, 0]);
  expect(apart.counts.laterFragments).toBe(5);
  const joined = decode(frames, { joinFragments: true });
  expect(ports(joined.headers)).toEqual([0, 2000, 2000, 0, 4, 4, 0]);
  expect(joined.counts.laterFragments).toBe(3);
});

test('HeaderDecoder shows the flows inside tunnels if asked for, and the tunnels otherwise', () => {
  const inEthernet = join(ethernet(0x0800, [0x8100, 3]), PACKET);
  const tunnels: [string, Uint8Array, string][] = [
    ['gre', ipv4({ protocol: 47 }, join(gre(0, 0x0800), PACKET)), '10.0.0.1 0 10.0.0.2 0 47 64'],
    ['gre', ipv4({ protocol: 47 }, join(gre(0xb000, 0x0800), PACKET)), '10.0.0.1 0 10.0.0.2 0 47 76'],
    ['gre', ipv4({ protocol: 47 }, join(gre(0x2000, 0x6558), inEthernet)), '10.0.0.1 0 10.0.0.2 0 47 86'],
    [
      'vxlan',
      ipv4({ protocol: 17 }, udp(999, 4789, join(VXLAN_HEADER, inEthernet))),
      '10.0.0.1 999 10.0.0.2 4789 17 94',
    ],
    ['ip', ipv4({ protocol: 4 }, PACKET), '10.0.0.1 0 10.0.0.2 0 4 60'],
  ];
  for (const [tunnel, bytes, outer] of tunnels) {
    const frame = join(ethernet(0x0800), bytes);
    expect(flowOf(frame)).toBe(outer);
    expect(flowOf(frame, 1, { tunnels: ['gre', 'vxlan', 'ip'] }), tunnel).toBe(FLOW);
    // Every cut of the tunnel is decoded as the tunnel or as the flow in it, and never read behind.
    for (let captured = 34; captured <= frame.length; captured++) {
      const { headers, counts } = decode([{ bytes: frame, captured }], { tunnels: ['gre', 'vxlan', 'ip'] });
      expect(headers.status[0]).toBe(STATUS.decoded);
      expect(counts.inner).toBe((headers.marks[0] & MARK.inner) === 0 ? 0 : 1);
    }
  }
  expect(flowOf(join(ethernet(0x86dd), ipv6(41, PACKET6)), 1, { tunnels: ['ip'] })).toBe(FLOW6);
});

test('HeaderDecoder follows four tunnels and no more', () => {
  let packet = PACKET;
  for (let depth = 0; depth < 20; depth++) packet = ipv4({ protocol: 4 }, packet);
  const { headers } = decode([{ bytes: join(ethernet(0x0800), packet) }], { tunnels: ['ip'] });
  expect(headers.ipOffset[0]).toBe(14 + 4 * 20);
});
