/**
 * The directory: the summaries of all peers at every peer, so that a question goes only to peers
 * that may answer it (PlanetP; Broder and Mitzenmacher's survey, section 5.1). It follows all
 * neighbours of a transport, and keeps the summary of one that is offline: a search says that it
 * may have more.
 *
 * A peer whose summary has not come yet, or is larger than the limits, may have everything. It is
 * asked, and the search stays exact.
 */

import type { Cancel, Clock, Peer, Transport } from '@bloomery/transport';
import type { KeyHash } from 'bloomery';
import { SetSubscriber, type SharedSets } from 'bloomery/wire';
import { type FolderCard, readBundle, writeBundle } from './bundle.ts';
import { SUMMARY_TOPIC, SYNC_TOPIC } from './own-summary.ts';
import { SearchError } from './search-error.ts';
import { mostDocuments } from './summary-sizes.ts';

export interface DirectoryLimits {
  /** Positions of one peer's keys, and of its objects. Default a million each. */
  readonly positions: number;
  /** Peers that are followed. Default 1024. */
  readonly peers: number;
}

export interface PeerDirectoryOptions {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly limits?: Partial<DirectoryLimits> | undefined;
  /** Decoded sets that the nodes of a simulation share. */
  readonly shared?: SharedSets | undefined;
  /** Told after each change of a peer. */
  readonly changed?: ((peer: DirectoryPeer) => void) | undefined;
}

/** A peer as the directory knows it. */
export interface DirectoryPeer {
  readonly address: string;
  /** The name of the peer, or null before the first contact. */
  readonly id: string | null;
  /** Whether it can be asked now. */
  readonly isOnline: boolean;
  /** Time of the last change of `isOnline`, by `Clock.now`. */
  readonly since: number;
  /** The facts about its folder, or null before they came. */
  readonly card: FolderCard | null;
  /** Positions of its keys and objects that are held here, and their bytes of memory. */
  readonly positions: number;
  readonly memoryBytes: number;
  /** True if its summary is held and the latest known. */
  readonly isCurrent: boolean;
  /** False if its folder certainly lacks a key of this hash. */
  mayHaveKey(hash: KeyHash): boolean;
  mayHaveObject(hash: KeyHash): boolean;
  /** The most documents that it may claim. */
  readonly mostDocuments: number;
}

const LIMITS: DirectoryLimits = { positions: 1_000_000, peers: 1024 };
const TIMEOUT_MS = 10_000;

export class PeerDirectory {
  readonly #options: PeerDirectoryOptions;
  readonly #limits: DirectoryLimits;
  readonly #peers = new Map<string, FollowedPeer>();
  readonly #stopWatching: Cancel;

  constructor(options: PeerDirectoryOptions) {
    this.#options = options;
    this.#limits = { ...LIMITS, ...options.limits };
    const { transport } = options;
    this.#stopWatching = transport.watchPeers((peer) => this.#see(peer));
    for (const peer of transport.peers()) this.#see(peer);
  }

