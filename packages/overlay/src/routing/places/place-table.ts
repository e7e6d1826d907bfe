/**
 * The knowledge of the node of one cell about mobile hosts: those in its cell exactly, and a filter
 * for each sibling square of each level. That is 3 filters per level below the top, 3 log2(k) in
 * all for a region of side k, and the state grows with the logarithm of the region.
 *
 * The rule (survey 6.3): look here, then from the smallest level upwards for a sibling whose filter
 * may have the host, and go to its centre. The node there looks at smaller levels only. A square in
 * which nothing is found was a false positive, and the search goes on where it came from. In the
 * end the second tier takes over.
 */

import type { BloomFilter, KeyHash } from 'bloomery';
import { hashName } from '../decisions/route-table.ts';
import { type Cell, type Square, siblingsOf, squareName, squareOf } from './quad-tree.ts';

export class PlaceTable {
  readonly cell: Cell;
  readonly depth: number;
  readonly #hosts = new Set<string>();
  readonly #filters = new Map<string, BloomFilter>();

  constructor(cell: Cell, depth: number) {
    this.cell = cell;
    this.depth = depth;
  }

  /** A host has come into the cell. */
  enter(host: KeyHash): void {
    this.#hosts.add(hashName(host));
  }

  /** A host has left the cell. */
  leave(host: KeyHash): void {
    this.#hosts.delete(hashName(host));
  }

  holds(host: KeyHash): boolean {
    return this.#hosts.has(hashName(host));
  }

  /** Takes the filter of a sibling square. Returns false if the square is no sibling. */
  setFilter(square: Square, filter: BloomFilter): boolean {
    const own = squareOf(this.cell, square.level);
    const isSibling = siblingsOf(own).some((sibling) => squareName(sibling) === squareName(square));
    if (isSibling && square.level < this.depth) this.#filters.set(squareName(square), filter);
    return isSibling;
  }

  /** Number of filters. */
  get filters(): number {
    return this.#filters.size;
  }

  /** The sibling squares below a level that may have the host, smallest first. */
  leads(host: KeyHash, below: number): Square[] {
    const leads: Square[] = [];
    for (let level = 0; level < below; level++)
      for (const sibling of siblingsOf(squareOf(this.cell, level)))
        if (this.#filters.get(squareName(sibling))?.hasHash(host) === true) leads.push(sibling);
    return leads;
  }
}
