/**
 * Packets of a capture as objects, for scripts. Each packet has memory of its own and may be kept.
 *
 * Convenience costs speed: an object, a copy and two addresses as text per packet. Programs that
 * count millions of packets use `readBatches` and `HeaderDecoder`, which make none of these.
 */

import { type Flow, flowAt } from '../headers/flow-key.ts';
import { HeaderBatch, STATUS } from '../headers/header-batch.ts';
import { HeaderDecoder, type HeaderDecoderOptions } from '../headers/header-decoder.ts';
import { PacketBatch } from '../packet-batch.ts';
import { type ByteSource, readBatches } from './read-batches.ts';

export interface CapturedPacket {
  /** Whole seconds since 1970. */
  readonly seconds: number;
  /** Nanoseconds within the second. */
  readonly nanoseconds: number;
  /** Captured bytes, from the header of the link on. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Bytes that the packet had on the wire. */
  readonly wireLength: number;
  /** Link type (https://www.tcpdump.org/linktypes.html). */
  readonly linkType: number;
  /** Number of the interface in its section of pcapng; 0 in pcap. */
  readonly interfaceId: number;
  /** Addresses, ports and protocol, or null if the packet is not IP or cannot be decoded. */
  readonly flow: Flow | null;
  /** Length of the IP packet as its header tells, or 0 without a flow. */
  readonly ipLength: number;
}

export interface ReadCaptureOptions extends HeaderDecoderOptions {
  /** Stops reading. */
  readonly signal?: AbortSignal;
}

/** Yields the packets of a capture. Faults are thrown after the packets before them. */
export async function* readCapture(
  source: ByteSource,
  { signal, ...options }: ReadCaptureOptions = {},
): AsyncGenerator<CapturedPacket, void, undefined> {
  const decoder = new HeaderDecoder(options);
  const batch = new PacketBatch(256);
  const headers = new HeaderBatch(batch.capacity);
  for await (const { count } of readBatches(source, { batch, ...(signal && { signal }) })) {
    decoder.decode(batch, headers);
    // Copied before the first is handed over, because the batch is the reader's.
    const packets = Array.from({ length: count }, (_, row) => packetAt(batch, headers, row));
    yield* packets;
  }
}

function packetAt(batch: PacketBatch, headers: HeaderBatch, row: number): CapturedPacket {
  const at = batch.offset[row];
  const isDecoded = headers.status[row] === STATUS.decoded;
  return {
    seconds: batch.seconds[row],
    nanoseconds: batch.nanoseconds[row],
    bytes: Uint8Array.from(batch.bytes.subarray(at, at + batch.capturedLength[row])),
    wireLength: batch.wireLength[row],
    linkType: batch.linkType[row],
    interfaceId: batch.interfaceId[row],
    flow: isDecoded ? flowAt(headers, row) : null,
    ipLength: isDecoded ? headers.ipLength[row] : 0,
  };
}
