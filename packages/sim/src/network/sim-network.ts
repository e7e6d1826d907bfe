/**
 * A network in sim: any number of transports under one clock, with faults for each direction of
 * each link. Tests and simulations run on it.
 *
 * It behaves like the HTTP adapter towards its users, with these differences. There are no
 * heartbeats: a link that is cut counts as lost after the time of three, so an idle fleet of a
 * thousand nodes costs no events. Loss, duplication, reordering and damage reach the users, where
 * TCP and signatures would repair or refuse; protocols on top must stand them all, because other
 * adapters will have them. Connections are set up without loss, as TCP would repeat the attempt.
 */

import type { Clock } from '@bloomery/transport';
import { arrivals, type LinkFaults, NO_FAULTS } from './link-faults.ts';
import type { SimLink } from './sim-link.ts';
import { SimTransport } from './sim-transport.ts';

export interface SimNetworkOptions {
  readonly heartbeatMs?: number | undefined;
}

export interface SimNodeOptions {
  readonly id: string;
  /** The address of the node; `sim:` and its id if it is left out. */
  readonly address?: string | undefined;
  /** Addresses of its neighbours. */
  readonly peers: readonly string[];
}

const HEARTBEAT_MS = 5000;
const MISSED_HEARTBEATS = 3;

/** Messages of one direction that wait for their arrival, in order. */
interface Direction {
  faults: LinkFaults | null;
  readonly queue: (() => void)[];
  /** The time of the last arrival in the queue. */
  lastMs: number;
}

export class SimNetwork {
  readonly clock: Clock;
  /** Silence after which a link counts as lost. */
  readonly silenceMs: number;
  readonly #nodes = new Map<string, SimTransport>();
  readonly #directions = new Map<string, Direction>();
  readonly #cuts = new Set<string>();
  /** The links that work, by the address that they lead to. */
  readonly #links = new Map<string, Set<SimLink>>();
  #faults: LinkFaults = NO_FAULTS;

  constructor(clock: Clock, { heartbeatMs = HEARTBEAT_MS }: SimNetworkOptions = {}) {
    this.clock = clock;
    this.silenceMs = MISSED_HEARTBEATS * heartbeatMs;
  }

  /** Adds a node. Its address is free, also after an earlier node there has closed or crashed. */
  join({ id, address = `sim:${id}`, peers }: SimNodeOptions): SimTransport {
    if (this.#nodes.has(address))
      throw new RangeError(`Cannot join the network: expected a free address, got ${address}`);
    const transport = new SimTransport(this, id, address, peers);
    this.#nodes.set(address, transport);
    // Links to an earlier node at this address are reset by the new one.
    for (const link of this.linksTo(address))
      this.clock.after(this.delayMs(address, link.from), () => link.lost('restarted'));
    return transport;
  }

  /** Sets the faults of all links, or of the direction between two addresses. */
  setFaults(faults: Partial<LinkFaults>, from?: string, to?: string): void {
    if (from === undefined || to === undefined) this.#faults = { ...NO_FAULTS, ...faults };
    else this.#direction(from, to).faults = { ...NO_FAULTS, ...faults };
  }

  /** Cuts the link between two addresses, both ways and without a word to either. */
  partition(a: string, b: string): void {
    this.#cuts.add(pairOf(a, b));
    for (const link of this.#between(a, b)) link.beginSilence();
  }

  /** Mends a cut. Links that were already lost come back by their own attempts. */
  heal(a: string, b: string): void {
    this.#cuts.delete(pairOf(a, b));
    for (const link of this.#between(a, b)) link.endSilence();
  }

  /** Ends a node without a word to the others, as a power failure does. */
  crash(address: string): void {
    this.#nodes.get(address)?.crash();
    for (const link of this.linksTo(address)) link.beginSilence();
  }

  /** @internal The node that can be reached at an address, if there is one. */
  reach(from: string, to: string): SimTransport | undefined {
    return this.#cuts.has(pairOf(from, to)) ? undefined : this.#nodes.get(to);
  }

  /** @internal Removes a node. */
  leave(address: string): void {
    this.#nodes.delete(address);
  }

  /** @internal Enters a link that works, or takes it out. */
  setLink(link: SimLink, isUp: boolean): void {
    const links = this.#links.get(link.to) ?? new Set();
    if (isUp) this.#links.set(link.to, links.add(link));
    else links.delete(link);
  }

  /** @internal The links that work to an address, for messages from there. */
  linksTo(address: string): SimLink[] {
    return [...(this.#links.get(address) ?? [])];
  }

  /** @internal The time one way of a connection takes. */
  delayMs(from: string, to: string): number {
    return this.#faultsOf(from, to).delayMs;
  }

  /** @internal Carries a message, with the faults of the direction. */
  carry(from: string, to: string, bytes: Uint8Array, deliver: (bytes: Uint8Array) => void): void {
    const direction = this.#direction(from, to);
    for (const arrival of arrivals(bytes, this.#faultsOf(from, to), this.clock)) {
      const run = () => {
        if (!this.#cuts.has(pairOf(from, to))) deliver(arrival.bytes);
      };
      if (arrival.isReordered) {
        this.clock.after(arrival.delayMs, run);
        continue;
      }
      // Timers of a real clock may change places, so each arrival runs the first that waits.
      const now = this.clock.monotonic();
      direction.lastMs = Math.max(direction.lastMs, now + arrival.delayMs);
      direction.queue.push(run);
      this.clock.after(direction.lastMs - now, () => direction.queue.shift()?.());
    }
  }

  #faultsOf(from: string, to: string): LinkFaults {
    return this.#directions.get(directionOf(from, to))?.faults ?? this.#faults;
  }

  #direction(from: string, to: string): Direction {
    const key = directionOf(from, to);
    let direction = this.#directions.get(key);
    if (direction === undefined)
      this.#directions.set(key, (direction = { faults: null, queue: [], lastMs: 0 }));
    return direction;
  }

  #between(a: string, b: string): SimLink[] {
    return [...this.linksTo(a), ...this.linksTo(b)].filter(({ from }) => from === a || from === b);
  }
}

function directionOf(from: string, to: string): string {
  return `${from} ${to}`;
}

function pairOf(a: string, b: string): string {
  return a < b ? directionOf(a, b) : directionOf(b, a);
}
