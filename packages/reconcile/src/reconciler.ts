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
import { ReconcileError } from './reconcile-error.ts';
import { Initiator } from './session/initiator.ts';
import { KeyExchange } from './session/key-exchange.ts';
import type { OwnSet } from './session/own-set.ts';
import { Responder } from './session/responder.ts';
import { FIRST_SYMBOLS, MOST_FIRST_SYMBOLS, type ReconcileMethod, type Role } from './session/role.ts';
import { SaltedSet } from './session/salted-set.ts';
import { keySource } from './sets/key-source.ts';
import { RANDOM_BYTES } from './sets/session-salt.ts';
import { encodeMessage, MessageBuffer } from './wire/message.ts';

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
   * Number of symbols in the first answer, from 1 to 4096, for the initiator. Default 64. Twice the
   * expected number of differences saves a round trip.
   */
  readonly firstSymbols?: number;
  /** Limit on the bytes that are sent and on those that are received. Default 256 MiB each. */
  readonly maxBytes?: number;
  /** Limit on the symbols of an attempt, 16 bytes of memory each. Default 2^22. */
  readonly maxSymbols?: number;
  /** Limit on attempts with another salt, from 3 to 255. Default 8. */
  readonly maxAttempts?: number;
}

export interface ReconcileResult {
  /** Our keys that the other side lacks, as they were given and in that order. */
  readonly onlyHere: readonly Key[];
  /** Number of keys that the other side holds and we lack. */
  readonly onlyThereCount: number;
  /** The bytes of those keys, or null if keys were not exchanged. */
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
  #exchange: KeyExchange | null = null;
  #result: ReconcileResult | null = null;
  #failed: unknown = null;
  #sent = 0;
  #received = 0;

  constructor(keys: ReconcileKeys, options: ReconcilerOptions) {
    const { role, random, exchange = false, ...limits } = options;
    const {
      firstSymbols = FIRST_SYMBOLS,
      maxBytes = 2 ** 28,
      maxSymbols = 2 ** 22,
      maxAttempts = 8,
    } = limits;
    if (role !== 'initiator' && role !== 'responder')
      throw new TypeError(`Cannot reconcile: expected the role 'initiator' or 'responder', got ${role}`);
    if (!(random instanceof Uint8Array) || random.length !== RANDOM_BYTES)
      throw new TypeError(`Cannot reconcile: expected ${RANDOM_BYTES} random bytes, got ${random?.length}`);
    checkRange('firstSymbols', firstSymbols, 1, MOST_FIRST_SYMBOLS);
    checkRange('maxBytes', maxBytes, 1024, Number.MAX_SAFE_INTEGER);
    checkRange('maxSymbols', maxSymbols, MOST_FIRST_SYMBOLS, 2 ** 28);
    checkRange('maxAttempts', maxAttempts, 3, 255);
    this.#maxBytes = maxBytes;
    this.#own = new SaltedSet(ownSet(keys), maxAttempts);
    const roleOptions = { random: random.slice(), exchange, firstSymbols, maxSymbols };
    this.#role =
      role === 'initiator' ? new Initiator(this.#own, roleOptions) : new Responder(this.#own, roleOptions);
  }

  /** True as soon as the result is final and nothing is left to send or to receive. */
  get done(): boolean {
    return this.#result !== null;
  }

  get result(): ReconcileResult {
    if (this.#result === null)
      throw new ReconcileError('unexpected', 'expected a session that is done, got one that is not');
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
    return {
      bytesSent: this.#sent,
      bytesReceived: this.#received,
      symbols: this.#role.symbols,
      estimate: this.#role.estimate,
      attempts: this.#own.attempt + 1,
    };
  }

  /** Takes bytes of the other side, in pieces of any size. After an error the session is over. */
  receive(bytes: Uint8Array): void {
    if (this.#failed !== null) throw this.#failed;
    try {
      this.#received += bytes.length;
      this.#checkLimit('received', this.#received);
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
    this.#checkLimit('sent', this.#sent);
    return bytes;
  }

  /** Looks whether the search, or the whole session, has ended. */
  #advance(): void {
    const { difference, exchange, idle } = this.#role;
    if (difference === null || this.#result !== null) return;
    const { source } = this.#own.set;
    const onlyHere = () => Array.from(difference.onlyHere, (place) => source.keyAt(place));
    if (exchange) this.#exchange ??= new KeyExchange(onlyHere(), difference.onlyThereCount, this.#own);
    if (!idle || this.#exchange?.done === false) return;
    this.#result = {
      onlyHere: onlyHere(),
      onlyThereCount: difference.onlyThereCount,
      onlyThere: this.#exchange?.received ?? null,
      method: difference.method,
    };
  }

  #checkLimit(what: string, bytes: number): void {
    if (bytes > this.#maxBytes)
      throw new ReconcileError('limit', `expected at most ${this.#maxBytes} bytes ${what}, got ${bytes}`);
  }
}

/** A `KeySet` is recognised by its method, so that programs without one do not carry its code. */
function ownSet(keys: ReconcileKeys): OwnSet {
  if (typeof (keys as KeySet)?.snapshot === 'function') return (keys as KeySet).snapshot();
  return { source: keySource(keys), kept: null };
}

function checkRange(name: string, value: number, least: number, most: number): void {
  if (!Number.isInteger(value) || value < least || value > most)
    throw new RangeError(`Cannot reconcile: expected ${name} from ${least} to ${most}, got ${value}`);
}
