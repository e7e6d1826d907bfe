/** The folder of a store: what it takes for its own, and what it refuses. */

import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { prepareFolder, readFolder } from './disk-folder.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bloomery-disk-folder-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('a store that was killed while it wrote store.json is opened again, and the unfinished files go', () => {
  writeFileSync(join(folder, 'store.json.tmp'), '{"vers');
  writeFileSync(join(folder, '.store.json.99999999.bloomery-tmp'), '{"vers');
  prepareFolder(folder);
  readFolder(folder);
  expect(readdirSync(folder).sort()).toEqual(['bodies', 'index', 'packs', 'store.json', 'tmp']);
  expect(statSync(join(folder, 'store.json')).mode & 0o777).toBe(0o600);
});

test('a directory in place of store.json is replaced', () => {
  mkdirSync(join(folder, 'store.json', 'deep'), { recursive: true });
  prepareFolder(folder);
  readFolder(folder);
  expect(statSync(join(folder, 'store.json')).isFile()).toBe(true);
});

test('a folder with other files is refused', () => {
  writeFileSync(join(folder, 'letter.txt'), 'dear');
  expect(() => prepareFolder(folder)).toThrow(
    /: expected an empty folder or that of a store, got letter.txt$/,
  );
});
