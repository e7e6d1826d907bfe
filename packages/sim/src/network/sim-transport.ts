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
  type Settle,
} from '@bloomery/transport/link';
import type { NodeClock } from '../engine/node-clock.ts';
import { Audience } from './audience.ts';
import { SimLink } from './sim-link.ts';
import type { SimNetwork, SimNodeOptions } from './sim-network.ts';

export class SimTransport implements Transport {
  readonly self: PeerIdentity;
  readonly address: string;
  readonly clock: NodeClock;
  /** @internal */
  readonly network: SimNetwork;
  /** @internal */
  readonly group: string | null;
  /** @internal */
  readonly peerList: PeerList;
  /** The links of other nodes that wait for messages of this one, by topic. */
  readonly #audiences = new Map<string, Audience>();
  readonly #links: Map<string, SimLink>;
  readonly #services = new Services();
  readonly #requests: PendingRequests;
  #isClosed = false;

  /** @internal */
  constructor(
    network: SimNetwork,
    { id, address, peers, group }: SimNodeOptions & { readonly address: string },
  ) {
    this.self = { id };
    this.group = group ?? null;
    this.address = address;
    this.network = network;
    this.clock = network.simulation.clockOf(id);
    this.peerList = new PeerList(this.clock, peers);
    this.#requests = new PendingRequests(this.clock);
    this.#links = new Map(peers.map((peer) => [peer, new SimLink(this, peer)]));
  }

  peers(): readonly Peer[] {
    return this.peerList.all();
  }

  /** Takes other neighbours, as the HTTP adapter does. */
  changePeers(peers: readonly string[]): void {
    if (this.#isClosed) return;
    for (const [address, link] of [...this.#links]) {
      if (peers.includes(address)) continue;
      this.#links.delete(address);
      link.close('closed');
      this.peerList.remove(address);
    }
    for (const address of peers) {
      if (this.#links.has(address)) continue;
      this.#links.set(address, new SimLink(this, address));
      this.peerList.add(address);
    }
  }

  watchPeers(listener: (peer: Peer) => void): Cancel {
    return this.peerList.watch(listener);
  }

  publish(topic: string, message: Uint8Array): void {
    checkTopic(topic);
    checkMessageSize(message);
    const audience = this.#audiences.get(topic);
    if (this.#isClosed || audience === undefined) return;
    this.network.broadcast(audience.take(), topic, message);
  }

  subscribe(peer: string, topic: string, on: Subscription): Cancel {
    checkTopic(topic);
    this.peerList.other(peer);
    return this.#links.get(peer)!.subscribe(topic, on);
  }

  request(peer: string, topic: string, body: Uint8Array, options: RequestOptions): Promise<Uint8Array> {
    try {
      checkTopic(topic);
      this.peerList.other(peer);
    } catch (error) {
      return Promise.reject(error);
    }
    if (body.length > MAX_MESSAGE_BYTES) return Promise.reject(requestError('size', peer));
    // The bytes are copied here, so that the caller may change its own, and only the copy is held.
    const sent = this.network.slab.keep(body);
    return this.#requests.run(peer, options, (settle) => {
      this.#send(peer, topic, sent, settle);
      return nothing;
    });
  }

  serve(topic: string, answer: Service): Cancel {
    checkTopic(topic);
    return this.#services.add(topic, answer);
  }

  /** @internal The links that wait for messages of this node on a topic. */
  audience(topic: string): Audience {
    let audience = this.#audiences.get(topic);
    if (audience === undefined) this.#audiences.set(topic, (audience = new Audience()));
    return audience;
  }

  /** @internal Answers a request that arrived, at once if the service does. */
  answer(topic: string, body: Uint8Array, from: string, reply: (served: Served) => void): void {
    const leave = this.#services.enter(from);
    if (leave === null) {
      reply({ refused: 'busy' });
      return;
    }
    const end = (served: Served) => {
      leave();
      const isTooLong = 'body' in served && served.body.length > MAX_MESSAGE_BYTES;
      reply(isTooLong ? { refused: 'size' } : served);
    };
    const served = this.#services.answer(topic, body, from);
    if (served instanceof Promise) void served.then(end);
    else end(served);
  }

  #send(peer: string, topic: string, sent: Uint8Array, settle: Settle): void {
    const { network } = this;
    const refuse = (refused: TransportErrorCode) =>
      network.simulation.deliver(this.clock, network.delayMs(peer, this.address), () => settle({ refused }));
    const there = network.nodeAt(peer);
    // A machine without the program refuses the connection. A cut is silent, until the deadline.
    if (there === undefined) {
      this.clock.after(network.delayMs(this.address, peer), () => refuse('unreachable'));
      return;
    }
    const reply = (served: Served) => {
      if ('refused' in served) refuse(served.refused);
      else
        network.carry(peer, this.address, this.clock, network.slab.keep(served.body), (answer) =>
          settle({ body: new Uint8Array(answer) }),
        );
    };
    network.carry(this.address, peer, there.clock, sent, (bytes) => {
      const node = network.nodeAt(peer);
      if (node === undefined) refuse('unreachable');
      else node.answer(topic, new Uint8Array(bytes), this.self.id, reply);
    });
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#end('closed');
    for (const link of this.network.linksTo(this.address))
      link.clock.after(this.network.delayMs(this.address, link.from), () => {
        if (this.network.reach(this.address, link.from) !== undefined) link.lost('closed');
        else link.beginSilence();
      });
  }

  /** @internal Ends the node without a word to its neighbours. */
  crash(): void {
    this.#end(null);
  }

  #end(why: string | null): void {
    this.#isClosed = true;
    this.network.leave(this.address);
    for (const link of this.#links.values()) link.close(why);
    // The requests of a program that has crashed stay open: none of its code runs any more.
    if (why !== null) this.#requests.close();
  }
}

function nothing(): void {}
