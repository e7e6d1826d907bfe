/**
 * Strings in a trie, for finding all those that begin at a place of a word. Made once: the edges of a node lie side by side,
 * and those of the root, which every walk begins with, are a table by letter. A map of (node, letter) was twice as slow,
 * and a table of all nodes by all letters would let a file of a few megabytes ask for gigabytes.
 */

export class PatternTrie {
  /** Code points of the strings, numbered. */
  readonly #letters = new Map<number, number>();
  readonly #root: Int32Array;
  /** The edges of node n are those from `#first[n]` to below `#first[n + 1]`. */
  readonly #first: Int32Array;
  readonly #edgeLetters: Int32Array;
  readonly #edgeTargets: Int32Array;
  /** The index of the string that ends in a node; -1: none. */
  readonly #ends: Int32Array;

  /** Strings as code points. Of equal ones the last counts. */
  constructor(strings: readonly (readonly number[])[]) {
    const nodes: Map<number, number>[] = [new Map()];
    const ends: number[] = [-1];
    let edges = 0;
    for (const [index, codes] of strings.entries()) {
      let node = 0;
      for (const code of codes) {
        const letter = this.#number(code);
        let next = nodes[node].get(letter);
        if (next === undefined) {
          next = nodes.push(new Map()) - 1;
          ends.push(-1);
          nodes[node].set(letter, next);
          edges++;
        }
        node = next;
      }
      ends[node] = index;
    }
    this.#ends = Int32Array.from(ends);
    this.#first = new Int32Array(nodes.length + 1);
    this.#edgeLetters = new Int32Array(edges);
    this.#edgeTargets = new Int32Array(edges);
    let edge = 0;
    for (const [node, targets] of nodes.entries()) {
      this.#first[node] = edge;
      for (const [letter, target] of targets) {
        this.#edgeLetters[edge] = letter;
        this.#edgeTargets[edge++] = target;
      }
    }
    this.#first[nodes.length] = edge;
    this.#root = new Int32Array(this.#letters.size);
    for (const [letter, target] of nodes[0]) this.#root[letter] = target;
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

  /** The node behind the edge with this letter, 0 if there is none. */
  #next(node: number, letter: number): number {
    const end = this.#first[node + 1];
    for (let edge = this.#first[node]; edge < end; edge++) {
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
