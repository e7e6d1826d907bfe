/**
 * The store of a simulated node: which objects it holds, without their bodies. Eviction is that of
 * production. This file wraps `S3Fifo` and `CopyQueue` in the way `MemoryStore` does
 * (store/memory/memory-store.ts), and adds nothing of its own:
 *
 * - room is made before an object is added, first among ordinary objects, then among copies;
 * - a copy makes room among the copies first, and is refused if the share of copies is too small;
 * - a copy that is used becomes an ordinary object, in the main queue;
 * - an object that is stored again keeps its uses, and an ordinary one does not become a copy.
 *
 * `object-cache.test.ts` plays the same operations to this class and to a `MemoryStore`, and
 * compares what they hold.
 *
 * We refused `MemoryStore` itself: with heads, bodies and slots it takes a kilobyte per object, and
 * a fleet of 256 nodes holds millions of them.
 */

import { CopyQueue } from '../store/memory/copy-queue.ts';
import { markUsed, type QueueEntry, S3Fifo } from '../store/memory/s3-fifo.ts';
import { keyOfObject } from './trace.ts';

/** The changes of a store that other parts of a simulation follow. */
export interface CacheListener {
  /** An object is held now that was not held before. */
  added(object: number, isCopy: boolean): void;
  /** A copy has become an ordinary object. */
  adopted(object: number): void;
  removed(object: number, wasCopy: boolean): void;
}

export interface ObjectCacheOptions {
  /** The sum of costs that it holds: a number of objects if each costs 1, otherwise bytes. */
  readonly capacity: number;
  /** Objects that it will hold about, for which the ghost of S3-FIFO is sized. */
  readonly expectedEntries: number;
  /** Part of the capacity for copies that came from neighbours; 0 keeps none. */
  readonly copiesShare: number;
  readonly listener?: CacheListener;
}

export class ObjectCache {
  readonly #capacity: number;
  readonly #policy: S3Fifo<ObjectEntry>;
  readonly #copies: CopyQueue<ObjectEntry>;
  readonly #entries = new Map<number, ObjectEntry>();
  readonly #listener: CacheListener;

  constructor({ capacity, expectedEntries, copiesShare, listener = SILENT }: ObjectCacheOptions) {
    this.#capacity = capacity;
    this.#policy = new S3Fifo({ expectedEntries });
    this.#copies = new CopyQueue(Math.floor(copiesShare * capacity));
    this.#listener = listener;
  }

  /** Objects that are held, copies included. */
  get size(): number {
    return this.#entries.size;
  }

  get copies(): number {
    return this.#copies.length;
  }

  has(object: number): boolean {
    return this.#entries.has(object);
  }

  objects(): Iterable<number> {
    return this.#entries.keys();
  }

  /** Counts a use of an object. Returns false if it is not held. */
  use(object: number): boolean {
    const entry = this.#entries.get(object);
    if (entry === undefined) return false;
    markUsed(entry);
    if (this.#copies.has(entry)) {
      entry.queue?.remove(entry);
      this.#policy.addUsed(entry);
      this.#listener.adopted(object);
    }
    return true;
  }

  /** Stores an object. Returns false if it cannot be kept. */
  put(object: number, cost: number, isCopy: boolean): boolean {
    const replaced = this.#entries.get(object);
    const wasCopy = replaced !== undefined && this.#copies.has(replaced);
    const staysCopy = isCopy && (replaced === undefined || wasCopy);
    if (cost > this.#capacity || (staysCopy && cost > this.#copies.capacityBytes)) {
      if (replaced !== undefined) this.#drop(replaced);
      return false;
    }
    replaced?.queue?.remove(replaced);
    if (staysCopy) this.#makeRoomAmongCopies(cost);
    this.#makeRoom(cost);
    const entry = new ObjectEntry(object, cost);
    if (staysCopy) this.#copies.add(entry);
    else this.#policy.add(entry);
    if (replaced !== undefined) entry.uses = replaced.uses;
    this.#entries.set(object, entry);
    if (replaced === undefined) this.#listener.added(object, staysCopy);
    else if (wasCopy && !staysCopy) this.#listener.adopted(object);
    return true;
  }

  /** Drops everything, as the end of a process does. */
  clear(): void {
    for (const entry of [...this.#entries.values()]) this.#drop(entry);
  }

  #makeRoom(cost: number): void {
    while (this.#policy.bytes + this.#copies.bytes + cost > this.#capacity) {
      const copy = this.#copies.bytes;
      const entry = this.#policy.evict() ?? this.#copies.evict();
      if (entry === undefined) return;
      this.#gone(entry, this.#copies.bytes < copy);
    }
  }

  #makeRoomAmongCopies(cost: number): void {
    for (let old = this.#copies.evictFor(cost); old !== undefined; old = this.#copies.evictFor(cost))
      this.#gone(old, true);
  }

  #drop(entry: ObjectEntry): void {
    const wasCopy = this.#copies.has(entry);
    entry.queue?.remove(entry);
    this.#gone(entry, wasCopy);
  }

  #gone({ object }: ObjectEntry, wasCopy: boolean): void {
    this.#entries.delete(object);
    this.#listener.removed(object, wasCopy);
  }
}

class ObjectEntry implements QueueEntry {
  readonly object: number;
  cost: number;
  uses = 0;
  queue: QueueEntry['queue'] = undefined;
  previous: QueueEntry | undefined = undefined;
  next: QueueEntry | undefined = undefined;

  constructor(object: number, cost: number) {
    this.object = object;
    this.cost = cost;
  }

  get key(): string {
    return keyOfObject(this.object);
  }
}

const SILENT: CacheListener = { added() {}, adopted() {}, removed() {} };
