/**
 * A node of a rooted tree that finds services (survey 6.1, the Ninja service discovery): it knows
 * its own services exactly, and a filter for each child of everything below it. The union of all is
 * what it tells its parent.
 *
 * Soft state. A child tells its filter again and again, and one that was not heard for a lease is
 * dropped. Withdrawn services vanish in the same way: the next filter lacks them. A node with a
 * silent child is not complete, and tells its parent so with its filter. While the root is not
 * complete, a search that finds nothing ends with "unknown" and not with "absent". A node that has
 * just started names its children (`expectChild`), and is not complete until it has heard them all.
 *
 * The rule of a search: look here, then below each child whose filter has the query, then at the
 * parent, which does the same without the child that the query came from. After a false positive
 * the query goes back the way it came. All filters of a tree have one size, so those near the root
 * are the fullest; one that is full says yes to everything, and then all children are asked, which
 * is slow but correct.
 *
 * The expected number of nodes that a search below the root visits in vain is the sum of the rates
 * of all filters below it. The reason is that a child's filter has no bit that its parent's lacks,
 * so a key that passes the child has passed the parent.
 */

import { BloomFilter } from 'bloomery';
import { type Attributes, matches, pairKeys, queryKeys, subsetKeys } from './attributes.ts';

export interface TreeOptions {
  /** The bits and hashes of every filter in the tree. */
  readonly bits: number;
  readonly hashes: number;
  /** The longest subset of attributes that is a key; 1 for pairs, which queries ask as a filter. */
  readonly subsets: number;
  /** Time for which a silent child is believed. */
  readonly leaseMs: number;
}

interface Child {
  readonly filter: BloomFilter;
  readonly isComplete: boolean;
  readonly heardMs: number;
}

export class TreeNode {
  readonly #options: TreeOptions;
  readonly #services = new Map<string, Attributes>();
  readonly #children = new Map<string, Child | null>();

  constructor(options: TreeOptions) {
    this.#options = options;
  }

  announce(name: string, attributes: Attributes): void {
    this.#services.set(name, attributes);
  }

  withdraw(name: string): boolean {
    return this.#services.delete(name);
  }

  /** Names a child of this node. Until it is heard, the node is not complete. */
  expectChild(child: string): void {
    if (!this.#children.has(child)) this.#children.set(child, null);
  }

  /**
   * Takes the filter of a child, and whether it knows everything below it. Returns false if it is a
   * filter of another tree: it is not used, and the child counts as silent.
   */
  takeChild(child: string, filter: BloomFilter, isComplete: boolean, nowMs: number): boolean {
    // The name of a filter holds all of its parameters.
    const isLike = String(filter) === String(this.#empty());
    this.#children.set(child, isLike ? { filter, isComplete, heardMs: nowMs } : null);
    return isLike;
  }

  /** Drops the filters of children that were silent for longer than the lease. */
  expire(nowMs: number): void {
    for (const [name, child] of this.#children)
      if (child !== null && nowMs - child.heardMs > this.#options.leaseMs) this.#children.set(name, null);
  }

  /** A child has left for good, and is not missed. */
  dropChild(child: string): void {
    this.#children.delete(child);
  }

  /** Everything here and below: the filter for the parent. */
  unified(): BloomFilter {
    const { subsets } = this.#options;
    const filter = this.#empty();
    for (const attributes of this.#services.values())
      filter.addMany(subsets === 1 ? pairKeys(attributes) : subsetKeys(attributes, subsets));
    for (const child of this.#children.values()) if (child !== null) filter.merge(child.filter);
    return filter;
  }

  /** The query as a filter of its keys. */
  queryFilter(query: Attributes): BloomFilter {
    const { subsets } = this.#options;
    const filter = this.#empty();
    filter.addMany(subsets === 1 ? pairKeys(query) : queryKeys(query, subsets));
    return filter;
  }

  /** This node's services that have all pairs of a query. */
  here(query: Attributes): string[] {
    return [...this.#services].filter(([, service]) => matches(service, query)).map(([name]) => name);
  }

  /** The children below which the query may be answered, except one. */
  below(asked: BloomFilter, except: string | null = null): string[] {
    return [...this.#children]
      .filter(([name, child]) => name !== except && child !== null && asked.isSubsetOf(child.filter))
      .map(([name]) => name);
  }

  /** Whether no child here or below is silent, so that a search that finds nothing is right. */
  get isComplete(): boolean {
    return [...this.#children.values()].every((child) => child?.isComplete === true);
  }

  /** The filter of a child, for estimates. */
  childFilter(child: string): BloomFilter | null {
    return this.#children.get(child)?.filter ?? null;
  }

  #empty(): BloomFilter {
    const { bits, hashes } = this.#options;
    return new BloomFilter({ bits, hashes });
  }
}
