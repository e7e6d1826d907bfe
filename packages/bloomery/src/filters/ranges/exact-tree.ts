/**
 * The exact part of a range sketch: the counts of all dyadic intervals of the upper levels, as a
 * binary tree in one array. Node 1 is the whole universe. Node v is divided into the nodes 2v and
 * 2v+1. The 2^t leaves are the finest intervals that are counted exactly. Counts are doubles, exact
 * up to 2^53 - 1.
 */

import { viewOf } from '../../frames/envelope.ts';

export class ExactTree {
  readonly leaves: number;
  readonly #nodes: Float64Array;

  constructor(exactBits: number, nodes?: Float64Array) {
    this.leaves = 2 ** exactBits;
    this.#nodes = nodes ?? new Float64Array(2 * this.leaves);
  }

  get total(): number {
    return this.#nodes[1];
  }

  get byteLength(): number {
    return this.#nodes.byteLength;
  }

  /** The count of a node, by its number in the tree. */
  at(node: number): number {
    return this.#nodes[node];
  }

  /** Adds to a leaf and everything above it. A negative amount subtracts. */
  add(leaf: number, amount: number): void {
    for (let node = this.leaves + leaf; node > 0; node = Math.floor(node / 2)) this.#nodes[node] += amount;
  }

  /** The sum of the leaves from `first` to `last`. */
  sum(first: number, last: number): number {
    let sum = 0;
    let left = this.leaves + first;
    let right = this.leaves + last + 1;
    for (; left < right; left = Math.floor(left / 2), right = Math.floor(right / 2)) {
      if (left % 2 === 1) sum += this.#nodes[left++];
      if (right % 2 === 1) sum += this.#nodes[--right];
    }
    return sum;
  }

  /** The last leaf that is not 0, or leaf 0. */
  lastLeaf(): number {
    let leaf = this.leaves - 1;
    while (leaf > 0 && this.#nodes[this.leaves + leaf] === 0) leaf--;
    return leaf;
  }

  merge(other: ExactTree): void {
    for (let node = 1; node < this.#nodes.length; node++) this.#nodes[node] += other.#nodes[node];
  }

  equals(other: ExactTree): boolean {
    return this.#nodes.every((count, node) => count === other.#nodes[node]);
  }

  copy(): ExactTree {
    return new ExactTree(Math.log2(this.leaves), this.#nodes.slice());
  }

  clear(): void {
    this.#nodes.fill(0);
  }

  /** Writes the leaves, 8 bytes each, little-endian. */
  write(bytes: Uint8Array): void {
    const view = viewOf(bytes);
    for (let leaf = 0; leaf < this.leaves; leaf++) {
      view.setBigUint64(LEAF_BYTES * leaf, BigInt(this.#nodes[this.leaves + leaf]), true);
    }
  }

  /**
   * Reads the leaves into an empty tree and adds up the rest. Returns a description of what is
   * wrong with them, or undefined.
   */
  read(bytes: Uint8Array): string | undefined {
    const view = viewOf(bytes);
    const nodes = this.#nodes;
    for (let leaf = 0; leaf < this.leaves; leaf++) {
      nodes[this.leaves + leaf] = Number(view.getBigUint64(LEAF_BYTES * leaf, true));
    }
    for (let node = this.leaves - 1; node > 0; node--) nodes[node] = nodes[2 * node] + nodes[2 * node + 1];
    return this.total <= Number.MAX_SAFE_INTEGER ? undefined : `a total of ${this.total}`;
  }
}

export const LEAF_BYTES = 8;
