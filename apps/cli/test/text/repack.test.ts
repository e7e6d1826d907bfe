/** `bloomery index --repack`: still gzip, the same text, no larger, and searched by members. */

import { spawnSync } from 'node:child_process';
import fs, {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { DEFAULT_SCHEME } from '@bloomery/stores/text';
import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { repackFile } from '../../src/text/repacking/repack-file.ts';
import { bloomery, COMMAND, temporaryFolder } from '../run-command.ts';

const scratch = temporaryFolder();

/** Lines with random identifiers: some megabytes in some dozen blocks. */
function logText(seed: number, lines: number): Buffer {
  const random = new Random(seed);
  const hex = () => (random.bits() >>> 0).toString(16).padStart(8, '0');
  return Buffer.from(
    Array.from(
      { length: lines },
      (_, i) =>
        `{"n":${i},"trace":"${hex()}${hex()}","client":"10.${random.below(256)}.${random.below(256)}.7"}\n`,
    ).join(''),
  );
}

function zcat(path: string): Buffer {
  const { stdout, status } = spawnSync('zcat', [path], { maxBuffer: 1 << 28 });
  expect(status).toBe(0);
  return stdout;
}

test('a gzip file of one piece becomes many members, no larger, with its text, time and mode', () => {
  const folder = join(scratch, 'one');
  mkdirSync(folder);
  const path = join(folder, 'app.log.gz');
  const text = logText(1, 60_000);
  writeFileSync(path, gzipSync(text), { mode: 0o640 });
  utimesSync(path, 1_700_000_000, 1_700_000_000);
  const before = statSync(path);
  const report = JSON.parse(bloomery(['index', '--repack', '--json', folder]).stdout);
  expect(report).toMatchObject({ files: 1, repacked: 1 });
  const after = statSync(path);
  expect(after.size).toBeLessThanOrEqual(before.size);
  expect([after.mtimeMs, after.mode]).toEqual([before.mtimeMs, before.mode]);
  expect(Buffer.compare(zcat(path), text)).toBe(0);
  const needle = text.toString('latin1').split('\n')[41_234].slice(20, 36);
  const { stdout, stderr } = bloomery(['grep', '-n', needle, folder, '--stats', '--json']);
  expect(JSON.parse(stdout).line).toBe(41_235);
  const stats = JSON.parse(stderr);
  expect(stats.textBytes).toBeLessThan(text.length / 3);
  // The second run finds nothing to do.
  expect(JSON.parse(bloomery(['index', '--repack', '--json', folder]).stdout)).toMatchObject({
    repacked: 0,
    indexed: 0,
  });
});

test('kill -9 while repacking: the old file or the new one, with the same text', () => {
  const folder = join(scratch, 'killed');
  mkdirSync(folder);
  const path = join(folder, 'app.log.gz');
  const text = logText(2, 60_000);
  writeFileSync(path, gzipSync(text));
  const begun = performance.now();
  bloomery(['--version']);
  const seconds = (performance.now() - begun) / 1000;
  for (const share of [0.8, 1.2, 1.7, 2.5]) {
    spawnSync('timeout', [
      '-s',
      'KILL',
      (share * seconds).toFixed(3),
      process.execPath,
      COMMAND,
      'index',
      '--repack',
      folder,
    ]);
    expect(Buffer.compare(zcat(path), text)).toBe(0);
  }
  expect(bloomery(['index', '--repack', folder]).code).toBe(0);
  expect(Buffer.compare(zcat(path), text)).toBe(0);
  expect(readdirSync(join(folder, '.bloomery')).filter((name) => name.endsWith('.repack'))).toEqual([]);
});

test('files that stay: damaged gzip, plain text, many members already', () => {
  const folder = join(scratch, 'stay');
  mkdirSync(folder);
  const text = logText(3, 60_000);
  const packed = gzipSync(text);
  const files = {
    'damaged.gz': packed.subarray(0, packed.length - 5000),
    'plain.log': text,
    'members.gz': Buffer.concat(
      Array.from({ length: 40 }, (_, i) => gzipSync(text.subarray(i * 100_000, (i + 1) * 100_000))),
    ),
  };
  for (const [name, bytes] of Object.entries(files)) writeFileSync(join(folder, name), bytes);
  const { stdout, stderr, code } = bloomery(['index', '--repack', '--json', folder]);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ repacked: 0, files: 2 });
  expect(stderr).toContain('damaged.gz was not repacked');
  for (const [name, bytes] of Object.entries(files))
    expect(Buffer.compare(readFileSync(join(folder, name)), bytes)).toBe(0);
});

test('a gzip file with other bytes behind its last member stays as it is', () => {
  const folder = join(scratch, 'behind');
  mkdirSync(folder);
  const path = join(folder, 'signed.gz');
  const bytes = Buffer.concat([gzipSync(logText(4, 60_000)), Buffer.from('a signature in no member')]);
  writeFileSync(path, bytes);
  const { stdout, stderr, code } = bloomery(['index', '--repack', '--json', folder]);
  expect([code, JSON.parse(stdout).repacked]).toEqual([0, 0]);
  expect(stderr).toMatch(/signed\.gz was not repacked: .*got 24 other bytes/);
  expect(Buffer.compare(readFileSync(path), bytes)).toBe(0);
  expect(bloomery(['grep', '-c', '-h', '"n":59999,', folder]).stdout).toBe('1\n');
});

test('a gzip file that gets another member while it is repacked keeps it', async () => {
  const folder = join(scratch, 'appended');
  mkdirSync(folder);
  const path = join(folder, 'app.log.gz');
  writeFileSync(path, gzipSync(logText(5, 60_000)));
  utimesSync(path, 1e9, 1e9);
  // A member comes when the new file is copied to its place, which is the last step.
  const { openSync } = fs;
  let appended = 0;
  fs.openSync = (name, ...rest) => {
    if (String(name).endsWith('.bloomery-tmp') && appended++ === 0)
      appendFileSync(path, gzipSync('a line of a new member\n'));
    return openSync(name, ...rest);
  };
  syncBuiltinESMExports();
  try {
    await expect(repackFile(path, join(folder, 'scratch'), DEFAULT_SCHEME)).rejects.toThrow(
      'the file was changed meanwhile',
    );
  } finally {
    fs.openSync = openSync;
    syncBuiltinESMExports();
  }
  expect(appended).toBe(1);
  expect(zcat(path).toString('latin1').endsWith('a line of a new member\n')).toBe(true);
  expect(readdirSync(folder)).toEqual(['app.log.gz']);
});
