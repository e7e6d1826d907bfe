/**
 * Memory in front of a disk, as one store.
 *
 * Where a body goes. What memory takes (`maxBodyBytes`) goes to memory; what is longer goes to the disk, also when its length was not known
 * and it turns out on the way (tiered-writer.ts). Memory takes all comers and lets its eviction policy sort them. The disk takes a
 * key on second sight only (admission.ts): when it is fetched again within the window, or when a response in memory is used for the first time. A long
 * body is spooled there for those who follow it. Not admitted, it evicts nothing while it comes (room.ts keeps some room for that; without, it is let
 * through), and is gone when its readers are, unless the disk has room to spare: it is written already, and pushes nobody out.
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
 * Which keys the disk has, it says at once from its own index (`LowerStore.has`); no key is read to open the store. What listeners are told of both tiers together is
 * decided by that, so it must change in the moment in which the disk tells: a copy here was kept for that once, and took 4 to 13 s to fill with a million keys.
 *
 * `statistics` sums both tiers: a response in both counts twice, as it takes room twice.
 */

import type { StoredResponse } from '../../policy/stored-response.ts';
import { tellListeners } from '../key-listeners.ts';
import { GoneReader } from '../memory/memory-body.ts';
import type { MemoryStore } from '../memory/memory-store.ts';
import {
  BodyError,
  type BodyReader,
  type BodyWriter,
  type LowerStore,
  type ResponseStore,
  type StoreStatistics,
} from '../response-store.ts';
import { newestFirst, sameResponse, sameVariant } from '../variants.ts';
import type { Admission } from './admission.ts';
import { DiskTier } from './disk-tier.ts';
import { KeyQueue } from './key-queue.ts';
import { PromotingReader } from './promoting-reader.ts';
import { endUnkept, TieredWriter } from './tiered-writer.ts';

export interface TieredStoreOptions {
  /** Usually an `Admission`. */
  readonly admission: Pick<Admission, 'admit' | 'statistics'>;
  /** Called once, when the disk fails and all goes on in memory. */
  readonly onDiskFailure?: (error: Error) => void;
  /** Called each time that something could not be kept because the disk was full, or descriptors were. */
  readonly onDiskFull?: (error: Error) => void;
  /** Bytes of bodies in memory that wait for the disk, to be written or to be taken from there. More are tried again at their next use. Default 16 MiB. */
  readonly maxCopyBytes?: number;
  /** Up to this part of its capacity the disk keeps long bodies at first sight. Default 0.8. */
  readonly spareBelow?: number;
}

/** After so long a response that the disk could not take is worth another try. */
const RETRY_MS = 10_000;

export class TieredStore implements ResponseStore {
  readonly #memory: MemoryStore;
  readonly #disk: LowerStore;
  /** The same one, and whether it works. */
  readonly #tier: DiskTier;
  readonly #admission: TieredStoreOptions['admission'];
  readonly #onDiskFailure: ((error: Error) => void) | undefined;
  readonly #queue = new KeyQueue();
  readonly #mixed = new Set<string>();
  /** How often something was put there: a list that was asked for before is out of date. */
  #changes = 0;
  readonly #listeners = new Set<(key: string, change: 'added' | 'removed') => void>();
  readonly #stopWatching: (() => void)[];

