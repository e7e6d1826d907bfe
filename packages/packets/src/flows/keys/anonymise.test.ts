import { withEffort } from '@bloomery/testkit/effort';
import { expectBinomial, Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { createAnonymiser } from './anonymise.ts';

const SECRET = Uint8Array.from({ length: 16 }, (_, i) => i);

/** Leading bits that two addresses share. */
function shared(a: Int32Array, b: Int32Array): number {
  for (const [i, word] of a.entries()) if (word !== b[i]) return 32 * i + Math.clz32(word ^ b[i]);
  return 32 * a.length;
}

test('pseudonyms share exactly the prefixes that addresses share', () => {
  const random = new Random(1);
  const anonymise = createAnonymiser(SECRET);
  for (const words of [1, 4]) {
    for (let i = 0; i < withEffort(200, 50); i++) {
      const a = Int32Array.from({ length: words }, () => random.bits());
      const b = a.slice();
      const bit = random.below(32 * words);
      b[bit >> 5] ^= 1 << (31 - (bit & 31));
      // The bits after the first difference are arbitrary.
      for (let word = (bit >> 5) + 1; word < words; word++) b[word] = random.bits();
      expect(shared(a, b)).toBe(bit);
      expect(shared(anonymise(a), anonymise(b))).toBe(bit);
      expect(anonymise(a)).toEqual(anonymise(a));
    }
  }
});

test('half of the bits change, by another key others', () => {
  const random = new Random(2);
  const [one, other] = [createAnonymiser(SECRET), createAnonymiser(SECRET.map((byte) => byte ^ 1))];
  const rounds = withEffort(300, 300);
  let [changed, differ] = [0, 0];
  const ones = (word: number) => word.toString(2).replaceAll('0', '').length;
  for (let i = 0; i < rounds; i++) {
    const address = Int32Array.of(random.bits());
    changed += ones((address[0] ^ one(address)[0]) >>> 0);
    differ += ones((other(address)[0] ^ one(address)[0]) >>> 0);
  }
  expectBinomial(changed, 32 * rounds, 0.5, 'changed bits');
  expectBinomial(differ, 32 * rounds, 0.5, 'bits that differ by the key');
});

test('a key of another length is refused', () => {
  expect(() => createAnonymiser(new Uint8Array(15))).toThrow(/Cannot anonymise: expected a key of 16 bytes/);
});
