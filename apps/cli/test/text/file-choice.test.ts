/** Tests of the choice of files: --include and --exclude as in grep, .bloomeryignore as in git. */

import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { filesBelow, filesOf } from '../../src/text/list-files.ts';
import { NameGlobs } from '../../src/text/name-globs.ts';
import { bloomery, temporaryFolder } from '../run-command.ts';

const scratch = temporaryFolder();

function folderOf(name: string, paths: readonly string[]): string {
  for (const path of paths) {
    mkdirSync(dirname(join(scratch, name, path)), { recursive: true });
    writeFileSync(join(scratch, name, path), `needle in ${path}\n`);
  }
  return join(scratch, name);
}

const PATHS = [
  'app.log',
  'app.log.1',
  'App.LOG',
  'b/app.log',
  'b/deep/x.txt',
  'b/deep/app.log',
  'cache/one.log',
  'cache/two[1].log',
  'b/cache/three',
  '-odd',
  '.hidden',
];
const GLOBS = [
  '*.log',
  'app.*',
  '*',
  '?pp.log',
  '[ab]*',
  '[!a]*',
  '[[:upper:]]*',
  'two\\[1].log',
  '*[1]*',
  'b*',
  'cache',
  'cache/',
  '*p/*',
  'deep/app.log',
  '.*',
];

test('NameGlobs takes the files that GNU grep takes, in any order of options', () => {
  const folder = folderOf('globs', PATHS);
  const random = new Random(5);
  for (let i = 0; i < 60; i++) {
    const globs = Array.from({ length: 1 + random.below(3) }, () => ({
      kind: random.pick(['include', 'exclude', 'exclude-dir'] as const),
      glob: random.pick(GLOBS),
    }));
    // A file that is named, a folder that is named, or both.
    const named = random
      .pick([[''], ['b/deep/app.log', 'b'], ['b/', 'cache/one.log']])
      .map((path) => `${folder}/${path}`);
    const args = globs.map(({ kind, glob }) => `--${kind}=${glob}`);
    const { stdout } = spawnSync('grep', ['-rl', ...args, 'needle', ...named]);
    const expected = stdout
      .toString()
      .split('\n')
      .filter(Boolean)
      .map((path) => join(path));
    const found = named.flatMap((path) => filesOf(path, { globs: new NameGlobs(globs) }).files);
    expect(found.sort(), `${args.join(' ')} ${named.join(' ')}`).toEqual(expected.sort());
  }
});

test('.bloomeryignore leaves out the files that git leaves out', () => {
  const folder = folderOf('ignored', PATHS);
  writeFileSync(
    join(folder, '.bloomeryignore'),
    '# comment\n*.log.*\ncache/\n!/b/cache\n/app.log\nb/**/x.txt\n\\-odd\n',
  );
  writeFileSync(join(folder, 'b/.bloomeryignore'), '!x.txt\n/deep/*.log\n');
  spawnSync('git', ['init', '-q'], { cwd: folder });
  spawnSync('git', ['config', 'core.excludesFile', ''], { cwd: folder });
  const { stdout, status } = spawnSync('git', ['ls-files', '-o', '--exclude-per-directory=.bloomeryignore'], {
    cwd: folder,
  });
  expect(status).toBe(0);
  const expected = stdout
    .toString()
    .split('\n')
    .filter(Boolean)
    .map((path) => join(folder, path));
  const found = [...filesBelow(folder)].filter((path) => !path.includes('/.git/'));
  expect(found.sort()).toEqual(expected.sort());
  expect([...filesBelow(folder, { ignore: false })].length).toBeGreaterThan(found.length);
});

test('index and grep leave ignored files out, several folders at once, unless the file is named', () => {
  const [one, two] = [folderOf('one', PATHS), folderOf('two', PATHS)];
  writeFileSync(join(one, '.bloomeryignore'), 'cache/\n');
  expect(bloomery(['index', one, two]).code).toBe(0);
  const names = (args: string[]) =>
    bloomery(['grep', '-l', 'needle', ...args])
      .stdout.trim()
      .split('\n');
  const both = names([one, two]);
  expect(both.filter((path) => path.includes('/cache/'))).toEqual([
    join(two, 'b/cache/three'),
    join(two, 'cache/one.log'),
    join(two, 'cache/two[1].log'),
  ]);
  expect(names([join(one, 'cache/one.log')])).toEqual([join(one, 'cache/one.log')]);
  // A folder below the rules keeps to them.
  expect(names([join(one, 'b')]).filter((path) => path.includes('cache'))).toEqual([]);
  expect(names(['--no-ignore', one]).length).toBe(both.filter((path) => path.startsWith(two)).length);
  expect(names(['--include', '*.txt', one, two])).toEqual([
    join(one, 'b/deep/x.txt'),
    join(two, 'b/deep/x.txt'),
  ]);
  const none = bloomery(['grep', 'needle', '--exclude', '*', one]);
  expect([none.code, none.stdout]).toEqual([1, '']);
});

test('CRLF, zero bytes and lines of megabytes give the lines of grep', () => {
  const folder = join(scratch, 'odd');
  mkdirSync(folder);
  const long = Buffer.alloc(6 << 20, 'abcdefghijklmnop ');
  writeFileSync(join(folder, 'crlf.log'), 'first needle-one\r\nsecond\r\nneedle-one at the end\r\n');
  writeFileSync(
    join(folder, 'binary'),
    Buffer.concat([Buffer.from('a\0b\xffneedle-one\0\nmore\n\0', 'latin1')]),
  );
  writeFileSync(
    join(folder, 'long'),
    Buffer.concat([long, Buffer.from(' needle-one\nshort needle-one\n'), long]),
  );
  expect(bloomery(['index', folder]).code).toBe(0);
  for (const args of [
    ['needle-one'],
    ['-c', 'needle-one'],
    ['-n', 'at the end'],
    ['-E', 'one.$'],
    ['-x', '-E', 'second.'],
  ]) {
    const names = ['binary', 'crlf.log', 'long'].map((name) => join(folder, name));
    const { stdout } = spawnSync('grep', ['-a', '-H', ...args, ...names], {
      env: { ...process.env, LC_ALL: 'C' },
      maxBuffer: 1 << 26,
    });
    expect(bloomery(['grep', ...args, folder]).stdout === stdout.toString(), args.join(' ')).toBe(true);
  }
});
