/**
 * The sending end of a sync session: a set that changes, and the messages that keep remote
 * summaries of it up to date (Summary Cache, survey 4; deltas, compressed IV). Messages go in,
 * messages come out; there is no network, no clock and no randomness in here. The caller transports
 * the messages, and decides how often to publish and to send heartbeats. docs/spec/sync.md is the
 * protocol.
 *
 *     const publisher = new Publisher({ filter, incarnation: boots });
 *     publisher.add(url);
 *     broadcast(publisher.publish());                       // for current subscribers: the changes
 *     broadcast(publisher.heartbeat());                     // now and then: tells silence from loss
 *     onRequest((bytes, reply) => reply(publisher.answer(bytes)));
 *
 * Generations. `publish` closes one: all changes since the last one go into one delta. A generation
 * is named by epoch and sequence number, and identified by the 64-bit sum of its frame. No message,
 * not even an answer, contains changes that are not yet published.
 *
 * Epochs. A summary that was made with other parameters or another seed, or by a publisher that has
 * lost its memory, has nothing to do with the ones before: `replace` and each start begin a new
 * epoch. No two contents may share a name. A publisher does not know its earlier runs, so the
 * caller passes an `incarnation` that it has never used before: a boot counter, the time of the
 * start in milliseconds, or 48 random bits. The epoch is the incarnation times 2^16 plus the number
 * of replacements since, so that the next incarnation is always above. Rising incarnations are
 * best: subscribers take a later epoch at once, and an earlier one only after a request. If a
 * number is used twice after all, the sums differ. The next heartbeat shows it, at the cost of a
 * full state (a delta shows it only when the count gets to where it was before).
 *
 * What it costs. In memory: the filter with its change bits, the bits of the last generation, and a
 * history of the changes in earlier ones. In time: publishing takes a pass over the bits, most of
 * it in the entropy coder: 70 ms for 9.6 million bits (a million keys at 1 %, of which half a per
 * cent was replaced) in WebAssembly, 15 ms with effort 'fast'. The coded full state and each merged
 * delta are made at the first request for them, and kept until the next generation.
 *
 * The publisher takes the filter's changes (`takeChanges`), and no other code may: changes taken
 * elsewhere would be missing in every summary from then on. So a filter has one publisher, the last
 * that was given it, and the one before refuses to publish. Keys may be added to the filter
 * directly.
 *
 * What was refused. We refused resizing, because a counting filter cannot be resized: a caller that
 * still has the keys makes a larger one for `replace`. We refused deltas from one epoch to the
 * next, because the bits have nothing in common. We refused to track the subscribers: an answer
 * depends on the request alone, so there may be any number of subscribers, behind any kind of
 * broadcast.
 */

import { CountingBloomFilter } from '../../filters/counting/counting-bloom-filter.ts';
import { checkOptions } from '../../filters/shared/options.ts';
import { FrameError } from '../../frames/envelope.ts';
import type { KeyBatch } from '../../kernel/batches/batch.ts';
import type { KeyHash } from '../../kernel/batches/hash-key.ts';
import { onesIn } from '../../kernel/coders/coders.ts';
import type { Key } from '../../keys/key.ts';
import { checkChoice, checkInteger } from '../../math/checks.ts';
import { binaryEntropy } from '../../math/entropy.ts';
import { wordsOf } from '../coding/byte-stream.ts';
import { compressFrame } from '../coding/compressed-frame.ts';
import { type Effort, encodeBits } from '../coding/encode-bits.ts';
import { Snapshot } from '../coding/snapshot.ts';
import { ChangeHistory } from './sync-history.ts';
import {
  checkUnsigned64,
  type Generation,
  questionOf,
  type RequestMessage,
  readSyncHead,
  readSyncMessage,
  writeSyncMessage,
} from './sync-message.ts';

export interface PublisherOptions {
  /** The set. It must track its changes, which only the publisher may take. */
  readonly filter: CountingBloomFilter;
  /** A number that no earlier run of this publisher had, from 0 to 2^48 - 1; best if it rises. */
  readonly incarnation: number;
  /** Distinguishes publishers that share a channel: an unsigned 64-bit integer. Default 0. */
  readonly publisherId?: number | bigint;
  /** How messages are coded; see `compressFrame`. Default 'small'. */
  readonly effort?: Effort;
  /** The largest number of past generations that a delta can start from. Default 64. */
  readonly historyGenerations?: number;
  /**
   * The largest number of bytes for the changes of past generations. Deltas that were merged for
   * answers may take as much again. Default: twice the plain frame of the summary.
   */
  readonly historyBytes?: number;
}

