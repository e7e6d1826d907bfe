/**
 * A body in memory, while it grows and when it is complete.
 *
 * A growing body is a list of the chunks as they came. Any number of readers follow it, each at its
 * own position. A reader that has caught up waits, and is woken by the next chunk, by the end, or
 * by an abort. Nothing is copied for a reader: it gets views of the chunks. When the body is kept,
 * `flatten` makes one array of it, and readers continue in that.
 *
 * The cost of a flat body is the memory that it pins. A chunk from a socket is often a view of a
 * larger buffer (Node reads into 64 KB), so a 200-byte body would hold 64 KB. A body of one chunk
 * that fills at least three quarters of its buffer therefore stays as it is, uncopied, and counts
 * as the whole buffer. Any other body is copied once, into memory of its exact size.
 *
 * A body that will not be kept (too large, or too many at once) passes through: `letThrough` limits
 * it to a window. Bytes that all readers have passed are dropped once the window is exceeded, and
 * the writer must wait for the slowest reader. This is the only case in which a slow reader delays
 * others. It exists because this store has only memory; a store with a disk spools such bodies. A
 * reader that arrives when its first byte is already dropped gets the error `gone`.
 *
 * We refused to reserve `Content-Length` bytes at once (a thousand false lengths would take a
 * gigabyte), and to give each reader a ring buffer (many readers of one body are the normal case
 * here).
 */

import { BodyError, type BodyReader } from '../response-store.ts';

/** Counts the open readers of all bodies of a store. */
export interface ReaderTally {
  readers: number;
}

export class MemoryBody {
  /** Chunks in order; the first one begins at byte `#starts[0]`. */
  #chunks: Uint8Array[] = [];
  #starts: number[] = [];
  #length = 0;
  #state: 'open' | 'ended' | 'aborted' = 'open';
  #failure: BodyError | undefined;
  #window = Number.POSITIVE_INFINITY;
  readonly #readers = new Set<FollowingReader>();
  readonly #tally: ReaderTally;
  #room: (() => void) | undefined;

  constructor(tally: ReaderTally) {
    this.#tally = tally;
  }

  get length(): number {
    return this.#length;
  }

  get open(): boolean {
    return this.#state === 'open';
  }

  /** The reason why no more bytes will come, or undefined if there was no error. */
  get failure(): BodyError | undefined {
    return this.#failure;
  }

