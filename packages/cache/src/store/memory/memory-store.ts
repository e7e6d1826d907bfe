/**
 * Responses in memory, for hot and small objects. `find` and `bodyInMemory` answer at once: a map
 * look-up, and a walk over the few variants of the key. The work does not grow with the number of
 * entries, but the data outgrows the processor's caches: both together, at random keys, took 70 ns
 * with 1,000 entries, 120 with 10,000, 710 with 100,000 and 1,560 with a million
 * (`bench/cache/eviction.mjs`, a busy machine with 2 slow cores).
 *
 * Everything is bounded:
 * - `capacityBytes`: all stored responses, by their cost (response-cost.ts says what is counted),
 *   plus the ghost of the eviction policy (s3-fifo.ts). Room is made before a response is added, so
 *   it is never exceeded.
 * - `heapBytes`: the part of it in the JavaScript heap, which is everything except the bodies. The
 *   heap has a limit of its own, at which the process ends: a store of many gigabytes may hold
 *   large bodies, but not as many bytes of small ones.
 * - `maxBodyBytes`: a longer body passes through and is not kept.
 * - `pendingBytes`: all arriving bodies together. Bodies beyond this limit pass through as well.
 * - `peerCopiesShare`: copies that came from neighbours have a queue of their own (copy-queue.ts).
 *   A copy that is used moves to the main queue of the eviction policy and loses its mark.
 * - `variantsPerKey`: the oldest variant is evicted when there is one more. Otherwise an origin
 *   that varies by User-Agent would fill the store with one page.
 *
 * A use is counted once per request. If a key has one variant, `find` counts it (so that an answer
 * of 304, which reads no body, counts as well). If it has several, `bodyInMemory` or `read` counts
 * it, because only then is it known which one was chosen.
 *
 * A reader holds the bytes, not the entry: an evicted body stays readable for its current readers.
 * That memory is not counted; the proxy bounds it by the number of its clients and by the time for
 * which one may stall.
 *
 * Nothing is on disk, so `close` drops everything. A response that is refreshed keeps its body
 * without a copy.
 */

import { asOwn, isPeerCopy } from '../../policy/peer-copy.ts';
import type { StoredResponse } from '../../policy/stored-response.ts';
import { compact } from '../chunk-list.ts';
import { type KeyListener, type StoreChange, tellListeners } from '../key-listeners.ts';
import type { BodyReader, BodyWishes, LowerStore, StoreStatistics } from '../response-store.ts';
import { sameVariant } from '../variants.ts';
import { CopyQueue } from './copy-queue.ts';
import { FlatReader, GoneReader } from './flat-reader.ts';
import { type MemoryHolder, MemoryWriter } from './memory-writer.ts';
import { responseCost } from './response-cost.ts';
import { markUsed, S3Fifo } from './s3-fifo.ts';
import { Entry, entryIn, link, NOTHING, relist, type Slot, unlink } from './slot.ts';

export interface MemoryStoreOptions {
  readonly capacityBytes: number;
  /** Default: limited only by `capacityBytes`. */
  readonly heapBytes?: number;
  /** Default: 1 MiB, at most an eighth of the capacity. */
  readonly maxBodyBytes?: number;
  /** Default: a quarter of the capacity, and enough for two bodies. */
  readonly pendingBytes?: number;
  /** Default 16. */
  readonly variantsPerKey?: number;
  /**
   * Part of the capacity for copies that came from neighbours (`policy/peer-copy.ts`), 0 to 0.9;
   * 0 keeps none. Default 0.1.
   */
  readonly peerCopiesShare?: number;
}

/** Events for a store around this one. */
export interface MemoryObserver {
  /** A response is used for the first time after it was added or after `rearm`. */
  firstUse(response: StoredResponse, body: Uint8Array): void;
  /** A response was evicted, or displaced by too many variants. */
  evicted(response: StoredResponse): void;
}

export class MemoryStore implements LowerStore {
  readonly maxBodyBytes: number;
  readonly variantsPerKey: number;
  readonly #capacity: number;
  readonly #heapCapacity: number;
  readonly #slots = new Map<string, Slot>();
  readonly #policy: S3Fifo<Entry>;
  readonly #copies: CopyQueue<Entry>;
  readonly #holder: MemoryHolder;
  readonly #listeners = new Set<KeyListener>();
  #observer: MemoryObserver | undefined;
  /** The slot that `find` returned last. */
  #recent: Slot = { responses: NONE, newest: NOTHING, entries: [] };
  /** Bytes of stored bodies. */
  #bodyBytes = 0;
  #evictions = 0;
  #refused = 0;
  #closed = false;

