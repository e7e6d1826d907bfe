import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import { inBuildOrder, readWorkspaces } from './workspaces.mjs';

const built = (/** @type {string} */ name, /** @type {string[]} */ dependencies = [], more = {}) => ({
  folder: `packages/${name}`,
  manifest: {
    name,
    scripts: { build: 'make' },
    dependencies: Object.fromEntries(dependencies.map((needed) => [needed, '1.0.0'])),
    ...more,
  },
});
const names = (/** @type {import('./workspaces.mjs').WorkspaceFolder[]} */ workspaces) =>
  workspaces.map(({ manifest }) => manifest.name);

test('inBuildOrder puts each package after the packages it depends on', () => {
  const packages = [
    built('app', ['cache', 'stores']),
    built('cache', ['library']),
    built('library'),
    built('stores', ['library']),
  ];
  expect(names(inBuildOrder(packages))).toEqual(['library', 'cache', 'stores', 'app']);
});

test('inBuildOrder has a package that is not built only if one that is built needs it', () => {
  const packages = [
    built('app', ['plots', 'commander']),
    built('plots', [], { scripts: {} }),
    built('kit', [], { scripts: undefined }),
  ];
  expect(names(inBuildOrder(packages))).toEqual(['plots', 'app']);
});

test('inBuildOrder ignores development dependencies, which may form a circle', () => {
  const packages = [built('library', [], { devDependencies: { kit: '*' } }), built('kit', ['library'])];
  expect(names(inBuildOrder(packages))).toEqual(['library', 'kit']);
});

test('inBuildOrder names a circle of dependencies', () => {
  const packages = [built('app', ['a']), built('a', ['b']), built('b', ['a'])];
  expect(() => inBuildOrder(packages)).toThrow('got a → b → a');
});

test('this repository is built from the library up to the command', () => {
  const root = fileURLToPath(new URL('..', import.meta.url));
  const order = names(inBuildOrder(readWorkspaces(root)));
  expect(order[0]).toBe('bloomery');
  expect(order.indexOf('@bloomery/cli')).toBeGreaterThan(order.indexOf('@bloomery/cache'));
  expect(order.indexOf('@bloomery/cache')).toBeGreaterThan(0);
});

let root = '';
afterEach(() => {
  if (root !== '') rmSync(root, { recursive: true });
});

test('readWorkspaces reads patterns and single folders, and skips folders without a package.json', () => {
  root = mkdtempSync(join(tmpdir(), 'bloomery-workspaces-'));
  const write = (/** @type {string} */ folder, /** @type {object | undefined} */ manifest = undefined) => {
    mkdirSync(join(root, folder), { recursive: true });
    if (manifest) writeFileSync(join(root, folder, 'package.json'), JSON.stringify(manifest));
  };
  write('.', { workspaces: ['packages/*', 'apps/*', 'tool'] });
  write('packages/b', { name: 'b' });
  write('packages/a', { name: 'a' });
  write('packages/left-over');
  write('tool', { name: 'tool' });
  expect(readWorkspaces(root).map(({ folder }) => folder)).toEqual(['packages/a', 'packages/b', 'tool']);
});
