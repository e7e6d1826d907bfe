/** `bloomery hyphenate`, as people run it, with Debian's patterns and word list. */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { EFFORT } from '@bloomery/testkit/effort';
import { expectBinomial } from '@bloomery/testkit/statistics';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const COMMAND = join(import.meta.dirname, '../../bin/bloomery.js');
const PATTERNS = '/usr/share/hyphen/hyph_en_US.dic'; // Debian package hyphen-en-us
const WORD_LIST = '/usr/share/dict/american-english-huge'; // Debian package wamerican-huge
const directory = mkdtempSync(join(tmpdir(), 'bloomery-hyphenate-'));
afterAll(() => rmSync(directory, { recursive: true }));

function run(args: string[], input: string | Uint8Array = '') {
  const { stdout, stderr, status } = spawnSync(process.execPath, [COMMAND, 'hyphenate', ...args], {
    cwd: directory,
    input,
    env: { ...process.env, NO_COLOR: '1' },
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  });
  return { stdout, stderr, status };
}

const file = (name: string, content: string | Uint8Array) => writeFileSync(join(directory, name), content);

beforeAll(() => {
  const all = readFileSync(WORD_LIST, 'utf8').trim().split('\n');
  // Every 40th word; all of them in the full form.
  file('words', `${(EFFORT > 1 ? all : all.filter((_, i) => i % 40 === 0)).join('\n')}\n`);
  file('truth.txt', 'hy-phen-ation\npro-ject\nrec-ord\nta·ble\n');
  file('text.txt', "The project's hyphenation: a Record, naïve­ly.\n");
  const { stdout, stderr, status } = run([
    'build',
    '-p',
    PATTERNS,
    '-w',
    'words',
    '-n',
    '3000',
    '-o',
    'en.blhy',
    '--json',
  ]);
  expect({ stderr, status }).toEqual({ stderr: '', status: 0 });
  expect(JSON.parse(stdout)).toMatchObject({ output: 'en.blhy', patterns: 3000 });
  expect(run(['build', '-p', PATTERNS, '-t', 'truth.txt', '-o', 'small.blhy'])).toEqual({
    stdout: '',
    stderr: '',
    status: 0,
  });
}, 300_000);

describe("Bloom's experiment", () => {
  let summary: Record<string, number>;
  const points = new Map<string, string>();

  beforeAll(() => {
    const { stdout, stderr, status } = run(['-d', 'en.blhy', '-m', '-', '--json', 'words']);
    expect({ stderr, status }).toEqual({ stderr: '', status: 0 });
    for (const line of stdout.trim().split('\n')) {
      const { word, hyphenated, source, summary: last } = JSON.parse(line);
      if (last !== undefined) summary = last;
      else points.set(word, `${hyphenated} ${source}`);
    }
  }, 300_000);

  test('the text is the same with and without the filter', () => {
    const filtered = run(['-d', 'en.blhy', '-m', '-', 'words']);
    const plain = run(['-d', 'en.blhy', '-m', '-', '--no-filter', 'words']);
    expect(filtered.stdout).toBe(plain.stdout);
    expect(filtered.stdout.replaceAll('-', '')).toBe(
      readFileSync(join(directory, 'words'), 'utf8').replaceAll('-', ''),
    );
    expect(plain.stderr).toContain('\n0 lookups saved (0)\n');
    expect(filtered.stderr).toMatch(
      /^[\d,]+ words \(and [\d,]+ too short to break\)\n[\d,]+ lookups in the dictionary: /,
    );
  }, 300_000);

  test('all patterns say the same', () => {
    // A file whose rules are all patterns: its only exception is made up.
    expect(run(['build', '-p', PATTERNS, '-t', '-', '-o', 'full.blhy'], 'zzz-zzz').status).toBe(0);
    expect(run(['-d', 'full.blhy', '-m', '-', '-q', 'words']).stdout).toBe(
      run(['-d', 'en.blhy', '-m', '-', '-q', 'words']).stdout,
    );
  }, 300_000);

  test('the counts add up, and the lookups saved are those of theory', () => {
    const { words, lookups, found, falseDrops, saved, estimatedFalseDropRate, measuredFalseDropRate } =
      summary;
    expect(lookups).toBe(found + falseDrops);
    expect(words).toBe(lookups + saved);
    expect(saved / words).toBeGreaterThan(0.7);
    // By distinct words: a word that comes twice is asked twice, with the same answer.
    const keys = new Map([...points].map(([word, answer]) => [word.toLowerCase(), answer.split(' ')[1]]));
    const others = [...keys.values()].filter((source) => source === 'rules').length;
    const distinct = run(['-d', 'en.blhy', '--json'], [...keys.keys()].join('\n'));
    const last = JSON.parse(distinct.stdout.trim().split('\n').at(-1) as string).summary;
    expectBinomial(last.falseDrops, others, estimatedFalseDropRate, 'lookups for nothing');
    expectBinomial(last.saved, others, 1 - estimatedFalseDropRate, 'lookups saved');
    expect(estimatedFalseDropRate).toBeGreaterThan(0.008);
    expect(estimatedFalseDropRate).toBeLessThan(0.012);
    // A quotient of the same counts: rounding only, below 5e-13.
    expect(measuredFalseDropRate).toBeCloseTo(falseDrops / (words - found), 12);
  }, 300_000);
});

