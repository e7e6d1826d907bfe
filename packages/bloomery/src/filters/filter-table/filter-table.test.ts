import { withEffort } from '@bloomery/testkit/effort';
import { expectNormal } from '@bloomery/testkit/statistics';
import { describe, expect, test } from 'vitest';
import { inBothKernels } from '../../../test/contracts/subject.ts';
import { counterKeys } from '../../../test/keys.ts';
import { SecretKey } from '../../hashing/secret-key.ts';
import { hashKey } from '../../kernel/batches/hash-key.ts';
import { hashKeys } from '../../kernel/batches/hash-keys.ts';
import { BloomFilter } from '../bloom-filter.ts';
import { FilterTable } from './filter-table.ts';

inBothKernels('FilterTable', () => {
  test.each([1, 5, 32, 40, 256])('answers like hasHash of each of %i filters', (columns) => {
    const filters = overlapping(columns, { bits: 4000, hashes: 4, seed: 7 });
    const table = FilterTable.fromFilters(filters);
    const out = new Uint32Array(table.candidateWords);
    const keys = hashKeys(counterKeys(Math.ceil(withEffort(1_000_000) / columns)), { seed: 7 });
    const answers = filters.map((filter) => filter.hasMany(keys));
    let wrong = 0;
    for (let i = 0; i < keys.length; i++) {
      const hash = { scheme: keys.scheme, low: keys.words[2 * i] >>> 0, high: keys.words[2 * i + 1] >>> 0 };
      const found = table.candidates(hash, out);
      let expected = 0;
      for (let c = 0; c < columns; c++) {
        expected += answers[c][i];
        if (((out[c >>> 5] >>> (c & 31)) & 1) !== answers[c][i]) wrong++;
      }
      if (found !== expected) wrong++;
    }
    expect(wrong).toBe(0);
  });

  test.each([3, 64])('columns of %i are filled key by key, by hashes and in batches alike', (columns) => {
    const options = { rows: 4000, hashes: 4, columns, seed: 7 };
    const [one, hashed, many] = [0, 1, 2].map(() => new FilterTable(options));
    const filters = overlapping(columns, { bits: 4000, hashes: 4, seed: 7 });
    for (let c = 0; c < columns; c++) {
      const filter = new BloomFilter({ bits: 4000, hashes: 4, seed: 7 });
      for (let i = 0; i < 300; i++) {
        const fresh = filter.add(100 * c + i);
        expect(one.add(c, 100 * c + i)).toBe(fresh);
        expect(hashed.addHash(c, hashKey(100 * c + i, { seed: 7 }))).toBe(fresh);
      }
      expect(many.addMany(c, ownKeys(c))).toBe(freshKeys(c, 4000));
      for (const table of [one, hashed, many]) {
        expect(table.columnFilter(c).equals(filters[c])).toBe(true);
        expect(table.columnFill(c)).toBe(filters[c].fill());
        expect(table.estimatedFalsePositiveRate(c)).toBe(filters[c].estimatedFalsePositiveRate());
        expect(table.estimatedSize(c)).toBe(filters[c].estimatedSize());
      }
    }
  });

  test('columnsFor lists the holders in rising order, by key and by hash', () => {
    for (const columns of [7, 300]) {
      const key = new SecretKey(new Uint8Array(16).fill(3));
      const table = new FilterTable({ rows: 1 << 16, hashes: 8, columns, key });
      const holders = [0, 3, columns - 1];
      for (const c of holders) table.add(c, 'a');
      expect(table.columnsFor('a')).toEqual(holders);
      expect(table.columnsForHash(hashKey('a', { key }))).toEqual(holders);
      expect(table.columnsFor('b')).toEqual([]);
    }
  });

  test.each([8, 100])('a masked one of %i columns is in no answer until it is unmasked', (columns) => {
    const table = new FilterTable({ rows: 1024, hashes: 3, columns });
    for (let c = 0; c < columns; c++) table.add(c, 'a');
    table.mask(2);
    table.mask(columns - 1);
    expect(table.isMasked(2)).toBe(true);
    expect(table.columnsFor('a')).toHaveLength(columns - 2);
    expect(table.columnsFor('a')).not.toContain(2);
    table.add(2, 'b');
    expect(table.columnsFor('b')).toEqual([]);
    table.unmask(2);
    expect(table.isMasked(2)).toBe(false);
    expect(table.columnsFor('b')).toEqual([2]);
    expect(table.columnsFor('a')).toHaveLength(columns - 1);
  });

  test.each([4, 50])('one of %i columns is cleared, set and flipped without a trace in others', (columns) => {
    const filters = overlapping(columns, { bits: 1001, hashes: 3 });
    const table = FilterTable.fromFilters(filters);
    table.clearColumn(1);
    filters[1] = new BloomFilter({ bits: 1001, hashes: 3 });
    expectColumns(table, filters);
    filters[3] = new BloomFilter({ bits: 1001, hashes: 3 });
    filters[3].addMany(['x', 'y', 'z']);
    table.setColumn(3, filters[3]);
    expectColumns(table, filters);
    // The difference to another state: the rows whose bits are not the same in both.
    const [before, after] = [filters[3], filters[0]];
    const rows = Array.from({ length: 1001 }, (_, row) => row).filter(
      (row) => bitOf(before, row) !== bitOf(after, row),
    );
    table.flipRows(3, rows);
    filters[3] = after;
    expectColumns(table, filters);
  });

  test.each([4, 48])('folding %i columns loses no key, and gives the halved filters', (columns) => {
    const filters = overlapping(columns, { bits: 4000, hashes: 4 });
    const table = FilterTable.fromFilters(filters);
    table.mask(1);
    const bytes = table.byteLength;
    for (let times = 1; times <= 5; times++) {
      table.fold();
      expect(table.rows).toBe(4000 / 2 ** times);
      expectColumns(
        table,
        filters.map((filter) => filter.halve(times)),
      );
      for (let c = 0; c < columns; c++) {
        for (let i = 0; i < 300; i += 7) {
          expect(table.columnsFor(100 * c + i).includes(c)).toBe(c !== 1);
        }
      }
    }
    expect(table.byteLength).toBeLessThan(bytes / 20);
    expect(() => table.fold()).toThrow('Cannot fold: expected an even number of rows, got 125');
  });

  test('grows from one column to a thousand with all its keys and masks', () => {
    const table = new FilterTable({ rows: 997, hashes: 3, columns: 1 });
    const filters = [new BloomFilter({ bits: 997, hashes: 3 })];
    for (const columns of [1, 2, 3, 8, 20, 32, 33, 64, 65, 1000]) {
      table.grow(columns);
      while (filters.length < columns) filters.push(new BloomFilter({ bits: 997, hashes: 3 }));
      for (let i = 0; i < 50; i++) {
        table.add(columns - 1, `${columns} ${i}`);
        filters[columns - 1].add(`${columns} ${i}`);
      }
      expect(table.columns).toBe(columns);
      expectColumns(table, filters);
      if (columns > 1) expect(table.isMasked(0)).toBe(true);
      table.mask(0);
    }
  });

  test('the estimated false candidates are those that keys find', () => {
    // The estimate knows the fill of every column, so only the sampling of keys is left.
    const table = new FilterTable({ rows: 2500, hashes: 3, columns: 40 });
    for (let c = 0; c < 40; c++) table.addMany(c, counterKeys(250, 1000 * c));
    table.mask(7);
    const questions = withEffort(100_000);
    const out = new Uint32Array(2);
    const keys = hashKeys(counterKeys(questions, 1_000_000), table.scheme);
    let found = 0;
    for (let i = 0; i < questions; i++) {
      const [low, high] = [keys.words[2 * i] >>> 0, keys.words[2 * i + 1] >>> 0];
      found += table.candidates({ scheme: keys.scheme, low, high }, out);
    }
    const mean = table.estimatedFalseCandidates();
    let variance = 0;
    for (let c = 0; c < 40; c++) {
      const rate = c === 7 ? 0 : table.estimatedFalsePositiveRate(c);
      variance += rate * (1 - rate);
    }
    // The columns are nearly independent: their rows are shared, their fills are not.
    expectNormal(found / questions, mean, Math.sqrt(variance / questions), 'false candidates');
  });
});

