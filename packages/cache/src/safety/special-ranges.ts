/**
 * Addresses that are not ordinary hosts of the internet: the IANA special-purpose registries (RFC
 * 6890 and the RFCs that added to them), and the addresses at which cloud providers give a machine
 * its own secrets.
 *
 * `private` ranges are networks that an operator may legitimately want to reach; `allowPrivate`
 * opens them. `never` ranges cannot hold an origin, or are far too dangerous to open with a general
 * switch: only a range named in `allow` opens them. The metadata addresses therefore stay closed
 * when a whole private network is opened.
 *
 * In IPv6, only 2000::/3 is global unicast (RFC 4291, 2.4 and IANA); all other addresses are
 * refused even if no row below names them. Addresses that contain an IPv4 address (NAT64, 6to4,
 * Teredo, ISATAP) are allowed only if that address is, because a gateway would deliver the packet
 * to it.
 *
 * Where it breaks down: a NAT64 gateway may use a prefix of its own network, which cannot be known
 * here. The operator of such a network adds that prefix to `deny`.
 */

import { type Cidr, cidrContains, parseCidr } from './cidr.ts';
import type { IpAddress } from './ip-address.ts';

export interface SpecialRange {
  readonly range: Cidr;
  readonly kind: 'private' | 'never';
  readonly what: string;
}

/** The first match counts, so the metadata addresses come before the networks that contain them. */
const rows: readonly (readonly [cidr: string, kind: SpecialRange['kind'], what: string])[] = [
  ['169.254.169.254/32', 'never', 'a cloud metadata address'],
  ['169.254.170.2/32', 'never', 'a cloud metadata address'],
  ['100.100.100.200/32', 'never', 'a cloud metadata address'],
  ['168.63.129.16/32', 'never', 'a cloud metadata address'],
  ['fd00:ec2::/32', 'never', 'a cloud metadata address'],
  ['fd20:ce::254/128', 'never', 'a cloud metadata address'],
  ['fd00:c1::a9fe:a9fe/128', 'never', 'a cloud metadata address'],
  ['fd00:42::42/128', 'never', 'a cloud metadata address'],

  ['0.0.0.0/8', 'never', 'a "this network" address (RFC 1122)'],
  ['10.0.0.0/8', 'private', 'a private address (RFC 1918)'],
  ['100.64.0.0/10', 'private', 'a carrier NAT address (RFC 6598)'],
  ['127.0.0.0/8', 'private', 'a loopback address (RFC 1122)'],
  ['169.254.0.0/16', 'never', 'a link-local address (RFC 3927)'],
  ['172.16.0.0/12', 'private', 'a private address (RFC 1918)'],
  ['192.0.0.0/24', 'never', 'a protocol assignment (RFC 6890)'],
  ['192.0.2.0/24', 'never', 'a documentation address (RFC 5737)'],
  ['192.31.196.0/24', 'never', 'an AS112 address (RFC 7535)'],
  ['192.52.193.0/24', 'never', 'a multicast relay address (RFC 7450)'],
  ['192.88.99.0/24', 'never', 'a former 6to4 relay address (RFC 7526)'],
  ['192.168.0.0/16', 'private', 'a private address (RFC 1918)'],
  ['192.175.48.0/24', 'never', 'an AS112 address (RFC 7534)'],
  ['198.18.0.0/15', 'never', 'a benchmarking address (RFC 2544)'],
  ['198.51.100.0/24', 'never', 'a documentation address (RFC 5737)'],
  ['203.0.113.0/24', 'never', 'a documentation address (RFC 5737)'],
  ['224.0.0.0/4', 'never', 'a multicast address (RFC 5771)'],
  ['255.255.255.255/32', 'never', 'the broadcast address (RFC 919)'],
  ['240.0.0.0/4', 'never', 'a reserved address (RFC 1112)'],

  ['::/128', 'never', 'the unspecified address (RFC 4291)'],
  ['::1/128', 'private', 'the loopback address (RFC 4291)'],
  ['::/96', 'never', 'an IPv4-compatible address (RFC 4291, deprecated)'],
  ['64:ff9b:1::/48', 'never', 'a local NAT64 address (RFC 8215)'],
  ['100::/64', 'never', 'a discard address (RFC 6666)'],
  ['100:0:0:1::/64', 'never', 'a dummy address (RFC 9780)'],
  ['2001:2::/48', 'never', 'a benchmarking address (RFC 5180)'],
  ['2001:10::/28', 'never', 'an ORCHID address (RFC 4843, deprecated)'],
  ['2001:20::/28', 'never', 'an ORCHIDv2 address (RFC 7343)'],
  ['2001:30::/28', 'never', 'a drone identity (RFC 9374)'],
  ['2001::/23', 'never', 'a protocol assignment (RFC 6890)'],
  ['2001:db8::/32', 'never', 'a documentation address (RFC 3849)'],
  ['2620:4f:8000::/48', 'never', 'an AS112 address (RFC 7534)'],
  ['3fff::/20', 'never', 'a documentation address (RFC 9637)'],
  ['5f00::/16', 'never', 'a segment routing address (RFC 9602)'],
  ['fc00::/7', 'private', 'a unique local address (RFC 4193)'],
  ['fe80::/10', 'never', 'a link-local address (RFC 4291)'],
  ['fec0::/10', 'never', 'a site-local address (RFC 3879, deprecated)'],
  ['ff00::/8', 'never', 'a multicast address (RFC 4291)'],
];

export const SPECIAL_RANGES: readonly SpecialRange[] = rows.map(([cidr, kind, what]) => ({
  range: parseCidr(cidr),
  kind,
  what,
}));

const notGlobalUnicast: SpecialRange = {
  range: parseCidr('::/0'),
  kind: 'never',
  what: 'outside the addresses given out so far (RFC 4291)',
};

const nat64 = parseCidr('64:ff9b::/96');
const teredo = parseCidr('2001::/32');
const globalUnicast = parseCidr('2000::/3');

/** The special range that contains an address, or null for an ordinary address. */
export function specialRange(address: IpAddress): SpecialRange | null {
  // These two are checked by the address that they contain. Teredo lies inside the protocol
  // assignments.
  if (cidrContains(nat64, address) || cidrContains(teredo, address)) return null;
  for (const special of SPECIAL_RANGES) if (cidrContains(special.range, address)) return special;
  if (address.family === 4 || cidrContains(globalUnicast, address)) return null;
  return notGlobalUnicast;
}

/** The IPv4 addresses inside an IPv6 address to which a gateway would deliver. */
export function embeddedAddresses(address: IpAddress): readonly IpAddress[] {
  if (address.family === 4) return [];
  const [a, b, c, d] = address.words as [number, number, number, number];
  const v4 = (word: number): IpAddress => ({ family: 4, words: [word >>> 0] });
  const found: IpAddress[] = [];
  // RFC 6052, 2.1: the last 32 bits.
  if (cidrContains(nat64, address)) found.push(v4(d));
  // RFC 3056, 2: the 32 bits after 2002.
  if (a >>> 16 === 0x2002) found.push(v4(((a & 0xffff) << 16) | (b >>> 16)));
  // RFC 4380, 4: the server's address, and the client's address with every bit inverted.
  if (cidrContains(teredo, address)) found.push(v4(b), v4(~d));
  // RFC 5214, 6.1: ISATAP interface identifiers, under any prefix.
  if (c === 0x00005efe || c === 0x02005efe) found.push(v4(d));
  return found;
}
