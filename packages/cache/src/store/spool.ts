/**
 * One body that arrives once and is read by any number of clients, each at its own pace. Every
 * arriving body is a spool: in memory, on the disk, or kept nowhere and only shared.
 *
 * ```
 *   0 ............. backing.end ........ held.start ......... length ............
 *   in the backing (a file)     dropped             in memory          not here yet
 *
 *   open ──► ended     the writer called `end`: readers get all bytes, then null
 *     │
 *     └────► failed    the writer called `abort`: readers get a `BodyError`, at once
 *
 *   An open spool is *kept* (it has a backing that takes all bytes) until `letThrough`; from then
 *   on it *passes through*, and never becomes kept again. Bytes are dropped only then.
 * ```
 *
 * Roles. One writer adds bytes and waits for the promise of `push` before it adds more: that is the
 * flow control toward the origin. Readers (spool-reader.ts) take views of the bytes. The backing
 * decides whether the body can be kept, and moves bytes out of memory (`Backing`). There are two of
 * them: memory (memory-backing.ts), which leaves all bytes where they are and counts them, and a
 * file (file-backing.ts). A body may move from the first to the second while it is read.
 *
 * Bound on memory. A kept body in memory is bounded by its backing, and one in a file holds 256 KiB
 * and one chunk. A body that passes through holds the window of 256 KiB and two chunks: the one in
 * which the slowest reader is, and the newest. A body that was kept in memory before it passed
 * through also holds its earlier bytes until the readers that need them have read them. That part
 * grows no further.
 *
 * The rule for slow readers:
 * - A reader slower than the writer delays nothing while the body is kept: it reads from the
 *   backing what it missed. While the body passes through, bytes that all readers have are dropped
 *   as far as the window requires, and the writer waits for the slowest reader when the window is
 *   full. It goes on when half of the window is free.
 * - While the writer waits and some reader has read everything, the readers that hold up the writer
 *   must free half of the window within `holdMs`. A reader that does not is left behind: its next
 *   read is an error. With ten seconds, the other readers are guaranteed 13 KB/s. A reader that
 *   delays only itself may be as slow as its client's own timeout allows. We refused to leave slow
 *   readers behind at once, because a phone would never get a body that a server requests at the
 *   same time. We refused to let the window grow, because it exists to bound memory.
 * - No client reads: a kept body goes on for later clients as long as 64 KB arrive in ten seconds.
 *   A body that passes through is abandoned, at once when it stops being kept or when its last
 *   reader leaves, and after at most ten seconds if no reader ever came. Only an attended spool
 *   (`attend`) is abandoned, because its fetch must be ended as well.
 * - The first reader has no special part: the others go on when it leaves.
 * - The backing has no room, or fails in the middle: the body passes through from that byte on, and
 *   all current readers get every byte, the earlier ones from the backing.
 * - The writer fails: all readers get the error, including those that have yet to read earlier
 *   bytes, because an incomplete body is of no use to them.
 *
 * A reader may join while `joinable` is true: while the body is kept, or while it passes through
 * from its first byte on and still holds that byte. One that joins a body that ceased to be kept
 * would begin far behind the window and hold up all others.
 */

import { type Cancel, type Clock, systemClock } from '@bloomery/transport';
import { ChunkList } from './chunk-list.ts';
import { BodyError, type BodyReader } from './response-store.ts';
import { SpoolReader } from './spool-reader.ts';

/** Bytes held for the slowest reader of a body that passes through. */
const WINDOW_BYTES = 256 * 1024;
/** Time for which readers may hold up others, unless the rules say otherwise. */
const HOLD_MS = 10_000;
/** Without readers, `UNREAD_BYTES` must arrive in this time. */
const UNREAD_MS = 10_000;
const UNREAD_BYTES = 65_536;
const UNKEPT = 'expected one that is kept, got one that passes through';

/** The place that keeps the bytes of a spool. */
export interface Backing {
  /**
   * Asked before bytes are added: whether a body of `length` bytes can be kept. After `false`, or
   * after `dismiss`, it is not asked again.
   */
  admit(length: number): boolean;
  /**
   * Called when bytes were added: may move bytes out of `held`. The writer waits for the promise.
   * False means that there is no room. Rejects with a `BodyError` if the backing failed.
   */
  settle(held: ChunkList): Promise<boolean> | undefined;
  /** The bytes before this position can be read from the backing. */
  readonly end: number;
  /** Reads some of the bytes from `at` on, before `end`. Rejects with `BodyError`. */
  read(at: number, end: number): Promise<Uint8Array>;
  /** Nothing more will be kept here. Bytes before `end` stay readable until `close`. */
  dismiss(): void;
  /** Called when the writer has released the spool and no reader is left. */
  close(): void;
}

