/**
 * The link of one node to one neighbour in a SimNetwork: it connects, tries again with growing
 * pauses, and is lost at a close at once and at silence after three heartbeats.
 */

import type { Cancel, Subscription } from '@bloomery/transport';
import { Backoff, LinkSubscriptions, type PeerList } from '@bloomery/transport/link';
import type { NodeClock } from '../engine/node-clock.ts';
import type { SimNetwork } from './sim-network.ts';
import type { SimTransport } from './sim-transport.ts';

export class SimLink {
  readonly from: string;
  readonly to: string;
  /** The clock of the node that has this link. */
  readonly clock: NodeClock;
  readonly #network: SimNetwork;
  readonly #selfId: string;
  readonly #peers: PeerList;
  /** Made at the first failure: most of a million links have none. */
  #backoff: Backoff | null = null;
  readonly #subscriptions = new LinkSubscriptions();
  #node: SimTransport | null = null;
  #isUp = false;
  #isOver = false;
  /** The number of this connection, so that messages of an earlier one are dropped. */
  #connection = 0;
  #stopTimer: Cancel = nothing;
  #stopSilence: Cancel = nothing;

  constructor(network: SimNetwork, from: SimTransport, to: string, peers: PeerList) {
    this.#network = network;
    this.from = from.address;
    this.clock = from.clock;
    this.to = to;
    this.#selfId = from.self.id;
    this.#peers = peers;
    this.#wait(0);
  }

  subscribe(topic: string, on: Subscription): Cancel {
    const cancel = this.#subscriptions.add(topic, on);
    const connection = this.#connection;
    if (this.#isUp)
      this.clock.after(0, () => {
        if (this.#isUp && connection === this.#connection) this.#subscriptions.open([topic]);
      });
    return cancel;
  }

  /** Carries a message to the subscriptions, if it comes from the node that was connected to. */
  carry(node: SimTransport, topic: string, message: Uint8Array): void {
    if (node !== this.#node || !this.#subscriptions.has(topic)) return;
    const connection = this.#connection;
    this.#network.carry(this.to, this.from, this.clock, message, (bytes) => {
      if (this.#isUp && connection === this.#connection) this.#subscriptions.message(topic, bytes);
    });
  }

  /** Begins to count the silence of a neighbour that has vanished. */
  beginSilence(): void {
    this.#stopSilence();
    if (!this.#isUp) return;
    this.#stopSilence = this.clock.after(this.#network.silenceMs, () => this.lost('silent'));
  }

  endSilence(): void {
    this.#stopSilence();
  }

  /** Loses the link, and tries to connect again. */
  lost(why: string): void {
    if (!this.#isUp) return;
    this.#drop(why);
    this.#wait(this.#pauseMs());
  }

  /** Ends the link for good. The subscriptions are told unless the node has crashed. */
  close(why: string | null): void {
    this.#isOver = true;
    this.#stopTimer();
    if (why === null) {
      this.#isUp = false;
      this.#stopSilence();
      this.#network.setLink(this, false);
    } else if (this.#isUp) this.#drop(why);
  }

  #wait(ms: number): void {
    if (!this.#isOver) this.#stopTimer = this.clock.after(ms, () => this.#connect());
  }

  #connect(): void {
    const roundTripMs = this.#network.delayMs(this.from, this.to) + this.#network.delayMs(this.to, this.from);
    this.#stopTimer = this.clock.after(roundTripMs, () => {
      const node = this.#network.reach(this.from, this.to);
      if (node === undefined) {
        this.#peers.set(this.to, { state: 'down', why: 'unreachable' });
        this.#wait(this.#pauseMs());
      } else if (node.self.id === this.#selfId)
        this.#peers.set(this.to, { state: 'self', why: null, id: this.#selfId });
      else this.#open(node);
    });
  }

  #pauseMs(): number {
    this.#backoff ??= new Backoff(this.clock);
    return this.#backoff.nextMs();
  }

  #open(node: SimTransport): void {
    this.#backoff = null;
    this.#stopTimer = nothing;
    this.#node = node;
    this.#isUp = true;
    this.#connection++;
    this.#network.setLink(this, true);
    this.#peers.set(this.to, { state: 'up', why: null, id: node.self.id });
    this.#subscriptions.open(this.#subscriptions.topics());
  }

  #drop(why: string): void {
    this.#isUp = false;
    this.#stopSilence();
    this.#network.setLink(this, false);
    this.#peers.set(this.to, { state: 'down', why });
    this.#subscriptions.closed(why);
  }
}

function nothing(): void {}
