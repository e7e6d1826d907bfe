/**
 * Operations on a whole array of small counters: which are not zero, how it combines with another
 * array, and which counters became zero or non-zero since the changes were last taken. If changes
 * are tracked, as many change bits lie behind the counters. Both are in one store, because only one
 * store at a time is sure of its place in WebAssembly memory.
 *
 * The loops of counting.ts flip the change bits for each key. Operations on the whole array flip
 * them here.
 */

import { countOnes } from '../../kernel/bits/bit-operations.ts';
import { BitStore } from '../../kernel/bits/bit-store.ts';
import {
  type CombineCounters,
  combineCounters,
  countBothNonZero,
  countNonZero,
  countSaturated,
  noneLarger,
  nonZeroBits,
} from './counter-operations.ts';

export class CounterArray {
  readonly store: BitStore;
  readonly count: number;
  readonly counterBits: number;
  /** Index of the first word of the change bits; 0 if changes are not tracked. */
  readonly changesAt: number;
  readonly #counterWords: number;

  constructor(count: number, counterBits: number, trackChanges: boolean) {
    this.count = count;
    this.counterBits = counterBits;
    this.#counterWords = Math.ceil((count * counterBits) / 32);
    this.changesAt = trackChanges ? this.#counterWords : 0;
    this.store = BitStore.allocate(32 * this.#counterWords + (trackChanges ? count : 0));
  }

  /** The counters, as a view that is valid until the next batch, which may move the words. */
  get words(): Uint32Array {
    return this.store.words.subarray(0, this.#counterWords);
  }

  nonZeroCount(): number {
    return countNonZero(this.words, this.counterBits);
  }

  bothNonZeroCount(other: CounterArray): number {
    return countBothNonZero(this.words, other.words, this.counterBits);
  }

  saturatedCount(): number {
    return countSaturated(this.words, this.counterBits);
  }

  isWithin(other: CounterArray): boolean {
    return noneLarger(this.words, other.words, this.counterBits);
  }

  /** One bit per counter: 1 where it is not 0. */
  nonZeroBits(): BitStore {
    const bits = BitStore.allocate(this.count);
    nonZeroBits(this.words, this.counterBits, bits.words);
    return bits;
  }

  clear(): void {
    this.#atLarge(() => this.words.fill(0));
  }

  combine(other: CounterArray, combine: CombineCounters): void {
    this.#atLarge(() => combineCounters(this.words, other.words, this.counterBits, combine));
  }

  /**
   * The number of counters that were zero when the changes were last taken and are not now, or the
   * reverse.
   */
  changedCount(): number {
    return countOnes(this.#changes());
  }

  /** The positions of these counters, rising. Resets the changes. */
  takeChanges(): Float64Array {
    const changes = this.#changes();
    const positions = new Float64Array(countOnes(changes));
    let found = 0;
    for (let i = 0; i < changes.length; i++) {
      for (let word = changes[i]; word !== 0; word &= word - 1) {
        positions[found++] = 32 * i + 31 - Math.clz32(word & -word);
      }
    }
    changes.fill(0);
    return positions;
  }

  #changes(): Uint32Array {
    if (this.changesAt === 0) {
      throw new TypeError(
        'Cannot read changes: expected a filter made with trackChanges: true, got one without',
      );
    }
    return this.store.words.subarray(this.changesAt);
  }

  #atLarge(work: () => void): void {
    if (this.changesAt !== 0) this.#flipNonZero();
    work();
    if (this.changesAt !== 0) this.#flipNonZero();
  }

  #flipNonZero(): void {
    const { words } = this.nonZeroBits();
    const changes = this.#changes();
    for (let i = 0; i < words.length; i++) changes[i] ^= words[i];
  }
}
