/**
 * The contents of this node's summary: which keys are in it, when they leave it, when changes are
 * published, and when the universe changes.
 *
 * It is told which keys have a response that a neighbour may have, and until when that is fresh. A
 * key is in the summary until `marginMs` before it goes stale, because a neighbour acts on a
 * summary that is some time old: a change waits for publication and travels, and then the question
 * travels back. Going stale is no event of the store, so the keeper has a wheel of times
 * (`expiry-wheel.ts`). It keeps the hashes, not the keys (`hash-ledger.ts`): together 35 bytes per
 * response, measured.
 *
 * With workers, several processes tell which keys they hold. Each life of a worker is a *part* of
 * the summary, so that everything a dead worker told can leave at once. One byte per response names
 * the part. We refused a ledger for each worker: that is another 18 bytes per response at its
 * smallest, and a key that a restarted worker tells again would be in two of them.
 *
 * The keeper does no work for longer than a slice. `next` says what is to be done now, and the
 * caller runs it in steps and sends the result. It is pure: time comes in as two clocks, because
 * freshness is by the calendar, while the pace must not stop when the calendar is set back. A
 * calendar that jumps forward makes keys leave early; they come back when their responses change.
 */

import type { HashScheme, KeyHash } from 'bloomery';
import { ExpiryWheel } from './expiry-wheel.ts';
import { HashLedger } from './hash-ledger.ts';
import { PagedIntegers } from './paged-integers.ts';
import { nextUniverse } from './summary-universe.ts';

/** The part of the library's `SetPublisher` that the keeper uses. */
export interface SummaryPublisher {
  readonly universe: number;
  readonly size: number;
  addHash(hash: KeyHash): unknown;
  deleteHash(hash: KeyHash): unknown;
  publishInSteps(options: { additionsOnly?: boolean; mostBytes?: number }): SummarySteps;
  resizeInSteps(universe: number, hashes: Iterable<KeyHash>): SummarySteps;
}

/** Work in slices, with the message to send, or null if there is nothing to send. */
export type SummarySteps = Generator<undefined, Uint8Array | null, undefined>;

export interface Instant {
  /** Milliseconds since 1970. */
  readonly wallMs: number;
  /** Milliseconds of a clock that does not jump. */
  readonly steadyMs: number;
}

/** Everything that decides whether changes are published now. Times are of the steady clock. */
export interface PendingChanges {
  readonly additions: number;
  readonly removals: number;
  /** Time of the first addition that is not published, or null. */
  readonly oldestAdditionMs: number | null;
  readonly oldestRemovalMs: number | null;
  /** Positions in the summary. */
  readonly size: number;
  readonly lastSentMs: number | null;
  readonly lastSentBytes: number;
}

/** The verdict of the pace: what to publish, or how long to wait until it is asked again. */
interface Pace {
  readonly send: 'all' | 'additions' | 'nothing';
  readonly waitMs: number;
}

export interface SummaryKeeperOptions {
  readonly publisher: SummaryPublisher;
  /** The scheme of all hashes, with the key of the fleet. */
  readonly scheme: HashScheme;
  readonly neighbours: number;
  /** The most bytes of one message. */
  readonly mostBytes: number;
  /**
   * For networks with datagrams: publications in several messages, each of which can be applied
   * when it has come. Default: one message.
   */
  readonly pieces?: { readonly mostBytes: number; readonly send: (piece: Uint8Array) => void } | undefined;
  readonly pace: (pending: PendingChanges, steadyMs: number) => Pace;
  readonly now: Instant;
  /** Freshness that a response must have left to be in the summary. */
  readonly marginMs?: number;
  /**
   * False candidates that the summaries of all neighbours may give at a miss, on average. Default:
   * that of summary-universe.ts.
   */
  readonly falseCandidates?: number | undefined;
}

/** The next thing to do. The caller runs `steps` to the end and calls `finish`. */
export type KeeperStep =
  | { readonly kind: 'wait'; readonly waitMs: number }
  | { readonly kind: 'publish' | 'resize'; readonly steps: SummarySteps };

