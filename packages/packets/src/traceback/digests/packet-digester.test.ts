import { Random } from '@bloomery/testkit/statistics';
import { BlockedBloomFilter, SecretKey } from 'bloomery';
import { expect, test } from 'vitest';
import { extension, ipv4, ipv6, join, tcp, udp } from '../../../test/captures/build-packet.ts';
import { mutate, numbersFrom } from '../../../test/hostile/hostile-input.ts';
import { HeaderBatch } from '../../capture/headers/header-batch.ts';
import { HeaderDecoder } from '../../capture/headers/header-decoder.ts';
import { PacketBatch } from '../../capture/packet-batch.ts';
import { invariantOf, LINKTYPE_RAW } from './one-packet.ts';
import { PacketDigester } from './packet-digester.ts';

const KEY = Uint8Array.from({ length: 16 }, (_, i) => 17 * i);
const random = new Random(23);

/** A batch of packets that begin with their IP headers. */
function batchOf(packets: readonly Uint8Array[]): { batch: PacketBatch; headers: HeaderBatch } {
  const batch = new PacketBatch(Math.max(1, packets.length));
  const headers = new HeaderBatch(batch.capacity);
  batch.bytes = join(...packets);
  batch.view = new DataView(batch.bytes.buffer);
  batch.count = packets.length;
  let at = 0;
  for (const [row, packet] of packets.entries()) {
    batch.offset[row] = at;
    batch.capturedLength[row] = packet.length;
    batch.wireLength[row] = packet.length;
    batch.linkType[row] = LINKTYPE_RAW;
    at += packet.length;
  }
  new HeaderDecoder().decode(batch, headers);
  return { batch, headers };
}

/** Digests as text, with their rows. */
function digestsOf(packets: readonly Uint8Array[], kernel: 'wasm' | 'script', payloadBytes = 44) {
  const digester = new PacketDigester({ key: KEY, kernel, payloadBytes });
  const { batch, headers } = batchOf(packets);
  const found: string[] = [];
  for (const { hashes, rows } of digester.digest(batch, headers)) {
    for (const [i, row] of rows.entries()) {
      found.push(`${row}: ${hashes.words[2 * i] >>> 0} ${hashes.words[2 * i + 1] >>> 0}`);
    }
  }
  return { found, cut: digester.cut, packets: digester.packets };
}

const payload = (length: number) => udp(5000, 53, [...random.bytes(length)]);
const PACKETS = [
  ipv4({ protocol: 17 }, payload(100)),
  ipv4({ protocol: 17 }, payload(0)),
  ipv4({ protocol: 6, options: [7, 7, 4, 0] }, tcp(80, 1024, [1, 2, 3])),
  ipv4({ protocol: 17, fragmentOffset: 185 }, random.bytes(64)),
  ipv6(17, payload(90)),
  ipv6(0, join(extension(17, 1), payload(50))),
  ipv6(17, payload(0)),
];

test.each([8, 9, 43, 44, 96])('both twins make the same digests from %i payload bytes', (payloadBytes) => {
  const next = numbersFrom(7);
  const packets = Array.from({ length: 3000 }, () => mutate(PACKETS, next));
  const wasm = digestsOf(packets, 'wasm', payloadBytes);
  expect(wasm).toEqual(digestsOf(packets, 'script', payloadBytes));
  expect(wasm.found.length).toBeGreaterThan(1000);
  expect(wasm.cut).toBeGreaterThan(100);
});

