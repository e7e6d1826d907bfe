import { withEffort } from '@bloomery/testkit/effort';
import { expectBinomial, expectUniform } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { robustSoliton } from '../math/robust-soliton.ts';
import { planSegments } from './plan-segments.ts';
import { codeKey, SymbolCode } from './symbol-code.ts';

const DIGEST = Uint8Array.from({ length: 32 }, (_, i) => i);

function codeOf(blocks: number, key = codeKey(DIGEST)) {
  return new SymbolCode({ bytes: 16 * blocks, blockBytes: 16, key });
}

test('SymbolCode derives the same blocks from the same key and id, forever', () => {
  const code = codeOf(1000);
  expect(code.blocksOf(999)).toEqual([999]);
  expect([1000, 1001, 123_456, 2 ** 32 - 1].map((id) => code.blocksOf(id))).toMatchInlineSnapshot(`
    [
      [
        481,
        242,
        357,
        487,
        590,
        743,
        220,
        305,
        152,
      ],
      [
        228,
        812,
      ],
      [
        906,
      ],
      [
        709,
        535,
      ],
    ]
  `);
  expect(codeOf(1000, codeKey(DIGEST, 1)).blocksOf(1001)).not.toEqual(code.blocksOf(1001));
  expect(codeKey(DIGEST, 0, Uint8Array.of(1))).not.toEqual(codeKey(DIGEST));
});

test.each([1, 2, 5, 1000])('symbols of %i blocks have different blocks, evenly', (blocks) => {
  const code = codeOf(blocks);
  const counts = new Uint32Array(blocks);
  const degrees = new Uint32Array(code.mostDegree + 1);
  const symbols = withEffort(20_000, 4000);
  for (let id = blocks; id < blocks + symbols; id++) {
    const members = code.blocksOf(id);
    expect(new Set(members).size).toBe(members.length);
    for (const block of members) counts[block]++;
    degrees[members.length]++;
  }
  // Blocks of a symbol are different, which makes the counts a little more even than independent.
  if (blocks === 1000) expectUniform(counts, 'blocks');
  const { probabilities } = robustSoliton(blocks);
  for (const [degree, share] of probabilities.entries())
    if (share > 0 && share < 1) expectBinomial(degrees[degree], symbols, share, `degree ${degree}`);
});

test('SymbolCode refuses sizes, ids and keys that it cannot use', () => {
  const key = codeKey(DIGEST);
  expect(() => new SymbolCode({ bytes: 16, blockBytes: 24, key })).toThrow('a multiple of 16');
  expect(() => new SymbolCode({ bytes: 0, blockBytes: 16, key })).toThrow('above 0');
  expect(() => new SymbolCode({ bytes: 16 * 8193, blockBytes: 16, key })).toThrow(
    'at most 8192 blocks, got 8193',
  );
  expect(() => new SymbolCode({ bytes: 16, blockBytes: 16, key: key.subarray(1) })).toThrow(
    'expected 16 bytes',
  );
  expect(() => codeOf(5).blocksOf(2 ** 32)).toThrow('an id below 2^32');
  expect(() => codeOf(5).blocksOf(-1)).toThrow('an id below 2^32');
  expect(() => codeKey(DIGEST.subarray(17))).toThrow('at least 16 bytes');
});

test('planSegments covers the content, in segments of nearly equal blocks', () => {
  for (const bytes of [1, 16384, 16385, 2 ** 26, 2 ** 26 + 1, 10 ** 9]) {
    const segments = planSegments(bytes, 16384);
    let at = 0;
    for (const { from, bytes: length } of segments) {
      expect(from).toBe(at);
      expect(length).toBeGreaterThan(0);
      expect(Math.ceil(length / 16384)).toBeLessThanOrEqual(4096);
      at += length;
    }
    expect(at).toBe(bytes);
    const blocks = segments.map((one) => Math.ceil(one.bytes / 16384));
    expect(Math.max(...blocks) - Math.min(...blocks)).toBeLessThanOrEqual(1);
  }
  expect(() => planSegments(0, 16384)).toThrow('positive numbers of bytes');
  expect(() => planSegments(1, 16384, 8193)).toThrow('1 to 8192 blocks');
});
