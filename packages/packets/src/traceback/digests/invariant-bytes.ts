/**
 * The bytes of a packet that no router changes: the packet's identity on its whole path.
 *
 * Masked to zero in IPv4: the type of service, the TTL and the header checksum. Options are left
 * out, because some of them record the route. Masked in IPv6: the traffic class, the flow label and
 * the hop limit; a hop-by-hop header is left out. RFC 6437 lets a router set a flow label that is
 * zero. All other bytes count, up to `payloadBytes` behind the header.
 *
 * The number of payload bytes. SPIE takes 8, 28 bytes in all. Since RFC 6864 a packet that may not
 * be fragmented can carry the identification 0, so 28 bytes no longer tell packets apart: in one
 * capture of a VPN 29 % of the packets share them with another one. Our default is 44, which makes
 * 64 bytes in IPv4 and 84 in IPv6, and reaches past a TCP header with time stamps.
 * `bench/results/traceback.md` has the share of confused packets by the number of bytes.
 *
 * We refused the digests of `loops/packet-digests.ts`, because they contain the interface. A packet
 * must have the same identity at every collector.
 *
 * Where it breaks down: network cards and kernels that join segments before the capture (GRO, LRO)
 * show packets that were never on the wire. A router that captures them has other packets than its
 * neighbours. NAT, fragmentation and tunnels are the subject of `transforms/`.
 */

/** Bytes of the payload in a digest, unless the caller asks for another number. */
export const DEFAULT_PAYLOAD_BYTES = 44;
/** The most bytes of the payload: no Ethernet frame carries more. */
export const MOST_PAYLOAD_BYTES = 1480;

const IPV4_BYTES = 20;
const IPV6_BYTES = 40;
const HOP_BY_HOP = 0;

/** Bytes of the header in front of the payload that identify a packet. */
export function headBytes(version: number): number {
  return version === 4 ? IPV4_BYTES : IPV6_BYTES;
}

/**
 * Writes the invariant bytes of the packet whose IP header begins at `from`, and returns their end
 * in `into`. `end` is the end of the captured bytes, `ipLength` the length of the whole IP packet.
 * Returns -1 if the capture cut a byte that counts. The caller has checked the header: version 4
 * with at least 20 bytes, or version 6 with at least 40.
 */
export function writeInvariant(
  bytes: Uint8Array,
  from: number,
  end: number,
  ipLength: number,
  payloadBytes: number,
  into: Uint8Array,
  at: number,
): number {
  const isIpv4 = bytes[from] >>> 4 === 4;
  const head = isIpv4 ? IPV4_BYTES : IPV6_BYTES;
  for (let i = 0; i < head; i++) into[at + i] = bytes[from + i];
  let payload: number;
  if (isIpv4) {
    // The length of the header belongs to the options.
    into[at] = 0x40;
    into[at + 1] = 0;
    into[at + 8] = 0;
    into[at + 10] = 0;
    into[at + 11] = 0;
    payload = from + 4 * (bytes[from] & 15);
  } else {
    into[at] = 0x60;
    into[at + 1] = 0;
    into[at + 2] = 0;
    into[at + 3] = 0;
    into[at + 7] = 0;
    payload = from + IPV6_BYTES;
    if (bytes[from + 6] === HOP_BY_HOP) {
      if (payload + 2 > end) return -1;
      payload += 8 * (bytes[payload + 1] + 1);
    }
  }
  const stop = Math.min(from + ipLength, payload + payloadBytes);
  if (stop > end) return -1;
  let next = at + head;
  for (let i = payload; i < stop; i++) into[next++] = bytes[i];
  return next;
}
