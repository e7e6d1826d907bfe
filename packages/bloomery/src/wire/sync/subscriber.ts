/**
 * The receiving end of a sync session: the summary of somebody else's set, kept up to date by messages that may be lost,
 * doubled, late, out of order, damaged or somebody else's. Messages in, messages out: no network, no clock. docs/spec/sync.md is
 * the protocol.
 *
 *     const outcome = subscriber.receive(message);
 *     if (outcome.reply) send(outcome.reply);               // to the publisher, who answers it
 *     if (subscriber.has(url)) askThePeer(url);             // maybe, or not known at present
 *
 * What it promises. 'current' means: it holds exactly one closed generation of the publisher, and has heard of no later
 * one. Then `has` is false for no key of that generation. In any other state `has` is true for everything: never worse
 * than "maybe". What nobody can promise: that the publisher has not moved on since, while the message is still on its way
 * or lost. Heartbeats bound that time; how often they come is the caller's choice.
 *
 * How. Every message names a generation by epoch, sequence number and the sum of its bits. A full state is taken if it is
 * later than what is held; a delta if it starts exactly there; and the bits that come out must have the sum that was said, or
 * nothing is taken. A message that tells of a later generation and does not help to get there leads to a request. One that
 * contradicts what is held (same name, another sum; a delta that leads elsewhere) proves that it is worth nothing: it is
 * dropped, whether or not the message brings something better, and the request is a newcomer's.
 *
 * Questions. Names rise, so what is lower is old and is passed over. Except when a publisher has lost its counter, and has
 * begun again below: then what looks old is the truth. A late message cannot be told from such a one, but an answer can: it
 * carries the checksum of the request, and the request says all that the subscriber knew (what it holds, what it has heard
 * of). So an answer to the very request that it would send now was given after everything it has heard of: it is believed,
 * also when it says less than was heard before. Nothing has to be remembered for this, not even that something was asked.
 *
 * No storms. A message leads to one reply at most, and an answer that brings nothing leads to none. What was damaged on its
 * way is asked for again; what arrived as it was sent and cannot be used (a summary above `maxBytes`, a missing key) is not,
 * because it would come again. Once messages arrive, a heartbeat, a request and an answer are all it takes.
 *
 * What it costs. The bits of the summary; while a message is worked on, about four times as much. A new generation is a new
 * `BloomFilter`: who holds on to an old one can go on asking it, nothing changes under it.
 */

import { BloomFilter } from '../../filters/bloom-filter.ts';
import { checkOptions } from '../../filters/shared/options.ts';
import { FrameError, type FrameErrorCode, writeChecksum } from '../../frames/envelope.ts';
import { CODED, readHead } from '../../frames/frame.ts';
import { BLOOM_FRAME } from '../../frames/frame-kinds.ts';
import { HashScheme, hashScheme } from '../../hashing/hash-scheme.ts';
import type { SecretKey } from '../../hashing/secret-key.ts';
import { eachChunk, type KeyBatch } from '../../kernel/batches/batch.ts';
import type { KeyHash } from '../../kernel/batches/hash-key.ts';
import type { KeyHashes } from '../../kernel/batches/hash-keys.ts';
import type { Key } from '../../keys/key.ts';
import { checkNumber } from '../../math/checks.ts';
import { decodeBits } from '../coding/bit-code.ts';
import { expandFrame } from '../coding/compressed-frame.ts';
import { frameSum } from '../coding/delta.ts';
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

export interface SubscriberOptions {
  /** The `publisherId` whose messages count. Default 0. */
  readonly publisherId?: number | bigint;
  /** The secret key of keyed summaries. */
  readonly key?: SecretKey;
  /** Refuses summaries whose bits take more memory than this. Default 128 MiB. */
  readonly maxBytes?: number;
}

/** 'empty': there is no summary. 'behind': there is one, and a later generation is known of. */
export type SyncStatus = 'empty' | 'current' | 'behind';

