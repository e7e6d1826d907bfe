/**
 * A published message on its way to all links of an audience, which it reaches at the same time:
 * one entry of the event heap for all of them. Each delivery is an event of its receiver all the
 * same, and counts in the hash as if it had been sent by itself.
 */

import type { EventBatch } from '../engine/event-heap.ts';
import type { SimLink } from './sim-link.ts';
import type { SimNetwork } from './sim-network.ts';

export class Broadcast implements EventBatch {
  readonly #network: SimNetwork;
  readonly #links: readonly SimLink[];
  readonly #topic: string;
  readonly #message: Uint8Array;
  /** The last connection of the network at the moment of sending. */
  readonly #connection: number;

  constructor(network: SimNetwork, links: readonly SimLink[], topic: string, message: Uint8Array) {
    this.#network = network;
    this.#links = links;
    this.#topic = topic;
    this.#message = message;
    this.#connection = network.lastConnection;
  }

  get length(): number {
    return this.#links.length;
  }

  ownerOf(index: number): number {
    return this.#links[index].clock.node;
  }

  isCancelled(index: number): boolean {
    return this.#links[index].clock.isStopped;
  }

  run(index: number): void {
    const link = this.#links[index];
    if (!this.#network.isCut(link.to, link.from)) link.deliver(this.#topic, this.#message, this.#connection);
  }
}