export class Publisher {
  readonly publisherId: bigint;
  readonly #effort: Effort;
  readonly #historyGenerations: number;
  readonly #historyBytes: number | undefined;
  readonly #lastEpoch: bigint;
  #generation: Generation;
  #filter: CountingBloomFilter;
  #published: Published;

  constructor(options: PublisherOptions) {
    checkOptions('Publisher', options, OPTIONS);
    const { filter, incarnation, publisherId = 0, effort = 'small' } = options;
    const { historyGenerations = 64, historyBytes } = options;
    this.publisherId = checkUnsigned64('publisherId', publisherId);
    this.#effort = checkChoice('effort', effort, ['small', 'fast']);
    this.#historyGenerations = checkInteger('historyGenerations', historyGenerations, 0, 2 ** 20);
    this.#historyBytes = historyBytes === undefined ? undefined : checkInteger('historyBytes', historyBytes);
    const epoch = BigInt(checkInteger('incarnation', incarnation, 0, 2 ** 48 - 1)) * EPOCHS;
    this.#lastEpoch = epoch + EPOCHS - 1n;
    this.#filter = checkFilter(filter);
    this.#published = this.#publishWhole(filter);
    this.#generation = { epoch, sequence: 0, sum: this.#published.snapshot.sum };
  }

  /** The set itself; see `replace`. */
  get filter(): CountingBloomFilter {
    return this.#filter;
  }

  /** The last closed generation. */
  get generation(): Generation {
    return this.#generation;
  }

  /** The number of past generations that a delta can start from now. */
  get historyLength(): number {
    return this.#published.history.length;
  }

  /**
   * The number of bits that the next delta would flip, which tells when to publish. Reads all
   * change bits.
   */
  changedCount(): number {
    return this.#filter.changedCount();
  }

  // Methods of the set, for callers that do not keep a reference to the filter.

  add(key: Key): boolean {
    return this.#filter.add(key);
  }

  delete(key: Key): boolean {
    return this.#filter.delete(key);
  }

  addHash(hash: KeyHash): boolean {
    return this.#filter.addHash(hash);
  }

  deleteHash(hash: KeyHash): boolean {
    return this.#filter.deleteHash(hash);
  }

  addMany(keys: KeyBatch): number {
    return this.#filter.addMany(keys);
  }

  deleteMany(keys: KeyBatch): number {
    return this.#filter.deleteMany(keys);
  }

