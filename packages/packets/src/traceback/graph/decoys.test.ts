import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { fragmentHeader, ipv4, ipv6, join, tcp, udp } from '../../../test/captures/build-packet.ts';
import { mutate, numbersFrom } from '../../../test/hostile/hostile-input.ts';
import { maskedPacket } from '../digests/masked-packet.ts';
import { invariantOf } from '../digests/one-packet.ts';
import { TracebackError } from '../traceback-error.ts';
import { decoysOf } from './decoys.ts';

const random = new Random(9);
const fill = (bytes: Uint8Array) => bytes.set(random.bytes(bytes.length));
const text = (length: number) =>
  Array.from(
    { length },
    (_, i) => 'GET /index.html HTTP/1.1 Host: www.example.org '.charCodeAt(i % 48) || 32,
  );

/** The sum of a transport header, data and pseudo header: 0xffff if the checksum is right. */
function transportSum(packet: Uint8Array): number {
  const isIpv4 = packet[0]! >> 4 === 4;
  const head = isIpv4 ? 4 * (packet[0]! & 15) : 40;
  const protocol = packet[isIpv4 ? 9 : 6]!;
  const addresses = protocol === 1 ? [] : [...packet.subarray(isIpv4 ? 12 : 8, isIpv4 ? 20 : 40)];
  const length = packet.length - head;
  const pseudo = protocol === 1 ? [] : [0, protocol, length >> 8, length & 255];
  const bytes = [...addresses, ...pseudo, ...packet.subarray(head), 0];
  let sum = 0;
  for (let i = 0; i + 1 < bytes.length; i += 2) sum += (bytes[i]! << 8) | bytes[i + 1]!;
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return sum;
}

/** The packet with a right checksum at this offset of its transport header. */
function summed(packet: Uint8Array, at: number): Uint8Array {
  const head = packet[0]! >> 4 === 4 ? 4 * (packet[0]! & 15) : 40;
  const checksum = ~transportSum(packet) & 0xffff;
  packet[head + at] = checksum >> 8;
  packet[head + at + 1] = checksum & 255;
  return packet;
}

const echo = (data: readonly number[]) => join([8, 0, 0, 0, 5, 5, 0, 1], data);
const PACKETS: [string, Uint8Array, number][] = [
  ['UDP', summed(ipv4({ protocol: 17 }, udp(53, 999, text(90))), 6), 28],
  ['UDP of an odd length', summed(ipv4({ protocol: 17 }, udp(53, 999, text(91))), 6), 28],
  ['UDP over IPv6', summed(ipv6(17, udp(53, 999, text(60))), 6), 48],
  ['TCP', summed(ipv4({ protocol: 6 }, tcp(80, 1024, text(200))), 16), 40],
  ['TCP over IPv6', summed(ipv6(6, tcp(80, 1024, text(33))), 16), 60],
  ['TCP without data', summed(ipv4({ protocol: 6, id: 0 }, tcp(80, 1024)), 16), 40],
  ['UDP without data', summed(ipv4({ protocol: 17 }, udp(1, 2)), 6), 28],
  ['UDP of zeros', summed(ipv4({ protocol: 17 }, udp(1, 2, new Uint8Array(64))), 6), 28],
  ['an echo request', summed(ipv4({ protocol: 1 }, echo(text(100))), 2), 28],
  [
    'an echo request with options',
    summed(ipv4({ protocol: 1, options: [7, 7, 4, 0] }, echo(text(60))), 2),
    32,
  ],
];

test.each(PACKETS)('decoys of %s keep addresses, length, flags and a right checksum', (_, packet, data) => {
  expect(transportSum(packet)).toBe(0xffff);
  const form = maskedPacket(packet);
  const decoys = decoysOf(packet, 50, fill);
  const head = packet[0]! >> 4 === 4 ? 20 : 40;
  for (const decoy of decoys) {
    expect(decoy.length).toBe(form.length);
    // All of the IP header but the identification, the length of UDP, and the flags of TCP.
    const kept = (bytes: Uint8Array) =>
      bytes.subarray(0, head).map((byte, at) => (at === 4 || at === 5 ? 0 : byte));
    expect(kept(decoy)).toEqual(kept(form));
    if (packet[head === 20 ? 9 : 6] === 17)
      expect([...decoy.subarray(head + 4, head + 6)]).toEqual([...form.subarray(head + 4, head + 6)]);
    if (packet[head === 20 ? 9 : 6] === 6)
      expect([...decoy.subarray(head + 12, head + 16)]).toEqual([...form.subarray(head + 12, head + 16)]);
    expect(transportSum(decoy)).toBe(0xffff);
    // The same bytes of text in another order.
    if (new Set(form.subarray(data)).size > 6)
      expect([...decoy.subarray(data)].sort()).toEqual([...form.subarray(data)].sort());
    expect(invariantOf(decoy, 44)).not.toEqual(invariantOf(packet, 44));
  }
  expect(new Set(decoys.map((decoy) => decoy.join())).size).toBe(50);
});

test.each([
  ['a later fragment', ipv4({ protocol: 17, fragmentOffset: 185, id: 7 }, random.bytes(64))],
  ['a fragment of zeros', ipv4({ protocol: 17, fragmentOffset: 185, id: 7 }, new Uint8Array(64))],
  ['a fragment of IPv6', ipv6(44, join(fragmentHeader(17, 9, true, 5), random.bytes(64)))],
  ['another protocol', ipv4({ protocol: 50 }, random.bytes(64))],
])('decoys of %s differ, and keep the length', (_, packet) => {
  const decoys = decoysOf(packet, 50, fill);
  expect(new Set(decoys.map((decoy) => decoy.join())).size).toBe(50);
  for (const decoy of decoys) expect(decoy.length).toBe(packet.length);
});

test('maskedPacket has the digests of its packet, and does not tell where it was captured', () => {
  const next = numbersFrom(4);
  const samples = PACKETS.map(([, packet]) => packet);
  let compared = 0;
  for (let round = 0; round < 3000; round++) {
    const packet = mutate(samples, next);
    let form: Uint8Array;
    try {
      form = maskedPacket(packet);
      decoysOf(packet, 1, fill);
    } catch (error) {
      expect(error).toBeInstanceOf(TracebackError);
      continue;
    }
    for (const payloadBytes of [8, 44, 1480]) {
      const invariant = (bytes: Uint8Array) => {
        try {
          return invariantOf(bytes, payloadBytes).join();
        } catch (error) {
          expect(error).toBeInstanceOf(TracebackError);
          return 'cut';
        }
      };
      expect(invariant(form)).toBe(invariant(packet));
      compared++;
    }
  }
  expect(compared).toBeGreaterThan(3000);
  const forwarded = PACKETS[0]![1].slice();
  forwarded[8] = 3;
  forwarded[1] = 3;
  expect(maskedPacket(forwarded)).toEqual(maskedPacket(PACKETS[0]![1]));
});
