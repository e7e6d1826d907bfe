/**
 * The part of a fleet that a node exchanges summaries with: a view of a transport that shows only
 * the neighbours of one group. A topic has another name in each group (`summary.rack-1`), so the
 * broker of a fleet sends a message to the nodes of its group alone, and a request that comes from
 * another group finds no service. A fleet of 256 nodes in groups of 32 has 31 summaries at each
 * node instead of 255.
 *
 * Nodes without a group are a group among themselves, with the plain names of topics. So a fleet
 * may have nodes in groups and nodes without a group. Nodes of these two kinds exchange no
 * summaries.
 *
 * A node that starts again in another group leaves this view, and enters the view of the other
 * group.
 */

import type { Cancel } from '../../clock.ts';
import type {
  Peer,
  PeerIdentity,
  RequestOptions,
  Service,
  Subscription,
  Transport,
} from '../../transport.ts';

/** The name of a topic inside a group. */
export function topicInGroup(topic: string, group: string | null): string {
  return group === null ? topic : `${topic}.${group}`;
}

export class GroupTransport implements Transport {
  readonly self: PeerIdentity;
  /** Only where the fleet has a place for states. */
  readonly leaveState?: (topic: string, state: Uint8Array) => void;
  /** Only where the fleet has datagrams. */
  readonly datagramBytes?: (topic: string) => number;
  readonly #fleet: Transport;
  readonly #group: string | null;

  constructor(fleet: Transport, group: string | null) {
    this.#fleet = fleet;
    this.#group = group;
    this.self = fleet.self;
    if (fleet.leaveState !== undefined)
      this.leaveState = (topic, state) => fleet.leaveState!(this.#name(topic), state);
    if (fleet.datagramBytes !== undefined)
      this.datagramBytes = (topic) => fleet.datagramBytes!(this.#name(topic));
  }

  peers(): readonly Peer[] {
    return this.#fleet.peers().filter((peer) => this.#isHere(peer));
  }

  watchPeers(listener: (peer: Peer) => void): Cancel {
    const here = new Set(this.peers().map(({ address }) => address));
    return this.#fleet.watchPeers((peer) => {
      const { address } = peer;
      if (this.#isHere(peer)) {
        if (peer.state === 'gone') here.delete(address);
        else here.add(address);
        listener(peer);
      } else if (here.delete(address)) listener({ ...peer, state: 'gone', why: 'in another group' });
    });
  }

  publish(topic: string, message: Uint8Array): void {
    this.#fleet.publish(this.#name(topic), message);
  }

  subscribe(peer: string, topic: string, on: Subscription): Cancel {
    return this.#fleet.subscribe(peer, this.#name(topic), on);
  }

  request(peer: string, topic: string, body: Uint8Array, options: RequestOptions): Promise<Uint8Array> {
    return this.#fleet.request(peer, this.#name(topic), body, options);
  }

  serve(topic: string, answer: Service): Cancel {
    return this.#fleet.serve(this.#name(topic), answer);
  }

  close(): Promise<void> {
    return this.#fleet.close();
  }

  #name(topic: string): string {
    return topicInGroup(topic, this.#group);
  }

  /** An address of this node itself belongs to every group. */
  #isHere({ group, state }: Peer): boolean {
    return state === 'self' || (group ?? null) === this.#group;
  }
}