  constructor(options: MemoryStoreOptions) {
    const { capacityBytes, heapBytes = capacityBytes, variantsPerKey = 16, peerCopiesShare = 0.1 } = options;
    checkPositive('capacityBytes', capacityBytes);
    checkPositive('heapBytes', heapBytes);
    checkPositive('variantsPerKey', variantsPerKey);
    if (!(peerCopiesShare >= 0 && peerCopiesShare <= 0.9))
      throw new RangeError(
        `Cannot make a store: expected peerCopiesShare from 0 to 0.9, got ${peerCopiesShare}`,
      );
    this.maxBodyBytes = options.maxBodyBytes ?? Math.min(2 ** 20, Math.floor(capacityBytes / 8));
    this.variantsPerKey = variantsPerKey;
    // Objects smaller than 4 KB on average are rare on the web; if all are, the ghost remembers
    // fewer of them.
    this.#policy = new S3Fifo({ expectedEntries: capacityBytes / 4096 });
    this.#capacity = capacityBytes - this.#policy.ghostBytes;
    this.#copies = new CopyQueue(Math.floor(peerCopiesShare * this.#capacity));
    this.#heapCapacity = heapBytes;
    this.#holder = {
      readers: 0,
      pendingBytes: 0,
      maxPendingBytes: options.pendingBytes ?? Math.max(capacityBytes / 4, 2 * this.maxBodyBytes),
      maxBodyBytes: this.maxBodyBytes,
      put: (response, body) => this.put(response, body),
      refuse: (response) => this.#refuse(response),
    };
  }

  /** Whether copies that came from neighbours are kept at all. */
  get keepsCopies(): boolean {
    return this.#copies.capacityBytes > 0;
  }

  find(key: string): readonly StoredResponse[] {
    const slot = this.#slots.get(key);
    if (slot === undefined) return NONE;
    this.#recent = slot;
    if (slot.responses.length === 1) this.#use(slot.newest);
    return slot.responses;
  }

  peek(key: string): readonly StoredResponse[] {
    return this.#slots.get(key)?.responses ?? NONE;
  }

  /** The stored response of the same variant, without counting a use. */
  peekVariant(
    response: StoredResponse,
  ): { readonly response: StoredResponse; readonly body: Uint8Array } | undefined {
    return this.#variantOf(response);
  }

  has(key: string): boolean {
    return this.#slots.has(key);
  }

  /** Whether this exact response is stored. */
  holds(response: StoredResponse): boolean {
    return this.#entryOf(response) !== undefined;
  }

  bodyInMemory(response: StoredResponse): Uint8Array | undefined {
    // This is nearly always called right after `find`, so no second look-up is needed.
    const { responses, newest } = this.#recent;
    if (responses.length === 1 && responses[0] === response) return newest.body;
    const slot = this.#slots.get(response.key);
    if (slot === undefined) return undefined;
    const entry = entryIn(slot, response);
    if (entry === undefined) return undefined;
    if (slot.entries.length > 1) this.#use(entry);
    return entry.body;
  }

  read(response: StoredResponse, start = 0, end = Number.POSITIVE_INFINITY): BodyReader {
    const body = this.bodyInMemory(response);
    return body === undefined ? new GoneReader(response.key) : new FlatReader(body, this.#holder, start, end);
  }

  create(_key: string, expectedLength: number | undefined, wishes?: BodyWishes): MemoryWriter {
    return new MemoryWriter(this.#holder, expectedLength, wishes?.spool);
  }

  /**
   * Stores a complete body. Returns `false` if it cannot be kept; the response that it would have
   * replaced is outdated, and is removed.
   */
  put(response: StoredResponse, body: Uint8Array): boolean {
    if (body.length !== response.bodyLength) {
      throw new RangeError(`Cannot store a body: expected ${response.bodyLength} bytes, got ${body.length}`);
    }
    if (this.#closed || body.length > this.maxBodyBytes) return this.#refuse(response);
    const bytes = compact(body);
    const replaced = this.#variantOf(response);
    // A new version of one of this node's own responses is its own as well.
    const kept = replaced !== undefined && !isPeerCopy(replaced.response) ? asOwn(response) : response;
    const entry = new Entry(kept, bytes, responseCost(response, bytes));
    const isCopy = isPeerCopy(kept);
    if (!this.#canFit(entry.cost, entry.bodyBytes)) return this.#refuse(response);
    if (isCopy && entry.cost > this.#copies.capacityBytes) return this.#refuse(response);
    // The old entry leaves the queues first, so that room is made only for the difference.
    if (replaced !== undefined) this.#leave(replaced);
    if (isCopy) this.#makeRoomAmongCopies(entry.cost);
    this.#makeRoom(entry.cost, entry.bodyBytes);
    this.#insert(entry, replaced);
    return true;
  }

  /** Removes the stored response of the same variant. */
  removeVariant(response: StoredResponse): number {
    const entry = this.#variantOf(response);
    if (entry === undefined) return 0;
    this.#drop(entry);
    return 1;
  }

  refresh(old: StoredResponse, fresh: StoredResponse): boolean {
    if (fresh.key !== old.key || fresh.bodyLength !== old.bodyLength) {
      throw new RangeError(
        `Cannot refresh a response: expected a new head for ${old.key} with ${old.bodyLength} bytes, got one for ${fresh.key} with ${fresh.bodyLength}`,
      );
    }
    const entry = this.#entryOf(old);
    if (entry === undefined) return false;
    const slot = this.#slots.get(old.key)!;
    const clash = slot.entries.find((e) => e !== entry && sameVariant(e.response, fresh));
    if (clash !== undefined) this.#drop(clash);
    unlink(slot, entry);
    entry.response = fresh;
    link(slot, entry);
    if (this.#copies.has(entry) && !isPeerCopy(fresh)) this.#moveToMain(entry);
    const cost = responseCost(fresh, entry.body);
    if (this.#hasRoom(cost - entry.cost, 0)) {
      this.#policy.resize(entry, cost);
      this.#tell(fresh.key, 'changed', fresh);
      return true;
    }
    if (!this.#canFit(cost, entry.bodyBytes)) return this.#refuse(fresh);
    const { uses } = entry;
    this.#leave(entry);
    this.#makeRoom(cost, entry.bodyBytes);
    entry.cost = cost;
    this.#enter(entry);
    entry.uses = uses;
    this.#tell(fresh.key, 'changed', fresh);
    return true;
  }

  remove(response: StoredResponse): number {
    const entry = this.#entryOf(response);
    if (entry === undefined) return 0;
    this.#drop(entry);
    return 1;
  }

  removeKey(key: string): number {
    const slot = this.#slots.get(key);
    if (slot === undefined) return 0;
    const entries = [...slot.entries];
    for (const entry of entries) this.#drop(entry);
    return entries.length;
  }

  /** Makes the next use of each response of a key count as a first one again. */
  rearm(key: string): void {
    for (const entry of this.#slots.get(key)?.entries ?? []) entry.used = false;
  }

  /**
   * Makes the next use of this response not count as a first one, because it is already where
   * `firstUse` would put it.
   */
  disarm(response: StoredResponse): void {
    const entry = this.#entryOf(response);
    if (entry !== undefined) entry.used = true;
  }

  observe(observer: MemoryObserver): void {
    this.#observer = observer;
  }

  watch(listener: KeyListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  keys(): Iterable<string> {
    return this.#slots.keys();
  }

  get statistics(): StoreStatistics {
    return {
      responses: this.#policy.length + this.#copies.length,
      bytes: this.#bytes,
      capacityBytes: this.#capacity,
      evictions: this.#evictions,
      corrupt: 0,
      refused: this.#refused,
      copies: this.#copies.length,
      copyBytes: this.#copies.bytes,
    };
  }

  /** The number of open readers, and the bytes of arriving bodies. */
  get inUse(): { readonly readers: number; readonly pendingBytes: number } {
    const { readers, pendingBytes } = this.#holder;
    return { readers, pendingBytes };
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#listeners.clear();
    for (const key of [...this.#slots.keys()]) this.removeKey(key);
  }

  #use(entry: Entry): void {
    markUsed(entry);
    if (entry.used) return;
    entry.used = true;
    if (this.#copies.has(entry)) this.#adopt(entry);
    this.#observer?.firstUse(entry.response, entry.body);
  }

  /** Makes a copy that was used an ordinary response. */
  #adopt(entry: Entry): void {
    const slot = this.#slots.get(entry.key)!;
    entry.response = asOwn(entry.response);
    relist(slot);
    this.#moveToMain(entry);
    this.#tell(entry.key, 'changed', entry.response);
  }

  #moveToMain(entry: Entry): void {
    entry.queue?.remove(entry);
    this.#policy.addUsed(entry);
  }

  /** Bytes that all entries take. */
  get #bytes(): number {
    return this.#policy.bytes + this.#copies.bytes;
  }

  #entryOf(response: StoredResponse): Entry | undefined {
    const slot = this.#slots.get(response.key);
    return slot === undefined ? undefined : entryIn(slot, response);
  }

  #variantOf(response: StoredResponse): Entry | undefined {
    return this.#slots.get(response.key)?.entries.find((entry) => sameVariant(entry.response, response));
  }

  #insert(entry: Entry, replaced: Entry | undefined): void {
    const slot = this.#slots.get(entry.key);
    this.#enter(entry);
    if (slot === undefined) {
      this.#slots.set(entry.key, { responses: [entry.response], newest: entry, entries: [entry] });
      this.#tell(entry.key, 'added', entry.response);
      return;
    }
    if (replaced !== undefined) {
      // It also inherits the old entry's standing with the eviction policy.
      entry.uses = replaced.uses;
      unlink(slot, replaced);
    }
    link(slot, entry);
    if (slot.entries.length > this.variantsPerKey) this.#evicted(slot.entries.findLast((e) => e !== entry)!);
    this.#tell(entry.key, 'changed', entry.response);
  }

  /** Evicts until there is room. `bodyBytes` of the cost are outside the heap. */
  #makeRoom(cost: number, bodyBytes: number): void {
    while (!this.#hasRoom(cost, bodyBytes)) {
      const entry = this.#policy.evict() ?? this.#copies.evict();
      if (entry === undefined) return;
      this.#bodyBytes -= entry.bodyBytes;
      this.#evicted(entry);
    }
  }

  #makeRoomAmongCopies(cost: number): void {
    for (let old = this.#copies.evictFor(cost); old !== undefined; old = this.#copies.evictFor(cost)) {
      this.#bodyBytes -= old.bodyBytes;
      this.#evicted(old);
    }
  }

  #hasRoom(cost: number, bodyBytes: number): boolean {
    const bytes = this.#bytes;
    return bytes + cost <= this.#capacity && bytes - this.#bodyBytes + cost - bodyBytes <= this.#heapCapacity;
  }

  /** Whether the entry would fit into an empty store. */
  #canFit(cost: number, bodyBytes: number): boolean {
    return cost <= this.#capacity && cost - bodyBytes <= this.#heapCapacity;
  }

  #enter(entry: Entry): void {
    this.#bodyBytes += entry.bodyBytes;
    if (isPeerCopy(entry.response)) this.#copies.add(entry);
    else this.#policy.add(entry);
  }

  #leave(entry: Entry): void {
    if (entry.queue === undefined) return;
    this.#bodyBytes -= entry.bodyBytes;
    this.#policy.remove(entry);
  }

  #evicted(entry: Entry): void {
    this.#evictions++;
    this.#drop(entry);
    this.#observer?.evicted(entry.response);
  }

  #drop(entry: Entry): void {
    this.#leave(entry);
    const slot = this.#slots.get(entry.key)!;
    unlink(slot, entry);
    if (slot.entries.length > 0) {
      this.#tell(entry.key, 'changed');
      return;
    }
    this.#slots.delete(entry.key);
    this.#tell(entry.key, 'removed');
  }

  #refuse(response: StoredResponse): false {
    this.#refused++;
    this.removeVariant(response);
    return false;
  }

  #tell(key: string, change: StoreChange, response?: StoredResponse): void {
    tellListeners(this.#listeners, key, change, response);
  }
}

const NONE: readonly StoredResponse[] = [];

function checkPositive(name: string, value: number): void {
  if (!Number.isInteger(value) || value < 1) {
    throw new RangeError(
      `Cannot create a store: expected ${name} to be a whole number from 1 on, got ${value}`,
    );
  }
}