  peers(): readonly DirectoryPeer[] {
    return [...this.#peers.values()];
  }

  close(): void {
    this.#stopWatching();
    for (const address of [...this.#peers.keys()]) this.#drop(address);
  }

  #see({ address, id, state }: Peer): void {
    if (state === 'gone' || state === 'self') {
      this.#drop(address);
      return;
    }
    const known = this.#peers.get(address);
    if (known === undefined && this.#peers.size >= this.#limits.peers) return;
    const peer = known ?? new FollowedPeer(address, this.#options, this.#limits);
    peer.id = id;
    this.#peers.set(address, peer);
    if (known === undefined) peer.begin();
    else peer.tell();
  }

  #drop(address: string): void {
    const peer = this.#peers.get(address);
    if (peer === undefined) return;
    this.#peers.delete(address);
    peer.close();
  }
}

/** One peer that is followed. It is a class because a simulation has a hundred thousand of them. */
class FollowedPeer implements DirectoryPeer {
  readonly address: string;
  id: string | null = null;
  readonly #options: PeerDirectoryOptions;
  readonly #keys: SetSubscriber;
  readonly #objects: SetSubscriber;
  #card: FolderCard | null = null;
  #isOnline = false;
  #since: number;
  #stop: Cancel = () => {};
  #isAsking = false;
  #asksAgain = false;
  #isClosed = false;

  constructor(address: string, options: PeerDirectoryOptions, { positions }: DirectoryLimits) {
    this.address = address;
    this.#options = options;
    const { shared, clock } = options;
    this.#since = clock.now();
    const common = { maxPositions: positions, ...(shared && { shared }) };
    this.#keys = new SetSubscriber({ ...common, publisherId: 1 });
    this.#objects = new SetSubscriber({ ...common, publisherId: 2 });
  }

  begin(): void {
    const { transport } = this.#options;
    this.#stop = transport.subscribe(this.address, SUMMARY_TOPIC, {
      message: (bytes) => this.#hear(bytes),
      // No request is needed here: one follows when the link opens.
      state: (bytes) => void this.#take(bytes),
      open: () => {
        this.#setOnline(true);
        this.#ask();
      },
      closed: () => this.#setOnline(false),
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#stop();
  }

  get isOnline(): boolean {
    return this.#isOnline;
  }

  get since(): number {
    return this.#since;
  }

  get card(): FolderCard | null {
    return this.#card;
  }

  get positions(): number {
    return this.#keys.size + this.#objects.size;
  }

  get memoryBytes(): number {
    return this.#keys.byteLength + this.#objects.byteLength;
  }

  get isCurrent(): boolean {
    return this.#card !== null && this.#keys.current && this.#objects.current;
  }

  get mostDocuments(): number {
    return mostDocuments(this.#objects.size);
  }

  mayHaveKey(hash: KeyHash): boolean {
    return this.#keys.hasHash(hash);
  }

  mayHaveObject(hash: KeyHash): boolean {
    return this.#objects.hasHash(hash);
  }

  tell(): void {
    this.#options.changed?.(this);
  }

  #setOnline(isOnline: boolean): void {
    if (this.#isOnline === isOnline) return;
    this.#isOnline = isOnline;
    this.#since = this.#options.clock.now();
    this.tell();
  }

  /** Takes a message of any content. Returns true if something is missing. */
  #take(bytes: Uint8Array): boolean {
    let isBehind = false;
    try {
      const { card, keys, objects } = readBundle(bytes);
      if (card !== undefined && isLater(card, this.#card)) this.#card = card;
      const outcomes = [keys && this.#keys.receive(keys), objects && this.#objects.receive(objects)];
      isBehind = outcomes.some((outcome) => outcome?.reply !== undefined);
    } catch (error) {
      // The peer sends garbage. What it sent before stays, until a message names a later state.
      if (!(error instanceof SearchError)) throw error;
    }
    this.tell();
    return isBehind;
  }

  #hear(bytes: Uint8Array): void {
    if (this.#take(bytes)) this.#ask();
  }

  /** Asks for what is missing. One request at a time is under way. */
  #ask(): void {
    if (this.#isAsking || this.#isClosed) {
      this.#asksAgain = true;
      return;
    }
    this.#isAsking = true;
    this.#asksAgain = false;
    const body = writeBundle({ keys: this.#keys.request(), objects: this.#objects.request() });
    this.#options.transport.request(this.address, SYNC_TOPIC, body, { timeoutMs: TIMEOUT_MS }).then(
      (answer) => this.#asked(answer),
      // The next heartbeat, or the next opening of the link, asks again.
      () => this.#asked(null),
    );
  }

  #asked(answer: Uint8Array | null): void {
    this.#isAsking = false;
    if (this.#isClosed) return;
    const again = this.#asksAgain;
    this.#asksAgain = false;
    // An answer that leaves something missing is not asked for again, so garbage causes no storm.
    if (answer !== null) this.#take(answer);
    if (again && !this.isCurrent) this.#ask();
  }
}

function isLater(card: FolderCard, held: FolderCard | null): boolean {
  if (held === null || card.start !== held.start) return held === null || card.start > held.start;
  return card.sequence > held.sequence;
}
