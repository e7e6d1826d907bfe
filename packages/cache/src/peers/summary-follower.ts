/**
 * The summary of one neighbour under one secret of the fleet, as this node follows it.
 *
 * It arrives as messages on the topic `summary` and is kept by a `SetSubscriber`. A message that
 * does not lead on from what is held causes a request, which the neighbour answers with the missing
 * changes or its full state. One request runs at a time. After one that brought nothing (it failed,
 * or its answer was refused) the next waits 0.25 s, then twice as long each time, up to 30 s.
 * Otherwise a summary above the limit would be asked for at each message of its neighbour, and sent
 * whole four times a second. The first message that is taken ends the waiting. After requests that
 * failed the wait is at most 5 s, so that a summary is current two heartbeats after the network is
 * well again. If the link opened again while a request ran, one that failed is repeated.
 *
 * Messages under another secret come on the same topic and are ignored. A neighbour publishes under
 * two secrets while the operator changes them, and is followed twice if this node knows both.
 *
 * Density. A summary that says "maybe" for more than half of all keys is refused, and asked for
 * again after a minute. For a non-member key, such a summary is wrong more often than a coin toss.
 * A neighbour that sends all ones would be asked at each miss until it is no longer believed. The
 * share is positions/universe, both counted here and not told by the neighbour. An honest node
 * stays below 2 %, and one with 16 million objects at 21 % (decisions/summary-universe.ts). A
 * neighbour that lies at a lower density costs 20 round trips (decisions/peer-score.ts).
 *
 * Memory. A summary for which there is no memory is dropped at once, and asked for again after a
 * minute. Messages wait for their turn in the sliced work; beyond 16 MiB of them, further ones are
 * dropped as if the network had lost them, so that a neighbour cannot send faster than this node
 * reads.
 */

import type { Cancel, Clock, Transport } from '@bloomery/transport';
import { SetSubscriber, type SyncOutcome } from 'bloomery/wire';
import type {
  NeighbourSummaries,
  SummaryArrival,
  SummaryMember,
  SummaryPositions,
} from './neighbour-summaries.ts';
import type { SummaryVersion } from './objects/object-response.ts';
import type { SlicedWork } from './sliced-work.ts';

/** The topic of summaries, both for published messages and for requests. */
export const SUMMARY_TOPIC = 'summary';

/** A full state of a million positions takes a slow neighbour a while. */
const REQUEST_MS = 15_000;
/** Bytes of messages that wait for their turn: two of the largest. */
const MOST_WAITING_BYTES = 16 * 2 ** 20;
/** Time after which a summary that had no room is asked for again. */
const NO_ROOM_MS = 60_000;

/** The largest share of keys for which a summary may say "maybe". */
const MOST_DENSITY = 0.5;

/** The wait after the first request in vain, and the longest ones. */
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 30_000;
const LONGEST_WAIT_FOR_NETWORK_MS = 5000;

export interface SummaryFollowerParts {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly work: SlicedWork;
  readonly summaries: NeighbourSummaries;
  /** The most positions of one summary. */
  readonly maxPositions: number;
  readonly event: (level: 'info' | 'warn', name: string, fields: Record<string, unknown>) => void;
}

export class SummaryFollower implements SummaryMember {
  readonly address: string;
  readonly keyId: number;
  readonly #parts: SummaryFollowerParts;
  /** Told of the bytes of an answer, which do not come as a message. */
  readonly #heard: (bytes: number) => void;
  #subscriber: SetSubscriber;
  #isAsking = false;
  /** Whether another request was wanted while one ran. */
  #isWanted = false;
  #isClosed = false;
  /** A message of a later version came. The operator is told once. */
  #hasOtherKind = false;
  /** The time at which the summary is asked for again, after it was dropped. */
  #retryAt: number | null = null;
  /** Whether it was dropped because it was too dense, and not for lack of memory. */
  #isTooDense = false;
  #waitingBytes = 0;
  /** The wait after the last request in vain, or 0. */
  #waitMs = 0;
  /** The time before which no request is sent, and the timer of one that waits for it. */
  #askAt = 0;
  #cancelAsk: Cancel | null = null;
  /** The kind of the last change that a message made. */
  #lastChange: 'reset' | 'delta' = 'reset';
  #currentAt: number | null = null;
  #fullBytes: number | null = null;
  #deltaBytes: number | null = null;

  constructor(address: string, keyId: number, parts: SummaryFollowerParts, heard: (bytes: number) => void) {
    this.address = address;
    this.keyId = keyId;
    this.#parts = parts;
    this.#heard = heard;
    this.#subscriber = this.#newSubscriber();
  }

  /** The positions of the summary, or null before the first full state. */
  get positions(): SummaryPositions | null {
    return this.#subscriber.generation === undefined ? null : this.#subscriber;
  }

  get arrival(): SummaryArrival {
    const { clock } = this.#parts;
    return {
      currentAt: this.#currentAt,
      fullBytes: this.#fullBytes,
      deltaBytes: this.#deltaBytes,
      retryAt: this.#retryAt === null ? null : clock.now() + this.#retryAt - clock.monotonic(),
    };
  }

  /** Whether the neighbour publishes a kind of summary that this node cannot read, and no other. */
  get isUnknownKind(): boolean {
    return this.#hasOtherKind && this.positions === null;
  }

