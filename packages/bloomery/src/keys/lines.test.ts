import { expect, test } from 'vitest';
import { keyBytes } from './key.ts';
import { eachLine, lineEnd } from './lines.ts';

test.each([
  ['nothing has no line', '', []],
  ['a newline alone ends an empty line', '\n', ['']],
  ['the last line may lack its newline', 'a\nb', ['a', 'b']],
  ['the last line may have its newline', 'a\nb\n', ['a', 'b']],
  ['empty lines count', '\n\na\n\n', ['', '', 'a', '']],
  ['a CR is part of its line', 'a\r\nb\r\n', ['a\r', 'b\r']],
  ['characters of several bytes stay whole', 'Ċ\nœ\n', ['Ċ', 'œ']],
])('eachLine: %s', (_what, text, expected) => {
  expect([...eachLine(keyBytes(text))]).toEqual(expected.map(keyBytes));
});

test('eachLine yields views of the bytes, not copies', () => {
  const input = keyBytes('ab\ncd');
  for (const line of eachLine(input)) expect(line.buffer).toBe(input.buffer);
});

test('lineEnd is the newline, or the end of the bytes', () => {
  const input = keyBytes('ab\ncd');
  expect([0, 1, 2, 3, 5].map((start) => lineEnd(input, start))).toEqual([2, 2, 2, 5, 5]);
});
