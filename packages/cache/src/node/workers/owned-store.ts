/**
 * The store of one worker. It is the worker's own store, except that keys of other workers are
 * removed by their owners. A POST to one URL can invalidate another (Location and Content-Location,
 * RFC 9111, 4.4), which may belong to another worker.
 *
 * `passing` is for requests whose owner is being restarted. Nothing is ever found, so the answer
 * comes from the origin, and a second copy of a key is never served. Invalidations still reach the
 * owner.
 */

import type { StoredResponse } from '../../policy/stored-response.ts';
import type { KeyListener } from '../../store/key-listeners.ts';
import type {
  BodyReader,
  BodyWishes,
  BodyWriter,
  ResponseStore,
  StoreStatistics,
} from '../../store/response-store.ts';

export interface KeyOwner {
  owns(key: string): boolean;
  removeElsewhere(key: string): Promise<number>;
}

export class OwnedStore implements ResponseStore {
  readonly #inner: ResponseStore;
  readonly #owner: KeyOwner;
  readonly #passing: boolean;

  constructor(inner: ResponseStore, owner: KeyOwner, { passing = false } = {}) {
    this.#inner = inner;
    this.#owner = owner;
    this.#passing = passing;
  }

  get statistics(): StoreStatistics {
    return this.#inner.statistics;
  }

  find(key: string): readonly StoredResponse[] | Promise<readonly StoredResponse[]> {
    return this.#passing ? [] : this.#inner.find(key);
  }

  peek(key: string): readonly StoredResponse[] | Promise<readonly StoredResponse[]> {
    return this.#passing ? [] : this.#inner.peek(key);
  }

  bodyInMemory(response: StoredResponse): Uint8Array | undefined {
    return this.#inner.bodyInMemory(response);
  }

  read(response: StoredResponse, start?: number, end?: number): BodyReader {
    return this.#inner.read(response, start, end);
  }

  create(key: string, expectedLength: number | undefined, wishes?: BodyWishes): BodyWriter {
    return this.#inner.create(key, expectedLength, wishes);
  }

  refresh(old: StoredResponse, fresh: StoredResponse): Promise<boolean> | boolean {
    return this.#inner.refresh(old, fresh);
  }

  remove(response: StoredResponse): Promise<number> | number {
    return this.#inner.remove(response);
  }

  removeKey(key: string): Promise<number> | number {
    return this.#owner.owns(key) ? this.#inner.removeKey(key) : this.#owner.removeElsewhere(key);
  }

  watch(listener: KeyListener): () => void {
    return this.#inner.watch(listener);
  }

  keys(): Iterable<string> | AsyncIterable<string> {
    return this.#inner.keys();
  }

  close(): Promise<void> {
    return this.#inner.close();
  }
}
