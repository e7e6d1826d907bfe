/**
 * The messages of the sending end of a sync session, whatever it publishes: the generation that was
 * closed last, its name, its full state, and the answer to a request. publisher.ts publishes the
 * summary of a counting filter, and snapshot-publisher.ts the frames of any structure. Both hold an
 * announcer, and decide themselves where the changes since earlier generations come from.
 */

import { FrameError } from '../../frames/envelope.ts';
import { checkChoice, checkInteger } from '../../math/checks.ts';
import { compressFrame } from '../coding/compressed-frame.ts';
import type { Effort } from '../coding/encode-bits.ts';
import type { Snapshot } from '../coding/snapshot.ts';
import {
  checkUnsigned64,
  type Generation,
  questionOf,
  type RequestMessage,
  readSyncHead,
  readSyncMessage,
  writeSyncMessage,
} from './sync-message.ts';

export interface AnnouncerOptions {
  /** A number that no earlier run of this publisher had, from 0 to 2^48 - 1; best if it rises. */
  readonly incarnation: number;
  /** Distinguishes publishers that share a channel: an unsigned 64-bit integer. Default 0. */
  readonly publisherId?: number | bigint;
  /** How messages are coded; see `compressFrame`. Default 'small'. */
  readonly effort?: Effort;
}

export class Announcer {
  readonly publisherId: bigint;
  readonly effort: Effort;
  readonly #lastEpoch: bigint;
  #generation: Generation;
  #snapshot: Snapshot;
  /** The coded frame, once it has been needed. */
  #coded: Uint8Array | undefined;

  constructor(options: AnnouncerOptions, snapshot: Snapshot) {
    const { incarnation, publisherId = 0, effort = 'small' } = options;
    this.publisherId = checkUnsigned64('publisherId', publisherId);
    this.effort = checkChoice('effort', effort, ['small', 'fast']);
    const epoch = BigInt(checkInteger('incarnation', incarnation, 0, 2 ** 48 - 1)) * EPOCHS;
    this.#lastEpoch = epoch + EPOCHS - 1n;
    this.#snapshot = snapshot;
    this.#generation = { epoch, sequence: 0, sum: snapshot.sum };
  }

  /** The last closed generation. */
  get generation(): Generation {
    return this.#generation;
  }

  get snapshot(): Snapshot {
    return this.#snapshot;
  }

  /** Closes a generation of the present epoch. */
  advance(snapshot: Snapshot): void {
    const { epoch, sequence } = this.#generation;
    this.#close(snapshot, { epoch, sequence: sequence + 1, sum: snapshot.sum });
  }

  /** Begins a new epoch. */
  restart(snapshot: Snapshot): void {
    this.checkRestart();
    this.#close(snapshot, { epoch: this.#generation.epoch + 1n, sequence: 0, sum: snapshot.sum });
  }

  /** Throws if this incarnation has no epoch left. */
  checkRestart(): void {
    if (this.#generation.epoch >= this.#lastEpoch) {
      throw new RangeError(
        `Cannot begin an epoch: expected at most ${EPOCHS - 1n} replacements, got one more (make a publisher of a new incarnation)`,
      );
    }
  }

  /** A message that names the last generation. */
  heartbeat(question?: number): Uint8Array {
    const { publisherId } = this;
    return writeSyncMessage({ type: 'heartbeat', publisherId, generation: this.#generation, question });
  }

  /** The full state of the last generation. */
  full(question?: number): Uint8Array {
    const { publisherId, effort } = this;
    this.#coded ??= compressFrame(this.#snapshot.frame, { effort });
    const generation = this.#generation;
    return writeSyncMessage({ type: 'full', publisherId, generation, question, frame: this.#coded });
  }

  /**
   * The changes since generation number `base`, or the full state if that is smaller. `fullBytes`
   * is an estimate of the coded frame: the frame is coded only if it could be smaller.
   */
  deltaOrFull(base: number, code: Uint8Array, fullBytes: () => number, question?: number): Uint8Array {
    const { publisherId } = this;
    const generation = this.#generation;
    const delta = writeSyncMessage({ type: 'delta', publisherId, generation, question, base, code });
    if (2 * delta.length < fullBytes()) return delta;
    const full = this.full(question);
    return full.length < delta.length ? full : delta;
  }

  /**
   * The answer to a request: a heartbeat if the subscriber lacks nothing, otherwise the message
   * that `since` makes of the held generation and the question, or the full state if that is
   * undefined. Null if the bytes are not a request to this publisher.
   */
  answer(
    request: Uint8Array,
    since: (held: Generation, question: number) => Uint8Array | undefined,
  ): Uint8Array | null {
    const asked = this.#readRequest(request);
    if (asked === null) return null;
    const { held } = asked;
    const question = questionOf(request);
    if (held === undefined) return this.full(question);
    // The sum decides, under any name: a subscriber believes an answer even if it gives the bits an
    // earlier name.
    if (held.sum === this.#generation.sum) return this.heartbeat(question);
    const delta = held.epoch === this.#generation.epoch ? since(held, question) : undefined;
    return delta ?? this.full(question);
  }

  #close(snapshot: Snapshot, generation: Generation): void {
    this.#snapshot = snapshot;
    this.#generation = generation;
    this.#coded = undefined;
  }

  #readRequest(bytes: Uint8Array): RequestMessage | null {
    try {
      const { type, publisherId } = readSyncHead(bytes);
      if (type !== 'request' || publisherId !== this.publisherId) return null;
      return readSyncMessage(bytes) as RequestMessage;
    } catch (error) {
      if (error instanceof FrameError) return null;
      throw error;
    }
  }
}

/** The number of epochs of an incarnation. */
const EPOCHS = 2n ** 16n;
