/** A node of a SimNetwork. The network makes it (`SimNetwork.join`). */

import {
  type Cancel,
  MAX_MESSAGE_BYTES,
  type Peer,
  type PeerIdentity,
  type RequestOptions,
  type Service,
  type Subscription,
  type Transport,
  type TransportErrorCode,
} from '@bloomery/transport';
import {
  checkMessageSize,
  checkTopic,
  PeerList,
  PendingRequests,
  requestError,
  type Served,
  Services,
} from '@bloomery/transport/link';
import type { NodeClock } from '../engine/node-clock.ts';
import { SimLink } from './sim-link.ts';
import type { SimNetwork } from './sim-network.ts';

export class SimTransport implements Transport {
  readonly self: PeerIdentity;
  readonly address: string;
  readonly clock: NodeClock;
  readonly #network: SimNetwork;
  readonly #peers: PeerList;
  readonly #links: ReadonlyMap<string, SimLink>;
  readonly #services = new Services();
  readonly #requests: PendingRequests;
  #isClosed = false;

  /** @internal */
  constructor(network: SimNetwork, id: string, address: string, peers: readonly string[]) {
    this.self = { id };
    this.address = address;
    this.#network = network;
    this.clock = network.simulation.clockOf(id);
    this.#peers = new PeerList(this.clock, peers);
    this.#requests = new PendingRequests(this.clock);
    this.#links = new Map(peers.map((peer) => [peer, new SimLink(network, this, peer, this.#peers)]));
  }

  peers(): readonly Peer[] {
    return this.#peers.all();
  }

  watchPeers(listener: (peer: Peer) => void): Cancel {
    return this.#peers.watch(listener);
  }

  publish(topic: string, message: Uint8Array): void {
    checkTopic(topic);
    checkMessageSize(message);
    if (this.#isClosed) return;
    for (const link of this.#network.linksTo(this.address)) link.carry(this, topic, message);
  }

  subscribe(peer: string, topic: string, on: Subscription): Cancel {
    checkTopic(topic);
    this.#peers.other(peer);
    return this.#links.get(peer)!.subscribe(topic, on);
  }

  async request(peer: string, topic: string, body: Uint8Array, options: RequestOptions): Promise<Uint8Array> {
    checkTopic(topic);
    this.#peers.other(peer);
    if (body.length > MAX_MESSAGE_BYTES) throw requestError('size', peer);
    return this.#requests.run(peer, options, (settle) => {
      const network = this.#network;
      const refuse = (refused: TransportErrorCode) =>
        network.simulation.deliver(this.clock, network.delayMs(peer, this.address), () =>
          settle({ refused }),
        );
      const there = network.nodeAt(peer);
      // A machine without the program refuses the connection. A cut is silent, until the deadline.
      if (there === undefined) {
        this.clock.after(network.delayMs(this.address, peer), () => refuse('unreachable'));
        return () => {};
      }
      network.carry(this.address, peer, there.clock, new Uint8Array(body), async (bytes) => {
        const node = network.nodeAt(peer);
        const served =
          node === undefined
            ? ({ refused: 'unreachable' } as const)
            : await node.answer(topic, bytes, this.self.id);
        if ('refused' in served) refuse(served.refused);
        else
          network.carry(peer, this.address, this.clock, new Uint8Array(served.body), (answer) =>
            settle({ body: answer }),
          );
      });
      return () => {};
    });
  }

  serve(topic: string, answer: Service): Cancel {
    checkTopic(topic);
    return this.#services.add(topic, answer);
  }

  /** @internal Answers a request that arrived. */
  async answer(topic: string, body: Uint8Array, from: string): Promise<Served> {
    const leave = this.#services.enter(from);
    if (leave === null) return { refused: 'busy' } as const;
    try {
      const served = await this.#services.answer(topic, body, from);
      const isTooLong = 'body' in served && served.body.length > MAX_MESSAGE_BYTES;
      return isTooLong ? ({ refused: 'size' } as const) : served;
    } finally {
      leave();
    }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#end('closed');
    for (const link of this.#network.linksTo(this.address))
      link.clock.after(this.#network.delayMs(this.address, link.from), () => {
        if (this.#network.reach(this.address, link.from) !== undefined) link.lost('closed');
        else link.beginSilence();
      });
  }

  /** @internal Ends the node without a word to its neighbours. */
  crash(): void {
    this.#end(null);
  }

  #end(why: string | null): void {
    this.#isClosed = true;
    this.#network.leave(this.address);
    for (const link of this.#links.values()) link.close(why);
    // The requests of a program that has crashed stay open: none of its code runs any more.
    if (why !== null) this.#requests.close();
  }
}
