/**
 * `bloomery papers` as its users meet it: the real command, few trials. What the figures should be
 * is taken from the papers themselves; that the formulas give them to the last digit is tested in
 * the library (test/math/papers.test.ts).
 */

import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PACKAGE } from '../run-command.ts';

const COMMAND = fileURLToPath(new URL('../../bin/bloomery.js', import.meta.url));
const NAMES = ['compressed-tables', 'compressed-figures', 'simulations', 'survey', 'tutorial', 'perl'];
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'bloomery-papers-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('on the screen', () => {
  it('shows all parts with what the papers print, and ends with 0', () => {
    const { status, stdout, stderr } = papers('--trials', '10');
    expect(stderr).toBe('');
    expect(status).toBe(0);
    // compressed, tables I to VII: f and z/n as printed, and as the formula has them.
    expect(stdout).toMatch(/^ +I +14 +2 +0\.0177 +0\.017721 .* 7\.923 +7\.9231 /m);
    expect(stdout).toMatch(/^ +II +48 +3 +0\.000222 +0\.00022240 .* 15\.829 +15\.8290 /m);
    // The two columns of table VI that stand in each other's place are marked.
    expect(stdout).toMatch(/^ +VI +12 +3 +0\.0108 .* \*\*1\.6607\*\* +1\.6532 /m);
    expect(stdout).toMatch(/^ +VI +32 +2 +0\.00367 .* \*\*1\.6532\*\* +1\.6607 /m);
    // The five simulations: entropy, mean; deviation, maximum, budget.
    expect(stdout).toMatch(/^140,000 +2 +9903\.9 .* 9920 /m);
    expect(stdout).toMatch(/^480,000 +3 +19786\.2 .* 19805 /m);
    expect(stdout).toMatch(/^140,000 +2 +11\.375 .* 9971 .* 10,000 /m);
    expect(stdout).toMatch(/^320,000 +2 +5 % .* 2129 /m);
    expect(stdout.match(/^simulation m = .* within 5 σ$/gm)).toHaveLength(10);
    // survey: the overflow of 4-bit counters; tutorial: the best k; perl: its table is 1.6 times
    // its function.
    expect(stdout).toContain('1.37e-15·m');
    expect(stdout).toMatch(/^22 +2\.104e-7 /m);
    expect(stdout).toMatch(/^ +1 % +1,000 +\*\*1\.87 K\*\* +\*\*1\.9\*\* +9593\.0 +7 +1\.17 K +1\.20 /m);
    for (const title of [
      'Compressed, figure 1',
      'Compressed, figure 2',
      'Tutorial, figure 1',
      'Tutorial, figure 2',
    ])
      expect(stdout).toContain(title);
    expect(stdout.match(/All within 5 σ/g)).toHaveLength(NAMES.length + 1);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: no colours in a pipe
    expect(stdout).not.toMatch(/\u001b/);
  });

  it('lists the parts', () => {
    const { status, stdout } = papers('--list');
    expect(status).toBe(0);
    expect(
      stdout
        .trim()
        .split('\n')
        .map((line) => line.split(' ')[0]),
    ).toEqual(NAMES);
    expect(JSON.parse(papers('--list', '--json', 'perl').stdout)).toMatchObject([{ name: 'perl' }]);
  });

  it('ends quietly when the reader of its output is gone', () => {
    const line = `"${process.execPath}" "${COMMAND}" papers compressed-tables simulations survey --trials 10 | head -5; echo "\${PIPESTATUS[0]}"`;
    const { stdout, stderr } = spawnSync('bash', ['-c', line], { encoding: 'utf8' });
    expect(stderr).toBe('');
    const lines = stdout.trim().split('\n');
    expect(lines).toHaveLength(6);
    expect(lines[5]).toBe('141');
  });
});

