/**
 * The body of a fetch that many clients read while it arrives. It goes into the store's writer, and
 * each client reads it from there at its own pace. Slow clients delay neither the origin nor the
 * fast clients.
 *
 * Two events end that: the body grows past what may be stored (its length was not declared), or the
 * store cannot take it (a full disk). Then the body *overflows*: from that byte on it is passed to
 * the readers directly, from a window in memory that moves with the slowest of them and holds the
 * origin back when it is full. No client can join any more and nothing is stored, but all current
 * readers get every byte.
 *
 * Only after an overflow can a slow reader delay the others, and only within limits. While some
 * reader has read everything and waits for more, the readers that fill the window must free half of
 * it within `holdMs`. A reader that does not is left behind: its next read is an error and its
 * client is disconnected. With ten seconds that is a rate of 52 KB/s, which the other readers are
 * guaranteed. A reader that delays only itself may be as slow as its client's own timeout allows.
 * We refused to leave behind at once every reader that is slower than the others, because a phone
 * would never get a body that a server requests at the same time. We refused to let the window
 * grow, because it exists to bound memory.
 *
 * A body without readers continues into the store, for later clients, as long as it makes progress:
 * a body that brings less than 64 KB in ten seconds is abandoned. Otherwise a very slow origin
 * could hold a connection for each object that a client once asked for. After an overflow a body
 * without readers is abandoned at once. An abandoned body has failed: later readers get an error
 * instead of waiting for bytes that are no longer fetched.
 *
 * `discard` is for a body that must not be found later (its key was invalidated while it arrived).
 * The current readers get all of it, and the writer is aborted when the last of them has finished.
 */

import type { StoredResponse } from '../../policy/stored-response.ts';
import { BodyError, type BodyReader, type BodyWriter } from '../../store/response-store.ts';

/** Bytes held in memory between the origin and the slowest reader, after an overflow. */
const WINDOW_BYTES = 1024 * 1024;
/** How long other readers may be delayed. */
const HOLD_MS = 10_000;
/** The bytes that must arrive in that time if no client reads. */
const UNREAD_MS = 10_000;
const UNREAD_BYTES = 65_536;

export class FlightBody {
  readonly writer: BodyWriter;
  readonly #limit: number;
  readonly #abandoned: () => void;
  readonly #holdMs: number;
  readonly #readers = new Set<FlightReader>();
  #length = 0;
  /** End of the bytes in the store; the tail follows. Null if all bytes so far are in the store. */
  storedEnd: number | null = null;
  #tail: { readonly at: number; readonly bytes: Uint8Array }[] = [];
  #ended = false;
  #error: Error | null = null;
  #discarded = false;
  #givenUp = false;
  /**
   * Resolves when there is room in the window, and the timer that checks for slow readers
   * meanwhile.
   */
  #room: (() => void) | null = null;
  #patience: NodeJS.Timeout | null = null;
  /** Checks for progress while there are no readers. */
  #watch: NodeJS.Timeout | null = null;

  /**
   * `abandoned` is called if the body has no readers and is not stored either. `holdMs`: how long
   * some readers may delay others.
   */
  constructor(writer: BodyWriter, limitBytes: number, abandoned: () => void, holdMs = HOLD_MS) {
    this.writer = writer;
    this.#limit = limitBytes;
    this.#abandoned = abandoned;
    this.#holdMs = holdMs;
  }

  get length(): number {
    return this.#length;
  }

  /** Whether another reader may read it from its beginning. */
  get open(): boolean {
    return this.storedEnd === null && this.#error === null && !this.#givenUp;
  }

  get readers(): number {
    return this.#readers.size;
  }

