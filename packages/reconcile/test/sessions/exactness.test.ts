/**
 * Random sessions over a grid of sizes and differences. Each must give exactly the differences. The
 * full form runs 100,000 of them (BLOOMERY_EFFORT=50), and 50 with sets of a million keys.
 */

import { EFFORT, withEffort } from '@bloomery/testkit/effort';
import { Random } from '@bloomery/testkit/statistics';
import { useKernel } from 'bloomery';
import { expect, onTestFinished, test } from 'vitest';
import { carry, isExact, keyPair, pairOf, reconcileInLab } from '../session-lab.ts';

/** Sizes of sets, and the number of sessions with each: most time goes into the large ones. */
const SIZES: readonly (readonly [n: number, sessions: number])[] = [
  [0, 10],
  [1, 30],
  [30, 150],
  [300, 700],
  [1000, 1000],
  [5000, 90],
  [20_000, 16],
  [100_000, 4],
];

const HOUR = 3_600_000;

for (const [n, sessions] of SIZES) {
  test(`exact in each of ${withEffort(sessions)} sessions with about ${n} keys`, { timeout: HOUR }, () => {
    const random = new Random(n + 1);
    for (let round = 0; round < withEffort(sessions); round++) checkSession(random, n, round);
  });
}

test.runIf(EFFORT > 1)('exact with a million keys', { timeout: HOUR }, () => {
  const random = new Random(6);
  for (let round = 0; round < EFFORT; round++) checkSession(random, 1e6, round);
});

/** Runs a session with a number of differences from 0 to 2n, half of the time below 1 % of n. */
function checkSession(random: Random, n: number, round: number): void {
  const most = round % 2 === 0 ? Math.ceil(n / 100) + 3 : 2 * n;
  const d = Math.floor(most ** (random.below(1001) / 1000)) - (round % 5 === 0 ? 1 : 0);
  const onlyA = Math.min(n, random.pick([0, d, d >> 1, random.below(d + 1)]));
  const pair = keyPair(random, n, d, onlyA);
  const result = reconcileInLab(pair.a, pair.b, random);
  expect(isExact(result, pair), `round ${round}: n ${n}, d ${d}, ${onlyA} in A, ${result.a.method}`).toBe(
    true,
  );
}

test('one side without keys, both without, and keys of every type', () => {
  const random = new Random(3);
  const keys = ['a', 'ä', 7, -1n, 2n ** 70n, new Uint8Array([1, 2]), ''];
  for (const [a, b] of [
    [keys, []],
    [[], keys],
    [[], []],
    [keys, keys.slice(2)],
  ]) {
    const result = reconcileInLab(a, b, random);
    expect(result.a.onlyHere).toEqual(a.filter((key) => !b.includes(key)));
    expect(result.b.onlyHere).toEqual(b.filter((key) => !a.includes(key)));
  }
});

test('a key that is given twice counts once, in any of its forms', () => {
  const random = new Random(4);
  const many = Array.from({ length: 5000 }, (_, i) => `key ${i}`);
  const twice = [...many, ...many.slice(0, 100), 'x', Uint8Array.of(0x78), 42, 42n];
  const result = reconcileInLab(twice, many, random);
  expect(result.a.onlyHere).toEqual(['x', 42]);
  expect(result.b.onlyThereCount).toBe(2);
  expect(reconcileInLab(many, twice, random).b.onlyHere).toEqual(['x', 42]);
  expect(reconcileInLab(['a', 'a'], ['a'], random).a.onlyHere).toEqual([]);
});

test('exchange: each side gets the bytes of the keys that it lacks', () => {
  const random = new Random(5);
  const here = Array.from({ length: 3000 }, (_, i) => `here ${i} ${'x'.repeat(i % 50)}`);
  const there = Array.from({ length: 200 }, (_, i) => `there ${i}`);
  const common = Array.from({ length: 1000 }, (_, i) => `both ${i}`);
  const { a, b } = reconcileInLab([...here, ...common], [...there, ...common], random, { exchange: true });
  const texts = (keys: readonly Uint8Array[] | null) => keys?.map((key) => String.fromCharCode(...key));
  expect(texts(a.onlyThere)).toEqual(there);
  expect(texts(b.onlyThere)).toEqual(here);
  expect(reconcileInLab(here, here, random, { exchange: true }).a.onlyThere).toEqual([]);
  expect(reconcileInLab(here, there, random).a.onlyThere).toBeNull();
});

test('the same keys and the same randomness give the same bytes', () => {
  const pair = keyPair(new Random(8), 2000, 150);
  const [first, second] = [0, 1].map(() => reconcileInLab(pair.a, pair.b, new Random(9)));
  expect(first).toEqual(second);
});

test('sessions have the same bytes in Node and in browsers, and in both kernels', () => {
  onTestFinished(() => useKernel('auto'));
  for (const kernel of ['javascript', 'wasm'] as const) {
    useKernel(kernel);
    const sums = [20, 1500, 300].map((n, i) => {
      const pair = keyPair(new Random(n), n, [6, 40, 250][i]);
      let sum = 0x811c9dc5;
      carry(...pairOf(pair.a, pair.b, new Random(9)), (_, bytes) => {
        for (const byte of bytes) sum = Math.imul(sum ^ byte, 0x01000193) >>> 0;
      });
      return sum;
    });
    expect(sums, kernel).toEqual([3951998637, 3177912740, 160823982]);
  }
});
