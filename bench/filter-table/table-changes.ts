/** The times of changes: additions, whole columns, a rebuild in slices, folding and growing. */

import { BloomFilter, FilterTable, type KeyHash, useKernel } from 'bloomery';
import type { Table } from '../shared/report.ts';
import { median } from '../shared/statistics.ts';
import { cpuMs } from './cpu-time.ts';
import { type Fleet, randomHashes } from './fleet.ts';

const ADDED = 1000;
/** Keys that a rebuild takes at a time. */
const SLICE_KEYS = 5000;

export function measureChanges(fleet: Fleet, rounds: number): Table {
  const { table, filters, scheme, own, plan } = fleet;
  const times = new Map<string, number[]>();
  const note = (name: string, ms: number) => times.set(name, [...(times.get(name) ?? []), ms]);
  const time = (name: string, work: () => void) => note(name, cpuMs(work));
  useKernel('auto');
  for (let round = 0; round < rounds; round++) {
    process.stderr.write(`changes, round ${round + 1}\n`);
    const column = (7 * round) % table.columns;
    const added = randomHashes(ADDED, scheme, 0x30000 + round);
    const hashes: KeyHash[] = Array.from({ length: ADDED }, (_, i) => ({
      scheme,
      low: added.words[2 * i] >>> 0,
      high: added.words[2 * i + 1] >>> 0,
    }));
    time(`${ADDED} additions, one by one`, () => {
      for (const hash of hashes) table.addHash(column, hash);
    });
    time(`${ADDED} additions, at once`, () => table.addMany((column + 1) % table.columns, added));
    time('clear a column', () => table.clearColumn(column));
    time('set a column from a filter', () => table.setColumn(column, filters[column]));
    time('a column as a filter', () => table.columnFilter(column));
    const keys = own[column];
    table.clearColumn(column);
    time(`${keys.length} additions to an empty column`, () => table.addMany(column, keys));
    const filter = new BloomFilter({ bits: plan.rows, hashes: plan.hashes });
    time(`${keys.length} additions to a filter`, () => filter.addMany(keys));
    const rebuild = table.rebuild(column);
    const slices: number[] = [];
    for (let start = 0; start < keys.length; start += SLICE_KEYS) {
      const words = keys.words.subarray(2 * start, 2 * (start + SLICE_KEYS));
      slices.push(cpuMs(() => rebuild.addMany({ scheme, words, length: words.length / 2 })));
    }
    for (let more = true; more; ) slices.push(cpuMs(() => (more = rebuild.step())));
    note(
      'rebuild a column, in all',
      slices.reduce((sum, part) => sum + part, 0),
    );
    note('rebuild a column, longest slice', Math.max(...slices));
    table.setColumn(column, filters[column]);
    table.setColumn((column + 1) % table.columns, filters[(column + 1) % table.columns]);
  }
  for (let round = 0; round < Math.min(3, rounds); round++) {
    let made: FilterTable | undefined;
    time('make the table from its filters', () => (made = FilterTable.fromFilters(filters)));
    time('grow by a column, into a wider row', () => made?.grow(table.columns + 1));
    time('fold', () => made?.fold());
  }
  return {
    title: 'Changes of that table, ms of processor time',
    head: ['what', 'median', 'longest'],
    numbersFrom: 1,
    rows: [...times].map(([name, list]) => [name, median(list).toFixed(2), Math.max(...list).toFixed(2)]),
    notes: [`A slice of a rebuild takes ${SLICE_KEYS} keys, or writes 32,768 rows.`],
  };
}
