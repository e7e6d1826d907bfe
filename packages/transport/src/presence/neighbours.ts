/**
 * All neighbours that a node hears, by their addresses and by their lives. They are learnt from
 * presence; an address that the operator expects is listed before it is heard. The adapter brings
 * the way to greet a node.
 *
 * The number of neighbours is bounded, and one that has been down for ten minutes is forgotten.
 * Only nodes that know the secret can add one.
 */

import type { Clock } from '../clock.ts';
import type { FleetKeyring } from '../fleet-keyring.ts';
import type { FleetKeys } from '../fleet-keys.ts';
import type { PeerList } from '../link/peer-list.ts';
import { decodePresence, type Presence } from './presence.ts';
import { type Life, PresenceLink } from './presence-link.ts';
import type { AcceptedEnvelope } from './sealed-envelopes.ts';

/** The answer to a greeting: the presence of the other node, and the keys that signed it. */
export interface Greeted {
  readonly presence: Uint8Array;
  readonly keys: FleetKeys;
}

export interface NeighboursOptions {
  /** The name of this node. */
  readonly self: string;
  readonly clock: Clock;
  readonly keyring: FleetKeyring;
  readonly limits: {
    /** The most neighbours. Presence of further nodes is not taken. */
    readonly neighbours: number;
    /** Time after which a neighbour that is down is forgotten. */
    readonly forgetMs: number;
  };
  readonly peers: PeerList;
  /** Tells a node that this one is here. Rejects if it does not answer. */
  readonly greet: (link: PresenceLink, life: Life) => Promise<Greeted>;
  /** Repairs the messages that a beat names and that have not come (`PresenceLink`). */
  readonly repair?: ((link: PresenceLink, numbers: Presence['numbers']) => void) | undefined;
  /** A neighbour has connected again (`PresenceLink`). */
  readonly hailed?: ((link: PresenceLink) => void) | undefined;
  /** A link went down. */
  readonly down: (link: PresenceLink) => void;
  /** The address of this node now, or null. */
  readonly ownAddress: () => string | null;
  /** The topics that reach this node now. */
  readonly topics: () => readonly string[];
  /** The state that a life of a node left on a topic, if it was found when this node joined. */
  readonly stateOf: (life: Life, topic: string, lastNumber: number) => Uint8Array | null;
}

export class Neighbours {
  readonly #options: NeighboursOptions;
  readonly #links = new Map<string, PresenceLink>();
  readonly #lives = new Map<string, PresenceLink>();
  /** Addresses that the operator named, which are never forgotten. */
  readonly #expected: ReadonlySet<string>;

  constructor(options: NeighboursOptions) {
    this.#options = options;
    this.#expected = new Set(options.peers.all().map(({ address }) => address));
    for (const address of this.#expected) this.#linkAt(address);
  }

  /** The link to an address that is among the peers. */
  at(address: string): PresenceLink {
    return this.#links.get(address)!;
  }

  /** The link to a node in a certain life, if that is the one which was heard last. */
  ofLife(life: string): PresenceLink | undefined {
    return this.#lives.get(life);
  }

  /** Takes a presence that came as a beat, or in a greeting. */
  present({ envelope, keys }: AcceptedEnvelope, payload: Uint8Array): void {
    const { self, ownAddress } = this.#options;
    const presence = decodePresence(payload);
    if (presence === null || presence.address === null || presence.address === ownAddress()) return;
    const { node, life } = envelope;
    const link = this.#linkAt(presence.address, presence.group);
    if (node === self) link?.refuse('another node has the name of this one');
    else link?.beat({ node, life }, presence, keys);
  }

  /** Drops neighbours that have been down for long, so that the list does not grow forever. */
  forgetOld(): void {
    const { peers, limits } = this.#options;
    for (const link of [...this.#links.values()]) {
      if (link.downMs < limits.forgetMs || this.#expected.has(link.address)) continue;
      this.#links.delete(link.address);
      this.#forgetLife(link.current, link);
      link.close();
      peers.remove(link.address);
    }
  }

  keyringChanged(): void {
    for (const link of this.#links.values()) link.keyringChanged();
  }

  /** Opens subscriptions to topics that reach this node since now. */
  openTopics(): void {
    for (const link of this.#links.values()) link.openTopics();
  }

  allDown(why: string): void {
    for (const link of this.#links.values()) link.down(why);
  }

  close(): void {
    for (const link of this.#links.values()) link.close();
  }

  /** Returns undefined if there are too many neighbours. */
  #linkAt(address: string, group?: string | null): PresenceLink | undefined {
    const { clock, keyring, limits, peers, down, hailed, repair, topics, stateOf } = this.#options;
    const found = this.#links.get(address);
    if (found !== undefined || this.#links.size >= limits.neighbours) return found;
    const link = new PresenceLink(address, {
      clock,
      keyring,
      peers,
      topics,
      stateOf,
      repair,
      hailed,
      greet: (greeted, life) => this.#greet(greeted, life),
      down,
    });
    this.#links.set(address, link);
    // Listeners may subscribe at once, so the link is there before they are told.
    peers.add(address, group);
    return link;
  }

  /** Greets a node with the presence of this one. Its answer brings the link up. */
  async #greet(link: PresenceLink, { node, life }: Life): Promise<void> {
    try {
      const greeted = await this.#options.greet(link, { node, life });
      const presence = decodePresence(greeted.presence);
      if (presence === null || presence.address !== link.address) return;
      // It may have been forgotten meanwhile.
      if (this.#links.get(link.address) !== link) return;
      this.#moved(node, link);
      const before = link.current;
      link.answered({ node, life }, presence, greeted.keys);
      if (link.current !== before) this.#forgetLife(before, link);
      if (link.current !== null) this.#lives.set(link.current.life, link);
    } catch {
      // The next beat of the node leads to another greeting.
    }
  }

  /** A life that has moved to another link stays there. */
  #forgetLife(life: Life | null, link: PresenceLink): void {
    if (life !== null && this.#lives.get(life.life) === link) this.#lives.delete(life.life);
  }

  /** A node has one address. If it comes back at another one, it has left the first. */
  #moved(node: string, to: PresenceLink): void {
    for (const link of this.#links.values())
      if (link !== to && link.isUp && link.current?.node === node) link.down('moved');
  }
}
