import { expect, test } from 'vitest';
import { inBothKernels } from '../../../test/contracts/subject.ts';
import { hashKey } from '../../kernel/batches/hash-key.ts';
import { BloomFilter } from '../bloom-filter.ts';
import { FilterTable } from './filter-table.ts';

const GEOMETRY = { rows: 5000, hashes: 4 };
const KEPT = keys('kept', 200);
const DELETED = keys('deleted', 200);
const LATE = keys('late', 90);

inBothKernels('ColumnRebuild', () => {
  test.each([6, 70])('in one of %i columns, a kept key is found at every step', (columns) => {
    const table = filled(columns);
    const rebuild = table.rebuild(1);
    let late = 0;
    const addLate = () => {
      table.add(1, LATE[late++]);
      table.addMany(1, new Set([LATE[late++]]));
    };
    for (let i = 0; i < KEPT.length; i += 50) {
      rebuild.addMany(KEPT.slice(i, i + 50));
      addLate();
      expectHeld(table, KEPT);
    }
    rebuild.addHash(hashKey('by hash'));
    let steps = 0;
    while (rebuild.step(123)) {
      steps++;
      addLate();
      expectHeld(table, KEPT);
      expectHeld(table, LATE.slice(0, late));
    }
    expect(steps).toBe(Math.ceil(5000 / 123) - 1);
    expect(late).toBe(2 * (steps + 4));
    expect(rebuild.state).toBe('done');
    // The column is that of a filter which never had the deleted keys, and no other has changed.
    const expected = new BloomFilter({ bits: 5000, hashes: 4 });
    expected.addMany([...KEPT, 'by hash', ...LATE.slice(0, late)]);
    expect(table.columnFilter(1).equals(expected)).toBe(true);
    expect(table.columnFill(1)).toBe(expected.fill());
    const untouched = filled(columns);
    for (let c = 0; c < columns; c++) {
      if (c !== 1) expect(table.columnFilter(c).equals(untouched.columnFilter(c))).toBe(true);
    }
    expect(rebuild.step()).toBe(false);
  });

  test('a rebuild without keys clears the column', () => {
    const table = filled(40);
    const rebuild = table.rebuild(1);
    while (rebuild.step());
    expect(table.columnFill(1)).toBe(0);
    expect(table.columnFill(2)).toBeGreaterThan(0);
  });

  test('goes on while the table grows', () => {
    const table = filled(32);
    const rebuild = table.rebuild(1);
    rebuild.addMany(KEPT);
    rebuild.step(1000);
    table.grow(100);
    while (rebuild.step(1000)) expectHeld(table, KEPT);
    const expected = new BloomFilter({ bits: 5000, hashes: 4 });
    expected.addMany(KEPT);
    expect(table.columnFilter(1).equals(expected)).toBe(true);
  });
});

test('is cancelled by every other change of the column, and by folding', () => {
  const changes: ((table: FilterTable) => void)[] = [
    (table) => table.clearColumn(1),
    (table) => table.setColumn(1, new BloomFilter({ bits: 5000, hashes: 4 })),
    (table) => table.flipRows(1, [3]),
    (table) => table.rebuild(1),
    (table) => table.fold(),
  ];
  for (const change of changes) {
    const table = filled(6);
    const rebuild = table.rebuild(1);
    rebuild.addMany(KEPT);
    rebuild.step(100);
    change(table);
    const after = table.columnFilter(1);
    expect(rebuild.state).toBe('cancelled');
    expect(rebuild.step()).toBe(false);
    expect(table.columnFilter(1).equals(after)).toBe(true);
    expect(() => rebuild.addMany(['a'])).toThrow('expected an open one, got a cancelled one (column 1)');
  }
});

test('a cancelled rebuild keeps the keys that are in both states', () => {
  const table = filled(6);
  const rebuild = table.rebuild(1);
  rebuild.addMany(KEPT);
  rebuild.step(2500);
  rebuild.cancel();
  expectHeld(table, KEPT);
});

test('takes no keys once it is being written', () => {
  const rebuild = filled(6).rebuild(1);
  rebuild.step(10);
  expect(() => rebuild.addHash(hashKey('a'))).toThrow(
    'Cannot add to a rebuild: expected an open one, got one that is being written (column 1)',
  );
});

function keys(name: string, count: number): string[] {
  return Array.from({ length: count }, (_, i) => `${name} ${i}`);
}

function filled(columns: number): FilterTable {
  const table = new FilterTable({ ...GEOMETRY, columns });
  for (let c = 0; c < columns; c++) table.addMany(c, c === 1 ? [...KEPT, ...DELETED] : keys(`${c}`, 100));
  return table;
}

function expectHeld(table: FilterTable, held: readonly string[]): void {
  const lost = held.filter((key) => !table.columnsFor(key).includes(1));
  expect(lost).toEqual([]);
}
