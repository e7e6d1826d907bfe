/**
 * Turns a batch of packets into a batch of headers, and counts what it could not decode, by reason.
 *
 * It holds the counts and nothing else: each packet is decoded by itself.
 */

import type { PacketBatch } from '../packet-batch.ts';
import { decodeIpv4 } from './decode-ipv4.ts';
import { decodeIpv6 } from './decode-ipv6.ts';
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
  /** Decoded packets that are fragments after the first, and so have no ports. */
  readonly laterFragments: number;
}

export class HeaderDecoder {
  readonly #byStatus = new Float64Array(5);
  #noPorts = 0;
  #laterFragments = 0;

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
    };
  }

  /** Decodes all packets of a batch into the same rows of `headers`. */
  decode(batch: PacketBatch, headers: HeaderBatch): void {
    const { count, view, offset, capturedLength, linkType } = batch;
    if (count > headers.capacity) {
      throw new RangeError(
        `Cannot decode headers: expected room for ${count} packets, got room for ${headers.capacity}`,
      );
    }
    const { status, version, marks } = headers;
    const byStatus = this.#byStatus;
    for (let row = 0; row < count; row++) {
      const at = offset[row];
      const end = at + capturedLength[row];
      let outcome: number;
      // The usual case first, without the detour through findIp.
      if (linkType[row] === ETHERNET && end - at >= 34 && view.getUint16(at + 12) === ETHERTYPE_IPV4) {
        outcome = decodeIpv4(view, at + 14, end, batch.wireLength[row] - 14, headers, row);
      } else {
        outcome = decodeOther(batch, headers, row);
      }
      status[row] = outcome;
      byStatus[outcome]++;
      if (outcome !== STATUS.decoded) {
        version[row] = 0;
      } else if ((marks[row] & (MARK.noPorts | MARK.laterFragment)) !== 0) {
        if ((marks[row] & MARK.noPorts) !== 0) this.#noPorts++;
        else this.#laterFragments++;
      }
    }
    headers.count = count;
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
