/**
 * The body of a fetch that many clients read while it arrives. It goes into the store's writer, and
 * the clients read it from the writer's spool, each at its own pace. The head of spool.ts says what
 * happens to slow clients, and to a body that no client reads.
 *
 * A body *overflows* if it grows past what may be stored (its length was not declared), or if the
 * store cannot take it (a full disk). From that byte on it passes through the spool's window. No
 * client can join any more and nothing is stored, but all current readers get every byte.
 *
 * `discard` is for a body that must not be found later (its key was invalidated while it arrived).
 * The current readers get all of it.
 */

import type { NotStored, StoreFate } from '../../policy/not-stored.ts';
import type { StoredResponse } from '../../policy/stored-response.ts';
import type { BodyReader, BodyWriter } from '../../store/response-store.ts';
import type { SpoolRules } from '../../store/spool.ts';
import { WrongDigestError } from '../digests/body-check.ts';

export class FlightBody {
  readonly #writer: BodyWriter;
  readonly #limit: number;
  #overflowed = false;
  #discarded = false;
  #ended = false;
  #fate: StoreFate = 'storing';

  /**
   * `abandoned` is called if the body has no readers and is not stored either. `pace`: how long
   * some readers may delay others, and by which timers.
   */
  constructor(
    writer: BodyWriter,
    limitBytes: number,
    abandoned: () => void,
    pace: Omit<SpoolRules, 'abandoned'> = {},
  ) {
    this.#writer = writer;
    this.#limit = limitBytes;
    writer.spool.attend({
      ...pace,
      abandoned: (reason) => {
        // A complete body may still wait for its turn to be committed.
        if (this.#ended) return;
        writer.abort(reason);
        abandoned();
      },
    });
  }

  get length(): number {
    return this.#writer.length;
  }

  /** Whether another reader may read it from its beginning. */
  get open(): boolean {
    return !this.#overflowed && !(this.#ended && this.#discarded) && this.#writer.spool.joinable;
  }

  /** Whether the body is stored, as far as that is known now. */
  get fate(): StoreFate {
    return this.#fate === 'storing' && this.#writer.spool.passing ? 'no-room' : this.#fate;
  }

  /**
   * Whether another reader may read the bytes from `start` on. Of a body that passes through, the
   * last bytes can still be read when its first ones are gone.
   */
  isOpenFrom(start: number): boolean {
    return !(this.#ended && this.#discarded) && this.#writer.spool.isReadableFrom(start);
  }

  get readers(): number {
    return this.#writer.spool.readers;
  }

  /** Writes bytes. If a promise is returned, await it before the next call; it never rejects. */
  write(chunk: Uint8Array): Promise<void> | undefined {
    const { spool } = this.#writer;
    if (!this.#overflowed && this.length + chunk.length > this.#limit) {
      this.#overflowed = true;
      this.#fate = 'too-large';
      spool.letThrough();
    }
    if (!spool.open) return undefined;
    const { length } = spool;
    try {
      return this.#writer.write(chunk)?.catch(() => this.#refused(chunk, length));
    } catch {
      return this.#refused(chunk, length);
    }
  }

  /** Everything has arrived. Returns whether the body is stored. */
  end(response: StoredResponse): Promise<boolean> | boolean {
    this.#ended = true;
    if (!this.#overflowed && !this.#discarded) return this.#commit(response);
    const ended = this.#writer.endUnkept();
    return ended instanceof Promise ? ended.then(() => false) : false;
  }

  #commit(response: StoredResponse): Promise<boolean> | boolean {
    const passed = this.fate;
    const settle = (kept: boolean): boolean => {
      this.#fate = kept ? 'stored' : passed === 'storing' ? 'not-admitted' : passed;
      return kept;
    };
    const kept = this.#writer.commit(response);
    if (typeof kept === 'boolean') return settle(kept);
    return kept.then(settle, (error: unknown) => {
      this.#fate = 'no-room';
      throw error;
    });
  }

  /** No more bytes will arrive, and the body is incomplete. */
  fail(error: Error): void {
    if (this.#ended) return;
    this.#fate = error instanceof WrongDigestError ? 'wrong-digest' : 'incomplete';
    this.#writer.abort(error);
  }

  /** The body must not be found later. */
  discard(why: NotStored): void {
    this.#discarded = true;
    this.#fate = why;
  }

  read(start?: number, end?: number): BodyReader {
    return this.#writer.read(start, end);
  }

  /**
   * The store cannot take a chunk that begins at byte `at`. It may have failed before or after the
   * chunk was in the spool.
   */
  #refused(chunk: Uint8Array, at: number): Promise<void> | undefined {
    const { spool } = this.#writer;
    this.#overflowed = true;
    this.#fate = 'no-room';
    spool.letThrough();
    if (!spool.open) return undefined;
    return spool.length === at ? spool.push(chunk) : spool.room();
  }
}

/** Writes everything that a reader returns. */
export async function copyInto(body: FlightBody, reader: BodyReader): Promise<void> {
  for (let chunk = await reader.next(); chunk !== null; chunk = await reader.next()) await body.write(chunk);
}
