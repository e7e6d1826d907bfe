import { expect, test } from 'vitest';
import { checkPlaces } from './check-places.mjs';
import { plantedWorkspace } from './planted-workspace.mjs';

/**
 * @param {string[]} paths
 * @param {{ folder: string, why: string }[]} [crowdedExceptions]
 */
function problemsOf(paths, crowdedExceptions = []) {
  const files = Object.fromEntries(paths.map((path) => [`packages/cache/${path}`, '']));
  return checkPlaces(plantedWorkspace(files), { MOST_FILES: 2, CROWDED_EXCEPTIONS: crowdedExceptions });
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
