/**
 * The receiving end of a sync session: the summary of a remote set, kept up to date by messages
 * that may be lost, doubled, late, out of order, damaged or from another publisher. Messages go in,
 * messages come out; there is no network and no clock in here. docs/spec/sync.md is the protocol.
 *
 *     const outcome = subscriber.receive(message);
 *     if (outcome.reply) send(outcome.reply);               // to the publisher, which answers it
 *     if (subscriber.has(url)) askThePeer(url);             // maybe, or not known at present
 *
 * What it promises. 'current' means: it holds exactly one closed generation of the publisher, and
 * has heard of no later one. Then `has` is false for no key of that generation. In any other state
 * `has` is true for everything, so it is never worse than "maybe". It cannot promise that the
 * publisher has not moved on since, while the message is still on its way or lost. Heartbeats bound
 * that time; the caller chooses how often they come.
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
 * the truth. A late message cannot be told from such a one, but an answer can. It carries the
 * checksum of the request, and the request contains everything that the subscriber knew (the
 * generation it holds, the one it has heard of). So an answer to the very request that the
 * subscriber would send now was given after everything it has heard of. It is believed, even when
 * it names an earlier generation than was heard of before. This needs no memory, not even of having
 * sent a request.
 *
 * No storms. A message causes one reply at most, and an answer that brings nothing causes none. A
 * message that was damaged in transit is requested again. A message that arrived intact and cannot
 * be used (a summary above `maxBytes`, a missing key) is not, because it would come again. Once
 * messages arrive, a heartbeat, a request and an answer are enough.
 *
 * Structures. A summary is a `BloomFilter` unless the option `structure` names another class. Those
 * without `has`, such as `CountMinSketch`, are asked through `summary`.
 *
 * What it costs. The bits of the summary, and about four times as much while a message is
 * processed. A new generation is a new `BloomFilter`: a caller that keeps an old one can go on
 * using it, and it does not change.
 */

import { BloomFilter } from '../../filters/bloom-filter.ts';
import { checkOptions } from '../../filters/shared/options.ts';
import { FrameError, type FrameErrorCode } from '../../frames/envelope.ts';
import { CODED, readHead } from '../../frames/frame.ts';
import { kindOfFrame } from '../../frames/frame-head.ts';
import { HashScheme, hashScheme } from '../../hashing/hash-scheme.ts';
import type { SecretKey } from '../../hashing/secret-key.ts';
import { eachChunk, type KeyBatch } from '../../kernel/batches/batch.ts';
import type { KeyHash } from '../../kernel/batches/hash-key.ts';
import type { KeyHashes } from '../../kernel/batches/hash-keys.ts';
import type { Key } from '../../keys/key.ts';
import { checkNumber } from '../../math/checks.ts';
import { expandFrame } from '../coding/compressed-frame.ts';
import { Snapshot } from '../coding/snapshot.ts';
import { followChanges } from '../coding/snapshot-changes.ts';
import {
  checkSyncChecksum,
  checkUnsigned64,
  compareGenerations,
  type DeltaMessage,
  type FullMessage,
  type Generation,
  type GenerationName,
  type PublisherMessage,
  questionOf,
  readSyncBody,
  readSyncHead,
  writeSyncMessage,
} from './sync-message.ts';

/** A filter or sketch that a subscriber can hold. */
export interface Summary {
  encode(): Uint8Array;
  has?(key: Key): boolean;
  hasHash?(hash: KeyHash): boolean;
  hasMany?(keys: KeyBatch): Uint8Array;
}

/** The class of a summary, such as `BloomFilter` or `CountMinSketch`. */
export interface SummaryStructure<S extends Summary> {
  decode(frame: Uint8Array, options: { readonly key?: SecretKey }): S;
}

export interface SubscriberOptions<S extends Summary = BloomFilter> {
  /**
   * The class of the summaries. Summaries of other structures are refused. Default `BloomFilter`.
   */
  readonly structure?: SummaryStructure<S>;
  /** The `publisherId` whose messages are accepted. Default 0. */
  readonly publisherId?: number | bigint;
  /** The secret key of keyed summaries. */
  readonly key?: SecretKey;
  /** Summaries whose bits take more bytes of memory than this are refused. Default 128 MiB. */
  readonly maxBytes?: number;
}

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

export class Subscriber<S extends Summary = BloomFilter> {
  readonly publisherId: bigint;
  readonly maxBytes: number;
  readonly #structure: SummaryStructure<S>;
  readonly #key: SecretKey | undefined;
  #held: Held<S> | undefined;
  /** The latest generation that the publisher is known to have reached. */
  #heard: Generation | undefined;
  /** The last request that was written, and the state that it tells. */
  #asked: Asked | undefined;

