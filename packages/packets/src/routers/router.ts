/**
 * A small router in user space: packets come in by ports, the longest prefix decides, and links can
 * be slow, narrow or lossy. Queues, multicast and loops are tried on it with real programs. Its
 * ports are TUN devices, to which the kernel sends real packets, and UDP sockets between routers.
 *
 * All decisions are elsewhere and pure: forward-packet.ts, link-model.ts, and the shim. The router
 * holds the ports and the timers. Time and randomness come from a clock, so a simulation can run
 * it.
 *
 * Between routers a packet can carry a header (`Shim`). A packet from a host gets one when it is
 * first sent to another router, keeps it on the way, and loses it when it goes to a host.
 *
 * Where it breaks down: one process, one packet at a time. The decision takes some tenths of a
 * microsecond, a new header some microseconds (bench/results/loops.md), and the way through pipes
 * and sockets more than both. It is no replacement for the kernel's forwarding.
 */

import {
  type DropReason,
  destinationOf,
  forwardPacket,
  lowerTtl,
  whyNotForwarded,
} from './forward-packet.ts';
import { ForwardingTable } from './forwarding-table.ts';
import { LinkModel, type LinkOptions } from './link-model.ts';
import { type LinkQueue, type Parcel, QueuedLink } from './queued-link.ts';
import type { RouterClock } from './router-clock.ts';

/** A way in and out: a TUN device, or the socket to another router. */
export interface Port {
  /** Sends a packet. The bytes may be changed after the call. */
  send(packet: Uint8Array): void;
}

/** A header that packets carry between routers. */
export interface Shim {
  /** The packet with a header in front, for its first hop. */
  wrap(packet: Uint8Array): Uint8Array;
  /** The start of the packet behind the header, or the reason to drop it. Changes the header. */
  arrive(bytes: Uint8Array): number | 'loop' | 'malformed';
}

export interface PortOptions extends LinkOptions {
  /** Whether another router is at the other end; its packets carry the shim. Default false. */
  readonly isRouter?: boolean;
  /**
   * A queue that the caller provides, in front of the link's bandwidth and in place of
   * `queueBytes`.
   */
  readonly queue?: LinkQueue;
}

/** The ports of multicast groups. */
export interface GroupForwarding {
  /** The ports that get a copy of a packet to a group which came in by `from`. */
  portsFor(group: Uint8Array, from: number): readonly number[];
}

export interface RouterOptions {
  readonly clock: RouterClock;
  /** The header between routers. Default: none. */
  readonly shim?: Shim;
  /** Forwards packets to multicast groups. Default: they are routed like all others. */
  readonly groups?: GroupForwarding;
  /** Sees each IP packet that is sent, with the number of its port, before the link decides. */
  readonly record?: (packet: Uint8Array, port: number) => void;
}

/** Numbers of packets so far. */
export interface RouterCounts {
  readonly received: number;
  readonly sent: number;
  readonly dropped: Readonly<Record<DropReason, number>>;
}

interface Attached {
  readonly number: number;
  readonly port: Port;
  readonly isRouter: boolean;
  /** Delay and loss, and the bandwidth if the caller provides no queue. */
  readonly link: LinkModel;
  readonly queued: QueuedLink | null;
  /** Whether a timer waits for the packet that is being sent. */
  isServed: boolean;
  /** Packets that have not arrived at the other end, in their order. */
  readonly underWay: { readonly atMs: number; readonly bytes: Uint8Array }[];
  /** Whether a timer runs for the first of them. */
  isWaiting: boolean;
}

export class Router {
  readonly #clock: RouterClock;
  readonly #shim: Shim | undefined;
  readonly #record: RouterOptions['record'];
  readonly #groups: GroupForwarding | undefined;
  readonly #table = new ForwardingTable<Attached>();
  readonly #ports: Attached[] = [];
  readonly #timers = new Set<() => void>();
  readonly #dropped = { malformed: 0, 'no-route': 0, ttl: 0, loop: 0, lost: 0, queue: 0 };
  #received = 0;
  #sent = 0;

  constructor({ clock, shim, record, groups }: RouterOptions) {
    this.#clock = clock;
    this.#shim = shim;
    this.#record = record;
    this.#groups = groups;
  }

