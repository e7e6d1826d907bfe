/**
 * Finds the IP packet inside a tunnel: GRE (RFC 2784 and 2890), VXLAN (RFC 7348), and IP directly
 * in IP (RFC 2003, RFC 4213).
 *
 * The outer packet must be whole in what it shows: a fragment after the first has no tunnel header.
 * GRE version 1 (PPTP) and ERSPAN are not followed. A result of 0 means that there is no inner IP
 * packet to be found, and the flow of the tunnel itself stays.
 */

import { type HeaderBatch, KEY_WORDS, MARK } from './header-batch.ts';
import { behindEtherType, ETHERNET, findIp, LINK } from './link-layer.ts';

/** The tunnels that can be followed. */
export type Tunnel = 'gre' | 'vxlan' | 'ip';

/** Tunnels to follow, as the decoder asks for them. */
export interface TunnelChoice {
  readonly gre: boolean;
  readonly vxlan: boolean;
  readonly ip: boolean;
  readonly vxlanPorts: ReadonlySet<number>;
}

const IP_IN_IP = 4;
const UDP = 17;
const IPV6_IN_IP = 41;
const GRE = 47;

const TRANSPARENT_ETHERNET = 0x6558;

/** Position of the IP header inside the packet of a row, or 0 if there is none. */
export function findInner(
  view: DataView,
  end: number,
  headers: HeaderBatch,
  row: number,
  choice: TunnelChoice,
): number {
  if ((headers.marks[row] & MARK.laterFragment) !== 0) return 0;
  const word = row * KEY_WORDS + (headers.version[row] === 4 ? 2 : 8);
  const at = headers.payloadOffset[row];
  switch (headers.keys[word + 1] & 0xff) {
    case GRE:
      return choice.gre ? insideGre(view, at, end) : 0;
    case IP_IN_IP:
    case IPV6_IN_IP:
      return choice.ip && at < end ? at : 0;
    case UDP:
      if (!(choice.vxlan && choice.vxlanPorts.has(headers.keys[word] & 0xffff))) return 0;
      return insideVxlan(view, at + 8, end);
    default:
      return 0;
  }
}

function insideGre(view: DataView, at: number, end: number): number {
  if (end - at < 4) return 0;
  const flags = view.getUint16(at);
  // Bit 1 is the routing of RFC 1701, which RFC 2784 forbids, and the lowest bits are the version.
  if ((flags & 0x4007) !== 0) return 0;
  const hasChecksum = (flags & 0x8000) !== 0;
  const hasKey = (flags & 0x2000) !== 0;
  const hasSequence = (flags & 0x1000) !== 0;
  const inner = at + 4 + (hasChecksum ? 4 : 0) + (hasKey ? 4 : 0) + (hasSequence ? 4 : 0);
  const protocol = view.getUint16(at + 2);
  if (protocol === TRANSPARENT_ETHERNET) return positionOf(findIp(view, inner, end, ETHERNET), end);
  return positionOf(behindEtherType(view, inner, end, protocol), end);
}

function insideVxlan(view: DataView, at: number, end: number): number {
  // "the I flag MUST be set to 1 for a valid VXLAN Network ID" (RFC 7348, section 5).
  if (end - at < 8 || (view.getUint8(at) & 0x08) === 0) return 0;
  return positionOf(findIp(view, at + 8, end, ETHERNET), end);
}

function positionOf(found: number, end: number): number {
  if (found % 4 !== LINK.ip) return 0;
  const at = found / 4;
  return at < end ? at : 0;
}
