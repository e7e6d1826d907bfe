/**
 * Finds the IP header behind the header of the link: Ethernet with VLAN tags, MPLS labels or PPPoE,
 * Linux cooked captures, BSD loopback, and raw IP.
 *
 * The numbers of the link types are those of https://www.tcpdump.org/linktypes.html. The result is
 * one number, position × 4 + kind, because an object per packet would cost more than the decoding.
 */

/** Kinds of results in the lowest two bits. */
export const LINK = {
  /** An IP header, of the version that its first byte tells. */
  ip: 0,
  /** Another protocol. */
  notIp: 1,
  /** The captured bytes end before the header of the link does. */
  cut: 2,
  /** An unknown link type. */
  unknown: 3,
} as const;

export const ETHERNET = 1;
export const ETHERTYPE_IPV4 = 0x0800;
const ETHERTYPE_IPV6 = 0x86dd;

const MPLS = 0x8847;
const MPLS_MULTICAST = 0x8848;
const PPPOE_SESSION = 0x8864;
const PPP_IPV4 = 0x0021;
const PPP_IPV6 = 0x0057;

const NULL = 0;
const RAW = 101;
const RAW_BSD = 12;
const RAW_OPENBSD = 14;
const LOOP = 108;
const LINUX_SLL = 113;
const IPV4 = 228;
const IPV6 = 229;
const LINUX_SLL2 = 276;

/** The IP header behind the link header at `at`, as position × 4 + a kind of `LINK`. */
export function findIp(view: DataView, at: number, end: number, linkType: number): number {
  switch (linkType) {
    case ETHERNET:
      return end - at < 14 ? LINK.cut : behindEtherType(view, at + 14, end, view.getUint16(at + 12));
    case LINUX_SLL:
      return end - at < 16 ? LINK.cut : behindEtherType(view, at + 16, end, view.getUint16(at + 14));
    case LINUX_SLL2:
      return end - at < 20 ? LINK.cut : behindEtherType(view, at + 20, end, view.getUint16(at));
    case NULL:
      return end - at < 4 ? LINK.cut : behindFamily(at + 4, hostOrderFamily(view, at));
    case LOOP:
      return end - at < 4 ? LINK.cut : behindFamily(at + 4, view.getUint32(at));
    case RAW:
    case RAW_BSD:
    case RAW_OPENBSD:
    case IPV4:
    case IPV6:
      return at * 4 + LINK.ip;
    default:
      return LINK.unknown;
  }
}

/** The IP header at `at`, or behind the tags and labels there. */
export function behindEtherType(view: DataView, at: number, end: number, etherType: number): number {
  // 802.1Q, 802.1ad, and the numbers that switches used before 802.1ad.
  while (etherType === 0x8100 || etherType === 0x88a8 || etherType === 0x9100 || etherType === 0x9200) {
    if (end - at < 4) return LINK.cut;
    etherType = view.getUint16(at + 2);
    at += 4;
  }
  if (etherType === ETHERTYPE_IPV4 || etherType === ETHERTYPE_IPV6) return at * 4 + LINK.ip;
  if (etherType === MPLS || etherType === MPLS_MULTICAST) return behindLabels(view, at, end);
  return etherType === PPPOE_SESSION ? behindPppoe(view, at, end) : LINK.notIp;
}

/**
 * The IP header behind MPLS labels (RFC 3032). Labels do not name what they carry, so this looks at
 * the version number behind them, as routers and tcpdump do.
 */
function behindLabels(view: DataView, at: number, end: number): number {
  while (true) {
    if (end - at < 4) return LINK.cut;
    const isLast = (view.getUint8(at + 2) & 1) === 1;
    at += 4;
    if (!isLast) continue;
    if (end <= at) return LINK.cut;
    const version = view.getUint8(at) >>> 4;
    return version === 4 || version === 6 ? at * 4 + LINK.ip : LINK.notIp;
  }
}

/** The IP header behind a PPPoE session header (RFC 2516) and the protocol number of PPP. */
function behindPppoe(view: DataView, at: number, end: number): number {
  if (end - at < 8) return LINK.cut;
  const protocol = view.getUint16(at + 6);
  return protocol === PPP_IPV4 || protocol === PPP_IPV6 ? (at + 8) * 4 + LINK.ip : LINK.notIp;
}

/**
 * The address family of a null header, which is in the byte order of the machine that captured: the
 * order in which the number is small.
 */
function hostOrderFamily(view: DataView, at: number): number {
  const family = view.getUint32(at);
  return family > 0xffff ? view.getUint32(at, true) : family;
}

/** Address families: IPv4 is 2; IPv6 is 10 on Linux, 24, 28 or 30 on the BSDs, 23 on Windows. */
function behindFamily(at: number, family: number): number {
  const isIp =
    family === 2 || family === 10 || family === 23 || family === 24 || family === 28 || family === 30;
  return isIp ? at * 4 + LINK.ip : LINK.notIp;
}
