/**
 * The peers of a fetch: addresses that the caller knows, and those that peers tell. One node that
 * is reached by two addresses is followed once. A banned peer is not asked again in this fetch,
 * under its address or under the name that it gave itself.
 */

import type { MemberSource } from '@bloomery/transport/membership';
import type { Agent } from 'undici';
import { BlockSet } from '../decisions/block-set.ts';
import { shapeOf } from '../decisions/file-shape.ts';
import type { StateMessage } from '../wire/state-message.ts';
import { PeerLink, type PeerLinkEvents } from './peer-link.ts';

export interface FollowedPeer {
  readonly address: string;
  readonly link: PeerLink;
  has: BlockSet;
  bytes: number;
}

export interface PeerGroupOptions {
  readonly peers: readonly string[] | MemberSource;
  readonly digest: string;
  readonly node: string;
  readonly agent: Agent;
  readonly ownPort: number | null;
  readonly follow: number;
  readonly addresses: number;
  readonly random: () => number;
  /** Called after the peer has been brought up to date with the message. */
  readonly message: (peer: FollowedPeer, message: StateMessage) => void;
  readonly down: (peer: FollowedPeer, why: string) => void;
  readonly against: (peer: FollowedPeer, why: string) => void;
}

const TOLD_ADDRESS = /^http:\/\/(?:\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-f:]{2,39}\]):\d{1,5}$/;

export class PeerGroup {
  readonly #options: PeerGroupOptions;
  readonly #peers = new Map<string, FollowedPeer>();
  readonly #banned = new Map<string, string>();
  readonly #bannedNodes = new Set<string>();
  /** Addresses that lead to this node or to a node that is followed already. */
  readonly #twins = new Set<string>();
  readonly #waiting = new Set<string>();
  readonly #unwatch: () => void;
  #isClosed = false;

  constructor(options: PeerGroupOptions) {
    this.#options = options;
    const { peers } = options;
    if ('members' in peers) {
      for (const { address } of peers.members()) this.#meet(address);
      this.#unwatch = peers.watch(({ joined }) => {
        for (const { address } of joined) this.#meet(address);
      });
    } else {
      for (const address of peers) this.#meet(address);
      this.#unwatch = () => {};
    }
  }

  get all(): readonly FollowedPeer[] {
    return [...this.#peers.values()];
  }

  get banned(): readonly { readonly peer: string; readonly why: string }[] {
    return [...this.#banned].map(([peer, why]) => ({ peer, why }));
  }

  get addresses(): string[] {
    return [...this.#peers.values()].filter(({ link }) => link.head !== null).map(({ address }) => address);
  }

  get(address: string): FollowedPeer | undefined {
    return this.#peers.get(address);
  }

  /** Takes an address that a peer told, if it is one of a host and not of a name. */
  meetTold(address: string): void {
    if (TOLD_ADDRESS.test(address)) this.#meet(address);
  }

  ban(address: string, why: string): void {
    const peer = this.#peers.get(address);
    const node = peer?.link.head?.node;
    if (node !== undefined) this.#bannedNodes.add(node);
    this.#banned.set(address, why);
    this.#drop(address);
  }

  close(): void {
    this.#isClosed = true;
    this.#unwatch();
    for (const { link } of this.#peers.values()) link.close();
  }

  #meet(address: string): void {
    if (this.#isClosed || this.#peers.has(address) || this.#banned.has(address) || this.#twins.has(address))
      return;
    const { follow, addresses, digest, agent, ownPort, random } = this.#options;
    if (this.#peers.size >= follow) {
      if (this.#waiting.size + this.#peers.size < addresses) this.#waiting.add(address);
      return;
    }
    const events: PeerLinkEvents = {
      message: (_, message) => this.#take(peer, message),
      down: (_, why) => this.#down(peer, why),
      against: (_, why) => this.#options.against(peer, why),
    };
    const link = new PeerLink({ address, digest, agent, ownPort, random, events });
    const peer: FollowedPeer = { address, link, has: new BlockSet(0), bytes: 0 };
    this.#peers.set(address, peer);
  }

  #take(peer: FollowedPeer, message: StateMessage): void {
    if (this.#peers.get(peer.address) !== peer) return;
    if (message.type === 'head') {
      const isTwin = this.all.some((other) => other !== peer && other.link.head?.node === message.node);
      if (message.node === this.#options.node || isTwin || this.#bannedNodes.has(message.node)) {
        this.#twins.add(peer.address);
        this.#drop(peer.address);
        return;
      }
      peer.has = new BlockSet(message.size === null ? 0 : shapeOf(message.size).blocks);
    } else if (message.type === 'blocks') peer.has = message.has;
    else if (message.type === 'more') for (const block of message.blocks) peer.has.add(block);
    else if (message.type === 'peers') for (const address of message.addresses) this.meetTold(address);
    this.#options.message(peer, message);
  }

  #down(peer: FollowedPeer, why: string): void {
    if (this.#peers.get(peer.address) !== peer) return;
    this.#options.down(peer, why);
    // An address that does not answer makes room for another one.
    if (this.#waiting.size > 0) {
      this.#drop(peer.address);
      this.#waiting.add(peer.address);
    }
  }

  #drop(address: string): void {
    this.#peers.get(address)?.link.close();
    this.#peers.delete(address);
    const [next] = this.#waiting;
    if (next === undefined) return;
    this.#waiting.delete(next);
    this.#meet(next);
  }
}
