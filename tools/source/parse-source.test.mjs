import { expect, test } from 'vitest';
import { parseSource, visitNodes } from './parse-source.mjs';

test('parseSource tells comments from texts that look like them', () => {
  const { comments } = parseSource('a.ts', "const a = '// no'; // yes\nconst b = /\\/*x/;\n/** doc */\n");
  expect(comments.map(({ value }) => value)).toEqual([' yes', '* doc ']);
});

test('parseSource knows the line of an offset, behind letters of several bytes as well', () => {
  const source = parseSource('a.ts', "const a = 'äöü€😀';\n// here\n");
  expect(source.lineOf(source.comments[0].start)).toBe(2);
  expect([0, 19, 20].map(source.lineOf)).toEqual([1, 1, 2]);
});

test('parseSource reads AssemblyScript, whose functions have decorators', () => {
  const text = '// a\n@inline\nexport function f(a: u32): u32 {\n  return a; // b\n}\n';
  expect(parseSource('packages/bloomery/assembly/a.ts', text).comments).toHaveLength(2);
});

test('parseSource names the file and the line of a syntax error', () => {
  expect(() => parseSource('packages/a.ts', 'const a = 1;\nconst = 2;')).toThrow(/\(packages\/a\.ts:2\)$/);
});

test('visitNodes comes to parents before children, and gives the ancestors', () => {
  /** @type {string[]} */
  const seen = [];
  visitNodes(parseSource('a.ts', 'f(1);'), (node, ancestors) =>
    seen.push([node, ...ancestors].map(({ type }) => type).join(' < ')),
  );
  expect(seen.at(-1)).toBe('Literal < CallExpression < ExpressionStatement < Program');
});
