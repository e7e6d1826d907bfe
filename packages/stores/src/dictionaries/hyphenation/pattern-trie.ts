/**
 * A trie that finds all strings that begin at a given place of a word. It is built once. The edges
 * of a node lie next to each other, sorted by letter. The edges of the root, where every walk
 * begins, are a table by letter. We tried a map of (node, letter), which was twice as slow. A table
 * of all nodes by all letters would let a file of a few megabytes ask for gigabytes. Nodes usually
 * have few edges, but in an untrusted file they may have hundreds of thousands, so edges are found
 * by binary search.
 */

export class PatternTrie {
  /** Code points of the strings, numbered. */
  readonly #letters = new Map<number, number>();
  readonly #root: Int32Array;
  /** The edges of node n are those from `#first[n]` to below `#first[n + 1]`. */
  readonly #first: Int32Array;
  readonly #edgeLetters: Int32Array;
  readonly #edgeTargets: Int32Array;
  /** The index of the string that ends in a node, or -1. */
  readonly #ends: Int32Array;

  /** Takes strings as code points. If a string comes twice, the last one counts. */
  constructor(strings: readonly (readonly number[])[]) {
    // One map for all edges: a map per node would take a quarter of a kilobyte per letter.
    const edges = new Map<number, number>();
    const ends: number[] = [-1];
    for (const [index, codes] of strings.entries()) {
      let node = 0;
      for (const code of codes) {
        const edge = node * LETTERS + this.#number(code);
        let next = edges.get(edge);
        if (next === undefined) {
          next = ends.push(-1) - 1;
          edges.set(edge, next);
        }
        node = next;
      }
      ends[node] = index;
    }
    this.#ends = Int32Array.from(ends);
    this.#first = new Int32Array(ends.length + 1);
    this.#edgeLetters = new Int32Array(edges.size);
    this.#edgeTargets = new Int32Array(edges.size);
    this.#root = new Int32Array(this.#letters.size);
    for (const [at, edge] of Float64Array.from(edges.keys()).sort().entries()) {
      const node = Math.floor(edge / LETTERS);
      const letter = edge % LETTERS;
      const target = edges.get(edge) as number;
      this.#first[node + 1] = at + 1;
      this.#edgeLetters[at] = letter;
      this.#edgeTargets[at] = target;
      if (node === 0) this.#root[letter] = target;
    }
    // Nodes without edges begin where the one before them ends.
    for (let node = 1; node <= ends.length; node++)
      this.#first[node] = Math.max(this.#first[node], this.#first[node - 1]);
  }

  /** Visits the strings that occur in `codes`: the index of each, and where it begins. */
  eachMatch(codes: readonly number[], visit: (index: number, at: number) => void): void {
    const letters = codes.map((code) => this.#letters.get(code) ?? -1);
    for (let at = 0; at < letters.length; at++) {
      let node = letters[at] < 0 ? 0 : this.#root[letters[at]];
      for (let i = at + 1; node !== 0; node = i < letters.length ? this.#next(node, letters[i++]) : 0) {
        if (this.#ends[node] >= 0) visit(this.#ends[node], at);
      }
    }
  }

  /** The node at the end of the edge with this letter, or 0 if there is none. */
  #next(node: number, letter: number): number {
    const end = this.#first[node + 1];
    let low = this.#first[node];
    for (let high = end; high - low > FEW; ) {
      const middle = (low + high) >>> 1;
      if (this.#edgeLetters[middle] <= letter) low = middle;
      else high = middle;
    }
    for (let edge = low; edge < end && this.#edgeLetters[edge] <= letter; edge++) {
      if (this.#edgeLetters[edge] === letter) return this.#edgeTargets[edge];
    }
    return 0;
  }

  #number(code: number): number {
    const known = this.#letters.get(code);
    if (known !== undefined) return known;
    this.#letters.set(code, this.#letters.size);
    return this.#letters.size - 1;
  }
}

/** More than the number of code points. */
const LETTERS = 2 ** 21;
/** Up to this many edges are searched one by one. */
const FEW = 8;
