/**
 * The sending end of a sync session about a set of positions (version 2 of docs/spec/sync.md). The
 * caller tells which hashes come and go; the messages keep the sets of positions of its subscribers
 * up to date. As in publisher.ts, there is no network, no clock and no randomness in here.
 *
 *     const publisher = new SetPublisher({ incarnation: boots, universe: 2 ** 31, keyId: 1 });
 *     publisher.addHash(hashKey(url, { key }));
 *     broadcast(publisher.publish());                       // the changes
 *     onRequest((bytes, reply) => reply(publisher.answer(bytes)));
 *
 * Why a set, and not the bits of a filter. At the same false positive rate its deltas are smaller,
 * and the time of a publication depends mostly on the number of changes. At 1.08 %, with 1 % of
 * 100,000 keys replaced, a delta takes 2,862 bytes. The filter with three hash functions in table
 * VI of the paper takes 5,553, and the best filter of that rate 4,671. Publishing 2,000 changes
 * took 4.5 ms in a set of a million positions and 2.3 ms in one of 10,000, where `Publisher` reads
 * all bits (6.7 and 1.0 ms; bench/results/summaries.md). The price is memory: 5 to 6 bytes per key
 * here, where a filter of that rate takes 1.5 bytes and a counting filter 6. `planSummary` compares
 * them. A counting filter is faster while the changes are many, because its loops are in
 * WebAssembly: 19 ms where the set took 43, with 20,000 changes in a million keys.
 *
 * Universe. The rate of a subscriber that holds n positions is n/U. When a set has outgrown its
 * universe, `resize` begins a new epoch in a wider one. The publisher forgets the hashes, so the
 * caller gives them again; it needs them anyway to delete.
 *
 * Keys. A publisher publishes under one key id. To change the secret key, the caller runs a second
 * publisher with another `publisherId`. Subscribers follow both and ask both, until the caller ends
 * the old one.
 *
 * Long work. `publish` takes time for the changes; full states and `resize` take time for the whole
 * set. Each has a twin in steps that the caller drives (steps.ts), and other calls may come in
 * between. A full state or an answer in steps is that of the generation at its beginning. A
 * publication in steps contains the changes up to its beginning, and closes the generation at its
 * end, or when another call needs it closed.
 *
 * What was refused. We refused to send the 64-bit hashes, which are exact and take 16,000 bytes
 * where the set takes 2,862. We refused deltas across universes: they would save nothing, because
 * the lower bits of all positions are new.
 */

import { checkSameScheme, type HashScheme } from '../../hashing/hash-scheme.ts';
import type { KeyHash } from '../../kernel/batches/hash-key.ts';
import { checkOptions } from '../../keys/check-options.ts';
import { INSPECT } from '../../keys/printing.ts';
import { checkInteger } from '../../math/checks.ts';
import { CountedSet } from '../sets/counted-set.ts';
import { firstChanges } from '../sets/first-changes.ts';
import { codeList, inOddNumber } from '../sets/position-lists.ts';
import type { PositionSet } from '../sets/position-set.ts';
import { MAX_UNIVERSE, type PositionChanges, PositionSum, positionOf } from '../sets/positions.ts';
import { encodeChanges, encodeSet, MAX_KEY_ID } from '../sets/set-code.ts';
import { SetRebuild } from '../sets/set-rebuild.ts';
import { finishSteps, STEP, type Steps } from '../sets/steps.ts';
import { Announcer, type AnnouncerOptions } from './announcer.ts';
import { LastAnswer } from './last-answer.ts';
import { ChangeHistory, type CodedChanges } from './sync-history.ts';
import type { Generation } from './sync-message.ts';

export interface SetPublisherOptions extends AnnouncerOptions {
  /** Positions are below it: an integer up to 2^48. The rate of n keys is n/universe. */
  readonly universe: number;
  /** Names the secret key of the hashes: an integer below 2^32. Default 0. */
  readonly keyId?: number;
  /** The scheme of the hashes. Others are refused. Default: any, unchecked. */
  readonly scheme?: HashScheme;
  /** The largest number of past generations that a delta can start from. Default 256. */
  readonly historyGenerations?: number;
  /** The largest number of bytes for the changes of past generations. Default 1 MiB. */
  readonly historyBytes?: number;
}