  constructor(options: SubscriberOptions<S> = {}) {
    checkOptions('Subscriber', options, ['publisherId', 'key', 'maxBytes', 'structure']);
    const { publisherId = 0, key, maxBytes = MAX_BYTES, structure } = options;
    if (structure !== undefined && typeof structure.decode !== 'function') {
      throw new TypeError(`Cannot make a subscriber: expected a class with decode, got ${String(structure)}`);
    }
    // Without a structure, S is its default.
    this.#structure = structure ?? (BloomFilter as SummaryStructure<Summary> as SummaryStructure<S>);
    this.publisherId = checkUnsigned64('publisherId', publisherId);
    this.maxBytes = checkNumber('maxBytes', maxBytes, 0, Number.POSITIVE_INFINITY);
    if (key !== undefined) hashScheme({ key }); // refuses what is no key
    this.#key = key;
  }

  get status(): SyncStatus {
    if (this.#held === undefined) return 'empty';
    // The sum is compared as well: if a name was used twice, the bits under it may not be the ones
    // announced.
    const { generation } = this.#held;
    return isSame(generation, this.#heard) && generation.sum === this.#heard?.sum ? 'current' : 'behind';
  }

  /** The generation that is held, in any status. */
  get generation(): Generation | undefined {
    return this.#held?.generation;
  }

  /**
   * The summary of that generation, in any status, for callers that prefer outdated answers to
   * none. It must not be changed: a changed one is detected when the next delta leads elsewhere.
   */
  get summary(): S | undefined {
    return this.#held?.summary;
  }

  /**
   * True if the key may be in the set, or if this is not known at present. False if it is certainly
   * not in the held generation, which is the latest known.
   */
  has(key: Key): boolean {
    return this.#lookup('has')?.has?.(key) ?? true;
  }

  /** `has` by the key's hash, which must have been made with the scheme of the summary. */
  hasHash(hash: KeyHash): boolean {
    return this.#lookup('hasHash')?.hasHash?.(hash) ?? true;
  }

  /** `has` for many keys: one byte per key, in order. */
  hasMany(keys: KeyBatch): Uint8Array {
    return this.#lookup('hasMany')?.hasMany?.(keys) ?? new Uint8Array(countKeys(keys)).fill(1);
  }

  /**
   * The message to send to the publisher to become current: at the beginning, and at any later
   * time.
   */
  request(): Uint8Array {
    return Uint8Array.from(this.#ownRequest());
  }

  /** Processes a message of any content. Throws only if the argument is not bytes. */
  receive(message: Uint8Array): SyncOutcome {
    const before = this.#held;
    let inTransit = true; // until the checksum is verified, damage happened in transit
    try {
      const head = readSyncHead(message);
      if (head.type === 'request' || head.publisherId !== this.publisherId) {
        return this.#outcome('foreign', before, false);
      }
      checkSyncChecksum(message);
      inTransit = false;
      const told = readSyncBody(head, message) as PublisherMessage;
      const verdict = this.#judge(told);
      return this.#outcome(verdict, before, this.#isWorthAsking(told, verdict, before !== this.#held));
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      const again = inTransit && (error.code === 'truncated' || error.code === 'checksum');
      return { ...this.#outcome('unreadable', before, again), problem: error.code };
    }
  }

  toString(): string {
    const { epoch, sequence } = this.#held?.generation ?? {};
    const held = this.#held === undefined ? '' : `, generation ${epoch}/${sequence}, ${this.#held.summary}`;
    return `Subscriber(${this.publisherId}, ${this.status}${held})`;
  }

  /**
   * The request for the present state. It is kept, so that an answer is compared with it and no
   * second one is written.
   */
  #ownRequest(): Uint8Array {
    const held = this.#held?.generation;
    if (this.#asked === undefined || this.#asked.held !== held || this.#asked.heard !== this.#heard) {
      const { publisherId } = this;
      const heard = this.#heard === undefined || isSame(this.#heard, held) ? undefined : this.#heard;
      const bytes = writeSyncMessage({ type: 'request', publisherId, held, heard });
      this.#asked = { held, heard: this.#heard, bytes };
    }
    return this.#asked.bytes;
  }

  #judge(message: PublisherMessage): SyncVerdict {
    const { generation: said, question } = message;
    const isAnswer = question !== undefined && question === questionOf(this.#ownRequest());
    if (isAnswer || this.#heard === undefined || compareGenerations(said, this.#heard) > 0)
      this.#heard = said;
    const held = this.#held?.generation;
    if (this.#held !== undefined && held !== undefined) {
      const order = compareGenerations(said, held);
      if (order === 0 && said.sum === held.sum) return this.status === 'current' ? 'confirmed' : 'old';
      if (order < 0 && !isAnswer) return 'old';
      if (said.sum === held.sum) {
        // The bits are here already, under the name of an earlier generation: the set returned to
        // them, or the publisher started again.
        this.#held = { ...this.#held, generation: said };
        return 'taken';
      }
      if (order === 0) {
        // The summary is dropped before the answer is decoded: an answer that cannot be used proves
        // the conflict all the same.
        const conflict = this.#drop();
        if (!(isAnswer && message.type === 'full')) return conflict;
      }
    }
    if (message.type === 'full') return this.#takeFull(message);
    if (message.type === 'heartbeat' || !isSame({ ...said, sequence: message.base }, held)) return 'missing';
    return this.#takeDelta(message);
  }

  #takeFull({ frame, generation }: FullMessage): SyncVerdict {
    const kind = kindOfFrame(frame);
    const { variant, parameters } = readHead(kind, frame);
    const bytes = Math.ceil(kind.payloadBits(variant & ~CODED, parameters) / 8);
    if (bytes > this.maxBytes) {
      throw new FrameError('limit', 0, `expected at most ${this.maxBytes} bytes (maxBytes), got ${bytes}`);
    }
    const plain = expandFrame(frame, { maxBytes: this.maxBytes });
    const summary = this.#decode(plain);
    if (new Snapshot(plain).sum !== generation.sum) {
      throw new FrameError('payload', 0, `expected the summary that was announced, got another one`);
    }
    this.#held = { generation, summary };
    return 'taken';
  }

  #takeDelta({ code, generation }: DeltaMessage): SyncVerdict {
    const { summary } = this.#held!;
    const after = tryDelta(new Snapshot(summary.encode()), code, this.maxBytes);
    // It arrived as it was sent, so a delta that leads elsewhere is a delta of another summary.
    if (after?.sum !== generation.sum) return this.#drop();
    this.#held = { generation, summary: this.#decode(after.frame) };
    return 'taken';
  }

  #drop(): SyncVerdict {
    this.#held = undefined;
    return 'conflict';
  }

  #decode(frame: Uint8Array): S {
    return this.#structure.decode(frame, this.#key === undefined ? {} : { key: this.#key });
  }

