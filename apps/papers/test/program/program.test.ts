/**
 * The papers as a program of their own: what it shares with `bloomery papers` is tested there, with
 * every part.
 */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';

const PROGRAM = fileURLToPath(new URL('../../bin/papers.js', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'bloomery-papers-program-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('it measures with threads, and ends with 0', () => {
  const { status, stdout, stderr } = papers('simulations', '--trials', '12', '--jobs', '2', '--json');
  expect(stderr).toBe('');
  expect(status).toBe(0);
  const found = JSON.parse(stdout);
  expect(found).toMatchObject({ trials: 12, seed: 0, within: true });
  // The first of the sizes that the tests of the command pin.
  expect(found.parts[0].experiments[0]).toMatchObject({ bits: 140_000, payloadBytes: { mean: 9904.5 } });
});

test('it writes a document, and replaces it only when told to', () => {
  const args = ['simulations', '--trials', '10', '--markdown', join(folder, 'p.md')];
  const { status, stdout } = papers(...args);
  expect(status).toBe(0);
  expect(stdout).toMatch(/^All within 5 σ/);
  const written = readFileSync(join(folder, 'p.md'), 'utf8');
  expect(written).toMatch(/^# The papers, recomputed\n/);
  const again = papers(...args, '--seed', '7');
  expect(again.status).toBe(2);
  expect(again.stderr).toMatch(/^papers: .*p\.md exists already; --force replaces it$/m);
  expect(readFileSync(join(folder, 'p.md'), 'utf8')).toBe(written);
  expect(papers(...args, '--seed', '7', '--force').status).toBe(0);
  expect(readFileSync(join(folder, 'p.md'), 'utf8')).toContain('--seed 7');
});

test.each([
  [['nonsense'], 'there is no part nonsense; there are compressed-tables'],
  [['--trials', '5'], 'Cannot read --trials: a whole number of at least 10 was expected, got 5'],
  [['--page', '/nowhere/p.html'], 'there is no directory /nowhere'],
  [['--page', '/'], '/ is a directory'],
  [['--unknown'], "Unknown option '--unknown'"],
])('it refuses %j with one line and exit code 2', (args, message) => {
  const { status, stdout, stderr } = papers(...args);
  expect(stderr).toContain(message);
  expect(stdout).toBe('');
  expect(status).toBe(2);
});

test('it shows its options', () => {
  const { status, stdout } = papers('--help');
  expect(status).toBe(0);
  expect(stdout).toMatch(/^Usage: papers /);
});

function papers(...args: string[]) {
  return spawnSync(process.execPath, [PROGRAM, ...args], {
    encoding: 'utf8',
    cwd: folder,
    env: { ...process.env, NO_COLOR: '1' },
    maxBuffer: 2 ** 26,
  });
}
