/**
 * The memory of blocks in which both kernels work, and the programs that they run on it.
 *
 * A memory is a row of slots of equal size. A program is a list of sums: the number of the target
 * slot, the number of sources, the sources. The target gets the XOR of itself and the sources; with
 * `SET` in the number of sources its former contents do not count. A whole decoding is a few
 * programs, so a kernel is entered seldom.
 */

/** Flag in the number of sources: the sum replaces the target. */
export const SET = 0x80000000;
/** Words in a program that one call runs. The WebAssembly memory has room for as many. */
export const PROGRAM_WORDS = 16384;

export interface BlockMemory {
  readonly kernel: 'wasm' | 'javascript';
  /** Makes room for at least this many slots. Views from `slot` are void after it. */
  reserve(slots: number): void;
  /** A view of a slot, until the next `reserve`. */
  slot(index: number): Uint8Array<ArrayBuffer>;
  /** Runs the first `length` words of a program of at most `PROGRAM_WORDS`. */
  run(words: Uint32Array, length: number): void;
}

/** Collects sums and runs them in programs. */
export class BlockProgram {
  readonly #memory: BlockMemory;
  readonly #words = new Uint32Array(PROGRAM_WORDS);
  #length = 0;
  #head = 0;
  #sums = 0;

  constructor(memory: BlockMemory) {
    this.#memory = memory;
  }

  /** Blocks that were added to others, or copied, by all programs so far. */
  get sums(): number {
    return this.#sums;
  }

  /** Begins a sum. The sources follow by `source`. */
  target(slot: number, replaces = false): void {
    if (this.#length + 3 > PROGRAM_WORDS) this.finish();
    this.#head = this.#length;
    this.#words[this.#length] = slot;
    this.#words[this.#length + 1] = replaces ? SET : 0;
    this.#length += 2;
  }

  source(slot: number): void {
    if (this.#length === PROGRAM_WORDS) {
      const target = this.#words[this.#head];
      this.finish();
      this.target(target);
    }
    this.#words[this.#length++] = slot;
    this.#words[this.#head + 1]++;
    this.#sums++;
  }

  /** Runs the sums that were not run yet. */
  finish(): void {
    if (this.#length > 0) this.#memory.run(this.#words, this.#length);
    this.#length = 0;
  }
}
