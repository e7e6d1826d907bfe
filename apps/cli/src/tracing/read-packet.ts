/** Reads one packet of a capture, from its IP header on, with its time and a description. */

import {
  CaptureDecoder,
  flowAt,
  HeaderBatch,
  HeaderDecoder,
  PacketBatch,
  STATUS,
} from '@bloomery/packets/capture';
import { protocolName } from '@bloomery/packets/flows';
import { feedCapture } from '../captures/feed-capture.ts';
import { inputsOf } from '../keys/input.ts';
import { UsageError } from '../usage-error.ts';

const [ICMP, ICMPV6] = [1, 58];
/** The last second that a Date holds. */
const LAST_S = 8.64e12;

export interface TracedPacket {
  readonly bytes: Uint8Array;
  readonly timeS: number;
  /** Addresses, ports, protocol and time in words. */
  readonly text: string;
}

/** Reads packet number `wanted` of a capture; the first is 1. */
export async function readPacket(path: string, wanted: number): Promise<TracedPacket> {
  const [input] = inputsOf([path]);
  const decoder = new CaptureDecoder();
  const batch = new PacketBatch();
  const headers = new HeaderBatch(batch.capacity);
  const headerDecoder = new HeaderDecoder();
  const found = new AbortController();
  let packet: TracedPacket | undefined;
  let before = 0;
  const take = (bytes: Uint8Array) => {
    decoder.push(bytes);
    while (decoder.next(batch)) {
      const row = wanted - 1 - before;
      before += batch.count;
      if (row < 0 || row >= batch.count || packet !== undefined) continue;
      headerDecoder.decode(batch, headers);
      packet = packetAt(batch, headers, row, `packet ${wanted} of ${path}`);
      found.abort();
    }
  };
  await feedCapture(input, take, () => {}, found.signal);
  if (packet === undefined)
    throw new UsageError(`${path} has ${before} packets; --packet must be from 1 to ${before}`);
  return packet;
}

function packetAt(batch: PacketBatch, headers: HeaderBatch, row: number, name: string): TracedPacket {
  if (headers.status[row] !== STATUS.decoded)
    throw new UsageError(`${name} is no IP packet; --packet names another`);
  const start = headers.ipOffset[row];
  const captured = batch.offset[row] + batch.capturedLength[row];
  const end = Math.min(captured, start + headers.ipLength[row]);
  const timeS = batch.seconds[row] + batch.nanoseconds[row] / 1e9;
  const { source, destination, sourcePort, destinationPort, protocol } = flowAt(headers, row);
  // The columns of ICMP hold its type and code in place of ports.
  const hasPorts = ![ICMP, ICMPV6].includes(protocol) && sourcePort + destinationPort > 0;
  const withPort = (address: string, port: number) =>
    address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
  const at = (address: string, port: number) => (hasPorts ? withPort(address, port) : address);
  return {
    bytes: Uint8Array.from(batch.bytes.subarray(start, end)),
    timeS,
    text: `${name}: ${at(source, sourcePort)} > ${at(destination, destinationPort)}, ${protocolName(protocol)}, ${end - start} bytes, ${timeText(timeS)}`,
  };
}

function timeText(seconds: number): string {
  return seconds <= LAST_S ? new Date(1000 * seconds).toISOString() : `${seconds} s after 1970`;
}
