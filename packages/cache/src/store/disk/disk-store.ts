/**
 * Responses on disk: any number of them, of any size, bounded by bytes, and available again after a
 * restart.
 *
 * The layout on disk is described in disk-folder.ts, index-records.ts, pack-record.ts and
 * body-file.ts. In memory there is the index (44 bytes per entry, entry-index.ts) and a small cache
 * of heads. `find` answers at once if nothing is stored under a key or if its heads were read
 * recently. Otherwise it reads the pack, with one read for head and small body together. All
 * changes go through ledger.ts in one order; room.ts keeps the store below its capacity, and below
 * what the volume has room for.
 *
 * Promises:
 * - Readers get exactly the bytes that were written. Checksums are compared before a byte is
 *   returned; damage drops the entry and rejects with `BodyError` ('corrupt', or 'gone' if a file
 *   is missing).
 * - A process that is killed at any moment loses only what was not committed, and removed responses
 *   stay removed. A power failure may lose the last seconds of commits and removals (with
 *   `syncRemovals` no removals), but readers never get a torn body.
 * - Equal large bodies are one file. Small ones are stored with each head, because sharing them
 *   would take a second read per hit.
 * - Memory does not grow with the length of a body, nor by more than two pieces of at most 2 MiB
 *   for each stalled reader.
 *
 * Why small bodies are in packs, measured (16 at a time, page cache, on two cores with a load of
 * nine, so only the ratios are meaningful): bodies of 10 KB are stored 3 to 9 times as fast in a
 * pack as in files of their own and read 1.3 to 2.1 times as fast. Bodies of 64 KiB are stored 3 to
 * 4 times and read 1.2 to 1.5 times as fast. But in a pack a new head costs a copy of the body. At
 * 64 KiB a quarter as many heads are replaced per second, and the old copies are garbage that must
 * be compacted later. Hence the limit of 64 KiB.
 */

import { join } from 'node:path';
import { FolderLock } from '@bloomery/files';
import { hashKey, type KeyHash, type SecretKey } from 'bloomery';
import type { StoredResponse } from '../../policy/stored-response.ts';
import { type KeyListener, tellListeners } from '../key-listeners.ts';
import {
  BodyError,
  type BodyReader,
  type BodyWishes,
  type BodyWriter,
  type LowerStore,
  type StoreStatistics,
} from '../response-store.ts';
import { sameResponse } from '../variants.ts';
import { BodyTable } from './bodies/body-table.ts';
import { OpenFiles } from './bodies/open-files.ts';
import { Packs } from './bodies/packs.ts';
import { type BodySource, StoredBodyReader } from './bodies/stored-body-reader.ts';
import { prepareFolder, readFolder } from './disk-folder.ts';
import { checkDiskStoreOptions, type DiskStoreOptions } from './disk-store-options.ts';
import { DiskWriter, type WriterHome } from './disk-writer.ts';
import { EntryChanges } from './entry-changes.ts';
import { HeadCache, type LoadedHead } from './heads/head-cache.ts';
import { HeadReader } from './heads/head-reader.ts';
import { EntryIndex } from './index/entry-index.ts';
import { IndexJournal } from './index/index-journal.ts';
import { Ledger } from './ledger.ts';
import { recover } from './recovery.ts';
import { freeReserve } from './reserve-file.ts';
import { Room } from './room.ts';
import { VolumeWatch } from './volume-watch.ts';

export type { DiskStoreOptions } from './disk-store-options.ts';

const NONE: readonly StoredResponse[] = [];

/** The entry that belongs to a response. */
interface Handle {
  readonly id: number;
  readonly low: number;
  readonly high: number;
  readonly bytes: Uint8Array | null;
}

export class DiskStore implements LowerStore {
  readonly #secret: SecretKey;
  readonly #lock: FolderLock;
  readonly #index = new EntryIndex();
  readonly #bodies = new BodyTable();
  readonly #packs: Packs;
  readonly #journal: IndexJournal;
  readonly #files: OpenFiles;
  readonly #ledger: Ledger;
  readonly #room: Room;
  readonly #volume: VolumeWatch;
  readonly #cache: HeadCache;
  readonly #heads: HeadReader;
  readonly #changes: EntryChanges;
  readonly #handles = new WeakMap<StoredResponse, Handle>();
  readonly #writers = new Set<DiskWriter>();
  readonly #listeners = new Set<KeyListener>();
  readonly #home: WriterHome;
  #closing: Promise<void> | undefined;
  #temporary = 0;
  #evictions = 0;
  #corrupt = 0;
  #refused = 0;

