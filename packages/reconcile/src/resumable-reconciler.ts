/**
 * A session that can go on after a broken connection. It has the interface of `Reconciler`, and
 * drives a `Reconciler` inside.
 *
 * The initiator keeps the bytes that it has received, and these are the token. The responder keeps
 * nothing, so it may have been killed and started again. Both roles are functions of their keys,
 * their randomness and the messages that they receive. So the initiator gets back to where it was
 * by hearing the kept bytes again, and the responder by hearing the initiator's messages again. The
 * responder makes its answers again as well, but holds back the bytes that the initiator has. A
 * checksum shows whether these are the same. They are not if one of the sets has changed, and then
 * the session starts again with another salt.
 *
 * A hostile peer gains nothing. An initiator that lies about the bytes that it holds gets bytes
 * that it cannot use. The limits of every session bound them. The result still needs the sums to
 * agree, so a checksum that misses a change (one in 2^32) wastes a session and no more.
 *
 * All messages of the initiator are sent again, even a large filter. We refused to keep them at the
 * responder: its memory would belong to clients that never return.
 */

import { checkLimit, ReconcileError, refuse } from './reconcile-error.ts';
import {
  type ReconcileKeys,
  type ReconcileProgress,
  type ReconcileResult,
  Reconciler,
  type ReconcilerOptions,
} from './reconciler.ts';
import { ByteReader } from './wire/byte-reader.ts';
import { ByteWriter } from './wire/byte-writer.ts';
import { encodeMessage, MessageBuffer } from './wire/message.ts';
import { RANDOM_BYTES } from './wire/message-types.ts';

export interface ResumableOptions extends ReconcilerOptions {
  /**
   * The token of a session that broke, for the initiator. The session goes on from there, or starts
   * again if one of the sets has changed, or if the token is damaged.
   */
  readonly resume?: Uint8Array | undefined;
}

export interface ResumableProgress extends ReconcileProgress {
  /** Bytes of earlier sessions that did not have to come again. */
  readonly bytesResumed: number;
}

/** The message that asks for a session to be resumed, and the answer to it. */
const RESUME = 11;
const TOKEN_VERSION = 1;
const TOKEN_HEAD = 1 + RANDOM_BYTES + 4;

export class ResumableReconciler {
  readonly #begin: (random: Uint8Array) => Reconciler;
  readonly #options: ResumableOptions;
  #session: Reconciler;
  #random: Uint8Array;
  /** The token to go on from, until the first message is asked for. */
  #token: Uint8Array | null;
  /**
   * The bytes that were received, without the answer to a request to resume. Null for a responder.
   */
  #log: ByteWriter | null;
  #helloSum = 0;
  readonly #out: Uint8Array[] = [];
  /** Bytes that have arrived before it is clear what they belong to. */
  #head: MessageBuffer | null;
  #held: HeldAnswers | null = null;
  #failed: unknown = null;
  #sent = 0;
  #received = 0;
  #resumed = 0;

  constructor(keys: ReconcileKeys, options: ResumableOptions) {
    const { resume, ...others } = options;
    const initiates = options.role === 'initiator';
    // A set may be needed twice, and some iterables give their keys only once.
    const again = Array.isArray(keys) || 'offsets' in keys || 'snapshot' in keys ? keys : Array.from(keys);
    this.#options = options;
    this.#begin = (random) => new Reconciler(again, { ...others, random });
    this.#token = initiates && resume && isToken(resume) ? resume : null;
    this.#random = this.#token?.slice(1, 1 + RANDOM_BYTES) ?? options.random;
    this.#session = this.#begin(this.#random);
    this.#log = initiates ? new ByteWriter() : null;
    this.#head = initiates ? null : new MessageBuffer();
  }

  get done(): boolean {
    return this.#session.done && this.#out.length === 0;
  }

  get result(): ReconcileResult {
    return this.#session.result;
  }

  get rest(): Uint8Array {
    return this.#session.rest;
  }

  /** @internal */
  get expects(): boolean {
    return this.#session.expects;
  }

  get progress(): ResumableProgress {
    return {
      ...this.#session.progress,
      bytesSent: this.#sent,
      bytesReceived: this.#received,
      bytesResumed: this.#resumed,
    };
  }

