import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { ipPacket } from '../../test/loops/build-capture.ts';
import { FifoQueue } from './fifo-queue.ts';
import { flowOf, IpItem, IpQueue, setMark } from './ip-queue.ts';

const parcelOf = (packet: Uint8Array) => ({ bytes: packet, packet });

/** The sum of a header's words, which is 0xffff if its checksum is right (RFC 1071). */
function sumOf(header: Uint8Array): number {
  let sum = 0;
  for (let i = 0; i < header.length; i += 2) sum += (header[i] << 8) | header[i + 1];
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return sum;
}

test('flowOf is the same for packets of a flow, and differs by each part of the five-tuple', () => {
  const packet = ipPacket({ id: 1, ttl: 64, timeS: 0 });
  const other = ipPacket({ id: 2, ttl: 9, timeS: 5 });
  other.set(packet.subarray(12, 24), 12);
  expect(flowOf(other)).toBe(flowOf(packet));
  // The protocol, both addresses and both ports, byte by byte.
  for (const at of [9, 12, 15, 16, 19, 20, 21, 22, 23]) {
    const changed = packet.slice();
    changed[at] = at === 9 ? 6 : changed[at]! ^ 1;
    expect(flowOf(changed), `byte ${at}`).not.toBe(flowOf(packet));
  }
});

test('flowOf gives all later fragments of two hosts one flow', () => {
  const packet = ipPacket({ id: 1, ttl: 64, timeS: 0 });
  const fragment = (payload: number) => {
    const bytes = packet.slice();
    bytes[7] = 3;
    bytes.fill(payload, 20);
    return bytes;
  };
  expect(flowOf(fragment(1))).toBe(flowOf(fragment(2)));
  expect(flowOf(fragment(1))).not.toBe(flowOf(packet));
});

test('setMark sets both bits and keeps the checksum right; IpItem knows who understands marks', () => {
  for (let id = 0; id < 500; id++) {
    const packet = ipPacket({ id: id * 131, ttl: 64, timeS: 0, source: id & 255 });
    expect(new IpItem(parcelOf(packet)).isEcnCapable).toBe(false);
    // The bit of ECT(1), with a checksum to match: a word that is smaller by one.
    packet[1] = 1;
    const checksum = (((packet[10] << 8) | packet[11]) + 0xffff - 1) % 0xffff;
    packet[10] = checksum >> 8;
    packet[11] = checksum & 255;
    expect(sumOf(packet.subarray(0, 20))).toBe(0xffff);
    const item = new IpItem(parcelOf(packet));
    expect(item.isEcnCapable).toBe(true);
    item.mark();
    expect([packet[1], sumOf(packet.subarray(0, 20))]).toEqual([3, 0xffff]);
  }
  const packet = ipPacket({ version: 6, id: 1, ttl: 9, timeS: 0 });
  packet[1] = 0x20;
  expect(new IpItem(parcelOf(packet)).isEcnCapable).toBe(true);
  setMark(packet);
  expect(packet[1]).toBe(0x30);
});

test('IpQueue passes parcels on, and tells how many were dropped', () => {
  const queue = new IpQueue(new FifoQueue({ limitPackets: 2 }));
  const parcels = [1, 2, 3].map((id) => parcelOf(ipPacket({ id, ttl: 64, timeS: 0 })));
  expect(parcels.map((parcel) => queue.offer(parcel, 0))).toEqual([0, 0, 1]);
  expect([queue.take(0), queue.take(0), queue.take(0)]).toEqual([parcels[0], parcels[1], null]);
});

test('flowOf and marks take any bytes that forwardPacket lets through', () => {
  const random = new Random(1);
  for (let round = 0; round < 2000; round++) {
    const packet = random.bytes(20 + random.below(60));
    packet[0] = (round % 2 === 0 ? 0x40 : 0x60) | (packet[0]! & 15);
    const item = new IpItem(parcelOf(packet));
    item.mark();
    expect(item.flow.length).toBeLessThanOrEqual(37);
  }
});
