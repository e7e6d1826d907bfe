/**
 * The filter that every member holds: blocked Bloom filters of growing size (stage-plan.ts). A key
 * goes into the newest stage unless an older one may have it.
 *
 * Blocked, because a member asks it millions of times a second and each question then reads one
 * cache line per stage. We refused `ScalableBloomFilter`: its stages are classic filters, and it
 * does not merge. Here merging is needed (a member that was away brings what it knows), and the
 * sizes of the stages are the same at every member, so stage i of one is OR-ed into stage i of the
 * other. Two members may put the same key into different stages; merged, the key is in both, which
 * costs a little room and no correctness.
 */

import {
  BlockedBloomFilter,
  type HashOptions,
  type HashScheme,
  hashKey,
  hashKeys,
  hashScheme,
  type Key,
  type KeyBatch,
  type KeyHashes,
} from 'bloomery';
import { type StageSize, stageSize } from './decisions/stage-plan.ts';

interface Stage {
  readonly filter: BlockedBloomFilter;
  readonly capacity: number;
  /** Keys that were certainly new to this stage; an estimate for a stage that was loaded. */
  count: number;
}

export class StagedFilter {
  readonly size: StageSize;
  readonly scheme: HashScheme;
  readonly #hash: HashOptions;
  /** Oldest first. */
  readonly #stages: Stage[] = [];

  constructor(size: StageSize, hash: HashOptions) {
    this.size = { capacity: size.capacity, falsePositiveRate: size.falsePositiveRate };
    this.#hash = hash;
    this.scheme = hashScheme(hash);
    this.#grow();
  }

  /** Reads the frames of `encode`. Throws a `FrameError` or `RangeError` if they do not fit. */
  static decode(frames: readonly Uint8Array[], size: StageSize, hash: HashOptions): StagedFilter {
    const staged = new StagedFilter(size, hash);
    for (const [i, frame] of frames.entries()) {
      if (i > 0) staged.#grow();
      const stage = staged.#stages[i];
      const { key } = hash;
      stage.filter.merge(BlockedBloomFilter.decode(frame, key === undefined ? {} : { key }));
      stage.count = countOf(stage);
    }
    return staged;
  }

  /** The frames of the stages, oldest first. */
  encode(): Uint8Array[] {
    return this.#stages.map(({ filter }) => filter.encode());
  }

  /** True if the key may have been added, false if it certainly was not. */
  has(key: Key): boolean {
    if (this.#stages.length === 1) return this.#stages[0].filter.has(key);
    const hash = hashKey(key, this.scheme);
    return this.#stages.some(({ filter }) => filter.hasHash(hash));
  }

  /** One byte per key, in order: 1 maybe, 0 certainly not. */
  hasMany(keys: KeyBatch): Uint8Array {
    if (this.#stages.length === 1) return this.#stages[0].filter.hasMany(keys);
    return this.#holders(this.#stages, hashKeys(keys, this.scheme));
  }

  /** Adds hashes, given as low and high halves in turn. Returns how many were certainly new. */
  addWords(words: Int32Array): number {
    let fresh = 0;
    for (let from = 0; from < words.length; ) {
      const newest = this.#newest();
      const most = 2 * Math.max(1, Math.min(newest.capacity - newest.count, MOST_AT_ONCE));
      const part = words.subarray(from, from + most);
      from += part.length;
      const added = newest.filter.addMany(this.#unknownTo(this.#stages.slice(0, -1), part));
      newest.count += added;
      fresh += added;
    }
    return fresh;
  }

  /** Adds all keys of another filter of the same sizes. */
  merge(other: StagedFilter): void {
    for (const [i, { filter }] of other.#stages.entries()) {
      if (i === this.#stages.length) this.#grow();
      const stage = this.#stages[i];
      stage.filter.merge(filter);
      stage.count = countOf(stage);
    }
  }

  /** Whether the other filter has every bit of this one, stage by stage. */
  isSubsetOf(other: StagedFilter): boolean {
    return this.#stages.every(({ filter }, i) =>
      i < other.#stages.length ? filter.isSubsetOf(other.#stages[i].filter) : filter.onesCount() === 0,
    );
  }

  copy(): StagedFilter {
    const copy = new StagedFilter(this.size, this.#hash);
    copy.merge(this);
    return copy;
  }

  get stages(): number {
    return this.#stages.length;
  }

  get byteLength(): number {
    return this.#stages.reduce((sum, { filter }) => sum + filter.byteLength, 0);
  }

  /** The keys that went in, by counts and estimates. */
  get count(): number {
    return this.#stages.reduce((sum, { count }) => sum + count, 0);
  }

  /** Estimates the current rate of all stages together. Reads all bits. */
  estimatedFalsePositiveRate(): number {
    return 1 - this.#stages.reduce((rest, { filter }) => rest * (1 - filter.estimatedFalsePositiveRate()), 1);
  }

  #newest(): Stage {
    const newest = this.#stages[this.#stages.length - 1];
    return newest.count < newest.capacity ? newest : this.#grow();
  }

  #grow(): Stage {
    const { capacity, falsePositiveRate } = stageSize(this.size, this.#stages.length);
    const filter = BlockedBloomFilter.forCapacity({ capacity, falsePositiveRate, ...this.#hash });
    const stage = { filter, capacity, count: 0 };
    this.#stages.push(stage);
    return stage;
  }

  #holders(stages: readonly Stage[], hashes: KeyHashes): Uint8Array {
    const held = stages[0].filter.hasMany(hashes);
    for (const { filter } of stages.slice(1)) {
      const more = filter.hasMany(hashes);
      for (let i = 0; i < held.length; i++) held[i] |= more[i];
    }
    return held;
  }

  #unknownTo(stages: readonly Stage[], words: Int32Array): KeyHashes {
    const hashes = { scheme: this.scheme, words, length: words.length / 2 };
    if (stages.length === 0) return hashes;
    const held = this.#holders(stages, hashes);
    const rest = new Int32Array(words.length);
    let length = 0;
    for (let i = 0; i < held.length; i++) {
      if (held[i] === 1) continue;
      rest[2 * length] = words[2 * i];
      rest[2 * length + 1] = words[2 * i + 1];
      length++;
    }
    return { scheme: this.scheme, words: rest.subarray(0, 2 * length), length };
  }
}

/** Hashes that go into a stage before its count is looked at again. */
const MOST_AT_ONCE = 65_536;

/** An estimate from the bits. A stage without zeros is full. */
function countOf({ filter, capacity }: Stage): number {
  const estimate = Math.round(filter.estimatedSize());
  return Number.isFinite(estimate) ? estimate : capacity;
}
