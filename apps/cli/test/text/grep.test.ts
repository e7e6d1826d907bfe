/** `bloomery index` and `bloomery grep` as a user runs them: real files, real processes. */

import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  closeSync,
  copyFileSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { bloomery, COMMAND, temporaryFolder } from '../run-command.ts';
import { writeCorpus } from './text-corpus.ts';

const scratch = temporaryFolder();
let made = 0;

/** A folder with some thousand lines in plain and gzip files, indexed. */
function indexedFolder(): string {
  const folder = join(scratch, `logs-${made++}`);
  mkdirSync(folder);
  writeFileSync(join(folder, 'a.log'), lines('a', 30_000));
  writeFileSync(join(folder, 'b.log.gz'), gzipSync(lines('b', 3000)));
  expect(bloomery(['index', folder]).code).toBe(0);
  return folder;
}

function lines(tag: string, count: number, from = 0): string {
  return Array.from(
    { length: count },
    (_, i) => `${tag} line ${from + i} trace=${((from + i) * 2654435761).toString(16)}\n`,
  ).join('');
}

/** Output of zgrep for the same files. */
function zgrep(args: readonly string[], folder: string, names: readonly string[]): string {
  const { stdout } = spawnSync(
    'zgrep',
    ['-a', '-H', '-F', ...args, '--', ...names.map((name) => join(folder, name))],
    {
      env: { ...process.env, LC_ALL: 'C' },
    },
  );
  return stdout.toString();
}

test('grep finds lines by the index, tells what it left out, and has the exit codes of grep', () => {
  const folder = indexedFolder();
  const found = bloomery(['grep', '-n', 'a line 29123 trace', folder, '--stats']);
  expect(found.stdout).toBe(
    `${folder}/a.log:29124:a line 29123 trace=${(29123 * 2654435761).toString(16)}\n`,
  );
  expect(found.code).toBe(0);
  expect(found.stderr).toMatch(/blocks {8}\d+, \d+ left out/);
  expect(found.stderr).toContain('read whole    0 files');
  const none = bloomery(['grep', 'certainly not there', folder]);
  expect([none.code, none.stdout, none.stderr]).toEqual([1, '', '']);
  expect(bloomery(['grep', 'x', join(folder, 'missing')]).code).toBe(2);
  expect(bloomery(['grep', '-q', 'b line 7 ', folder]).code).toBe(0);
  const short = bloomery(['grep', '-c', 'e 2', folder]);
  expect(short.stdout).toBe(zgrep(['-c', 'e 2'], folder, ['a.log', 'b.log.gz']));
  expect(short.stderr).toContain('the index cannot help with this needle');
});

test('flags: several needles, words, JSON, names, colours, a refused pattern', () => {
  const folder = indexedFolder();
  const two = bloomery(['grep', '-h', '-e', 'a line 17 ', '-e', 'b line 18 ', folder]);
  expect(two.stdout.split('\n').length).toBe(3);
  const json = bloomery(['grep', '--json', 'b line 18 ', folder]).stdout;
  expect(JSON.parse(json)).toMatchObject({ path: `${folder}/b.log.gz`, line: 19 });
  expect(bloomery(['grep', '-l', 'b line 18 ', folder]).stdout).toBe(`${folder}/b.log.gz\n`);
  expect(bloomery(['grep', '-L', 'b line 18 ', folder]).stdout).toBe(`${folder}/a.log\n`);
  const coloured = bloomery(['grep', 'b line 18 ', folder], { env: { FORCE_COLOR: '1' } });
  expect(coloured.stdout).toContain('\x1b[01;31mb line 18 \x1b[m');
  const refused = bloomery(['grep', '-E', '(a)\\1', folder]);
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain('expected an escape that this command knows');
  expect(bloomery(['grep', '-E', 'b line (18|19) ', folder, '--stats']).stderr).toContain(
    'read whole    0 files',
  );
});

test('colours do not wait for an expression that backtracks', () => {
  const folder = join(scratch, `logs-${made++}`);
  mkdirSync(folder);
  writeFileSync(join(folder, 'a.log'), `${'a'.repeat(60)}z\nz77 ab\n`);
  const run = (pattern: string) =>
    spawnSync(process.execPath, [COMMAND, 'grep', '-h', '-E', pattern, folder], {
      env: { ...process.env, FORCE_COLOR: '1' },
      encoding: 'utf8',
      timeout: 30_000,
    }).stdout;
  for (const pattern of ['(a*)*b|z', '(a|a){50}b|z', '(a?){50}b|z', `${'a?'.repeat(50)}b|z`])
    expect(run(pattern)).toContain('z77 ab\n');
  expect(run('z[0-9]+ a')).toBe('\x1b[01;31mz77 a\x1b[mb\n');
}, 120_000);

