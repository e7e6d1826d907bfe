import { expect, test } from 'vitest';
import { fileText, typeOf } from './file-text.ts';

const text = (content: string, type: string) => fileText(Buffer.from(content), type);

test('fileText takes the text of a page, and no script, style or tag', () => {
  const page = `<!doctype html><title>A &amp; B</title><style>p{}</style><script>var hidden = "<p>x"</script>
<p>One<b>word</b> &eacute;t&eacute;<img alt="a picture"><p>two`;
  const read = text(page, 'html');
  expect(read.split(/\s+/).filter(Boolean)).toEqual([
    ...['A', '&', 'B', 'Oneword', 'été', 'a', 'picture', 'two'],
  ]);
});

test('fileText takes the words of Markdown, and no targets of links', () => {
  expect(text('See [the guide](https://example.org/x_(y)) and <b>bold</b> `code`', 'md')).toMatch(
    /the guide/,
  );
  expect(text('[a](https://example.org/target) b', 'md')).toBe('[a] b');
});

test('fileText reads UTF-8, UTF-16 and Windows-1252, and nothing of a file with zero bytes', () => {
  expect(text('größe', 'txt')).toBe('größe');
  expect(fileText(Buffer.from('\ufeffgröße', 'utf16le'), 'txt')).toBe('größe');
  expect(fileText(Buffer.from('größe', 'latin1'), 'txt')).toBe('größe');
  expect(fileText(Uint8Array.of(65, 0, 66), 'txt')).toBe('');
});

test('fileText takes hostile pages and long lines in linear time', () => {
  expect(text('<'.repeat(200_000), 'html').length).toBeLessThanOrEqual(200_000);
  expect(text(`${'<div>'.repeat(50_000)}x`, 'html').trim()).toBe('x');
  expect(text(`${']('.repeat(100_000)}${'<a'.repeat(100_000)}`, 'md').length).toBeGreaterThan(0);
});

test('typeOf gives the ending of a name', () => {
  expect(['a.MD', 'b.tar.gz', '.profile', 'Makefile', 'x.', 'c.jpeg2000'].map(typeOf)).toEqual([
    ...['md', 'gz', '', '', '', 'jpeg2000'],
  ]);
});
