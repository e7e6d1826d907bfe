/**
 * Memory in front of a disk, as one store.
 *
 * Where a body goes. What memory takes (`maxBodyBytes`) goes to memory; what is longer goes to the disk, also when its length was not known
 * and it turns out on the way (tiered-writer.ts). Memory takes all comers and lets its eviction policy sort them. The disk takes a
 * key on second sight only (admission.ts): when it is fetched again within the window, or when a response in memory is used for the first time. A long
 * body is spooled there for those who follow it; not admitted, it is gone when they are, unless the disk has room to spare: it is written already, and pushes
 * nobody out.
 *
 * Why writing at second sight, and not at eviction from memory. What is evicted unused is what the disk should not have; what was used is there
 * already, so eviction costs nothing and need not wait. After a crash all that was worth keeping is on the disk, not
 * only what happened to be pushed out. The price: what is hot in memory is written once though it might never have been evicted.
 *
 * What is the same in both. A key that is on disk is always written through, so what is there is never older than what is in memory; an
 * outdated copy cannot come back when the newer one is evicted. Changes of the disk run one after the other for each key (key-queue.ts); memory
 * changes at once, and a commit or a refresh resolves when the disk has it. A body read whole from disk is put into memory, if it is still stored then.
 *
 * `find` answers at once when memory has all variants of the key that there are. `#mixed` names the keys in both tiers of which the disk may have
 * variants that memory has not; for those the disk is asked as well, and the lists are merged.
 *
 * A full disk (ENOSPC: others fill it, too) keeps nothing new until there is room. When the disk fails, all goes on in memory: nothing more is read from the disk or written to it, `onDiskFailure` is called once, and keys only
 * there are reported as removed. Removals are still tried, because what was invalidated must not come back at the next start; where they
 * fail, `remove` rejects. A body that is on its way to the disk at that moment is lost: its readers get the error.
 *
 * Which keys the disk has is kept in memory, some 16 bytes a key (known-keys.ts); to open the store, the disk must list them once.
 *
 * `statistics` sums both tiers: a response in both counts twice, as it takes room twice.
 */

import type { StoredResponse } from '../stored-response.ts';
import type { Admission } from './admission.ts';
import { KeyQueue } from './key-queue.ts';
import { KnownKeys } from './known-keys.ts';
import { GoneReader } from './memory-body.ts';
import type { MemoryStore } from './memory-store.ts';
import { PromotingReader } from './promoting-reader.ts';
import {
  BodyError,
  type BodyReader,
  type BodyWriter,
  type ResponseStore,
  type StoreStatistics,
} from './response-store.ts';
import { endUnkept, TieredWriter } from './tiered-writer.ts';
import { newestFirst, sameResponse, sameVariant } from './variants.ts';

export interface TieredStoreOptions {
  /** Usually an `Admission`. */
  readonly admission: Pick<Admission, 'admit' | 'statistics'>;
  /** Called once, when the disk fails and all goes on in memory. */
  readonly onDiskFailure?: (error: Error) => void;
  /** Called each time that something could not be kept because the disk was full, or descriptors were. */
  readonly onDiskFull?: (error: Error) => void;
  /** Bytes of bodies that wait to be copied to the disk because they were used. More are tried again at their next use. Default 16 MiB. */
  readonly maxCopyBytes?: number;
  /** Up to this part of its capacity the disk keeps long bodies at first sight. Default 0.8. */
  readonly spareBelow?: number;
}

export class TieredStore implements ResponseStore {
  readonly #memory: MemoryStore;
  readonly #disk: ResponseStore;
  readonly #diskKeys: KnownKeys;
  readonly #admission: TieredStoreOptions['admission'];
  readonly #onDiskFailure: ((error: Error) => void) | undefined;
  readonly #onDiskFull: ((error: Error) => void) | undefined;
  readonly #maxCopyBytes: number;
  readonly #spareBelow: number;
  readonly #queue = new KeyQueue();
  readonly #mixed = new Set<string>();
  readonly #listeners = new Set<(key: string, change: 'added' | 'removed') => void>();
  readonly #stopWatching: (() => void)[];
  #copyBytes = 0;
  #failure: Error | undefined;

