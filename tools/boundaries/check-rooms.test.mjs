import { expect, test } from 'vitest';
import { checkRooms } from './check-rooms.mjs';
import { plantedWorkspace } from './planted-workspace.mjs';

const ROOMS = { cache: ['low.ts', 'policy', ['store/disk', 'store/memory'], 'store', 'node'] };

/**
 * @param {string} path
 * @param {string} specifier
 * @param {{ from: string, to: string, why: string }[]} [exceptions]
 */
function problemsOf(path, specifier, exceptions = []) {
  const workspace = plantedWorkspace({
    [`packages/cache/src/${path}`]: `import type { A } from '${specifier}';`,
  });
  return checkRooms(workspace, { ROOMS, ROOM_EXCEPTIONS: exceptions });
}

test('an import points down the list of rooms, types included', () => {
  expect(problemsOf('node/a.ts', '../policy/b.ts')).toEqual([]);
  expect(problemsOf('policy/a.ts', '../node/b.ts')).toEqual([
    'packages/cache/src/policy/a.ts: imports ../node/b.ts, which stands above policy (node)',
  ]);
});

test('rooms on one level do not import each other', () => {
  expect(problemsOf('store/disk/a.ts', '../memory/b.ts')).toEqual([
    'packages/cache/src/store/disk/a.ts: imports ../memory/b.ts, which stands beside store/disk (store/memory)',
  ]);
});

test('the deepest room that fits counts', () => {
  expect(problemsOf('store/a.ts', './disk/b.ts')).toEqual([]);
  expect(problemsOf('store/disk/deep/a.ts', '../../b.ts')).toHaveLength(1);
});

test('files at the root of src stand above all rooms unless they are listed', () => {
  expect(problemsOf('index.ts', './node/b.ts')).toEqual([]);
  expect(problemsOf('node/a.ts', '../index.ts')).toHaveLength(1);
  expect(problemsOf('policy/a.ts', '../low.ts')).toEqual([]);
  expect(problemsOf('low.ts', './policy/a.ts')).toHaveLength(1);
});

test('a folder that no list names is told where to add it', () => {
  expect(problemsOf('attic/a.ts', './b.ts')).toEqual([
    'packages/cache/src/attic: is not in a known room, add it to ROOMS.cache in tools/boundaries/tables.mjs',
  ]);
});

test('an exception lets one import pass, and is itself a problem when nothing needs it', () => {
  const [from, to] = ['packages/cache/src/policy/a.ts', 'packages/cache/src/node/b.ts'];
  expect(problemsOf('policy/a.ts', '../node/b.ts', [{ from, to, why: 'a test' }])).toEqual([]);
  expect(problemsOf('policy/a.ts', './c.ts', [{ from, to, why: 'a test' }])).toEqual([
    `${from}: no longer needs its exception for ${to}: remove it from ROOM_EXCEPTIONS in tools/boundaries/tables.mjs`,
  ]);
});

test('tests import from any room', () => {
  expect(problemsOf('policy/a.test.ts', '../node/b.ts')).toEqual([]);
});
