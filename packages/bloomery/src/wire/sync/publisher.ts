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
 * best: subscribers take a later epoch at once, and an earlier one only after a request. If an
 * incarnation is used twice after all, the sums of its generations differ. The next heartbeat shows
 * this to subscribers, at the cost of a full state. A delta shows it only when the sequence number
 * gets to where it was before.
 *
 * What it costs. In memory: the filter with its change bits, the bits of the last generation, and a
 * history of the changes in earlier ones. In time: publishing takes a pass over the bits, most of
 * it in the entropy coder: 70 ms for 9.6 million bits (a million keys at 1 %, of which half a per
 * cent was replaced) in WebAssembly, 15 ms with effort 'fast'. The coded full state and each merged
 * delta are made at the first request for them, and kept until the next generation.
 *
 * The publisher takes the filter's changes, and no other code may: changes taken elsewhere would be
 * missing in every summary from then on. So `takeChanges` of a published filter throws. A filter
 * has one publisher. If it is given to a second one, the first refuses to publish. Keys may be
 * added to the filter directly.
 *
 * What was refused. We refused resizing, because a counting filter cannot be resized: a caller that
 * still has the keys makes a larger one for `replace`. We refused deltas from one epoch to the
 * next, because the bits have nothing in common. We refused to track the subscribers: an answer
 * depends on the request alone, so there may be any number of subscribers, behind any kind of
 * broadcast.
 */

import { CountingBloomFilter } from '../../filters/counting/counting-bloom-filter.ts';
import type { KeyBatch } from '../../kernel/batches/batch.ts';
import type { KeyHash } from '../../kernel/batches/hash-key.ts';
import { onesIn } from '../../kernel/coders/coders.ts';
import { checkOptions } from '../../keys/check-options.ts';
import { type Key, typeName } from '../../keys/key.ts';
import { INSPECT } from '../../keys/printing.ts';
import { checkChoice, checkInteger } from '../../math/checks.ts';
import { binaryEntropy } from '../../math/entropy.ts';
import { wordsOf } from '../coding/byte-stream.ts';
import { compressFrame } from '../coding/compressed-frame.ts';
import { type Effort, encodeBits } from '../coding/encode-bits.ts';
import { Snapshot } from '../coding/snapshot.ts';
import { Announcer, type AnnouncerOptions, type FullCode } from './announcer.ts';
import { ChangeHistory } from './sync-history.ts';
import type { Generation } from './sync-message.ts';

export interface PublisherOptions extends AnnouncerOptions {
  /** The set. It must track its changes, which only the publisher may take. */
  readonly filter: CountingBloomFilter;
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
  readonly #announcer: Announcer<Snapshot>;
  readonly #effort: Effort;
  readonly #historyGenerations: number;
  readonly #historyBytes: number | undefined;
  #filter: CountingBloomFilter;
  #past: Past;

  constructor(options: PublisherOptions) {
    checkOptions('Publisher', options, OPTIONS);
    const { filter, effort = 'small', historyGenerations = 64, historyBytes } = options;
    this.#effort = checkChoice('effort', effort, ['small', 'fast']);
    this.#historyGenerations = checkInteger('historyGenerations', historyGenerations, 0, 2 ** 20);
    this.#historyBytes = historyBytes === undefined ? undefined : checkInteger('historyBytes', historyBytes);
    this.#filter = checkFilter(filter);
    const snapshot = snapshotOf(filter);
    this.#announcer = new Announcer(options, snapshot, 1);
    this.#past = this.#takeOver(filter, snapshot);
  }

  get publisherId(): bigint {
    return this.#announcer.publisherId;
  }

  /** The set itself; see `replace`. */
  get filter(): CountingBloomFilter {
    return this.#filter;
  }

  /** The last closed generation. */
  get generation(): Generation {
    return this.#announcer.generation;
  }

  /** The number of past generations that a delta can start from now. */
  get historyLength(): number {
    return this.#past.history.length;
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
    const changed = this.#filter.takeChangesAs(this);
    if (changed.length === 0) return null;
    const { generation, state: snapshot } = this.#announcer;
    this.#past.history.push(generation, changed);
    this.#past = { ...this.#past, deltas: new Map(), deltaBytes: 0 };
    const bits = bitsAt(changed, snapshot.bits);
    this.#announcer.advance(snapshot.xor(bits));
    return this.#deltaOrFull(generation.sequence, encodeBits(bits, snapshot.bits, this.#effort));
  }

