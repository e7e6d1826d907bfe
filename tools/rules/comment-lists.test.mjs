import { expect, test } from 'vitest';
import { commentLists } from './comment-lists.mjs';
import { refusalsOf } from './planted-source.mjs';

test('a list and a fenced example with lines of their own pass', () => {
  const text =
    '/**\n * Two rules:\n * - One - or none.\n * - Two.\n *\n * ```ts\n * f();\n * ```\n */\n// a - b';
  expect(refusalsOf(commentLists, text)).toEqual([]);
});

test('an item that was joined to the one before is refused, with its line', () => {
  expect(refusalsOf(commentLists, '/**\n * - One (`x`). - The other.\n */\n// - One. - Two.')).toEqual([
    '2: Cannot accept a comment: expected an item of a list on a line of its own, got it after text',
    '4: Cannot accept a comment: expected an item of a list on a line of its own, got it after text',
  ]);
});

test('a fence at the end of a line of text is refused', () => {
  expect(refusalsOf(commentLists, '/**\n * ```\n * a table ```\n */')).toEqual([
    '3: Cannot accept a comment: expected a fence on a line of its own, got it after text',
  ]);
});
