import { expect, test } from 'vitest';
import { checkCycles } from './check-cycles.mjs';
import { plantedWorkspace } from './planted-workspace.mjs';

/**
 * @param {Record<string, string>} texts
 * @param {{ from: string, to: string, why: string }[]} [exceptions]
 */
function problemsOf(texts, exceptions = []) {
  const files = Object.entries(texts).map(([name, text]) => [`packages/cache/src/${name}.ts`, text]);
  return checkCycles(plantedWorkspace(Object.fromEntries(files)), { CYCLE_EXCEPTIONS: exceptions });
}

const at = (/** @type {string} */ name) => `packages/cache/src/${name}.ts`;

test('a cycle of three files is reported once, as a path', () => {
  const texts = {
    a: "import './b.ts';",
    b: "export * from './c.ts';",
    c: "import './a.ts';",
    d: "import './a.ts';",
  };
  expect(problemsOf(texts)).toEqual([
    `${at('a')}: imports itself: ${at('a')} → ${at('b')} → ${at('c')} → ${at('a')}`,
  ]);
});

test('a file that imports itself directly is a cycle', () => {
  expect(problemsOf({ a: "import './a.ts';" })).toEqual([
    `${at('a')}: imports itself: ${at('a')} → ${at('a')}`,
  ]);
});

test('import() closes a cycle, types and worker files do not', () => {
  expect(problemsOf({ a: "await import('./b.ts');", b: "import './a.ts';" })).toHaveLength(1);
  expect(problemsOf({ a: "import type { B } from './b.ts';", b: "import './a.ts';" })).toEqual([]);
  expect(problemsOf({ a: "new URL('./b.ts', import.meta.url);", b: "import './a.ts';" })).toEqual([]);
});

test('a chain without a way back passes', () => {
  expect(problemsOf({ a: "import './b.ts'; import './c.ts';", b: "import './c.ts';", c: '' })).toEqual([]);
});

test('an exception lets one cycle pass, and is itself a problem when there is no cycle', () => {
  const exception = { from: at('a'), to: at('b'), why: 'a test' };
  expect(problemsOf({ a: "import './b.ts';", b: "import './a.ts';" }, [exception])).toEqual([]);
  expect(problemsOf({ a: "import './b.ts';", b: '' }, [exception])).toEqual([
    `${at('a')}: no longer needs its exception for ${at('b')}: remove it from CYCLE_EXCEPTIONS in tools/boundaries/tables.mjs`,
  ]);
});
