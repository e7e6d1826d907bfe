/**
 * Turns a batch of packets into a batch of headers, and counts what it could not decode, by reason.
 *
 * Without options each packet is decoded by itself. `tunnels` replaces the headers of a tunnel by
 * those of the packet inside it, where that can be decoded; the flow of the tunnel itself stays
 * where it cannot. `joinFragments` gives later fragments the ports of their first one.
 */

import type { PacketBatch } from '../packet-batch.ts';
import { decodeIpv4 } from './decode-ipv4.ts';
import { decodeIpv6 } from './decode-ipv6.ts';
import { findInner, type Tunnel, type TunnelChoice } from './find-inner.ts';
import { FragmentTable } from './fragment-table.ts';
import { type HeaderBatch, MARK, STATUS } from './header-batch.ts';
import { ETHERNET, ETHERTYPE_IPV4, findIp, LINK } from './link-layer.ts';

/** Numbers of packets, by what became of them. */
export interface HeaderCounts {
  /** All packets. */
  readonly packets: number;
  /** Packets with a flow key. */
  readonly decoded: number;
  /** Packets that are not IP. */
  readonly notIp: number;
  /** Packets whose captured bytes end before the IP header does. */
  readonly cut: number;
  /** Packets with an IP header that contradicts itself. */
  readonly malformed: number;
  /** Packets of an unknown link type. */
  readonly linkType: number;
  /** Decoded packets without their ports, because their bytes end before them. */
  readonly noPorts: number;
  /** Decoded packets that are fragments after the first, and whose ports are not known. */
  readonly laterFragments: number;
  /** Decoded packets whose headers are those of a packet inside a tunnel. */
  readonly inner: number;
}

export interface HeaderDecoderOptions {
  /** Tunnels to follow; none by default. */
  readonly tunnels?: readonly Tunnel[];
  /** Destination ports of VXLAN: 4789, and 8472 that Linux used before, by default. */
  readonly vxlanPorts?: readonly number[];
  /** Gives fragments after the first its ports; false by default. */
  readonly joinFragments?: boolean;
}

/** Tunnels in tunnels that are followed. Real networks have two or three. */
const MAX_DEPTH = 4;

export class HeaderDecoder {
  readonly #byStatus = new Float64Array(5);
  readonly #tunnels: TunnelChoice | null;
  readonly #fragments: FragmentTable | null;
  #noPorts = 0;
  #laterFragments = 0;
  #inner = 0;

  constructor({ tunnels = [], vxlanPorts = [4789, 8472], joinFragments = false }: HeaderDecoderOptions = {}) {
    this.#tunnels =
      tunnels.length === 0
        ? null
        : {
            gre: tunnels.includes('gre'),
            vxlan: tunnels.includes('vxlan'),
            ip: tunnels.includes('ip'),
            vxlanPorts: new Set(vxlanPorts),
          };
    this.#fragments = joinFragments ? new FragmentTable() : null;
  }

  /** Numbers of all packets so far. */
  get counts(): HeaderCounts {
    const [decoded, notIp, cut, malformed, linkType] = this.#byStatus;
    return {
      packets: decoded + notIp + cut + malformed + linkType,
      decoded,
      notIp,
      cut,
      malformed,
      linkType,
      noPorts: this.#noPorts,
      laterFragments: this.#laterFragments,
      inner: this.#inner,
    };
  }

  /** Whether it decodes each packet by its outermost headers. */
  get isPlain(): boolean {
    return this.#tunnels === null;
  }

  /** Counts packets that another decoder, with the same rules, decoded. */
  countDecoded(packets: number): void {
    this.#byStatus[STATUS.decoded] += packets;
  }

  /** Decodes a batch, or its rows from `from` to `to`, into the same rows of `headers`. */
  decode(batch: PacketBatch, headers: HeaderBatch, from = 0, to: number = batch.count): void {
    const { view, offset, capturedLength, linkType } = batch;
    if (to > headers.capacity) {
      throw new RangeError(
        `Cannot decode headers: expected room for ${to} packets, got room for ${headers.capacity}`,
      );
    }
    const { status, version, marks } = headers;
    const byStatus = this.#byStatus;
    const isPlain = this.#tunnels === null;
    for (let row = from; row < to; row++) {
      const at = offset[row];
      const end = at + capturedLength[row];
      let outcome: number;
      // The usual case first, without the detour through findIp.
      if (linkType[row] === ETHERNET && end - at >= 34 && view.getUint16(at + 12) === ETHERTYPE_IPV4) {
        const wireBytes = Math.max(batch.wireLength[row], capturedLength[row]) - 14;
        outcome = decodeIpv4(view, at + 14, end, wireBytes, headers, row);
      } else {
        outcome = decodeOther(batch, headers, row);
      }
      status[row] = outcome;
      byStatus[outcome]++;
      if (outcome !== STATUS.decoded) {
        version[row] = 0;
        continue;
      }
      if (!isPlain) this.#followTunnels(view, end, headers, row);
      if (marks[row] !== 0) this.#countMarks(batch, headers, row);
    }
    headers.count = to;
  }

  #countMarks(batch: PacketBatch, headers: HeaderBatch, row: number): void {
    const marks = headers.marks[row];
    if ((marks & MARK.inner) !== 0) this.#inner++;
    if ((marks & MARK.noPorts) !== 0) this.#noPorts++;
    if ((marks & MARK.fragment) === 0) return;
    if (this.#fragments?.join(batch, headers, row)) return;
    if ((marks & MARK.laterFragment) !== 0) this.#laterFragments++;
  }

  #followTunnels(view: DataView, end: number, headers: HeaderBatch, row: number): void {
    for (let depth = 0; depth < MAX_DEPTH; depth++) {
      const inner = findInner(view, end, headers, row, this.#tunnels!);
      if (inner === 0) return;
      const wireBytes = headers.ipOffset[row] + headers.ipLength[row] - inner;
      // A header that cannot be decoded leaves the row as it is.
      if (decodeIp(view, inner, end, wireBytes, headers, row) !== STATUS.decoded) return;
      headers.marks[row] |= MARK.inner;
    }
  }
}

/** Decodes a packet of any link type. */
function decodeOther(batch: PacketBatch, headers: HeaderBatch, row: number): number {
  const { view } = batch;
  const at = batch.offset[row];
  const end = at + batch.capturedLength[row];
  const found = findIp(view, at, end, batch.linkType[row]);
  switch (found % 4) {
    case LINK.notIp:
      return STATUS.notIp;
    case LINK.cut:
      return STATUS.cut;
    case LINK.unknown:
      return STATUS.linkType;
  }
  const ip = (found - LINK.ip) / 4;
  if (end <= ip) return STATUS.cut;
  const wireBytes = Math.max(batch.wireLength[row] - (ip - at), end - ip);
  return decodeIp(view, ip, end, wireBytes, headers, row);
}

/** Decodes an IP header of the version that its first byte tells. */
function decodeIp(
  view: DataView,
  at: number,
  end: number,
  wireBytes: number,
  headers: HeaderBatch,
  row: number,
): number {
  const version = view.getUint8(at) >>> 4;
  if (version === 4) return decodeIpv4(view, at, end, wireBytes, headers, row);
  return version === 6 ? decodeIpv6(view, at, end, wireBytes, headers, row) : STATUS.malformed;
}
