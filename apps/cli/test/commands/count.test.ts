import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Random } from '@bloomery/testkit/statistics';
import { beforeAll, describe, expect, test } from 'vitest';
import { bloomery, temporaryFolder } from '../run-command.ts';

const folder = temporaryFolder();
const at = (name: string) => join(folder, name);
const run = (args: readonly string[], input = '') => bloomery(args, { input, cwd: folder });

/** Word i stands i times in the file, in a random order. */
const words = Array.from({ length: 60 }, (_, i) => Array<string>(i + 1).fill(`word-${i + 1}`)).flat();
beforeAll(() => {
  const random = new Random(5);
  const shuffled = words.map((word) => ({ word, place: random.below(2 ** 31) }));
  shuffled.sort((a, b) => a.place - b.place);
  writeFileSync(at('words.txt'), `${shuffled.map(({ word }) => word).join('\n')}\n`);
  for (const [structure, ...options] of [
    ['counting', '--counter-bits', '8'],
    ['spectral'],
    ['count-min'],
    ['heavy-hitters', '--threshold', '2%'],
  ]) {
    const build = ['build', 'words.txt', '-s', structure, ...options, '-o', `${structure}.blm`];
    expect(run(build)).toMatchObject({ code: 0, stderr: '' });
  }
});

test('a range-sketch counts the numbers in each range, and takes and gives back keys', () => {
  const numbers = Array.from({ length: 3000 }, (_, i) => i * 3);
  const build = ['build', '-s', 'range-sketch', '--universe-bits', '16', '-o', 'numbers.blm'];
  expect(run(build, `${numbers.join('\n')}\n`)).toMatchObject({ code: 0, stderr: '' });
  // Whole exact intervals, of 8 keys or fewer at this size: no error.
  const { stdout } = run(['count', 'numbers.blm'], '0..8191\n8192..65535\n300\n');
  const counts = stdout.split('\n').map((line) => line.split('\t'));
  expect(counts.slice(0, 2)).toEqual([
    ['2731', '0..8191'],
    ['269', '8192..65535'],
  ]);
  expect(Number(counts[2][0])).toBeGreaterThanOrEqual(1);
  const [record] = run(['count', 'numbers.blm', '--json'], '10..20\n').stdout.split('\n');
  expect(JSON.parse(record)).toMatchObject({ text: '10..20', atLeast: 0 });
  expect(run(['add', 'numbers.blm'], '60000\n60001\n').code).toBe(0);
  expect(run(['count', 'numbers.blm'], '0..65535\n').stdout).toBe('3002\t0..65535\n');
  expect(run(['remove', 'numbers.blm'], '60000\n').code).toBe(0);
  expect(run(['count', 'numbers.blm'], '0..65535\n').stdout).toBe('3001\t0..65535\n');
  expect(run(['check', 'numbers.blm'], '300\n60000\n').stdout).toContain('300\n');
  const described = JSON.parse(run(['info', '--json', 'numbers.blm']).stdout);
  expect(described).toMatchObject({
    structure: 'RangeSketch',
    parameters: { universeBits: 16, total: 3001 },
  });
  for (const [text, message] of [
    ['x', '"x" is no key of a range-sketch; its keys are integers from 0 to 65535'],
    ['65536', '"65536" is no key'],
    ['9..3', '"9..3" is no range; write the smaller end first'],
    ['1..2..3', '"1..2..3" is no range'],
  ]) {
    expect(run(['count', 'numbers.blm'], `${text}\n`)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(message),
    });
  }
  expect(run(['build', 'words.txt', '-o', 'no.blm', '--universe-bits', '9']).stderr).toMatch(
    /--universe-bits means nothing for --structure blocked; it is for range-sketch/,
  );
});

describe('count', () => {
  for (const structure of ['counting', 'spectral', 'count-min', 'heavy-hitters']) {
    test(`${structure}: how often each key was added, never too low`, () => {
      const asked = Array.from({ length: 60 }, (_, i) => `word-${i + 1}`);
      const { code, stdout } = run(['count', `${structure}.blm`], `${asked.join('\n')}\n`);
      expect(code).toBe(0);
      const lines = stdout.trimEnd().split('\n');
      const counts = lines.map((line) => Number(line.split('\t')[0]));
      expect(lines.map((line) => line.split('\t')[1])).toEqual(asked);
      expect(counts.every((count, i) => count >= i + 1)).toBe(true);
      expect(counts.filter((count, i) => count === i + 1).length).toBeGreaterThan(50);
    });
  }

  test('--at-least leaves out the others, and the exit code tells', () => {
    expect(run(['count', 'count-min.blm', '--at-least', '59'], 'word-60\nword-7\nnone\n').stdout).toBe(
      '60\tword-60\n',
    );
    expect(run(['count', 'count-min.blm', '--at-least', '1'], 'none\n')).toEqual({
      code: 1,
      stdout: '',
      stderr: '',
    });
    expect(run(['count', 'count-min.blm'], 'none\n').stdout).toBe('0\tnone\n');
  });

  test('--json has the least that the truth can be', () => {
    run(['build', 'words.txt', '-s', 'count-min', '--error', '1%', '-o', 'rough.blm']);
    const { stdout } = run(['count', 'rough.blm', '--json', '--jsonl', '.w'], '{"w":"word-60"}\n');
    const { count, atLeast, ...record } = JSON.parse(stdout);
    expect(record).toEqual({ file: '-', record: 1, text: '{"w":"word-60"}' });
    expect(count).toBeGreaterThanOrEqual(60);
    // The error is 1 % of the total, rounded down to a whole width of the sketch.
    expect(count - atLeast).toBeLessThanOrEqual(0.01 * words.length);
    expect(count - atLeast).toBeGreaterThanOrEqual(0.008 * words.length);
  });
});

