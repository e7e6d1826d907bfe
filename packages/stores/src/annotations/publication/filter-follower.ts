/**
 * The client's side of a published list: which file it wants next, and whether it believes the file
 * that came (docs/spec/annotations.md). A state machine without clock, randomness and network.
 *
 *     const step = follower.next(now());
 *     if (step.kind === 'wait') callAgainAt(step.untilS);
 *     else await follower.receive(step.file, await download(step.file, step.maxBytes), now());
 *
 * What it promises. The list that it holds was signed by one of the keys, under the name of this
 * group, and is never replaced by an older one. A file that does not lead to a signed list changes
 * nothing. No answer makes it ask more than once more: after an update that did not fit it asks for
 * the full file, and then it rests.
 *
 * What it cannot notice: newer publications that are withheld. `ageS` says how old the list is.
 */

import { FrameError } from 'bloomery';
import {
  type DigestOptions,
  readSignature,
  SignatureError,
  type Statement,
  type VerifyEd25519,
  verifyContents,
  verifyFrame,
  verifySignature,
} from 'bloomery/signing';
import { applyListUpdate } from 'bloomery/wire';
import {
  fileFrom,
  fullFile,
  HEAD_FILE,
  MOST_FILE_BYTES,
  MOST_HEAD_BYTES,
  PERIOD_S,
  signedName,
} from './list-files.ts';

/** A list whose signature was verified, as a client stores it. */
export interface HeldList {
  /** The signature: the bytes of the file `head`. */
  readonly head: Uint8Array;
  /** The plain frame of the list. */
  readonly frame: Uint8Array;
}

export type FollowerStep =
  | { readonly kind: 'wait'; readonly untilS: number }
  | { readonly kind: 'fetch'; readonly file: string; readonly maxBytes: number };

export type FollowerOutcome =
  /** There is a new list. */
  | { readonly status: 'changed' }
  /** The head is that of the list at hand. */
  | { readonly status: 'same' }
  /** The file was right, and another one is wanted. */
  | { readonly status: 'more' }
  /** The file was refused. */
  | { readonly status: 'refused'; readonly error: Error };

export interface FollowerOptions {
  readonly group: string;
  /** The publisher's keys, 32 bytes each. */
  readonly keys: readonly Uint8Array[];
  /** A number from 0 to 1, evenly distributed: it spreads the requests of many clients. */
  readonly random: () => number;
  readonly periodS?: number;
  /** The list of an earlier life of the client. */
  readonly held?: HeldList | undefined;
  readonly verify?: VerifyEd25519 | undefined;
  readonly sha256?: DigestOptions['sha256'];
}

export class FilterFollower {
  readonly group: string;
  readonly periodS: number;
  readonly #options: FollowerOptions;
  #held: HeldList | null;
  #statement: Statement | null;
  /** The head that is being followed, until its list is there. */
  #target: { readonly head: Uint8Array; readonly statement: Statement; readonly file: string } | null = null;
  #restUntilS = 0;
  #failures = 0;

  constructor(options: FollowerOptions) {
    const { group, periodS = PERIOD_S, held } = options;
    this.#options = options;
    this.group = group;
    this.periodS = periodS;
    this.#held = held ?? null;
    this.#statement = held === undefined ? null : readSignature(held.head).statement;
  }

  get held(): HeldList | null {
    return this.#held;
  }

  /** The epoch of the list at hand. */
  get epoch(): number | null {
    return this.#statement?.epoch ?? null;
  }

  /** Seconds since the publication of the list at hand, or null if there is none. */
  ageS(nowS: number): number | null {
    return this.#statement === null ? null : Math.max(0, nowS - this.#statement.epoch);
  }

  /** Ends a rest, for a user who does not want to wait. */
  wake(): void {
    this.#restUntilS = 0;
  }

