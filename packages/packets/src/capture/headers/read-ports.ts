/** Reads the ports of a transport header, or what stands for them. */

const ICMP = 1;
const TCP = 6;
const UDP = 17;
const DCCP = 33;
const ICMPV6 = 58;
const SCTP = 132;
const UDP_LITE = 136;

/**
 * Source port × 65536 + destination port; type × 256 + code for ICMP, as NetFlow has it; 0 for
 * protocols without ports; -1 if the protocol has ports and the bytes end before them.
 */
export function readPorts(view: DataView, at: number, end: number, protocol: number): number {
  switch (protocol) {
    case TCP:
    case UDP:
    case SCTP:
    case DCCP:
    case UDP_LITE:
      return end - at >= 4 ? view.getUint32(at) : -1;
    case ICMP:
    case ICMPV6:
      return end - at >= 2 ? view.getUint16(at) : -1;
    default:
      return 0;
  }
}