export interface PublishOptions {
  /** Leaves removed positions for a later generation. Default false. */
  readonly additionsOnly?: boolean;
  /** The most bytes of the delta. Other changes wait for the next one. Default: no limit. */
  readonly mostBytes?: number;
}

export class SetPublisher {
  readonly keyId: number;
  readonly #scheme: HashScheme | undefined;
  readonly #historyGenerations: number;
  readonly #historyBytes: number;
  readonly #announcer: Announcer<Closed>;
  #universe: number;
  #set: CountedSet;
  #sum: PositionSum;
  #history: ChangeHistory;
  readonly #lastAnswer = new LastAnswer();
  /** The steps that close a generation, while they run. */
  #closing: Steps<void> | undefined;
  /** The set in another universe, while it is being built. */
  #rebuild: SetRebuild | undefined;

  constructor(options: SetPublisherOptions) {
    checkOptions('SetPublisher', options, OPTIONS);
    const { universe, keyId = 0, scheme, historyGenerations = 256, historyBytes = 2 ** 20 } = options;
    this.#universe = checkUniverse(universe);
    this.#set = new CountedSet(universe);
    this.keyId = checkInteger('keyId', keyId, 0, MAX_KEY_ID);
    this.#scheme = scheme;
    this.#historyGenerations = checkInteger('historyGenerations', historyGenerations, 0, 2 ** 20);
    this.#historyBytes = checkInteger('historyBytes', historyBytes);
    this.#sum = PositionSum.ofEmpty(universe, this.keyId);
    this.#history = this.#newHistory(universe);
    this.#announcer = new Announcer(options, { sum: this.#sum.value }, 2);
  }

  get publisherId(): bigint {
    return this.#announcer.publisherId;
  }

  /** The last closed generation. */
  get generation(): Generation {
    return this.#announcer.generation;
  }

  get universe(): number {
    return this.#universe;
  }

  /** The number of positions now, unpublished changes included. */
  get size(): number {
    return this.#set.size;
  }

  /** The number of past generations that a delta can start from now. */
  get historyLength(): number {
    return this.#history.length;
  }

  /** The number of positions that the next publication would change. */
  changedCount(): number {
    return this.#set.changedCount;
  }

  /** Adds a key by its hash. Returns true if its position is new. */
  addHash(hash: KeyHash): boolean {
    const position = this.#positionOf(hash);
    this.#rebuild?.add(hash);
    return this.#set.add(position);
  }

  /**
   * Removes a key that was added. Returns true if no other key has its position. A hash that was
   * not added must not be deleted: it could take away the position of another key.
   */
  deleteHash(hash: KeyHash): boolean {
    const position = this.#positionOf(hash);
    this.#rebuild?.delete(hash);
    return this.#set.delete(position);
  }

  /**
   * Closes a generation. Returns the message for subscribers that hold the one before: the changes,
   * or the full state if that is smaller. Returns null if there is nothing to publish.
   */
  publish(options: PublishOptions = {}): Uint8Array | null {
    return finishSteps(this.publishInSteps(options));
  }

  *publishInSteps({ additionsOnly = false, mostBytes }: PublishOptions = {}): Steps<Uint8Array | null> {
    for (;;) {
      this.#finishClosing();
      const { generation } = this.#announcer;
      const all = yield* this.#set.changes(additionsOnly);
      const changes = mostBytes === undefined ? all : firstChanges(all, this.#settledState(), mostBytes);
      if (changes.added.length + changes.removed.length === 0) return null;
      const sum = this.#sum.copy();
      yield* sum.change(changes);
      const code = yield* this.#encode(changes, yield* ranksIn(this.#set, changes.removed));
      const changed = yield* inOddNumber([changes.removed, changes.added]);
      const coded = { gaps: yield* codeList(changed), count: changed.length };
      // Another call may have closed a generation in between, and the ranks are no longer those of
      // the set that subscribers hold.
      if (this.#announcer.generation !== generation || this.#closing !== undefined) continue;
      // The delta is written when the generation is closed, by whichever call runs the last step.
      let delta: Uint8Array = new Uint8Array();
      const closing = this.#close(changes, coded, sum, () => {
        delta = this.#announcer.delta(generation.sequence, code);
      });
      this.#closing = closing;
      while (!closing.next().done) yield;
      return yield* this.#orFull(delta);
    }
  }

