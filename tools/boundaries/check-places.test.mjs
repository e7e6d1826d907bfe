import { expect, test } from 'vitest';
import { checkPlaces } from './check-places.mjs';
import { plantedWorkspace } from './planted-workspace.mjs';

/**
 * @param {string[]} paths
 * @param {{ folder: string, why: string }[]} [crowdedExceptions]
 */
function problemsOf(paths, crowdedExceptions = []) {
  return problemsIn(Object.fromEntries(paths.map((path) => [path, ''])), { crowdedExceptions });
}

/**
 * @param {Record<string, string>} texts
 * @param {object} [exceptions]
 * @param {{ folder: string, why: string }[]} [exceptions.crowdedExceptions]
 * @param {{ path: string, why: string }[]} [exceptions.placeExceptions]
 */
function problemsIn(texts, { crowdedExceptions = [], placeExceptions = [] } = {}) {
  const files = Object.fromEntries(
    Object.entries(texts).map(([path, text]) => [`packages/cache/${path}`, text]),
  );
  return checkPlaces(plantedWorkspace(files), {
    MOST_FILES: 2,
    CROWDED_EXCEPTIONS: crowdedExceptions,
    PLACE_EXCEPTIONS: placeExceptions,
  });
}

test('a test in src stands beside the module that it names', () => {
  const module = 'src/disk-store.ts';
  for (const name of ['disk-store', 'disk-store.node', 'disk-store-crash'])
    expect(problemsOf([module, `src/${name}.test.ts`])).toEqual([]);
  for (const name of ['disk', 'disk-crash', 'disk-storey'])
    expect(problemsOf([module, `src/${name}.test.ts`])).toEqual([
      `packages/cache/src/${name}.test.ts: names no module beside it, expected x.test.ts beside x.ts, or test/<theme>/`,
    ]);
});

test('a test in test/ stands in the folder of its theme', () => {
  expect(problemsOf(['test/chaos/kill.test.ts', 'test/harness.ts'])).toEqual([]);
  expect(problemsOf(['test/kill.test.ts'])).toEqual([
    'packages/cache/test/kill.test.ts: is a test directly in test/, expected test/<theme>/',
  ]);
});

test('a crowded folder is reported, tests not counted', () => {
  expect(problemsOf(['src/a.ts', 'src/b.ts', 'src/a.test.ts', 'src/b.test.ts'])).toEqual([]);
  expect(problemsOf(['src/a.ts', 'src/b.ts', 'src/c.ts'])).toEqual([
    'packages/cache/src: holds 3 source files, give them rooms (at most 2)',
  ]);
});

test('an exception lets a crowded folder pass, and is itself a problem when it is not crowded', () => {
  const exception = { folder: 'packages/cache/src', why: 'a test' };
  expect(problemsOf(['src/a.ts', 'src/b.ts', 'src/c.ts'], [exception])).toEqual([]);
  expect(problemsOf(['src/a.ts'], [exception])).toEqual([
    'packages/cache/src: no longer needs its exception: remove it from CROWDED_EXCEPTIONS in tools/boundaries/tables.mjs',
  ]);
});

test('a test of one module lies beside it, unless it is a barrel', () => {
  const path = 'test/proxy/a.test.ts';
  const one = "import { expect } from 'vitest';\nimport { a } from '../../src/a.ts';";
  const problem =
    'packages/cache/test/proxy/a.test.ts: tests one module, expected its place beside packages/cache/src/a.ts';
  expect(problemsIn({ [path]: one })).toEqual([problem]);
  expect(problemsIn({ [path]: `${one}\nimport { b } from '../../src/b.ts';` })).toEqual([]);
  expect(problemsIn({ [path]: `${one}\nimport { lab } from './lab.ts';` })).toEqual([]);
  expect(problemsIn({ [path]: `${one}\nimport { plan } from 'bloomery';` })).toEqual([]);
  expect(problemsIn({ [path]: "import { a } from '../../src/index.ts';" })).toEqual([]);
});

test('an exception lets a test of one module stay, and is itself a problem when it is not needed', () => {
  const exception = { path: 'packages/cache/test/proxy/a.test.ts', why: 'a test' };
  const texts = { 'test/proxy/a.test.ts': "import { a } from '../../src/a.ts';" };
  expect(problemsIn(texts, { placeExceptions: [exception] })).toEqual([]);
  expect(problemsIn({ 'src/a.ts': '' }, { placeExceptions: [exception] })).toEqual([
    'packages/cache/test/proxy/a.test.ts: no longer needs its exception: remove it from PLACE_EXCEPTIONS in tools/boundaries/tables.mjs',
  ]);
});

test('only tests and their helpers import vitest', () => {
  const text = "import { expect } from 'vitest';";
  expect(problemsIn({ 'test/lab.ts': text, 'src/a.ts': '', 'src/a.test.ts': text })).toEqual([]);
  expect(problemsIn({ 'src/lab.ts': text })).toEqual([
    'packages/cache/src/lab.ts: imports vitest, expected it in test/ or in packages/testkit',
  ]);
});
