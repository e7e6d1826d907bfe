import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BlockedBloomFilter, BloomFilter, CountingBloomFilter, SecretKey } from 'bloomery';
import { afterAll, describe, expect, test } from 'vitest';
import { FileLockedError } from '../lock/file-lock.ts';
import { PagedFilter } from './paged-filter.ts';

const folder = mkdtempSync(join(tmpdir(), 'paged-filter-'));
afterAll(() => rmSync(folder, { recursive: true }));

let files = 0;
function fileOf(filter: { encode(): Uint8Array }): string {
  const path = join(folder, `${files++}.blm`);
  writeFileSync(path, filter.encode());
  return path;
}
const keysOf = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => `key ${from + i}`);
const size = { capacity: 200_000, falsePositiveRate: 0.01 };
const secret = new SecretKey(Uint8Array.from({ length: 16 }, (_, i) => i));

describe.each([
  ['BloomFilter', () => BloomFilter.forCapacity(size)],
  [
    'BloomFilter, partitioned and keyed',
    () => BloomFilter.forCapacity({ ...size, layout: 'partitioned', key: secret }),
  ],
  ['BlockedBloomFilter', () => BlockedBloomFilter.forCapacity(size)],
] as const)('%s in a file', (title, create) => {
  const options = title.includes('keyed') ? { key: secret } : {};

  test('answers as the same filter in memory, with room for a few pages only', async () => {
    const filter = create();
    filter.addMany(keysOf(0, 50_000));
    const paged = await PagedFilter.open(fileOf(filter), { ...options, maxPages: 20 });
    const asked = keysOf(49_000, 52_000);
    expect(paged.hasMany(asked)).toEqual(filter.hasMany(asked));
    expect(paged.has('key 3')).toBe(true);
    expect(paged.pagesHeld).toBeLessThanOrEqual(20);
    paged.close();
  });

  test('after commit the file is byte for byte the filter with all keys', async () => {
    const filter = create();
    filter.addMany(keysOf(0, 1000));
    const path = fileOf(filter);
    const paged = await PagedFilter.open(path, { ...options, writable: true });
    expect(paged.addMany(keysOf(500, 3000))).toBe(filter.addMany(keysOf(500, 3000)));
    expect([...paged.hasMany(keysOf(0, 3000))]).not.toContain(0);
    expect(readFileSync(path).equals(filter.encode())).toBe(false);
    expect(paged.commit()).toBeGreaterThan(0);
    expect(readFileSync(path).equals(filter.encode())).toBe(true);
    // It goes on after a commit.
    expect(paged.add('one more')).toBe(filter.add('one more'));
    expect(paged.commit()).toBeGreaterThan(0);
    expect(paged.commit()).toBe(0);
    paged.close();
    expect(readFileSync(path).equals(filter.encode())).toBe(true);
  });
});

test('close without commit discards additions and gives the lock back', async () => {
  const filter = BlockedBloomFilter.forCapacity(size);
  const path = fileOf(filter);
  const first = await PagedFilter.open(path, { writable: true });
  first.add('lost');
  await expect(PagedFilter.open(path, { writable: true, waitMs: 0 })).rejects.toThrow(FileLockedError);
  first.close();
  first.close();
  expect(() => first.has('lost')).toThrow(/expected an open filter, got a closed one/);
  const second = await PagedFilter.open(path, { writable: true, waitMs: 0 });
  expect(second.has('lost')).toBe(false);
  second.close();
});

test('a reader sees additions of a writer after refresh, and needs no lock', async () => {
  const path = fileOf(BlockedBloomFilter.forCapacity(size));
  const writer = await PagedFilter.open(path, { writable: true });
  const reader = await PagedFilter.open(path);
  expect(reader.has('news')).toBe(false);
  writer.add('news');
  writer.commit();
  expect(reader.has('news')).toBe(false);
  reader.refresh();
  expect(reader.has('news')).toBe(true);
  expect(() => reader.add('mine')).toThrow(/expected a filter opened with writable: true/);
  reader.close();
  writer.close();
});

test('a batch that changes more pages than may be held is refused, and earlier ones stay', async () => {
  const path = fileOf(BlockedBloomFilter.forCapacity(size));
  const paged = await PagedFilter.open(path, { writable: true, maxPages: 10 });
  expect(paged.add('first')).toBe(true);
  expect(() => paged.addMany(keysOf(0, 1000))).toThrow(/expected at most 10 pages to change, got more/);
  for (const key of keysOf(0, 40)) {
    paged.add(key);
    paged.commit();
  }
  expect([...paged.hasMany(['first', ...keysOf(0, 40)])]).not.toContain(0);
  paged.close();
});

test('keys of a generator are added even if pages have to be forgotten for them', async () => {
  const path = fileOf(BlockedBloomFilter.forCapacity(size));
  const paged = await PagedFilter.open(path, { writable: true, maxPages: 40 });
  for (let i = 1000; paged.pagesHeld < 40; i++) paged.has(`key ${i}`);
  expect(paged.addMany(keysOf(0, 30).values())).toBe(30);
  expect([...paged.hasMany(keysOf(0, 30))]).not.toContain(0);
  paged.close();
});

test('a limit of pages that is no number is refused, and the least one answers correctly', async () => {
  const filter = BloomFilter.forCapacity(size);
  filter.addMany(keysOf(0, 100));
  const path = fileOf(filter);
  for (const maxPages of [Number.NaN, 0, -1]) {
    await expect(PagedFilter.open(path, { maxPages })).rejects.toThrow(/^Cannot use maxPages: /);
  }
  const paged = await PagedFilter.open(path, { maxPages: 1 });
  expect([...paged.hasMany(keysOf(0, 100))]).not.toContain(0);
  paged.close();
});

test('other structures, wrong keys and files that are cut off are refused', async () => {
  const counting = fileOf(CountingBloomFilter.forCapacity({ capacity: 100, falsePositiveRate: 0.01 }));
  await expect(PagedFilter.open(counting)).rejects.toThrow(/Cannot decode/);
  const keyed = fileOf(BloomFilter.forCapacity({ ...size, key: secret }));
  await expect(PagedFilter.open(keyed, { writable: true })).rejects.toThrow(/a secret key/);
  // The refusal gave the lock back.
  (await PagedFilter.open(keyed, { writable: true, key: secret, waitMs: 0 })).close();
  writeFileSync(keyed, readFileSync(keyed).subarray(0, -1));
  await expect(PagedFilter.open(keyed, { key: secret })).rejects.toThrow(/expected \d+ bytes, got \d+/);
});