export const WHEEL_TICK_MS = 250;
/** A wall clock that is set forward is noticed after this time. */
const LONGEST_WAIT_MS = 5000;
/** Steps of the wheel in one slice: 2 to 4 µs each for a key that leaves. */
const EXPIRED_PER_SLICE = 250;
/** Keys that are looked at between two steps of `dropPart`. */
const LOOKED_AT_PER_STEP = 64;
/** The most parts: their number is one byte. */
export const MOST_PARTS = 256;

export class SummaryKeeper {
  readonly #publisher: SummaryPublisher;
  readonly #scheme: HashScheme;
  readonly #pace: SummaryKeeperOptions['pace'];
  readonly #pieces: SummaryKeeperOptions['pieces'];
  readonly #marginMs: number;
  readonly #falseCandidates: number | undefined;
  readonly #ledger = new HashLedger();
  /** The part of each entry of the ledger, by its number. */
  readonly #parts = new PagedIntegers((length) => new Uint8Array(length));
  readonly #wheel: ExpiryWheel;
  readonly #mostBytes: number;
  #neighbours: number;
  #running: 'publish' | 'resize' | null = null;
  #additions = 0;
  #removals = 0;
  #oldestAdditionMs: number | null = null;
  #oldestRemovalMs: number | null = null;
  #lastSentMs: number | null = null;
  #lastSentBytes = 0;

  constructor(options: SummaryKeeperOptions) {
    const { publisher, scheme, neighbours, mostBytes, pace, now, marginMs = 2000, falseCandidates } = options;
    this.#publisher = publisher;
    this.#scheme = scheme;
    this.#neighbours = neighbours;
    this.#mostBytes = mostBytes;
    this.#pace = pace;
    this.#pieces = options.pieces;
    this.#marginMs = marginMs;
    this.#falseCandidates = falseCandidates;
    this.#wheel = new ExpiryWheel({ now: now.wallMs, tickMs: WHEEL_TICK_MS });
  }

  /** Keys in the summary. */
  get size(): number {
    return this.#ledger.size;
  }

  set neighbours(count: number) {
    this.#neighbours = count;
  }

  /**
   * The key with this hash has a response that may be shared and is fresh until this time (ms since
   * 1970). `part` names the process that told it last, 0 to 255. Returns true if the summary
   * changed.
   */
  keep(hash: KeyHash, until: number, now: Instant, part = 0): boolean {
    const leavesAt = until - this.#marginMs;
    if (leavesAt <= now.wallMs) return this.drop(hash, now);
    const { size } = this.#ledger;
    const entry = this.#ledger.add(hash);
    this.#setPart(entry, part);
    this.#wheel.set(entry, leavesAt);
    if (this.#ledger.size === size) return false;
    this.#publisher.addHash(hash);
    this.#additions++;
    this.#oldestAdditionMs ??= now.steadyMs;
    return true;
  }

  /** The key has no such response any more. Returns true if the summary changed. */
  drop(hash: KeyHash, now: Instant): boolean {
    const entry = this.#ledger.find(hash);
    if (entry < 0) return false;
    this.#wheel.remove(entry);
    this.#leave(entry, hash, now);
    return true;
  }

  /**
   * Lets all keys of a part go, in steps. A key that another part tells meanwhile stays. Returns
   * true if the summary changed.
   */
  *dropPart(part: number, now: () => Instant): Generator<undefined, boolean, undefined> {
    let looked = 0;
    let changed = false;
    for (const entry of this.#ledger.entries()) {
      if (this.#parts.get(entry) === part) {
        this.#wheel.remove(entry);
        this.#leave(entry, this.#hashAt(entry), now());
        changed = true;
      }
      if (++looked % LOOKED_AT_PER_STEP === 0) yield;
    }
    return changed;
  }

  /** Lets keys go that become stale, and says what is to be done. */
  next(now: Instant): KeeperStep {
    if (this.#running !== null) {
      throw new Error(
        `Cannot begin: expected the running work to finish, got a second call (${this.#running})`,
      );
    }
    const isDone = this.#wheel.advance(
      now.wallMs,
      (entry) => this.#leave(entry, this.#hashAt(entry), now),
      EXPIRED_PER_SLICE,
    );
    const next = this.#nextUniverse();
    if (next !== null) {
      const steps = this.#publisher.resizeInSteps(next, this.#hashes());
      return this.#begin('resize', steps);
    }
    if (!isDone) return { kind: 'wait', waitMs: 0 };
    const { send, waitMs } = this.#pace(this.#pending(), now.steadyMs);
    // The wheel turns in any case, because keys go stale on a node that changes nothing.
    if (send === 'nothing') {
      const wheelMs = Math.min(this.#wheel.waitMs(now.wallMs), LONGEST_WAIT_MS);
      return { kind: 'wait', waitMs: Math.min(waitMs, wheelMs) };
    }
    const additionsOnly = send === 'additions';
    return this.#begin('publish', this.#publish(additionsOnly), additionsOnly);
  }

  /** Publishes the changes, and sends all pieces but the last. */
  *#publish(additionsOnly: boolean): SummarySteps {
    const pieces = this.#pieces;
    if (pieces === undefined) return yield* this.#publisher.publishInSteps({ additionsOnly });
    const { mostBytes, send } = pieces;
    let last: Uint8Array | null = null;
    for (;;) {
      const piece = yield* this.#publisher.publishInSteps({ additionsOnly, mostBytes });
      if (piece === null) return last;
      if (last !== null) send(last);
      last = piece;
    }
  }