  /** The reason why the summary was dropped, or null. */
  get dropped(): 'room' | 'density' | null {
    if (this.#retryAt === null) return null;
    return this.#isTooDense ? 'density' : 'room';
  }

  /** The version of the summary that is held here. */
  get generation(): SummaryVersion | null {
    const { generation } = this.#subscriber;
    return generation === undefined
      ? null
      : { epoch: Number(generation.epoch), sequence: generation.sequence };
  }

  /** Takes a message of the neighbour, under any of its secrets. */
  receive(bytes: Uint8Array): void {
    this.#receive(bytes, false);
  }

  /**
   * Takes a full state that the neighbour left for nodes that join, then asks for the changes since
   * it. Until the state is read, other requests wait: they would ask for everything.
   */
  takeState(bytes: Uint8Array): void {
    if (this.#isClosed || this.#isAsking) return;
    this.#isAsking = true;
    this.#parts.work.run(
      this.#subscriber.receiveInSteps(bytes),
      (outcome) => {
        this.#isAsking = false;
        this.#received(outcome, false, bytes.length);
        this.ask();
      },
      () => {
        this.#isAsking = false;
        this.ask();
      },
    );
  }

  /** Asks for the missing part, now or when the wait is over. */
  ask(): void {
    const { transport, clock } = this.#parts;
    this.#isWanted = this.#isAsking;
    if (this.#isClosed || this.#isAsking || this.#isResting || this.#cancelAsk !== null) return;
    const waitMs = this.#waitMs === 0 ? 0 : this.#askAt - clock.monotonic();
    if (waitMs > 0) {
      this.#cancelAsk = clock.after(waitMs, () => {
        this.#cancelAsk = null;
        this.ask();
      });
      return;
    }
    this.#isAsking = true;
    const request = this.#subscriber.request();
    transport.request(this.address, SUMMARY_TOPIC, request, { timeoutMs: REQUEST_MS }).then(
      (answer) => {
        this.#heard(answer.length);
        if (answer.length > 0) this.#receive(answer, true);
        else this.#asked(false);
      },
      () => {
        this.#asked(false, LONGEST_WAIT_FOR_NETWORK_MS);
        if (this.#isWanted) this.ask();
      },
    );
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelAsk?.();
    this.#parts.summaries.remove(this);
  }

  #receive(bytes: Uint8Array, isAnswer: boolean): void {
    const { work, event } = this.#parts;
    const { length } = bytes;
    if (this.#isClosed || this.#isResting || this.#waitingBytes + length > MOST_WAITING_BYTES) {
      if (isAnswer) this.#asked(false);
      return;
    }
    this.#waitingBytes += length;
    work.run(
      this.#subscriber.receiveInSteps(bytes),
      (outcome) => {
        this.#waitingBytes -= length;
        this.#received(outcome, isAnswer, length);
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

  #received({ reply, verdict, problem }: SyncOutcome, isAnswer: boolean, bytes: number): void {
    if (verdict === 'taken' || verdict === 'confirmed') this.#currentAt = this.#parts.clock.now();
    if (verdict === 'taken') {
      if (this.#lastChange === 'reset') this.#fullBytes = bytes;
      else this.#deltaBytes = bytes;
    }
    if (problem === 'limit') this.#drop('room');
    else if (problem === 'version') this.#otherKind();
    else if (verdict === 'unreadable' || verdict === 'conflict')
      this.#parts.event('warn', 'summary-refused', { peer: this.address, verdict, why: problem });
    if (isAnswer) this.#asked(verdict === 'taken' || verdict === 'confirmed');
    else if (verdict === 'taken') this.#endWait();
    if (reply !== undefined) this.ask();
  }

  /** A later version may publish other kinds of summaries, beside this one or in its place. */
  #otherKind(): void {
    if (this.#hasOtherKind) return;
    this.#hasOtherKind = true;
    this.#parts.event('warn', 'summary-of-later-version', { peer: this.address });
  }

  /** Notes that a request has ended, and whether it brought something. */
  #asked(isUseful: boolean, longestMs = LONGEST_WAIT_MS): void {
    this.#isAsking = false;
    if (isUseful) {
      this.#endWait();
    } else {
      this.#waitMs = Math.min(longestMs, Math.max(FIRST_WAIT_MS, 2 * this.#waitMs));
      this.#askAt = this.#parts.clock.monotonic() + this.#waitMs;
    }
  }

  #endWait(): void {
    this.#waitMs = 0;
    this.#cancelAsk?.();
    this.#cancelAsk = null;
  }

  #newSubscriber(): SetSubscriber {
    const { maxPositions, summaries } = this.#parts;
    const subscriber = new SetSubscriber({
      publisherId: this.keyId,
      maxPositions,
      onChange: (change) => {
        // The message waited for its turn while the summary was dropped or the follower was closed.
        if (subscriber !== this.#subscriber || this.#isClosed) return;
        this.#lastChange = change.kind === 'reset' ? 'reset' : 'delta';
        if (subscriber.size > MOST_DENSITY * subscriber.universe) {
          this.#drop('density');
          return;
        }
        const isKept =
          change.kind === 'reset'
            ? summaries.reset(this)
            : summaries.change(this, change.added, change.removed.length);
        if (isKept) this.#retryAt = null;
        else this.#drop('room');
      },
    });
    return subscriber;
  }

  /** Forgets the summary, because there is no memory for it, or because it is too dense. */
  #drop(why: 'room' | 'density'): void {
    const { summaries, clock, event } = this.#parts;
    const name = why === 'room' ? 'summary-too-large' : 'summary-too-dense';
    event('warn', name, { peer: this.address, objects: this.#subscriber.size });
    this.#isTooDense = why === 'density';
    this.#currentAt = null;
    summaries.remove(this);
    this.#subscriber = this.#newSubscriber();
    this.#retryAt = clock.monotonic() + NO_ROOM_MS;
  }
}
