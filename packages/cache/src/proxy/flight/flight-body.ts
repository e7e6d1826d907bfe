/**
 * The body of a fetch that many clients read while it comes. It goes into the store's writer, and each client reads
 * it from there at its own pace: the slow ones hold up neither the origin nor the fast ones.
 *
 * Two things end that. The body grows past what may be stored (its length was not told), or the store cannot take it (a full
 * disk). Then the body *overflows*: from that byte on it is handed to the readers directly, from a window in memory that moves with the
 * slowest of them and holds the origin back when it is full. Nobody can join any more, nothing is kept, and those who
 * read get every byte.
 *
 * Then, and only then, a slow reader holds up the others. It may, but not without bound: while somebody has read all there is and waits for
 * more, those who fill the window must make room, half of it, within `holdMs`; who does not is left behind, its next bytes are an
 * error and its client is cut off. With ten seconds that is a pace of 52 KB/s, which is what the others are sure of. A reader that holds up
 * nobody but itself may be as slow as its client's own timeout allows. Refused: to leave behind whoever is slower than the others at once,
 * for a phone would never get what a server asks for at the same time; and to let the window grow, for memory is what it is about.
 *
 * A body that nobody reads any more goes on into the store, for those who come later, as long as it moves: one that brings less than
 * 64 KB in ten seconds is given up. An origin that drips could else hold a connection for each object that somebody once asked for.
 * After an overflow it is given up at once. A body that is given up has failed: whoever comes to read it nevertheless is told so, and
 * does not wait for bytes that nobody fetches.
 *
 * `discard` is for a body that must not be found later (its key was invalidated while it came): readers get all of it, and
 * the writer is given up when the last of them has finished.
 */

import type { StoredResponse } from '../../policy/stored-response.ts';
import { BodyError, type BodyReader, type BodyWriter } from '../../store/response-store.ts';

/** Held in memory between the origin and the slowest reader, after an overflow. */
const WINDOW_BYTES = 1024 * 1024;
/** How long others may be held up. */
const HOLD_MS = 10_000;
/** What must come in that time when nobody waits for it. */
const UNREAD_MS = 10_000;
const UNREAD_BYTES = 65_536;

export class FlightBody {
  readonly writer: BodyWriter;
  readonly #limit: number;
  readonly #abandoned: () => void;
  readonly #holdMs: number;
  readonly #readers = new Set<FlightReader>();
  #length = 0;
  /** What of it is in the store; beyond it the tail. null: all of it, so far. */
  storedEnd: number | null = null;
  #tail: { readonly at: number; readonly bytes: Uint8Array }[] = [];
  #ended = false;
  #error: Error | null = null;
  #discarded = false;
  #givenUp = false;
  /** Who waits for room in the window, and what looks after that meanwhile. */
  #room: (() => void) | null = null;
  #patience: NodeJS.Timeout | null = null;
  /** Looks whether it still moves, while nobody reads. */
  #watch: NodeJS.Timeout | null = null;

  /** `abandoned`: nobody reads it any more, and it is not kept either. `holdMs`: how long some may hold up others. */
  constructor(writer: BodyWriter, limitBytes: number, abandoned: () => void, holdMs = HOLD_MS) {
    this.writer = writer;
    this.#limit = limitBytes;
    this.#abandoned = abandoned;
    this.#holdMs = holdMs;
  }

  get length(): number {
    return this.#length;
  }

  /** Whether one more may read it from its beginning. */
  get open(): boolean {
    return this.storedEnd === null && this.#error === null && !this.#givenUp;
  }

  get readers(): number {
    return this.#readers.size;
  }

  /** Takes bytes. A promise: wait for it before the next; it never rejects. */
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

  /** All has come. Gives whether it is kept. */
  end(response: StoredResponse): Promise<boolean> | boolean {
    this.#ended = true;
    this.#unwatch();
    if (this.storedEnd === null && !this.#discarded) return this.writer.commit(response);
    this.storedEnd ??= this.#length;
    for (const reader of [...this.#readers]) reader.switched();
    this.#letGo();
    return false;
  }

  /** No more will come, and what came is not all. */
  fail(error: Error): void {
    if (this.#error !== null || this.#ended) return;
    this.#error = error;
    this.#unwatch();
    this.#giveUp(error);
    for (const reader of [...this.#readers]) reader.switched();
    this.#makeRoom();
  }

  /** It must not be found later. */
  discard(): void {
    this.#discarded = true;
  }

  read(start = 0, end = Number.POSITIVE_INFINITY): BodyReader {
    const reader = new FlightReader(this, start, end);
    this.#readers.add(reader);
    return reader;
  }

  /** @internal What the tail has from `position` on. undefined: not yet. */
  fromTail(position: number): Uint8Array | null | undefined {
    for (const { at, bytes } of this.#tail) {
      if (position < at) throw new BodyError('gone', 'The window has moved past this byte');
      if (position < at + bytes.length) return position === at ? bytes : bytes.subarray(position - at);
    }
    if (this.#error !== null) throw new BodyError('aborted', this.#error.message, { cause: this.#error });
    return this.#ended ? null : undefined;
  }

  /** @internal A reader has moved on, or left. */
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
    // One that waits for a part further on takes nothing of this, and so would never make room.
    this.#trim();
    if (this.#windowBytes() <= WINDOW_BYTES) return undefined;
    return new Promise((resolve) => {
      this.#room = resolve;
      this.#patience = setInterval(() => this.#leaveBehind(), this.#holdMs).unref();
    });
  }

  /** Lets go of what all are past. */
  #trim(): void {
    let slowest = Number.POSITIVE_INFINITY;
    for (const { position } of this.#readers) slowest = Math.min(slowest, position);
    while (this.#tail.length > 0 && this.#tail[0]!.at + this.#tail[0]!.bytes.length <= slowest) {
      this.#tail.shift();
    }
  }

  /** There was no room for so long: those in the way go, if others wait. */
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

  /** The writer is not needed when all readers are past what it has. */
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
  /** Opened at once: a store that lets a body through keeps only what an open reader has yet to read. */
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

  /** @internal The others go on without it. What it has begun to read it does not get to its end. */
  leftBehind(): void {
    this.#leftBehind = true;
    this.#inner.close();
    const waiter = this.#waiter;
    this.#waiter = null;
    waiter?.reject(tooSlow());
  }

  /** @internal What is beyond the store's part has changed: one that waits there looks again. */
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

/** Writes all that a reader has. */
export async function copyInto(body: FlightBody, reader: BodyReader): Promise<void> {
  for (let chunk = await reader.next(); chunk !== null; chunk = await reader.next()) await body.write(chunk);
}
