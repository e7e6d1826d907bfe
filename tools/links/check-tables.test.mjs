import { expect, test } from 'vitest';
import { checkTables } from './check-tables.mjs';

/** @param {string} text */
function problemsOf(text) {
  return checkTables(new Map([['docs/a.md', text]]));
}

test('a table whose rows have the cells of its header passes', () => {
  expect(problemsOf('text\n\n| a | b |\n|---|:-:|\n| 1 | 2 |\n| `x \\| y` | |\n\nmore | text')).toEqual([]);
});

test('a row with another number of cells is refused, a | in backticks counted', () => {
  expect(problemsOf('| a | b |\n|---|---|\n| 1 |\n| `x | y` | 2 |')).toEqual([
    'Cannot show a table: expected 2 cells, as the header has, got 1 (docs/a.md:3)',
    'Cannot show a table: expected 2 cells, as the header has, got 3 (docs/a.md:4)',
  ]);
});

test('a table without its line of dashes, or with a blank line in it, is refused', () => {
  expect(problemsOf('| a |\n| 1 |')).toEqual([
    'Cannot show a table: expected a line of dashes below the header, got "| 1 |" (docs/a.md:1)',
  ]);
  expect(problemsOf('| a |\n|---|\n| 1 |\n\n| 2 |')).toEqual([
    'Cannot show a table: expected a line of dashes below the header, got nothing (docs/a.md:5)',
  ]);
});

test('blocks of code hold no tables', () => {
  expect(problemsOf('```\n| a |\n```')).toEqual([]);
});
