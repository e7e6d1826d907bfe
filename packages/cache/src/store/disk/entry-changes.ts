/**
 * The changes of entries: one is added, gets a new head, or is removed. Each change waits for its
 * turn (ledger.ts) and is decided then, based on what is stored at that moment.
 *
 * An unreadable record under the same hash (damaged, or the disk fails temporarily) may be the one
 * to be replaced or removed. It is treated as such: a cache may forget, but a removed response must
 * not reappear when the disk recovers. The result of one read is used for the whole decision. Each
 * further read could fail where the first did not, and then an entry would be neither found nor
 * counted as unreadable.
 */

import type { KeyHash } from 'bloomery';
import type { StoredResponse } from '../../policy/stored-response.ts';
import type { StoreChange } from '../key-listeners.ts';
import { sameResponse, sameVariant } from '../variants.ts';
import type { BodyTable } from './bodies/body-table.ts';
import { encodeRecord } from './bodies/pack-record.ts';
import type { FinishedBody } from './disk-writer.ts';
import type { HeadCache, LoadedHead } from './heads/head-cache.ts';
import { type HeadReader, newestFirst } from './heads/head-reader.ts';
import type { EntryIndex } from './index/entry-index.ts';
import { PUT_WITH_BODY_BYTES } from './index/index-records.ts';
import type { Ledger, Step } from './ledger.ts';

export interface ChangeParts {
  readonly index: EntryIndex;
  readonly bodies: BodyTable;
  readonly ledger: Ledger;
  readonly heads: HeadReader;
  readonly cache: HeadCache;
  readonly variantsPerKey: number;
  readonly inlineBytes: number;
  hash(key: string): KeyHash;
  /** Caches a head that was just written, so that it need not be read. */
  remember(head: LoadedHead): void;
  watched(): boolean;
  tell(key: string, change: StoreChange, response?: StoredResponse): void;
}

interface Under {
  readonly heads: readonly LoadedHead[];
  readonly unreadable: readonly number[];
}

/** No real head is longer; the proxy refuses such heads long before. */
const MOST_RECORD_BYTES = 16 * 1024 * 1024;

export class EntryChanges {
  readonly #parts: ChangeParts;
  readonly #dropping = new Map<number, string | undefined>();
  /** The number of the next entry. */
  nextId = 1;
  /** No more changes are accepted. */
  closed = false;
  /** The error behind that, if the store did not end regularly. */
  lost: Error | undefined;

  constructor(parts: ChangeParts) {
    this.#parts = parts;
  }