  /** The full state of the last generation. */
  full(): Uint8Array {
    return finishSteps(this.fullInSteps());
  }

  fullInSteps(): Steps<Uint8Array> {
    return this.#full();
  }

  /** A message that names the last generation, so that a subscriber that missed it notices. */
  heartbeat(): Uint8Array {
    return this.#announcer.heartbeat();
  }

  /**
   * The answer to a request: a heartbeat if the subscriber lacks nothing, otherwise all changes
   * since its generation or the full state, whichever is smaller. Null if the bytes are not a
   * request to this publisher.
   */
  answer(request: Uint8Array): Uint8Array | null {
    return finishSteps(this.answerInSteps(request));
  }

  *answerInSteps(request: Uint8Array): Steps<Uint8Array | null> {
    this.#finishClosing();
    const { generation } = this.#announcer;
    const known = this.#lastAnswer.to(request, generation);
    if (known !== undefined) return known;
    const answer = this.#announcer.answer<Steps<Uint8Array>>(
      request,
      (held, question) => (this.#history.knows(held) ? this.#since(held, question) : undefined),
      (question) => this.#full(question),
    );
    if (answer === null || answer instanceof Uint8Array) return answer;
    const bytes = yield* answer;
    this.#lastAnswer.keep(request, generation, bytes);
    return bytes;
  }

  /**
   * Begins a new epoch in another universe. `hashes` are all hashes of the set, each once. Returns
   * the message that announces it: the full state.
   */
  resize(universe: number, hashes: Iterable<KeyHash>): Uint8Array {
    return finishSteps(this.resizeInSteps(universe, hashes));
  }

  /**
   * `resize` in steps. Hashes may be added and deleted meanwhile, and publications go on in the old
   * universe. The iterator may be that of a live collection: it may give a hash that changed
   * meanwhile, or leave it out. A second resize makes the first one throw.
   */
  *resizeInSteps(universe: number, hashes: Iterable<KeyHash>): Steps<Uint8Array> {
    checkUniverse(universe);
    this.#announcer.checkRestart();
    const rebuild = new SetRebuild(universe, this.keyId);
    this.#rebuild = rebuild;
    let count = 0;
    for (const hash of hashes) {
      this.#checkScheme(hash);
      rebuild.visit(hash);
      if (++count % STEP !== 0) continue;
      yield;
      if (this.#rebuild !== rebuild) {
        throw new Error('Cannot resize: expected no other resize meanwhile, got one');
      }
    }
    this.#finishClosing();
    this.#rebuild = undefined;
    this.#set = rebuild.set;
    this.#sum = rebuild.sum;
    this.#universe = universe;
    this.#history = this.#newHistory(universe);
    this.#announcer.restart({ sum: rebuild.sum.value });
    return yield* this.#full();
  }

  toString(): string {
    const { epoch, sequence } = this.generation;
    return `SetPublisher(${this.publisherId}, generation ${epoch}/${sequence}, ${this.size} of ${this.universe})`;
  }

  /** @internal */
  [INSPECT](): string {
    return this.toString();
  }

  #positionOf(hash: KeyHash): number {
    this.#checkScheme(hash);
    return positionOf(hash, this.#universe);
  }

  #checkScheme(hash: KeyHash): void {
    if (this.#scheme !== undefined) checkSameScheme(hash.scheme, this.#scheme);
  }

  #newHistory(universe: number): ChangeHistory {
    return new ChangeHistory(universe, this.#historyGenerations, this.#historyBytes);
  }

  #settledState() {
    return { universe: this.#universe, keyId: this.keyId, positions: this.#set.settled };
  }

  /** Runs the steps that are left of a generation, before the settled positions are used. */
  #finishClosing(): void {
    if (this.#closing !== undefined) finishSteps(this.#closing);
  }

