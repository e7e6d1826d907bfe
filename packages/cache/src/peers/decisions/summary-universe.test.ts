import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { nextUniverse, summaryBytes, summaryRate, universeFor } from './summary-universe.ts';

const MOST_BYTES = 2 ** 23;

/** The next universe of so many keys, each with a position of its own. */
function next(universe: number, keys: number, neighbours: number): number | null {
  return nextUniverse({ universe, positions: keys, keys, neighbours, mostBytes: MOST_BYTES });
}

test('all neighbours together have at most 0.02 false candidates, and at least half of it', () => {
  for (const neighbours of [1, 2, 3, 4, 63, 64, 65, 256, 1023]) {
    const candidates = neighbours * summaryRate(neighbours);
    expect(candidates).toBeLessThanOrEqual(0.02);
    expect(candidates).toBeGreaterThan(0.01);
  }
  expect([0, 1, 4, 256].map((neighbours) => summaryRate(neighbours))).toEqual([
    0.02,
    0.02,
    0.005,
    0.02 / 256,
  ]);
});

test('a rate changes only when the number of neighbours passes a power of two', () => {
  expect(summaryRate(33)).toBe(summaryRate(64));
  expect(summaryRate(65)).toBe(summaryRate(64) / 2);
});

test('a new universe holds the rate, with room for a quarter more, and is a power of two', () => {
  const random = new Random(31);
  for (let i = 0; i < 1000; i++) {
    const positions = Math.floor(2 ** (random.below(2000) / 100));
    const neighbours = 1 + random.below(1000);
    const universe = universeFor(positions, neighbours);
    expect(Math.log2(universe) % 1).toBe(0);
    expect((1.25 * positions) / universe).toBeLessThanOrEqual(summaryRate(neighbours));
    if (universe > 2 ** 20)
      expect((1.25 * positions) / universe).toBeGreaterThan(summaryRate(neighbours) / 2);
    expect(next(universe, positions, neighbours)).toBeNull();
  }
  // 100,000 objects in a fleet of 256.
  expect(universeFor(100_000, 256)).toBe(2 ** 31);
});

test('a universe grows when the rate is exceeded, and not before', () => {
  const limit = Math.floor(2 ** 20 * summaryRate(4));
  expect(next(2 ** 20, limit, 4)).toBeNull();
  expect(next(2 ** 20, limit + 1, 4)).toBe(2 ** 21);
  expect(next(2 ** 20, 100 * limit, 4)).toBe(2 ** 27);
  expect(next(2 ** 20, limit, 5)).toBe(2 ** 22);
});

test('a universe neither shrinks nor exceeds 48 bits', () => {
  expect(next(2 ** 40, 10, 1)).toBeNull();
  expect(universeFor(10 ** 12, 1000)).toBe(2 ** 48);
});

/** Positions of so many keys in a universe, on average. */
const filled = (keys: number, universe: number) => universe * (1 - Math.exp(-keys / universe));

test('a full state always fits into a message, and is as fine as that allows', () => {
  const rates: number[] = [];
  for (const neighbours of [1, 4, 256])
    for (let keys = 1e5; keys < 1e9; keys *= 1.5) {
      let universe = 2 ** 20;
      for (let i = 0; i < 5; i++) {
        const positions = filled(keys, universe);
        universe = nextUniverse({ universe, positions, keys, neighbours, mostBytes: MOST_BYTES }) ?? universe;
      }
      expect(summaryBytes(keys, universe)).toBeLessThanOrEqual(MOST_BYTES);
      const rate = filled(keys, universe) / universe;
      if (summaryBytes(1.25 * keys, 2 * universe) > MOST_BYTES) rates.push(rate);
      else expect(rate).toBeLessThanOrEqual(summaryRate(neighbours));
    }
  expect(rates.length).toBeGreaterThan(10);
});

test('a universe becomes narrower when its full state is too long, and wider again with fewer keys', () => {
  const wide = universeFor(4e6, 256);
  expect(next(wide, 4e6, 256)).toBeNull();
  let keys = 4e6;
  while (next(wide, keys, 256) === null) keys += 1e4;
  const narrow = next(wide, keys, 256)!;
  expect(narrow).toBeLessThan(wide);
  // A number that goes up and down does not make it alternate.
  let fewer = keys;
  while (next(narrow, fewer, 256) === null) fewer -= 1e4;
  expect(fewer / keys).toBeLessThan(0.95);
  const between = next(narrow, fewer, 256)!;
  expect(between).toBeGreaterThan(narrow);
  expect(between).toBeLessThan(wide);
  for (let now = fewer; now < 1.2 * fewer; now += 1e4) expect(next(between, now, 256)).toBeNull();
  expect(next(narrow, 1e6, 256)).toBe(universeFor(1e6, 256));
});

test('the limits that the head of the file names are those of the formula', () => {
  const most = (neighbours: number) => {
    let keys = 1e6;
    while (summaryBytes(keys, universeFor(keys, neighbours)) <= MOST_BYTES) keys += 1e5;
    return keys;
  };
  expect([most(256), most(4)].map((keys) => keys - 1e5)).toEqual([4.1e6, 6.5e6]);
  const universe = next(2 ** 40, 16e6, 4)!;
  expect(Math.round((100 * filled(16e6, universe)) / universe)).toBe(21);
});