test('a log that grows is found to its end, and indexed further, not again', () => {
  const folder = indexedFolder();
  appendFileSync(join(folder, 'a.log'), lines('a', 500, 30_000));
  const before = bloomery(['grep', '-n', 'a line 30499 ', folder, '--stats']);
  expect(before.stdout).toContain(':30500:a line 30499 ');
  expect(before.stderr).toContain('read whole    0 files');
  const report = JSON.parse(bloomery(['index', '--json', folder]).stdout);
  expect(report).toMatchObject({ files: 2, indexed: 1, grown: 1 });
  expect(report.textBytes).toBeLessThan(report.totalTextBytes / 2);
  for (const needle of ['a line 30499 ', 'a line 12 ', 'a line 29999 ', 'a line 30000 '])
    expect(bloomery(['grep', '-n', needle, folder]).stdout).toBe(
      zgrep(['-n', needle], folder, ['a.log', 'b.log.gz']),
    );
  expect(bloomery(['grep', '-c', ' line ', folder]).stdout).toBe(
    zgrep(['-c', ' line '], folder, ['a.log', 'b.log.gz']),
  );
});

test('a log that grows in the middle of its last line', () => {
  const folder = join(scratch, `logs-${made++}`);
  mkdirSync(folder);
  writeFileSync(join(folder, 'a.log'), `${lines('a', 100)}half of a need`);
  bloomery(['index', folder]);
  appendFileSync(join(folder, 'a.log'), 'le-in-two-parts\nnext\n');
  expect(bloomery(['grep', '-n', 'needle-in-two', folder]).stdout).toContain(
    ':101:half of a needle-in-two-parts\n',
  );
  bloomery(['index', folder]);
  expect(bloomery(['grep', '-nc', 'needle-in-two', folder]).stdout).toBe(`${folder}/a.log:1\n`);
});

test('rotation: a renamed file keeps its blocks, a new one under the old name is read whole', () => {
  const folder = indexedFolder();
  renameSync(join(folder, 'a.log'), join(folder, 'a.log.1'));
  writeFileSync(join(folder, 'a.log'), 'the new log has line 1\n');
  const names = ['a.log', 'a.log.1', 'b.log.gz'];
  for (const needle of ['a line 29999 ', 'the new log']) {
    const { stdout, stderr } = bloomery(['grep', needle, folder, '--stats']);
    expect(stdout).toBe(zgrep([needle], folder, names));
    expect(stderr).toContain('read whole    1 files');
  }
  expect(JSON.parse(bloomery(['index', '--json', folder]).stdout)).toMatchObject({
    indexed: 1,
    renamed: 1,
    files: 3,
  });
});

test('a file that was changed is read whole: same size and time, truncated, or replaced', () => {
  const folder = indexedFolder();
  const path = join(folder, 'a.log');
  const text = readFileSync(path, 'utf8');
  const { atimeMs, mtimeMs } = statSync(path);
  writeFileSync(path, text.replace('a line 0 ', 'A LINE 0 '));
  utimesSync(path, atimeMs / 1000, mtimeMs / 1000);
  for (const change of [
    () => {},
    () => writeFileSync(path, text.slice(0, 1000)),
    () => writeFileSync(path, `${text}${text}`.replace('a line 1 ', 'A LINE 1 ')),
  ]) {
    change();
    for (const needle of ['A LINE', 'a line 2 trace'])
      expect(bloomery(['grep', needle, folder]).stdout).toBe(zgrep([needle], folder, ['a.log', 'b.log.gz']));
  }
  expect(bloomery(['grep', 'A LINE', folder]).stderr).toContain('1 changed since they were indexed');
});

test('a damaged index: every search gives all lines, and one message tells how to repair it', () => {
  const folder = indexedFolder();
  const index = join(
    folder,
    '.bloomery',
    readdirSync(join(folder, '.bloomery')).find((name) => name.endsWith('.text'))!,
  );
  const bytes = readFileSync(index);
  const expected = zgrep(['a line 29999 '], folder, ['a.log', 'b.log.gz']);
  const damages = [
    () => writeFileSync(index, bytes.subarray(0, bytes.length / 2)),
    () => writeFileSync(index, Buffer.from(bytes).fill(0, 5000)),
    () => writeFileSync(index, Buffer.from(bytes).fill(0, 40, bytes.length - 400)),
    () => writeFileSync(index, ''),
    () => writeFileSync(join(folder, '.bloomery/text.json'), '{}'),
  ];
  for (const damage of damages) {
    damage();
    const { stdout, stderr, code } = bloomery(['grep', 'a line 29999 ', folder]);
    expect(stdout).toBe(expected);
    expect(code).toBe(0);
    expect(stderr.split('\n').filter((line) => line.includes('--rebuild')).length).toBe(1);
  }
  expect(bloomery(['index', '--rebuild', folder]).code).toBe(0);
  const { stdout, stderr } = bloomery(['grep', 'a line 29999 ', folder]);
  expect([stdout, stderr]).toEqual([expected, '']);
});

