/**
 * What can happen to entries: one comes, gets a new head, or goes. Each is a change that waits for its turn (ledger.ts) and is decided then, on
 * what is stored at that moment.
 *
 * A record under the same hash that cannot be read (damaged, or the disk stutters) may be the one that is to be replaced or removed. It is taken for it:
 * a cache may forget, but what was removed must not come back when the disk is well again. What one read gave is used for the whole decision: each
 * read more could fail where the first did not, and then an entry would be neither found nor missed.
 */

import type { KeyHash } from 'bloomery';
import type { StoredResponse } from '../../policy/stored-response.ts';
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
  /** A head that was just written need not be read. */
  remember(head: LoadedHead): void;
  watched(): boolean;
  tell(key: string, change: 'added' | 'removed'): void;
}

interface Under {
  readonly heads: readonly LoadedHead[];
  readonly unreadable: readonly number[];
}

/** A head with more is nobody's head; the proxy refuses such long before. */
const MOST_RECORD_BYTES = 16 * 1024 * 1024;

export class EntryChanges {
  readonly #parts: ChangeParts;
  readonly #dropping = new Map<number, string | undefined>();
  /** Of the next entry. */
  nextId = 1;
  /** Nothing is changed any more. */
  closed = false;
  /** Why not, if that is somebody's misfortune. */
  lost: Error | undefined;

  constructor(parts: ChangeParts) {
    this.#parts = parts;
  }

  /** Stores a response with its body. False: there is no room. */
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
            // What could not be read was of this key, and listeners know of it.
            if (heads.length === 0 && unreadable.length === 0) this.#parts.tell(response.key, 'added');
          }
          resolve(kept);
        },
      };
    });
  }

  /** The same body with a new head. The entry keeps its number: who has found it before can still read the body. */
  refresh(old: StoredResponse, fresh: StoredResponse): Promise<boolean> {
    const { index, bodies, cache } = this.#parts;
    const { low, high } = this.#parts.hash(old.key);
    // UTF-8 takes at most three bytes for each unit of a string.
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

  /** All that a response of this variant would replace. */
  removeVariant(response: StoredResponse): Promise<number> {
    return this.#remove(response.key, ({ heads, unreadable }) => [
      ...numbers(heads.filter((head) => sameVariant(head.response, response))),
      ...unreadable,
    ]);
  }

  removeKey(key: string): Promise<number> {
    return this.#remove(key, ({ heads, unreadable }) => [...numbers(heads), ...unreadable]);
  }

  /** Forgets an entry that is damaged. `key`: if it is known. False: that is under way already. */
  drop(id: number, low: number, high: number, key: string | undefined): boolean {
    if (this.#dropping.has(id)) return false;
    const { index, cache, heads } = this.#parts;
    const known = key ?? cache.get(id)?.response.key;
    this.#dropping.set(id, known);
    void this.#submit<void>(low, high, 0, undefined, async (resolve) => {
      // Removed, replaced or evicted meanwhile, and told by whoever did it.
      if (index.find(id, low, high) < 0) return null;
      const wanted = known === undefined && this.#parts.watched();
      const name = wanted ? (await heads.load(id, low, high))?.response.key : known;
      return {
        put: null,
        remove: [id],
        done: (dropped) => {
          cache.delete(id);
          if (dropped && name !== undefined && index.first(low, high) < 0) this.#parts.tell(name, 'removed');
          resolve();
        },
      };
    })
      .catch(() => {})
      .finally(() => this.#dropping.delete(id));
    return true;
  }

  /** Damaged entries that wait for their turn to go, with their keys, if known. */
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
          // If not, `failed` has said so.
          if (!removed) return;
          for (const id of remove) this.#parts.cache.delete(id);
          if (all.every((id) => remove.includes(id))) this.#parts.tell(key, 'removed');
          resolve(remove.length);
        },
      };
    });
  }

  /** The heads of a key, newest first, and the numbers of entries under its hash that cannot be read. */
  async #under(key: string, low: number, high: number): Promise<Under> {
    const { index, heads } = this.#parts;
    const found = [...(await heads.variants(key, low, high))];
    const unreadable: number[] = [];
    let readLater = false;
    for (let slot = index.first(low, high); slot >= 0; slot = index.following(slot)) {
      const id = index.ids[slot];
      if (found.some((head) => head.id === id)) continue;
      // Of another key of the same hash, or not to be read: reading it once more tells. And it may be well again by now.
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

  /** Puts a change into the row. `nothing` is the answer if, in its turn, there is nothing to do. */
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
