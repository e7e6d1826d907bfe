/** `bloomery index` and `grep` on zstd files of the real program: frames, --repack, damage. */

import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { bloomery, temporaryFolder } from '../run-command.ts';

const scratch = temporaryFolder();

function logText(seed: number, lines: number): Buffer {
  const random = new Random(seed);
  const hex = () => (random.bits() >>> 0).toString(16).padStart(8, '0');
  return Buffer.from(
    Array.from({ length: lines }, (_, i) => `{"n":${i},"trace":"${hex()}${hex()}"}\n`).join(''),
  );
}

function zstd(input: Uint8Array, ...args: string[]): Buffer {
  const { stdout, status, stderr } = spawnSync('zstd', ['-q', '-c', ...args], { input, maxBuffer: 1 << 28 });
  expect(status, String(stderr)).toBe(0);
  return stdout;
}

function folderOf(name: string, files: Record<string, Uint8Array>): string {
  const folder = join(scratch, name);
  mkdirSync(folder);
  for (const [file, bytes] of Object.entries(files)) writeFileSync(join(folder, file), bytes);
  return folder;
}

const traceOf = (text: Buffer, line: number) => text.toString('latin1').split('\n')[line].slice(-18, -2);

test('a zstd file of one frame is repacked: still zstd, no larger, read by frames', () => {
  const text = logText(1, 60_000);
  const folder = folderOf('one', { 'app.log.zst': zstd(text, '-1') });
  const path = join(folder, 'app.log.zst');
  utimesSync(path, 1_700_000_000, 1_700_000_000);
  const before = statSync(path);
  const needle = traceOf(text, 58_234);
  const stats = () => {
    const { stdout, stderr } = bloomery(['grep', '-n', needle, folder, '--stats', '--json']);
    expect(JSON.parse(stdout).line).toBe(58_235);
    return JSON.parse(stderr) as { textBytes: number };
  };
  expect(bloomery(['index', folder]).code).toBe(0);
  const whole = stats().textBytes;
  // Without Node's own zstd and without the program, the file stays and the reason is named.
  if (!('zstdCompressSync' in process.getBuiltinModule('node:zlib')))
    expect(bloomery(['index', '--repack', folder], { env: { PATH: '' } }).stderr).toMatch(
      /app\.log\.zst was not repacked: .*expected the program zstd \(Debian: zstd\) or Node 22\.15/,
    );
  const report = JSON.parse(bloomery(['index', '--rebuild', '--repack', '--json', folder]).stdout);
  expect(report).toMatchObject({ files: 1, repacked: 1 });
  const after = statSync(path);
  expect(after.size).toBeLessThanOrEqual(before.size);
  expect(after.mtimeMs).toBe(before.mtimeMs);
  const { stdout, status } = spawnSync('zstd', ['-dc', path], { maxBuffer: 1 << 28 });
  expect(status).toBe(0);
  expect(Buffer.compare(stdout, text)).toBe(0);
  expect(stats().textBytes).toBeLessThan(whole / 2);
  // The seek table of the seekable format: its last bytes are its magic number.
  expect(readFileSync(path).subarray(-4).toString('hex')).toBe('b1ea928f');
  expect(JSON.parse(bloomery(['index', '--repack', '--json', folder]).stdout)).toMatchObject({
    repacked: 0,
    indexed: 0,
  });
});

test('damaged, dictionary and --long frames: one message each, exit code 2, the other lines', () => {
  const text = logText(2, 3000);
  const packed = zstd(text);
  const damaged = Buffer.from(packed);
  damaged[packed.length >> 1] ^= 1;
  const samples = join(scratch, 'samples');
  writeFileSync(samples, text);
  const dictionary = join(scratch, 'dictionary');
  spawnSync('zstd', ['-q', '--train', '-B2000', samples, '--maxdict=4000', '-o', dictionary]);
  const faults = {
    'cut.zst': { bytes: packed.subarray(0, -3), says: 'is cut off' },
    'damaged.zst': { bytes: damaged, says: 'is damaged' },
    'dictionary.zst': { bytes: zstd(text, '-D', dictionary), says: 'zstd -d -D unpacks it' },
    'long.zst': { bytes: zstd(text, '--ultra', '--long=30'), says: 'zstd -d --long=30 unpacks it' },
    'more.zst': { bytes: Buffer.concat([packed, Buffer.from('text behind it\n')]), says: 'got other bytes' },
  };
  const folder = folderOf('faults', {
    ...Object.fromEntries(Object.entries(faults).map(([name, { bytes }]) => [name, bytes])),
    'whole.zst': packed,
  });
  const indexed = bloomery(['index', folder]);
  expect(indexed.code).toBe(0);
  const found = bloomery(['grep', '-h', traceOf(text, 7), folder]);
  expect(found.code).toBe(2);
  for (const [name, { says }] of Object.entries(faults)) {
    for (const { stderr } of [indexed, found]) {
      const lines = stderr.split('\n').filter((line) => line.includes(`${name}`));
      expect(lines.length, stderr).toBe(1);
      expect(lines[0]).toContain(says);
    }
  }
  // The whole file, and the one with more bytes behind its frame.
  expect(found.stdout.split('\n').filter((line) => line !== '').length).toBeGreaterThanOrEqual(2);
});

test('an index that took a zstd file for plain text is not trusted', () => {
  const text = logText(3, 3000);
  const folder = folderOf('former', { 'app.zst': zstd(text) });
  expect(bloomery(['index', folder]).code).toBe(0);
  const list = join(folder, '.bloomery/text.json');
  const json = readFileSync(list, 'utf8').split('\n')[1].replace('"kind":"zstd"', '"kind":"plain"');
  const sum = crc32(`${json}\n`).toString(16).padStart(8, '0');
  writeFileSync(list, `bloomery-text-index 1 ${sum}\n${json}\n`);
  const found = bloomery(['grep', '-c', traceOf(text, 7), folder]);
  expect([found.code, found.stderr]).toEqual([0, expect.stringContaining('1 changed')]);
  expect(JSON.parse(bloomery(['index', '--json', folder]).stdout)).toMatchObject({ indexed: 1 });
});