test('damaged gzip: the lines before the damage, an error, exit code 2', () => {
  const folder = join(scratch, `logs-${made++}`);
  mkdirSync(folder);
  const packed = gzipSync(lines('z', 20_000));
  writeFileSync(join(folder, 'z.gz'), packed.subarray(0, packed.length / 2));
  copyFileSync(join(folder, 'z.gz'), join(folder, 'y.gz'));
  const { code, stderr } = bloomery(['index', folder]);
  expect(code).toBe(0);
  expect(stderr).toContain('z.gz was left out');
  const found = bloomery(['grep', 'z line 3 ', folder]);
  expect(found.stdout.split('\n').length).toBe(3);
  expect(found.code).toBe(2);
});

test('context and counts agree with zgrep on many kinds of files', () => {
  const folder = join(scratch, `logs-${made++}`);
  const texts = writeCorpus(folder, 5);
  // zgrep does not unpack zstd; zstd.test.ts compares with zstdgrep.
  rmSync(join(folder, 'zstd'), { recursive: true });
  bloomery(['index', folder]);
  const names = [...texts.keys()].filter((name) => !name.startsWith('zstd/')).sort();
  for (const args of [
    ['-C1', '-n', 'kernel: eth0 kernel'],
    ['-c', 'connection'],
    ['-w', '-n', 'needle-in-a-long-line'],
  ])
    expect(bloomery(['grep', '--exclude-dir', 'zstd', ...args, folder]).stdout).toBe(
      zgrep(args, folder, names),
    );
});

test('a full disk: the index stays as it was, and the message says so', () => {
  const folder = indexedFolder();
  writeFileSync(join(folder, 'c.log'), lines('c', 60_000));
  const before = readdirSync(join(folder, '.bloomery')).sort();
  // A limit of the size of files fails as a full disk does, with EFBIG.
  const { status, stderr } = spawnSync(
    'bash',
    [
      '-c',
      `ulimit -f 100; trap '' XFSZ; exec "$0" "$@"`,
      process.execPath,
      join(import.meta.dirname, '../../bin/bloomery.js'),
      'index',
      folder,
    ],
    { encoding: 'utf8' },
  );
  expect(status).toBe(2);
  expect(stderr).toContain('nothing was changed');
  expect(readdirSync(join(folder, '.bloomery')).sort()).toEqual(before);
  expect(bloomery(['grep', '-c', 'line 17 ', folder]).stdout).toBe(
    zgrep(['-c', 'line 17 '], folder, ['a.log', 'b.log.gz', 'c.log']),
  );
});

test('kill -9 while indexing: the old index or the new one, never a missed line', async () => {
  const folder = indexedFolder();
  const expected = (needle: string) => zgrep([needle], folder, ['a.log', 'b.log.gz', 'c.log']);
  const descriptor = openSync(join(folder, 'c.log'), 'w');
  for (let i = 0; i < 20; i++) writeSync(descriptor, lines('c', 5000, 5000 * i));
  closeSync(descriptor);
  const wanted = expected('line 77777 ');
  // A run that had little to do, as a measure for this machine.
  const begun = performance.now();
  bloomery(['index', indexedFolder()]);
  const seconds = (performance.now() - begun) / 2000;
  for (const share of [0.4, 0.8, 1, 1.3]) {
    const delay = share * seconds;
    const run = spawnSync('timeout', [
      '-s',
      'KILL',
      delay.toFixed(3),
      process.execPath,
      join(import.meta.dirname, '../../bin/bloomery.js'),
      'index',
      folder,
    ]);
    expect([0, 137, null]).toContain(run.status);
    expect(bloomery(['grep', 'line 77777 ', folder]).stdout).toBe(wanted);
  }
  expect(bloomery(['index', folder]).code).toBe(0);
  expect(readdirSync(join(folder, '.bloomery')).filter((name) => name.endsWith('.text')).length).toBe(2);
  expect(bloomery(['grep', 'line 77777 ', folder, '--stats']).stderr).toContain('read whole    0 files');
});
