/**
 * A tree of nodes with services, and searches in it. Nodes, filters and the rule are those of
 * routing/tree; the tree is complete, with the same number of children everywhere.
 */

import { type RandomStream, randomStream } from '@bloomery/sim';
import type { Attributes } from '../routing/tree/attributes.ts';
import { TreeNode, type TreeOptions } from '../routing/tree/tree-node.ts';

export interface TreeWorldOptions extends TreeOptions {
  readonly seed: number;
  readonly fanOut: number;
  /** Levels below the root. */
  readonly depth: number;
  readonly servicesPerNode: number;
  /** Attributes of a service, each with one of `values` values. */
  readonly attributes: number;
  readonly values: number;
}

export interface TreeSearch {
  readonly status: 'found' | 'absent' | 'unknown';
  /** The node that has a service, or null. */
  readonly node: number | null;
  /** Nodes that were visited. */
  readonly visits: number;
  /** Those of them, below a node that looked, that led to nothing. */
  readonly detours: number;
}

export class TreeWorld {
  readonly nodes: TreeNode[] = [];
  readonly random: RandomStream;
  readonly #options: TreeWorldOptions;

  constructor(options: TreeWorldOptions) {
    this.#options = options;
    this.random = randomStream(options.seed, 'tree world');
    const { fanOut, depth, servicesPerNode } = options;
    const count = fanOut === 1 ? depth + 1 : (fanOut ** (depth + 1) - 1) / (fanOut - 1);
    for (let number = 0; number < count; number++) {
      const node = new TreeNode(options);
      for (let i = 0; i < servicesPerNode; i++) node.announce(`service ${i}`, this.drawService());
      this.nodes.push(node);
      const parent = this.parentOf(number);
      if (parent !== null) this.nodes[parent].expectChild(String(number));
    }
  }

  /** A service with random attributes. */
  drawService(): Attributes {
    const { attributes, values } = this.#options;
    return Object.fromEntries(
      Array.from({ length: attributes }, (_, i) => [`a${i}`, `v${Math.floor(this.random() * values)}`]),
    );
  }

  parentOf(number: number): number | null {
    return number === 0 ? null : Math.floor((number - 1) / this.#options.fanOut);
  }

  /** All nodes tell their parents, from the leaves to the root. Those in `silent` do not. */
  tell(nowMs: number, silent: ReadonlySet<number> = new Set()): void {
    for (let number = this.nodes.length - 1; number > 0; number--) {
      if (silent.has(number)) continue;
      const node = this.nodes[number];
      node.expire(nowMs);
      this.nodes[this.parentOf(number)!].takeChild(String(number), node.unified(), node.isComplete, nowMs);
    }
    this.nodes[0].expire(nowMs);
  }

  /** Searches from a node: here and below, then upwards. */
  search(start: number, query: Attributes): TreeSearch {
    const asked = this.nodes[0].queryFilter(query);
    const state = { visits: 0, detours: 0 };
    let came: string | null = null;
    for (let at: number | null = start; at !== null; at = this.parentOf(at)) {
      const found = this.#look(at, query, asked, came, state);
      if (found !== null) return { status: 'found', node: found, ...state };
      came = String(at);
    }
    return { status: this.nodes[0].isComplete ? 'absent' : 'unknown', node: null, ...state };
  }

  #look(
    number: number,
    query: Attributes,
    asked: ReturnType<TreeNode['queryFilter']>,
    except: string | null,
    state: { visits: number; detours: number },
  ): number | null {
    const node = this.nodes[number];
    state.visits++;
    if (node.here(query).length > 0) return number;
    for (const child of node.below(asked, except)) {
      const found = this.#look(Number(child), query, asked, null, state);
      if (found !== null) return found;
      state.detours++;
    }
    return null;
  }
}