  private constructor(
    memory: MemoryStore,
    disk: ResponseStore,
    diskKeys: KnownKeys,
    options: TieredStoreOptions,
  ) {
    this.#memory = memory;
    this.#disk = disk;
    this.#diskKeys = diskKeys;
    this.#admission = options.admission;
    this.#onDiskFailure = options.onDiskFailure;
    this.#onDiskFull = options.onDiskFull;
    this.#maxCopyBytes = options.maxCopyBytes ?? 16 * 2 ** 20;
    this.#spareBelow = options.spareBelow ?? 0.8;
    memory.observe({
      firstUse: (response, body) => this.#copyLater(response, body),
      evicted: ({ key }) => {
        if (memory.has(key) && this.#onDisk(key)) this.#mixed.add(key);
      },
    });
    this.#stopWatching = [
      memory.watch((key, change) => this.#memoryChanged(key, change)),
      disk.watch((key, change) => this.#diskChanged(key, change)),
    ];
  }

  /** Puts them together, once it is known which keys the disk has. Both are closed with it. */
  static async open(
    memory: MemoryStore,
    disk: ResponseStore,
    options: TieredStoreOptions,
  ): Promise<TieredStore> {
    const keys = new KnownKeys();
    for await (const key of disk.keys()) keys.add(key);
    return new TieredStore(memory, disk, keys, options);
  }

  /** Why there is only memory; undefined: the disk works. */
  get diskFailure(): Error | undefined {
    return this.#failure;
  }

  find(key: string): readonly StoredResponse[] | Promise<readonly StoredResponse[]> {
    const hot = this.#memory.find(key);
    if (hot.length > 0 && !this.#mixed.has(key)) return hot;
    if (!this.#onDisk(key)) return hot;
    const cold = this.#disk.find(key);
    if (!(cold instanceof Promise)) return this.#merge(key, cold);
    return cold.then(
      (list) => this.#merge(key, list),
      (error: Error) => {
        this.#diskFailed(error);
        return this.#memory.peek(key);
      },
    );
  }

  bodyInMemory(response: StoredResponse): Uint8Array | undefined {
    const body = this.#memory.bodyInMemory(response);
    if (body !== undefined || this.#failure !== undefined) return body;
    const cached = this.#disk.bodyInMemory(response);
    if (cached !== undefined) this.#promote(response, cached);
    return cached;
  }

  read(response: StoredResponse, start = 0, end = Number.POSITIVE_INFINITY): BodyReader {
    if (this.#memory.holds(response)) return this.#memory.read(response, start, end);
    if (!this.#onDisk(response.key)) return new GoneReader(response.key);
    const { bodyLength } = response;
    return new PromotingReader(this.#disk.read(response, start, end), {
      // Only a body that is read from its first byte to its last can be put into memory.
      collect:
        start === 0 && end >= bodyLength && bodyLength <= this.#memory.maxBodyBytes ? bodyLength : undefined,
      whole: (body) => this.#promote(response, body),
      failed: (error) => {
        if (error instanceof BodyError && error.code === 'corrupt') this.#dropEverywhere(response);
      },
    });
  }

  create(key: string, expectedLength: number | undefined): BodyWriter {
    const admitted = this.#admission.admit(key);
    return new TieredWriter(
      {
        memory: this.#memory,
        spool: (length) => (this.#failure === undefined ? this.#disk.create(key, length) : undefined),
        keepInMemory: (response, body) => this.#keepInMemory(response, body, admitted),
        keepOnDisk: (response, spooled) => this.#keepOnDisk(response, spooled, admitted),
        diskFailed: (error) => this.#writeFailed(error),
      },
      expectedLength,
    );
  }

  refresh(old: StoredResponse, fresh: StoredResponse): Promise<boolean> | boolean {
    const { key } = old;
    const inMemory = this.#memory.refresh(old, fresh);
    if (!this.#onDisk(key) && this.#queue.waiting(key) === 0) return inMemory;
    return this.#queue.run(key, async () => {
      const onDisk = await this.#onDiskOr(false, () => this.#disk.refresh(old, fresh));
      // Nothing older than what is in memory may stay there; its next use is a reason to write it.
      if (!onDisk) await this.#dropVariantOnDisk(old);
      if (inMemory && !onDisk) this.#memory.rearm(key);
      return inMemory || onDisk;
    });
  }

  remove(response: StoredResponse): Promise<number> | number {
    const inMemory = this.#memory.remove(response);
    if (!this.#diskKeys.has(response.key) && this.#queue.waiting(response.key) === 0) return inMemory;
    return this.#queue.run(response.key, async () => Math.max(inMemory, await this.#disk.remove(response)));
  }

  removeKey(key: string): Promise<number> | number {
    const hot = this.#memory.peek(key);
    this.#memory.removeKey(key);
    if (!this.#diskKeys.has(key) && this.#queue.waiting(key) === 0) return hot.length;
    return this.#queue.run(key, async () => {
      const cold = this.#failure === undefined ? await this.#disk.find(key) : [];
      await this.#disk.removeKey(key);
      return hot.length + cold.filter((one) => !hot.some((other) => sameVariant(one, other))).length;
    });
  }

  watch(listener: (key: string, change: 'added' | 'removed') => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async *keys(): AsyncGenerator<string> {
    const given = new Set<string>();
    for (const key of [...this.#memory.keys()]) {
      given.add(key);
      yield key;
    }
    if (this.#failure !== undefined) return;
    for await (const key of this.#disk.keys()) if (!given.has(key)) yield key;
  }

  get statistics(): StoreStatistics {
    const memory = this.#memory.statistics;
    const disk = this.#disk.statistics;
    return {
      responses: memory.responses + disk.responses,
      bytes: memory.bytes + disk.bytes,
      capacityBytes: memory.capacityBytes + disk.capacityBytes,
      evictions: memory.evictions + disk.evictions,
      corrupt: disk.corrupt,
      refused: this.#admission.statistics.refused,
    };
  }

  /** Resolves when all that is to be written or removed has been. */
  settled(): Promise<void> {
    return this.#queue.idle();
  }

  async close(): Promise<void> {
    await this.#queue.idle();
    for (const stop of this.#stopWatching) stop();
    this.#listeners.clear();
    await Promise.all([this.#memory.close(), this.#disk.close()]);
  }

  #onDisk(key: string): boolean {
    return this.#failure === undefined && this.#diskKeys.has(key);
  }

  /** What memory has, and what only the disk has. */
  #merge(key: string, cold: readonly StoredResponse[]): readonly StoredResponse[] {
    const hot = this.#memory.peek(key);
    if (hot.length === 0) return cold;
    const rest = cold.filter((one) => !hot.some((other) => sameVariant(one, other)));
    if (rest.length > 0) return newestFirst([...hot, ...rest]).slice(0, this.#memory.variantsPerKey);
    this.#mixed.delete(key);
    return hot;
  }

  #keepInMemory(
    response: StoredResponse,
    body: Uint8Array | undefined,
    seen: boolean,
  ): Promise<boolean> | boolean {
    const { key } = response;
    const kept = body !== undefined && this.#memory.put(response, body);
    if (!kept) this.#memory.removeVariant(response);
    const admitted = (seen && body !== undefined) || this.#diskKeys.has(key) || this.#queue.waiting(key) > 0;
    if (!admitted) return kept;
    this.#memory.disarm(response);
    return this.#queue.run(key, async () => {
      const written = body !== undefined && (await this.#write(response, body));
      if (!written) await this.#dropVariantOnDisk(response);
      return kept || written;
    });
  }

  #keepOnDisk(response: StoredResponse, spooled: BodyWriter, seen: boolean): Promise<boolean> {
    const { key } = response;
    // What is in memory for this variant now is outdated; what comes there while this one waits is not.
    const outdated = this.#memory.peekVariant(response)?.body;
    return this.#queue.run(key, async () => {
      const kept = await this.#onDiskOr(false, async () => {
        if (seen || this.#diskKeys.has(key) || this.#hasRoomToSpare(response.bodyLength)) {
          return spooled.commit(response);
        }
        await endUnkept(spooled, response, this.#disk);
        return false;
      });
      if (!kept) await this.#dropVariantOnDisk(response);
      const inMemory = this.#memory.peekVariant(response);
      if (inMemory !== undefined && inMemory.body === outdated) this.#memory.remove(inMemory.response);
      if (kept && this.#memory.has(key)) this.#mixed.add(key);
      return kept;
    });
  }

  #hasRoomToSpare(bodyLength: number): boolean {
    const { bytes, capacityBytes } = this.#disk.statistics;
    return bytes + bodyLength <= this.#spareBelow * capacityBytes;
  }

  /** A response in memory was used: second sight. */
  #copyLater(response: StoredResponse, body: Uint8Array): void {
    if (this.#failure !== undefined) return;
    if (this.#copyBytes + body.length > this.#maxCopyBytes) {
      this.#memory.rearm(response.key);
      return;
    }
    this.#copyBytes += body.length;
    // Also if it is evicted before its turn comes: it was used. What removes or replaces it meanwhile waits behind this.
    void this.#queue
      .run(response.key, () => this.#write(response, body))
      .catch((error: Error) => this.#diskFailed(error))
      .finally(() => {
        this.#copyBytes -= body.length;
      });
  }

  async #write(response: StoredResponse, body: Uint8Array): Promise<boolean> {
    return this.#onDiskOr(false, async () => {
      const writer = this.#disk.create(response.key, body.length);
      try {
        if (body.length > 0) await writer.write(body);
        const kept = await writer.commit(response);
        // Evicted from memory meanwhile.
        if (kept && !this.#memory.holds(response)) this.#mixed.add(response.key);
        return kept;
      } catch (error) {
        writer.abort(error as Error);
        throw error;
      }
    });
  }

  /** Nothing older than what is known may stay there. */
  async #dropVariantOnDisk(response: StoredResponse): Promise<void> {
    if (!this.#diskKeys.has(response.key)) return;
    try {
      for (const one of await this.#disk.find(response.key)) {
        if (sameVariant(one, response)) await this.#disk.remove(one);
      }
    } catch (error) {
      this.#diskFailed(error as Error);
    }
  }

  #promote(response: StoredResponse, body: Uint8Array): void {
    const { key } = response;
    if (body.length > this.#memory.maxBodyBytes) return;
    const promoted = this.#queue.run(key, async () => {
      const cold = await this.#onDiskOr([], () => this.#disk.find(key));
      const stored = cold.find((one) => sameResponse(one, response));
      // Something is about to change it, or has brought a newer one.
      if (stored === undefined || this.#queue.waiting(key) > 1) return;
      if (this.#memory.peek(key).some((one) => sameVariant(one, stored))) return;
      if (!this.#memory.put(stored, body)) return;
      this.#memory.disarm(stored);
      this.#merge(key, cold);
    });
    promoted.catch((error: Error) => this.#diskFailed(error));
  }

  #dropEverywhere(response: StoredResponse): void {
    this.#memory.remove(response);
    void this.#queue
      .run(response.key, async () => this.#disk.remove(response))
      .catch((error: Error) => this.#diskFailed(error));
  }

  /** Does something on the disk; if the disk is out of order, or this puts it out of order, gives `otherwise`. */
  async #onDiskOr<T>(otherwise: T, task: () => Promise<T> | T): Promise<T> {
    if (this.#failure !== undefined) return otherwise;
    try {
      return await task();
    } catch (error) {
      // Wrong arguments are the caller's mistake, not the disk's.
      if (error instanceof RangeError || error instanceof TypeError) throw error;
      this.#writeFailed(error as Error);
      return otherwise;
    }
  }

  /** A full disk, or no free descriptor, is no broken disk: this body is not kept, and the next may be. What cannot be removed is another matter. */
  #writeFailed(error: Error): void {
    if (isPassing(error)) this.#onDiskFull?.(error);
    else this.#diskFailed(error);
  }

  #diskFailed(error: Error): void {
    if (this.#failure !== undefined) return;
    this.#failure = error;
    this.#mixed.clear();
    void this.#tellLostKeys();
    this.#onDiskFailure?.(error);
  }

  /** What is only on a disk that failed is not found any more. */
  async #tellLostKeys(): Promise<void> {
    try {
      for await (const key of this.#disk.keys()) if (!this.#memory.has(key)) this.#tell(key, 'removed');
    } catch {
      // A disk that does not even list its keys: listeners keep some too many, and a summary errs on that side anyway.
    }
  }

  #memoryChanged(key: string, change: 'added' | 'removed'): void {
    if (change === 'removed') this.#mixed.delete(key);
    if (!this.#onDisk(key)) this.#tell(key, change);
    else if (change === 'added') this.#mixed.add(key);
  }

  #diskChanged(key: string, change: 'added' | 'removed'): void {
    if (change === 'added') this.#diskKeys.add(key);
    else this.#diskKeys.delete(key);
    if (this.#failure !== undefined) return;
    if (change === 'removed') {
      this.#mixed.delete(key);
      // Evicted there: its next use here is a reason to write it again.
      this.#memory.rearm(key);
    }
    if (!this.#memory.has(key)) this.#tell(key, change);
    else if (change === 'added') this.#mixed.add(key);
  }

  #tell(key: string, change: 'added' | 'removed'): void {
    for (const listener of this.#listeners) listener(key, change);
  }
}

/** What may be over a moment later. */
const PASSING = new Set(['ENOSPC', 'EDQUOT', 'EMFILE', 'ENFILE', 'EAGAIN', 'ENOMEM']);

function isPassing(error: unknown): boolean {
  for (let at = error as NodeJS.ErrnoException | undefined; at !== undefined; at = at.cause as typeof at) {
    if (at.code !== undefined && PASSING.has(at.code)) return true;
  }
  return false;
}
