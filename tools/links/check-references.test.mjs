import { expect, test } from 'vitest';
import { checkReferences } from './check-references.mjs';

const FILES = [
  'README.md',
  'docs/guide/a.md',
  'packages/cache/README.md',
  'packages/cache/src/policy/age.ts',
];

/**
 * The problems of one page in a repository of four files.
 * @param {string} text
 * @param {string} [page]
 * @param {string[]} [formerPaths]
 */
function problemsOf(text, page = 'docs/guide/a.md', formerPaths = []) {
  const pages = new Map([
    ['README.md', '# The start'],
    [page, text],
  ]);
  return checkReferences({ pages, files: FILES }, formerPaths);
}

test('a link leads to a file or a folder, from the folder of its page', () => {
  expect(problemsOf('[a](../../README.md) [b](../../packages/cache/) [c](a.md)')).toEqual([]);
  expect(problemsOf('\n[a](README.md)')).toEqual([
    'docs/guide/a.md:2: links README.md, which does not exist',
  ]);
});

test('an anchor is a heading of the page that it leads to', () => {
  expect(problemsOf('## Here\n[a](../../README.md#the-start) [b](#here)')).toEqual([]);
  expect(problemsOf('[a](../../README.md#the-end) [b](#there)')).toEqual([
    'docs/guide/a.md:1: links ../../README.md#the-end, but README.md has no such heading',
    'docs/guide/a.md:1: links #there, but docs/guide/a.md has no such heading',
  ]);
});

test('a path that begins with a folder of the root exists', () => {
  expect(problemsOf('`packages/cache/src/policy/` `packages/cache/src/policy/age.ts`')).toEqual([]);
  expect(problemsOf('`packages/cash`')).toEqual([
    'docs/guide/a.md:1: mentions packages/cash, which does not exist',
  ]);
});

test('a source file may be named by the end of its path, or from the folder of the page', () => {
  expect(problemsOf('`policy/age.ts`')).toEqual([]);
  expect(problemsOf('`src/policy`', 'packages/cache/README.md')).toEqual([]);
  expect(problemsOf('`policy/rage.ts`')).toEqual([
    'docs/guide/a.md:1: mentions policy/rage.ts, which is the end of no path',
  ]);
});

test('other words with a slash are no paths', () => {
  expect(problemsOf('`text/html` `bloomery/wire` `application/json`')).toEqual([]);
});

test('a page may name a former path that is listed', () => {
  expect(problemsOf('`packages/cli`', 'docs/guide/a.md', ['packages/cli'])).toEqual([]);
});
