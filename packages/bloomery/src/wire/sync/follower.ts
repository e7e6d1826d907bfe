/**
 * The rules of the receiving end of a sync session, whatever the summary is: which generation is
 * held, which one was heard of, what a message changes, and what to ask. subscriber.ts holds frames
 * of any structure, set-subscriber.ts a set of positions; both give the follower two functions, one
 * that takes a full state and one that takes a delta. docs/spec/sync.md is the protocol.
 *
 * How. Every message names a generation by epoch, sequence number and the sum of its bits. A full
 * state is taken if it is later than the held one, a delta if it starts exactly at the held one. In
 * both cases the resulting bits must have the announced sum, or nothing is taken. A message that
 * tells of a later generation but does not lead there causes a request. A message that contradicts
 * the held summary (same name, another sum; a delta that leads elsewhere) proves that the summary
 * is worthless. The summary is then dropped, whether or not the message brings something better,
 * and the request is that of a new subscriber.
 *
 * Questions. Names rise, so a message with a lower name is old and is ignored. The exception is a
 * publisher that has lost its counter and has begun again below: then the message that looks old is
 * the truth. Such a message looks like a late one, unless it is an answer. An answer carries the
 * checksum of its request, and the request contains everything that the subscriber knew (the
 * generation it holds, the one it has heard of). If that is still the request that the subscriber
 * would send now, the answer is later than everything that the subscriber has heard of. So it is
 * believed, even if it names an earlier generation. This needs no memory, not even of having sent a
 * request.
 *
 * No storms. A message causes one reply at most, and an answer that brings nothing causes none. A
 * message that was damaged in transit is requested again. A message that arrived intact and cannot
 * be used (a summary above the limit, a missing key) is not, because it would come again. Once
 * messages arrive, a heartbeat, a request and an answer are enough.
 */

import { FrameError, type FrameErrorCode } from '../../frames/envelope.ts';
import {
  checkSyncChecksum,
  compareGenerations,
  type DeltaMessage,
  type FullMessage,
  type Generation,
  type GenerationName,
  type PublisherMessage,
  questionOf,
  readSyncBody,
  readSyncHead,
  type SyncVersion,
  writeSyncMessage,
} from './sync-message.ts';

/**
 * 'empty': there is no summary. 'behind': there is one, and a later generation is known to exist.
 */
export type SyncStatus = 'empty' | 'current' | 'behind';

/** The effect of a message. */
export type SyncVerdict =
  | 'taken' // it brought a later generation
  | 'confirmed' // it names the generation that is held, which is the latest
  | 'missing' // it names a later generation and does not lead there from the held one
  | 'old' // it names a generation that was passed already
  | 'conflict' // it proves that the summary is not the publisher's; the summary is dropped
  | 'foreign' // it is from another publisher, or not from a publisher at all
  | 'unreadable'; // it is damaged, or more than can be handled; see `problem`

export interface SyncOutcome {
  readonly verdict: SyncVerdict;
  /** The status after the message. */
  readonly status: SyncStatus;
  /** Whether there is another summary now, or none any more. */
  readonly changed: boolean;
  /** The message to send to the publisher, if any. */
  readonly reply?: Uint8Array;
  /** The reason why the message was unreadable. */
  readonly problem?: FrameErrorCode;
}

/** The two ways to a new state. Both leave the held one as it is if they fail. */
export interface Takers<S> {
  /** Throws a `FrameError` if the message cannot be used or does not have the announced sum. */
  takeFull(message: FullMessage): S;
  /** The state that the changes lead to, or undefined if they do not lead to the announced sum. */
  takeDelta(message: DeltaMessage, held: S): S | undefined;
}

/** A message that was opened: either it can be applied, or its effect is known already. */
export type Opened =
  | { readonly told: PublisherMessage }
  | { readonly told: undefined; readonly outcome: SyncOutcome };

/** Each generation must have another object `S`. */
export class Follower<S> {
  readonly publisherId: bigint;
  readonly #version: SyncVersion;
  /**
   * The generation that is held and its state, both or none. They are two fields and not one
   * object. So where subscribers share messages and sets, taking a message allocates nothing for a
   * single subscriber.
   */
  #generation: Generation | undefined;
  #state: S | undefined;
  /** The latest generation that the publisher is known to have reached. */
  #heard: Generation | undefined;
  /** The request for the present state, if it was needed since the last change. */
  #asked: Uint8Array | undefined;

  constructor(publisherId: bigint, version: SyncVersion) {
    this.publisherId = publisherId;
    this.#version = version;
  }

