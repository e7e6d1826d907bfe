/**
 * Digests of the parts of packets that routers leave alone, so that a packet has the same digest
 * each time it passes.
 *
 * Masked in IPv4: the type of service, the TTL and the header checksum; options are left out,
 * because some of them record the route. Masked in IPv6: the traffic class and the hop limit.
 * Everything else counts, up to `payloadBytes` of the payload: addresses, the identification,
 * fragment offsets, ports, sequence numbers. SPIE takes 8 bytes of payload, which tells too few
 * packets apart today: an IPv4 packet that may not be fragmented has the identification 0 (RFC
 * 6864), and in one of our captures 29 % of the packets share those 28 bytes with another one
 * (bench/results/traceback.md). We take 96 bytes by default.
 *
 * The place is part of the digest: the interface of a pcapng file, and the interface number that
 * Linux notes in cooked captures (SLL2). So a packet that one router forwards twice, between two
 * pairs of interfaces, does not look like a loop.
 *
 * The hash is keyed if the caller passes a key. Then a sender cannot prepare packets that collide.
 */

import { type HashScheme, hashKeys } from 'bloomery';
import { type HeaderBatch, STATUS } from '../capture/headers/header-batch.ts';
import type { PacketBatch } from '../capture/packet-batch.ts';

const PLACE_BYTES = 8;
const IPV4_BYTES = 20;
const IPV6_BYTES = 40;
const LINKTYPE_SLL2 = 276;
/** The interface number in an SLL2 header. */
const SLL2_INTERFACE = 4;

export class PacketDigests {
  readonly #scheme: HashScheme;
  readonly #payloadBytes: number;
  #bytes = new Uint8Array(0);
  #view = new DataView(this.#bytes.buffer);
  #offsets = new Uint32Array(0);
  #words = new Int32Array(0);

  constructor(scheme: HashScheme, payloadBytes: number) {
    this.#scheme = scheme;
    this.#payloadBytes = payloadBytes;
  }

  /**
   * The digests of a batch: two words for each row. Rows that were not decoded have digests without
   * meaning. The result is overwritten by the next call.
   */
  of(batch: PacketBatch, headers: HeaderBatch): Int32Array {
    const rows = headers.count;
    this.#makeRoom(batch, rows);
    const offsets = this.#offsets;
    let at = 0;
    for (let row = 0; row < rows; row++) {
      offsets[row] = at;
      if (headers.status[row] === STATUS.decoded) at = this.#write(batch, headers, row, at);
    }
    offsets[rows] = at;
    const packed = { bytes: this.#bytes, offsets: offsets.subarray(0, rows + 1) };
    return hashKeys(packed, this.#scheme, this.#words).words;
  }

  #makeRoom({ capturedLength }: PacketBatch, rows: number): void {
    // The captured bytes bound the memory, because `payloadBytes` may be far above the length of
    // real payloads.
    let bytes = rows * (PLACE_BYTES + IPV6_BYTES);
    for (let row = 0; row < rows; row++) bytes += Math.min(capturedLength[row], this.#payloadBytes);
    if (bytes > this.#bytes.length) {
      this.#bytes = new Uint8Array(2 * bytes);
      this.#view = new DataView(this.#bytes.buffer);
    }
    if (rows < this.#offsets.length) return;
    this.#offsets = new Uint32Array(rows + 1);
    this.#words = new Int32Array(2 * Math.max(rows, 4096));
  }

  /** Writes the invariant bytes of a packet. Returns their end. */
  #write(batch: PacketBatch, headers: HeaderBatch, row: number, at: number): number {
    const into = this.#view;
    const { view } = batch;
    into.setUint32(at, batch.interfaceId[row]);
    into.setUint32(at + 4, interfaceIndex(batch, row));
    const from = headers.ipOffset[row];
    const isIpv4 = headers.version[row] === 4;
    const to = at + PLACE_BYTES;
    const head = isIpv4 ? IPV4_BYTES : IPV6_BYTES;
    for (let i = 0; i < head; i += 4) into.setUint32(to + i, view.getUint32(from + i));
    if (isIpv4) {
      into.setUint8(to + 1, 0);
      into.setUint8(to + 8, 0);
      into.setUint16(to + 10, 0);
    } else {
      into.setUint16(to, into.getUint16(to) & 0xf00f);
      into.setUint8(to + 7, 0);
    }
    // IPv4 options are left out; extension headers of IPv6 count as payload.
    const payload = isIpv4 ? headers.payloadOffset[row] : from + IPV6_BYTES;
    // Padding of short Ethernet frames is not part of the packet.
    const end = Math.min(
      batch.offset[row] + batch.capturedLength[row],
      from + headers.ipLength[row],
      payload + this.#payloadBytes,
    );
    let next = to + head;
    let i = payload;
    for (; i + 4 <= end; i += 4, next += 4) into.setUint32(next, view.getUint32(i));
    for (; i < end; i++) into.setUint8(next++, view.getUint8(i));
    return next;
  }
}

/** The number that Linux gives to the interface in a cooked capture, or 0. */
function interfaceIndex(batch: PacketBatch, row: number): number {
  if (batch.linkType[row] !== LINKTYPE_SLL2) return 0;
  return batch.view.getUint32(batch.offset[row] + SLL2_INTERFACE);
}
