/**
 * The neighbours of a node and their states, with the listeners of changes. Every adapter keeps
 * one. Neighbours can be added and removed at any time.
 */

import type { Cancel, Clock } from '../clock.ts';
import type { Peer, PeerState } from '../transport.ts';
import { TransportError } from '../transport-error.ts';

export interface PeerChange {
  readonly state: PeerState;
  readonly why: string | null;
  /** The id that the neighbour gave; undefined leaves the one that was known. */
  readonly id?: string;
  /** The secrets in common; undefined leaves those that were known. */
  readonly keys?: readonly number[];
  /** The group that the neighbour named; undefined leaves the one that was known. */
  readonly group?: string | null | undefined;
}

export class PeerList {
  readonly #clock: Clock;
  readonly #peers: Map<string, Peer>;
  readonly #listeners = new Set<(peer: Peer) => void>();

  constructor(clock: Clock, addresses: readonly string[]) {
    this.#clock = clock;
    const since = clock.now();
    this.#peers = new Map(addresses.map((address) => [address, newPeer(address, since)]));
  }

  /** Enters a neighbour, and tells the listeners. A known address stays as it is. */
  add(address: string, group?: string | null): void {
    if (this.#peers.has(address)) return;
    const peer = { ...newPeer(address, this.#clock.now()), group: group ?? undefined };
    this.#peers.set(address, peer);
    this.#tell(peer);
  }

  /** Takes a neighbour out, and tells the listeners that it is gone. */
  remove(address: string): void {
    const peer = this.#peers.get(address);
    if (peer === undefined) return;
    this.#peers.delete(address);
    this.#tell({ ...peer, state: 'gone', since: this.#clock.now(), why: 'no longer a neighbour' });
  }

  all(): readonly Peer[] {
    return [...this.#peers.values()];
  }

  /** The neighbour at an address, if one is configured there. */
  get(address: string): Peer | undefined {
    return this.#peers.get(address);
  }

  /** The neighbour at an address. Throws if none is configured there, or if it is this node. */
  other(address: string): Peer {
    const peer = this.#peers.get(address);
    if (peer === undefined)
      throw new TransportError(
        'peer',
        address,
        `Cannot reach a neighbour: expected a configured address, got ${address}`,
      );
    if (peer.state === 'self')
      throw new TransportError(
        'peer',
        address,
        `Cannot reach a neighbour: expected another node, got this one (${address})`,
      );
    return peer;
  }

  /** Enters the state of a neighbour. Tells the listeners, unless only `why` has changed. */
  set(address: string, { state, why, id, keys, group }: PeerChange): void {
    const before = this.#peers.get(address);
    if (before === undefined) return;
    const after = {
      address,
      id: id ?? before.id,
      state,
      since: state === before.state ? before.since : this.#clock.now(),
      why,
      keys: keys ?? before.keys,
      group: group === undefined ? before.group : (group ?? undefined),
    };
    this.#peers.set(address, after);
    const isSame = after.state === before.state && after.id === before.id && after.group === before.group;
    if (isSame && after.keys.join() === before.keys.join()) return;
    this.#tell(after);
  }

  watch(listener: (peer: Peer) => void): Cancel {
    // A function of its own, so that a listener which is passed twice is called twice.
    const entry = (peer: Peer) => listener(peer);
    this.#listeners.add(entry);
    return () => void this.#listeners.delete(entry);
  }

  #tell(peer: Peer): void {
    for (const listener of [...this.#listeners]) listener(peer);
  }
}

function newPeer(address: string, since: number): Peer {
  return { address, id: null, state: 'down', since, why: 'not yet reached', keys: [] };
}
