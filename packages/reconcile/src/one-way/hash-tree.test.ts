import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { type HashTree, hashTree } from './hash-tree.ts';

/** The places of leaves in the order of a naive trie, as nested pairs: one bit after the other. */
type Nested = number | readonly [Nested, Nested];

function naive(words: Int32Array, places: readonly number[], bit = 0): Nested {
  if (places.length === 1) return places[0];
  const one = (place: number) => ((words[2 * place + (bit < 32 ? 1 : 0)] >>> (31 - (bit & 31))) & 1) === 1;
  const zeros = places.filter((place) => !one(place));
  const ones = places.filter(one);
  if (zeros.length === 0 || ones.length === 0) return naive(words, places, bit + 1);
  return [naive(words, zeros, bit + 1), naive(words, ones, bit + 1)];
}

function nested(tree: HashTree, child: number): Nested {
  const { left, right, places } = tree;
  if (child < 0) return places[~child];
  return [nested(tree, left[child]), nested(tree, right[child])];
}

test('hashTree has the shape of a naive trie without single children', () => {
  const random = new Random(1);
  for (let size = 1; size < 60; size++) {
    const words = Int32Array.from({ length: 2 * size }, (_, i) =>
      // Upper halves from few values, so that the lower halves decide as well.
      i % 2 === 1 && size % 3 === 0 ? random.below(4) << 30 : random.bits(),
    );
    const tree = hashTree(words);
    const all = Array.from({ length: size }, (_, place) => place);
    expect(nested(tree, tree.root as number)).toEqual(naive(words, all));
  }
});

test('hashTree: an inner value is the XOR of the leaves below, and leaf values are distinct', () => {
  const random = new Random(2);
  const tree = hashTree(Int32Array.from({ length: 2000 }, () => random.bits()));
  const { leaves, inner, left, right } = tree;
  const sums = (child: number): [number, number] => {
    if (child < 0) return [leaves[2 * ~child], leaves[2 * ~child + 1]];
    const [a, b] = [sums(left[child]), sums(right[child])];
    const both: [number, number] = [a[0] ^ b[0], a[1] ^ b[1]];
    expect([inner[2 * child], inner[2 * child + 1]]).toEqual(both);
    return both;
  };
  sums(tree.root as number);
  const values = Array.from({ length: 1000 }, (_, i) => `${leaves[2 * i]} ${leaves[2 * i + 1]}`);
  expect(new Set(values).size).toBe(1000);
  expect(inner).toHaveLength(2 * 999);
});

test('hashTree: equal subtrees have equal values in trees of other sets', () => {
  const random = new Random(3);
  const words = Int32Array.from({ length: 400 }, () => random.bits());
  const less = hashTree(words.subarray(2));
  const values = ({ inner }: HashTree) =>
    new Set(Array.from({ length: inner.length / 2 }, (_, i) => `${inner[2 * i]} ${inner[2 * i + 1]}`));
  const common = [...values(hashTree(words))].filter((value) => values(less).has(value));
  // One key more changes the values on the way to its leaf, and no other ones.
  expect(common.length).toBeGreaterThan(199 - 20);
  expect(common.length).toBeLessThan(199);
});

test('hashTree: repeated hashes count once, by their first place', () => {
  const words = Int32Array.of(5, 1, 4, 1, 5, 1, 4, 1, 5, -1);
  const tree = hashTree(words);
  expect(tree.size).toBe(3);
  expect([...tree.places]).toEqual([1, 0, 4]);
  expect(hashTree(new Int32Array(0))).toMatchObject({ size: 0, root: null });
  expect(hashTree(Int32Array.of(9, 9, 9, 9))).toMatchObject({ size: 1, root: ~0 });
});