describe('top', () => {
  test('the keys that were added most, and no others', () => {
    const { stdout } = run(['top', 'heavy-hitters.blm']);
    const heavy = Array.from({ length: 60 }, (_, i) => 60 - i).filter(
      (count) => count >= 0.02 * words.length,
    );
    expect(stdout).toBe(heavy.map((count) => `${count}\tword-${count}\n`).join(''));
    expect(run(['top', 'heavy-hitters.blm', '-m', '2']).stdout).toBe('60\tword-60\n59\tword-59\n');
    const [first] = run(['top', 'heavy-hitters.blm', '--json']).stdout.split('\n');
    expect(JSON.parse(first)).toMatchObject({ key: 'word-60', count: 60, share: 60 / words.length });
  });
});

describe('get', () => {
  test('bloomier: the value of each key', () => {
    writeFileSync(
      at('ids.csv'),
      `name,id\n${Array.from({ length: 500 }, (_, i) => `user ${i},${3 * i}`).join('\n')}\n`,
    );
    run([
      'build',
      'ids.csv',
      '--column',
      'name',
      '--value-column',
      'id',
      '-s',
      'bloomier',
      '-r',
      '1e-6',
      '-o',
      'ids.blm',
    ]);
    expect(run(['get', 'ids.blm'], 'user 7\nnone\nuser 499\n')).toEqual({
      code: 0,
      stdout: '21\tuser 7\n1497\tuser 499\n',
      stderr: '',
    });
    expect(run(['get', 'ids.blm', '--json'], 'none\nuser 1\n').stdout).toBe(
      '{"file":"-","record":2,"text":"user 1","value":3}\n',
    );
    expect(run(['get', 'ids.blm'], 'none\n').code).toBe(1);
  });

  test('attenuated: the nearest level; rotating: the generation', () => {
    writeFileSync(at('near.txt'), 'a\nb\n');
    writeFileSync(at('far.txt'), 'b\nc\n');
    const build = (structure: string) =>
      run(['build', 'near.txt', 'far.txt', '-r', '1e-6', '-s', structure, '-o', `${structure}.blm`]);
    build('attenuated');
    expect(run(['get', 'attenuated.blm'], 'a\nb\nc\nd\n').stdout).toBe('0\ta\n0\tb\n1\tc\n');
    build('rotating');
    expect(run(['get', 'rotating.blm', '--json'], 'a\n').stdout).toContain('"age":1');
  });
});

test('info says what a structure tells, and shows the heavy keys', () => {
  const { stdout } = run(['info', 'heavy-hitters.blm', '--no-picture']);
  expect(stdout).toMatch(/^heavy +60 {2}word-60$/m);
  expect(stdout).toMatch(/^tells +how often .*: bloomery count heavy-hitters\.blm$/m);
  const described = JSON.parse(run(['info', '--json', 'heavy-hitters.blm']).stdout);
  expect(described.heavy).toHaveLength(10);
  expect(described.heavy[0]).toMatchObject({ key: 'word-60', count: 60 });
  expect(described.heavy[0].atLeast).toBeLessThanOrEqual(60);
  expect(described.tells.command).toBe('count');
});

test('a structure that does not know is refused with one that does', () => {
  run(['build', 'words.txt', '-o', 'plain.blm']);
  expect(run(['count', 'plain.blm'], 'a\n').stderr).toMatch(
    /only tells whether .*--structure counting, spectral/,
  );
  expect(run(['get', 'plain.blm'], 'a\n').stderr).toMatch(/--structure bloomier, attenuated or rotating/);
  expect(run(['get', 'spectral.blm'], 'a\n').stderr).toMatch(/tells how often .*; ask it by: bloomery count/);
  expect(run(['top', 'count-min.blm']).stderr).toMatch(
    /count-min\.blm is a CountMinSketch, which does not keep its keys; .*--structure heavy-hitters/,
  );
});
