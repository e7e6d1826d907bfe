/**
 * Captures for tests, packet by packet, as the bytes of a pcap file with Ethernet headers: packets
 * that pass a link several times, with the TTL of each time.
 */

import { CaptureDecoder } from '../../src/capture/capture-decoder.ts';
import { HeaderBatch } from '../../src/capture/headers/header-batch.ts';
import { HeaderDecoder } from '../../src/capture/headers/header-decoder.ts';
import { PacketBatch } from '../../src/capture/packet-batch.ts';

export interface TestPacket {
  readonly version?: 4 | 6;
  /** The last byte of the source and of the destination address. */
  readonly source?: number;
  readonly destination?: number;
  /** The third byte of the destination in IPv4. */
  readonly network?: number;
  /** A number that tells packets apart: the identification, or a part of the payload in IPv6. */
  readonly id: number;
  readonly ttl: number;
  readonly timeS: number;
  /** Whether the packet passes in the other direction. */
  readonly isBack?: boolean;
  /** The type of service or the traffic class. */
  readonly service?: number;
  /** The protocol, and its payload. Default: UDP with 40 bytes. */
  readonly protocol?: number;
  readonly payload?: Uint8Array;
  readonly options?: Uint8Array;
}

const ETHERNET = 14;

/** The packet of IP alone. */
export function ipPacket(packet: TestPacket): Uint8Array {
  const { version = 4, id, ttl, service = 0, protocol = 17, options = new Uint8Array(0) } = packet;
  const payload = packet.payload ?? udpPayload(id);
  const { source = 1, destination = 9, network = 0 } = packet;
  if (version === 6) {
    const bytes = new Uint8Array(40 + payload.length);
    const view = new DataView(bytes.buffer);
    view.setUint32(0, 0x60000000 | (service << 20));
    view.setUint16(4, payload.length);
    bytes.set([protocol, ttl], 6);
    bytes.set([0x20, 0x01, 0x0d, 0xb8], 8);
    bytes[23] = source;
    bytes.set([0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, network], 24);
    bytes[39] = destination;
    bytes.set(payload, 40);
    return bytes;
  }
  const head = 20 + options.length;
  const bytes = new Uint8Array(head + payload.length);
  const view = new DataView(bytes.buffer);
  bytes.set([0x40 | (head / 4), service]);
  view.setUint16(2, bytes.length);
  view.setUint16(4, id);
  bytes.set([ttl, protocol], 8);
  bytes.set([10, 1, 1, source, 10, 77, network, destination], 12);
  bytes.set(options, 20);
  view.setUint16(10, checksum(bytes.subarray(0, head)));
  bytes.set(payload, head);
  return bytes;
}

/** A pcap file with these packets. */
export function pcapOf(packets: readonly TestPacket[]): Uint8Array {
  const frames = packets.map((packet) => ({ packet, ip: ipPacket(packet) }));
  const total = frames.reduce((sum, { ip }) => sum + 16 + ETHERNET + ip.length, 24);
  const bytes = new Uint8Array(total);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, 0xa1b2c3d4);
  view.setUint16(4, 2);
  view.setUint16(6, 4);
  view.setUint32(16, 65_535);
  view.setUint32(20, 1);
  let at = 24;
  for (const { packet, ip } of frames) {
    const length = ETHERNET + ip.length;
    view.setUint32(at, Math.floor(packet.timeS));
    view.setUint32(at + 4, Math.round((packet.timeS % 1) * 1e6));
    view.setUint32(at + 8, length);
    view.setUint32(at + 12, length);
    bytes.set(packet.isBack ? MACS_BACK : MACS, at + 16);
    view.setUint16(at + 28, packet.version === 6 ? 0x86dd : 0x0800);
    bytes.set(ip, at + 16 + ETHERNET);
    at += 16 + length;
  }
  return bytes;
}

/** Calls `take` with all batches of a capture. */
export function eachBatch(
  capture: Uint8Array,
  take: (batch: PacketBatch, headers: HeaderBatch) => void,
  capacity?: number,
): void {
  const batch = new PacketBatch(capacity);
  const headers = new HeaderBatch(batch.capacity);
  const [decoder, headerDecoder] = [new CaptureDecoder(), new HeaderDecoder()];
  decoder.push(capture);
  while (decoder.next(batch)) {
    headerDecoder.decode(batch, headers);
    take(batch, headers);
  }
  decoder.end();
}

const MACS = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
const MACS_BACK = [...MACS.slice(6), ...MACS.slice(0, 6)];

/** Ports and 32 bytes that depend on the packet's number. */
function udpPayload(id: number): Uint8Array {
  const payload = new Uint8Array(40).fill(id & 255, 8);
  payload.set([0x30, 0x39, 0, 53, 0, 40, 0, 0, id & 255, (id >> 8) & 255, (id >> 16) & 255]);
  return payload;
}

/** The checksum of RFC 791, of a header whose own checksum is still 0. */
function checksum(header: Uint8Array): number {
  let sum = 0;
  for (let i = 0; i < header.length; i += 2) sum += (header[i] << 8) | header[i + 1];
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
}
