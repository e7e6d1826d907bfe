/**
 * The headers of a batch of packets, as columns: flow keys, IP lengths and marks.
 *
 * A flow key is a row of 32-bit words, each in the order in which people write it (10.0.0.1 is
 * 0x0a000001), so that a prefix is a mask and a hash reads words:
 *
 * | word | IPv4 (4 words) | IPv6 (10 words) |
 * |---|---|---|
 * | 0 | source | source, first 32 bits |
 * | 1 | destination | source |
 * | 2 | source port × 65536 + destination port | source |
 * | 3 | 4 × 256 + protocol | source, last 32 bits |
 * | 4–7 | | destination |
 * | 8 | | source port × 65536 + destination port |
 * | 9 | | 6 × 256 + protocol |
 *
 * The version is part of the last word, so keys of both versions never agree. Mapping IPv4 into
 * IPv6 was refused: every IPv4 key would be 40 bytes to write, hash and compare instead of 16.
 *
 * For ICMP and ICMPv6 the ports are 0 and type × 256 + code, as in NetFlow. They are 0 and 0 for
 * other protocols without ports, for fragments after the first, and where the capture cut them.
 */

/** Words from one key to the next. */
export const KEY_WORDS = 10;
/** Words of an IPv4 key. The key of an IPv6 packet takes all `KEY_WORDS`. */
export const IPV4_KEY_WORDS = 4;

/** Results of decoding a packet, in `HeaderBatch.status`. */
export const STATUS = {
  /** The flow key and the IP length are there. */
  decoded: 0,
  /** The packet is not IP: ARP, LLDP, spanning tree and so on. */
  notIp: 1,
  /** The captured bytes end before the IP header does. */
  cut: 2,
  /** An IP header that contradicts itself. */
  malformed: 3,
  /** A link type that this release does not know. */
  linkType: 4,
} as const;

/** Marks of a decoded packet, in `HeaderBatch.marks`: bits that are added up. */
export const MARK = {
  /** A fragment, the first one included. */
  fragment: 1,
  /** A fragment after the first: it has no ports. */
  laterFragment: 2,
  /** The packet should have ports, and its bytes end before them. */
  noPorts: 4,
  /** The headers are those of a packet inside a tunnel. */
  inner: 8,
  /** The IP length was 0 (offloading to the network card), and is taken from the wire length. */
  lengthFromWire: 16,
} as const;

export class HeaderBatch {
  /** Packets that fit. */
  readonly capacity: number;
  /** Packets that it holds now; the same number as in the batch of packets. */
  count = 0;
  /** One of `STATUS`. The other columns are defined for `STATUS.decoded` only. */
  readonly status: Uint8Array;
  /** IP version, 4 or 6; 0 if the packet was not decoded. */
  readonly version: Uint8Array;
  /** Flow keys, `KEY_WORDS` apart. */
  readonly keys: Uint32Array;
  /** Length of the IP packet with its header, as the header tells: the bytes of NetFlow. */
  readonly ipLength: Uint32Array;
  /** Start of the IP header in `PacketBatch.bytes`. */
  readonly ipOffset: Uint32Array;
  /** Start of the payload of IP, which may lie behind the captured bytes. */
  readonly payloadOffset: Uint32Array;
  /** A sum of `MARK`. */
  readonly marks: Uint8Array;
  /** Identification of the datagram; defined for packets with `MARK.fragment`. */
  readonly fragmentId: Uint32Array;

  constructor(capacity: number) {
    this.capacity = capacity;
    this.status = new Uint8Array(capacity);
    this.version = new Uint8Array(capacity);
    this.keys = new Uint32Array(capacity * KEY_WORDS);
    this.ipLength = new Uint32Array(capacity);
    this.ipOffset = new Uint32Array(capacity);
    this.payloadOffset = new Uint32Array(capacity);
    this.marks = new Uint8Array(capacity);
    this.fragmentId = new Uint32Array(capacity);
  }
}