  #isWorthAsking(message: PublisherMessage, verdict: SyncVerdict, moved: boolean): boolean {
    if (message.question !== undefined) return moved && this.status !== 'current';
    if (this.status !== 'current') return true;
    // The message is late, or from a publisher that has begun again below; only the publisher can
    // tell. Old deltas and states of the present epoch are too common to ask about each of them;
    // the next heartbeat will come.
    const isOtherEpoch = message.generation.epoch !== this.#held?.generation.epoch;
    return verdict === 'old' && (message.type === 'heartbeat' || isOtherEpoch);
  }

  #outcome(verdict: SyncVerdict, before: Held<S> | undefined, asks: boolean): SyncOutcome {
    const outcome = { verdict, status: this.status, changed: before?.summary !== this.#held?.summary };
    return asks ? { ...outcome, reply: this.request() } : outcome;
  }

  /** The summary if it is current. Throws if its structure has no such method. */
  #lookup(method: 'has' | 'hasHash' | 'hasMany'): S | undefined {
    const summary = this.status === 'current' ? this.#held?.summary : undefined;
    if (summary !== undefined && summary[method] === undefined) {
      throw new TypeError(`Cannot look up a key: expected a summary with ${method}, got ${summary}`);
    }
    return summary;
  }
}

interface Held<S> {
  readonly generation: Generation;
  readonly summary: S;
}

interface Asked {
  readonly held: Generation | undefined;
  readonly heard: Generation | undefined;
  readonly bytes: Uint8Array;
}

const MAX_BYTES = 2 ** 27;

/** The snapshot that the changes lead to, or undefined if they are no changes of this one. */
function tryDelta(from: Snapshot, code: Uint8Array, maxBytes: number): Snapshot | undefined {
  try {
    return followChanges(from, code, 0, maxBytes);
  } catch (error) {
    if (error instanceof FrameError) return undefined;
    throw error;
  }
}

function isSame(a: GenerationName, b: GenerationName | undefined): boolean {
  return b !== undefined && compareGenerations(a, b) === 0;
}

/** The number of keys of a batch in any form. */
function countKeys(keys: KeyBatch): number {
  const { scheme } = (keys ?? {}) as Partial<KeyHashes>;
  let total = 0;
  eachChunk(keys, scheme instanceof HashScheme ? scheme : hashScheme(), (count) => (total += count));
  return total;
}
