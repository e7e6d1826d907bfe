/**
 * All neighbours of a node over NATS, by their addresses and by their lives. They are learnt from
 * presence; an address that the operator expects is listed before it is heard.
 *
 * The number of neighbours is bounded, and one that has been down for ten minutes is forgotten.
 * Only nodes that know the secret can add one.
 */

import type { Clock } from '../clock.ts';
import type { FleetKeyring } from '../fleet-keyring.ts';
import type { FleetKeys } from '../fleet-keys.ts';
import type { PeerList } from '../link/peer-list.ts';
import type { PendingRequests } from '../link/pending-request.ts';
import type { AskBoard } from './ask-board.ts';
import type { NatsLimits } from './nats-limits.ts';
import { type Life, NatsLink } from './nats-link.ts';
import { decodePresence } from './presence.ts';
import type { AcceptedEnvelope } from './sealed-envelopes.ts';
import type { FleetSubjects } from './subjects.ts';

export interface NatsNeighboursOptions {
  /** The name of this node. */
  readonly self: string;
  readonly clock: Clock;
  readonly keyring: FleetKeyring;
  readonly limits: NatsLimits;
  readonly subjects: FleetSubjects;
  readonly peers: PeerList;
  readonly requests: PendingRequests;
  readonly asks: AskBoard;
  /** The address of this node now, or null. */
  readonly ownAddress: () => string | null;
  /** The presence of this node now. */
  readonly ownPresence: () => Uint8Array;
  /** The topics that this node has subscribed to at the server now. */
  readonly topics: () => readonly string[];
  /** The state that a life of a node left on a topic, if it was found when this node joined. */
  readonly stateOf: (life: Life, topic: string, lastNumber: number) => Uint8Array | null;
}

export class NatsNeighbours {
  readonly #options: NatsNeighboursOptions;
  readonly #links = new Map<string, NatsLink>();
  readonly #lives = new Map<string, NatsLink>();
  /** Addresses that the operator named, which are never forgotten. */
  readonly #expected: ReadonlySet<string>;

  constructor(options: NatsNeighboursOptions) {
    this.#options = options;
    this.#expected = new Set(options.peers.all().map(({ address }) => address));
    for (const address of this.#expected) this.#linkAt(address);
  }

  /** The link to an address that is among the peers. */
  at(address: string): NatsLink {
    return this.#links.get(address)!;
  }

  /** The link to a node in a certain life, if that is the one which was heard last. */
  ofLife(life: string): NatsLink | undefined {
    return this.#lives.get(life);
  }

  /** Takes a presence that came as a beat, or in a greeting. */
  present({ envelope, keys }: AcceptedEnvelope, payload: Uint8Array): void {
    const { self, ownAddress } = this.#options;
    const presence = decodePresence(payload);
    if (presence === null || presence.address === null || presence.address === ownAddress()) return;
    const { node, life } = envelope;
    const link = this.#linkAt(presence.address);
    if (node === self) link?.refuse('another node has the name of this one');
    else link?.beat({ node, life }, presence, keys);
  }

  /** Drops neighbours that have been down for long, so that the list does not grow forever. */
  forgetOld(): void {
    const { peers, limits } = this.#options;
    for (const link of [...this.#links.values()]) {
      if (link.downMs < limits.forgetMs || this.#expected.has(link.address)) continue;
      this.#links.delete(link.address);
      if (link.current !== null) this.#lives.delete(link.current.life);
      link.close();
      peers.remove(link.address);
    }
  }

  keyringChanged(): void {
    for (const link of this.#links.values()) link.keyringChanged();
  }

  allDown(why: string): void {
    for (const link of this.#links.values()) link.down(why);
  }

  close(): void {
    for (const link of this.#links.values()) link.close();
  }

  /** Returns undefined if there are too many neighbours. */
  #linkAt(address: string): NatsLink | undefined {
    const { clock, keyring, limits, peers, asks, topics, stateOf } = this.#options;
    const found = this.#links.get(address);
    if (found !== undefined || this.#links.size >= limits.neighbours) return found;
    const link = new NatsLink(address, {
      clock,
      keyring,
      peers,
      topics,
      stateOf,
      greet: (greeted, life) => this.#greet(greeted, life),
      down: (lost) => asks.giveUp(lost),
    });
    this.#links.set(address, link);
    // Listeners may subscribe at once, so the link is there before they are told.
    peers.add(address);
    return link;
  }

  /** Greets a node with the presence of this one. Its answer brings the link up. */
  async #greet(link: NatsLink, { node, life }: Life): Promise<void> {
    const { requests, asks, subjects, limits, ownPresence } = this.#options;
    const question = { link, subject: subjects.greet(node, life), body: ownPresence() };
    let signedBy: FleetKeys | undefined;
    try {
      const answer = await requests.run(link.address, { timeoutMs: limits.heartbeatMs }, (settle) =>
        asks.ask(question, (outcome, keys) => {
          signedBy = keys;
          settle(outcome);
        }),
      );
      const presence = decodePresence(answer);
      if (presence === null || signedBy === undefined || presence.address !== link.address) return;
      this.#moved(node, link);
      const before = link.current;
      link.answered({ node, life }, presence, signedBy);
      if (before !== null && link.current !== before) this.#lives.delete(before.life);
      if (link.current !== null) this.#lives.set(link.current.life, link);
    } catch {
      // The next beat of the node leads to another greeting.
    }
  }

  /** A node has one address. If it comes back at another one, it has left the first. */
  #moved(node: string, to: NatsLink): void {
    for (const link of this.#links.values())
      if (link !== to && link.isUp && link.current?.node === node) link.down('moved');
  }
}
