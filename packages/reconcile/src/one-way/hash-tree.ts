/**
 * The tree of one set: a binary trie over the hashes of the keys in which nodes with a single child
 * are left out (a Patricia trie), so that n keys have n - 1 inner nodes. Hashing balances it: the
 * leaves lie log2 n + 1/3 nodes deep on average, whatever the keys are.
 *
 * A leaf has a value of 64 bits that depends on its key, and an inner node has the XOR of its
 * children's values. Equal subtrees of two sets have equal values, wherever they hang. Unequal ones
 * have equal values with probability 2^-64. For that, leaf values are a mixed form of the hash: the
 * tree is ordered by the hashes, so an XOR of the hashes themselves would depend on the place in
 * the tree.
 *
 * The nodes lie in typed arrays of 28 bytes per key. The tree is built once and does not change:
 * keys that come and go would need linked nodes, and sets that change all the time have `KeySet`.
 */

/** A child of an inner node: its number, or ~i for leaf i. */
type Child = number;

export interface HashTree {
  /** Number of leaves. */
  readonly size: number;
  /** The place of each leaf's key in its source. */
  readonly places: Uint32Array;
  /** Values of the leaves, lower and upper halves in turn. */
  readonly leaves: Int32Array;
  /** Values of the inner nodes. */
  readonly inner: Int32Array;
  readonly left: Int32Array;
  readonly right: Int32Array;
  /** The root, or null if there are no keys. */
  readonly root: Child | null;
}

/** Builds the tree from hashes, lower and upper halves in turn. Repeated hashes count once. */
export function hashTree(hashes: Int32Array): HashTree {
  const { words, places } = risingHashes(hashes);
  const size = places.length;
  const leaves = new Int32Array(2 * size);
  for (let i = 0; i < size; i++) setLeafValue(leaves, i, words[2 * i], words[2 * i + 1]);
  const count = Math.max(0, size - 1);
  const inner = new Int32Array(2 * count);
  const left = new Int32Array(count);
  const right = new Int32Array(count);
  const valueAt = (child: Child, half: number) =>
    child < 0 ? leaves[2 * ~child + half] : inner[2 * child + half];

  // Inner node i divides leaf i from leaf i + 1. It is the parent of its neighbours with longer
  // common prefixes. `open` holds the nodes whose right side is not complete, deepest last; their
  // prefixes grow, so there are never more than 64 of them.
  const open = new Int32Array(64);
  const prefixes = new Int32Array(64);
  let depth = 0;
  const close = (last: Child): number => {
    const node = open[--depth];
    right[node] = last;
    for (let half = 0; half < 2; half++)
      inner[2 * node + half] = valueAt(left[node], half) ^ valueAt(last, half);
    return node;
  };
  for (let i = 0; i < count; i++) {
    const prefix = commonPrefix(words, i);
    let last: Child = ~i;
    while (depth > 0 && prefixes[depth - 1] > prefix) last = close(last);
    left[i] = last;
    prefixes[depth] = prefix;
    open[depth++] = i;
  }
  let root: Child = ~count;
  while (depth > 0) root = close(root);
  return { size, places, leaves, inner, left, right, root: size === 0 ? null : root };
}

/** Number of leading bits in which hash i and the next one agree. */
function commonPrefix(words: Int32Array, i: number): number {
  const high = words[2 * i + 1] ^ words[2 * i + 3];
  return high !== 0 ? Math.clz32(high) : 32 + Math.clz32(words[2 * i] ^ words[2 * i + 2]);
}

/** A permutation of 64 bits in three rounds, so that different hashes have different values. */
function setLeafValue(leaves: Int32Array, i: number, low: number, high: number): void {
  let b = low ^ mix(high ^ 0x2545f491);
  const a = high ^ mix(b ^ 0x4f6cdd1d);
  b ^= mix(a ^ 0x1b873593);
  leaves[2 * i] = b;
  leaves[2 * i + 1] = a;
}

function mix(x: number): number {
  let z = Math.imul(x ^ (x >>> 16), 0x21f0aaad);
  z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
  return z ^ (z >>> 15);
}

interface PlacedHashes {
  readonly words: Int32Array;
  /** The place of each hash in the source. */
  readonly places: Uint32Array;
}

/** The hashes in rising order, each once and with its first place. */
function risingHashes(hashes: Int32Array): PlacedHashes {
  const { words, places } = sortedByHigh(hashes);
  let size = 0;
  for (let i = 0; i < places.length; i++) {
    const [low, high, place] = [words[2 * i], words[2 * i + 1], places[i]];
    // Few hashes share their upper half: 12,000 pairs of 10 million.
    let at = size;
    while (at > 0 && words[2 * at - 1] === high && low >>> 0 < words[2 * at - 2] >>> 0) at--;
    if (at > 0 && words[2 * at - 1] === high && words[2 * at - 2] === low) continue;
    if (at < size) {
      words.copyWithin(2 * at + 2, 2 * at, 2 * size);
      places.copyWithin(at + 1, at, size);
    }
    words[2 * at] = low;
    words[2 * at + 1] = high;
    places[at] = place;
    size++;
  }
  if (size === places.length) return { words, places };
  return { words: words.slice(0, 2 * size), places: places.slice(0, size) };
}

/**
 * The hashes in the order of their upper halves, by three passes of 11 bits that each keep the
 * order of the pass before. Hashes move together with their places: passes over places alone read
 * the hashes at random, and took three times the time for a million keys.
 */
function sortedByHigh(hashes: Int32Array): PlacedHashes {
  const count = hashes.length / 2;
  let from: PlacedHashes = { words: hashes, places: Uint32Array.from({ length: count }, (_, i) => i) };
  let to: PlacedHashes = { words: new Int32Array(2 * count), places: new Uint32Array(count) };
  const ends = new Uint32Array(2048);
  for (let shift = 0; shift < 32; shift += 11) {
    ends.fill(0);
    for (let i = 0; i < count; i++) ends[(hashes[2 * i + 1] >>> shift) & 2047]++;
    for (let d = 0, sum = 0; d < 2048; d++) {
      sum += ends[d];
      ends[d] = sum - ends[d];
    }
    for (let i = 0; i < count; i++) {
      const high = from.words[2 * i + 1];
      const at = ends[(high >>> shift) & 2047]++;
      to.words[2 * at] = from.words[2 * i];
      to.words[2 * at + 1] = high;
      to.places[at] = from.places[i];
    }
    // The caller's hashes are read and not written.
    const free = shift === 0 ? { words: new Int32Array(2 * count), places: from.places } : from;
    [from, to] = [to, free];
  }
  return from;
}
