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
import { SimLink } from './sim-link.ts';
import type { SimNetwork } from './sim-network.ts';

export class SimTransport implements Transport {
  readonly self: PeerIdentity;
  readonly address: string;
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
    this.#peers = new PeerList(network.clock, peers);
    this.#requests = new PendingRequests(network.clock);
    this.#links = new Map(peers.map((peer) => [peer, new SimLink(network, address, peer, id, this.#peers)]));
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
      const back = () => this.#network.delayMs(peer, this.address);
      this.#network.carry(this.address, peer, body, async (bytes) => {
        const served = await this.#network.reach(this.address, peer)?.answer(topic, bytes, this.self.id);
        if (served === undefined) this.#network.clock.after(back(), () => settle({ refused: 'unreachable' }));
        else if ('body' in served)
          this.#network.carry(peer, this.address, served.body, (answer) => settle({ body: answer }));
        else this.#network.clock.after(back(), () => settle(served));
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
      this.#network.clock.after(this.#network.delayMs(this.address, link.from), () => {
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
    this.#requests.close();
  }
}
