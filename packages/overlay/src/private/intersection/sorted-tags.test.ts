import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { tagBytes } from './messages.ts';
import { decodeSortedTags, encodeSortedTags, sortedTagsBytes, toNumber } from './sorted-tags.ts';

const random = new Random(263);
const tagsOf = (count: number, size: number) => Array.from({ length: count }, () => random.bytes(size));

test('sorted tags come back, and their length depends on counts alone', () => {
  for (const count of [0, 1, 2, 3, 4, 5, 31, 32, 33, 100, 1000]) {
    for (const size of [5, 8, 11]) {
      const tags = tagsOf(count, size);
      const bytes = encodeSortedTags(tags, size);
      expect(bytes).toHaveLength(sortedTagsBytes(count, size));
      const sorted = tags.map(toNumber).sort((a, b) => (a < b ? -1 : 1));
      expect(decodeSortedTags(bytes, count, size)).toEqual(sorted);
    }
  }
  expect(sortedTagsBytes(1000, 8)).toBe(7064);
});

test('equal tags, and the smallest and largest ones, come back', () => {
  const tags = [new Uint8Array(6), new Uint8Array(6), new Uint8Array(6).fill(255)];
  expect(decodeSortedTags(encodeSortedTags(tags, 6), 3, 6)).toEqual([0n, 0n, 2n ** 48n - 1n]);
});

test('every changed bit is refused, or gives other tags', () => {
  const bytes = encodeSortedTags(tagsOf(9, 5), 5);
  const truth = decodeSortedTags(bytes, 9, 5);
  let refused = 0;
  for (let bit = 0; bit < 8 * bytes.length; bit++) {
    const changed = bytes.slice();
    changed[bit >> 3] ^= 1 << (bit & 7);
    try {
      expect(decodeSortedTags(changed, 9, 5)).not.toEqual(truth);
    } catch (error) {
      expect(error).toMatchObject({ name: 'IntersectionError', code: 'malformed' });
      refused++;
    }
  }
  // Each of the 17 bits of the upper part and the padding changes the number of ones.
  expect(refused).toBeGreaterThanOrEqual(17);
});

test('tagBytes keeps the false match of a whole session below 2^-40', () => {
  for (const a of [0, 1, 2, 3, 1000, 1024, 1025, 2 ** 24]) {
    for (const b of [0, 1, 7, 1000, 2 ** 20]) {
      const size = tagBytes(a, b);
      expect(Math.log2(Math.max(1, a) * Math.max(1, b)) - 8 * size).toBeLessThanOrEqual(-40);
      expect(size).toBeLessThanOrEqual(11);
    }
  }
  expect(tagBytes(1000, 1000)).toBe(8);
});