  /**
   * The token with which a new session goes on from here, or null if nothing was received. It is
   * as long as the bytes that were received.
   */
  token(): Uint8Array<ArrayBuffer> | null {
    const log = this.#token?.subarray(TOKEN_HEAD) ?? this.#log?.finish();
    if (!log?.length || this.#session.done) return null;
    if (this.#token !== null) return this.#token.slice();
    const head = new DataView(new ArrayBuffer(4));
    head.setUint32(0, this.#helloSum, true);
    const writer = new ByteWriter().byte(TOKEN_VERSION).bytes(this.#random);
    return writer.bytes(new Uint8Array(head.buffer)).bytes(log).finish();
  }

  receive(bytes: Uint8Array): void {
    if (this.#failed !== null) throw this.#failed;
    // The first byte says whether a session is resumed, and an empty piece has none.
    if (bytes.length === 0) return;
    this.#received += bytes.length;
    try {
      this.#take(bytes);
    } catch (error) {
      this.#failed = error;
      throw error;
    }
  }

  pull(): Uint8Array | null {
    if (this.#failed !== null) throw this.#failed;
    if (this.#token !== null) this.#goOn(this.#token);
    const bytes = this.#out.shift() ?? (this.#held === null ? this.#session.pull() : null);
    if (bytes === null) return null;
    if (this.#helloSum === 0) this.#helloSum = checksum(CHECKSUM_START, bytes);
    this.#sent += bytes.length;
    return bytes;
  }

  #take(bytes: Uint8Array): void {
    const head = this.#head;
    if (head === null) {
      this.#log?.bytes(bytes);
      this.#session.receive(bytes);
      return;
    }
    head.push(bytes);
    if (this.#held !== null || head.rest()[0] === RESUME) this.#takeMessages(head);
    else this.#pass(head);
  }

  /** Takes the messages with which a session is resumed, as far as they have arrived. */
  #takeMessages(head: MessageBuffer): void {
    const { maxBytes = 2 ** 28 } = this.#options;
    // The session inside does not see messages that are passed over, so their limit is here.
    checkLimit(maxBytes, this.#received, 'bytes received');
    while (this.#head !== null) {
      const message = head.next(maxBytes, RESUME);
      if (message === null) return;
      if (this.#held !== null) {
        const found = this.#held.receive(this.#session, encodeMessage(message.type, message.body));
        if (found === null) continue;
        this.#answer(found, this.#held);
        this.#pass(head);
      } else if (this.#log === null) this.#held = new HeldAnswers(message.body);
      else {
        if (message.body[0] !== 1) this.#startAgain();
        this.#pass(head);
      }
    }
  }

  /** From here on all bytes are those of the session. */
  #pass(head: MessageBuffer): void {
    this.#head = null;
    const rest = head.rest();
    if (rest.length > 0) this.#take(rest);
  }

  /** Tells the initiator whether the responder is where it was. */
  #answer(found: boolean, held: HeldAnswers): void {
    this.#held = null;
    if (!found) this.#session = this.#begin(this.#options.random);
    this.#out.push(encodeMessage(RESUME, Uint8Array.of(found ? 1 : 0)));
    if (found && held.rest.length > 0) this.#out.push(held.rest);
  }

  /** Goes on from a token, or starts again if it does not fit our keys. */
  #goOn(token: Uint8Array): void {
    this.#token = null;
    const log = token.subarray(TOKEN_HEAD);
    const said = this.#replay(new DataView(token.slice().buffer).getUint32(1 + RANDOM_BYTES, true), log);
    if (said === null) {
      this.#startAgain();
      return;
    }
    const wish = new ByteWriter().varint(said.length).varint(log.length);
    this.#out.push(encodeMessage(RESUME, wish.bytes(sumBytes(log)).finish()), ...said);
    this.#log?.bytes(log);
    this.#resumed = log.length;
    this.#head = new MessageBuffer();
  }

  /** Hears a log again. Returns our own messages, or null if the log does not fit our keys. */
  #replay(helloSum: number, log: Uint8Array): Uint8Array[] | null {
    const session = this.#session;
    const said: Uint8Array[] = [];
    const drain = () => {
      for (let each = session.pull(); each !== null; each = session.pull()) said.push(each);
    };
    try {
      drain();
      this.#helloSum = checksum(CHECKSUM_START, said[0]);
      if (this.#helloSum !== helloSum) return null;
      session.receive(log);
      drain();
    } catch (error) {
      if (error instanceof ReconcileError) return null;
      throw error;
    }
    return session.done ? null : said;
  }

  #startAgain(): void {
    this.#random = this.#options.random;
    this.#session = this.#begin(this.#random);
    this.#log = new ByteWriter();
    this.#helloSum = 0;
    this.#resumed = 0;
    this.#out.length = 0;
  }
}

/** The answers that a responder makes again, of which the initiator has some. */
class HeldAnswers {
  #messages: number;
  #left: number;
  readonly #sum: number;
  #made = CHECKSUM_START;
  /** Bytes of the last answer that the initiator does not have. */
  rest: Uint8Array = new Uint8Array(0);

  constructor(body: Uint8Array) {
    const reader = new ByteReader(body, 'resume');
    this.#messages = reader.varint();
    this.#left = reader.varint();
    const sum = reader.take(4);
    this.#sum = new DataView(sum.buffer, sum.byteOffset).getUint32(0, true);
    reader.end();
    if (this.#messages === 0 || this.#left === 0) refuse('messages and bytes', 0, 'resume');
  }

  /**
   * Takes one of the initiator's messages. Returns true if both sides are where they were, false if
   * they cannot get there, and null if more messages have to come first.
   */
  receive(session: Reconciler, message: Uint8Array): boolean | null {
    this.#messages--;
    try {
      if (this.#left > 0) session.receive(message);
      while (this.#left > 0) {
        const answer = session.pull();
        if (answer === null) break;
        this.#made = checksum(this.#made, answer.subarray(0, this.#left));
        this.rest = answer.subarray(this.#left);
        this.#left = Math.max(0, this.#left - answer.length);
      }
    } catch (error) {
      if (!(error instanceof ReconcileError)) throw error;
      this.#made = -1;
      this.#left = 0;
    }
    if (this.#left === 0 && this.#made === this.#sum) return true;
    // The messages of the broken session are heard to the end before it starts again.
    return this.#messages > 0 ? null : false;
  }
}

function isToken(bytes: Uint8Array): boolean {
  return bytes.length > TOKEN_HEAD && bytes[0] === TOKEN_VERSION;
}

const CHECKSUM_START = 0x811c9dc5;

/** FNV-1a of 32 bits, continued from `sum`. */
function checksum(sum: number, bytes: Uint8Array): number {
  let hash = sum;
  for (let i = 0; i < bytes.length; i++) hash = Math.imul(hash ^ bytes[i], 0x01000193);
  return hash >>> 0;
}

/** The checksum of these bytes, as it is sent. */
function sumBytes(bytes: Uint8Array): Uint8Array {
  const view = new DataView(new ArrayBuffer(4));
  view.setUint32(0, checksum(CHECKSUM_START, bytes), true);
  return new Uint8Array(view.buffer);
}