describe('a text', () => {
  test('marks, case, apostrophes, soft hyphens that are there', () => {
    expect(run(['-d', 'small.blhy', '--mark', '-', 'text.txt'])).toEqual({
      stdout: "The pro-ject's hy-phen-ation: a Rec-ord, naïve­ly.\n",
      stderr:
        '3 words (and 3 too short to break)\n' +
        '2 lookups in the dictionary: 2 found, 0 for nothing; 2 pages read\n' +
        '1 lookups saved (33.3 %)\n' +
        "false drops: 0 of the words that are no exceptions; the filter's rate is 1.53 %\n".replace(
          '1.53',
          rateOf('small.blhy'),
        ),
      status: 0,
    });
    expect(run(['-d', 'small.blhy', '-q'], 'project').stdout).toBe('pro\u00adject');
    expect(run(['-d', 'small.blhy', '-q', '-m', '·', '-'], 'PROJECT\r\n').stdout).toBe('PRO·JECT\r\n');
    expect(run(['-d', 'small.blhy', '-q', '-m', '-'], gzipSync('project')).stdout).toBe('pro-ject');
    expect(run(['-d', 'small.blhy'], '').stderr).toContain('no word without an exception');
  });

  test('words are not cut where the input is', () => {
    const text = `${'hyphenation 𝔞𝔟𝔠 '.repeat(100_000)}hyphenation`;
    const { stdout } = run(['-d', 'small.blhy', '-q', '-m', '-'], text);
    expect(stdout.length).toBe(text.length + 2 * 100_001);
    expect(stdout.replaceAll('hy-phen-ation', 'hyphenation') === text).toBe(true);
  });

  test('a word longer than any keeps its letters, also where it is cut', () => {
    for (const text of ['𝔞'.repeat(400_001), `x${'𝔞'.repeat(400_001)}`, 'hyphenation'.repeat(100_000)]) {
      const { stdout } = run(['-d', 'small.blhy', '-q', '-m', '-'], text);
      expect(stdout.replaceAll('-', '') === text).toBe(true);
    }
  });

  test.each([
    [['text.txt'], '--dictionary names the file; make one with: bloomery hyphenate build'],
    [['-d', 'small.blhy', '-m', '', 'text.txt'], '--mark must not be empty'],
    [['-d', 'small.blhy', 'missing'], 'missing: no such file or directory'],
    [['-d', 'small.blhy', '.'], '. is a directory'],
    [['-d', 'small.blhy', 'small.blhy'], 'small.blhy is not UTF-8'],
    [['-d', 'small.blhy', 'zeros'], 'zeros looks binary: it has zero bytes'],
    [['-d', 'missing', 'text.txt'], 'missing: no such file or directory'],
    [['-d', '.', 'text.txt'], '. is no file; a dictionary is read at many positions'],
    [
      ['-d', 'text.txt', 'text.txt'],
      'text.txt is no hyphenation file; make one with: bloomery hyphenate build',
    ],
    [['-d', 'cut', 'text.txt'], 'cut is cut off, or no hyphenation file'],
    [['-d', 'damaged', 'text.txt'], 'damaged was damaged; build it again'],
    [['-d', 'later', 'text.txt'], 'later was written by a later version of bloomery'],
  ])('%j is refused', (args, message) => {
    const bytes = readFileSync(join(directory, 'small.blhy'));
    const change = (at: number, value: number) => bytes.map((byte, i) => (i === at ? value : byte));
    file('zeros', 'a\0b');
    file('cut', bytes.subarray(0, 5000));
    // In the last page, which only a lookup reads.
    file('damaged', change(bytes.length - 4000, 255));
    file('later', change(4, 2));
    const { stdout, stderr, status } = run(args);
    expect(stderr).toContain(`bloomery: error: ${message}`);
    expect({ stdout, status }).toEqual({ stdout: '', status: 2 });
  });
});

