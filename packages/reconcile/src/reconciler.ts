/**
 * A session without input and output: bytes of the other side go in by `receive`, bytes for it come
 * out by `pull`. It works over any transport that keeps the order of bytes: a socket, a pipe, a
 * web stream, messages. Given the same keys and the same randomness, it gives the same bytes.
 *
 *     for (;;) {
 *       for (let bytes = session.pull(); bytes !== null; bytes = session.pull()) send(bytes);
 *       if (session.done) break;
 *       session.receive(await next());
 *     }
 *
 * `session.result` is exact: both sides have compared a 64-bit sum of keyed hashes over the keys
 * that they have in common. docs/spec/reconcile.md has the messages, the limits and the proof.
 */

import type { Key, PackedKeys } from 'bloomery';
import type { KeySet } from './key-set/key-set.ts';
import { MOST_FIRST_SYMBOLS } from './math/symbols-needed.ts';
import { checkLimit, ReconcileError, wrongOption } from './reconcile-error.ts';
import { Initiator } from './session/initiator.ts';
import { KeyExchange } from './session/key-exchange.ts';
import type { OwnSet } from './session/own-set.ts';
import { Responder } from './session/responder.ts';
import type { ReconcileMethod, Role } from './session/role.ts';
import { SaltedSet } from './session/salted-set.ts';
import { keySource } from './sets/key-source.ts';
import { encodeMessage, MessageBuffer } from './wire/message.ts';
import { FLOWS, FROM_INITIATOR, FROM_RESPONDER, RANDOM_BYTES } from './wire/message-types.ts';

/** The keys of one side. A key that is given twice counts once. */
export type ReconcileKeys = Iterable<Key> | PackedKeys | KeySet;

export interface ReconcilerOptions {
  /** The initiator speaks first; the other side is the responder. */
  readonly role: 'initiator' | 'responder';
  /** 8 bytes from a cryptographic source of randomness, fresh for each session. */
  readonly random: Uint8Array;
  /**
   * Sends the keys that the other side lacks, and takes those that we lack, if the other side wants
   * it as well. Default false: each side only learns which of its own keys the other side lacks.
   */
  readonly exchange?: boolean;
  /**
   * The keys that this side wants to be sent, if keys are exchanged: its own to the other side
   * ('mine'), those of the other side to it ('theirs'), or both, which is the default. A direction
   * is used only if both sides want it. The search sends the same messages in any case: the
   * responder needs the list of its part for its own result, and the result of both sides is
   * certain only with it.
   */
  readonly wants?: 'both' | 'mine' | 'theirs';
  /**
   * Saves round trips at the price of about a quarter more bytes, for the initiator. Default: true
   * for a `KeySet`, which answers in microseconds, and false for other keys.
   */
  readonly eager?: boolean;
  /** Limit on the bytes that are sent and on those that are received. Default 256 MiB each. */
  readonly maxBytes?: number;
  /** Limit on the symbols of an attempt, 32 bytes of memory each. Default 2^22. */
  readonly maxSymbols?: number;
  /** Limit on attempts with another salt, from 3 to 255. Default 8. */
  readonly maxAttempts?: number;
}

export interface ReconcileResult {
  /** Our keys that the other side lacks, as they were given and in that order. */
  readonly onlyHere: readonly Key[];
  /** Number of keys that the other side holds and we lack. */
  readonly onlyThereCount: number;
  /** The bytes of those keys, or null if they were not sent. */
  readonly onlyThere: readonly Uint8Array[] | null;
  readonly method: ReconcileMethod;
}

/** The state of a session, for users who wait. */
export interface ReconcileProgress {
  readonly bytesSent: number;
  readonly bytesReceived: number;
  /** Symbols that were sent or received. */
  readonly symbols: number;
  /** Estimated number of differences, or null on the side that does not estimate, or too early. */
  readonly estimate: number | null;
  /** Number of attempts so far, from 1 on. */
  readonly attempts: number;
}

export class Reconciler {
  readonly #own: SaltedSet;
  readonly #role: Role;
  readonly #in = new MessageBuffer();
  readonly #maxBytes: number;
  /** The flag of our own keys among those that are sent. */
  readonly #fromHere: number;
  #exchange: KeyExchange | null = null;
  #result: ReconcileResult | null = null;
  #failed: unknown = null;
  #sent = 0;
  #received = 0;

