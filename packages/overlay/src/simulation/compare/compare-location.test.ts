import { expect, test } from 'vitest';
import { type CompareOptions, compareLocation, crossingRate } from './compare-location.ts';

const BASE: CompareOptions = { seed: 1, nodes: 60, objectsPerNode: 20, rate: 0, rounds: 2, questions: 60 };

test('without changes every way finds every object, and filters send nothing', () => {
  const [filters, groups, table, attenuated] = compareLocation(BASE);
  for (const { missed, name } of [filters, groups, table, attenuated])
    expect([name, missed]).toEqual([name, 0]);
  expect([filters.updateBytes, groups.updateBytes]).toEqual([0, 0]);
  expect(table.updateBytes).toBeGreaterThan(0);
  // One round trip, and a false positive in one of ten questions at most.
  expect(filters.messages).toBeGreaterThanOrEqual(2);
  expect(filters.messages).toBeLessThan(2.5);
  expect(table.hops).toBeGreaterThan(filters.hops);
  expect(attenuated.hops).toBeLessThan(table.hops);
});

test('objects that appeared in a round are missed by all ways until the news is out', () => {
  const figures = compareLocation({ ...BASE, rate: 0.2, questions: 100 });
  for (const { missed, name } of figures) {
    expect(missed, name).toBeGreaterThan(0.05);
    expect(missed, name).toBeLessThan(0.4);
  }
});

test('a cell is the same for the same seed, down to ten nodes', () => {
  const cell = (seed: number) => compareLocation({ ...BASE, seed, nodes: 10, rate: 0.05 });
  expect(cell(1)).toEqual(cell(1));
  expect(cell(1)).not.toEqual(cell(2));
});

test('crossingRate is where updates and questions cost the same', () => {
  const [figures] = compareLocation({ ...BASE, nodes: 10, rounds: 1, questions: 5 });
  const a = { ...figures, updateBytes: 100, questionBytes: 50 };
  const b = { ...figures, updateBytes: 300, questionBytes: 10 };
  expect(crossingRate(a, b)).toBe(5);
  expect(crossingRate(b, a)).toBe(5);
  expect(crossingRate(a, { ...b, questionBytes: 60 })).toBe(null);
});