  /** Stores a response with its body. Returns false if there is no room. */
  async keep(response: StoredResponse, body: FinishedBody): Promise<boolean> {
    const { cache, variantsPerKey } = this.#parts;
    const id = this.nextId++;
    const { low, high } = this.#parts.hash(response.key);
    const record = encodeRecord(id, response, body.kind === 'inline' ? body.pieces : null);
    if (record.length > MOST_RECORD_BYTES) return false;
    const bytes = body.kind === 'inline' ? record.subarray(record.length - response.bodyLength) : null;
    return this.#submit(low, high, record.length + 2 * PUT_WITH_BODY_BYTES, false, async (resolve) => {
      const { heads, unreadable } = await this.#under(response.key, low, high);
      const replaced = heads.filter((head) => sameVariant(head.response, response));
      const others = heads.filter((head) => !replaced.includes(head));
      const surplus = others.slice(variantsPerKey - 1);
      const remove = [...[...replaced, ...surplus].map((head) => head.id), ...unreadable];
      return {
        put: { id, record, body: body.kind === 'inline' ? null : body },
        remove,
        done: (kept) => {
          if (kept) {
            for (const gone of remove) cache.delete(gone);
            this.#parts.remember({ id, low, high, response, bytes, recordBytes: record.length });
            // Unreadable entries are treated as entries of this key, which listeners already know.
            const isNew = heads.length === 0 && unreadable.length === 0;
            this.#parts.tell(response.key, isNew ? 'added' : 'changed', response);
          }
          resolve(kept);
        },
      };
    });
  }

  /**
   * Keeps the body and replaces the head. The entry keeps its number, so callers that found it
   * before can still read the body.
   */
  refresh(old: StoredResponse, fresh: StoredResponse): Promise<boolean> {
    const { index, bodies, cache } = this.#parts;
    const { low, high } = this.#parts.hash(old.key);
    // UTF-8 takes at most three bytes per code unit of a string.
    const most = 3 * JSON.stringify(fresh).length + this.#parts.inlineBytes + 256;
    return this.#submit(low, high, most, false, async (resolve) => {
      const { heads, unreadable } = await this.#under(old.key, low, high);
      const target = heads.find((head) => sameResponse(head.response, old));
      const slot = target === undefined ? -1 : index.find(target.id, low, high);
      if (target === undefined || slot < 0) return null;
      const { id, bytes } = target;
      const record = encodeRecord(id, fresh, bytes === null ? null : [bytes]);
      const body = index.body[slot];
      const replaced = heads.filter((head) => head.id !== id && sameVariant(head.response, fresh));
      const remove = [...replaced.map((head) => head.id), ...unreadable];
      return {
        put: {
          id,
          record,
          body:
            body === 0
              ? null
              : { digest: bodies.digest(body).slice(), length: bodies.length(body), path: null },
        },
        remove,
        done: (kept) => {
          if (kept) {
            for (const gone of remove) cache.delete(gone);
            this.#parts.remember({ id, low, high, response: fresh, bytes, recordBytes: record.length });
            this.#parts.tell(fresh.key, 'changed', fresh);
          }
          resolve(kept);
        },
      };
    });
  }

  remove(response: StoredResponse): Promise<number> {
    return this.#remove(response.key, ({ heads, unreadable }) => {
      const found = heads.filter((head) => sameResponse(head.response, response));
      return found.length === 0 ? unreadable : numbers(found);
    });
  }

  /** Removes all entries that a response of this variant would replace. */
  removeVariant(response: StoredResponse): Promise<number> {
    return this.#remove(response.key, ({ heads, unreadable }) => [
      ...numbers(heads.filter((head) => sameVariant(head.response, response))),
      ...unreadable,
    ]);
  }

  removeKey(key: string): Promise<number> {
    return this.#remove(key, ({ heads, unreadable }) => [...numbers(heads), ...unreadable]);
  }

  /**
   * Drops a damaged entry. `key`: given if it is known. Returns false if that is already in
   * progress.
   */
  drop(id: number, low: number, high: number, key: string | undefined): boolean {
    if (this.#dropping.has(id)) return false;
    const { index, cache, heads } = this.#parts;
    const known = key ?? cache.get(id)?.response.key;
    this.#dropping.set(id, known);
    void this.#submit<void>(low, high, 0, undefined, async (resolve) => {
      // It was removed, replaced or evicted meanwhile, and that change has called the listeners.
      if (index.find(id, low, high) < 0) return null;
      const wanted = known === undefined && this.#parts.watched();
      const name = wanted ? (await heads.load(id, low, high))?.response.key : known;
      return {
        put: null,
        remove: [id],
        done: (dropped) => {
          cache.delete(id);
          if (dropped && name !== undefined)
            this.#parts.tell(name, index.first(low, high) < 0 ? 'removed' : 'changed');
          resolve();
        },
      };
    })
      .catch(() => {})
      .finally(() => this.#dropping.delete(id));
    return true;
  }

  /** Damaged entries that wait for their turn to be dropped, with their keys, if known. */
  get dropping(): ReadonlyMap<number, string | undefined> {
    return this.#dropping;
  }

  #remove(key: string, which: (there: Under) => readonly number[]): Promise<number> {
    const { low, high } = this.#parts.hash(key);
    return this.#submit(low, high, 0, 0, async (resolve) => {
      const there = await this.#under(key, low, high);
      const remove = which(there);
      if (remove.length === 0) return null;
      const all = [...numbers(there.heads), ...there.unreadable];
      return {
        put: null,
        remove,
        done: (removed) => {
          // Otherwise `failed` was called.
          if (!removed) return;
          for (const id of remove) this.#parts.cache.delete(id);
          this.#parts.tell(key, all.every((id) => remove.includes(id)) ? 'removed' : 'changed');
          resolve(remove.length);
        },
      };
    });
  }

  /** The heads of a key, newest first, and the numbers of unreadable entries under its hash. */
  async #under(key: string, low: number, high: number): Promise<Under> {
    const { index, heads } = this.#parts;
    const found = [...(await heads.variants(key, low, high))];
    const unreadable: number[] = [];
    let readLater = false;
    for (let slot = index.first(low, high); slot >= 0; slot = index.following(slot)) {
      const id = index.ids[slot];
      if (found.some((head) => head.id === id)) continue;
      // It belongs to another key of the same hash, or is unreadable; reading it once more tells
      // which. And it may be readable again by now.
      const head = await heads.load(id, low, high);
      if (head === undefined) unreadable.push(id);
      else if (head.response.key === key) {
        found.push(head);
        readLater = true;
      }
    }
    if (readLater) newestFirst(found);
    return { heads: found, unreadable };
  }

  /** Submits a change. `nothing` is the result if there is nothing to do in its turn. */
  #submit<T>(
    low: number,
    high: number,
    bytes: number,
    nothing: T,
    decide: (resolve: (value: T) => void) => Promise<Step | null>,
  ): Promise<T> {
    if (this.lost !== undefined) return Promise.reject(this.lost);
    if (this.closed) return Promise.resolve(nothing);
    return new Promise((resolve, reject) => {
      this.#parts.ledger.submit({
        low,
        high,
        bytes,
        decide: async () => {
          const step = await decide(resolve);
          if (step === null) resolve(nothing);
          return step;
        },
        failed: reject,
      });
    });
  }
}

function numbers(heads: readonly LoadedHead[]): number[] {
  return heads.map(({ id }) => id);
}