  next(nowS: number): FollowerStep {
    if (this.#target !== null) return { kind: 'fetch', file: this.#target.file, maxBytes: MOST_FILE_BYTES };
    // A clock that was set back must not stop it for longer than two periods.
    if (nowS < this.#restUntilS && this.#restUntilS - nowS <= 2 * this.periodS) {
      return { kind: 'wait', untilS: this.#restUntilS };
    }
    return { kind: 'fetch', file: HEAD_FILE, maxBytes: MOST_HEAD_BYTES };
  }

  /** Takes the file that `next` wanted. */
  async receive(
    file: string,
    bytes: Uint8Array,
    nowS: number,
    { signal }: { readonly signal?: AbortSignal } = {},
  ): Promise<FollowerOutcome> {
    signal?.throwIfAborted();
    const target = this.#target;
    if (file !== (target === null ? HEAD_FILE : target.file)) {
      const error = new RangeError(
        `Cannot take a file: expected ${target?.file ?? HEAD_FILE}, got ${file.slice(0, 100)}`,
      );
      return { status: 'refused', error };
    }
    try {
      if (target === null) return await this.#takeHead(bytes, nowS, signal);
      const frame = await this.#listFrom(target.file, target.statement, bytes, signal);
      this.#held = { head: target.head, frame };
      this.#statement = target.statement;
      this.#target = null;
      this.#failures = 0;
      this.#restAfter(target.statement.epoch, nowS);
      return { status: 'changed' };
    } catch (error) {
      if (!(error instanceof SignatureError || error instanceof FrameError)) throw error;
      this.fail(file, nowS);
      return { status: 'refused', error };
    }
  }

  /** Tells that a file could not be downloaded. */
  fail(file: string, nowS: number): void {
    const target = this.#target;
    if (target !== null && file === target.file && file !== fullFile(target.statement.epoch)) {
      this.#target = { ...target, file: fullFile(target.statement.epoch) };
      return;
    }
    this.#target = null;
    this.#backOff(nowS);
  }

  async #takeHead(head: Uint8Array, nowS: number, signal: AbortSignal | undefined): Promise<FollowerOutcome> {
    const { keys, verify } = this.#options;
    const statement = await verifySignature(head, {
      keys,
      name: signedName(this.group),
      last: this.#statement ?? undefined,
      ...(verify !== undefined && { verify }),
      ...(signal !== undefined && { signal }),
    });
    if (statement.epoch > nowS + MOST_AHEAD_S) {
      throw new SignatureError(
        'stale',
        `Cannot trust the signature: expected an epoch up to ${nowS + MOST_AHEAD_S}, got ${statement.epoch}`,
      );
    }
    if (statement.structure !== 'HashList' || statement.length > MOST_FILE_BYTES) {
      throw new SignatureError(
        'contents',
        `Cannot trust the contents: expected a HashList of at most ${MOST_FILE_BYTES} bytes, got ${statement.length} of a ${statement.structure}`,
      );
    }
    if (statement.epoch === this.#statement?.epoch) {
      this.#backOff(nowS);
      return { status: 'same' };
    }
    const file = fileFrom(this.epoch, statement.epoch, this.periodS);
    this.#target = { head: head.slice(), statement, file };
    return { status: 'more' };
  }

  async #listFrom(
    file: string,
    statement: Statement,
    bytes: Uint8Array,
    signal: AbortSignal | undefined,
  ): Promise<Uint8Array> {
    const { sha256 } = this.#options;
    const digest = { ...(sha256 !== undefined && { sha256 }), ...(signal !== undefined && { signal }) };
    if (file === fullFile(statement.epoch)) return verifyFrame(statement, bytes, digest);
    const frame = applyListUpdate(this.#held!.frame, bytes);
    await verifyContents(statement, frame, digest);
    return frame;
  }

  /** Rests until the next publication, and a random time longer. */
  #restAfter(epoch: number, nowS: number): void {
    const period = this.periodS;
    const nextS = (Math.floor(epoch / period) + 1) * period;
    if (nextS <= nowS) this.#backOff(nowS);
    else this.#restUntilS = nextS + period / SETTLE + (this.#options.random() * period) / SPREAD;
  }

  #backOff(nowS: number): void {
    const pause = Math.min(this.periodS, (this.periodS / FIRST_PAUSE) * 2 ** this.#failures);
    this.#failures = Math.min(this.#failures + 1, 20);
    this.#restUntilS = nowS + pause * (0.5 + this.#options.random() / 2);
  }
}

/** The clock of a publisher may be ahead of the client's by this. */
const MOST_AHEAD_S = 86_400;
/** Clients come a 120th of the period after its beginning at the earliest: 30 s. */
const SETTLE = 120;
/** They spread over a sixth of the period: ten minutes. */
const SPREAD = 6;
/** The first pause after a failure is a 30th of the period: two minutes. */
const FIRST_PAUSE = 30;
