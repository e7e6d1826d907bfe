/**
 * The size of the arrays in a network that routes by attenuated filters. All nodes of a network
 * have the same plan: levels of different networks cannot be merged.
 *
 * Level i of an array holds the keys of the nodes at the end of walks of i hops. Walks may turn
 * back, so level 2 holds the keys of the node itself again. In a network of degree g these are
 * n(0) = 1, n(1) = g and n(i) = g (g - 1)^(i - 1) + n(i - 2) nodes at most: 1, 4, 13, 40 for g = 4.
 *
 * `bits` is the width of every level of an array that is passed on (AttenuatedBloomFilter says why
 * those cannot grow). `widths` are those of the folded form, in which a node that passes nothing on
 * keeps the arrays of its neighbours. They grow with n(i), in powers of two.
 *
 * The width is the largest that the memory allows, up to 20 bits per key of the deepest level.
 */

export interface RoutePlanOptions {
  /** Neighbours of a node. Default 4. */
  readonly degree?: number;
  /** Keys that a node announces, on average. */
  readonly objectsPerNode: number;
  /** d: how many hops away a key is found by filters. Default 3. */
  readonly levels?: number;
  /** The most bytes of arrays that a node may hold. Default 64 KiB. */
  readonly stateBytes?: number;
}

export interface RoutePlan {
  readonly levels: number;
  /** m of every level of an array that is passed on. */
  readonly bits: number;
  readonly hashes: number;
  /** m of each level in the folded form, nearest first. */
  readonly widths: readonly number[];
  /** Keys that each level is meant for. */
  readonly keys: readonly number[];
  /** Bytes of all arrays of a node that passes arrays on. */
  readonly stateBytes: number;
}

/** Arrays of its own that a node holds: the one it sent last, and two before that, for deltas. */
const OWN_ARRAYS = 3;
const MOST_BITS_PER_KEY = 20;
/**
 * Each key sets this number of bits at most, at each of the levels that it travels through, and
 * deltas carry all of them. With 20 bits per key, 6 hashes err 3 times in 10,000. 14 hashes err
 * once in 15,000, for 2.3 times the bytes of an update.
 */
const MOST_HASHES = 6;

/** Plans the arrays of a network. Throws if the memory is too small for a bit per key. */
export function planRoutes(options: RoutePlanOptions): RoutePlan {
  const { degree = 4, objectsPerNode, levels = 3, stateBytes = 64 * 1024 } = options;
  checkWhole('degree', degree, 1, 64);
  checkWhole('levels', levels, 1, 8);
  checkWhole('objectsPerNode', objectsPerNode, 1, 2 ** 24);
  const keys = nodesByLevel(degree, levels).map((nodes) => nodes * objectsPerNode);
  const deepest = keys[levels - 1];
  // Levels are folded into powers of two of the width, so it is a multiple of the largest of them.
  const folds = keys.map((count) => Math.min(16, Math.round(Math.log2(deepest / count))));
  const step = 32 * 2 ** Math.max(...folds);
  const arrays = degree + OWN_ARRAYS;
  const affordable = Math.floor((8 * stateBytes) / (arrays * levels * step)) * step;
  const wanted = Math.ceil((MOST_BITS_PER_KEY * deepest) / step) * step;
  const bits = Math.min(affordable, wanted);
  if (bits < deepest)
    throw new RangeError(
      `Cannot plan routes: expected at least ${Math.ceil((arrays * levels * deepest) / 8)} bytes of state for ${deepest} keys within ${levels} hops, got ${stateBytes}`,
    );
  const hashes = Math.max(1, Math.min(MOST_HASHES, Math.round((Math.LN2 * bits) / deepest)));
  return {
    levels,
    bits,
    hashes,
    widths: folds.map((fold) => bits / 2 ** fold),
    keys,
    stateBytes: (arrays * levels * bits) / 8,
  };
}

/** Upper bounds of the nodes at the end of walks of 0, 1, 2 … hops. */
export function nodesByLevel(degree: number, levels: number): number[] {
  const nodes: number[] = [];
  for (let i = 0; i < levels; i++)
    nodes.push(i === 0 ? 1 : degree * Math.max(1, degree - 1) ** (i - 1) + (nodes[i - 2] ?? 0));
  return nodes;
}

function checkWhole(name: string, value: number, least: number, most: number): void {
  if (!Number.isInteger(value) || value < least || value > most)
    throw new RangeError(
      `Cannot plan routes: expected ${name} to be an integer from ${least} to ${most}, got ${value}`,
    );
}
