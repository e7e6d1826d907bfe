/**
 * The place where a fleet meets: a multicast group and a UDP port, such as 239.192.0.7:3130 or
 * [ff15::b100]:3130. IPv4 groups of 239.0.0.0/8 and IPv6 groups of ff15::/16 are free for local use
 * (RFC 2365, RFC 4291).
 */

import { isIPv4, isIPv6 } from 'node:net';

export interface MulticastGroup {
  /** Group and port in the one form that macs cover: nodes may write an IPv6 group differently. */
  readonly text: string;
  readonly group: string;
  readonly port: number;
  readonly family: 'udp4' | 'udp6';
}

const FORM = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/;

/** Reads GROUP:PORT. Throws a RangeError if it is none. */
export function parseMulticastGroup(text: string): MulticastGroup {
  const [, six, four, digits] = FORM.exec(text) ?? [];
  const group = six ?? four ?? '';
  const port = Number(digits);
  const isFour = four !== undefined && isIPv4(four) && isMulticastFirst(four);
  const isSix = six !== undefined && isIPv6(six) && /^ff/i.test(six);
  if (!(isFour || isSix) || !(port > 0 && port < 65_536))
    throw new RangeError(
      `Cannot use a multicast group: expected GROUP:PORT such as 239.192.0.7:3130, got ${JSON.stringify(text)}`,
    );
  const host = isSix ? plainAddress(group) : group;
  return { text: `${host}:${port}`, group, port, family: isSix ? 'udp6' : 'udp4' };
}

/** An IPv6 address in the form of RFC 5952, without its zone, which is a name of one machine. */
function plainAddress(address: string): string {
  return new URL(`http://[${address.replace(/%.*$/, '')}]`).hostname;
}

/** RFC 1112, section 4: "host groups are identified by class D IP addresses". */
function isMulticastFirst(address: string): boolean {
  const first = Number(address.split('.')[0]);
  return first >= 224 && first <= 239;
}
