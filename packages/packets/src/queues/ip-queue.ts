/**
 * IP packets in a queue discipline: the queue of a router's port. It knows the flow of a packet and
 * whether its sender understands marks, and sets the mark.
 *
 * The flow is the five-tuple. Fragments after the first have no ports, so the later fragments of a
 * pair of hosts count as one flow of their own. Packets behind IPv6 extension headers are told
 * apart by addresses and the first next header alone; more would let a sender make flows out of
 * headers.
 *
 * RFC 3168, section 5: the two lowest bits of the traffic class are 00 for a sender that does not
 * understand marks, 01 and 10 for one that does, and 11 for a mark. The checksum of an IPv4
 * header follows the change.
 */

import { changeByte } from '../routers/ipv4-checksum.ts';
import type { LinkQueue, Parcel } from '../routers/queued-link.ts';
import type { PacketQueue, QueueItem } from './packet-queue.ts';

const [NOT_ECN, MARKED] = [0, 3];
const [TCP, UDP] = [6, 17];

export class IpItem implements QueueItem {
  readonly parcel: Parcel;
  readonly flow: string;
  readonly byteLength: number;
  readonly isEcnCapable: boolean;

  constructor(parcel: Parcel) {
    const { packet } = parcel;
    this.parcel = parcel;
    this.flow = flowOf(packet);
    this.byteLength = packet.length;
    this.isEcnCapable = ecnOf(packet) !== NOT_ECN;
  }

  mark(): void {
    setMark(this.parcel.packet);
  }
}

export class IpQueue implements LinkQueue {
  readonly #queue: PacketQueue<IpItem>;

  constructor(queue: PacketQueue<IpItem>) {
    this.#queue = queue;
  }

  offer(parcel: Parcel, nowMs: number): number {
    return this.#queue.enqueue(new IpItem(parcel), nowMs).length;
  }

  take(nowMs: number): Parcel | null {
    return this.#queue.dequeue(nowMs)?.parcel ?? null;
  }
}

/** The five-tuple of a whole packet, as text of one character per byte. */
export function flowOf(packet: Uint8Array): string {
  const isIpv4 = packet[0] >> 4 === 4;
  const head = isIpv4 ? 4 * (packet[0] & 15) : 40;
  const protocol = packet[isIpv4 ? 9 : 6];
  const addresses = isIpv4 ? packet.subarray(12, 20) : packet.subarray(8, 40);
  // The offset of a fragment: 13 bits after the three flags.
  const isLaterFragment = isIpv4 && (((packet[6] & 0x1f) << 8) | packet[7]) !== 0;
  const hasPorts = (protocol === TCP || protocol === UDP) && !isLaterFragment && packet.length >= head + 4;
  const ports = hasPorts ? packet.subarray(head, head + 4) : [];
  return String.fromCharCode(protocol, ...addresses, ...ports);
}

function ecnOf(packet: Uint8Array): number {
  return packet[0] >> 4 === 4 ? packet[1] & 3 : (packet[1] >> 4) & 3;
}

/** Sets both bits of ECN, which a router may do if one of them is set. */
export function setMark(packet: Uint8Array): void {
  if (packet[0] >> 4 === 4) changeByte(packet, 1, packet[1] | MARKED);
  else packet[1] |= MARKED << 4;
}
