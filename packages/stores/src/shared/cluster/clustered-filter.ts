/**
 * One filter for all processes of a fleet, spread over the nodes of a Redis Cluster: several
 * `SharedFilter`s, each in a slot of its own, and the hash of a key chooses one of them. A question
 * or an add concerns one part, so the promises of `SharedFilter` hold key by key: if one node is
 * away, its part becomes unsure, and the others answer as before.
 */

import { type HashScheme, hashKey, hashKeys, type Key, type KeyBatch } from 'bloomery';
import { partOf, splitByPart } from '../decisions/cluster-parts.ts';
import type { RebuildOptions } from '../rebuild-shared.ts';
import type { SharedFilter, SharedFilterStats, WaitOptions } from '../shared-filter.ts';
import type { SharedFilterState } from '../shared-state.ts';

export interface ClusteredFilterStats {
  readonly state: SharedFilterState;
  readonly capacity: number;
  readonly falsePositiveRate: number;
  readonly bytes: number;
  readonly estimatedSize: number;
  readonly pendingAdds: number;
  readonly parts: readonly SharedFilterStats[];
}

/** A source that is read once for each part. */
export type RereadableSource = () => AsyncIterable<Key> | Iterable<Key>;

export class ClusteredFilter implements AsyncDisposable {
  readonly name: string;
  readonly #parts: readonly SharedFilter[];
  readonly #scheme: HashScheme;
  readonly #size: { readonly capacity: number; readonly falsePositiveRate: number };

  /** @internal */
  constructor(
    name: string,
    parts: readonly SharedFilter[],
    scheme: HashScheme,
    size: { readonly capacity: number; readonly falsePositiveRate: number },
  ) {
    this.name = name;
    this.#parts = parts;
    this.#scheme = scheme;
    this.#size = size;
  }

  /** 'live' if all parts are; otherwise the state of the first part that is not. */
  get state(): SharedFilterState {
    return this.#parts.find(({ state }) => state !== 'live')?.state ?? 'live';
  }

  /** True if the key may have been added; see `has` of `SharedFilter`, which the part answers. */
  has(key: Key, { after }: { readonly after?: string } = {}): boolean {
    const part = this.#partOf(key);
    const id = after === undefined ? undefined : idsOf(after, this.#parts.length).get(part);
    return this.#parts[part].has(key, id === undefined ? {} : { after: id });
  }

  /** One byte per key, in order: 1 maybe, 0 certainly not. */
  hasMany(keys: KeyBatch): Uint8Array {
    const { words, length } = hashKeys(keys, this.#scheme);
    const answers = new Uint8Array(length);
    for (const [part, batch] of splitByPart(words, this.#parts.length).entries()) {
      if (batch.places.length === 0) continue;
      const some = this.#parts[part].hasMany(this.#hashes(batch.words));
      for (let i = 0; i < some.length; i++) answers[batch.places[i]] = some[i];
    }
    return answers;
  }

  /** Adds a key. This process knows it at once. Resolves with the id of the add. */
  async add(key: Key): Promise<string> {
    const part = this.#partOf(key);
    return `${part}:${await this.#parts[part].add(key)}`;
  }

  /** Adds many keys. Resolves with an id that stands for all of them. */
  async addMany(keys: KeyBatch): Promise<string> {
    const { words } = hashKeys(keys, this.#scheme);
    if (words.length === 0) throw new RangeError('Cannot add keys: expected at least one, got none');
    const batches = splitByPart(words, this.#parts.length);
    const ids = await Promise.all(
      batches.map(async (batch, part) =>
        batch.places.length === 0
          ? ''
          : `${part}:${await this.#parts[part].addMany(this.#hashes(batch.words))}`,
      ),
    );
    return ids.filter((id) => id !== '').join(',');
  }

  /** Resolves when the adds with this id are in the filter of this process. */
  async waitFor(id: string, options: WaitOptions = {}): Promise<void> {
    const ids = [...idsOf(id, this.#parts.length)];
    await Promise.all(ids.map(([part, one]) => this.#parts[part].waitFor(one, options)));
  }

  /** Resolves when all parts are live. */
  async ready(options: WaitOptions = {}): Promise<void> {
    await Promise.all(this.#parts.map((part) => part.ready(options)));
  }

  /**
   * Replaces the filter by one of the keys of `source`, part by part. The source is read once for
   * each part, so that a rebuild takes no memory for the keys.
   */
  async rebuild(source: RereadableSource, options: Pick<RebuildOptions, 'signal'> = {}): Promise<void> {
    for (const [part, filter] of this.#parts.entries())
      await filter.rebuild(this.#only(part, source()), options);
  }

  stats(): ClusteredFilterStats {
    const parts = this.#parts.map((part) => part.stats());
    const sum = (name: 'bytes' | 'estimatedSize' | 'pendingAdds') =>
      parts.reduce((total, part) => total + part[name], 0);
    return {
      state: this.state,
      ...this.#size,
      bytes: sum('bytes'),
      estimatedSize: sum('estimatedSize'),
      pendingAdds: sum('pendingAdds'),
      parts,
    };
  }

  /** Sends adds that wait, for at most `timeoutMs`, and closes the connections. */
  async close(options: { readonly timeoutMs?: number } = {}): Promise<void> {
    await Promise.all(this.#parts.map((part) => part.close(options)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async *#only(part: number, source: AsyncIterable<Key> | Iterable<Key>): AsyncIterable<Key> {
    for await (const key of source) if (this.#partOf(key) === part) yield key;
  }

  #partOf(key: Key): number {
    const { low, high } = hashKey(key, this.#scheme);
    return partOf(low, high, this.#parts.length);
  }

  #hashes(words: Int32Array) {
    return { scheme: this.#scheme, words, length: words.length / 2 };
  }
}

/** The ids of the parts in an id of this class. */
function idsOf(id: string, parts: number): Map<number, string> {
  const found = new Map<number, string>();
  for (const one of String(id).split(',')) {
    const [, part, rest] = /^(\d{1,5}):(.+)$/.exec(one) ?? [];
    if (rest === undefined || Number(part) >= parts) {
      throw new TypeError(
        `Cannot read an id: expected one that add() returned, got ${JSON.stringify(id)?.slice(0, 80)}`,
      );
    }
    found.set(Number(part), rest);
  }
  return found;
}
