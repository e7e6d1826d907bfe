import { expectBinomial, expectNormal } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { randomStream } from './random-stream.ts';

const DRAWS = 100_000;
const take = (seed: number, name: string, count = 5) => {
  const draw = randomStream(seed, name);
  return Array.from({ length: count }, draw);
};

test('randomStream draws the same numbers for the same seed and name, and others for others', () => {
  expect(take(7, 'a')).toEqual(take(7, 'a'));
  expect(take(7, 'a')).not.toEqual(take(8, 'a'));
  expect(take(7, 'a')).not.toEqual(take(7, 'b'));
  expect(take(2 ** 40 + 7, 'a')).not.toEqual(take(7, 'a'));
});

test('randomStream is pinned: these numbers stay the same from release to release', () => {
  expect(take(1, 'node a, life 1', 3)).toMatchInlineSnapshot(`
    [
      0.4736577150324218,
      0.1756160774135801,
      0.7778517746991521,
    ]
  `);
});

test('randomStream draws evenly from [0, 1)', () => {
  const drawn = take(3, 'even', DRAWS);
  expect(drawn.every((x) => x >= 0 && x < 1)).toBe(true);
  const mean = drawn.reduce((sum, x) => sum + x, 0) / DRAWS;
  expectNormal(mean, 0.5, Math.sqrt(1 / 12 / DRAWS), 'mean');
  for (let tenth = 0; tenth < 10; tenth++)
    expectBinomial(drawn.filter((x) => Math.floor(x * 10) === tenth).length, DRAWS, 0.1, `tenth ${tenth}`);
  // The lowest bit of the 53 as well.
  expectBinomial(drawn.filter((x) => (x * 2 ** 53) % 2 === 1).length, DRAWS, 0.5, 'lowest bit');
});

test('randomStream gives streams of different names that do not follow each other', () => {
  const nodes = 20_000;
  const firsts = Array.from({ length: nodes }, (_, i) => randomStream(1, `node ${i}`)());
  let rises = 0;
  for (let i = 1; i < nodes; i++) if (firsts[i] > firsts[i - 1]) rises++;
  // Rises in a random sequence: mean (n-1)/2, variance (n+1)/12.
  expectNormal(rises, (nodes - 1) / 2, Math.sqrt((nodes + 1) / 12), 'rises');
  expect(new Set(firsts).size).toBe(nodes);
});