  get counts(): RouterCounts {
    return { received: this.#received, sent: this.#sent, dropped: { ...this.#dropped } };
  }

  /** Attaches a port, and returns its number. The caller passes its packets to `receive`. */
  attach(port: Port, { isRouter = false, queue, ...options }: PortOptions = {}): number {
    const number = this.#ports.length;
    const { bitsPerSecond = Infinity, delayMs = 0, loss = 0 } = options;
    const link = new LinkModel(queue === undefined ? options : { delayMs, loss });
    const queued = queue === undefined ? null : new QueuedLink(queue, bitsPerSecond);
    this.#ports.push({
      number,
      port,
      isRouter,
      link,
      queued,
      isServed: false,
      underWay: [],
      isWaiting: false,
    });
    return number;
  }

  /** Sends packets to this prefix out by a port: `route('10.77.0.0/16', port)`. */
  route(prefix: string, port: number): void {
    this.#table.add(prefix, this.#portOf(port));
  }

  /** Takes a packet that came in by a port. Its bytes belong to the router from then on. */
  receive(port: number, bytes: Uint8Array): void {
    this.#received++;
    const { isRouter } = this.#portOf(port);
    const start = isRouter && this.#shim !== undefined ? this.#shim.arrive(bytes) : 0;
    if (typeof start === 'string') {
      this.#dropped[start]++;
      return;
    }
    const packet = bytes.subarray(start);
    if (this.#groups !== undefined && isToGroup(packet)) {
      this.#sendCopies(this.#groups, { bytes, packet }, port);
      return;
    }
    const decision = forwardPacket(packet, this.#table);
    if ('drop' in decision) this.#dropped[decision.drop]++;
    else this.#send(decision.port, { bytes, packet });
  }

  /** Sends a copy of a packet to each port of its group. Each copy has bytes of its own. */
  #sendCopies(groups: GroupForwarding, { bytes, packet }: Parcel, from: number): void {
    const drop = whyNotForwarded(packet);
    const ports = drop === null ? groups.portsFor(destinationOf(packet), from) : [];
    if (ports.length === 0) {
      this.#dropped[drop ?? 'no-route']++;
      return;
    }
    lowerTtl(packet);
    const start = bytes.length - packet.length;
    for (const port of ports) {
      const copy = bytes.slice();
      this.#send(this.#portOf(port), { bytes: copy, packet: copy.subarray(start) });
    }
  }

  /** Forgets the packets that are under way. */
  close(): void {
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
    for (const to of this.#ports) {
      to.underWay.length = 0;
      to.isWaiting = false;
      to.isServed = false;
    }
  }

  #send(to: Attached, parcel: Parcel): void {
    this.#record?.(parcel.packet, to.number);
    const nowMs = this.#clock.monotonic();
    const { queued } = to;
    if (queued === null) {
      this.#pass(to, parcel, nowMs);
      return;
    }
    // Packets whose time has come leave first: the timer may be late.
    this.#serve(to, nowMs);
    this.#dropped.queue += queued.offer(parcel, nowMs);
    this.#serveLater(to);
  }

  /** Passes on the packets that have left the queue of a port by now. */
  #serve(to: Attached, nowMs: number): void {
    for (let left = to.queued!.leave(nowMs); left !== null; left = to.queued!.leave(nowMs))
      this.#pass(to, left.parcel, left.atMs);
  }

  #serveLater(to: Attached): void {
    const { nextMs } = to.queued!;
    if (to.isServed || nextMs === Infinity) return;
    to.isServed = true;
    const cancel = this.#clock.after(Math.max(0, nextMs - this.#clock.monotonic()), () => {
      this.#timers.delete(cancel);
      to.isServed = false;
      this.#serve(to, this.#clock.monotonic());
      this.#serveLater(to);
    });
    this.#timers.add(cancel);
  }

  /** Sends a packet over the link of a port, which it enters at `nowMs`. */
  #pass(to: Attached, { bytes, packet }: Parcel, nowMs: number): void {
    const isBare = bytes.length === packet.length;
    const wrapped =
      to.isRouter && this.#shim !== undefined ? (isBare ? this.#shim.wrap(packet) : bytes) : packet;
    const passage = to.link.offer(wrapped.length, nowMs, this.#clock.random());
    if ('drop' in passage) {
      this.#dropped[passage.drop]++;
      return;
    }
    this.#sent++;
    if (passage.atMs <= nowMs) {
      to.port.send(wrapped);
      return;
    }
    to.underWay.push({ atMs: passage.atMs, bytes: wrapped });
    if (!to.isWaiting) this.#wait(to);
  }

  /**
   * Waits for the first packet that is under way to a port. There is one timer per port, so that
   * packets leave in their order: two timers of Node can fire in the wrong order within a
   * millisecond. A packet that comes back while the callback sends does not start another one.
   */
  #wait(to: Attached): void {
    const first = to.underWay[0];
    to.isWaiting = first !== undefined;
    if (first === undefined) return;
    const cancel = this.#clock.after(Math.max(0, first.atMs - this.#clock.monotonic()), () => {
      this.#timers.delete(cancel);
      const nowMs = this.#clock.monotonic();
      while (to.underWay.length > 0 && to.underWay[0]!.atMs <= nowMs)
        to.port.send(to.underWay.shift()!.bytes);
      this.#wait(to);
    });
    this.#timers.add(cancel);
  }

  #portOf(number: number): Attached {
    const port = this.#ports[number];
    if (port !== undefined) return port;
    throw new RangeError(`Cannot use a port: expected a number below ${this.#ports.length}, got ${number}`);
  }
}

/** Whether a packet goes to a group: 224.0.0.0/4 or ff00::/8. */
function isToGroup(packet: Uint8Array): boolean {
  const isIpv4 = packet.length >= 20 && packet[0] >> 4 === 4;
  if (isIpv4) return packet[16] >> 4 === 14;
  return packet.length >= 40 && packet[0] >> 4 === 6 && packet[24] === 255;
}
