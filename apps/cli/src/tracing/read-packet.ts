/** Reads one packet of a capture, from its IP header on, with its time and a description. */

import {
  CaptureDecoder,
  flowAt,
  HeaderBatch,
  HeaderDecoder,
  PacketBatch,
  STATUS,
} from '@bloomery/packets/capture';
import { feedCapture } from '../captures/feed-capture.ts';
import { inputsOf } from '../keys/input.ts';
import { UsageError } from '../usage-error.ts';

export interface TracedPacket {
  readonly bytes: Uint8Array;
  readonly timeS: number;
  /** Addresses and ports in words. */
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
  const { source, destination, sourcePort, destinationPort, protocol } = flowAt(headers, row);
  const port = (number: number) => (number > 0 ? `:${number}` : '');
  return {
    bytes: Uint8Array.from(batch.bytes.subarray(start, end)),
    timeS: batch.seconds[row] + batch.nanoseconds[row] / 1e9,
    text: `${name}: ${source}${port(sourcePort)} > ${destination}${port(destinationPort)}, protocol ${protocol}`,
  };
}
