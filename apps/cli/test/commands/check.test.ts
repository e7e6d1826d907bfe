import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CASSANDRA_3, CASSANDRA_4, PYBLOOM_MD5 } from '@bloomery/testkit/golden/foreign-files';
import { Random } from '@bloomery/testkit/statistics';
import { DcsoFilter } from 'bloomery/formats/dcso';
import { GuavaFilter } from 'bloomery/formats/guava';
import { beforeAll, describe, expect, test } from 'vitest';
import { bloomery, COMMAND, temporaryFolder } from '../run-command.ts';

const folder = temporaryFolder();
const at = (name: string) => join(folder, name);
const check = (args: readonly string[], input = '') => bloomery(['check', ...args], { input, cwd: folder });

beforeAll(() => {
  const even = Array.from({ length: 20_000 }, (_, i) => `item ${2 * i}`);
  writeFileSync(at('even.txt'), `${even.join('\n')}\n`);
  expect(bloomery(['build', 'even.txt', '-r', '1e-12', '-o', 'even.blm'], { cwd: folder }).code).toBe(0);
  const three = Array.from({ length: 10_000 }, (_, i) => `item ${3 * i}`);
  writeFileSync(at('three.txt'), `${three.join('\n')}\n`);
  expect(bloomery(['build', 'three.txt', '-r', '1e-12', '-o', 'three.blm'], { cwd: folder }).code).toBe(0);
});

describe('lines', () => {
  test('those that may be in, in order, and with -v the others', () => {
    const input = 'item 1\nitem 2\nitem 4\nitem 5\nitem 8';
    expect(check(['even.blm'], input)).toEqual({ code: 0, stdout: 'item 2\nitem 4\nitem 8\n', stderr: '' });
    expect(check(['even.blm', '-v', '-'], input).stdout).toBe('item 1\nitem 5\n');
    expect(check(['even.blm', '--count'], input).stdout).toBe('3\n');
    expect(check(['even.blm', '--count', '--json'], input).stdout).toBe('{"checked":5,"matched":3}\n');
  });

  test('exit codes: 0 found, 1 not found, 2 error', () => {
    expect(check(['even.blm', '-q'], 'item 2\n')).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(check(['even.blm', '-q'], 'item 3\n')).toEqual({ code: 1, stdout: '', stderr: '' });
    expect(check(['even.blm', '-qv'], 'item 2\n').code).toBe(1);
    expect(check(['nowhere.blm'], 'item 2\n').code).toBe(2);
  });

  test('are those of grep -Fxf, over large files, several threads and every mixture of runs', () => {
    const random = new Random(7);
    const lines: string[] = [];
    while (lines.length < 150_000) {
      const run = 1 + random.below(random.below(4) === 0 ? 3000 : 4);
      const step = random.below(2);
      for (let i = 0; i < run; i++) lines.push(`item ${2 * random.below(30_000) + step}`);
    }
    writeFileSync(at('mixed.txt'), lines.join('\n'));
    const set = new Set(readFileSync(at('even.txt'), 'utf8').split('\n'));
    const wanted = lines.filter((line) => set.has(line));
    for (const threads of ['0', '2']) {
      const { stdout } = check(['even.blm', 'mixed.txt', '--threads', threads]);
      expect(stdout === `${wanted.join('\n')}\n`, `${threads} threads`).toBe(true);
      const rest = check(['even.blm', '-v', 'mixed.txt', '--threads', threads]).stdout;
      expect(rest === `${lines.filter((line) => !set.has(line)).join('\n')}\n`).toBe(true);
    }
  });

  test('names of files and numbers of lines', () => {
    writeFileSync(at('a.txt'), 'item 1\nitem 2\n');
    writeFileSync(at('b.txt'), 'item 4\n');
    expect(check(['even.blm', '-Hn', 'a.txt', 'b.txt']).stdout).toBe('a.txt:2:item 2\nb.txt:1:item 4\n');
    expect(check(['even.blm', '-Hn', 'a.txt', 'a.txt']).stdout).toBe('a.txt:2:item 2\na.txt:2:item 2\n');
    expect(check(['even.blm', '--json', 'a.txt']).stdout).toBe(
      '{"file":"a.txt","record":2,"text":"item 2"}\n',
    );
  });
});

describe('records', () => {
  test('whole CSV records are printed, asked for by their column', () => {
    writeFileSync(at('r.csv'), 'name,what\n"two\nlines",item 2\nx,item 3\n"q ""q""",item 4\n');
    expect(check(['even.blm', '--column', 'what', 'r.csv']).stdout).toBe(
      '"two\nlines",item 2\n"q ""q""",item 4\n',
    );
    expect(check(['even.blm', '--column', 'what', '-v', 'r.csv']).stdout).toBe('x,item 3\n');
    expect(check(['even.blm', '--column', 'what', '-n', 'r.csv']).stdout).toBe(
      '1:"two\nlines",item 2\n3:"q ""q""",item 4\n',
    );
  });

  test('JSON lines and zero bytes', () => {
    expect(check(['even.blm', '--jsonl', '.k'], '{"k":"item 2","v":1}\n{"k":"item 3"}\n').stdout).toBe(
      '{"k":"item 2","v":1}\n',
    );
    expect(check(['even.blm', '-0'], 'item 2\0item 3\0item 4\0').stdout).toBe('item 2\0item 4\0');
  });
});

