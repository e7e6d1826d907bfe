/** One IP packet by itself, as questions carry it: its headers, and the bytes that identify it. */

import { HeaderBatch, STATUS } from '../../capture/headers/header-batch.ts';
import { HeaderDecoder, type HeaderDecoderOptions } from '../../capture/headers/header-decoder.ts';
import { PacketBatch } from '../../capture/packet-batch.ts';
import { TracebackError } from '../traceback-error.ts';
import { headBytes, MOST_PAYLOAD_BYTES, writeInvariant } from './invariant-bytes.ts';

/** Link type of packets that begin with their IP header. */
export const LINKTYPE_RAW = 101;

/** A batch of one packet and its headers. `packet` begins with the IP header. */
export function decodeOne(
  packet: Uint8Array,
  options: HeaderDecoderOptions = {},
): { batch: PacketBatch; headers: HeaderBatch } {
  const batch = new PacketBatch(1);
  const headers = new HeaderBatch(1);
  batch.count = 1;
  batch.bytes = packet;
  batch.view = new DataView(packet.buffer, packet.byteOffset, packet.byteLength);
  batch.capturedLength[0] = packet.length;
  batch.wireLength[0] = packet.length;
  batch.linkType[0] = LINKTYPE_RAW;
  new HeaderDecoder(options).decode(batch, headers);
  if (headers.status[0] !== STATUS.decoded) {
    throw new TracebackError(
      'not-ip',
      `Cannot read the packet: expected an IPv4 or IPv6 packet, got ${packet.length} other bytes`,
    );
  }
  return { batch, headers };
}

/** The bytes that identify a packet; its digest is their hash under the key of a collector. */
export function invariantOf(packet: Uint8Array, payloadBytes: number): Uint8Array<ArrayBuffer> {
  const { headers } = decodeOne(packet);
  const into = new Uint8Array(headBytes(6) + Math.min(payloadBytes, MOST_PAYLOAD_BYTES));
  const end = writeInvariant(packet, 0, packet.length, headers.ipLength[0], payloadBytes, into, 0);
  if (end < 0) {
    throw new TracebackError(
      'packet-cut',
      `Cannot digest the packet: expected ${payloadBytes} bytes of its payload, got a packet that is cut after ${packet.length} bytes`,
    );
  }
  return into.slice(0, end);
}
