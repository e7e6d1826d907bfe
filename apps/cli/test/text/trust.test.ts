/** Indexes that must not be trusted: each of these tests once missed a line, or said too much. */

import fs, { mkdirSync, openSync, readFileSync, utimesSync, writeFileSync, writeSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { DEFAULT_SCHEME } from '@bloomery/stores/text';
import { expect, test } from 'vitest';
import { FolderSearch } from '../../src/text/folder-search.ts';
import { indexFolder } from '../../src/text/index-folder.ts';
import { readManifest, writeManifest } from '../../src/text/index-manifest.ts';
import { bloomery, temporaryFolder } from '../run-command.ts';
import { searchInProcess } from './search-in-process.ts';

const scratch = temporaryFolder();
let made = 0;

/** A folder with one log of some blocks. */
function newFolder(lines = 60_000): string {
  const folder = join(scratch, `logs-${made++}`);
  mkdirSync(folder);
  writeFileSync(join(folder, 'a.log'), logText(lines));
  utimesSync(join(folder, 'a.log'), 1e9, 1e9);
  return folder;
}

function logText(lines: number): string {
  return Array.from(
    { length: lines },
    (_, i) => `line ${i} trace=${((i + 1) * 2654435761).toString(16).padStart(14, '0')}\n`,
  ).join('');
}

test('a log of a fixed size that was being written when it was indexed is read whole', async () => {
  const folder = newFolder();
  const path = join(folder, 'a.log');
  // A time in the future is one that cannot be told from that of a later change.
  utimesSync(path, 1e9, Date.now() / 1000 + 3600);
  await indexFolder(folder, { scheme: DEFAULT_SCHEME });
  expect(readManifest(folder)!.files[0].modified).toBe('');
  const bytes = readFileSync(path);
  writeSync(openSync(path, 'r+'), 'a-line-in-place', bytes.length >> 1);
  const { report } = await searchInProcess({ pattern: 'a-line-in-place' }, [folder]);
  expect([report.lines, report.whole.changed]).toEqual([1, 1]);
  // The next run indexes all of it.
  await indexFolder(folder, { scheme: DEFAULT_SCHEME });
  expect((await searchInProcess({ pattern: 'a-line-in-place' }, [folder])).report.lines).toBe(1);
});

test('a list that names too little of an index leaves no text out', async () => {
  const folder = newFolder();
  await indexFolder(folder, { scheme: DEFAULT_SCHEME });
  const manifest = readManifest(folder)!;
  const [file] = manifest.files;
  const [part] = file.parts;
  const lists = [
    { ...manifest, indexes: [] },
    { ...manifest, files: [{ ...file, parts: [] }] },
    { ...manifest, files: [{ ...file, parts: [{ ...part, from: 1000 }] }] },
    { ...manifest, files: [{ ...file, parts: [{ ...part, to: part.to - 1 }] }] },
    {
      ...manifest,
      files: [
        {
          ...file,
          parts: [
            { ...part, to: 500_000 },
            { ...part, from: 500_001 },
          ],
        },
      ],
    },
  ];
  for (const list of lists) {
    writeManifest(folder, list);
    const { report } = await searchInProcess({ pattern: 'line 31234 trace' }, [folder]);
    expect([report.lines, report.whole['damaged index']]).toEqual([1, 1]);
  }
  writeManifest(folder, manifest);
  const { report } = await searchInProcess({ pattern: 'line 31234 trace' }, [folder]);
  expect([report.lines, report.whole['damaged index']]).toEqual([1, 0]);
});

test('an index that is renewed during a search is searched again, and not called damaged', async () => {
  const folder = newFolder(3000);
  await indexFolder(folder, { scheme: DEFAULT_SCHEME });
  // Another process renews the index after the list was read, before the index file is opened.
  const { openSync: open } = fs;
  let renewals = 0;
  fs.openSync = (path, ...rest) => {
    if (String(path).endsWith('.text') && renewals++ === 0)
      expect(bloomery(['index', '--rebuild', folder]).code).toBe(0);
    return open(path, ...rest);
  };
  syncBuiltinESMExports();
  try {
    const counts = { blocks: 0, candidates: 0, indexBytes: 0 };
    const bytes = Buffer.from('line 1234 trace');
    const search = await FolderSearch.open(folder, { kind: 'text', bytes }, counts);
    expect([search.problem, renewals]).toEqual([null, 2]);
    expect(counts.blocks).toBe(readManifest(folder)!.indexes[0].blocks);
  } finally {
    fs.openSync = open;
    syncBuiltinESMExports();
  }
});

test('the copy that a killed run of --repack leaves is neither indexed nor searched', async () => {
  const folder = newFolder(3000);
  writeFileSync(join(folder, '.a.log.99999999-1-01234567.bloomery-tmp'), 'line 1234 trace\n');
  const { files } = await indexFolder(folder, { scheme: DEFAULT_SCHEME });
  expect(files).toBe(1);
  expect((await searchInProcess({ pattern: 'line 1234 trace' }, [folder])).report.lines).toBe(1);
});
