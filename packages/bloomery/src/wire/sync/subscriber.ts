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
 * follower.ts has the rules: what is taken, what is dropped, and what is asked again.
 *
 * Structures. A summary is a `BloomFilter` unless the option `structure` names another class. Those
 * without `has`, such as `CountMinSketch`, are asked through `summary`.
 *
 * What it costs. The bits of the summary, and about four times as much while a message is
 * processed. A new generation is a new `BloomFilter`: a caller that keeps an old one can go on
 * using it, and it does not change.
 */

import { BloomFilter } from '../../filters/bloom-filter.ts';
import { FrameError } from '../../frames/envelope.ts';
import { CODED, readHead } from '../../frames/frame.ts';
import { kindOfFrame } from '../../frames/frame-head.ts';
import { HashScheme, hashScheme } from '../../hashing/hash-scheme.ts';
import type { SecretKey } from '../../hashing/secret-key.ts';
import { eachChunk, type KeyBatch } from '../../kernel/batches/batch.ts';
import type { KeyHash } from '../../kernel/batches/hash-key.ts';
import type { KeyHashes } from '../../kernel/batches/hash-keys.ts';
import { checkOptions } from '../../keys/check-options.ts';
import type { Key } from '../../keys/key.ts';
import { INSPECT } from '../../keys/printing.ts';
import { checkNumber } from '../../math/checks.ts';
import { expandFrame } from '../coding/compressed-frame.ts';
import { Snapshot } from '../coding/snapshot.ts';
import { followChanges } from '../coding/snapshot-changes.ts';
import { Follower, type SyncOutcome, type SyncStatus } from './follower.ts';
import { checkUnsigned64, type DeltaMessage, type FullMessage, type Generation } from './sync-message.ts';

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

export class Subscriber<S extends Summary = BloomFilter> {
  readonly maxBytes: number;
  readonly #structure: SummaryStructure<S>;
  readonly #key: SecretKey | undefined;
  readonly #follower: Follower<S>;

  constructor(options: SubscriberOptions<S> = {}) {
    checkOptions('Subscriber', options, ['publisherId', 'key', 'maxBytes', 'structure']);
    const { publisherId = 0, key, maxBytes = MAX_BYTES, structure } = options;
    if (structure !== undefined && typeof structure.decode !== 'function') {
      throw new TypeError(`Cannot make a subscriber: expected a class with decode, got ${String(structure)}`);
    }
    // Without a structure, S is its default.
    this.#structure = structure ?? (BloomFilter as SummaryStructure<Summary> as SummaryStructure<S>);
    this.#follower = new Follower(checkUnsigned64('publisherId', publisherId), 1);
    this.maxBytes = checkNumber('maxBytes', maxBytes, 0, Number.POSITIVE_INFINITY);
    if (key !== undefined) hashScheme({ key }); // refuses what is no key
    this.#key = key;
  }

  get publisherId(): bigint {
    return this.#follower.publisherId;
  }

  get status(): SyncStatus {
    return this.#follower.status;
  }

  /** The generation that is held, in any status. */
  get generation(): Generation | undefined {
    return this.#follower.generation;
  }

  /**
   * The summary of that generation, in any status, for callers that prefer outdated answers to
   * none. It must not be changed: a changed one is detected when the next delta leads elsewhere.
   */
  get summary(): S | undefined {
    return this.#follower.state;
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
    return this.#follower.request();
  }

  /** Processes a message of any content. Throws only if the argument is not bytes. */
  receive(message: Uint8Array): SyncOutcome {
    const opened = this.#follower.open(message);
    if (opened.told === undefined) return opened.outcome;
    return this.#follower.apply(opened.told, {
      takeFull: (full) => this.#takeFull(full),
      takeDelta: (delta, summary) => this.#takeDelta(delta, summary),
    });
  }

  toString(): string {
    const { epoch, sequence } = this.generation ?? {};
    const held = this.summary === undefined ? '' : `, generation ${epoch}/${sequence}, ${this.summary}`;
    return `Subscriber(${this.publisherId}, ${this.status}${held})`;
  }

  /** @internal */
  [INSPECT](): string {
    return this.toString();
  }

  #takeFull({ frame, generation }: FullMessage): S {
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
    return summary;
  }

  #takeDelta({ code, generation }: DeltaMessage, summary: S): S | undefined {
    const after = tryDelta(new Snapshot(summary.encode()), code, this.maxBytes);
    return after?.sum === generation.sum ? this.#decode(after.frame) : undefined;
  }

  #decode(frame: Uint8Array): S {
    return this.#structure.decode(frame, this.#key === undefined ? {} : { key: this.#key });
  }

  /** The summary if it is current. Throws if its structure has no such method. */
  #lookup(method: 'has' | 'hasHash' | 'hasMany'): S | undefined {
    const summary = this.status === 'current' ? this.summary : undefined;
    if (summary !== undefined && summary[method] === undefined) {
      throw new TypeError(`Cannot look up a key: expected a summary with ${method}, got ${summary}`);
    }
    return summary;
  }
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

/** The number of keys of a batch in any form. */
function countKeys(keys: KeyBatch): number {
  const { scheme } = (keys ?? {}) as Partial<KeyHashes>;
  let total = 0;
  eachChunk(keys, scheme instanceof HashScheme ? scheme : hashScheme(), (count) => (total += count));
  return total;
}