describe('several filters', () => {
  test('each line with the filters that may have it', () => {
    const input = 'item 1\nitem 2\nitem 3\nitem 6\n';
    expect(check(['-f', 'even.blm', '-f', 'three.blm', '-'], input).stdout).toBe(
      'item 2\teven.blm\nitem 3\tthree.blm\nitem 6\teven.blm,three.blm\n',
    );
    expect(check(['-f', 'even.blm', '-f', 'three.blm', '-v'], input).stdout).toBe('item 1\n');
    expect(check(['-f', 'even.blm', '-f', 'three.blm', '--json', '-'], 'item 6\n').stdout).toBe(
      '{"file":"-","record":1,"text":"item 6","filters":["even.blm","three.blm"]}\n',
    );
  });

  test('with other hashes, too', () => {
    bloomery(['build', 'three.txt', '--seed', '7', '-r', '1e-9', '-o', 'seeded.blm'], { cwd: folder });
    expect(check(['-f', 'even.blm', '-f', 'seeded.blm', '-'], 'item 6\n').stdout).toBe(
      'item 6\teven.blm,seeded.blm\n',
    );
  });
});

test('files of other systems', () => {
  const dcso = DcsoFilter.create({ capacity: 100, falsePositiveRate: 1e-6 });
  dcso.add('item 2');
  writeFileSync(at('x.bloom'), dcso.encode());
  expect(check(['x.bloom'], 'item 1\nitem 2\n').stdout).toBe('item 2\n');
  const guava = GuavaFilter.create({ capacity: 100, falsePositiveRate: 1e-6, funnel: 'long' });
  guava.add(42n);
  writeFileSync(at('x.guava'), guava.encode());
  expect(check(['x.guava', '--funnel', 'long'], '41\n42\n').stdout).toBe('42\n');
  expect(check(['x.guava', '--funnel', 'long'], 'x\n').stderr).toContain('its keys are integers, got "x"');
});

test("Cassandra's file is asked as the release in its name, and an old pybloom file as it is told", () => {
  writeFileSync(at('nb-1-big-Filter.db'), CASSANDRA_4);
  writeFileSync(at('me-1-big-Filter.db'), CASSANDRA_3);
  for (const name of ['nb-1-big-Filter.db', 'me-1-big-Filter.db']) {
    expect(check([name], 'key-1\nZürich\nabsent-1\n').stdout).toBe('key-1\nZürich\n');
  }
  writeFileSync(at('x.pybloom'), PYBLOOM_MD5);
  expect(check(['x.pybloom'], 'key-1\n').stderr).toContain('--format pybloom-md5 asks it as the former');
  expect(check(['x.pybloom', '--format', 'pybloom-md5'], 'key-1\nabsent-1\n').stdout).toBe('key-1\n');
});

test('sketches say "maybe" to what they have counted', () => {
  for (const structure of ['heavy-hitters', 'count-min']) {
    bloomery(['build', '-s', structure, '--force', '-o', at('sketch.blm')], {
      input: 'item 2\nitem 4\nitem 2\n',
    });
    expect(check(['sketch.blm'], 'item 1\nitem 2\nitem 3\nitem 4\n').stdout).toBe('item 2\nitem 4\n');
  }
});

describe('what cannot be', () => {
  test('filters that are cut off, damaged, no filters, or directories', () => {
    const bytes = readFileSync(at('even.blm'));
    writeFileSync(at('cut.blm'), bytes.subarray(0, 1000));
    expect(check(['cut.blm'], 'x\n')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/cut\.blm: the file is cut off/),
    });
    const damaged = Buffer.from(bytes);
    damaged[5000] ^= 1;
    writeFileSync(at('damaged.blm'), damaged);
    expect(check(['damaged.blm'], 'x\n').stderr).toMatch(/damaged\.blm: the file was damaged: .*checksum/);
    expect(check(['even.txt'], 'x\n').stderr).toMatch(/even\.txt is not a filter that bloomery knows/);
    expect(check(['.'], 'x\n').stderr).toMatch(/is a directory/);
    writeFileSync(at('empty.blm'), '');
    expect(check(['empty.blm'], 'x\n').stderr).toMatch(/empty\.blm is empty/);
    expect(check(['even.blm', 'nowhere.txt'])).toMatchObject({ code: 2, stdout: '' });
    expect(check(['-', '-'], 'x\n').stderr).toMatch(/standard input can be read once only/);
  });
});

test('a pipe that is closed ends the command quietly', () => {
  const script = `"${process.execPath}" "${COMMAND}" check even.blm even.txt even.txt even.txt | head -n 2; echo "$?:\${PIPESTATUS[0]}"`;
  const { stdout, stderr } = spawnSync('bash', ['-c', script], { cwd: folder });
  expect(stderr.toString()).toBe('');
  expect(stdout.toString()).toMatch(/^item 0\nitem 2\n0:(0|141)\n$/);
});