  /** Adds a chunk. If a promise is returned, the window is full: wait for the slowest reader. */
  push(chunk: Uint8Array): Promise<void> | undefined {
    if (this.#state !== 'open') {
      return Promise.reject(this.#failure ?? new BodyError('aborted', 'The body has already ended'));
    }
    if (chunk.length === 0) return undefined;
    this.#chunks.push(chunk);
    this.#starts.push(this.#length);
    this.#length += chunk.length;
    this.#wakeAll();
    if (this.#window === Number.POSITIVE_INFINITY || this.#trim()) return undefined;
    return new Promise((resolve) => {
      this.#room = resolve;
    });
  }

  /** From now on, holds only `windowBytes` bytes. */
  letThrough(windowBytes: number): void {
    this.#window = windowBytes;
    this.#trim();
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
    this.#state = 'aborted';
    this.#failure =
      reason instanceof BodyError
        ? reason
        : new BodyError('aborted', `The body was aborted after ${this.#length} bytes: ${reason.message}`, {
            cause: reason,
          });
    this.#chunks = [];
    this.#starts = [];
    this.#settle();
  }

  /** The whole body as one array. Only after `end`, and only if nothing was dropped. */
  flatten(): Uint8Array {
    if (this.#chunks.length === 1) {
      this.#chunks[0] = compact(this.#chunks[0]!);
    } else {
      this.#chunks = [joined(this.#chunks, this.#length)];
      this.#starts = [0];
    }
    return this.#chunks[0]!;
  }

  read(start: number, end: number): BodyReader {
    return new FollowingReader(this, this.#tally, start, end);
  }

  /**
   * @internal The bytes from `at` on, as far as they lie in one chunk, or undefined if there are
   * none yet.
   */
  viewAt(at: number, end: number, hint: number): Uint8Array | undefined {
    if (at >= this.#length) return undefined;
    const index = this.indexAt(at, hint);
    const from = this.#starts[index]!;
    const chunk = this.#chunks[index]!;
    if (at === from && end - from >= chunk.length) return chunk;
    return chunk.subarray(at - from, Math.min(chunk.length, end - from));
  }

  /**
   * @internal The index of the chunk with byte `at`. Readers go in order, so their last position is
   * tried first.
   */
  indexAt(at: number, hint: number): number {
    const starts = this.#starts;
    if (starts[hint]! <= at && (hint + 1 === starts.length || at < starts[hint + 1]!)) return hint;
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (starts[middle]! <= at) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** @internal The first byte that is still held. */
  get base(): number {
    return this.#starts.length === 0 ? this.#length : this.#starts[0]!;
  }

  /** @internal */
  attach(reader: FollowingReader): void {
    this.#readers.add(reader);
  }

  /** @internal */
  detach(reader: FollowingReader): void {
    this.#readers.delete(reader);
    this.moved();
  }

  /** @internal A reader has advanced, so there may be room again. */
  moved(): void {
    if (this.#window === Number.POSITIVE_INFINITY || !this.#trim()) return;
    this.#room?.();
    this.#room = undefined;
  }

  /**
   * Drops bytes that all readers have passed, as far as the window requires. Returns whether the
   * rest fits.
   */
  #trim(): boolean {
    let needed = this.#length;
    for (const reader of this.#readers) needed = Math.min(needed, reader.at);
    let drop = 0;
    while (drop < this.#chunks.length) {
      const chunkEnd = this.#starts[drop]! + this.#chunks[drop]!.length;
      if (this.#length - this.#starts[drop]! <= this.#window || chunkEnd > needed) break;
      drop++;
    }
    if (drop > 0) {
      this.#chunks.splice(0, drop);
      this.#starts.splice(0, drop);
    }
    return this.#length - this.base <= this.#window;
  }

  #settle(): void {
    this.#wakeAll();
    this.#room?.();
    this.#room = undefined;
  }

  #wakeAll(): void {
    for (const reader of this.#readers) reader.wake();
  }
}

/** Follows a body that may still grow. */
class FollowingReader implements BodyReader {
  at: number;
  #body: MemoryBody | undefined;
  #hint = 0;
  readonly #end: number;
  readonly #tally: ReaderTally;
  #resolve: ((bytes: Uint8Array | null) => void) | undefined;
  #reject: ((error: BodyError) => void) | undefined;
  #finished = false;

  constructor(body: MemoryBody, tally: ReaderTally, start: number, end: number) {
    checkRange(start, end);
    this.#body = body;
    this.#tally = tally;
    this.at = start;
    this.#end = end;
    tally.readers++;
    body.attach(this);
  }

  next(): Uint8Array | null | Promise<Uint8Array | null> {
    if (this.#resolve !== undefined) {
      return Promise.reject(new TypeError('next() was called again before the last one was answered'));
    }
    const body = this.#body;
    if (body === undefined) return this.#finished ? null : Promise.reject(closedError());
    const failure = body.failure ?? (this.at < body.base ? droppedError(this.at, body.base) : undefined);
    if (failure !== undefined) {
      this.#letGo();
      return Promise.reject(failure);
    }
    const bytes = this.#take(body);
    if (bytes !== undefined) return bytes;
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  close(): void {
    this.#letGo();
    this.#answer()?.reject(closedError());
  }

  /** Called after a change; answers a waiting `next`. */
  wake(): void {
    const body = this.#body;
    if (this.#resolve === undefined || body === undefined) return;
    if (body.failure !== undefined) {
      this.#letGo();
      this.#answer()!.reject(body.failure);
      return;
    }
    const bytes = this.#take(body);
    if (bytes !== undefined) this.#answer()!.resolve(bytes);
  }

  /** The next bytes, null at the end, or undefined if there are none yet. */
  #take(body: MemoryBody): Uint8Array | null | undefined {
    if (this.at < this.#end) {
      const bytes = body.viewAt(this.at, this.#end, this.#hint);
      if (bytes !== undefined) {
        this.#hint = body.indexAt(this.at, this.#hint);
        this.at += bytes.length;
        body.moved();
        return bytes;
      }
      if (body.open) return undefined;
    }
    this.#finished = true;
    this.#letGo();
    return null;
  }

  #letGo(): void {
    const body = this.#body;
    if (body === undefined) return;
    this.#body = undefined;
    this.#tally.readers--;
    body.detach(this);
  }

  #answer() {
    const resolve = this.#resolve;
    const reject = this.#reject;
    this.#resolve = this.#reject = undefined;
    return resolve && reject ? { resolve, reject } : undefined;
  }
}

/**
 * Reads from a complete body. It holds the bytes, so they stay readable even if the entry is
 * removed.
 */
export class FlatReader implements BodyReader {
  #bytes: Uint8Array | undefined;
  #finished = false;
  readonly #tally: ReaderTally;

  constructor(bytes: Uint8Array, tally: ReaderTally, start: number, end: number) {
    checkRange(start, end);
    this.#bytes = start === 0 && end >= bytes.length ? bytes : bytes.subarray(start, end);
    this.#tally = tally;
    tally.readers++;
  }

  next(): Uint8Array | null | Promise<Uint8Array | null> {
    const bytes = this.#bytes;
    if (bytes === undefined) return this.#finished ? null : Promise.reject(closedError());
    this.#finished = true;
    this.close();
    return bytes.length === 0 ? null : bytes;
  }

  close(): void {
    if (this.#bytes === undefined) return;
    this.#bytes = undefined;
    this.#tally.readers--;
  }
}

/** A reader of a body that is not stored. */
export class GoneReader implements BodyReader {
  readonly #what: string;

  constructor(what: string) {
    this.#what = what;
  }

  next(): Promise<null> {
    return Promise.reject(new BodyError('gone', `The body of ${this.#what} is not stored any more`));
  }

  close(): void {}
}

/** The bytes in memory that pins no more than necessary; see above. */
export function compact(bytes: Uint8Array): Uint8Array {
  return bytes.length >= bytes.buffer.byteLength * 0.75 ? bytes : joined([bytes], bytes.length);
}

function joined(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const whole = Buffer.allocUnsafeSlow(length);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

function checkRange(start: number, end: number): void {
  if (!(start >= 0 && end >= start)) {
    throw new RangeError(`Expected 0 <= start <= end, got start ${start} and end ${end}`);
  }
}

function closedError(): BodyError {
  return new BodyError('gone', 'The reader was closed before the end of the body');
}

function droppedError(at: number, base: number): BodyError {
  return new BodyError('gone', `Byte ${at} of the body is not held any more, only those from ${base} on`);
}