  private constructor(memory: MemoryStore, disk: LowerStore, options: TieredStoreOptions) {
    this.#memory = memory;
    this.#disk = disk;
    this.#tier = new DiskTier({
      store: disk,
      maxWaitingBytes: options.maxCopyBytes ?? 16 * 2 ** 20,
      spareBelow: options.spareBelow ?? 0.8,
      broken: (error) => this.#diskBroken(error),
      full: (error) => options.onDiskFull?.(error),
    });
    this.#admission = options.admission;
    this.#onDiskFailure = options.onDiskFailure;
    memory.observe({
      firstUse: (response, body) => this.#copyLater(response, body),
      evicted: ({ key }) => {
        if (memory.has(key) && this.#onDisk(key)) this.#mix(key);
      },
    });
    this.#stopWatching = [
      memory.watch((key, change) => this.#memoryChanged(key, change)),
      disk.watch((key, change) => this.#diskChanged(key, change)),
    ];
  }

  /** Puts them together. Both are closed with it. */
  static async open(
    memory: MemoryStore,
    disk: LowerStore,
    options: TieredStoreOptions,
  ): Promise<TieredStore> {
    return new TieredStore(memory, disk, options);
  }

  /** Why there is only memory; undefined: the disk works. */
  get diskFailure(): Error | undefined {
    return this.#tier.failure;
  }

  find(key: string): readonly StoredResponse[] | Promise<readonly StoredResponse[]> {
    const hot = this.#memory.find(key);
    if (hot.length > 0 && !this.#mixed.has(key)) return hot;
    if (!this.#onDisk(key)) return hot;
    const asked = this.#changes;
    const cold = this.#disk.find(key);
    if (!(cold instanceof Promise)) return this.#merge(key, cold, asked);
    return cold.then(
      (list) => this.#merge(key, list, asked),
      (error: Error) => {
        this.#tier.failed(error);
        return this.#memory.peek(key);
      },
    );
  }

  bodyInMemory(response: StoredResponse): Uint8Array | undefined {
    const body = this.#memory.bodyInMemory(response);
    if (body !== undefined || this.#tier.failure !== undefined) return body;
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
        spool: (length) => {
          if (this.#tier.failure !== undefined) return undefined;
          return this.#disk.create(key, length, { mayEvict: admitted || this.#disk.has(key) });
        },
        keepInMemory: (response, body) => this.#keepInMemory(response, body, admitted),
        keepOnDisk: (response, spooled) => this.#keepOnDisk(response, spooled, admitted),
        diskFailed: (error) => this.#tier.writeFailed(error),
      },
      expectedLength,
    );
  }

  refresh(old: StoredResponse, fresh: StoredResponse): Promise<boolean> | boolean {
    const { key } = old;
    const inMemory = this.#memory.refresh(old, fresh);
    if (!this.#disk.has(key) && this.#queue.waiting(key) === 0) return inMemory;
    return this.#queue.run(key, async () => {
      const onDisk = await this.#tier.do(false, () => this.#disk.refresh(old, fresh));
      // Nothing older than what is in memory may stay there; its next use is a reason to write it.
      if (!onDisk) await this.#tier.dropVariant(old);
      if (inMemory && !onDisk) this.#memory.rearm(key);
      return inMemory || onDisk;
    });
  }

  remove(response: StoredResponse): Promise<number> | number {
    const inMemory = this.#memory.remove(response);
    if (!this.#disk.has(response.key) && this.#queue.waiting(response.key) === 0) return inMemory;
    return this.#queue.run(response.key, async () => Math.max(inMemory, await this.#disk.remove(response)));
  }

  removeKey(key: string): Promise<number> | number {
    const hot = this.#memory.peek(key);
    this.#memory.removeKey(key);
    if (!this.#disk.has(key) && this.#queue.waiting(key) === 0) return hot.length;
    return this.#queue.run(key, async () => {
      const cold = this.#tier.failure === undefined ? await this.#disk.find(key) : [];
      const removed = await this.#disk.removeKey(key);
      const onlyThere = cold.filter((one) => !hot.some((other) => sameVariant(one, other)));
      // What the disk could not read it does not find, and removes all the same.
      return hot.length + onlyThere.length + Math.max(0, removed - cold.length);
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
    if (this.#tier.failure !== undefined) return;
    for await (const key of this.#disk.keys()) if (!given.has(key)) yield key;
    // What came into memory meanwhile, and went from the disk before its turn came there, or gets there after it.
    for (const key of [...this.#memory.keys()]) if (!given.has(key)) yield key;
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
    return this.#tier.failure === undefined && this.#disk.has(key);
  }

  #mix(key: string): void {
    this.#mixed.add(key);
    this.#changes++;
  }

  /** What memory has, and what only the disk has. `asked`: when the disk was. */
  #merge(key: string, cold: readonly StoredResponse[], asked: number): readonly StoredResponse[] {
    const hot = this.#memory.peek(key);
    if (hot.length === 0) return cold;
    const rest = cold.filter((one) => !hot.some((other) => sameVariant(one, other)));
    if (rest.length > 0) return newestFirst([...hot, ...rest]).slice(0, this.#memory.variantsPerKey);
    if (asked === this.#changes) this.#mixed.delete(key);
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
    const older = this.#disk.has(key) || this.#queue.waiting(key) > 0;
    if (body !== undefined && (seen || older) && this.#tier.mayWait(body.length)) {
      this.#memory.disarm(response);
      return this.#tier.waiting(body.length, () =>
        this.#queue.run(key, async () => {
          const written = await this.#write(response, body);
          if (!written) await this.#tier.dropVariant(response);
          return kept || written;
        }),
      );
    }
    // It stays in memory, and its first use is a reason to write it. What is on the disk is outdated now, or will be when it gets there.
    if (!older) return kept;
    return this.#queue.run(key, async () => {
      await this.#tier.dropVariant(response);
      return kept;
    });
  }

  #keepOnDisk(response: StoredResponse, spooled: BodyWriter, seen: boolean): Promise<boolean> {
    const { key } = response;
    // What is in memory for this variant now is outdated; what comes there while this one waits is not.
    const outdated = this.#memory.peekVariant(response)?.body;
    return this.#queue.run(key, async () => {
      const kept = await this.#tier.do(false, async () => {
        if (seen || this.#disk.has(key)) return spooled.commit(response);
        if (this.#tier.hasRoomToSpare(response.bodyLength)) return this.#tier.commitSpare(response, spooled);
        await endUnkept(spooled, response, this.#disk);
        return false;
      });
      if (!kept) await this.#tier.dropVariant(response);
      const inMemory = this.#memory.peekVariant(response);
      if (inMemory !== undefined && inMemory.body === outdated) this.#memory.remove(inMemory.response);
      if (kept && this.#memory.has(key)) this.#mix(key);
      return kept;
    });
  }

  /** A response in memory was used: second sight. */
  #copyLater(response: StoredResponse, body: Uint8Array): void {
    if (this.#tier.failure !== undefined) return;
    const { key } = response;
    // What waits already may bring a newer one, and must not be followed by this one. Its next use is another reason.
    if (!this.#tier.mayWait(body.length) || this.#queue.waiting(key) > 0) {
      this.#memory.rearm(key);
      return;
    }
    // Also if it is evicted before its turn comes: it was used. What removes or replaces it meanwhile waits behind this.
    void this.#tier
      .waiting(body.length, () => this.#queue.run(key, () => this.#write(response, body)))
      .then((written) => {
        // A full disk: again, but not at each of the next thousand uses.
        if (!written) setTimeout(() => this.#memory.rearm(key), RETRY_MS).unref();
      })
      .catch((error: Error) => this.#tier.failed(error));
  }

  async #write(response: StoredResponse, body: Uint8Array): Promise<boolean> {
    return this.#tier.do(false, async () => {
      const writer = this.#disk.create(response.key, body.length);
      try {
        if (body.length > 0) await writer.write(body);
        const kept = await writer.commit(response);
        // Evicted from memory meanwhile.
        if (kept && !this.#memory.holds(response)) this.#mix(response.key);
        return kept;
      } catch (error) {
        writer.abort(error as Error);
        throw error;
      }
    });
  }

  #promote(response: StoredResponse, body: Uint8Array): void {
    const { key } = response;
    if (body.length > this.#memory.maxBodyBytes || !this.#tier.mayWait(body.length)) return;
    const promote = async (): Promise<void> => {
      const cold = await this.#tier.do([], () => this.#disk.find(key));
      const stored = cold.find((one) => sameResponse(one, response));
      // Something is about to change it, or has brought a newer one.
      if (stored === undefined || this.#queue.waiting(key) > 1) return;
      if (this.#memory.peek(key).some((one) => sameVariant(one, stored))) return;
      if (!this.#memory.put(stored, body)) return;
      this.#memory.disarm(stored);
      this.#merge(key, cold, this.#changes);
    };
    this.#tier
      .waiting(body.length, () => this.#queue.run(key, promote))
      .catch((error: Error) => this.#tier.failed(error));
  }

  #dropEverywhere(response: StoredResponse): void {
    this.#memory.remove(response);
    void this.#queue
      .run(response.key, async () => this.#disk.remove(response))
      .catch((error: Error) => this.#tier.failed(error));
  }

  #diskBroken(error: Error): void {
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
    else if (change === 'added') this.#mix(key);
  }

  #diskChanged(key: string, change: 'added' | 'removed'): void {
    if (this.#tier.failure !== undefined) return;
    if (change === 'removed') {
      this.#mixed.delete(key);
      // Evicted there: its next use here is a reason to write it again.
      this.#memory.rearm(key);
    }
    if (!this.#memory.has(key)) this.#tell(key, change);
    else if (change === 'added') this.#mix(key);
  }

  #tell(key: string, change: 'added' | 'removed'): void {
    tellListeners(this.#listeners, key, change);
  }
}
