/**
 * One neighbour as this node knows it: the link to it, its summary, and the experience with it.
 *
 * It is followed under each secret of the fleet that this node knows (summary-follower.ts): one, or
 * two while the operator changes the secret. A neighbour that publishes under one of them alone is
 * found by that one. So no neighbour is lost while one of the two nodes has the new secret and the
 * other has not.
 *
 * A neighbour is *masked* while this node must not rely on its summary: the link is down, there is
 * no summary yet, it belongs to another secret or to a later version, or there is no memory for it.
 * The owner of a key may still send this node there. A summary that is a few changes behind is
 * still used, because a wrong guess costs one round trip.
 */

import type { Cancel, Peer } from '@bloomery/transport';
import { PeerScore } from './decisions/peer-score.ts';
import type { Neighbour } from './neighbour-port.ts';
import type { SummaryVersion } from './objects/object-response.ts';
import { SUMMARY_TOPIC, SummaryFollower, type SummaryFollowerParts } from './summary-follower.ts';

export interface NeighbourLinkParts extends SummaryFollowerParts {
  /** The ids of the secrets that this node knows now, in the order of preference. */
  readonly keyIds: () => readonly number[];
}

export class NeighbourLink implements Neighbour {
  readonly address: string;
  readonly score: PeerScore;
  readonly #parts: NeighbourLinkParts;
  readonly #unsubscribe: Cancel;
  #followers: readonly SummaryFollower[] = [];
  #peer: Peer;
  #heardAt: number | null = null;
  #summaryBytes = 0;
  /** Bytes of objects that came from it. */
  objectBytes = 0;

  constructor(peer: Peer, parts: NeighbourLinkParts, score = new PeerScore()) {
    this.address = peer.address;
    this.score = score;
    this.#peer = peer;
    this.#parts = parts;
    this.keysChanged();
    this.#unsubscribe = parts.transport.subscribe(peer.address, SUMMARY_TOPIC, {
      message: (bytes) => {
        this.#heard(bytes.length);
        for (const follower of this.#followers) follower.receive(bytes);
      },
      state: (bytes) => {
        this.#heard(bytes.length);
        for (const follower of this.#followers) follower.takeState(bytes);
      },
      heard: () => this.#heard(0),
      // A node that restarts at once is never seen as down, but its messages begin again.
      open: () => {
        score.comeBack();
        this.catchUp();
      },
      closed: () => {},
    });
  }

  get id(): string | null {
    return this.#peer.id;
  }

  get state(): Peer['state'] {
    return this.#peer.state;
  }

  /** The id of the secret that signs questions to it, or null if that is not known yet. */
  get keyId(): number | null {
    return this.#peer.keys[0] ?? null;
  }

  /** The ids of the secrets that both nodes accept. Empty if the transport has none. */
  get keys(): readonly number[] {
    return this.#peer.keys;
  }

  /** The summaries of it, one for each secret that this node knows, in the order of preference. */
  get followers(): readonly SummaryFollower[] {
    return this.#followers;
  }

  /** The reason why the summary is not relied on, or null. */
  get masked(): string | null {
    const { state, why } = this.#peer;
    if (state === 'self') return 'it is this node itself';
    if (state === 'down') return why ?? 'down';
    if (this.#followers.some(({ positions }) => positions !== null)) return null;
    const dropped = this.#followers.map((follower) => follower.dropped);
    if (dropped.includes('density')) return 'its summary says "maybe" for more than half of all keys';
    if (dropped.includes('room')) return 'no memory for its summary';
    const isUnknown = this.#followers.some((follower) => follower.isUnknownKind);
    return isUnknown ? 'its summary is of a later version' : 'no summary yet';
  }

  /** The version of its summary under a secret that is held here. */
  generationOf(keyId: number): SummaryVersion | null {
    return this.#followers.find((follower) => follower.keyId === keyId)?.generation ?? null;
  }

  get silentMs(): number | null {
    return this.#heardAt === null ? null : this.#parts.clock.monotonic() - this.#heardAt;
  }

  get summaryBytes(): number {
    return this.#summaryBytes;
  }

  /** The transport tells that the state, the id or the keys of the neighbour changed. */
  changed(peer: Peer): void {
    this.#peer = peer;
    if (peer.state === 'up') this.#heardAt = this.#parts.clock.monotonic();
  }

  /** The secrets of this node have changed. Summaries under secrets that stay are kept. */
  keysChanged(): void {
    const before = this.#followers;
    this.#followers = this.#parts
      .keyIds()
      .map((keyId) => before.find((each) => each.keyId === keyId) ?? this.#follow(keyId));
    for (const follower of before) if (!this.#followers.includes(follower)) follower.close();
    if (this.#peer.state !== 'up') return;
    for (const follower of this.#followers) if (!before.includes(follower)) follower.ask();
  }

  /**
   * The link is open again, or an answer named a later version of the summary than the one held
   * here.
   */
  catchUp(): void {
    for (const follower of this.#followers) follower.ask();
  }

  close(): void {
    this.#unsubscribe();
    for (const follower of this.#followers) follower.close();
  }

  #follow(keyId: number): SummaryFollower {
    return new SummaryFollower(this.address, keyId, this.#parts, (bytes) => this.#heard(bytes));
  }

  #heard(bytes: number): void {
    this.#heardAt = this.#parts.clock.monotonic();
    this.#summaryBytes += bytes;
  }
}
