/**
 * The decision of a router about an IP packet: to which port it goes, or why it is dropped.
 * The TTL is lowered in the packet itself, and the IPv4 checksum follows.
 *
 * The header checksum is not verified on the way: the link below has one, and a host verifies it.
 * Link-local packets stay on their link (RFC 3927, section 7; RFC 4291, section 2.5.6: "Routers
 * must not forward any packets with Link-Local source or destination addresses to other links"),
 * and so does multicast with the scope of a link. They count as packets without a route.
 *
 * A dropped packet is counted and not answered. ICMP messages of a router (RFC 1812) are left to
 * the routers that own the addresses.
 */

import type { ForwardingTable } from './forwarding-table.ts';
import { changeByte } from './ipv4-checksum.ts';

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
  const drop = whyNotForwarded(packet);
  if (drop !== null) return { drop };
  const port = table.find(destinationOf(packet));
  if (port === undefined) return { drop: 'no-route' };
  lowerTtl(packet);
  return { port };
}

/** The reason to drop a packet whatever its destination, or null. */
export function whyNotForwarded(packet: Uint8Array): 'malformed' | 'ttl' | 'no-route' | null {
  const version = packet.length > 0 ? packet[0] >> 4 : 0;
  const isIpv4 = version === 4;
  if (!(isIpv4 ? isWholeIpv4(packet) : version === 6 && isWholeIpv6(packet))) return 'malformed';
  if (packet[isIpv4 ? 8 : 7] <= 1) return 'ttl';
  return (isIpv4 ? staysOnLink4(packet) : staysOnLink6(packet)) ? 'no-route' : null;
}

/** The address that a whole packet goes to: 4 or 16 bytes. */
export function destinationOf(packet: Uint8Array): Uint8Array {
  return packet[0] >> 4 === 4 ? packet.subarray(16, 20) : packet.subarray(24, 40);
}

/** Lowers the TTL or the hop limit of a whole packet. */
export function lowerTtl(packet: Uint8Array): void {
  if (packet[0] >> 4 === 4) changeByte(packet, 8, packet[8] - 1);
  else packet[7]--;
}

function isWholeIpv4(packet: Uint8Array): boolean {
  const head = 4 * (packet[0] & 15);
  const length = packet.length >= 20 ? (packet[2] << 8) | packet[3] : 0;
  return head >= 20 && length >= head && length <= packet.length;
}

function isWholeIpv6(packet: Uint8Array): boolean {
  return packet.length >= 40 && 40 + ((packet[4] << 8) | packet[5]) <= packet.length;
}

/** Whether an address is of 169.254.0.0/16, or the destination of 224.0.0.0/24. */
function staysOnLink4(packet: Uint8Array): boolean {
  const isLocal = (at: number) => packet[at] === 169 && packet[at + 1] === 254;
  return isLocal(12) || isLocal(16) || (packet[16] === 224 && packet[17] === 0 && packet[18] === 0);
}

/** Whether an address is of fe80::/10, or the destination of multicast scope 1 or 2 (RFC 7346). */
function staysOnLink6(packet: Uint8Array): boolean {
  const isLocal = (at: number) => packet[at] === 0xfe && (packet[at + 1] & 0xc0) === 0x80;
  const scope = packet[24] === 0xff ? packet[25] & 15 : 15;
  return isLocal(8) || isLocal(24) || scope <= 2;
}
