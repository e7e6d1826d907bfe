/**
 * Reads heads from the packs on request.
 *
 * A record may move while it is read (room.ts). If the bytes are not the record and the entry's
 * position has changed, it is read again from there. If the position is the same, the record is
 * damaged, and reported.
 *
 * A record that cannot be read now (no descriptors, or a temporary failure of the disk) is not
 * found now, but perhaps next time. Only a listing of all keys must know the difference: a summary
 * built from an incomplete list would deny that stored responses exist.
 */

import { setTimeout as pause } from 'node:timers/promises';
import { errorCode } from '@bloomery/files';
import { decodeRecord, isRecord } from '../bodies/pack-record.ts';
import type { Packs } from '../bodies/packs.ts';
import type { EntryIndex } from '../index/entry-index.ts';
import { listKeys } from '../index/list-keys.ts';
import type { HeadCache, LoadedHead } from './head-cache.ts';

/**
 * Pauses between attempts to read a key for the list. After the last attempt, the listing fails.
 */
const PAUSES_MS = [10, 50, 250];

export class HeadReader {
  readonly #index: EntryIndex;
  readonly #packs: Packs;
  readonly #cache: HeadCache;
  readonly #damaged: (id: number, low: number, high: number, key: string | undefined) => void;
  /** Callers that request a head that is being read share that read. */
  readonly #loading = new Map<number, Promise<LoadedHead | undefined>>();

  constructor(
    index: EntryIndex,
    packs: Packs,
    cache: HeadCache,
    damaged: (id: number, low: number, high: number, key: string | undefined) => void,
  ) {
    this.#index = index;
    this.#packs = packs;
    this.#cache = cache;
    this.#damaged = damaged;
  }

  /** All heads of a key, newest first (variants.ts defines the order). */
  variants(key: string, low: number, high: number): readonly LoadedHead[] | Promise<readonly LoadedHead[]> {
    const index = this.#index;
    const heads: LoadedHead[] = [];
    const missing: number[] = [];
    for (let slot = index.first(low, high); slot >= 0; slot = index.following(slot)) {
      const id = index.ids[slot];
      const head = this.#cache.get(id);
      if (head === undefined) missing.push(id);
      else heads.push(head);
    }
    if (missing.length === 0) return ofKey(heads, key);
    const reads = missing.map((id) => this.#shared(id, low, high, key).catch(() => undefined));
    return Promise.all(reads).then((loaded) =>
      ofKey([...heads, ...loaded.filter((head) => head !== undefined)], key),
    );
  }

  /** One head, or undefined if the entry is gone or cannot be read. */
  load(id: number, low: number, high: number): Promise<LoadedHead | undefined> {
    return this.#load(id, low, high).catch(() => undefined);
  }

  /** All keys (list-keys.ts says as of which moment). Rejects if one cannot be read. */
  keys(): AsyncGenerator<string> {
    return listKeys(this.#index, this.#packs, (id, low, high) => this.#key(id, low, high));
  }

  async #key(id: number, low: number, high: number): Promise<string | undefined> {
    for (const ms of [...PAUSES_MS, undefined]) {
      try {
        return (await this.#load(id, low, high))?.response.key;
      } catch (error) {
        if (ms === undefined) {
          const { message } = error as Error;
          throw new Error(`Cannot list all keys: expected to read that of entry ${id}, got ${message}`, {
            cause: error,
          });
        }
      }
      await pause(ms);
    }
    return undefined;
  }

  /** Rejects if the entry exists and cannot be read. */
  async #load(id: number, low: number, high: number): Promise<LoadedHead | undefined> {
    if (this.#index.find(id, low, high) < 0) return undefined;
    return this.#cache.get(id) ?? this.#shared(id, low, high, undefined);
  }

  #shared(id: number, low: number, high: number, key: string | undefined): Promise<LoadedHead | undefined> {
    let loading = this.#loading.get(id);
    if (loading === undefined) {
      loading = this.#read(id, low, high, key).finally(() => this.#loading.delete(id));
      this.#loading.set(id, loading);
    }
    return loading;
  }

  async #read(
    id: number,
    low: number,
    high: number,
    key: string | undefined,
  ): Promise<LoadedHead | undefined> {
    const index = this.#index;
    for (;;) {
      const slot = index.find(id, low, high);
      if (slot < 0) return undefined;
      const pack = index.pack[slot];
      const offset = index.offset[slot];
      const recordBytes = index.recordBytes[slot];
      let bytes: Buffer = Buffer.alloc(0);
      try {
        bytes = await this.#packs.read(pack, offset, recordBytes);
      } catch (error) {
        if (errorCode(error) !== 'ENOENT') throw error;
      }
      const good = isRecord(bytes, id);
      const now = index.find(id, low, high);
      if (now < 0) return undefined;
      if (index.pack[now] !== pack || index.offset[now] !== offset) continue;
      if (!good) {
        this.#damaged(id, low, high, key);
        return undefined;
      }
      const { response, body } = decodeRecord(bytes);
      const head = { id, low, high, response, bytes: body, recordBytes };
      this.#cache.set(head);
      return head;
    }
  }
}

function ofKey(heads: LoadedHead[], key: string): readonly LoadedHead[] {
  // Another key may have the same hash.
  const own = heads.every((head) => head.response.key === key)
    ? heads
    : heads.filter((head) => head.response.key === key);
  return own.length > 1 ? newestFirst(own) : own;
}

/** Sorts a list in place. */
export function newestFirst(heads: LoadedHead[]): LoadedHead[] {
  return heads.sort((a, b) => b.response.responseTime - a.response.responseTime || b.id - a.id);
}
