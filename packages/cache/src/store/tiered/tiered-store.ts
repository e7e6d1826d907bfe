/**
 * Memory in front of a disk, as one store.
 *
 * Where a body goes. A body that memory accepts (`maxBodyBytes`) goes to memory. A longer one goes
 * to the disk, even if its length was not known and only turns out while it arrives
 * (tiered-writer.ts). Memory accepts all such bodies and leaves the choice to its eviction policy.
 * The disk accepts a key only when it is seen for the second time (admission.ts): when it is
 * fetched again within the window, or when a response in memory is used for the first time. A long
 * body is spooled to the disk for its readers. If it is not admitted, it evicts nothing while it
 * arrives (room.ts keeps some room for that; without room, it passes through). It is removed when
 * its readers have finished, unless the disk has room to spare: it is already written, and
 * displaces no other.
 *
 * Why we write on the second request, and not at eviction from memory. A response that is evicted
 * unused should not be on the disk. One that was used is already there, so eviction costs nothing
 * and need not wait. After a crash, all responses worth keeping are on the disk, not only those
 * that happened to be evicted. The price is that a hot response in memory is written once although
 * it might never have been evicted.
 *
 * Copies that came from neighbours (policy/peer-copy.ts) follow the same rules, but the disk has no
 * spare room for them: a long copy is not kept when it is first seen. The mark of a copy never
 * reaches the disk.
 *
 * Consistency. A key that is on disk is always written through, so the disk is never older than
 * memory, and an outdated copy cannot reappear when the newer one is evicted. Changes of the disk
 * are serialised per key (key-queue.ts). Memory changes at once, and a commit or a refresh resolves
 * when the disk has it. A body that is read completely from disk is put into memory, if it is still
 * stored then.
 *
 * `find` answers at once if memory has all existing variants of the key. `#mixed` names the keys in
 * both tiers for which the disk may have variants that memory has not. For those the disk is asked
 * as well, and the lists are merged.
 *
 * A full disk (ENOSPC: other programs fill it as well) evicts to make room for later responses
 * (../disk/volume-watch.ts), and does not keep the one that found no room. When the disk fails,
 * everything continues in memory: the disk is no longer read or written, `onDiskFailure` is called
 * once, and keys that are only there are reported as removed. Removals are still tried, because an
 * invalidated response must not reappear at the next start; where they fail, `remove` rejects. A
 * body that is being written to the disk at that moment is not kept; if a flight attends it, it
 * passes through, and its readers get all of it (spool.ts).
 *
 * The disk answers at once from its own index which keys it has (`LowerStore.has`); no key is read
 * to open the store. That answer decides what listeners are told about both tiers together, so it
 * must change at the moment at which the disk calls its listeners. We once kept a copy of the index
 * here, which took 4 to 13 s to fill with a million keys.
 *
 * `statistics` sums both tiers: a response in both counts twice, because it takes room twice.
 */

