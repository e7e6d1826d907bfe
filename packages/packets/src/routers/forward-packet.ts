/**
 * The decision of a router about an IP packet: to which port it goes, or why it is dropped.
 * The TTL is lowered in the packet itself, and the IPv4 checksum follows by RFC 1624, "[Eqn. 3]":
 * HC' = ~(~HC + ~m + m').
 *
 * The header checksum is not verified on the way: the link below has one, and a host verifies it.
 * A dropped packet is counted and not answered. ICMP messages of a router (RFC 1812) are left to
 * the routers that own the addresses.
 */

import type { ForwardingTable } from './forwarding-table.ts';

/** The reasons for which a router drops a packet. */
export type DropReason =
  /** The bytes are no whole IP packet. */
  | 'malformed'
  /** No route holds the destination. */
  | 'no-route'
  /** The TTL or the hop limit is used up. */
  | 'ttl'
  /** The filter in the packet says that it was here before. */
  | 'loop'
  /** The link lost it, because it was told to. */
  | 'lost'
  /** The queue of the link was full. */
  | 'queue';

export type Decision<Port> = { readonly port: Port } | { readonly drop: DropReason };

/** Decides about a packet, and lowers its TTL if it is forwarded. */
export function forwardPacket<Port>(packet: Uint8Array, table: ForwardingTable<Port>): Decision<Port> {
  const version = packet.length > 0 ? packet[0] >> 4 : 0;
  const isIpv4 = version === 4;
  if (!(isIpv4 ? isWholeIpv4(packet) : version === 6 && isWholeIpv6(packet))) return { drop: 'malformed' };
  if (packet[isIpv4 ? 8 : 7] <= 1) return { drop: 'ttl' };
  const port = table.find(isIpv4 ? packet.subarray(16, 20) : packet.subarray(24, 40));
  if (port === undefined) return { drop: 'no-route' };
  if (isIpv4) lowerTtl(packet);
  else packet[7]--;
  return { port };
}

function isWholeIpv4(packet: Uint8Array): boolean {
  const head = 4 * (packet[0] & 15);
  const length = packet.length >= 20 ? (packet[2] << 8) | packet[3] : 0;
  return head >= 20 && length >= head && length <= packet.length;
}

function isWholeIpv6(packet: Uint8Array): boolean {
  return packet.length >= 40 && 40 + ((packet[4] << 8) | packet[5]) <= packet.length;
}

/** Lowers the TTL, the high byte of the word that the checksum counts at offset 8. */
function lowerTtl(packet: Uint8Array): void {
  const before = (packet[8] << 8) | packet[9];
  packet[8]--;
  const after = (packet[8] << 8) | packet[9];
  const checksum = (packet[10] << 8) | packet[11];
  let sum = (~checksum & 0xffff) + (~before & 0xffff) + after;
  sum = (sum & 0xffff) + (sum >>> 16);
  sum = (sum & 0xffff) + (sum >>> 16);
  packet[10] = (~sum >> 8) & 255;
  packet[11] = ~sum & 255;
}
