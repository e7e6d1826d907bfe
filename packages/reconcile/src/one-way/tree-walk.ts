/**
 * The walk through a tree beside the summary of another one. It goes level by level, so that each
 * level is one batch for the kernel of the filter.
 */

import type { BloomFilter } from 'bloomery';
import type { HashTree } from './hash-tree.ts';

export interface TreeWalk {
  /** The leaves that the walk came to, by their numbers. */
  readonly leaves: Int32Array;
  /** Number of inner nodes that were looked up. */
  readonly visited: number;
}

/** Leaves below which no run of more than `correction` nodes seems to be in the other tree. */
export function walkTree(tree: HashTree, other: BloomFilter, correction: number): TreeWalk {
  const { size, inner, left, right, root } = tree;
  const leaves = new Int32Array(size);
  let count = 0;
  let visited = 0;
  // The inner nodes of a level, and how many of the nodes above each were hits in a row.
  let level = root === null || root < 0 ? new Int32Array(0) : Int32Array.of(root);
  let runs: Uint8Array = new Uint8Array(level.length);
  if (root !== null && root < 0) leaves[count++] = ~root;
  while (level.length > 0) {
    visited += level.length;
    const hits = other.hasMany({ scheme: other.scheme, words: valuesOf(inner, level), length: level.length });
    const next = new Int32Array(2 * level.length);
    const nextRuns = new Uint8Array(2 * level.length);
    let length = 0;
    for (let i = 0; i < level.length; i++) {
      const run = hits[i] === 0 ? 0 : runs[i] + 1;
      if (run > correction) continue;
      for (let side = 0; side < 2; side++) {
        const child = (side === 0 ? left : right)[level[i]];
        if (child < 0) leaves[count++] = ~child;
        else {
          next[length] = child;
          nextRuns[length++] = run;
        }
      }
    }
    level = next.slice(0, length);
    runs = nextRuns.subarray(0, length);
  }
  return { leaves: leaves.slice(0, count), visited };
}

/** The values of some nodes, lower and upper halves in turn. */
export function valuesOf(values: Int32Array, nodes: Int32Array): Int32Array {
  const words = new Int32Array(2 * nodes.length);
  for (let i = 0; i < nodes.length; i++) {
    words[2 * i] = values[2 * nodes[i]];
    words[2 * i + 1] = values[2 * nodes[i] + 1];
  }
  return words;
}