import { asOwn, isPeerCopy } from '../../policy/peer-copy.ts';
import type { StoredResponse } from '../../policy/stored-response.ts';
import { type AbortOptions, abortable } from '../abortable.ts';
import { type KeyListener, type StoreChange, tellListeners } from '../key-listeners.ts';
import { GoneReader } from '../memory/flat-reader.ts';
import type { MemoryStore } from '../memory/memory-store.ts';
import {
  BodyError,
  type BodyReader,
  type BodyWishes,
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
import { TieredWriter } from './tiered-writer.ts';

/** `signal` ends the opening, not a store that is open. */
export interface TieredStoreOptions extends AbortOptions {
  /** Usually an `Admission`. */
  readonly admission: Pick<Admission, 'admit' | 'statistics'>;
  /** Called once, when the disk fails and everything continues in memory. */
  readonly onDiskFailure?: (error: Error) => void;
  /**
   * Called each time a response could not be kept because the disk was full, or descriptors ran
   * out.
   */
  readonly onDiskFull?: (error: Error) => void;
  /**
   * Maximum bytes of bodies in memory that wait to be written to the disk or to be taken from it.
   * Others are tried again at their next use. Default 16 MiB.
   */
  readonly maxCopyBytes?: number;
  /**
   * The fraction of its capacity up to which the disk keeps long bodies that are seen for the first
   * time. Default 0.8.
   */
  readonly spareBelow?: number;
}

/** The pause after which a response that the disk could not take is tried again. */
const RETRY_MS = 10_000;

export class TieredStore implements ResponseStore {
  readonly #memory: MemoryStore;
  readonly #disk: LowerStore;
  /** The same disk, with its state. */
  readonly #tier: DiskTier;
  readonly #admission: TieredStoreOptions['admission'];
  readonly #onDiskFailure: ((error: Error) => void) | undefined;
  readonly #queue = new KeyQueue();
  readonly #mixed = new Set<string>();
  /**
   * Number of additions to `#mixed`: a list that was requested before the last one is out of date.
   */
  #changes = 0;
  readonly #listeners = new Set<KeyListener>();
  readonly #stopWatching: (() => void)[];
  /** A response of the disk is being put into memory. */
  #promoting = false;

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
      memory.watch((key, change, response) => this.#memoryChanged(key, change, response)),
      disk.watch((key, change, response) => this.#diskChanged(key, change, response)),
    ];
  }

  /** Combines the two stores. Closing it closes both. */
  static async open(
    memory: MemoryStore,
    disk: LowerStore,
    options: TieredStoreOptions,
  ): Promise<TieredStore> {
    options.signal?.throwIfAborted();
    return new TieredStore(memory, disk, options);
  }

  /** Reason why there is only memory, or undefined if the disk works. */
  get diskFailure(): Error | undefined {
    return this.#tier.failure;
  }

  find(key: string): readonly StoredResponse[] | Promise<readonly StoredResponse[]> {
    const hot = this.#memory.find(key);
    return this.#isAll(key, hot) ? hot : this.#withCold(key, this.#disk.find(key));
  }

  peek(key: string): readonly StoredResponse[] | Promise<readonly StoredResponse[]> {
    const hot = this.#memory.peek(key);
    return this.#isAll(key, hot) ? hot : this.#withCold(key, this.#disk.peek(key));
  }

  /** Whether the responses in memory are all that there are. */
  #isAll(key: string, hot: readonly StoredResponse[]): boolean {
    return (hot.length > 0 && !this.#mixed.has(key)) || !this.#onDisk(key);
  }

  /** The responses of both tiers, when those of the disk are on their way. */
  #withCold(
    key: string,
    cold: ReturnType<LowerStore['find']>,
  ): readonly StoredResponse[] | Promise<readonly StoredResponse[]> {
    const asked = this.#changes;
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

  create(key: string, expectedLength: number | undefined, { digest }: BodyWishes = {}): BodyWriter {
    const admitted = this.#admission.admit(key);
    return new TieredWriter(
      {
        memory: this.#memory,
        onDisk: (length, spool) => {
          if (this.#tier.failure !== undefined) return undefined;
          const mayEvict = admitted || this.#disk.has(key);
          const wishes = { mayEvict, ...(digest && { digest }) };
          return this.#disk.create(key, length, spool === undefined ? wishes : { ...wishes, spool });
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
      // Nothing older than memory may stay on the disk; the next use of the response writes it
      // again.
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
      // `find` on the disk does not return unreadable responses, but `removeKey` removes them.
      return hot.length + onlyThere.length + Math.max(0, removed - cold.length);
    });
  }

  watch(listener: KeyListener): () => void {
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
    // Keys that came into memory during the iteration. The disk may have removed them before the
    // iteration reached them, or stored them behind it.
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
      copies: memory.copies,
      copyBytes: memory.copyBytes,
    };
  }

  /** Resolves when all pending writes and removals are done. */
  settled({ signal }: AbortOptions = {}): Promise<void> {
    return abortable(this.#queue.idle(), signal);
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

  /**
   * The responses in memory, and those that only the disk has. `asked` is the value of `#changes`
   * when the disk was asked.
   */
  #merge(key: string, cold: readonly StoredResponse[], asked: number): readonly StoredResponse[] {
    const hot = this.#memory.peek(key);
    if (hot.length === 0) return cold;
    const rest = cold.filter((one) => !hot.some((other) => sameVariant(one, other)));
    if (rest.length > 0) return newestFirst([...hot, ...rest]).slice(0, this.#memory.variantsPerKey);
    if (asked === this.#changes) this.#mixed.delete(key);
    return hot;
  }

  /**
   * The response as it is kept. A copy that came from a neighbour is this node's own if it is seen
   * for the second time, or if this node has had an earlier version of it.
   */
  #adopted(response: StoredResponse, seen: boolean, older: boolean): StoredResponse {
    return older || (seen && this.#memory.keepsCopies) ? asOwn(response) : response;
  }

  #keepInMemory(
    arrived: StoredResponse,
    body: Uint8Array | undefined,
    seen: boolean,
  ): Promise<boolean> | boolean {
    const { key } = arrived;
    const older = this.#disk.has(key) || this.#queue.waiting(key) > 0;
    const response = this.#adopted(arrived, seen, older);
    const kept = body !== undefined && this.#memory.put(response, body);
    if (!kept) this.#memory.removeVariant(response);
    const mayWrite = (seen || older) && !isPeerCopy(response);
    if (body !== undefined && mayWrite && this.#tier.mayWait(body.length)) {
      this.#memory.disarm(response);
      return this.#tier.waiting(body.length, () =>
        this.#queue.run(key, async () => {
          const written = await this.#write(response, body);
          if (!written) await this.#tier.dropVariant(response);
          return kept || written;
        }),
      );
    }
    // The response stays in memory, and its first use writes it to disk. The copy on disk is
    // outdated now, or will be when a pending write gets there.
    if (!older) return kept;
    return this.#queue.run(key, async () => {
      await this.#tier.dropVariant(response);
      return kept;
    });
  }

  #keepOnDisk(arrived: StoredResponse, spooled: BodyWriter, seen: boolean): Promise<boolean> {
    const { key } = arrived;
    const response = this.#adopted(arrived, seen, this.#disk.has(key));
    const isCopy = isPeerCopy(response);
    // The response that memory has for this variant now is outdated; one that arrives while this
    // task waits is not.
    const outdated = this.#memory.peekVariant(response)?.body;
    return this.#queue.run(key, async () => {
      const kept = await this.#tier.do(false, async () => {
        if (!isCopy && (seen || this.#disk.has(key))) return spooled.commit(response);
        if (!isCopy && this.#tier.hasRoomToSpare(response.bodyLength))
          return this.#tier.commitSpare(response, spooled);
        await spooled.endUnkept();
        return false;
      });
      if (!kept) {
        // If the disk was out of use, nothing has told the readers that the body is complete.
        await spooled.endUnkept();
        await this.#tier.dropVariant(response);
      }
      const inMemory = this.#memory.peekVariant(response);
      if (inMemory !== undefined && inMemory.body === outdated) this.#memory.remove(inMemory.response);
      if (kept && this.#memory.has(key)) this.#mix(key);
      return kept;
    });
  }

  /** A response in memory was used, which counts as being seen for the second time. */
  #copyLater(response: StoredResponse, body: Uint8Array): void {
    if (this.#tier.failure !== undefined) return;
    const { key } = response;
    // A waiting task may bring a newer response, which this one must not follow. The next use tries
    // again.
    if (!this.#tier.mayWait(body.length) || this.#queue.waiting(key) > 0) {
      this.#memory.rearm(key);
      return;
    }
    // It is written even if it is evicted before its turn, because it was used. A removal or
    // replacement meanwhile waits behind this task.
    void this.#tier
      .waiting(body.length, () => this.#queue.run(key, () => this.#write(response, body)))
      .then((written) => {
        // The disk is full: try again, but not at each of the next thousand uses.
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
        // It was evicted from memory meanwhile.
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
      // Another task is about to change it, or has brought a newer one.
      if (stored === undefined || this.#queue.waiting(key) > 1) return;
      if (this.#memory.peek(key).some((one) => sameVariant(one, stored))) return;
      this.#promoting = true;
      try {
        if (!this.#memory.put(stored, body)) return;
      } finally {
        this.#promoting = false;
      }
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

  /** Reports keys that are only on a failed disk, because they are no longer found. */
  async #tellLostKeys(): Promise<void> {
    try {
      for await (const key of this.#disk.keys()) if (!this.#memory.has(key)) this.#tell(key, 'removed');
    } catch {
      // The disk cannot even list its keys. Listeners keep some keys that are no longer stored. A
      // summary may contain such keys anyway.
    }
  }

  #memoryChanged(key: string, change: StoreChange, response: StoredResponse | undefined): void {
    const mixed = this.#mixed.has(key);
    if (change === 'removed') this.#mixed.delete(key);
    if (!this.#onDisk(key)) {
      this.#tell(key, change, response);
      return;
    }
    if (change === 'added') this.#mix(key);
    // If the disk has the same responses, nothing has changed for listeners. If they were told,
    // they would read the disk only to find that out.
    if (change === 'removed' ? mixed : !this.#promoting) this.#tell(key, 'changed', response);
  }

  #diskChanged(key: string, change: StoreChange, response: StoredResponse | undefined): void {
    if (this.#tier.failure !== undefined) return;
    const mixed = this.#mixed.has(key);
    if (change === 'removed') {
      this.#mixed.delete(key);
      // Evicted from the disk: the next use in memory writes it again.
      this.#memory.rearm(key);
    }
    if (!this.#memory.has(key)) {
      this.#tell(key, change, response);
      return;
    }
    // If memory has the same, listeners know it already. Otherwise it is another variant.
    const isNews = response === undefined ? mixed : !this.#memory.holds(response);
    if (change === 'added' && isNews) this.#mix(key);
    if (isNews) this.#tell(key, 'changed', response);
  }

  #tell(key: string, change: StoreChange, response?: StoredResponse): void {
    tellListeners(this.#listeners, key, change, response);
  }
}