describe('build', () => {
  test('TeX files, with exceptions that count more', () => {
    file('mini.tex', '\\patterns{1b 1t}\n\\hyphenation{al-pha-bet rab-bit}\n');
    file('more.tex', '\\hyphenation{ra-bbit}');
    const args = [
      'build',
      '-p',
      'mini.tex',
      '-e',
      'more.tex',
      '-o',
      'mini.blhy',
      '--verbose',
      '--left',
      '1',
      '--right',
      '1',
    ];
    expect(run(args).stderr).toMatch(
      /^mini\.blhy: 2 patterns are wrong about 2 of 2 words \(100 %\); filter \d+ B, all in 8\.19 kB, /,
    );
    expect(run(['-d', 'mini.blhy', '-m', '-', '-q'], 'alphabet rabbit cabs').stdout).toBe(
      'al-pha-bet ra-bbit ca-bs',
    );
  });

  test('standard output', () => {
    const { stdout } = spawnSync(
      process.execPath,
      [COMMAND, 'hyphenate', 'build', '-p', PATTERNS, '-t', 'truth.txt', '-o', '-'],
      {
        cwd: directory,
      },
    );
    expect(stdout).toEqual(readFileSync(join(directory, 'small.blhy')));
  });

  test('what is too long for the dictionary is told', () => {
    const { stderr, status } = run(
      ['build', '-p', PATTERNS, '-t', '-', '-o', 'long.blhy'],
      `ab-cd ${'x'.repeat(300)}\n`,
    );
    expect({ stderr, status }).toEqual({
      stderr: 'bloomery: warning: 1 words of more than 255 bytes were left out\n',
      status: 0,
    });
  });

  test.each([
    [
      ['-p', PATTERNS, '-t', 'truth.txt', '-o', 'small.blhy'],
      'small.blhy exists already; --force replaces it',
    ],
    [['-p', PATTERNS], "required option '-o, --output <file>' not specified"],
    [['-t', 'truth.txt', '-o', 'new'], "required option '-p, --patterns <file>' not specified"],
    [['-p', PATTERNS, '-o', 'new'], 'nothing says where the rules are wrong: give --truth'],
    [
      ['-p', PATTERNS, '-t', 'truth.txt', '-w', 'words', '-o', 'new'],
      '--truth and --words both say what is true',
    ],
    [['-p', PATTERNS, '-w', 'words', '-o', 'new'], '--words takes the patterns for the truth'],
    [
      ['-p', 'text.txt', '-t', 'truth.txt', '-o', 'new'],
      'text.txt: expected TeX \\patterns{…}, or a libhyphen file',
    ],
    [
      ['-p', 'levels', '-t', 'truth.txt', '-o', 'new'],
      'levels: line 2: NEXTLEVEL (patterns for compounds) is not supported',
    ],
    [['-p', PATTERNS, '-t', PATTERNS, '-o', 'new'], 'line 1: "UTF-8" is no hyphenated word'],
    [['-p', 'missing', '-t', 'truth.txt', '-o', 'new'], 'missing: no such file or directory'],
    [['-p', PATTERNS, '-t', 'truth.txt', '-o', 'new', '--rate', '1'], 'Expected a rate between 0 and 1'],
    [
      ['-p', PATTERNS, '-t', 'truth.txt', '-o', 'new', '--left', '300'],
      'up to 255 letters can stay together, got 300',
    ],
    [['-p', PATTERNS, '-t', 'truth.txt', '-o', '-', '--json'], '--json and -o - both want standard output'],
  ])('%j is refused and changes nothing', (args, message) => {
    file('levels', 'UTF-8\nNEXTLEVEL\n');
    const before = readFileSync(join(directory, 'small.blhy'));
    const { stdout, stderr, status } = run(['build', ...args]);
    expect(stderr).toContain(message);
    expect({ stdout, status }).toEqual({ stdout: '', status: 2 });
    expect(readFileSync(join(directory, 'small.blhy'))).toEqual(before);
    expect(existsSync(join(directory, 'new'))).toBe(false);
  });
});

test('info', () => {
  const { stdout, status } = run(['info', 'small.blhy']);
  expect(status).toBe(0);
  expect(stdout).toMatch(
    /^rules +[\d,]+ patterns; 2 and 3 letters stay together at the ends\nexceptions +2 of 4 words \(50 %\)\n/,
  );
  expect(JSON.parse(run(['info', 'small.blhy', '--json']).stdout)).toMatchObject({
    exceptions: 2,
    words: 4,
    pages: 1,
  });
  expect(run(['info', 'text.txt'])).toMatchObject({ stdout: '', status: 2 });
});

test('help shows how', () => {
  for (const command of [[], ['build'], ['info']]) {
    const { stdout, status } = run([...command, '--help']);
    expect(status).toBe(0);
    expect(stdout).toContain('Examples:\n  # ');
  }
});

function rateOf(name: string): string {
  const { estimatedFalseDropRate } = JSON.parse(run(['info', name, '--json']).stdout);
  return String(Number((100 * estimatedFalseDropRate).toPrecision(3)));
}
