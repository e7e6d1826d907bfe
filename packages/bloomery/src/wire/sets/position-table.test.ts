import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { PositionTable } from './position-table.ts';

test('PositionTable does what a Map does, over random changes that fill and empty it', () => {
  const random = new Random(5);
  const table = new PositionTable();
  const model = new Map<number, number>();
  for (let round = 0; round < 20_000; round++) {
    // It grows to some thousand positions and falls back to none, several times.
    const isGrowing = Math.floor(round / 4000) % 2 === 0;
    // Positions that differ by a multiple of 2^32 begin their search at the same slot.
    const drawn = random.below(6000) + random.below(3) * 2 ** 40;
    const position = isGrowing ? drawn : ([...model.keys()][0] ?? drawn);
    const value = isGrowing ? random.below(5) - 2 : 0;
    table.set(position, value);
    if (value === 0) model.delete(position);
    else model.set(position, value);
    expect([table.size, table.get(drawn)]).toEqual([model.size, model.get(drawn) ?? 0]);
    if (round % 250 !== 0) continue;
    for (const its of [-2, -1, 1, 2]) {
      const expected = [...model].filter(([, value]) => value === its).map(([known]) => known);
      expect([...table.positionsOf(its)]).toEqual(expected.sort((a, b) => a - b));
      expect(expected.filter((known) => table.get(known) !== its)).toEqual([]);
    }
  }
});

test('PositionTable keeps positions apart that differ by 2^32, and position 0', () => {
  const table = new PositionTable();
  for (let i = 0; i < 100; i++) table.set(i * 2 ** 32, i + 1);
  for (let i = 0; i < 100; i += 2) table.set(i * 2 ** 32, 0);
  const left = Array.from({ length: 100 }, (_, i) => table.get(i * 2 ** 32));
  expect(left).toEqual(Array.from({ length: 100 }, (_, i) => (i % 2 === 0 ? 0 : i + 1)));
  expect([table.get(7), table.size]).toEqual([0, 50]);
});

test('PositionTable that is empty again finds nothing, and leaves other empty tables alone', () => {
  const [table, other] = [new PositionTable(), new PositionTable()];
  table.set(3, 1);
  table.set(3, 0);
  table.set(3, 0);
  expect([table.size, table.get(3), other.get(3), table.positionsOf(1).length]).toEqual([0, 0, 0, 0]);
  table.set(0, -1);
  expect([table.get(0), other.get(0)]).toEqual([-1, 0]);
});
