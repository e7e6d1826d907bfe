import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BlockedBloomFilter, SecretKey } from 'bloomery';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openFilter } from './filter-file.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'bloomery-filter-file-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

function saved(name: string, key?: SecretKey): [path: string, filter: BlockedBloomFilter] {
  const filter = new BlockedBloomFilter({ blocks: 3000, hashes: 6, ...(key === undefined ? {} : { key }) });
  filter.addMany(Array.from({ length: 5000 }, (_, i) => `key-${i}`));
  const path = join(folder, name);
  writeFileSync(path, filter.encode());
  return [path, filter];
}

test('openFilter reads a file in chunks if it is too large for one array', async () => {
  const key = new SecretKey(new Uint8Array(16).fill(3));
  for (const [path, filter, options] of [
    [...saved('plain.blm'), {}],
    [...saved('keyed.blm', key), { key }],
  ] as const) {
    const file = await openFilter(path, { ...options, mostBytes: 1000 });
    expect(file).toMatchObject({
      format: 'bloomery',
      structure: { name: 'BlockedBloomFilter', option: 'blocked' },
    });
    expect((file.filter as BlockedBloomFilter).equals(filter)).toBe(true);
    expect(() => file.bytes).toThrow(/has 192031 bytes; this needs them at once, and at most 1000 can be/);
    const whole = await openFilter(path, options);
    expect(whole.bytes.length).toBe(192_031);
  }
});

test('openFilter says what is wrong with a large file', async () => {
  const [path, filter] = saved('damaged.blm');
  const bytes = filter.encode();
  bytes[100_000] ^= 1;
  writeFileSync(path, bytes);
  await expect(openFilter(path, { mostBytes: 1000 })).rejects.toThrow(
    /damaged.blm: the file was damaged: .*checksum/,
  );
  writeFileSync(path, bytes.subarray(0, 5000));
  await expect(openFilter(path, { mostBytes: 1000 })).rejects.toThrow(
    /the file is cut off: .*expected 192031 bytes/,
  );
});
