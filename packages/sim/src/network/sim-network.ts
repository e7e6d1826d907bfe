/**
 * A network in memory: any number of transports in one simulation, with conditions for each
 * direction of each link, cuts and crashes. It is the one place with faults; the systems' tests and
 * simulations all run on it.
 *
 * It behaves like the HTTP adapter towards its users, with these differences. There are no
 * heartbeats: a link that is cut counts as lost after the time of three, so an idle fleet of a
 * thousand nodes costs no events. Loss, duplication, reordering and damage reach the users, where
 * TCP and signatures would repair or refuse; protocols on top must stand them all, because other
 * adapters will have them. Connections are set up without loss, as TCP would repeat the attempt.
 *
 * Randomness is split by direction: faults between two nodes do not shift those between two others.
 */

import type { NodeClock } from '../engine/node-clock.ts';
import type { Simulation } from '../engine/simulation.ts';
import { Broadcast } from './broadcast.ts';
import { IDEAL_LINK, isPlain, type LinkConditions, linkConditions } from './link-conditions.ts';
import { LinkDirection } from './link-direction.ts';
import { MessageSlab } from './message-slab.ts';
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
  /** The group that the node says it is in, or undefined for none. */
  readonly group?: string | undefined;
}

const HEARTBEAT_MS = 5000;
const MISSED_HEARTBEATS = 3;

export class SimNetwork {
  readonly simulation: Simulation;
  /** Silence after which a link counts as lost. */
  readonly silenceMs: number;
  /** @internal The number of the connection that was set up last. */
  lastConnection = 0;
  /** @internal The bytes of requests and answers under way. */
  readonly slab = new MessageSlab();
  readonly #nodes = new Map<string, SimTransport>();
  readonly #directions = new Map<string, LinkDirection>();
  readonly #cuts = new Set<string>();
  /** The links that work, by the address that they lead to. */
  readonly #links = new Map<string, Set<SimLink>>();
  #conditions = IDEAL_LINK;
  #isPlain = true;
  /** Messages under earlier conditions have arrived by then. */
  #settledMs = 0;

  constructor(simulation: Simulation, { heartbeatMs = HEARTBEAT_MS }: SimNetworkOptions = {}) {
    this.simulation = simulation;
    this.silenceMs = MISSED_HEARTBEATS * heartbeatMs;
  }

  /**
   * Adds a node. Its address must be free, as it is once an earlier node there has closed or
   * crashed.
   */
  join({ id, address = `sim:${id}`, peers, group }: SimNodeOptions): SimTransport {
    if (this.#nodes.has(address))
      throw new RangeError(`Cannot join the network: expected a free address, got ${address}`);
    const transport = new SimTransport(this, { id, address, peers, group });
    this.#nodes.set(address, transport);
    // Links to an earlier node at this address are reset by the new one.
    for (const link of this.linksTo(address))
      link.clock.after(this.delayMs(address, link.from), () => link.lost('restarted'));
    return transport;
  }

  /** Sets the conditions of all links, or of the direction between two addresses. */
  setConditions(some: Partial<LinkConditions>, from?: string, to?: string): void {
    const conditions = linkConditions(some);
    if (from !== undefined && to !== undefined) {
      this.#direction(from, to).conditions = conditions;
      return;
    }
    this.#settledMs = Math.max(this.#settledMs, this.simulation.elapsedMs + this.#conditions.delayMs);
    this.#conditions = conditions;
    this.#isPlain = isPlain(conditions);
  }

  /** Lets the conditions of all links apply to a direction again. */
  resetConditions(from: string, to: string): void {
    const direction = this.#directions.get(directionOf(from, to));
    if (direction !== undefined) direction.conditions = null;
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

  /**
   * Ends a node without a word to the others, as a power failure does: its program stops in the
   * middle, and none of its timers, requests and deliveries come to an end.
   */
  crash(address: string): void {
    const node = this.#nodes.get(address);
    this.vanish(address);
    if (node !== undefined) this.simulation.stop(node.self.id);
  }

  /**
   * Takes a node off the network without a word to the others. They hear silence, and what they ask
   * is refused. The program goes on, so that an answer which it owes a client comes to its end.
   */
  vanish(address: string): void {
    this.#nodes.get(address)?.crash();
    for (const link of this.linksTo(address)) link.beginSilence();
  }

  /** @internal The node that can be reached at an address, if there is one. */
  reach(from: string, to: string): SimTransport | undefined {
    return this.isCut(from, to) ? undefined : this.#nodes.get(to);
  }

  /** @internal The node at an address, even if a cut separates it from all others. */
  nodeAt(address: string): SimTransport | undefined {
    return this.#nodes.get(address);
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
    return (this.#known(from, to)?.conditions ?? this.#conditions).delayMs;
  }

  /**
   * @internal Carries a message to a node, whose clock is given, under the conditions of the
   * direction. The bytes that are delivered may be those that were sent.
   */
  carry(
    from: string,
    to: string,
    receiver: NodeClock,
    bytes: Uint8Array,
    deliver: (bytes: Uint8Array) => void,
  ): void {
    const { simulation } = this;
    const nowMs = simulation.elapsedMs;
    const known = this.#known(from, to);
    const conditions = known?.conditions ?? this.#conditions;
    // Without randomness and queue, events of one delay come in the order in which they were sent.
    if (known === undefined && this.#isPlain && !receiver.isSlow) {
      simulation.deliver(receiver, this.#plainDelayMs(), () => {
        if (!this.isCut(from, to)) deliver(bytes);
      });
      return;
    }
    const direction = known ?? this.#direction(from, to);
    const late = (ms: number) => receiver.lateMs(ms);
    direction.send(bytes, nowMs, conditions, late, (arrived, delayMs) =>
      simulation.deliver(receiver, delayMs, () => {
        if (!this.isCut(from, to)) deliver(arrived);
      }),
    );
  }

  /** @internal Carries a published message to the links that wait for it. */
  broadcast(links: readonly SimLink[], topic: string, message: Uint8Array): void {
    if (this.#isPlain && this.#directions.size === 0 && !this.simulation.hasSlowNodes)
      this.simulation.deliverAll(this.#plainDelayMs(), new Broadcast(this, links, topic, message));
    else for (const link of links) link.carry(topic, message);
  }

  /** @internal */
  isCut(a: string, b: string): boolean {
    return this.#cuts.size > 0 && this.#cuts.has(pairOf(a, b));
  }

  /**
   * The delay of a message if all links have the same conditions. It does not let the message
   * overtake earlier ones.
   */
  #plainDelayMs(): number {
    return Math.max(this.#conditions.delayMs, this.#settledMs - this.simulation.elapsedMs);
  }

  #known(from: string, to: string): LinkDirection | undefined {
    return this.#directions.size > 0 ? this.#directions.get(directionOf(from, to)) : undefined;
  }

  #direction(from: string, to: string): LinkDirection {
    const key = directionOf(from, to);
    let direction = this.#directions.get(key);
    if (direction === undefined)
      this.#directions.set(key, (direction = new LinkDirection(this.simulation.random(`link ${key}`))));
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