describe('for programs', () => {
  it('gives the same JSON with any number of threads, and other samples with another seed', () => {
    const one = papers('simulations', '--trials', '12', '--jobs', '1', '--json');
    const three = papers('simulations', '--trials', '12', '--jobs', '3', '--json');
    expect(one.status).toBe(0);
    expect(three.stdout).toBe(one.stdout);
    const found = JSON.parse(one.stdout);
    expect(found).toMatchObject({ trials: 12, seed: 0, within: true });
    const [{ comparisons, experiments }] = found.parts;
    expect(comparisons).toHaveLength(10);
    // As on every machine: keys are counters and seeds are numbers.
    const sizes = (run: { bits: number; payloadBytes: { mean: number; most: number } }) => [
      run.bits,
      run.payloadBytes.mean,
      run.payloadBytes.most,
    ];
    expect(experiments.map(sizes)).toEqual(GOLDEN);
    const other = JSON.parse(papers('simulations', '--trials', '12', '--seed', '7', '--json').stdout);
    expect(other.seed).toBe(7);
    expect(other.parts[0].experiments.map(sizes)).not.toEqual(GOLDEN);
  });

  it('ends with 1 if the filters are not what theory says', () => {
    // A library that says "maybe" to one non-member key in fifty too many.
    // A copy of the command in which every filter says "maybe" to one non-member key in fifty.
    const liar = join(folder, 'liar');
    for (const part of ['bin', 'package.json'])
      cpSync(join(PACKAGE, part), join(liar, part), { recursive: true });
    let changes = 0;
    for (const name of readdirSync(join(liar, 'bin'), { recursive: true, encoding: 'utf8' })) {
      const path = join(liar, 'bin', name);
      const text = name.endsWith('.js') ? readFileSync(path, 'utf8') : '';
      if (!text.includes('function hasBatch(')) continue;
      changes++;
      const lie =
        'function hasBatch(...args) { return honest(...args).map((answer, i) => (i % 50 === 0 ? 1 : answer)); }';
      writeFileSync(path, text.replace('function hasBatch(', `${lie}\nfunction honest(`));
    }
    expect(changes).toBe(1);
    const { status, stdout } = spawnSync(
      process.execPath,
      [join(liar, 'bin/bloomery.js'), 'papers', 'compressed-tables', '--trials', '10'],
      { encoding: 'utf8' },
    );
    expect(stdout).toMatch(/Outside 5 σ: table I, m\/n = 8: rate: \d+/);
    expect(status).toBe(1);
  });
});

describe('as documents', () => {
  let page: string;
  let run: ReturnType<typeof papers>;

  beforeAll(() => {
    run = papers(
      ...['simulations', 'compressed-figures', '--trials', '10'],
      ...[
        '--page',
        join(folder, 'p.html'),
        '--markdown',
        join(folder, 'p.md'),
        '--figures',
        join(folder, 'pictures'),
      ],
    );
    page = readFileSync(join(folder, 'p.html'), 'utf8');
  }, 120_000);

  it('writes all of them and says how it went', () => {
    expect(run.stderr).toBe('');
    expect(run.status).toBe(0);
    expect(run.stdout).toMatch(/^All within 5 σ: 60 comparisons/);
    const files = ['compressed-figure-1.svg', 'compressed-figure-2.svg', 'compressed-sizes.svg'];
    expect(readdirSync(join(folder, 'pictures')).sort()).toEqual(files);
    const markdown = readFileSync(join(folder, 'p.md'), 'utf8');
    for (const file of files) {
      expect(markdown).toContain(`](pictures/${file})`);
      checkWellFormed(readFileSync(join(folder, 'pictures', file), 'utf8'));
    }
    expect(markdown).toContain('Of the four texts this library rests on: compressed-figures, simulations');
    expect(markdown).toMatch(/^\| 140,000 \| +2 \| +\| +9903\.9 \|/m);
  });

  it('makes a page that is well-formed and needs nothing else', () => {
    checkWellFormed(page.replace('<!DOCTYPE html>', ''));
    expect(page).toMatch(/^<!DOCTYPE html>/);
    expect(page.match(/<svg /g)).toHaveLength(3);
    expect(page.match(/<table>/g)).toHaveLength(3);
    expect(page).toContain('9903.9');
    expect(page).toContain('prefers-color-scheme: dark');
    // No script, no event, nothing to be fetched.
    expect(page).not.toMatch(/<(script|link|img|iframe|object|embed|base)\b/i);
    expect(page).not.toMatch(/\bon\w+=|javascript:|https?:|@import|@font-face|\bsrc=/i);
    expect([...page.matchAll(/url\(([^)]*)\)/g)].every(([, target]) => target.startsWith('#'))).toBe(true);
    // What is pointed to is there, once.
    const ids = [...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
    expect(new Set(ids).size).toBe(ids.length);
    const targets = [...page.matchAll(/(?:href="|url\()#([^")]+)/g)].map(([, id]) => id);
    expect(targets.length).toBeGreaterThan(4);
    for (const target of targets) expect(ids).toContain(target);
  });

  it('replaces nothing unless told to', () => {
    const again = papers('perl', '--trials', '10', '--page', join(folder, 'p.html'));
    expect(again.status).toBe(2);
    expect(again.stderr).toMatch(/p\.html exists already; --force replaces it/);
    const figures = papers('simulations', '--trials', '10', '--figures', join(folder, 'pictures'));
    expect(figures.status).toBe(2);
    expect(figures.stderr).toMatch(/compressed-sizes\.svg exists already/);
    expect(readFileSync(join(folder, 'p.html'), 'utf8')).toBe(page);
    expect(papers('simulations', '--trials', '10', '--page', join(folder, 'p.html'), '--force').status).toBe(
      0,
    );
    expect(readFileSync(join(folder, 'p.html'), 'utf8')).not.toBe(page);
  });

  it('goes to standard output as well', () => {
    const { status, stdout } = papers('simulations', '--trials', '10', '--markdown', '-');
    expect(status).toBe(0);
    expect(stdout).toMatch(/^# The papers, recomputed\n/);
    expect(stdout).not.toContain('![');
  });
});

