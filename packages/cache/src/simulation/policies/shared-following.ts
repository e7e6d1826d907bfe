/**
 * One receiver of summaries for a whole simulated fleet. Without faults and with equal delays, all
 * nodes hear each message at the same moment and hold the same summary after it. So one listener
 * follows every node by `NeighbourLink`, `SetSubscriber` and `NeighbourSummaries` of production,
 * and each hub looks at it through links of its own, which have their own score and state.
 *
 * The cost of an update then does not grow with the number of nodes: 256 nodes that fill their
 * caches at a threshold of 1 % send 60 million messages, and 0.2 million of them are delivered. The
 * others are counted where they are sent (counted-transport.ts). `test/simulation/fleet.test.ts`
 * compares the figures with those of a fleet in which each node receives for itself.
 *
 * A node that starts asks every neighbour for its state, as `NeighbourLink` does; these messages
 * are real. The answers are only counted. Until one comes, the neighbour is masked.
 */

import type { Cancel, Clock, Peer, PeerState, Transport } from '@bloomery/transport';
import { SetSubscriber } from 'bloomery/wire';
import type { PeerScore } from '../../peers/decisions/peer-score.ts';
import { NeighbourLink } from '../../peers/neighbour-link.ts';
import type { KeyedHash } from '../../peers/neighbour-port.ts';
import { NeighbourSummaries, type SummaryMember } from '../../peers/neighbour-summaries.ts';
import type { SummaryVersion } from '../../peers/objects/object-response.ts';
import type { HubFollowing, HubLink } from '../../peers/peer-hub.ts';
import { SlicedWork } from '../../peers/sliced-work.ts';
import { SUMMARY_TOPIC } from '../../peers/summary-follower.ts';

export interface SharedListenerOptions {
  /** A member of the network that knows all nodes, and that no node knows. */
  readonly transport: Transport;
  readonly clock: Clock;
  readonly keyId: number;
}

/** Bounds that no simulated fleet reaches. */
const LIMIT_BYTES = 2 ** 33;
const MAX_POSITIONS = 2 ** 30;
/** The time that a node gives a neighbour for its full state. */
const REQUEST_MS = 15_000;

export class SharedListener {
  readonly #links = new Map<string, NeighbourLink>();
  readonly #summaries: NeighbourSummaries;
  readonly #keyId: number;
  readonly #work: SlicedWork;
  readonly #unwatch: Cancel;

  constructor({ transport, clock, keyId }: SharedListenerOptions) {
    this.#keyId = keyId;
    const work = new SlicedWork(clock);
    this.#work = work;
    const fail = (problem: unknown) => {
      throw problem;
    };
    const summaries = new NeighbourSummaries({ limitBytes: LIMIT_BYTES, work, failed: fail });
    this.#summaries = summaries;
    const maxPositions = MAX_POSITIONS;
    const keyIds = () => [keyId];
    const parts = { transport, clock, work, summaries, keyIds, maxPositions, event: () => {} };
    for (const peer of transport.peers()) this.#links.set(peer.address, new NeighbourLink(peer, parts));
    this.#unwatch = transport.watchPeers((peer) => this.#links.get(peer.address)?.changed(peer));
  }

  /** Memory of all summaries. */
  get byteLength(): number {
    return this.#summaries.byteLength;
  }

  /** The nodes whose summaries say "maybe". */
  candidates(hash: KeyedHash): readonly { readonly address: string }[] {
    return this.#summaries.candidates(hash);
  }

  /** The way in which one node follows the others. */
  followingOf(transport: Transport): HubFollowing {
    return {
      summaries: {
        // The node itself is among them, and its hub has no link to it.
        candidates: (hash, most) => this.#summaries.candidates(hash, most),
        bytesOf: () => 0,
        byteLength: 0,
      },
      link: (peer, score) =>
        new SharedLink(peer, this.#links.get(peer.address)!, transport, this.#keyId, score),
    };
  }

  close(): void {
    this.#unwatch();
    for (const link of this.#links.values()) link.close();
    this.#work.close();
  }
}

/** One neighbour as one node sees it: the listener's summary, with a score of its own. */
class SharedLink implements HubLink {
  readonly address: string;
  readonly score: PeerScore;
  readonly silentMs = null;
  readonly summaryBytes = 0;
  /** The network in memory has no secrets. */
  readonly keyId = null;
  readonly keys = [];
  objectBytes = 0;
  readonly #heard: NeighbourLink;
  readonly #transport: Transport;
  readonly #keyId: number;
  #peer: Peer;
  #hasSummary = false;

  constructor(peer: Peer, heard: NeighbourLink, transport: Transport, keyId: number, score: PeerScore) {
    this.address = peer.address;
    this.#peer = peer;
    this.#heard = heard;
    this.#transport = transport;
    this.#keyId = keyId;
    this.score = score;
  }

  get id(): string | null {
    return this.#peer.id;
  }

  get state(): PeerState {
    return this.#peer.state;
  }

  get followers(): readonly SummaryMember[] {
    return this.#heard.followers;
  }

  generationOf(keyId: number): SummaryVersion | null {
    return this.#heard.generationOf(keyId);
  }

  get masked(): string | null {
    const { state, why } = this.#peer;
    if (state !== 'up') return why ?? state;
    return this.#hasSummary ? this.#heard.masked : 'no summary yet';
  }

  changed(peer: Peer): void {
    const wasUp = this.state === 'up';
    this.#peer = peer;
    if (wasUp || peer.state !== 'up') return;
    this.#hasSummary = false;
    this.score.comeBack();
    const options = { publisherId: this.#keyId, maxPositions: MAX_POSITIONS };
    const request = new SetSubscriber(options).request();
    this.#transport.request(this.address, SUMMARY_TOPIC, request, { timeoutMs: REQUEST_MS }).then(
      () => void (this.#hasSummary = true),
      () => {},
    );
  }

  keysChanged(): void {}

  /** The listener hears everything; a question of a single node would bring nothing. */
  catchUp(): void {}

  close(): void {}
}
