/**
 * Packets for tests, byte by byte from the RFCs and apart from the code under test: a builder that
 * shared code with the decoder would share its faults.
 */

/** Bytes of numbers, in the given widths, in network order. */
function fields(...pairs: readonly (readonly [value: number, bytes: number])[]): number[] {
  return pairs.flatMap(([value, bytes]) =>
    Array.from({ length: bytes }, (_, i) => Math.floor(value / 256 ** (bytes - 1 - i)) % 256),
  );
}

export function join(...parts: readonly (readonly number[] | Uint8Array)[]): Uint8Array {
  return Uint8Array.from(parts.flatMap((part) => [...part]));
}

/** An Ethernet header, with VLAN tags if asked for. */
export function ethernet(
  etherType: number,
  ...vlans: readonly (readonly [tpid: number, id: number])[]
): number[] {
  const addresses = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
  return [
    ...addresses,
    ...vlans.flatMap(([tpid, id]) => fields([tpid, 2], [id, 2])),
    ...fields([etherType, 2]),
  ];
}

export interface Ipv4Fields {
  readonly source?: readonly number[];
  readonly destination?: readonly number[];
  readonly protocol: number;
  readonly id?: number;
  readonly ttl?: number;
  /** Offset in units of 8 bytes. */
  readonly fragmentOffset?: number;
  readonly moreFragments?: boolean;
  /** Bytes of options, a multiple of 4. */
  readonly options?: readonly number[];
  /** Total length; that of the packet by default. */
  readonly length?: number;
}

export function ipv4(header: Ipv4Fields, payload: Uint8Array): Uint8Array {
  const { source = [10, 0, 0, 1], destination = [10, 0, 0, 2], protocol, id = 1, ttl = 64 } = header;
  const { options = [], fragmentOffset = 0, moreFragments = false } = header;
  const headerBytes = 20 + options.length;
  const length = header.length ?? headerBytes + payload.length;
  const bytes = fields(
    [0x40 + headerBytes / 4, 1],
    [0, 1],
    [length, 2],
    [id, 2],
    [(moreFragments ? 0x2000 : 0) + fragmentOffset, 2],
    [ttl, 1],
    [protocol, 1],
    [0, 2],
  );
  const whole = [...bytes, ...source, ...destination, ...options];
  const sum = checksum(whole);
  whole[10] = sum >>> 8;
  whole[11] = sum & 255;
  return join(whole, payload);
}

/** The Internet checksum (RFC 1071). */
function checksum(bytes: readonly number[]): number {
  let sum = 0;
  for (let i = 0; i < bytes.length; i += 2) sum += bytes[i] * 256 + (bytes[i + 1] ?? 0);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
}

const IPV6_SOURCE: readonly number[] = [0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
const IPV6_DESTINATION: readonly number[] = [0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2];

/** An IPv6 packet; `payload` begins with the extension headers, if any. */
export function ipv6(nextHeader: number, payload: Uint8Array, length = payload.length): Uint8Array {
  const head = fields([6 * 2 ** 28, 4], [length, 2], [nextHeader, 1], [64, 1]);
  return join(head, IPV6_SOURCE, IPV6_DESTINATION, payload);
}

/** An extension header as hop-by-hop, routing and destination options have it. */
export function extension(next: number, units: number): number[] {
  return [next, units, ...new Array<number>(6 + 8 * units).fill(0)];
}

/** The fragment header of IPv6; the offset is in units of 8 bytes. */
export function fragmentHeader(next: number, offset: number, more: boolean, id: number): number[] {
  return fields([next, 1], [0, 1], [offset * 8 + (more ? 1 : 0), 2], [id, 4]);
}

export function udp(
  source: number,
  destination: number,
  payload: Uint8Array | readonly number[] = [],
): Uint8Array {
  return join(fields([source, 2], [destination, 2], [8 + payload.length, 2], [0, 2]), payload);
}

export function tcp(source: number, destination: number, payload: readonly number[] = []): Uint8Array {
  const head = fields([source, 2], [destination, 2], [1, 4], [0, 4], [0x5010, 2], [1000, 2], [0, 4]);
  return join(head, payload);
}

/** A GRE header (RFC 2890) with the given flags and the fields that they announce. */
export function gre(flags: number, protocol: number): number[] {
  const optional = [0x8000, 0x2000, 0x1000].filter((flag) => (flags & flag) !== 0).length * 4;
  return [...fields([flags, 2], [protocol, 2]), ...new Array<number>(optional).fill(0)];
}

export const VXLAN_HEADER: readonly number[] = [8, 0, 0, 0, 0, 0, 42, 0];
