import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '@bloomery/testkit/eventually';
import { expectBinomial, Random } from '@bloomery/testkit/statistics';
import { decodeFilter } from 'bloomery/frames';
import { beforeEach, describe, expect, test } from 'vitest';
import { bloomery, COMMAND, temporaryFolder } from '../run-command.ts';

const folder = temporaryFolder();
const at = (name: string) => join(folder, name);
const uniq = (args: readonly string[], input = '') => bloomery(['uniq', ...args], { input, cwd: folder });
const structureOf = (name: string) => decodeFilter(readFileSync(at(name))).constructor.name;

beforeEach(() => rmSync(at('seen.blm'), { force: true }));

describe('each line once', () => {
  test('as awk does it, over a large input with repetitions far apart', () => {
    const random = new Random(3);
    const lines = Array.from({ length: 100_000 }, () => `line ${random.below(40_000)}`);
    const input = `${lines.join('\n')}\n`;
    const wanted = spawnSync('awk', ['!seen[$0]++'], { input, maxBuffer: 1e8 }).stdout.toString();
    expect(uniq([], input).stdout === wanted).toBe(true);
    const others = spawnSync('awk', ['seen[$0]++'], { input, maxBuffer: 1e8 }).stdout.toString();
    expect(uniq(['-v'], input).stdout === others).toBe(true);
    const distinct = new Set(lines).size;
    expect(uniq(['-c'], input).stdout).toBe(`${distinct}\n`);
    expect(uniq(['-c', '--json'], input).stdout).toBe(`{"checked":100000,"matched":${distinct}}\n`);
  });

  test('from one run to the next in a filter file, which info and check read', () => {
    expect(uniq(['--seen', 'seen.blm'], 'a\nb\na\n')).toEqual({ code: 0, stdout: 'a\nb\n', stderr: '' });
    expect(uniq(['--seen', 'seen.blm'], 'b\nc\nd').stdout).toBe('c\nd\n');
    expect(structureOf('seen.blm')).toBe('ScalableBloomFilter');
    expect(bloomery(['check', 'seen.blm', '-c'], { input: 'a\nb\nc\nd\ne\n', cwd: folder }).stdout).toBe(
      '4\n',
    );
  });

  test('a new line is dropped with the asked rate', () => {
    const known = Array.from({ length: 20_000 }, (_, i) => `known ${i}`).join('\n');
    const fresh = Array.from({ length: 50_000 }, (_, i) => `fresh ${i}`).join('\n');
    bloomery(['build', '-s', 'bloom', '-r', '2%', '-o', 'seen.blm'], { input: known, cwd: folder });
    const { stdout } = uniq(['--seen', 'seen.blm', '-c', '--capacity', '1'], `${known}\n`);
    expect(stdout).toBe('0\n');
    // Asked for one at a time: each line that passes is added, so only the first tell the rate.
    const first = fresh.split('\n').slice(0, 500).join('\n');
    const passed = Number(uniq(['--seen', 'seen.blm', '-c'], first).stdout);
    expectBinomial(500 - passed, 500, 0.02, 'new lines that were dropped');
  });

  test('columns, fields, several files and line numbers', () => {
    writeFileSync(at('a.csv'), 'id,name\n1,x\n2,y\n3,x\n');
    writeFileSync(at('b.csv'), 'id,name\n4,y\n5,z\n');
    expect(uniq(['a.csv', 'b.csv', '--column', 'name', '-Hn']).stdout).toBe(
      'a.csv:1:1,x\na.csv:2:2,y\nb.csv:2:5,z\n',
    );
    expect(uniq(['--jsonl', '.k', '--json'], '{"k":1}\n{"k":1,"v":2}\n').stdout).toBe(
      '{"file":"-","record":1,"text":"{\\"k\\":1}"}\n',
    );
  });
});

describe('windows', () => {
  test('a line passes again when the window is over, and not before', async () => {
    expect(uniq(['--seen', 'seen.blm', '--window', '1s', '-N', '100'], 'a\n').stdout).toBe('a\n');
    expect(structureOf('seen.blm')).toBe('RotatingBloomFilter');
    await eventually(() => uniq(['--seen', 'seen.blm', '--window', '1s'], 'a\n').stdout === 'a\n', 60_000);
    expect(uniq(['--seen', 'seen.blm', '--window', '24h'], 'a\n').stderr).toMatch(/its window is 1 s/);
    rmSync(at('seen.blm'));
    expect(uniq(['--seen', 'seen.blm', '--window', '24h'], 'a\na\n').stdout).toBe('a\n');
    expect(uniq(['--seen', 'seen.blm', '--window', '24h'], 'a\nb\n').stdout).toBe('b\n');
  });
});

