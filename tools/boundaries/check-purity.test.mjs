import { expect, test } from 'vitest';
import { checkPurity } from './check-purity.mjs';
import { plantedWorkspace } from './planted-workspace.mjs';

const POLICY = 'packages/cache/src/policy/a.ts';

/** @param {Record<string, string>} files */
function problemsOf(files) {
  return checkPurity(plantedWorkspace(files));
}

/** @param {string} got @param {string} path */
function refusal(got, path, where = `${path}:1`) {
  return `Cannot keep ${path} pure: expected no clock, randomness or I/O, got ${got} (${where})`;
}

test('pure rooms ask no clock, draw no randomness and do no I/O', () => {
  for (const [text, got] of [
    ['Math.random()', 'Math.random'],
    ["Math['random']()", 'Math.random'],
    ['Date.now()', 'Date.now'],
    ['new Date()', 'the time by Date'],
    ['Date()', 'the time by Date'],
    ['performance.now()', 'performance'],
    ['crypto.randomUUID()', 'crypto'],
    ['setTimeout(f, 1)', 'setTimeout'],
    ['process.env', 'process'],
    ['console.log(1)', 'console'],
    ["fetch('x')", 'fetch'],
    ['globalThis.fetch', 'globalThis'],
    ['{ fetch }', 'fetch'],
  ]) {
    for (const path of [
      POLICY,
      'packages/stores/src/join/math/a.ts',
      'packages/cache/src/peers/decisions/a.ts',
      'packages/bloomery/src/keys/a.ts',
    ])
      expect(problemsOf({ [path]: `export const a = ${text};` })).toEqual([refusal(got, path)]);
    for (const path of ['packages/cache/src/policy/a.test.ts', 'packages/cache/src/proxy/a.ts'])
      expect(problemsOf({ [path]: `export const a = ${text};` })).toEqual([]);
  }
});

test('functions of their arguments pass, and so do property names, types and comments', () => {
  const text = `
    // Date.now() is asked by the caller
    export const a = [Math.max(1), Date.UTC(1), Date.parse('x'), new Date(0), b.fetch, { process: 1 }];
    export type A = { crypto: Date; console(): void };
  `;
  expect(problemsOf({ [POLICY]: text })).toEqual([]);
});

test('a file is impure if a file that it loads is, and the way is told', () => {
  const files = {
    [POLICY]: "import { b } from '../safety/b.ts';",
    'packages/cache/src/safety/b.ts': "export { c } from './c.ts';",
    'packages/cache/src/safety/c.ts': "import { x } from 'node:fs';\nexport const c = x;",
  };
  const way = Object.keys(files).join(' → ');
  expect(problemsOf(files)).toEqual([
    refusal(`an import of node:fs, by way of ${way}`, POLICY, 'packages/cache/src/safety/c.ts:1'),
  ]);
  expect(problemsOf({ ...files, [POLICY]: "import type { B } from '../safety/b.ts';" })).toEqual([]);
});

test('of the packages, a pure room imports only the library', () => {
  expect(problemsOf({ [POLICY]: "import { plan } from 'bloomery/math';" })).toEqual([]);
  expect(problemsOf({ [POLICY]: "import { request } from 'undici';" })).toEqual([
    refusal('an import of undici', POLICY),
  ]);
});

test('the list of the platform may name globals', () => {
  expect(problemsOf({ 'packages/bloomery/src/keys/platform.ts': 'export const p = globalThis;' })).toEqual(
    [],
  );
});
