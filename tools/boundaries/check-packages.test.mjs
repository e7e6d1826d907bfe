import { expect, test } from 'vitest';
import { checkPackages } from './check-packages.mjs';
import { plantedWorkspace } from './planted-workspace.mjs';

/**
 * The problems of one file that imports one thing, with its dependencies declared.
 * @param {string} path
 * @param {string} specifier
 * @param {{ declared?: string[], others?: string[] }} [options]
 */
function problemsOf(path, specifier, { declared = [specifier], others = [] } = {}) {
  const home = path.split('/').slice(0, 2).join('/');
  const dependencies = Object.fromEntries(declared.map((name) => [name, '1']));
  const manifests = Object.fromEntries(others.map((other) => [other, {}]));
  return checkPackages(
    plantedWorkspace({ [path]: `import '${specifier}';` }, { ...manifests, [home]: { dependencies } }),
  );
}

test('a system imports the library and the ground', () => {
  expect(problemsOf('packages/cache/src/a.ts', 'bloomery', { others: ['packages/bloomery'] })).toEqual([]);
  expect(problemsOf('packages/cache/src/a.ts', '@bloomery/files', { others: ['packages/files'] })).toEqual(
    [],
  );
});

test('a system does not import another system', () => {
  expect(problemsOf('packages/cache/src/a.ts', '@bloomery/stores', { others: ['packages/stores'] })).toEqual([
    'packages/cache/src/a.ts: imports @bloomery/stores, which does not stand below cache',
  ]);
});

test('a system does not import an app', () => {
  expect(problemsOf('packages/cache/src/a.ts', '@bloomery/cli', { others: ['apps/cli'] })).toEqual([
    'packages/cache/src/a.ts: imports @bloomery/cli, which does not stand below cache',
  ]);
});

test('ground packages do not import each other, except delivery reconcile', () => {
  const others = ['packages/reconcile'];
  expect(problemsOf('packages/delivery/src/a.ts', '@bloomery/reconcile', { others })).toEqual([]);
  expect(problemsOf('packages/files/src/a.ts', '@bloomery/reconcile', { others })).toEqual([
    'packages/files/src/a.ts: imports @bloomery/reconcile, which does not stand below files',
  ]);
});

test('the command imports every system and the papers, which do not import it', () => {
  const others = ['packages/cache', 'apps/papers', 'apps/cli'];
  expect(problemsOf('apps/cli/src/a.ts', '@bloomery/cache', { others })).toEqual([]);
  expect(problemsOf('apps/cli/src/a.ts', '@bloomery/papers', { others })).toEqual([]);
  expect(problemsOf('apps/papers/src/a.ts', '@bloomery/cli', { others })).toEqual([
    'apps/papers/src/a.ts: imports @bloomery/cli, which does not stand below papers',
  ]);
});

test('a system imports sim in its simulation room only', () => {
  const others = ['packages/sim'];
  expect(problemsOf('packages/cache/src/simulation/a.ts', '@bloomery/sim', { others })).toEqual([]);
  expect(problemsOf('packages/cache/src/node/a.ts', '@bloomery/sim', { others })).toEqual([
    'packages/cache/src/node/a.ts: imports @bloomery/sim, which a system imports only in its simulation/ room',
  ]);
});

test('only tests import the test kit and the tools of the workspace', () => {
  const kit = '@bloomery/testkit/statistics';
  for (const path of ['src/a.test.ts', 'test/theme/a.ts'].map((place) => `packages/cache/${place}`)) {
    expect(problemsOf(path, kit, { declared: [], others: ['packages/testkit'] })).toEqual([]);
    expect(problemsOf(path, 'vitest', { declared: [] })).toEqual([]);
  }
  expect(problemsOf('packages/cache/src/a.ts', kit)).toEqual([
    `packages/cache/src/a.ts: imports ${kit}, which is for tests only`,
  ]);
  expect(problemsOf('packages/cache/src/a.ts', 'vitest', { declared: [] })).toHaveLength(1);
});

test('an undeclared package is refused although npm would find it', () => {
  expect(problemsOf('packages/cache/src/a.ts', 'undici/types', { declared: [] })).toEqual([
    'packages/cache/src/a.ts: imports undici/types, which is not declared for packages/cache',
  ]);
  expect(problemsOf('packages/cache/src/a.ts', 'undici/types', { declared: ['undici'] })).toEqual([]);
});

test('the library imports no Node module and declares no dependency', () => {
  expect(problemsOf('packages/bloomery/src/a.ts', 'node:fs', { declared: [] })).toEqual([
    'packages/bloomery/src/a.ts: imports node:fs, which the library does not use',
  ]);
  expect(problemsOf('packages/bloomery/src/a.test.ts', 'node:fs', { declared: [] })).toEqual([]);
  expect(problemsOf('packages/bloomery/src/a.ts', 'left-pad')).toEqual([
    'packages/bloomery: declares dependencies, which the library has none of',
  ]);
});

test('an unknown package is told where it gets its rank', () => {
  expect(checkPackages(plantedWorkspace({ 'packages/weather/src/a.ts': '' }))).toEqual([
    'packages/weather: has no rank, add it to RANKS in tools/boundaries/tables.mjs',
  ]);
});

test('a relative import stays in its package', () => {
  expect(problemsOf('packages/cache/src/a.ts', '../../stores/src/b.ts', { declared: [] })).toEqual([
    'packages/cache/src/a.ts: imports ../../stores/src/b.ts, which lies outside packages/cache',
  ]);
  expect(problemsOf('packages/cache/src/a.ts', '../package.json', { declared: [] })).toEqual([]);
});

test('a test does not reach into the tests of another package, by import or by URL', () => {
  const text = `import '../../../stores/test/b.ts'; new URL('../../../stores/test/c.ts', import.meta.url);`;
  const path = 'packages/cache/test/theme/a.test.ts';
  expect(checkPackages(plantedWorkspace({ [path]: text }))).toEqual(
    ['b', 'c'].map(
      (name) =>
        `${path}: imports ../../../stores/test/${name}.ts, which lies in the tests of another package`,
    ),
  );
});

test('a test reads a page of docs by its URL', () => {
  const text = `new URL('../../../../docs/spec/sync.md', import.meta.url);`;
  expect(checkPackages(plantedWorkspace({ 'packages/cache/test/theme/a.test.ts': text }))).toEqual([]);
});