  /**
   * Closes a generation. Returns the message for subscribers that hold the one before: the changes,
   * or the full state if that is smaller. Returns null, and begins no new generation, if no bit has
   * changed.
   */
  publish(): Uint8Array | null {
    if (PUBLISHERS.get(this.#filter) !== this) {
      throw new TypeError('The filter was given to another publisher, which takes its changes: replace it');
    }
    const changed = this.#filter.takeChanges();
    if (changed.length === 0) return null;
    const { epoch, sequence } = this.#generation;
    this.#published.history.push(this.#generation, changed);
    const bits = bitsAt(changed, this.#filter.bits);
    const snapshot = this.#published.snapshot.xor(bits);
    this.#published = { ...this.#published, snapshot, coded: undefined, deltas: new Map(), deltaBytes: 0 };
    this.#generation = { epoch, sequence: sequence + 1, sum: snapshot.sum };
    return this.#deltaOrFull(sequence, encodeBits(bits, this.#filter.bits, this.#effort));
  }

  /**
   * Continues with another set, in a new epoch. Returns the message that announces it: the full
   * state.
   */
  replace(filter: CountingBloomFilter): Uint8Array {
    const epoch = this.#generation.epoch + 1n;
    if (epoch > this.#lastEpoch) {
      throw new RangeError(`A publisher can be replaced ${EPOCHS - 1n} times: make one of a new incarnation`);
    }
    this.#published = this.#publishWhole(checkFilter(filter));
    this.#filter = filter;
    this.#generation = { epoch, sequence: 0, sum: this.#published.snapshot.sum };
    return this.full();
  }

  /**
   * The full state of the last generation, for new subscribers or for a store that keeps the latest
   * one.
   */
  full(): Uint8Array {
    return this.#full(undefined);
  }

  /**
   * A message that names the last generation, so that a subscriber that missed it notices. A few
   * dozen bytes.
   */
  heartbeat(): Uint8Array {
    return this.#heartbeat(undefined);
  }

  /**
   * The answer to a request: a heartbeat if the subscriber lacks nothing, otherwise all changes
   * since its generation or the full state, whichever is smaller. Null if the bytes are not a
   * request to this publisher; `readSyncMessage` says what they are.
   */
  answer(request: Uint8Array): Uint8Array | null {
    const asked = this.#readRequest(request);
    if (asked === null) return null;
    const { held } = asked;
    const question = questionOf(request);
    if (held === undefined) return this.#full(question);
    // The sum decides, under any name: a subscriber believes an answer even if it gives the bits an
    // earlier name.
    if (held.sum === this.#generation.sum) return this.#heartbeat(question);
    if (held.epoch !== this.#generation.epoch || !this.#published.history.knows(held))
      return this.#full(question);
    return this.#deltaOrFull(held.sequence, this.#codeSince(held.sequence), question);
  }

  toString(): string {
    const { epoch, sequence } = this.#generation;
    return `Publisher(${this.publisherId}, generation ${epoch}/${sequence}, ${this.#filter})`;
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

  #heartbeat(question: number | undefined): Uint8Array {
    const { publisherId } = this;
    return writeSyncMessage({ type: 'heartbeat', publisherId, generation: this.#generation, question });
  }

  #full(question: number | undefined): Uint8Array {
    const { publisherId } = this;
    this.#published.coded ??= compressFrame(this.#published.snapshot.frame, { effort: this.#effort });
    const { coded: frame } = this.#published;
    return writeSyncMessage({ type: 'full', publisherId, generation: this.#generation, question, frame });
  }

  #deltaOrFull(base: number, code: Uint8Array, question?: number): Uint8Array {
    const { publisherId } = this;
    const delta = writeSyncMessage({
      type: 'delta',
      publisherId,
      generation: this.#generation,
      question,
      base,
      code,
    });
    // The full state is coded only if it could be smaller. Its size is known well enough
    // beforehand.
    const { bits } = this.#filter;
    const ones = onesIn(wordsOf(this.#published.snapshot.payload));
    if (2 * delta.length < (bits * binaryEntropy(ones / bits)) / 8) return delta;
    const full = this.#full(question);
    return full.length < delta.length ? full : delta;
  }

  /** The code of the changes since a generation that the history knows. */
  #codeSince(sequence: number): Uint8Array {
    const { history, deltas, historyBytes } = this.#published;
    const known = deltas.get(sequence);
    if (known !== undefined) return known;
    const code = encodeBits(history.changesSince(sequence), this.#filter.bits, this.#effort);
    if (this.#published.deltaBytes + code.length <= historyBytes) {
      deltas.set(sequence, code);
      this.#published.deltaBytes += code.length;
    }
    return code;
  }

  /** Makes a generation that has nothing to do with the ones before. */
  #publishWhole(filter: CountingBloomFilter): Published {
    const snapshot = new Snapshot(filter.snapshot().encode());
    filter.takeChanges();
    PUBLISHERS.set(filter, this);
    const historyBytes = this.#historyBytes ?? 2 * snapshot.frame.length;
    return {
      snapshot,
      history: new ChangeHistory(snapshot.bits, this.#historyGenerations, historyBytes),
      historyBytes,
      coded: undefined,
      deltas: new Map(),
      deltaBytes: 0,
    };
  }
}

/** The last published state, and the messages that were made from it. */
interface Published {
  readonly snapshot: Snapshot;
  readonly history: ChangeHistory;
  readonly historyBytes: number;
  /** The coded frame, once it has been needed. */
  coded: Uint8Array | undefined;
  /**
   * The codes of the changes since earlier generations, as far as they were requested and
   * `historyBytes` allows.
   */
  readonly deltas: Map<number, Uint8Array>;
  deltaBytes: number;
}

const OPTIONS = ['filter', 'incarnation', 'publisherId', 'effort', 'historyGenerations', 'historyBytes'];
/** The publisher that takes the changes of a filter. */
const PUBLISHERS = /* @__PURE__ */ new WeakMap<CountingBloomFilter, Publisher>();
/** The number of epochs of an incarnation. */
const EPOCHS = 2n ** 16n;

function checkFilter(filter: CountingBloomFilter): CountingBloomFilter {
  if (!(filter instanceof CountingBloomFilter)) throw new TypeError('filter must be a CountingBloomFilter');
  if (!filter.trackChanges)
    throw new TypeError('filter must track its changes: make it with trackChanges: true');
  return filter;
}

function bitsAt(positions: Float64Array, bits: number): Uint32Array {
  const words = new Uint32Array(Math.ceil(bits / 32));
  for (let i = 0; i < positions.length; i++) words[Math.floor(positions[i] / 32)] |= 1 << (positions[i] % 32);
  return words;
}