export interface SpoolRules {
  /** Time for which readers may hold up others; default 10 s. */
  readonly holdMs?: number;
  /** Timers of these rules; by default those of the machine. */
  readonly timers?: Pick<Clock, 'after'> | undefined;
  /**
   * Called when there are no readers and the body is not kept, or arrives too slowly. It must abort
   * the writer.
   */
  readonly abandoned: (reason: Error) => void;
}

/** Counts the open readers of all bodies of a store. */
export interface ReaderTally {
  readers: number;
}

export class Spool {
  readonly #held = new ChunkList();
  #backing: Backing;
  #state: 'open' | 'ended' | 'failed' = 'open';
  #failure: BodyError | undefined;
  #passing = false;
  #passingFromStart = false;
  #released = false;
  #rules: SpoolRules | undefined;
  readonly #tally: ReaderTally | undefined;
  readonly #readers = new Set<SpoolReader>();
  /** Resolves when there is room in the window; the timer looks for slow readers meanwhile. */
  #room: { readonly promise: Promise<void>; readonly resolve: () => void } | undefined;
  #endPatience: Cancel = nothing;
  /** Ends the check for progress while there are no readers; undefined while none runs. */
  #endWatch: Cancel | undefined;

  constructor(backing: Backing, tally?: ReaderTally) {
    this.#backing = backing;
    this.#tally = tally;
  }

  /** Bytes added so far. */
  get length(): number {
    return this.#held.end;
  }

  get open(): boolean {
    return this.#state === 'open';
  }

  /** The reason why no more bytes will come, or undefined if there was no error. */
  get failure(): BodyError | undefined {
    return this.#failure;
  }

  get passing(): boolean {
    return this.#passing;
  }

  get attended(): boolean {
    return this.#rules !== undefined;
  }

  get readers(): number {
    return this.#readers.size;
  }

