/**
 * The messages of the sending end of a sync session, whatever it publishes: the generation that was
 * closed last, its name, its full state, and the answer to a request. publisher.ts publishes the
 * summary of a counting filter, snapshot-publisher.ts the frames of any structure, and
 * set-publisher.ts a set of positions. All hold an announcer, and decide themselves how a state is
 * coded and where the changes since earlier generations come from.
 */

import { FrameError } from '../../frames/envelope.ts';
import { checkInteger } from '../../math/checks.ts';
import {
  checkUnsigned64,
  type Generation,
  questionOf,
  type RequestMessage,
  readSyncHead,
  readSyncMessage,
  type SyncMessage,
  type SyncVersion,
  writeSyncMessage,
} from './sync-message.ts';

export interface AnnouncerOptions {
  /** A number that no earlier run of this publisher had, from 0 to 2^48 - 1; best if it rises. */
  readonly incarnation: number;
  /** Distinguishes publishers that share a channel: an unsigned 64-bit integer. Default 0. */
  readonly publisherId?: number | bigint;
}

/** The contents of a generation. */
export interface AnnouncedState {
  readonly sum: bigint;
}

/** A full state: its approximate size, and the function that encodes it if it is needed. */
export interface FullCode {
  bytes(): number;
  encode(): Uint8Array;
}

export class Announcer<S extends AnnouncedState> {
  readonly publisherId: bigint;
  readonly #lastEpoch: bigint;
  readonly #version: SyncVersion;
  #generation: Generation;
  #state: S;
  /** The coded state, once it has been needed. */
  #coded: Uint8Array | undefined;

  constructor({ incarnation, publisherId = 0 }: AnnouncerOptions, state: S, version: SyncVersion) {
    this.publisherId = checkUnsigned64('publisherId', publisherId);
    const epoch = BigInt(checkInteger('incarnation', incarnation, 0, 2 ** 48 - 1)) * EPOCHS;
    this.#lastEpoch = epoch + EPOCHS - 1n;
    this.#version = version;
    this.#state = state;
    this.#generation = { epoch, sequence: 0, sum: state.sum };
  }

  /** The last closed generation. */
  get generation(): Generation {
    return this.#generation;
  }

  get state(): S {
    return this.#state;
  }

  /** The code of the last generation's state, if it has been needed. */
  get coded(): Uint8Array | undefined {
    return this.#coded;
  }

  /** Closes a generation of the present epoch. */
  advance(state: S): void {
    const { epoch, sequence } = this.#generation;
    this.#close(state, { epoch, sequence: sequence + 1, sum: state.sum });
  }

  /** Begins a new epoch. */
  restart(state: S): void {
    this.checkRestart();
    this.#close(state, { epoch: this.#generation.epoch + 1n, sequence: 0, sum: state.sum });
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
    return this.#write({ type: 'heartbeat', publisherId, generation: this.#generation, question });
  }

  /** The full state of the last generation. It is encoded once. */
  full({ encode }: Pick<FullCode, 'encode'>, question?: number): Uint8Array {
    return this.fullOf(this.#generation, this.#coded ?? encode(), question);
  }

  /** The full state of a generation whose code is known. */
  fullOf(generation: Generation, coded: Uint8Array, question?: number): Uint8Array {
    if (generation === this.#generation) this.#coded = coded;
    return this.#write({ type: 'full', publisherId: this.publisherId, generation, question, frame: coded });
  }

  /** The changes since generation number `base`. */
  delta(base: number, code: Uint8Array, question?: number): Uint8Array {
    return this.deltaTo(this.#generation, base, code, question);
  }

  /** The changes from generation number `base` to a later one of the same epoch. */
  deltaTo(generation: Generation, base: number, code: Uint8Array, question?: number): Uint8Array {
    return this.#write({ type: 'delta', publisherId: this.publisherId, generation, question, base, code });
  }

  /**
   * The changes since generation number `base`, or the full state if that is smaller. The state is
   * encoded only if it could be smaller.
   */
  deltaOrFull(base: number, code: Uint8Array, full: FullCode, question?: number): Uint8Array {
    const delta = this.delta(base, code, question);
    if (2 * delta.length < full.bytes()) return delta;
    const whole = this.full(full, question);
    return whole.length < delta.length ? whole : delta;
  }

  /**
   * The answer to a request: a heartbeat if the subscriber lacks nothing, otherwise the result of
   * `since` for the held generation and the question, or that of `full` if it is undefined. Null if
   * the bytes are not a request to this publisher.
   */
  answer<R>(
    request: Uint8Array,
    since: (held: Generation, question: number) => R | undefined,
    full: (question: number) => R,
  ): R | Uint8Array | null {
    const asked = this.#readRequest(request);
    if (asked === null) return null;
    const { held } = asked;
    const question = questionOf(request);
    if (held === undefined) return full(question);
    // The sum decides, under any name: a subscriber believes an answer even if it gives the bits an
    // earlier name.
    if (held.sum === this.#generation.sum) return this.heartbeat(question);
    const delta = held.epoch === this.#generation.epoch ? since(held, question) : undefined;
    return delta ?? full(question);
  }

  #close(state: S, generation: Generation): void {
    this.#state = state;
    this.#generation = generation;
    this.#coded = undefined;
  }

  #write(message: SyncMessage): Uint8Array {
    return writeSyncMessage(message, this.#version);
  }

  #readRequest(bytes: Uint8Array): RequestMessage | null {
    try {
      const { type, publisherId } = readSyncHead(bytes, this.#version);
      if (type !== 'request' || publisherId !== this.publisherId) return null;
      return readSyncMessage(bytes, this.#version) as RequestMessage;
    } catch (error) {
      if (error instanceof FrameError) return null;
      throw error;
    }
  }
}

/** The number of epochs of an incarnation. */
const EPOCHS = 2n ** 16n;
