/** Places of words: lines and columns, Markdown, addresses. */

import { cpuMs } from '@bloomery/testkit/cpu-time';
import { describe, expect, test } from 'vitest';
import { maskMarkdown, wordsOf } from '../../src/dictionaries/spelling/index.ts';

const places = (text: string) =>
  [...wordsOf(text)].map(({ word, line, column }) => `${line}:${column} ${word}`);
const prose = (text: string) => [...wordsOf(maskMarkdown(text))].map(({ word }) => word);

describe('words of a text', () => {
  test('have lines and columns from 1, in characters', () => {
    expect(places('One two\n\n  three')).toEqual(['1:1 One', '1:5 two', '3:3 three']);
    // An emoji is one character and two code units; a combining mark is a character.
    expect(places('😀😀 naïve nai\u0308ve x')).toEqual(['1:4 naïve', '1:10 nai\u0308ve', '1:17 x']);
  });

  test('have apostrophes and hyphens inside, not around', () => {
    expect(places("'tis don't rock’n’roll dogs' well-known -x- a--b")).toEqual([
      '1:2 tis',
      "1:6 don't",
      '1:12 rock’n’roll',
      '1:24 dogs',
      '1:30 well-known',
      '1:42 x',
      '1:45 a',
      '1:48 b',
    ]);
  });

  test('have soft hyphens inside, as what hyphenates leaves them', () => {
    expect(places('a hy\u00adphen\u00adation\u00ad, \u00adx')).toEqual([
      '1:1 a',
      '1:3 hy\u00adphen\u00adation',
      '1:20 x',
    ]);
  });

  test('are letters of any script; numbers are none, mixtures are', () => {
    expect(places('Straße Ελλάδα слово 12 3rd x86 1,000.5 १२')).toEqual([
      '1:1 Straße',
      '1:8 Ελλάδα',
      '1:15 слово',
      '1:24 3rd',
      '1:28 x86',
    ]);
  });

  test('tell whether a full stop follows', () => {
    expect([...wordsOf('etc. and so on.')].map(({ dotted }) => dotted)).toEqual([true, false, false, true]);
  });

  test('leave out addresses and paths, and nothing else', () => {
    expect(
      places('see https://example.org/a?b=c and www.example.org, mail jane.doe@example.org now'),
    ).toEqual(['1:1 see', '1:31 and', '1:52 mail', '1:78 now']);
    expect(places('[link](https://example.org/x) (<jane@example.org>),word')).toEqual([
      '1:2 link',
      '1:52 word',
    ]);
    expect(places('in /usr/share/dict/words ~/a/b and/or @home a@ :// x')).toEqual([
      '1:1 in',
      '1:32 and',
      '1:36 or',
      '1:40 home',
      '1:45 a',
      '1:52 x',
    ]);
  });

  test('take time in proportion to the text, whatever it is', async () => {
    const took = await cpuMs(() => {
      for (const piece of ['@', 'a@', '://', 'www.', "a'", 'a-', '/a', 'á']) places(piece.repeat(200_000));
    });
    expect(took).toBeLessThan(20_000);
  });
});

