/**
 * The keys that were changed: a Bloom filter in memory in front of the index on disk. Both are
 * derived from the log and never trusted: they are rebuilt at each start.
 *
 * A key is noted after its change is on the disk, and before the change is acknowledged. So the
 * filter may know a change that was lost, which costs one look into the index, and never lacks one
 * that was acknowledged. When more keys than expected were changed, the filter is rebuilt twice as
 * large from the hashes in the index, so it keeps its bits for each changed record.
 */

import { BloomFilter, type HashScheme, hashKey, type SecretKey } from 'bloomery';
import { optimalHashesInteger } from 'bloomery/math';
import { ChangeIndex, type IsKey } from './change-index.ts';

export interface ChangedKeysOptions {
  /** The folder for the scratch file of the index. */
  readonly folder: string;
  readonly bitsPerChange: number;
  /** Changed records that the filter is sized for at first. */
  readonly expected: number;
  readonly secret: SecretKey;
}

export class ChangedKeys {
  readonly #options: ChangedKeysOptions;
  readonly #scheme: HashScheme;
  readonly #index: ChangeIndex;
  #filter: BloomFilter | null = null;
  #capacity: number;

  constructor(options: ChangedKeysOptions) {
    this.#options = options;
    this.#scheme = options.secret.scheme;
    this.#index = new ChangeIndex(options.folder, options.expected);
    this.#capacity = options.expected;
  }

  /** The number of changed keys. */
  get count(): number {
    return this.#index.count;
  }

  /** Size of the filter in memory. */
  get filterBytes(): number {
    return Math.ceil((this.#filter?.bits ?? 0) / 8);
  }

  get filter(): BloomFilter {
    return this.#filter ?? this.#build();
  }

  /** False if the key was certainly not changed. */
  mayHave(key: string | Uint8Array): boolean {
    return this.filter.has(key);
  }

  /** The position of the latest change of the key: the read of the differential file. */
  find(key: Uint8Array, isKey: IsKey): number | undefined {
    return this.#index.get(hashKey(key, this.#scheme), isKey);
  }

  reserve(more: number): void {
    this.#index.reserve(more);
  }

  note(key: Uint8Array, position: number, isKey: IsKey): void {
    const hash = hashKey(key, this.#scheme);
    this.#index.set(hash, position, isKey);
    if (this.#filter === null) return;
    this.#filter.addHash(hash);
    if (this.#index.count > this.#capacity) this.#build();
  }

  /** Ends the loading: the index goes into its file, and the filter is built. */
  seal(): void {
    this.#index.seal();
    this.#build();
  }

  /** A new one with the keys whose latest change is at `from` or later. */
  since(from: number): ChangedKeys {
    const rest = new ChangedKeys({ ...this.#options, expected: this.#options.expected });
    try {
      for (const { low, high, position } of this.#index.slots()) {
        if (position < from) continue;
        rest.#index.reserve(1);
        // Keys with equal hashes are different keys here: each has its own slot.
        rest.#index.set({ low, high }, position, () => false);
      }
      rest.seal();
    } catch (error) {
      rest.close();
      throw error;
    }
    return rest;
  }

  close(): void {
    this.#index.close();
  }

  #build(): BloomFilter {
    const { bitsPerChange, expected } = this.#options;
    const count = this.#index.count;
    this.#capacity = count <= expected ? expected : Math.ceil(count * ROOM);
    const bits = Math.max(LEAST_BITS, Math.ceil(bitsPerChange * this.#capacity));
    const hashes = optimalHashesInteger(bits, this.#capacity);
    const filter = new BloomFilter({ bits, hashes, key: this.#options.secret });
    for (const { low, high } of this.#index.slots()) filter.addHash({ scheme: this.#scheme, low, high });
    this.#filter = filter;
    return filter;
  }
}

const LEAST_BITS = 64;
/** Room for more keys when the filter is rebuilt. */
const ROOM = 2;
