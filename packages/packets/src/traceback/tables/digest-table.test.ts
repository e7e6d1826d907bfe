import { expectBinomial, expectNormal, Random } from '@bloomery/testkit/statistics';
import { hashKeys, SecretKey } from 'bloomery';
import { rateBlocked } from 'bloomery/math';
import { expect, test } from 'vitest';
import { DigestTable, tableShape } from './digest-table.ts';
import { countToDiscard, isOver } from './rotation.ts';
import { answerOf } from './table-answer.ts';

const key = new SecretKey(new Uint8Array(16).fill(5));
const hashesOf = (from: number, count: number) =>
  hashKeys(
    Array.from({ length: count }, (_, i) => from + i),
    key.scheme,
  );

test('tableShape takes the best number of hashes for the bits', () => {
  expect(tableShape(1 << 20, 10)).toEqual({ blocks: 16384, hashes: 6, capacity: 838860 });
  expect(tableShape(1 << 20, 5).hashes).toBe(3);
  for (const bytes of [63, 65, 2 ** 27, 0, Number.NaN]) expect(() => tableShape(bytes)).toThrow(RangeError);
  for (const bits of [1, 33, Number.NaN]) expect(() => tableShape(1 << 20, bits)).toThrow(RangeError);
});

test('a full table holds all its digests, and says yes by chance as theory and as it says itself', () => {
  const shape = tableShape(1 << 14, 10);
  const table = new DigestTable(shape, key);
  const { capacity } = shape;
  table.add(hashesOf(0, capacity), { firstS: 10, lastS: 20 });
  // Repeated packets fill nothing.
  table.add(hashesOf(0, 5000), { firstS: 5, lastS: 12 });
  expect([table.packets, table.firstS, table.lastS]).toEqual([capacity + 5000, 5, 20]);
  expect(table.distinct).toBeLessThanOrEqual(capacity);
  expect(table.distinct).toBeGreaterThan(0.995 * capacity);
  expect(table.filter.hasMany(hashesOf(0, capacity)).every((found) => found === 1)).toBe(true);
  const trials = 400_000;
  const yes = table.filter.hasMany(hashesOf(1e9, trials)).reduce((sum, found) => sum + found, 0);
  expectBinomial(yes, trials, table.chanceRate(), 'yes by chance, from the bits');
});

test.each([10, 5])('the rates of full tables at %i bits have the mean of theory', (bits) => {
  const shape = tableShape(1 << 14, bits);
  const { capacity, blocks, hashes } = shape;
  const tables = 60;
  // Each table has a key of its own, so the rates are independent of each other.
  const rates = Array.from({ length: tables }, (_, i) => {
    const own = new SecretKey(new Uint8Array(16).fill(i));
    const table = new DigestTable(shape, own);
    const digests = hashKeys(
      Array.from({ length: capacity }, (__, number) => number),
      own.scheme,
    );
    table.add(digests, { firstS: 0, lastS: 1 });
    return table.chanceRate();
  });
  const mean = rates.reduce((sum, rate) => sum + rate, 0) / tables;
  const variance = rates.reduce((sum, rate) => sum + (rate - mean) ** 2, 0) / (tables - 1);
  const theory = rateBlocked({ n: capacity, blocks, k: hashes });
  expectNormal(mean, theory, Math.sqrt(variance / tables), 'mean rate');
  // A fault of a fiftieth would show.
  expect(Math.sqrt(variance / tables) / theory).toBeLessThan(0.02 / 5);
});

test.each([0, 1, 100, 800, 1700, 3000])(
  'a table with %i digests of 3276 is folded and loses none',
  (count) => {
    const shape = tableShape(1 << 12, 10);
    const table = new DigestTable(shape, key);
    table.add(hashesOf(0, count), { firstS: 0, lastS: 1 });
    const folded = table.folded();
    expect(folded.hasMany(hashesOf(0, count)).every((found) => found === 1)).toBe(true);
    // At least as many bits per digest as a full table has, and fewer than twice as many.
    const room = (shape.capacity * folded.blocks) / shape.blocks;
    expect(table.distinct).toBeLessThanOrEqual(room);
    if (folded.blocks > 1) expect(table.distinct).toBeGreaterThan(room / 2);
  },
);

test('isOver ends a table by the time of its packets, in both directions', () => {
  expect(isOver({ firstS: 100, lastS: 130 }, 159, 60)).toBe(false);
  expect(isOver({ firstS: 100, lastS: 130 }, 160, 60)).toBe(true);
  expect(isOver({ firstS: 100, lastS: 130 }, 69, 60)).toBe(true);
  expect(isOver({ firstS: Number.POSITIVE_INFINITY, lastS: Number.NEGATIVE_INFINITY }, 5, 60)).toBe(false);
});

test('countToDiscard agrees with a model that removes the oldest one by one', () => {
  const random = new Random(4);
  for (let round = 0; round < 2000; round++) {
    const tables = Array.from({ length: random.below(8) }, (_, i) => ({
      bytes: 1 + random.below(50),
      firstS: 10 * i,
      lastS: 10 * i + 10,
    }));
    const budget = { bytes: random.below(200), seconds: random.below(100) };
    const incoming = random.below(60);
    const kept = [...tables];
    const total = () => kept.reduce((sum, { bytes }) => sum + bytes, incoming);
    while (kept.length > 0 && (total() > budget.bytes || 100 - kept[0].lastS > budget.seconds)) kept.shift();
    expect(countToDiscard(tables, budget, incoming, 100)).toBe(tables.length - kept.length);
  }
});

test('countToDiscard is not stopped by a table whose time is ahead of those after it', () => {
  const tables = [4e9, 10, 20, 900].map((lastS) => ({ bytes: 1, firstS: 0, lastS }));
  expect(countToDiscard(tables, { bytes: 100, seconds: 300 }, 1, 1000)).toBe(3);
  // Captures of last week that are collected after those of today keep both.
  const weeks = [7e5, 7e5, 100, 200].map((lastS) => ({ bytes: 1, firstS: 0, lastS }));
  expect(countToDiscard(weeks, { bytes: 100, seconds: 300 }, 1, 300)).toBe(0);
});

test('answerOf joins sightings and adds up what is expected by chance', () => {
  const verdict = (firstS: number, lastS: number, seen: boolean) => ({
    firstS,
    lastS,
    seen,
    chanceRate: 0.1,
  });
  const answer = answerOf([
    verdict(0, 9, true),
    verdict(9, 20, true),
    verdict(20, 30, false),
    verdict(31, 40, true),
  ]);
  expect(answer.sightings).toEqual([
    { firstS: 0, lastS: 20 },
    { firstS: 31, lastS: 40 },
  ]);
  expect(answer).toMatchObject({ seen: true, yes: 3, tables: 4 });
  // Sums of a few doubles.
  expect(answer.expectedByChance).toBeCloseTo(0.4, 12);
  expect(answer.chanceOfAny).toBeCloseTo(1 - 0.9 ** 4, 12);
  expect(answerOf([])).toMatchObject({ seen: false, tables: 0, expectedByChance: 0, chanceOfAny: 0 });
});
