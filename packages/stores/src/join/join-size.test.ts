import { expectNormal, Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { jsonl } from './file-sides.ts';
import { joinSizeEstimate } from './join-size.ts';

const sideOf = (keys: readonly (string | null)[]) =>
  jsonl(async function* () {
    for (const k of keys) yield Buffer.from(`${JSON.stringify({ k })}\n`);
  });

/** Keys that occur from once to eight times. */
function skewed(random: Random, from: number, to: number): string[] {
  const keys: string[] = [];
  for (let i = from; i < to; i++)
    for (let copies = 1 + random.below(2) * random.below(8); copies > 0; copies--) keys.push(`key ${i}`);
  return keys;
}

function truth(near: readonly (string | null)[], far: readonly (string | null)[]) {
  const counts = new Map<string, number>();
  for (const key of near) if (key !== null) counts.set(key, (counts.get(key) ?? 0) + 1);
  let [farRows, pairs] = [0, 0];
  const keys = new Set<string>();
  for (const key of far) {
    const count = key === null ? undefined : counts.get(key);
    if (count === undefined) continue;
    keys.add(key!);
    farRows++;
    pairs += count;
  }
  return { keys: keys.size, farRows, pairs };
}

test('joinSizeEstimate is exact for few keys, with duplicates and NULLs', async () => {
  const near = ['a', 'a', 'b', null];
  const far = ['a', 'a', 'a', 'c', null, 'b'];
  const size = await joinSizeEstimate({ near: sideOf(near), far: sideOf(far), on: ['k'] });
  expect(truth(near, far)).toEqual({ keys: 2, farRows: 4, pairs: 7 });
  expect(size.pairs).toMatchObject({ value: 7, low: 7, high: 7 });
  expect(size.farRows.value).toBe(4);
  expect(size.sampledShare).toBe(1);
});

test('joinSizeEstimate is within five of its standard errors for many keys', async () => {
  const random = new Random(11);
  const near = skewed(random, 0, 6000);
  const far = skewed(random, 4000, 16_000);
  const expected = truth(near, far);
  const size = await joinSizeEstimate({
    near: sideOf(near),
    far: sideOf(far),
    on: ['k'],
    bits: 2 ** 17,
    sampleKeys: 1000,
  });
  expect(size.sampledShare).toBeLessThan(0.1);
  for (const what of ['keys', 'farRows', 'pairs'] as const) {
    const { value, standardError } = size[what];
    expect(standardError).toBeGreaterThan(0);
    expectNormal(value, expected[what], standardError, what);
  }
});

test('joinSizeEstimate tells the distinct keys by its sample if the filters are full', async () => {
  const random = new Random(12);
  const near = skewed(random, 0, 6000);
  const far = skewed(random, 4000, 16_000);
  const options = { near: sideOf(near), far: sideOf(far), on: ['k'], bits: 512, sampleKeys: 1000 };
  const { keys } = await joinSizeEstimate(options);
  expectNormal(keys.value, 2000, keys.standardError, 'distinct keys');
  expect(keys.standardError).toBeLessThan(500);
});

test('joinSizeEstimate: intervals hold the true size as often as they say', async () => {
  const random = new Random(13);
  const ROUNDS = 60;
  const inside = { keys: 0, farRows: 0, pairs: 0 };
  for (let round = 0; round < ROUNDS; round++) {
    const from = 1e6 * round;
    const near = skewed(random, from, from + 600);
    const far = skewed(random, from + 300, from + 1200);
    const expected = truth(near, far);
    const size = await joinSizeEstimate({
      near: sideOf(near),
      far: sideOf(far),
      on: ['k'],
      bits: 4096,
      sampleKeys: 300,
      confidence: 0.9,
    });
    for (const what of ['keys', 'farRows', 'pairs'] as const)
      if (size[what].low <= expected[what] && expected[what] <= size[what].high) inside[what]++;
  }
  // Sums of few skewed terms are not quite normal, which costs the intervals some percent.
  for (const [what, count] of Object.entries(inside)) {
    expect(count / ROUNDS, what).toBeGreaterThan(0.78);
    expect(count / ROUNDS, what).toBeLessThan(0.985);
  }
});
