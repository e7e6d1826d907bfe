/**
 * The link of one node to one neighbour in a SimNetwork. It connects, and tries again with growing
 * pauses. It is lost at once if the neighbour closes, and after three heartbeats if the neighbour
 * is silent.
 *
 * A fleet has a million of them, so a link holds few fields. It asks its node for everything that
 * the links of the node share.
 */

import type { Cancel, Subscription } from '@bloomery/transport';
import { Backoff, LinkSubscriptions, type PeerChange } from '@bloomery/transport/link';
import type { NodeClock } from '../engine/node-clock.ts';
import type { SimNetwork } from './sim-network.ts';
import type { SimTransport } from './sim-transport.ts';

export class SimLink {
  readonly to: string;
  /** The node that has this link. */
  readonly #owner: SimTransport;
  /** Made at the first failure: most of a million links have none. */
  #backoff: Backoff | null = null;
  readonly #subscriptions = new LinkSubscriptions();
  /** The node that this link is connected to, or null while it is down. */
  #node: SimTransport | null = null;
  #isOver = false;
  /**
   * The number of this connection, which is higher than those of all earlier ones of the network.
   * Messages of an earlier one are dropped.
   */
  #connection = 0;
  #stopTimer: Cancel = nothing;
  #stopSilence: Cancel = nothing;

  constructor(owner: SimTransport, to: string) {
    this.#owner = owner;
    this.to = to;
    this.#wait(0);
  }

  get from(): string {
    return this.#owner.address;
  }

  /** The clock of the node that has this link. */
  get clock(): NodeClock {
    return this.#owner.clock;
  }

  subscribe(topic: string, on: Subscription): Cancel {
    if (!this.#subscriptions.has(topic)) this.#node?.audience(topic).add(this);
    const cancel = this.#subscriptions.add(topic, on);
    const connection = this.#connection;
    if (this.#node !== null)
      this.clock.after(0, () => {
        if (this.#node !== null && connection === this.#connection) this.#subscriptions.open([topic]);
      });
    return () => {
      const wasThere = this.#subscriptions.has(topic);
      cancel();
      if (wasThere && !this.#subscriptions.has(topic)) this.#node?.audience(topic).remove(this);
    };
  }

  /** Carries a message from the node at the other end to the subscriptions. */
  carry(topic: string, message: Uint8Array): void {
    const connection = this.#connection;
    this.#network.carry(this.to, this.from, this.clock, message, (bytes) =>
      this.deliver(topic, bytes, connection),
    );
  }

  /**
   * Gives a message to the subscriptions, unless the link was lost since it was sent.
   * `lastConnection` is the number of the last connection of this link, or of the network, at the
   * time of sending.
   */
  deliver(topic: string, message: Uint8Array, lastConnection: number): void {
    if (this.#node !== null && this.#connection <= lastConnection)
      this.#subscriptions.message(topic, message);
  }

  /** Begins to count the silence of a neighbour that has vanished. */
  beginSilence(): void {
    this.#stopSilence();
    if (this.#node === null) return;
    this.#stopSilence = this.clock.after(this.#network.silenceMs, () => this.lost('silent'));
  }

  endSilence(): void {
    this.#stopSilence();
  }

  /** Loses the link, and tries to connect again. */
  lost(why: string): void {
    if (this.#node === null) return;
    this.#drop(why);
    this.#wait(this.#pauseMs());
  }

  /** Ends the link for good. The subscriptions are told unless the node has crashed. */
  close(why: string | null): void {
    this.#isOver = true;
    this.#stopTimer();
    if (why === null) this.#disconnect();
    else if (this.#node !== null) this.#drop(why);
  }

  get #network(): SimNetwork {
    return this.#owner.network;
  }

  #wait(ms: number): void {
    if (!this.#isOver) this.#stopTimer = this.clock.after(ms, () => this.#connect());
  }

  #connect(): void {
    const roundTripMs = this.#network.delayMs(this.from, this.to) + this.#network.delayMs(this.to, this.from);
    this.#stopTimer = this.clock.after(roundTripMs, () => {
      const node = this.#network.reach(this.from, this.to);
      if (node === undefined) {
        this.#tell({ state: 'down', why: 'unreachable' });
        this.#wait(this.#pauseMs());
      } else if (node.self.id === this.#owner.self.id)
        this.#tell({ state: 'self', why: null, id: node.self.id });
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
    this.#connection = ++this.#network.lastConnection;
    this.#network.setLink(this, true);
    const topics = this.#subscriptions.topics();
    for (const topic of topics) node.audience(topic).add(this);
    this.#tell({ state: 'up', why: null, id: node.self.id, group: node.group });
    this.#subscriptions.open(topics);
  }

  #drop(why: string): void {
    this.#disconnect();
    this.#tell({ state: 'down', why });
    this.#subscriptions.closed(why);
  }

  #disconnect(): void {
    this.#stopSilence();
    this.#network.setLink(this, false);
    for (const topic of this.#subscriptions.topics()) this.#node?.audience(topic).remove(this);
    this.#node = null;
  }

  #tell(change: PeerChange): void {
    this.#owner.peerList.set(this.to, change);
  }
}

function nothing(): void {}