describe('what is refused, before any work', () => {
  it.each([
    [['nonsense'], `there is no part nonsense; there are ${NAMES.join(', ')}`],
    [['--trials', '5'], 'Expected a whole number of at least 10'],
    [['--trials', '2M'], 'at most 1,048,576 trials have seeds of their own, got 2,000,000'],
    [['--jobs', '0'], 'Expected a whole number of at least 1'],
    [['--seed', 'x'], 'Expected a whole number of at least 0'],
    [['--markdown', '-', '--json'], 'only one of --markdown -, --page - and --json can have standard output'],
    [['--markdown', '-', '--page', '-'], 'only one of --markdown -, --page - and --json'],
    [['--page', '/nowhere/p.html'], 'there is no directory /nowhere for p.html'],
    [['--page', '/'], '/ is a directory; name a file in it'],
    [['--figures', '-'], '--figures writes several files; name a directory'],
    [['--figures', COMMAND], 'bloomery.js is a file; --figures needs a directory'],
    [['--figures', '/nowhere/at/all'], 'there is no directory /nowhere/at for all'],
  ])('%j', (args, message) => {
    const { status, stdout, stderr } = papers(...args);
    expect(stderr).toContain(message);
    expect(stdout).toBe('');
    expect(status).toBe(2);
    expect(existsSync('/nowhere')).toBe(false);
  });
});

function papers(...args: string[]) {
  return spawnSync(process.execPath, [COMMAND, 'papers', ...args], {
    encoding: 'utf8',
    cwd: folder,
    env: { ...process.env, NO_COLOR: '1' },
    maxBuffer: 2 ** 26,
  });
}

/** Every element is closed, in order; every & and < is markup. */
function checkWellFormed(text: string): void {
  const open: string[] = [];
  const rest = text.replace(/<style>[^<]*<\/style>/g, '').replace(TAG, (whole, end, name, closed) => {
    if (end === '/') expect(open.pop(), whole).toBe(name);
    else if (closed !== '/') open.push(name);
    return '';
  });
  expect(open).toEqual([]);
  expect(rest).not.toMatch(/[<>]|&(?!(amp|lt|gt|quot);)/);
}

const TAG = /<(\/?)([a-zA-Z0-9]+)(?:\s+[\w:-]+="[^"<]*")*\s*(\/?)>/g;

/** Bits, mean and largest payload of the first 12 trials of each simulation. */
const GOLDEN = [
  [140_000, 9904.5, 9918],
  [480_000, 19_792.5, 19_808],
  [70_000, 4958.25, 4973],
  [126_000, 9480.5, 9496],
  [320_000, 24_992 / 12, 2101],
];
