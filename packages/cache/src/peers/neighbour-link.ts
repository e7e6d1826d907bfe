/**
 * One neighbour as this node knows it: the link to it, its summary, and the experience with it.
 *
 * The summary arrives as messages on the topic `summary` and is kept by a `SetSubscriber`. A
 * message that does not lead on from what is held causes a request, which the neighbour answers
 * with the missing changes or its full state. One request runs at a time; after a failure the next
 * one waits for the next message or heartbeat of the neighbour, so a neighbour that cannot answer
 * is not asked in a loop.
 *
 * A neighbour is *masked* while this node must not rely on its summary: the link is down, there is
 * no summary yet, it belongs to another secret, or there is no memory for it. A summary that is a
 * few changes behind is still used, because a wrong guess costs one round trip.
 *
 * Memory. A summary for which there is no memory is dropped at once, and asked for again after a
 * minute. Messages wait for their turn in the sliced work; beyond 16 MiB of them, further ones are
 * dropped as if the network had lost them, so that a neighbour cannot send faster than this node
 * reads.
 */

import type { Cancel, Clock, Peer, Transport } from '@bloomery/transport';
import { SetSubscriber, type SyncOutcome } from 'bloomery/wire';
import { PeerScore } from './decisions/peer-score.ts';
import type { Neighbour } from './neighbour-port.ts';
import type { NeighbourSummaries, SummaryMember, SummaryPositions } from './neighbour-summaries.ts';
import type { SlicedWork } from './sliced-work.ts';

/** The topic of summaries, both for published messages and for requests. */
export const SUMMARY_TOPIC = 'summary';

/** A full state of a million positions takes a slow neighbour a while. */
const REQUEST_MS = 15_000;
/** Bytes of messages that wait for their turn: two of the largest. */
const MOST_WAITING_BYTES = 16 * 2 ** 20;
/** Time after which a summary that had no room is asked for again. */
const NO_ROOM_MS = 60_000;

export interface NeighbourLinkParts {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly work: SlicedWork;
  readonly summaries: NeighbourSummaries;
  readonly keyId: number;
  /** The most positions of one summary. */
  readonly maxPositions: number;
  readonly event: (level: 'info' | 'warn', name: string, fields: Record<string, unknown>) => void;
}

export class NeighbourLink implements SummaryMember, Neighbour {
  readonly address: string;
  readonly score = new PeerScore();
  readonly #parts: NeighbourLinkParts;
  readonly #unsubscribe: Cancel;
  #subscriber: SetSubscriber;
  #peer: Peer;
  #isAsking = false;
  /** The time at which the summary is asked for again, after it was dropped for lack of memory. */
  #retryAt: number | null = null;
  #waitingBytes = 0;
  #heardAt: number | null = null;
  #summaryBytes = 0;
  /** Bytes of objects that came from it. */
  objectBytes = 0;

  constructor(peer: Peer, parts: NeighbourLinkParts) {
    this.address = peer.address;
    this.#peer = peer;
    this.#parts = parts;
    this.#subscriber = this.#newSubscriber();
    this.#unsubscribe = parts.transport.subscribe(peer.address, SUMMARY_TOPIC, {
      message: (bytes) => this.#receive(bytes),
      open: () => this.#ask(this.#subscriber.request()),
      closed: () => {},
    });
  }

  get id(): string | null {
    return this.#peer.id;
  }

  get state(): Peer['state'] {
    return this.#peer.state;
  }

  /** The positions of its summary, or null before the first full state. */
  get positions(): SummaryPositions | null {
    return this.#subscriber.generation === undefined ? null : this.#subscriber;
  }

  /** The reason why the summary is not relied on, or null. */
  get masked(): string | null {
    const { state, why } = this.#peer;
    if (state === 'self') return 'it is this node itself';
    if (state === 'down') return why ?? 'down';
    if (this.#retryAt !== null) return 'no memory for its summary';
    return this.positions === null ? 'no summary yet' : null;
  }

  /** Version of its summary that is held here. */
  get generation(): { readonly epoch: number; readonly sequence: number } | null {
    const { generation } = this.#subscriber;
    return generation === undefined
      ? null
      : { epoch: Number(generation.epoch), sequence: generation.sequence };
  }

  get silentMs(): number | null {
    return this.#heardAt === null ? null : this.#parts.clock.monotonic() - this.#heardAt;
  }

  get summaryBytes(): number {
    return this.#summaryBytes;
  }

  /** The transport tells that the state or the id of the neighbour changed. */
  changed(peer: Peer): void {
    this.#peer = peer;
    if (peer.state === 'up') this.#heardAt = this.#parts.clock.monotonic();
  }

  /** An answer of the neighbour named a later version of its summary than the one held here. */
  catchUp(): void {
    this.#ask(this.#subscriber.request());
  }

  close(): void {
    this.#unsubscribe();
    this.#parts.summaries.remove(this);
  }

  #receive(bytes: Uint8Array): void {
    const { work, clock, event } = this.#parts;
    const { length } = bytes;
    this.#heardAt = clock.monotonic();
    this.#summaryBytes += length;
    if (this.#isResting || this.#waitingBytes + length > MOST_WAITING_BYTES) return;
    this.#waitingBytes += length;
    work.run(
      this.#subscriber.receiveInSteps(bytes),
      (outcome) => {
        this.#waitingBytes -= length;
        this.#received(outcome);
      },
      (error) => {
        this.#waitingBytes -= length;
        event('warn', 'summary-not-received', { peer: this.address, problem: error });
      },
    );
  }

  get #isResting(): boolean {
    return this.#retryAt !== null && this.#parts.clock.monotonic() < this.#retryAt;
  }

  #received({ reply, verdict, problem }: SyncOutcome): void {
    if (problem === 'limit') this.#drop();
    else if (verdict === 'unreadable' || verdict === 'conflict' || verdict === 'foreign')
      this.#parts.event('warn', 'summary-refused', { peer: this.address, verdict, why: problem });
    if (reply !== undefined) this.#ask(reply);
  }

  #ask(request: Uint8Array): void {
    if (this.#isAsking || this.#isResting) return;
    this.#isAsking = true;
    const { transport } = this.#parts;
    transport.request(this.address, SUMMARY_TOPIC, request, { timeoutMs: REQUEST_MS }).then(
      (answer) => {
        this.#isAsking = false;
        if (answer.length > 0) this.#receive(answer);
      },
      // The next message, heartbeat or link gives another occasion.
      () => {
        this.#isAsking = false;
      },
    );
  }

  #newSubscriber(): SetSubscriber {
    const { keyId, maxPositions, summaries } = this.#parts;
    const subscriber = new SetSubscriber({
      publisherId: keyId,
      maxPositions,
      onChange: (change) => {
        // A message that waited when the summary was dropped.
        if (subscriber !== this.#subscriber) return;
        const isKept =
          change.kind === 'reset'
            ? summaries.reset(this)
            : summaries.change(this, change.added, change.removed.length);
        if (isKept) this.#retryAt = null;
        else this.#drop();
      },
    });
    return subscriber;
  }

  /** Forgets the summary, because there is no memory for it. */
  #drop(): void {
    const { summaries, clock, event } = this.#parts;
    event('warn', 'summary-too-large', { peer: this.address, objects: this.#subscriber.size });
    summaries.remove(this);
    this.#subscriber = this.#newSubscriber();
    this.#retryAt = clock.monotonic() + NO_ROOM_MS;
  }
}
