import { expect, test } from 'vitest';
import { snippetOf } from './snippet.ts';

const marked = ({ text, marks }: ReturnType<typeof snippetOf>) =>
  marks.map(({ start, length }) => text.slice(start, start + length));

test('snippetOf shows the window with the most different words', () => {
  const text = `${'bloom '.repeat(100)}${'filler '.repeat(60)}a counting\n\tbloom filter here ${'end '.repeat(90)}`;
  const snippet = snippetOf(text, ['bloom', 'count', 'filter']);
  expect(snippet.text).toContain('a counting bloom filter here');
  expect(new Set(marked(snippet))).toEqual(new Set(['counting', 'bloom', 'filter']));
  expect(snippet.text.length).toBeLessThan(300);
});

test('snippetOf marks words, and shows the beginning if there are none', () => {
  expect(snippetOf('Readers read.', ['read'])).toEqual({
    text: 'Readers read.',
    marks: [{ start: 8, length: 4 }],
  });
  expect(snippetOf('no such word', ['read'])).toEqual({ text: 'no such word', marks: [] });
  expect(snippetOf('', ['read'])).toEqual({ text: '', marks: [] });
});

test('snippetOf gives text without controls and without halves of characters, whatever the input', () => {
  const parts = ['\ud83d\ude00', '\ud83d', '\u0007', '\u001b[31m', 'wordx ', 'other\n'];
  let state = 1;
  const draw = (below: number) => (state = (state * 16807) % 2147483647) % below;
  for (let i = 0; i < 300; i++) {
    const text = Array.from({ length: draw(200) }, () => parts[draw(parts.length)]).join('');
    const snippet = snippetOf(text, ['wordx', 'other']);
    expect(snippet.text).toBe(Buffer.from(snippet.text).toString());
    expect(snippet.text).not.toMatch(/\p{Cc}/u);
    for (const mark of marked(snippet)) expect(mark).toMatch(/^(wordx|other)$/);
  }
});