  #encode({ added }: PositionChanges, { ranks, size }: Ranked): Steps<Uint8Array> {
    return encodeChanges({ size, universe: this.#universe, ranks, added });
  }

  /** Closes a generation with these changes, whose sum is known, and calls `closed`. */
  *#close(changes: PositionChanges, coded: CodedChanges, sum: PositionSum, closed: () => void): Steps<void> {
    yield* this.#set.settle(changes);
    this.#closing = undefined;
    this.#history.pushCoded(this.#announcer.generation, coded);
    this.#sum = sum;
    this.#announcer.advance({ sum: sum.value });
    closed();
  }

  /** The changes from a generation that the history knows to the one at the first step. */
  *#since({ sequence }: Generation, question: number): Steps<Uint8Array> {
    const { generation } = this.#announcer;
    // A copy, because other generations may be closed between the steps.
    const settled = this.#set.settled.copy();
    const changed = yield* this.#history.positionsSince(sequence);
    const { changes, ranked } = yield* changesBefore(settled, changed);
    const code = yield* this.#encode(changes, ranked);
    return yield* this.#orFull(this.#announcer.deltaTo(generation, sequence, code, question), question);
  }

  /** A delta, or the full state if that is smaller. */
  *#orFull(delta: Uint8Array, question?: number): Steps<Uint8Array> {
    if (delta.length < fullBytes(this.#set.settled.size, this.#universe)) return delta;
    const full = yield* this.#full(question);
    return full.length < delta.length ? full : delta;
  }

  *#full(question?: number): Steps<Uint8Array> {
    this.#finishClosing();
    const { generation, coded } = this.#announcer;
    if (coded !== undefined) return this.#announcer.fullOf(generation, coded, question);
    const state = this.#settledState();
    // A copy, because other generations may be closed between the steps.
    const positions = state.positions.copy();
    const code = yield* encodeSet({ ...state, positions });
    return this.#announcer.fullOf(generation, code, question);
  }
}

/** A closed generation, as the announcer knows it. */
interface Closed {
  readonly sum: bigint;
}

/** Ranks of removed positions among the `size` positions of the generation before. */
interface Ranked {
  readonly ranks: Float64Array;
  readonly size: number;
}

const OPTIONS = [
  'incarnation',
  'publisherId',
  'universe',
  'keyId',
  'scheme',
  'historyGenerations',
  'historyBytes',
];

function checkUniverse(universe: number): number {
  return checkInteger('universe', universe, 1, MAX_UNIVERSE);
}

/** Ranks among the settled positions, to which the removed ones still belong. */
function* ranksIn({ settled }: CountedSet, removed: Float64Array): Steps<Ranked> {
  const { size } = settled;
  const ranks = new Float64Array(removed.length);
  for (let i = 0; i < removed.length; i++) {
    ranks[i] = settled.rank(removed[i]);
    if (i % STEP === STEP - 1) yield;
  }
  return { ranks, size };
}

/**
 * The changes that led to these positions, by the changed ones, and the ranks of the removed ones
 * in the set before: its positions are those of now, without the added and with the removed ones.
 */
function* changesBefore(
  settled: PositionSet,
  changed: Float64Array,
): Steps<{ readonly changes: PositionChanges; readonly ranked: Ranked }> {
  const added = new Float64Array(changed.length);
  const removed = new Float64Array(changed.length);
  const ranks = new Float64Array(changed.length);
  let [newer, older] = [0, 0];
  for (let i = 0; i < changed.length; i++) {
    if (settled.has(changed[i])) {
      added[newer++] = changed[i];
    } else {
      ranks[older] = settled.rank(changed[i]) - newer + older;
      removed[older++] = changed[i];
    }
    if (i % STEP === STEP - 1) yield;
  }
  return {
    changes: { added: added.subarray(0, newer), removed: removed.subarray(0, older) },
    ranked: { ranks: ranks.subarray(0, older), size: settled.size - newer + older },
  };
}

/** The bytes of a full state, well enough to see whether a delta is smaller. */
function fullBytes(size: number, universe: number): number {
  return size === 0 ? 0 : (size * (Math.log2(universe / size) + 1.44)) / 8;
}