describe('FilterTable', () => {
  test('answers like 256 filters for a million keys', () => {
    const filters = overlapping(256, { bits: 4000, hashes: 4, seed: 7 });
    const table = FilterTable.fromFilters(filters);
    const keys = hashKeys(counterKeys(withEffort(1_000_000)), { seed: 7 });
    const expected = new Uint32Array(8 * keys.length);
    for (const [c, filter] of filters.entries()) {
      const answers = filter.hasMany(keys);
      for (let i = 0; i < keys.length; i++) expected[8 * i + (c >>> 5)] |= answers[i] << (c & 31);
    }
    const out = new Uint32Array(8);
    let wrong = 0;
    for (let i = 0; i < keys.length; i++) {
      const [low, high] = [keys.words[2 * i] >>> 0, keys.words[2 * i + 1] >>> 0];
      table.candidates({ scheme: keys.scheme, low, high }, out);
      for (let w = 0; w < 8; w++) if (out[w] !== expected[8 * i + w]) wrong++;
    }
    expect(wrong).toBe(0);
  });

  test('takes as much memory as its filters, and two rows', () => {
    for (const [columns, rowBits] of [
      [1, 1],
      [4, 4],
      [16, 16],
      [64, 64],
      [256, 256],
    ]) {
      const table = new FilterTable({ rows: 8000, hashes: 3, columns });
      expect(table.byteLength).toBe(4 * Math.ceil((8002 * rowBits) / 32));
    }
  });

  test('refuses what does not fit, and says what was expected', () => {
    const table = new FilterTable({ rows: 1000, hashes: 3, columns: 40 });
    const other = new BloomFilter({ bits: 1000, hashes: 4 });
    const refusals: [() => void, string][] = [
      [
        () => new FilterTable({ rows: 0, hashes: 3, columns: 4 }),
        'Cannot use rows: expected an integer from 1',
      ],
      [
        () => new FilterTable({ rows: 2 ** 32, hashes: 3, columns: 40 }),
        'Cannot make a table: expected at most',
      ],
      [() => new FilterTable({ rows: 10, hashes: 3, columns: 0 }), 'Cannot use columns: expected an integer'],
      [() => table.add(40, 'a'), 'Cannot use column: expected an integer from 0 to 39, got 40'],
      [() => table.mask(-1), 'Cannot use column: expected an integer'],
      [() => table.flipRows(0, [1000]), 'Cannot use row: expected an integer from 0 to 999, got 1000'],
      [() => table.setColumn(0, other), 'Cannot set a column: expected 1000 bits, 3 hashes, classic'],
      [
        () => table.setColumn(0, new BloomFilter({ bits: 1000, hashes: 3, seed: 1 })),
        'got BloomFilter(1000 bits, 3 hashes, classic, forge64/1)',
      ],
      [
        () => FilterTable.fromFilters([new BloomFilter({ bits: 999, hashes: 3, layout: 'partitioned' })]),
        'partitioned',
      ],
      [() => FilterTable.fromFilters([]), 'Cannot make a table: expected filters, got none'],
      [
        () => table.candidates(hashKey('a'), new Uint32Array(1)),
        'Cannot write candidates: expected 2 words, got 1',
      ],
      [
        () => table.candidates(hashKey('a', { seed: 1 }), new Uint32Array(2)),
        'Cannot use a hash: expected one by filter.scheme',
      ],
      [() => table.grow(39), 'Cannot use columns: expected an integer'],
    ];
    for (const [action, message] of refusals) expect(action).toThrow(message);
    // A row of a flip that is refused does not stop the ones before it from counting.
    expect(table.columnFill(0)).toBe(0);
  });

  test('says what it is', () => {
    const table = new FilterTable({ rows: 10, hashes: 3, columns: 4, seed: 5 });
    expect(`${table}`).toBe('FilterTable(10 rows, 3 hashes, 4 columns, forge64/5)');
  });
});