describe('Markdown', () => {
  test.each([
    ['front matter', '---\ntitle: xyz\n---\nprose', ['prose']],
    ['a rule that is no front matter', '---\nprose\n', ['prose']],
    ['fences', 'a\n```ts\nconst xyz\n```\nb\n~~~~\nxyz\n~~~\nxyz\n~~~~\nc', ['a', 'b', 'c']],
    ['a fence in a list', '- a\n  ```\n  xyz\n  ```\n- b', ['a', 'b']],
    ['a fence that never ends', 'a\n```\nxyz', ['a']],
    ['indented code', 'a\n\n    xyz\n    xyz\n\nb', ['a', 'b']],
    ['an indented paragraph of a list', '- a\n\n    b\n\nc', ['a', 'b', 'c']],
    ['a lazy line', 'a\n    b', ['a', 'b']],
    ['code spans', 'a `xyz` b ``x`yz`` c ` d', ['a', 'b', 'c', 'd']],
    ['a code span over two lines', 'a `xyz\nxyz` b', ['a', 'b']],
    ['a backtick that is alone in its paragraph', 'a ` b\n\nc ` d', ['a', 'b', 'c', 'd']],
    ['an escaped backtick', 'a \\` b `xyz` c', ['a', 'b', 'c']],
    ['targets of links and images', '[a](xyz "xyz") ![b](x(y)z) [c][xyz] d', ['a', 'b', 'c', 'd']],
    ['reference definitions', 'a\n\n[xyz]: <xyz> "xyz"\n\nb', ['a', 'b']],
    [
      'autolinks, tags, comments, entities',
      'a <xyz:xyz> <b class="xyz>xyz">b</b> <!-- xyz\nxyz --> c&nbsp;d &#xAB; e',
      ['a', 'b', 'c', 'd', 'e'],
    ],
    ['elements of code', 'a <code>xyz</code> <pre>\nxyz\n</pre> b', ['a', 'b']],
    [
      'long comments and elements',
      `a <!-- ${'xyz '.repeat(20_000)}--> b <pre>${'xyz '.repeat(20_000)}</PRE > c`,
      ['a', 'b', 'c'],
    ],
    ['comments and elements that never end', 'a <!-- b <code>c', ['a', 'b', 'c']],
    [
      'one element after the other',
      'a <code>xyz</code> b <kbd>xyz</kbd> <code>xyz</code> c',
      ['a', 'b', 'c'],
    ],
    [
      'footnotes: their labels, not their text',
      'a[^xyz] b [^1]\n\n[^xyz]: c\n\n    d\n\n[^1]:\n    e',
      ['a', 'b', 'c', 'd', 'e'],
    ],
    ['what is less than', 'a < b and c > d', ['a', 'b', 'and', 'c', 'd']],
    [
      'emphasis, headings, quotes, tables',
      '# a\n\n> **b** _c_\n\n| d | e |\n|---|---|',
      ['a', 'b', 'c', 'd', 'e'],
    ],
  ])('%s', (_, text, words) => {
    expect(prose(text)).toEqual(words);
  });

  test('is the same with CR LF', () => {
    const text =
      '---\nxyz\n---\na\n\n[xyz]: xyz "xyz"\n\n```\nxyz\n```\n\na ` b\n\nc ` d [e](\n\nf)\n\n    xyz\n\n- g\n';
    const crlf = text.replaceAll('\n', '\r\n');
    expect(prose(crlf)).toEqual(['a', 'a', 'b', 'c', 'd', 'e', 'f', 'g']);
    expect(places(maskMarkdown(crlf))).toEqual(places(maskMarkdown(text)));
    expect(maskMarkdown(crlf).replaceAll('\r\n', '\n')).toBe(maskMarkdown(text));
  });

  test('keeps lines and columns, of wide characters too', () => {
    const text = '`😀😀` ab\n\n```\n😀\n```\n<b>😀</b> cd';
    expect([...wordsOf(maskMarkdown(text))]).toMatchObject([
      { word: 'ab', line: 1, column: 6 },
      { word: 'cd', line: 6, column: 10 },
    ]);
  });

  test('takes time in proportion to the text, whatever it is', async () => {
    const took = await cpuMs(() => {
      for (const piece of ['`', '``` ', '<a', '<code>', '<!--', '](', '[a](', '][', '&a', '\\', '> ', '`a``'])
        maskMarkdown(piece.repeat(20_000));
      for (const piece of ['<code>', '<pre></code>', '<!--', '[^', '[^a'])
        maskMarkdown(piece.repeat(300_000));
      for (const piece of ['`a\n', '- a\n', '    a\n\n', '[a]: \n', '```\n'])
        maskMarkdown(piece.repeat(20_000));
    });
    expect(took).toBeLessThan(20_000);
  });
});
