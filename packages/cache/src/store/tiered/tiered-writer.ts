/**
 * Writes an arriving body into one of two tiers. The body begins in memory, unless it is known to
 * be too long for it. When it turns out to be too long (or when too many bodies arrive at once), it
 * moves: the bytes so far are written to the disk, and the rest follows. Readers do not notice: a
 * reader in memory reads up to the position at which the body moved and continues on the disk. Its
 * reader on the disk is opened when the body moves, even if it is far behind, because a disk
 * without room lets the rest pass through, and holds only the bytes that an open reader has yet to
 * read.
 *
 * Without a disk (it failed), a long body passes through memory (memory-body.ts).
 */

import type { StoredResponse } from '../../policy/stored-response.ts';
import type { MemoryStore } from '../memory/memory-store.ts';
import type { MemoryWriter } from '../memory/memory-writer.ts';
import { BodyError, type BodyReader, type BodyWriter, type ResponseStore } from '../response-store.ts';

/** The parts of the store that a writer needs. */
export interface TieredHome {
  readonly memory: MemoryStore;
  /** A writer on the disk, or undefined if there is no working disk. */
  spool(expectedLength: number | undefined): BodyWriter | undefined;
  /** `body` is undefined if it passed through, so that it cannot be kept. */
  keepInMemory(response: StoredResponse, body: Uint8Array | undefined): Promise<boolean> | boolean;
  keepOnDisk(response: StoredResponse, spooled: BodyWriter): Promise<boolean>;
  diskFailed(error: Error): void;
}

export class TieredWriter implements BodyWriter {
  readonly #home: TieredHome;
  readonly #memory: MemoryWriter | undefined;
  readonly #inMemory = new Set<MovingReader>();
  #disk: BodyWriter | undefined;
  #ended = false;

  constructor(home: TieredHome, expectedLength: number | undefined) {
    this.#home = home;
    if (expectedLength !== undefined && expectedLength > home.memory.maxBodyBytes) {
      this.#disk = home.spool(expectedLength);
    }
    if (this.#disk === undefined) this.#memory = home.memory.create('', expectedLength);
  }

  get length(): number {
    return (this.#disk ?? this.#memory!).length;
  }

  write(chunk: Uint8Array): Promise<void> | undefined {
    if (this.#disk !== undefined) return this.#watched(this.#disk.write(chunk));
    if (this.#ended || this.#memory!.fits(chunk.length)) return this.#memory!.write(chunk);
    const disk = this.#home.spool(undefined);
    if (disk === undefined) return this.#memory!.write(chunk);
    return this.#watched(this.#move(disk, chunk));
  }

  read(start = 0, end = Number.POSITIVE_INFINITY): BodyReader {
    if (this.#disk !== undefined) return this.#disk.read(start, end);
    const reader = new MovingReader(this.#memory!.read(start, end), start, end, () =>
      this.#inMemory.delete(reader),
    );
    this.#inMemory.add(reader);
    return reader;
  }

  commit(response: StoredResponse): Promise<boolean> | boolean {
    if (this.#ended) return false;
    if (response.bodyLength !== this.length) {
      const error = new RangeError(
        `Expected a response with a body of ${this.length} bytes, got one of ${response.bodyLength}`,
      );
      this.abort(error);
      throw error;
    }
    this.#ended = true;
    if (this.#disk !== undefined) return this.#home.keepOnDisk(response, this.#disk);
    return this.#home.keepInMemory(response, this.#memory!.finish());
  }

  abort(reason: Error): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#memory?.abort(reason);
    this.#disk?.abort(reason);
  }

  async #move(disk: BodyWriter, chunk: Uint8Array): Promise<void> {
    // Before memory reports the end to its readers.
    this.#disk = disk;
    for (const reader of [...this.#inMemory]) reader.goOnIn(disk, this.#memory!.length);
    const sofar = this.#memory!.finish();
    if (sofar !== undefined && sofar.length > 0) await disk.write(sofar);
    await disk.write(chunk);
  }

  #watched(writing: Promise<void> | undefined): Promise<void> | undefined {
    return writing?.catch((error: Error) => {
      if (error instanceof BodyError && error.code === 'write-failed') this.#home.diskFailed(error);
      throw error;
    });
  }
}

/** Ends a spooled body without keeping it. A disk that cannot do that keeps it for a moment. */
export async function endUnkept(
  spooled: BodyWriter,
  response: StoredResponse,
  disk: ResponseStore,
): Promise<void> {
  if (spooled.endUnkept !== undefined) await spooled.endUnkept();
  else if (await spooled.commit(response)) await disk.remove(response);
}

/**
 * Reads in memory, and continues on the disk if the body has moved by the time it reaches the end.
 */
class MovingReader implements BodyReader {
  #reader: BodyReader;
  readonly #start: number;
  readonly #end: number;
  readonly #leave: () => void;
  #next: BodyReader | undefined;

  constructor(reader: BodyReader, start: number, end: number, leave: () => void) {
    this.#reader = reader;
    this.#start = start;
    this.#end = end;
    this.#leave = leave;
  }

  next(): Uint8Array | null | Promise<Uint8Array | null> {
    const next = this.#reader.next();
    return next instanceof Promise ? next.then((chunk) => this.#passed(chunk)) : this.#passed(next);
  }

  close(): void {
    this.#leave();
    this.#reader.close();
    this.#next?.close();
    this.#next = undefined;
  }

  /** The body continues on the disk from byte `at` on. */
  goOnIn(disk: BodyWriter, at: number): void {
    this.#leave();
    if (this.#end > at) this.#next = disk.read(Math.max(at, this.#start), this.#end);
  }

  #passed(chunk: Uint8Array | null): Uint8Array | null | Promise<Uint8Array | null> {
    if (chunk !== null) return chunk;
    this.#leave();
    const reader = this.#next;
    this.#next = undefined;
    if (reader === undefined) return null;
    this.#reader = reader;
    return reader.next();
  }
}
