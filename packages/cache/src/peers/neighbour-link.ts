/**
 * One neighbour as this node knows it: the link to it, its summary, and the experience with it.
 *
 * The summary arrives as messages on the topic `summary` and is kept by a `SetSubscriber`. A
 * message that does not lead on from what is held causes a request, which the neighbour answers
 * with the missing changes or its full state. One request runs at a time. After one that brought
 * nothing (it failed, or its answer was refused) the next waits 0.25 s, then twice as long each
 * time, up to 30 s. Otherwise a summary above the limit would be asked for at each message of its
 * neighbour, and sent whole four times a second. The first message that is taken ends the waiting.
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

/** The wait after the first request in vain, and the longest one. */
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 30_000;

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
  /** The wait after the last request in vain, or 0. */
  #waitMs = 0;
  /** The time before which no request is sent, and the timer of one that waits for it. */
  #askAt = 0;
  #cancelAsk: Cancel | null = null;
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
      open: () => this.#ask(),
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
    this.#ask();
  }

  close(): void {
    this.#cancelAsk?.();
    this.#unsubscribe();
    this.#parts.summaries.remove(this);
  }

  #receive(bytes: Uint8Array, isAnswer = false): void {
    const { work, clock, event } = this.#parts;
    const { length } = bytes;
    this.#heardAt = clock.monotonic();
    this.#summaryBytes += length;
    if (this.#isResting || this.#waitingBytes + length > MOST_WAITING_BYTES) {
      if (isAnswer) this.#asked(false);
      return;
    }
    this.#waitingBytes += length;
    work.run(
      this.#subscriber.receiveInSteps(bytes),
      (outcome) => {
        this.#waitingBytes -= length;
        this.#received(outcome, isAnswer);
      },
      (error) => {
        this.#waitingBytes -= length;
        event('warn', 'summary-not-received', { peer: this.address, problem: error });
        if (isAnswer) this.#asked(false);
      },
    );
  }

  get #isResting(): boolean {
    return this.#retryAt !== null && this.#parts.clock.monotonic() < this.#retryAt;
  }

  #received({ reply, verdict, problem }: SyncOutcome, isAnswer: boolean): void {
    if (problem === 'limit') this.#drop();
    else if (verdict === 'unreadable' || verdict === 'conflict' || verdict === 'foreign')
      this.#parts.event('warn', 'summary-refused', { peer: this.address, verdict, why: problem });
    if (isAnswer) this.#asked(verdict === 'taken' || verdict === 'confirmed');
    else if (verdict === 'taken') this.#endWait();
    if (reply !== undefined) this.#ask();
  }

  /** Asks for what is missing, now or when the wait is over. */
  #ask(): void {
    const { transport, clock } = this.#parts;
    if (this.#isAsking || this.#isResting || this.#cancelAsk !== null) return;
    const waitMs = this.#waitMs === 0 ? 0 : this.#askAt - clock.monotonic();
    if (waitMs > 0) {
      this.#cancelAsk = clock.after(waitMs, () => {
        this.#cancelAsk = null;
        this.#ask();
      });
      return;
    }
    this.#isAsking = true;
    const request = this.#subscriber.request();
    transport.request(this.address, SUMMARY_TOPIC, request, { timeoutMs: REQUEST_MS }).then(
      (answer) => (answer.length > 0 ? this.#receive(answer, true) : this.#asked(false)),
      () => this.#asked(false),
    );
  }

  /** A request has come to its end, and brought something or not. */
  #asked(isUseful: boolean): void {
    this.#isAsking = false;
    if (isUseful) {
      this.#endWait();
    } else {
      this.#waitMs = Math.min(LONGEST_WAIT_MS, Math.max(FIRST_WAIT_MS, 2 * this.#waitMs));
      this.#askAt = this.#parts.clock.monotonic() + this.#waitMs;
    }
  }

  #endWait(): void {
    this.#waitMs = 0;
    this.#cancelAsk?.();
    this.#cancelAsk = null;
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
