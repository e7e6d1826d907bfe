import { expect, test } from 'vitest';
import { commentBlocks, matchesIn } from './comment-blocks.mjs';
import { parseSource } from './parse-source.mjs';

/** @param {string} text */
function blocksOf(text) {
  return commentBlocks(parseSource('a.ts', text)).map(({ isDoc, lines }) => ({
    isDoc,
    lines: lines.map(({ number, text }) => `${number} ${text}`),
  }));
}

test('lines of // that follow each other are one block, a trailing comment is its own', () => {
  const text = '// a\n// b\n\n// c\nconst d = 1; // d\n// e\n';
  expect(blocksOf(text).map(({ lines }) => lines)).toEqual([['1 a', '2 b'], ['4 c'], ['5 d'], ['6 e']]);
});

test('a doc comment begins with two stars, and loses the marks of its lines', () => {
  expect(blocksOf('/** a */\n/* b */\n/**\n * c\n *   d\n */\n')).toEqual([
    { isDoc: true, lines: ['1 a'] },
    { isDoc: false, lines: ['2 b'] },
    { isDoc: true, lines: ['3 ', '4 c', '5 d', '6 '] },
  ]);
});

test('matchesIn finds a phrase across two lines, and names the line of its beginning', () => {
  const [block] = commentBlocks(parseSource('a.ts', '// one\n// it is for\n// ever\n'));
  expect(matchesIn(block, /for ever/g)).toEqual([{ number: 2, match: 'for ever' }]);
});
