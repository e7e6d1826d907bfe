/**
 * A packet as questions carry it, from its IP header on: the fields that routers change are 0
 * (invariant-bytes.ts), so the question does not tell at which router the packet was captured. It
 * has the same digest as the packet itself, at each collector and for each number of payload bytes.
 */

import { MOST_PAYLOAD_BYTES } from './invariant-bytes.ts';
import { decodeOne } from './one-packet.ts';

/** The header of IPv6, and the first bytes behind it. */
const LEAST_IPV6_BYTES = 48;
const IPV4_MASKED: readonly number[] = [1, 8, 10, 11];
const IPV6_MASKED: readonly number[] = [1, 2, 3, 7];

/** A copy without the fields that routers change, and without bytes that no digest takes. */
export function maskedPacket(packet: Uint8Array): Uint8Array<ArrayBuffer> {
  const { headers } = decodeOne(packet);
  const isIpv4 = headers.version[0] === 4;
  // A digest looks at the start of a hop-by-hop header even if the packet says that it is shorter.
  const length = Math.max(headers.ipLength[0], isIpv4 ? 0 : LEAST_IPV6_BYTES);
  const end = Math.min(packet.length, length, headers.payloadOffset[0] + MOST_PAYLOAD_BYTES);
  const masked = Uint8Array.from(packet.subarray(0, end));
  if (!isIpv4) masked[0] = 0x60;
  for (const at of isIpv4 ? IPV4_MASKED : IPV6_MASKED) masked[at] = 0;
  return masked;
}