  /** The steps of `next` have ended. The message is sent, or null if there is none. */
  finish(message: Uint8Array | null, now: Instant): void {
    this.#running = null;
    if (message === null) return;
    this.#lastSentMs = now.steadyMs;
    this.#lastSentBytes = message.length;
  }

  /**
   * Changes up to now are in the message whose steps begin. Later ones count for the next one. The
   * full state of another universe contains all of them.
   */
  #begin(kind: 'publish' | 'resize', steps: SummarySteps, additionsOnly = false): KeeperStep {
    this.#running = kind;
    this.#additions = 0;
    this.#oldestAdditionMs = null;
    if (!additionsOnly) {
      this.#removals = 0;
      this.#oldestRemovalMs = null;
    }
    return { kind, steps };
  }

  #leave(entry: number, hash: KeyHash, now: Instant): void {
    this.#publisher.deleteHash(hash);
    this.#ledger.remove(entry);
    this.#removals++;
    this.#oldestRemovalMs ??= now.steadyMs;
  }

  #setPart(entry: number, part: number): void {
    this.#parts.cover(entry + 1);
    this.#parts.set(entry, part);
  }

  #nextUniverse(): number | null {
    const { universe, size: positions } = this.#publisher;
    return nextUniverse({
      universe,
      positions,
      keys: this.size,
      neighbours: this.#neighbours,
      mostBytes: this.#mostBytes,
      falseCandidates: this.#falseCandidates,
    });
  }

  #pending(): PendingChanges {
    return {
      additions: this.#additions,
      removals: this.#removals,
      oldestAdditionMs: this.#oldestAdditionMs,
      oldestRemovalMs: this.#oldestRemovalMs,
      size: this.#publisher.size,
      lastSentMs: this.#lastSentMs,
      lastSentBytes: this.#lastSentBytes,
    };
  }

  *#hashes(): Generator<KeyHash, void, undefined> {
    for (const halves of this.#ledger.hashes()) yield this.#keyHash(halves);
  }

  #hashAt(entry: number): KeyHash {
    return this.#keyHash(this.#ledger.hashAt(entry));
  }

  #keyHash({ low, high }: { low: number; high: number }): KeyHash {
    return { scheme: this.#scheme, low, high };
  }
}