/** What a message was good for. */
export type SyncVerdict =
  | 'taken' // it brought a later generation
  | 'confirmed' // it tells of the generation that is held, which is the latest
  | 'missing' // it tells of a later generation and does not lead there from here
  | 'old' // it tells of a generation that was passed already
  | 'conflict' // it proves that the summary is not the publisher's, which is dropped
  | 'foreign' // another publisher's, or not a publisher's at all
  | 'unreadable'; // damaged, or more than can be handled; see `problem`

export interface SyncOutcome {
  readonly verdict: SyncVerdict;
  /** After the message. */
  readonly status: SyncStatus;
  /** Whether the summary is another one now, or there is none any more. */
  readonly changed: boolean;
  /** What to send to the publisher, if anything. */
  readonly reply?: Uint8Array;
  /** Why it was unreadable. */
  readonly problem?: FrameErrorCode;
}

export class Subscriber {
  readonly publisherId: bigint;
  readonly maxBytes: number;
  readonly #key: SecretKey | undefined;
  #held: Held | undefined;
  /** The latest generation that the publisher is known to have reached. */
  #heard: Generation | undefined;

  constructor(options: SubscriberOptions = {}) {
    checkOptions('Subscriber', options, ['publisherId', 'key', 'maxBytes']);
    const { publisherId = 0, key, maxBytes = MAX_BYTES } = options;
    this.publisherId = checkUnsigned64('publisherId', publisherId);
    this.maxBytes = checkNumber('maxBytes', maxBytes, 0, Number.POSITIVE_INFINITY);
    if (key !== undefined) hashScheme({ key }); // refuses what is no key
    this.#key = key;
  }

  get status(): SyncStatus {
    if (this.#held === undefined) return 'empty';
    // The sum as well: where a name was used twice, what came under it need not be what was announced.
    const { generation } = this.#held;
    return isSame(generation, this.#heard) && generation.sum === this.#heard?.sum ? 'current' : 'behind';
  }

  /** The generation that is held, in whatever status. */
  get generation(): Generation | undefined {
    return this.#held?.generation;
  }

  /**
   * The summary of that generation, in whatever status: for those who prefer old answers to none. Not to be changed: a
   * changed one is found out when the next delta leads elsewhere.
   */
  get summary(): BloomFilter | undefined {
    return this.#held?.summary;
  }

  /** True: maybe, or not known at present. False: certainly not in the generation that is held, the latest known. */
  has(key: Key): boolean {
    return this.#sound()?.has(key) ?? true;
  }

  /** `has` by the key's hash, which must be by the scheme of the summary. */
  hasHash(hash: KeyHash): boolean {
    return this.#sound()?.hasHash(hash) ?? true;
  }

  /** `has` for many keys: one byte a key, in order. */
  hasMany(keys: KeyBatch): Uint8Array {
    return this.#sound()?.hasMany(keys) ?? new Uint8Array(countKeys(keys)).fill(1);
  }

  /** What to send to the publisher to get current: at the beginning, and whenever there is time to ask. */
  request(): Uint8Array {
    const { publisherId } = this;
    const held = this.#held?.generation;
    const heard = this.#heard === undefined || isSame(this.#heard, held) ? undefined : this.#heard;
    return writeSyncMessage({ type: 'request', publisherId, held, heard });
  }

  /** Takes a message, whatever it is. Only bytes that are none are an error. */
  receive(message: Uint8Array): SyncOutcome {
    const before = this.#held;
    let inTransit = true; // up to the checksum, damage is the network's
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

  #judge(message: PublisherMessage): SyncVerdict {
    const { generation: said, question } = message;
    const isAnswer = question !== undefined && question === questionOf(this.request());
    if (isAnswer || this.#heard === undefined || compareGenerations(said, this.#heard) > 0)
      this.#heard = said;
    const held = this.#held?.generation;
    if (this.#held !== undefined && held !== undefined) {
      const order = compareGenerations(said, held);
      if (order === 0 && said.sum === held.sum) return this.status === 'current' ? 'confirmed' : 'old';
      if (order < 0 && !isAnswer) return 'old';
      if (said.sum === held.sum) {
        // The bits are here already, under the name of an earlier generation: they came back, or the publisher did.
        this.#held = { ...this.#held, generation: said };
        return 'taken';
      }
      if (order === 0) {
        // It goes before the answer is looked into: one that cannot be used proves no less.
        const conflict = this.#drop();
        if (!(isAnswer && message.type === 'full')) return conflict;
      }
    }
    if (message.type === 'full') return this.#takeFull(message);
    if (message.type === 'heartbeat' || !isSame({ ...said, sequence: message.base }, held)) return 'missing';
    return this.#takeDelta(message);
  }

  #takeFull({ frame, generation }: FullMessage): SyncVerdict {
    const { variant, parameters } = readHead(BLOOM_FRAME, frame);
    const bytes = Math.ceil(BLOOM_FRAME.payloadBits(variant & ~CODED, parameters) / 8);
    if (bytes > this.maxBytes) {
      throw new FrameError('limit', 0, `expected at most ${this.maxBytes} bytes (maxBytes), got ${bytes}`);
    }
    const plain = expandFrame(frame, { maxBytes: this.maxBytes });
    const summary = this.#decode(plain);
    if (frameSum(plain) !== generation.sum) {
      throw new FrameError('payload', 0, `expected the summary that was announced, got another one`);
    }
    this.#held = { generation, summary };
    return 'taken';
  }

  #takeDelta({ code, generation }: DeltaMessage): SyncVerdict {
    const { summary } = this.#held!;
    const frame = summary.encode();
    try {
      const { start } = readHead(BLOOM_FRAME, frame);
      const changed = new Uint8Array(decodeBits(code, summary.bits).buffer);
      for (let i = 0, end = Math.ceil(summary.bits / 8); i < end; i++) frame[start + i] ^= changed[i];
    } catch (error) {
      // It arrived as it was sent: it is a delta of another summary.
      if (error instanceof FrameError) return this.#drop();
      throw error;
    }
    writeChecksum(frame);
    if (frameSum(frame) !== generation.sum) return this.#drop();
    this.#held = { generation, summary: this.#decode(frame) };
    return 'taken';
  }

  #drop(): SyncVerdict {
    this.#held = undefined;
    return 'conflict';
  }

