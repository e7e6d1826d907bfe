import { expectUniform, Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { referenceBlockedBits, referenceSplitBits } from '../../../test/reference.ts';
import { blockedAdd, blockedHas, blockIndex, splitBlockAdd, splitBlockHas } from './blocked.ts';
import { setPlain, setShared } from './classic.ts';

function onesOf(words: Uint32Array): number[] {
  const ones: number[] = [];
  words.forEach((word, i) => {
    for (let bit = 0; bit < 32; bit++) if ((word >>> bit) & 1) ones.push(32 * i + bit);
  });
  return ones;
}
const sorted = (bits: number[]) => [...new Set(bits)].sort((x, y) => x - y);

test('each key sets the bits of the definition, in both layouts, shared memory or not', () => {
  const random = new Random(11);
  for (let n = 0; n < 3000; n++) {
    const [low, high] = [random.bits() | 0, random.bits() | 0];
    const hash = (BigInt(high >>> 0) << 32n) | BigInt(low >>> 0);
    const blocks = 1 + random.below(50);
    const k = 1 + (n % 24);
    for (const set of [setPlain, setShared]) {
      const words = new Uint32Array(16 * blocks);
      expect(blockedHas(words, low, high, blocks, k)).toBe(false);
      expect(blockedAdd(words, low, high, blocks, k, set)).toBe(true);
      expect(onesOf(words)).toEqual(sorted(referenceBlockedBits(hash, blocks, k)));
      expect(blockedHas(words, low, high, blocks, k)).toBe(true);
      expect(blockedAdd(words, low, high, blocks, k, set)).toBe(false);
    }
    for (const set of [setPlain, setShared]) {
      const words = new Uint32Array(8 * blocks);
      expect(splitBlockHas(words, low, high, blocks)).toBe(false);
      expect(splitBlockAdd(words, low, high, blocks, set)).toBe(true);
      expect(onesOf(words)).toEqual(sorted(referenceSplitBits(hash, blocks)));
      expect(splitBlockHas(words, low, high, blocks)).toBe(true);
      expect(splitBlockAdd(words, low, high, blocks, set)).toBe(false);
    }
  }
});

test('the block index is exact beyond 2^21, where a product of doubles is not', () => {
  const random = new Random(12);
  for (const blocks of [1, 3, 2 ** 21 - 1, 2 ** 22 + 1, 2 ** 23 - 1, 2 ** 24, 2 ** 24 + 5, 2 ** 27]) {
    const cells = new Uint32Array(512);
    for (let n = 0; n < 60_000; n++) {
      const high = random.bits() | 0;
      const block = blockIndex(high, blocks);
      if (n < 500) expect(block).toBe(Number((BigInt(high >>> 0) * BigInt(blocks)) >> 32n));
      if (blocks > 512) cells[block % 512]++;
    }
    if (blocks > 512) expectUniform(cells, `${blocks} blocks`);
  }
});