  /** Whether another reader may read the body from its beginning. */
  get joinable(): boolean {
    if (this.#state === 'failed') return false;
    return !this.#passing || (this.#passingFromStart && this.#held.start === 0);
  }

  /** Whether another reader may read the bytes from `start` on. */
  isReadableFrom(start: number): boolean {
    if (this.#state === 'failed') return false;
    return !this.#passing || start >= this.#held.start;
  }

  /** The bytes in memory. */
  get held(): ChunkList {
    return this.#held;
  }

  /** Sets the rules for readers that hold up others, and for a body without readers. */
  attend(rules: SpoolRules): void {
    this.#rules = rules;
  }

  /**
   * Adds bytes. If a promise is returned, await it before the next call. It rejects if the body has
   * ended. It also rejects if the backing fails: the bytes were added all the same, the body passes
   * through from then on, and `room` says when to go on.
   */
  push(chunk: Uint8Array): Promise<void> | undefined {
    if (this.#state !== 'open') return Promise.reject(this.#failure ?? endedError(this.length));
    if (chunk.length === 0) return undefined;
    const kept = !this.#passing && this.#backing.admit(this.length + chunk.length);
    if (this.#readers.size === 0) this.#watchUnread();
    this.#held.push(chunk);
    for (const reader of this.#readers) reader.wake();
    if (!kept) {
      this.letThrough();
      return this.room();
    }
    return this.#backing.settle(this.#held)?.then(
      (settled) => {
        if (settled) return undefined;
        this.letThrough();
        return this.room();
      },
      (error: BodyError) => {
        this.letThrough();
        throw this.#failure ?? error;
      },
    );
  }

  /** Returns a promise if the window is full; it resolves when the writer may go on. */
  room(): Promise<void> | undefined {
    if (!this.#passing || this.#state !== 'open' || this.#trim() <= WINDOW_BYTES) return undefined;
    if (this.#room === undefined) {
      let resolve = (): void => {};
      const promise = new Promise<void>((done) => {
        resolve = done;
      });
      this.#room = { promise, resolve };
      this.#endPatience = this.#every(this.#rules?.holdMs ?? HOLD_MS, () => this.#leaveBehind());
    }
    return this.#room.promise;
  }

  /** The body is not kept: from now on it holds only a window. */
  letThrough(): void {
    if (this.#passing || this.#state !== 'open') return;
    this.#passing = true;
    this.#passingFromStart = this.length === 0;
    this.#backing.dismiss();
    this.#trim();
    if (this.#readers.size === 0) this.#abandon(UNKEPT);
  }

  /** The body is kept in another place from now on, which takes over the bytes so far. */
  moveTo(backing: Backing): void {
    this.#backing.dismiss();
    this.#backing.close();
    this.#backing = backing;
    if (this.length > 0 && !backing.admit(this.length)) this.letThrough();
  }

  /** The body is complete. */
  end(): void {
    if (this.#state !== 'open') return;
    this.#state = 'ended';
    this.#settle();
  }

  /** The body will never be complete. */
  abort(reason: Error): void {
    if (this.#state !== 'open') return;
    this.#state = 'failed';
    this.#failure =
      reason instanceof BodyError
        ? reason
        : new BodyError(
            'aborted',
            `Cannot read a body: expected all of it, got ${this.length} bytes (${reason.message})`,
            { cause: reason },
          );
    this.#held.clear();
    this.#backing.dismiss();
    this.#settle();
  }

  /** The writer no longer needs the backing, which is closed when the last reader leaves. */
  release(): void {
    if (this.#released) return;
    this.#released = true;
    if (this.#readers.size === 0) this.#backing.close();
  }

  /** Reads the bytes from `start` to `end`, including those that have not come yet. */
  read(start = 0, end = Number.POSITIVE_INFINITY): BodyReader {
    const reader = new SpoolReader(this, start, end);
    this.#readers.add(reader);
    if (this.#tally !== undefined) this.#tally.readers++;
    return reader;
  }

  /**
   * @internal The bytes from `at` on: at once, as a promise if the backing has them, or undefined
   * if they have not come yet. Rejects if they were dropped.
   */
  bytesAt(at: number, end: number, hint: number): Uint8Array | Promise<Uint8Array> | undefined {
    if (at >= this.length) return undefined;
    const view = this.#held.view(at, end, hint);
    if (view !== undefined) return view;
    const kept = this.#backing.end;
    // A reader that came late may have a gap between the kept bytes and the held ones. It gets the
    // error before its first byte.
    if (at < kept && (kept === this.#held.start || end <= kept)) {
      return this.#backing.read(at, Math.min(end, kept));
    }
    const held = `a byte from ${this.#held.start} on, which is held, got byte ${at}`;
    return Promise.reject(new BodyError('gone', `Cannot read a body: expected ${held}`));
  }

  /** @internal A reader has advanced. */
  moved(): void {
    if (this.#passing && this.#trim() <= WINDOW_BYTES / 2) this.#makeRoom();
  }

  /** @internal A reader has left. */
  left(reader: SpoolReader): void {
    if (!this.#readers.delete(reader)) return;
    if (this.#tally !== undefined) this.#tally.readers--;
    this.moved();
    if (this.#readers.size > 0) return;
    if (this.#released) this.#backing.close();
    if (this.#passing) this.#abandon(UNKEPT);
    else this.#watchUnread();
  }

  /**
   * Drops bytes that all readers have passed, as far as the window requires. Returns how many bytes
   * the slowest reader has yet to read.
   */
  #trim(): number {
    let needed = this.length;
    for (const { position } of this.#readers) needed = Math.min(needed, position);
    this.#held.dropBefore(needed, WINDOW_BYTES);
    return this.length - needed;
  }

  /** Called after `holdMs` without room: the readers in the way are left behind, if others wait. */
  #leaveBehind(): void {
    const readers = [...this.#readers];
    if (!readers.some(({ position }) => position >= this.length)) return;
    for (const reader of readers) {
      if (this.length - reader.position > WINDOW_BYTES / 2) reader.leaveBehind();
    }
  }

  #makeRoom(): void {
    this.#endPatience();
    this.#room?.resolve();
    this.#room = undefined;
  }

  #watchUnread(): void {
    if (this.#rules === undefined || this.#state !== 'open' || this.#endWatch !== undefined) return;
    let before = this.length;
    this.#endWatch = this.#every(UNREAD_MS, () => {
      const came = this.length - before;
      before = this.length;
      if (this.#readers.size > 0) return;
      if (this.#passing) this.#abandon(UNKEPT);
      else if (came < UNREAD_BYTES) this.#abandon(`expected ${UNREAD_BYTES} bytes in 10 s, got ${came}`);
    });
  }

  /** Calls `run` again and again, until the result is called. */
  #every(ms: number, run: () => void): Cancel {
    const timers = this.#rules?.timers ?? systemClock;
    const turn = (): void => {
      cancel = timers.after(ms, turn);
      run();
    };
    let cancel = timers.after(ms, turn);
    return () => cancel();
  }

  #abandon(why: string): void {
    if (this.#state !== 'open' || this.#rules === undefined) return;
    this.#rules.abandoned(new Error(`Cannot go on with a body that is not read: ${why}`));
  }

  #settle(): void {
    this.#endWatch?.();
    this.#endWatch = undefined;
    for (const reader of [...this.#readers]) reader.wake();
    this.#makeRoom();
  }
}

function endedError(length: number): BodyError {
  const message = `Cannot add bytes to a body: expected an open one, got one that ended at ${length}`;
  return new BodyError('aborted', message);
}

function nothing(): void {}