  #decode(frame: Uint8Array): BloomFilter {
    return BloomFilter.decode(frame, this.#key === undefined ? {} : { key: this.#key });
  }

  #isWorthAsking(message: PublisherMessage, verdict: SyncVerdict, moved: boolean): boolean {
    if (message.question !== undefined) return moved && this.status !== 'current';
    if (this.status !== 'current') return true;
    // Late, or of a publisher that has begun again below: only it can say. Old deltas and states of the present epoch are
    // too common to ask about each of them; the next heartbeat will come.
    const isOtherEpoch = message.generation.epoch !== this.#held?.generation.epoch;
    return verdict === 'old' && (message.type === 'heartbeat' || isOtherEpoch);
  }

  #outcome(verdict: SyncVerdict, before: Held | undefined, asks: boolean): SyncOutcome {
    const outcome = { verdict, status: this.status, changed: before?.summary !== this.#held?.summary };
    return asks ? { ...outcome, reply: this.request() } : outcome;
  }

  #sound(): BloomFilter | undefined {
    return this.status === 'current' ? this.#held?.summary : undefined;
  }
}

interface Held {
  readonly generation: Generation;
  readonly summary: BloomFilter;
}

const MAX_BYTES = 2 ** 27;

function isSame(a: GenerationName, b: GenerationName | undefined): boolean {
  return b !== undefined && compareGenerations(a, b) === 0;
}

/** How many keys a batch has, whatever its form. */
function countKeys(keys: KeyBatch): number {
  const { scheme } = (keys ?? {}) as Partial<KeyHashes>;
  let total = 0;
  eachChunk(keys, scheme instanceof HashScheme ? scheme : hashScheme(), (count) => (total += count));
  return total;
}