  get status(): SyncStatus {
    const held = this.#generation;
    if (held === undefined) return 'empty';
    if (held === this.#heard) return 'current';
    // The sum is compared as well: if a name was used twice, the bits under it may not be the ones
    // announced.
    return isSame(held, this.#heard) && held.sum === this.#heard?.sum ? 'current' : 'behind';
  }

  /** The generation that is held, in any status. */
  get generation(): Generation | undefined {
    return this.#generation;
  }

  /** The state of that generation, in any status. */
  get state(): S | undefined {
    return this.#state;
  }

  /**
   * The message to send to the publisher to become current: at the beginning, and at any later
   * time.
   */
  request(): Uint8Array {
    return new Uint8Array(this.#ownRequest());
  }

  /** Reads a message of any content. Throws only if the argument is not bytes. */
  open(message: Uint8Array): Opened {
    let inTransit = true; // until the checksum is verified, damage happened in transit
    try {
      const head = readSyncHead(message, this.#version);
      if (head.type === 'request' || head.publisherId !== this.publisherId) {
        return { told: undefined, outcome: this.#outcome('foreign', false, false) };
      }
      checkSyncChecksum(message);
      inTransit = false;
      return { told: readSyncBody(head, message) as PublisherMessage };
    } catch (error) {
      return { told: undefined, outcome: this.#unreadable(error, false, inTransit) };
    }
  }

  /** Whether a message that arrives now would be taken, if it can be used. */
  wants(message: PublisherMessage): boolean {
    const held = this.#generation;
    if (message.type === 'heartbeat' || message.generation.sum === held?.sum) return false;
    if (message.type === 'delta') return this.#startsHere(message);
    return held === undefined || this.#isAnswer(message) || compareGenerations(message.generation, held) > 0;
  }

  /** Applies a message. */
  apply(message: PublisherMessage, takers: Takers<S>): SyncOutcome {
    const [generation, state] = [this.#generation, this.#state];
    try {
      const verdict = this.#judge(message, takers);
      const asks = this.#isWorthAsking(message, verdict, generation !== this.#generation);
      return this.#outcome(verdict, state !== this.#state, asks);
    } catch (error) {
      return this.#unreadable(error, state !== this.#state, false);
    }
  }

  /**
   * The request for the present state. It is kept, so that an answer is compared with it and no
   * second one is written.
   */
  #ownRequest(): Uint8Array {
    if (this.#asked !== undefined) return this.#asked;
    const [publisherId, version, held] = [this.publisherId, this.#version, this.#generation];
    if (this.#heard === undefined && publisherId === lastFirst.publisherId && version === lastFirst.version)
      return (this.#asked = lastFirst.bytes);
    const heard = this.#heard === undefined || isSame(this.#heard, held) ? undefined : this.#heard;
    const bytes = writeSyncMessage({ type: 'request', publisherId, held, heard }, version);
    if (this.#heard === undefined) lastFirst = { publisherId, version, bytes };
    return (this.#asked = bytes);
  }

  #hear(said: Generation): void {
    this.#heard = said;
    this.#asked = undefined;
  }

  #hold(generation: Generation | undefined, state: S | undefined): void {
    this.#generation = generation;
    this.#state = state;
    this.#asked = undefined;
  }

  #judge(message: PublisherMessage, takers: Takers<S>): SyncVerdict {
    const said = message.generation;
    const isAnswer = this.#isAnswer(message);
    if (isAnswer || this.#heard === undefined || compareGenerations(said, this.#heard) > 0) this.#hear(said);
    const held = this.#generation;
    if (held !== undefined) {
      const order = compareGenerations(said, held);
      if (order === 0 && said.sum === held.sum) return this.status === 'current' ? 'confirmed' : 'old';
      if (order < 0 && !isAnswer) return 'old';
      if (said.sum === held.sum) {
        // The bits are here already, under the name of an earlier generation: the set returned to
        // them, or the publisher started again.
        this.#hold(said, this.#state);
        return 'taken';
      }
      if (order === 0) {
        // The summary is dropped before the answer is decoded: an answer that cannot be used proves
        // the conflict all the same.
        const conflict = this.#drop();
        if (!(isAnswer && message.type === 'full')) return conflict;
      }
    }
    if (message.type === 'full') {
      this.#hold(said, takers.takeFull(message));
      return 'taken';
    }
    if (message.type === 'heartbeat' || !this.#startsHere(message)) return 'missing';
    const state = takers.takeDelta(message, this.#state as S);
    // It arrived as it was sent, so a delta that leads elsewhere is a delta of another summary.
    if (state === undefined) return this.#drop();
    this.#hold(said, state);
    return 'taken';
  }

  /** Whether a message answers the request that would be sent now. */
  #isAnswer({ question }: PublisherMessage): boolean {
    return question !== undefined && question === questionOf(this.#ownRequest());
  }

  #startsHere({ generation, base }: DeltaMessage): boolean {
    const held = this.#generation;
    return held !== undefined && held.sequence === base && held.epoch === generation.epoch;
  }

  #drop(): SyncVerdict {
    this.#hold(undefined, undefined);
    return 'conflict';
  }

  #isWorthAsking(message: PublisherMessage, verdict: SyncVerdict, moved: boolean): boolean {
    if (message.question !== undefined) return moved && this.status !== 'current';
    if (this.status !== 'current') return true;
    // The message is late, or from a publisher that has begun again below; only the publisher can
    // tell. Old deltas and states of the present epoch are too common to ask about each of them;
    // the next heartbeat will come.
    const isOtherEpoch = message.generation.epoch !== this.#generation?.epoch;
    return verdict === 'old' && (message.type === 'heartbeat' || isOtherEpoch);
  }

  #outcome(verdict: SyncVerdict, changed: boolean, asks: boolean): SyncOutcome {
    const { status } = this;
    return asks ? { verdict, status, changed, reply: this.request() } : { verdict, status, changed };
  }

  #unreadable(error: unknown, changed: boolean, inTransit: boolean): SyncOutcome {
    if (!(error instanceof FrameError)) throw error;
    const again = inTransit && (error.code === 'truncated' || error.code === 'checksum');
    return { ...this.#outcome('unreadable', changed, again), problem: error.code };
  }
}

/**
 * The last request of a subscriber that held nothing. It depends on the publisher alone, so it is
 * kept for all subscribers of the process, which send it when they begin.
 */
let lastFirst: FirstRequest = { publisherId: -1n, version: 1, bytes: new Uint8Array() };

interface FirstRequest {
  readonly publisherId: bigint;
  readonly version: SyncVersion;
  readonly bytes: Uint8Array;
}

function isSame(a: GenerationName, b: GenerationName | undefined): boolean {
  return b !== undefined && compareGenerations(a, b) === 0;
}