  /**
   * Continues with another set, in a new epoch. Returns the message that announces it: the full
   * state.
   */
  replace(filter: CountingBloomFilter): Uint8Array {
    this.#announcer.checkRestart();
    const snapshot = snapshotOf(checkFilter(filter));
    if (this.#filter !== filter && this.#filter.changeTaker === this) this.#filter.changeTaker = undefined;
    this.#past = this.#takeOver(filter, snapshot);
    this.#filter = filter;
    this.#announcer.restart(snapshot);
    return this.full();
  }

  /**
   * The full state of the last generation, for new subscribers or for a store that keeps the latest
   * one.
   */
  full(): Uint8Array {
    return this.#announcer.full(this.#fullCode);
  }

  /**
   * A message that names the last generation, so that a subscriber that missed it notices. A few
   * dozen bytes.
   */
  heartbeat(): Uint8Array {
    return this.#announcer.heartbeat();
  }

  /**
   * The answer to a request: a heartbeat if the subscriber lacks nothing, otherwise all changes
   * since its generation or the full state, whichever is smaller. Null if the bytes are not a
   * request to this publisher; `readSyncMessage` says what they are.
   */
  answer(request: Uint8Array): Uint8Array | null {
    return this.#announcer.answer(
      request,
      (held, question) =>
        this.#past.history.knows(held)
          ? this.#deltaOrFull(held.sequence, this.#codeSince(held.sequence), question)
          : undefined,
      (question) => this.#announcer.full(this.#fullCode, question),
    );
  }

  toString(): string {
    const { epoch, sequence } = this.generation;
    return `Publisher(${this.publisherId}, generation ${epoch}/${sequence}, ${this.#filter})`;
  }

  /** @internal */
  [INSPECT](): string {
    return this.toString();
  }

  #deltaOrFull(base: number, code: Uint8Array, question?: number): Uint8Array {
    return this.#announcer.deltaOrFull(base, code, this.#fullCode, question);
  }

  get #fullCode(): FullCode {
    const { bits, payload, frame } = this.#announcer.state;
    return {
      // The entropy of the bits is a good enough estimate of the size of the full state.
      bytes: () => (bits * binaryEntropy(onesIn(wordsOf(payload)) / bits)) / 8,
      encode: () => compressFrame(frame, { effort: this.#effort }),
    };
  }

  /** The code of the changes since a generation that the history knows. */
  #codeSince(sequence: number): Uint8Array {
    const { history, deltas, historyBytes } = this.#past;
    const known = deltas.get(sequence);
    if (known !== undefined) return known;
    const code = encodeBits(history.changesSince(sequence), this.#filter.bits, this.#effort);
    if (this.#past.deltaBytes + code.length <= historyBytes) {
      deltas.set(sequence, code);
      this.#past.deltaBytes += code.length;
    }
    return code;
  }

  /** Takes the changes of a filter from now on. Its past begins with the given snapshot. */
  #takeOver(filter: CountingBloomFilter, { bits, frame }: Snapshot): Past {
    filter.changeTaker = this;
    filter.takeChangesAs(this);
    const historyBytes = this.#historyBytes ?? 2 * frame.length;
    const history = new ChangeHistory(bits, this.#historyGenerations, historyBytes);
    return { history, historyBytes, deltas: new Map(), deltaBytes: 0 };
  }
}

/** The changes since earlier generations, and the deltas that were made from them. */
interface Past {
  readonly history: ChangeHistory;
  readonly historyBytes: number;
  /**
   * The codes of the changes since earlier generations, as far as they were requested and
   * `historyBytes` allows.
   */
  readonly deltas: Map<number, Uint8Array>;
  deltaBytes: number;
}

const OPTIONS = ['filter', 'incarnation', 'publisherId', 'effort', 'historyGenerations', 'historyBytes'];

function checkFilter(filter: CountingBloomFilter): CountingBloomFilter {
  if (!(filter instanceof CountingBloomFilter)) {
    throw new TypeError(`Cannot use filter: expected a CountingBloomFilter, got ${typeName(filter)}`);
  }
  if (!filter.trackChanges) {
    throw new TypeError('Cannot use filter: expected trackChanges: true, got a filter without it');
  }
  return filter;
}

function snapshotOf(filter: CountingBloomFilter): Snapshot {
  return new Snapshot(filter.snapshot().encode());
}

function bitsAt(positions: Float64Array, bits: number): Uint32Array {
  const words = new Uint32Array(Math.ceil(bits / 32));
  for (let i = 0; i < positions.length; i++) words[Math.floor(positions[i] / 32)] |= 1 << (positions[i] % 32);
  return words;
}