  private constructor(options: DiskStoreOptions, lock: FolderLock) {
    const { folder, capacityBytes } = options;
    this.#lock = lock;
    this.#secret = readFolder(folder);
    this.#packs = new Packs(join(folder, 'packs'), capacityBytes);
    this.#journal = new IndexJournal(join(folder, 'index'), capacityBytes);
    this.#files = new OpenFiles(options.openBodies ?? 512);
    this.#cache = new HeadCache(options.headCacheBytes ?? 8 * 1024 * 1024);
    const parts = { index: this.#index, bodies: this.#bodies, packs: this.#packs, journal: this.#journal };
    this.#ledger = new Ledger({
      ...parts,
      folder,
      files: this.#files,
      syncRemovals: options.syncRemovals ?? false,
      holdRoom: (bytes) => {
        this.#volume.measureAgain();
        return this.#room.tryHold(bytes) || this.#room.hold(bytes);
      },
      writeFailed: (error, bytes) => this.#volume.writeFailed(error, bytes),
      releaseRoom: (bytes) => {
        this.#room.heldBytes -= bytes;
      },
    });
    this.#room = new Room({
      ...parts,
      capacityBytes,
      ledger: this.#ledger,
      watched: () => this.#listeners.size > 0,
      evicted: (id, last, key) => {
        this.#evictions++;
        const known = key ?? this.#changes.dropping.get(id) ?? this.#cache.get(id)?.response.key;
        this.#cache.delete(id);
        if (known !== undefined) tellListeners(this.#listeners, known, last ? 'removed' : 'changed');
      },
      corrupt: (id) => {
        if (!this.#changes.dropping.has(id)) this.#corrupt++;
      },
    });
    this.#volume = new VolumeWatch({
      folder,
      capacityBytes,
      room: this.#room,
      ledger: this.#ledger,
      closed: () => this.#changes.closed,
      onSmaller: options.onSmaller ?? (() => {}),
      monotonic: options.monotonic ?? (() => performance.now()),
    });
    this.#heads = new HeadReader(this.#index, this.#packs, this.#cache, (id, low, high, key) => {
      // If many readers find the damage, it is counted once.
      if (this.#changes.drop(id, low, high, key)) this.#corrupt++;
    });
    const inlineBytes = options.inlineBytes ?? Math.min(64 * 1024, Math.floor(capacityBytes / 64));
    this.#changes = new EntryChanges({
      ...parts,
      ledger: this.#ledger,
      heads: this.#heads,
      cache: this.#cache,
      variantsPerKey: options.variantsPerKey ?? 16,
      inlineBytes,
      hash: (key) => this.#hash(key),
      remember: (head) => {
        this.#cache.set(head);
        this.#handle(head);
      },
      watched: () => this.#listeners.size > 0,
      tell: (key, change, response) => tellListeners(this.#listeners, key, change, response),
    });
    const mostObjectBytes = options.maxObjectBytes ?? Math.floor(capacityBytes / 4);
    const room = this.#room;
    this.#home = {
      inlineBytes,
      get maxObjectBytes() {
        // A quarter of what the volume has room for, where that is less than configured.
        return room.capacityBytes < capacityBytes
          ? Math.min(mostObjectBytes, Math.floor(room.capacityBytes / 4))
          : mostObjectBytes;
      },
      writeFailed: (error, bytes) => this.#volume.writeFailed(error, bytes),
      reserve: (bytes, mayEvict) => this.#reserve(bytes, mayEvict),
      unreserve: (bytes, mayEvict) => {
        if (mayEvict) this.#room.heldBytes -= bytes;
        else this.#room.spareBytes -= bytes;
      },
      openTemporary: () => {
        const name = String(++this.#temporary);
        const path = join(folder, 'tmp', name);
        return { path, file: this.#files.acquire(`tmp/${name}`, path, 'wx+') };
      },
      keep: (response, body) => this.#changes.keep(response, body),
      read: (response, start, end) => this.read(response, start, end),
      refused: () => {
        this.#refused++;
      },
      ended: (writer) => {
        this.#writers.delete(writer);
      },
    };
  }

  /** Opens the store in a folder, also after a crash. Rejects if another process has it open. */
  static async open(options: DiskStoreOptions): Promise<DiskStore> {
    checkDiskStoreOptions(options);
    const { folder, signal } = options;
    signal?.throwIfAborted();
    prepareFolder(folder);
    freeReserve(folder);
    let abandon = () => {};
    const lock = await FolderLock.take(folder, { lost: () => abandon(), signal });
    let store: DiskStore | undefined;
    try {
      const opened = new DiskStore(options, lock);
      store = opened;
      abandon = () => opened.#abandon();
      await opened.#recover(folder);
    } catch (error) {
      // Recovery opens the log before it looks at the bodies.
      if (store === undefined) lock.release();
      else store.#letGo();
      throw error;
    }
    if (signal?.aborted) {
      await store.close();
      throw signal.reason;
    }
    return store;
  }

  async #recover(folder: string): Promise<void> {
    this.#changes.nextId = await recover({
      folder,
      index: this.#index,
      bodies: this.#bodies,
      packs: this.#packs,
      journal: this.#journal,
      unclean: this.#lock.unclean,
    });
    await this.#volume.open();
  }

  find(key: string): readonly StoredResponse[] | Promise<readonly StoredResponse[]> {
    const { low, high } = this.#hash(key);
    const index = this.#index;
    if (!this.#changes.closed)
      for (let slot = index.first(low, high); slot >= 0; slot = index.following(slot)) index.touch(slot);
    return this.peek(key);
  }

  peek(key: string): readonly StoredResponse[] | Promise<readonly StoredResponse[]> {
    const { low, high } = this.#hash(key);
    if (this.#index.first(low, high) < 0 || this.#changes.closed) return NONE;
    const heads = this.#heads.variants(key, low, high);
    if (heads instanceof Promise) return heads.then((loaded) => this.#responses(loaded));
    return this.#responses(heads);
  }

  /**
   * Uses only the hash of the key; two different keys share one with a probability of 1 in 2^64.
   */
  has(key: string): boolean {
    const { low, high } = this.#hash(key);
    return this.#index.first(low, high) >= 0;
  }

  bodyInMemory(response: StoredResponse): Uint8Array | undefined {
    const handle = this.#handles.get(response);
    if (!handle?.bytes) return undefined;
    return this.#index.find(handle.id, handle.low, handle.high) < 0 ? undefined : handle.bytes;
  }

  read(response: StoredResponse, start = 0, end = Number.POSITIVE_INFINITY): BodyReader {
    return new StoredBodyReader(
      () => {
        const handle = this.#handles.get(response);
        if (handle !== undefined) return this.#source(handle);
        return this.#locate(response).then((found) => {
          if (found === undefined)
            throw new BodyError('gone', `Cannot read the body of ${response.key}: it is not stored any more`);
          return this.#source(this.#handle(found));
        });
      },
      start,
      end,
    );
  }

  create(_key: string, expectedLength: number | undefined, wishes?: BodyWishes): BodyWriter {
    const writer = new DiskWriter(this.#home, expectedLength, wishes);
    this.#writers.add(writer);
    return writer;
  }

  refresh(old: StoredResponse, fresh: StoredResponse): Promise<boolean> {
    if (fresh.key !== old.key || fresh.bodyLength !== old.bodyLength) {
      throw new RangeError(
        `Cannot refresh a response: expected a new head for ${old.key} with ${old.bodyLength} bytes, got one for ${fresh.key} with ${fresh.bodyLength}`,
      );
    }
    return this.#changes.refresh(old, fresh);
  }

  remove(response: StoredResponse): Promise<number> {
    return this.#changes.remove(response);
  }

  removeVariant(response: StoredResponse): Promise<number> {
    return this.#changes.removeVariant(response);
  }

  removeKey(key: string): Promise<number> {
    return this.#changes.removeKey(key);
  }

  watch(listener: KeyListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  keys(): AsyncIterable<string> {
    return this.#heads.keys();
  }

  get statistics(): StoreStatistics {
    return {
      responses: this.#index.count,
      bytes: this.#packs.liveBytes + this.#bodies.bytes,
      capacityBytes: this.#room.capacityBytes,
      copies: 0,
      copyBytes: 0,
      evictions: this.#evictions,
      corrupt: this.#corrupt,
      refused: this.#refused,
    };
  }

  /**
   * All bytes in the folder, including garbage, temporary files and the index. Never above the
   * capacity.
   */
  get diskBytes(): number {
    return this.#room.used;
  }

  /** Number of body files that are open, for readers or writers. */
  get openBodies(): number {
    return this.#files.open;
  }

  /** Memory of the index in bytes. */
  get indexBytes(): number {
    return this.#index.memoryBytes;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#stop(new Error('Cannot change the store: it was closed'));
    await this.#ledger.turn(async () => {});
    // With a snapshot the next start reads no log, and the order of use is kept. If it fails, the
    // log still has everything.
    await this.#journal.settled().catch(() => {});
    await this.#journal.snapshot(this.#index, this.#bodies).catch(() => {});
    await this.#journal.settled().catch(() => {});
    this.#letGo();
  }

  /**
   * Another process owns the folder: from now on nothing is found here, and changes are refused.
   */
  #abandon(): void {
    if (this.#closing !== undefined) return;
    this.#changes.lost = new Error('Cannot change the store: another process has taken its folder');
    this.#stop(this.#changes.lost);
    this.#closing = this.#ledger.turn(async () => this.#letGo());
  }

  #stop(reason: Error): void {
    this.#changes.closed = true;
    for (const writer of [...this.#writers]) writer.abort(reason);
  }

  #letGo(): void {
    this.#journal.close();
    this.#packs.close();
    this.#cache.clear();
    this.#lock.release();
  }

  #hash(key: string): KeyHash {
    return hashKey(key, this.#secret.scheme);
  }

  #responses(heads: readonly LoadedHead[]): StoredResponse[] {
    return heads.map((head) => {
      this.#handle(head);
      return head.response;
    });
  }

  #handle(head: LoadedHead): Handle {
    this.#handles.set(head.response, head);
    return head;
  }

  /** The entry of a response, if it is still there. */
  async #locate(response: StoredResponse): Promise<LoadedHead | undefined> {
    const { low, high } = this.#hash(response.key);
    const handle = this.#handles.get(response);
    if (handle !== undefined) {
      const head = await this.#heads.load(handle.id, low, high);
      // The entry may have a new head since. Then the old response is gone, although its body can
      // still be read through the handle.
      return head !== undefined && sameResponse(head.response, response) ? head : undefined;
    }
    const heads = await this.#heads.variants(response.key, low, high);
    return heads.find((head) => sameResponse(head.response, response));
  }

  #source({ id, low, high, bytes }: Handle): BodySource {
    const index = this.#index;
    const slot = index.find(id, low, high);
    if (slot < 0 || this.#changes.closed)
      throw new BodyError('gone', 'Cannot read a body: it is not stored any more');
    index.touch(slot);
    if (bytes !== null) return { kind: 'bytes', bytes };
    const body = index.body[slot];
    const [version, name] = [this.#bodies.version(body), this.#bodies.name(body)];
    return {
      kind: 'file',
      file: this.#files.acquire(name, this.#ledger.bodyPath(name)),
      digest: this.#bodies.digest(body).slice(),
      length: this.#bodies.length(body),
      damaged: (error) => this.#dropBody(body, version, name, error),
    };
  }

  /** Drops all entries with a damaged body, unless the body was stored again since. */
  #dropBody(body: number, version: number, name: string, error: BodyError): void {
    const bodies = this.#bodies;
    if (bodies.references(body) === 0 || bodies.version(body) !== version || bodies.name(body) !== name)
      return;
    // If many readers find the damage, it is counted once.
    bodies.renew(body);
    this.#files.forget(name);
    if (error.code === 'corrupt') this.#corrupt++;
    const index = this.#index;
    for (let slot = 0; slot < index.bound; slot++) {
      if (!index.used(slot) || index.body[slot] !== body) continue;
      this.#changes.drop(index.ids[slot], index.low[slot], index.high[slot], undefined);
    }
  }

  #reserve(bytes: number, mayEvict: boolean): boolean | Promise<boolean> {
    if (this.#changes.closed) return false;
    this.#volume.measureAgain();
    if (!mayEvict) return this.#room.tryHoldSpare(bytes);
    return this.#room.tryHold(bytes) || this.#ledger.turn(() => this.#room.hold(bytes));
  }
}