/** Filters whose keys overlap: filter c holds the numbers from 100 c to 100 c + 299. */
function overlapping(
  columns: number,
  options: { bits: number; hashes: number; seed?: number },
): BloomFilter[] {
  return Array.from({ length: columns }, (_, c) => {
    const filter = new BloomFilter(options);
    filter.addMany(ownKeys(c));
    return filter;
  });
}

function ownKeys(column: number): number[] {
  return Array.from({ length: 300 }, (_, i) => 100 * column + i);
}

/** The number of keys of a column that change a bit of its filter. */
function freshKeys(column: number, bits: number): number {
  return new BloomFilter({ bits, hashes: 4, seed: 7 }).addMany(ownKeys(column));
}

function expectColumns(table: FilterTable, filters: readonly BloomFilter[]): void {
  for (const [c, filter] of filters.entries()) {
    if (!table.columnFilter(c).equals(filter)) throw new Error(`column ${c} of ${table} is not ${filter}`);
    expect(table.columnFill(c)).toBe(filter.fill());
  }
}

function bitOf(filter: BloomFilter, row: number): number {
  const frame = filter.encode();
  const payload = frame.subarray(frame.length - 4 - Math.ceil(filter.bits / 8), frame.length - 4);
  return (payload[row >>> 3] >>> (row & 7)) & 1;
}