describe('--at', () => {
  test('a line passes at its Nth sight, also over several runs', () => {
    const input = 'a\nb\na\nc\na\na\nb\n';
    expect(uniq(['--at', '2'], input).stdout).toBe('a\nb\n');
    expect(uniq(['--at', '3', '-n'], input).stdout).toBe('5:a\n');
    expect(uniq(['--seen', 'seen.blm', '--at', '3', '-N', '1000'], 'a\na\nb\n').stdout).toBe('');
    expect(uniq(['--seen', 'seen.blm', '--at', '3'], 'b\na\na\nb\nb\n').stdout).toBe('a\nb\n');
    expect(structureOf('seen.blm')).toBe('CountingBloomFilter');
    expect(uniq(['--seen', 'seen.blm', '--at', '16'], 'a\n').stderr).toMatch(/its counters reach 15/);
    expect(uniq(['--at', '20'], 'a\n'.repeat(30)).stdout).toBe('a\n');
  });
});

describe('--exact', () => {
  test('lets one process at a time use its file', async () => {
    const first = spawn(process.execPath, [COMMAND, 'uniq', '--exact', 'held.txt'], { cwd: folder });
    first.stdin.write('a\n');
    await once(first.stdout, 'data');
    const second = uniq(['--exact', 'held.txt', '--wait', '0'], 'a\n');
    expect([second.code, second.stdout]).toEqual([2, '']);
    expect(second.stderr).toMatch(/held\.txt/);
    first.stdin.end();
    await once(first, 'exit');
    expect(uniq(['--exact', 'held.txt', '--wait', '0'], 'a\nb\n')).toMatchObject({ code: 0, stdout: 'b\n' });
  });

  test('drops no line by a false positive, and none passes twice', () => {
    // At a rate of 50 %, half of the new lines would be dropped.
    const lines = Array.from({ length: 3000 }, (_, i) => `line ${i % 2000}`);
    const input = `${lines.join('\n')}\n`;
    expect(Number(uniq(['-r', '50%', '-N', '2000', '-c'], input).stdout)).toBeLessThan(1900);
    const { stdout } = uniq(['-r', '50%', '-N', '2000', '--exact', 'exact.txt', '--seen', 'seen.blm'], input);
    expect(stdout).toBe(`${lines.slice(0, 2000).join('\n')}\n`);
    expect(readFileSync(at('exact.txt'), 'utf8')).toBe(stdout);
    expect(uniq(['--exact', 'exact.txt', '-c'], `${input}new\n`).stdout).toBe('1\n');
    // A line that a crash cut off is ended, and is a line of its own.
    writeFileSync(at('exact.txt'), 'whole\ncut');
    expect(uniq(['--exact', 'exact.txt'], 'whole\ncut\nmore\n').stdout).toBe('more\n');
    expect(readFileSync(at('exact.txt'), 'utf8')).toBe('whole\ncut\nmore\n');
  });
});

describe('streams', () => {
  function start() {
    const child = spawn(process.execPath, [COMMAND, 'uniq', '--seen', 'seen.blm', '--flush', '86400'], {
      cwd: folder,
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    let stdout = '';
    child.stdout.on('data', (text) => {
      stdout += text;
    });
    return { child, ended: once(child, 'exit'), output: () => stdout };
  }

  test('lines come out while the pipe is open, and a signal remembers them', async () => {
    const { child, ended, output } = start();
    child.stdin.write('a\na\nb\n');
    await eventually(() => output() === 'a\nb\n', 60_000);
    child.kill('SIGTERM');
    expect((await ended)[1]).toBe('SIGTERM');
    expect(uniq(['--seen', 'seen.blm'], 'a\nb\nc\n').stdout).toBe('c\n');
  });

  test('a closed pipe ends it quietly, and the lines before it are remembered', async () => {
    const { child, ended, output } = start();
    child.stdin.on('error', () => {}); // it ends while more lines are written
    child.stdin.write('first\n');
    await eventually(() => output() === 'first\n', 60_000);
    child.stdout.destroy();
    child.stdin.write('a\nb\n');
    expect((await ended)[0]).toBe(141);
    expect(uniq(['--seen', 'seen.blm'], 'first\nother\n').stdout).toBe('other\n');
  });
});

describe('what cannot be', () => {
  test.each([
    [['--at', '2', '--window', '1h'], /--at and --window exclude each other/],
    [['--exact', 'x', '--window', '1h'], /it excludes --at and --window/],
    [['--window', '1'], /Expected a time from 1s to 3650d/],
    [['--at', '70000'], /--at counts to 65,535/],
    [['--seen', 'text.txt'], /text\.txt is not a filter/],
    [['--seen', 'static.blm'], /static\.blm is a StaticFilter, in which uniq cannot remember lines/],
    [['nowhere.txt', '--seen', 'new.blm'], /nowhere\.txt: no such file/],
  ])('%s', (args, message) => {
    writeFileSync(at('text.txt'), 'text\n');
    if (!existsSync(at('static.blm'))) {
      bloomery(['build', '-s', 'static', '-o', 'static.blm'], { input: 'a\nb\n', cwd: folder });
    }
    const { code, stdout, stderr } = uniq(args, 'a\n');
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(message);
    expect(existsSync(at('new.blm'))).toBe(false);
  });
});
