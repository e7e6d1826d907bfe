/**
 * The same seed goes the same way on Node 20 and on Node 22. The other version comes from npm: the
 * package `node` ships a binary. It is installed once into node_modules/.cache; where that is not
 * possible the test is skipped, and says why.
 */

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url));
const VERSIONS = ['20', '22'];
const INSTALL_MS = 300_000;

/** The program of a major version of Node: this one, or one from npm. */
function nodeOf(major: string): string {
  if (process.versions.node.startsWith(`${major}.`)) return process.execPath;
  const folder = join(ROOT, 'node_modules/.cache', `node-${major}`);
  const program = join(folder, 'node_modules/node/bin/node');
  if (existsSync(program)) return program;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "private": true }');
  execFileSync('npm', ['install', '--no-audit', '--no-fund', `node@${major}`], {
    cwd: folder,
    timeout: INSTALL_MS,
    stdio: 'pipe',
  });
  return program;
}

test(
  'a simulation goes the same way on Node 20 and 22, on both kernels',
  async ({ skip }) => {
    const programs = VERSIONS.map((major) => {
      try {
        const program = nodeOf(major);
        const version = execFileSync(program, ['--version'], { encoding: 'utf8' });
        if (!version.startsWith(`v${major}.`)) throw new Error(`got ${version}`);
        return program;
      } catch (error) {
        return skip(`Cannot run Node ${major}: expected the package node@${major} of npm, got ${error}`);
      }
    });
    const folder = mkdtempSync(join(tmpdir(), 'bloomery-trace-'));
    try {
      const outfile = join(folder, 'print-trace.mjs');
      const entry = fileURLToPath(new URL('print-trace.ts', import.meta.url));
      await build({ entryPoints: [entry], outfile, bundle: true, format: 'esm', platform: 'node' });
      const traces = programs.map((program) =>
        JSON.parse(execFileSync(program, [outfile], { encoding: 'utf8' })),
      );
      expect(traces.map(({ node }) => node.split('.')[0])).toEqual(VERSIONS);
      const [first, ...others] = traces.flatMap(({ hashes }) => hashes);
      expect(first.eventCount).toBeGreaterThan(500);
      expect(others).toHaveLength(3);
      for (const other of others) expect(other).toEqual(first);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
  2 * INSTALL_MS,
);
