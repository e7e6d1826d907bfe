/**
 * Approximate reconciliation trees (Byers, Considine, Mitzenmacher 2002; survey 5.2): B sends the
 * summary of its tree, and A walks its own tree from the root. A node that is certainly not in B's
 * tree has a difference below it, so the walk goes on to its children. A node that seems to be
 * there ends the walk after c + 1 such nodes in a row. A leaf that is certainly not in B's tree is
 * a key that B lacks.
 *
 * What it promises. Every key that is reported is missing at B. Keys are missed where false
 * positives prune the way to them, and with probability n²/2^64 by a collision of hashes. A higher
 * correction level c finds more keys and visits more nodes.
 *
 * Its point is that the walk visits O(d log n) nodes for d differences, where a plain filter is
 * asked about all n keys: 3 ms instead of 56 ms of processor time for a million keys, 100
 * differences and c = 2. We do not use it ourselves. At equal bytes it never finds more than a
 * plain filter (80 % against 98 % here), and building the tree takes 215 ms, so it pays only if
 * the tree is kept. bench/results/reconcile-methods.md has all sizes.
 */

import {
  BloomFilter,
  type HashOptions,
  type HashScheme,
  hashScheme,
  type Key,
  type PackedKeys,
} from 'bloomery';
import { type KeySource, keySource } from '../sets/key-source.ts';
import { checkBits } from './bloom-summary.ts';
import { type HashTree, hashTree } from './hash-tree.ts';
import { bestLeafBits, hashesFor } from './tree-plan.ts';
import { TreeSummary } from './tree-summary.ts';
import { valuesOf, walkTree } from './tree-walk.ts';

export interface TreeSummaryOptions {
  /** Bits per key of both filters together. Default 8. */
  readonly bitsPerKey?: number;
  /** Correction level that the reader will use; the bits are divided for it. Default 2. */
  readonly correction?: number;
  /** Bits per key of the filter of leaves. Default: the number that finds most, by formula. */
  readonly leafBits?: number;
}

export interface TreeSearchOptions {
  /** Correction level c, from 0 to 64. Default 2. */
  readonly correction?: number;
}

export interface TreeSearch {
  /** Keys that the sender of the summary certainly lacks, in the order in which they were given. */
  readonly keys: readonly Key[];
  /** Number of inner nodes and leaves that were looked up. */
  readonly visited: number;
}

export class ReconciliationTree {
  readonly #source: KeySource;
  readonly #hashing: HashOptions;
  readonly #scheme: HashScheme;
  readonly #tree: HashTree;

  /** A tree of these keys. Both sides must use the same seed or key. */
  constructor(keys: Iterable<Key> | PackedKeys, options: HashOptions = {}) {
    this.#source = keySource(keys);
    this.#hashing = options;
    this.#scheme = hashScheme(options);
    this.#tree = hashTree(this.#source.hashes(this.#scheme));
  }

  /** Number of distinct keys. */
  get size(): number {
    return this.#tree.size;
  }

  /** The message for the other side. */
  summary(options: TreeSummaryOptions = {}): TreeSummary {
    const { bitsPerKey = 8, correction = 2 } = options;
    checkBits('bitsPerKey', bitsPerKey);
    checkCorrection(correction);
    const { leafBits = bestLeafBits(this.size, bitsPerKey, correction) } = options;
    if (!(leafBits > 0 && leafBits < bitsPerKey))
      throw new RangeError(
        `Cannot reconcile: expected leafBits above 0 and below ${bitsPerKey}, got ${leafBits}`,
      );
    const { leaves, inner } = this.#tree;
    return new TreeSummary(this.#filter(leaves, leafBits), this.#filter(inner, bitsPerKey - leafBits));
  }

  /** Searches the keys that the sender of a summary lacks. */
  surelyMissing(summary: TreeSummary, { correction = 2 }: TreeSearchOptions = {}): TreeSearch {
    checkCorrection(correction);
    const scheme = this.#scheme;
    if (summary.leaves.scheme.id !== scheme.id)
      throw new RangeError(
        `Cannot reconcile: expected a summary with ${scheme.id}, got ${summary.leaves.scheme.id}`,
      );
    const { leaves, visited } = walkTree(this.#tree, summary.inner, correction);
    const words = valuesOf(this.#tree.leaves, leaves);
    const passed = summary.leaves.hasMany({ scheme, words, length: leaves.length });
    const places = leaves.filter((_, i) => passed[i] === 0).map((leaf) => this.#tree.places[leaf]);
    return {
      keys: Array.from(places.sort(), (place) => this.#source.keyAt(place)),
      visited: visited + leaves.length,
    };
  }

  #filter(words: Int32Array, bitsPerKey: number): BloomFilter {
    const bits = Math.max(1, Math.round(bitsPerKey * this.size));
    const filter = new BloomFilter({ ...this.#hashing, bits, hashes: hashesFor(bitsPerKey) });
    filter.addMany({ scheme: filter.scheme, words, length: words.length / 2 });
    return filter;
  }
}

function checkCorrection(correction: number): void {
  if (!Number.isInteger(correction) || correction < 0 || correction > 64)
    throw new RangeError(`Cannot reconcile: expected a correction from 0 to 64, got ${correction}`);
}
