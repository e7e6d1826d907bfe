/** Blocks and their sums in JavaScript. Twin: assembly/codes/blocks.ts. */

import { type BlockMemory, SET } from './block-memory.ts';

export class ScriptBlocks implements BlockMemory {
  readonly kernel = 'javascript';
  readonly #words: number;
  #memory: Int32Array<ArrayBuffer>;

  /** `bytes` is the size of a slot, a multiple of 16. */
  constructor(bytes: number, slots: number) {
    this.#words = bytes / 4;
    this.#memory = new Int32Array(this.#words * slots);
  }

  reserve(slots: number): void {
    if (slots * this.#words <= this.#memory.length) return;
    const larger = new Int32Array(slots * this.#words);
    larger.set(this.#memory);
    this.#memory = larger;
  }

  slot(index: number): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.#memory.buffer, 4 * this.#words * index, 4 * this.#words);
  }

  run(program: Uint32Array, length: number): void {
    const memory = this.#memory;
    const words = this.#words;
    for (let at = 0; at < length; ) {
      const target = program[at] * words;
      const head = program[at + 1];
      at += 2;
      const stop = at + (head & ~SET);
      if (head >= SET) {
        const from = program[at++] * words;
        memory.copyWithin(target, from, from + words);
      }
      for (; at + 4 <= stop; at += 4) {
        const a = program[at] * words - target;
        const b = program[at + 1] * words - target;
        const c = program[at + 2] * words - target;
        const d = program[at + 3] * words - target;
        for (let i = target; i < target + words; i++) {
          memory[i] ^= memory[a + i] ^ memory[b + i] ^ memory[c + i] ^ memory[d + i];
        }
      }
      for (; at < stop; at++) {
        const a = program[at] * words - target;
        for (let i = target; i < target + words; i++) memory[i] ^= memory[a + i];
      }
    }
  }
}
