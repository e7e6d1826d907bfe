/** `bloomery index --threads`: the same index with any number of threads. */

import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { bloomery, temporaryFolder } from '../run-command.ts';

const folder = join(temporaryFolder(), 'logs');

function hexLines(random: Random, lines: number): Buffer {
  const hex = () => (random.bits() >>> 0).toString(16).padStart(8, '0');
  return Buffer.from(Array.from({ length: lines }, (_, i) => `${i} id=${hex()}${hex()}${hex()}\n`).join(''));
}

/** The index without its name, which is random: everything behind the header. */
function indexBytes(): Buffer {
  const name = readdirSync(join(folder, '.bloomery')).find((one) => one.endsWith('.text'))!;
  return readFileSync(join(folder, '.bloomery', name)).subarray(40);
}

test('index: one, two and five threads write the same blocks, and say the same', () => {
  mkdirSync(join(folder, 'small'), { recursive: true });
  const random = new Random(31);
  const texts = ['a', 'b', 'd'].map((name) => {
    const text = hexLines(random, 70_000);
    writeFileSync(join(folder, `${name}.gz`), gzipSync(text, { level: 1 }));
    return text;
  });
  const packed = gzipSync(hexLines(random, 90_000), { level: 1 });
  writeFileSync(join(folder, 'c-damaged.gz'), packed.subarray(0, packed.length - 1000));
  for (let i = 0; i < 300; i++) writeFileSync(join(folder, `small/${i}.log`), hexLines(random, 20));
  const runs = [1, 2, 5].map((threads) => {
    const run = bloomery(['index', '--rebuild', '--json', '--threads', String(threads), folder]);
    expect(run.code).toBe(0);
    expect(run.stderr).toContain('c-damaged.gz was left out');
    return { report: JSON.parse(run.stdout), warnings: run.stderr, bytes: indexBytes() };
  });
  expect(runs[0].report).toMatchObject({ files: 303, indexed: 303 });
  for (const { report, warnings, bytes } of runs.slice(1)) {
    expect(report).toEqual(runs[0].report);
    expect(warnings).toBe(runs[0].warnings);
    expect(Buffer.compare(bytes, runs[0].bytes)).toBe(0);
  }
  const line = texts[2].toString('latin1').split('\n')[65_432];
  const { stdout, stderr } = bloomery(['grep', '-n', line.slice(6), join(folder, 'd.gz'), '--stats', '-H']);
  expect(stdout).toBe(`${join(folder, 'd.gz')}:65433:${line}\n`);
  expect(stderr).toContain('read whole    0 files');
});

test('index: a number of threads that is none is refused', () => {
  const { code, stderr } = bloomery(['index', '--threads', '0', folder]);
  expect(code).toBe(2);
  expect(stderr).toContain('at least 1');
});

test('index: an error on a thread ends the run with a message, and no thread stays', () => {
  // A limit on the size of files, as on a full disk, while two threads are at work.
  const { status, stderr } = spawnSync('bash', [
    '-c',
    `ulimit -f 20; trap '' XFSZ; exec "$0" "$@"`,
    process.execPath,
    join(import.meta.dirname, '../../bin/bloomery.js'),
    'index',
    '--rebuild',
    '--threads',
    '2',
    folder,
  ]);
  expect(status).toBe(2);
  expect(String(stderr)).toContain('nothing was changed');
  expect(bloomery(['grep', '-c', '-h', '65432 id=', join(folder, 'd.gz')]).stdout).toBe('1\n');
});