  constructor(keys: ReconcileKeys, options: ReconcilerOptions) {
    const { role, random, exchange = false, wants = 'both', eager, ...limits } = options;
    const { maxBytes = 2 ** 28, maxSymbols = 2 ** 22, maxAttempts = 8 } = limits;
    const initiates = role === 'initiator';
    const fromHere = initiates ? FROM_INITIATOR : FROM_RESPONDER;
    const flows = { both: FLOWS, mine: fromHere, theirs: FLOWS - fromHere }[wants];
    if (!initiates && role !== 'responder') wrongOption("'initiator' or 'responder'", role);
    if (!flows) wrongOption("'both', 'mine' or 'theirs'", wants);
    if (!(random instanceof Uint8Array) || random.length !== RANDOM_BYTES)
      wrongOption('8 random bytes', random?.length);
    checkRange('maxBytes', maxBytes, 1024, 2 ** 53 - 1);
    checkRange('maxSymbols', maxSymbols, MOST_FIRST_SYMBOLS, 2 ** 28);
    checkRange('maxAttempts', maxAttempts, 3, 255);
    this.#maxBytes = maxBytes;
    this.#fromHere = fromHere;
    const set = ownSet(keys);
    this.#own = new SaltedSet(set, maxAttempts);
    this.#role = new (initiates ? Initiator : Responder)(this.#own, {
      random: random.slice(),
      flows: exchange ? flows : 0,
      eager: eager ?? set.kept !== null,
      maxSymbols,
    });
  }

  /** True as soon as the result is final and nothing is left to send or to receive. */
  get done(): boolean {
    return this.#result !== null;
  }

  get result(): ReconcileResult {
    if (this.#result === null)
      throw new ReconcileError('unexpected', 'expected a session that is done, got another');
    return this.#result;
  }

  /** Bytes that came after the end of the session, and belong to what follows on the stream. */
  get rest(): Uint8Array {
    return this.#in.rest();
  }

  /** @internal True if the other side has something to say before the session can end. */
  get expects(): boolean {
    return this.#role.difference === null || this.#exchange?.expects === true;
  }

  get progress(): ReconcileProgress {
    const { symbols, estimate } = this.#role;
    const attempts = this.#own.attempt + 1;
    return { bytesSent: this.#sent, bytesReceived: this.#received, symbols, estimate, attempts };
  }

  /** Takes bytes of the other side, in pieces of any size. After an error the session is over. */
  receive(bytes: Uint8Array): void {
    if (this.#failed !== null) throw this.#failed;
    try {
      this.#received += bytes.length;
      checkLimit(this.#maxBytes, this.#received, 'bytes received');
      this.#in.push(bytes);
      while (!this.done) {
        const message = this.#in.next(this.#maxBytes - this.#received + this.#in.waiting);
        if (message === null) break;
        (this.#exchange ?? this.#role).receive(message);
        this.#advance();
      }
    } catch (error) {
      this.#failed = error;
      throw error;
    }
  }

  /** The next bytes for the other side, or null if there are none before it answers. */
  pull(): Uint8Array | null {
    if (this.#failed !== null) throw this.#failed;
    const message = this.#role.pull() ?? this.#exchange?.pull() ?? null;
    this.#advance();
    if (message === null) return null;
    const bytes = encodeMessage(message.type, message.body);
    this.#sent += bytes.length;
    checkLimit(this.#maxBytes, this.#sent, 'bytes sent');
    return bytes;
  }

  /** Looks whether the search, or the whole session, has ended. */
  #advance(): void {
    const { difference, flows, out } = this.#role;
    if (difference === null || this.#result !== null) return;
    const { source } = this.#own.set;
    const { onlyThereCount, method } = difference;
    const onlyHere = () => Array.from(difference.onlyHere, (place) => source.keyAt(place));
    const takes = (flows & ~this.#fromHere) !== 0;
    if (flows !== 0 && this.#exchange === null) {
      const sent = flows & this.#fromHere ? onlyHere() : [];
      this.#exchange = new KeyExchange(sent, takes ? onlyThereCount : 0, this.#own);
    }
    if (out.length > 0 || this.#exchange?.done === false) return;
    const onlyThere = (takes && this.#exchange?.received) || null;
    this.#result = { onlyHere: onlyHere(), onlyThereCount, onlyThere, method };
  }
}

/** A `KeySet` is recognised by its method, so that programs without one do not carry its code. */
function ownSet(keys: ReconcileKeys): OwnSet {
  if (typeof (keys as KeySet)?.snapshot === 'function') return (keys as KeySet).snapshot();
  return { source: keySource(keys), kept: null };
}

function checkRange(name: string, value: number, least: number, most: number): void {
  if (!Number.isInteger(value) || value < least || value > most)
    wrongOption(`${name} from ${least} to ${most}`, value, RangeError);
}