test('both twins note the same sources at the same times, and none again within half a second', () => {
  const packets = Array.from({ length: 2000 }, (_, i) =>
    i % 5 === 4
      ? ipv6(17, payload(60))
      : ipv4({ protocol: 17, source: [10, 0, random.below(40), random.below(256)] }, payload(60)),
  );
  const { batch, headers } = batchOf(packets);
  for (let row = 0; row < 2000; row++) {
    batch.seconds[row] = 1000 + (row >> 9);
    batch.nanoseconds[row] = random.below(1e9);
  }
  const noted = (['wasm', 'script'] as const).map((kernel) => {
    const digester = new PacketDigester({ key: KEY, kernel });
    const all: number[] = [];
    for (let round = 0; round < 2; round++) {
      for (const { sourceWords, sourceTimes } of digester.digest(batch, headers, { sources: true })) {
        all.push(...sourceWords, ...sourceTimes);
      }
    }
    return all;
  });
  expect(noted[0]).toEqual(noted[1]);
  expect(noted[0].length).toBeGreaterThan(3 * 1000);
  // 400 packets of one address of IPv6 in four seconds.
  expect(noted[0].length).toBeLessThan(3 * 3900);
});

test('a batch of more than 4096 packets keeps its rows', () => {
  const packets = Array.from({ length: 5000 }, (_, i) => PACKETS[i % PACKETS.length]);
  const wasm = digestsOf(packets, 'wasm');
  expect(wasm.found).toEqual(digestsOf(packets, 'script').found);
  expect(wasm.found.length).toBe(5000);
});

test('a digest is the hash of the invariant bytes, so an ordinary filter holds the packet', () => {
  const digester = new PacketDigester({ key: KEY });
  const filter = new BlockedBloomFilter({ blocks: 64, hashes: 6, key: new SecretKey(KEY) });
  const { batch, headers } = batchOf(PACKETS);
  for (const { hashes } of digester.digest(batch, headers)) filter.addMany(hashes);
  for (const packet of PACKETS) expect(filter.has(invariantOf(packet, 44))).toBe(true);
  expect(filter.has(invariantOf(ipv4({ protocol: 17, id: 2 }, payload(9)), 44))).toBe(false);
});

test.each([
  ['TTL, type of service and checksum of IPv4', 0, [1, 8, 10, 11]],
  ['traffic class, flow label and hop limit of IPv6', 4, [1, 2, 3, 7]],
])('%s do not change the digest; every other byte does', (_, index, masked) => {
  const packet = PACKETS[index].slice();
  const before = digestsOf([packet], 'wasm').found[0];
  const counted = (packet[0] >> 4 === 4 ? 20 : 40) + 44;
  for (let at = 0; at < packet.length; at++) {
    // The length says how many bytes count, and the first byte is the version.
    const isLength = packet[0] >> 4 === 4 ? at === 2 || at === 3 : at === 4 || at === 5;
    if (at === 0 || isLength || (at === 6 && index === 4)) continue;
    const changed = packet.slice();
    changed[at] ^= 0x41;
    const same = masked.includes(at) || at >= counted;
    expect(digestsOf([changed], 'wasm').found[0] === before, `byte ${at}`).toBe(same);
  }
});

test('options of IPv4 and the hop-by-hop header of IPv6 are left out', () => {
  const body = payload(60);
  const plain = ipv4({ protocol: 17, length: 100 }, body);
  const recorded = ipv4({ protocol: 17, options: [7, 7, 4, 10, 0, 0, 9, 0], length: 100 }, body);
  expect(digestsOf([plain], 'wasm').found).toEqual(digestsOf([recorded], 'wasm').found);
  const a = ipv6(0, join(extension(17, 0), body));
  const b = a.slice();
  b.set([1, 2, 3], 43);
  expect(digestsOf([a], 'wasm').found).toEqual(digestsOf([b], 'wasm').found);
});

test('packets that the capture cut before byte 44 of the payload have no digest', () => {
  const whole = PACKETS[0];
  for (let length = 20; length < 64; length++) {
    expect(digestsOf([whole.subarray(0, length)], 'wasm')).toMatchObject({ found: [], cut: 1 });
    expect(() => invariantOf(whole.subarray(0, length), 44)).toThrow(
      expect.objectContaining({ code: 'packet-cut' }),
    );
  }
  expect(digestsOf([whole.subarray(0, 64)], 'wasm')).toMatchObject({ packets: 1, cut: 0 });
  expect(() => invariantOf(whole.subarray(0, 12), 44)).toThrow(expect.objectContaining({ code: 'not-ip' }));
});
