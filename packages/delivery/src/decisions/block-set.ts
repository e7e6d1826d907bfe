/**
 * A set of blocks: one bit each, and their number. Bits are numbered from the lowest of each word,
 * as the coders of the library have them.
 */
export class BlockSet {
  readonly blocks: number;
  readonly words: Uint32Array<ArrayBuffer>;
  #count = 0;

  constructor(blocks: number, words: Uint32Array = new Uint32Array(0)) {
    this.blocks = blocks;
    this.words = new Uint32Array(Math.ceil(blocks / 32));
    this.words.set(words.subarray(0, this.words.length));
    const spare = this.words.length * 32 - blocks;
    if (spare > 0) this.words[this.words.length - 1]! &= 0xffff_ffff >>> spare;
    for (const word of this.words) this.#count += onesOf(word);
  }

  static full(blocks: number): BlockSet {
    return new BlockSet(blocks, new Uint32Array(Math.ceil(blocks / 32)).fill(0xffff_ffff));
  }

  get size(): number {
    return this.#count;
  }

  get isFull(): boolean {
    return this.#count === this.blocks;
  }

  has(block: number): boolean {
    return ((this.words[block >>> 5] ?? 0) & (1 << (block & 31))) !== 0;
  }

  /** Adds a block. Returns whether it is new. */
  add(block: number): boolean {
    if (block < 0 || block >= this.blocks || this.has(block)) return false;
    this.words[block >>> 5]! |= 1 << (block & 31);
    this.#count++;
    return true;
  }

  /** Removes a block. Returns whether it was there. */
  delete(block: number): boolean {
    if (!this.has(block)) return false;
    this.words[block >>> 5]! &= ~(1 << (block & 31));
    this.#count--;
    return true;
  }

  [Symbol.iterator](): Generator<number> {
    return this.without(null);
  }

  /** The blocks that the other set lacks, in rising order. */
  *without(other: BlockSet | null): Generator<number> {
    for (let i = 0; i < this.words.length; i++) {
      let word = this.words[i]! & ~(other?.words[i] ?? 0);
      for (; word !== 0; word &= word - 1) yield i * 32 + 31 - Math.clz32(word & -word);
    }
  }
}

function onesOf(word: number): number {
  let x = word - ((word >>> 1) & 0x5555_5555);
  x = (x & 0x3333_3333) + ((x >>> 2) & 0x3333_3333);
  return Math.imul((x + (x >>> 4)) & 0x0f0f_0f0f, 0x0101_0101) >>> 24;
}