  /** Writes bytes. If a promise is returned, await it before the next call; it never rejects. */
  write(chunk: Uint8Array): Promise<void> | undefined {
    if (this.#error !== null) return undefined;
    if (this.#readers.size === 0 && this.#watch === null) this.#watchUnread();
    if (this.storedEnd === null && this.#length + chunk.length > this.#limit) this.#overflow();
    if (this.storedEnd !== null) return this.#append(chunk);
    let taken: Promise<void> | undefined;
    try {
      taken = this.writer.write(chunk);
    } catch {
      this.#overflow();
      return this.#append(chunk);
    }
    if (taken === undefined) {
      this.#length += chunk.length;
      return undefined;
    }
    return taken.then(
      () => {
        this.#length += chunk.length;
      },
      () => {
        if (this.#error === null) this.#overflow();
        return this.#append(chunk);
      },
    );
  }

  /** Everything has arrived. Returns whether the body is stored. */
  end(response: StoredResponse): Promise<boolean> | boolean {
    this.#ended = true;
    this.#unwatch();
    if (this.storedEnd === null && !this.#discarded) return this.writer.commit(response);
    this.storedEnd ??= this.#length;
    for (const reader of [...this.#readers]) reader.switched();
    this.#letGo();
    return false;
  }

  /** No more bytes will arrive, and the body is incomplete. */
  fail(error: Error): void {
    if (this.#error !== null || this.#ended) return;
    this.#error = error;
    this.#unwatch();
    this.#giveUp(error);
    for (const reader of [...this.#readers]) reader.switched();
    this.#makeRoom();
  }

  /** The body must not be found later. */
  discard(): void {
    this.#discarded = true;
  }

  read(start = 0, end = Number.POSITIVE_INFINITY): BodyReader {
    const reader = new FlightReader(this, start, end);
    this.#readers.add(reader);
    return reader;
  }

  /** @internal The bytes of the tail from `position` on, or undefined if there are none yet. */
  fromTail(position: number): Uint8Array | null | undefined {
    for (const { at, bytes } of this.#tail) {
      if (position < at) throw new BodyError('gone', 'The window has moved past this byte');
      if (position < at + bytes.length) return position === at ? bytes : bytes.subarray(position - at);
    }
    if (this.#error !== null) throw new BodyError('aborted', this.#error.message, { cause: this.#error });
    return this.#ended ? null : undefined;
  }

  /** @internal Called when a reader has advanced, or left. */
  moved(left: FlightReader | null): void {
    if (left !== null) {
      this.#readers.delete(left);
      if (this.#readers.size === 0 && !this.#ended && this.#error === null) this.#watchUnread();
    }
    if (this.storedEnd === null) return;
    this.#trim();
    if (this.#readers.size === 0) this.#abandon('Nobody reads a body that is not kept any more');
    this.#letGo();
    if (this.#windowBytes() <= WINDOW_BYTES / 2) this.#makeRoom();
  }

  #watchUnread(): void {
    let length = this.#length;
    this.#watch ??= setInterval(() => {
      if (this.#readers.size > 0 || this.#length - length >= UNREAD_BYTES) {
        length = this.#length;
        return;
      }
      this.#abandon('Nobody waited for a body that came too slowly');
    }, UNREAD_MS).unref();
  }

  #abandon(why: string): void {
    if (this.#ended || this.#error !== null) return;
    this.fail(new Error(why));
    this.#abandoned();
  }

  #unwatch(): void {
    if (this.#watch !== null) clearInterval(this.#watch);
    this.#watch = null;
  }

  #overflow(): void {
    this.storedEnd = this.#length;
    if (this.#readers.size === 0) this.#abandon('Nobody reads a body that cannot be stored');
  }

  #append(chunk: Uint8Array): Promise<void> | undefined {
    if (this.#error !== null) return undefined;
    this.#tail.push({ at: this.#length, bytes: chunk });
    this.#length += chunk.length;
    for (const reader of [...this.#readers]) reader.switched();
    // A reader that waits for a later part reads none of these bytes, and would never make room.
    this.#trim();
    if (this.#windowBytes() <= WINDOW_BYTES) return undefined;
    return new Promise((resolve) => {
      this.#room = resolve;
      this.#patience = setInterval(() => this.#leaveBehind(), this.#holdMs).unref();
    });
  }

  /** Drops the bytes that all readers have passed. */
  #trim(): void {
    let slowest = Number.POSITIVE_INFINITY;
    for (const { position } of this.#readers) slowest = Math.min(slowest, position);
    while (this.#tail.length > 0 && this.#tail[0]!.at + this.#tail[0]!.bytes.length <= slowest) {
      this.#tail.shift();
    }
  }

  /** Called after `holdMs` without room: the readers in the way are left behind, if others wait. */
  #leaveBehind(): void {
    const readers = [...this.#readers];
    if (!readers.some(({ position }) => position >= this.#length)) return;
    for (const reader of readers) {
      if (this.#length - reader.position <= WINDOW_BYTES / 2) continue;
      this.#readers.delete(reader);
      reader.leftBehind();
    }
    this.moved(null);
  }

  #makeRoom(): void {
    if (this.#patience !== null) clearInterval(this.#patience);
    this.#patience = null;
    this.#room?.();
    this.#room = null;
  }

  #windowBytes(): number {
    return this.#tail.length === 0 ? 0 : this.#length - this.#tail[0]!.at;
  }

  /** The writer is no longer needed when all readers are past its bytes. */
  #letGo(): void {
    if (this.#givenUp || this.storedEnd === null) return;
    for (const { position } of this.#readers) if (position < this.storedEnd) return;
    this.#giveUp(new Error('The body was not to be kept'));
  }

  #giveUp(reason: Error): void {
    if (this.#givenUp) return;
    this.#givenUp = true;
    this.writer.abort(reason);
  }
}

type Waiter = { resolve(chunk: Uint8Array | null): void; reject(error: unknown): void };

class FlightReader implements BodyReader {
  position: number;
  readonly #body: FlightBody;
  readonly #end: number;
  /**
   * Opened at once, because a store that does not keep a body holds only the bytes that an open
   * reader has yet to read.
   */
  readonly #inner: BodyReader;
  #waiter: Waiter | null = null;
  #closed = false;
  #leftBehind = false;

  constructor(body: FlightBody, start: number, end: number) {
    this.#body = body;
    this.position = start;
    this.#end = end;
    this.#inner = body.writer.read(start, end === Number.POSITIVE_INFINITY ? undefined : end);
  }

  next(): Uint8Array | null | Promise<Uint8Array | null> {
    if (this.#closed) return Promise.reject(new BodyError('gone', 'This reader was closed'));
    if (this.position >= this.#end) return null;
    if (this.#leftBehind) return Promise.reject(tooSlow());
    const { storedEnd } = this.#body;
    if (storedEnd !== null && this.position >= storedEnd) {
      const chunk = this.#body.fromTail(this.position);
      if (chunk !== undefined) return this.#take(chunk);
      return new Promise((resolve, reject) => {
        this.#waiter = { resolve, reject };
      });
    }
    const chunk = this.#inner.next();
    if (!(chunk instanceof Promise)) return this.#take(chunk);
    return new Promise((resolve, reject) => {
      const waiter: Waiter = { resolve, reject };
      this.#waiter = waiter;
      chunk.then(
        (bytes) => {
          if (this.#waiter !== waiter) return;
          this.#waiter = null;
          resolve(this.#take(bytes));
        },
        (error: unknown) => {
          if (this.#waiter !== waiter) return;
          this.#waiter = null;
          reject(error);
        },
      );
    });
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#inner.close();
    const waiter = this.#waiter;
    this.#waiter = null;
    waiter?.reject(new BodyError('gone', 'This reader was closed'));
    this.#body.moved(this);
  }

  /**
   * @internal The other readers continue without this one, which does not get the rest of the body.
   */
  leftBehind(): void {
    this.#leftBehind = true;
    this.#inner.close();
    const waiter = this.#waiter;
    this.#waiter = null;
    waiter?.reject(tooSlow());
  }

  /**
   * @internal The bytes after the store's part have changed: a reader that waits there looks again.
   */
  switched(): void {
    const waiter = this.#waiter;
    const { storedEnd } = this.#body;
    if (waiter === null || storedEnd === null || this.position < storedEnd) return;
    let chunk: Uint8Array | null | undefined;
    try {
      chunk = this.#body.fromTail(this.position);
    } catch (error) {
      this.#waiter = null;
      waiter.reject(error);
      return;
    }
    if (chunk === undefined) return;
    this.#waiter = null;
    waiter.resolve(this.#take(chunk));
  }

  #take(chunk: Uint8Array | null): Uint8Array | null {
    if (chunk === null) return null;
    const room = this.#end - this.position;
    const bytes = chunk.length > room ? chunk.subarray(0, room) : chunk;
    this.position += bytes.length;
    this.#body.moved(null);
    return bytes;
  }
}

function tooSlow(): BodyError {
  return new BodyError('gone', 'This reader held up others for too long');
}

/** Writes everything that a reader returns. */
export async function copyInto(body: FlightBody, reader: BodyReader): Promise<void> {
  for (let chunk = await reader.next(); chunk !== null; chunk = await reader.next()) await body.write(chunk);
}
