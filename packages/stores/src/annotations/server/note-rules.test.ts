import { expect, test } from 'vitest';
import { AnnotationError } from './annotation-error.ts';
import { checkNote, checkPrefix, MOST_TEXT } from './note-rules.ts';

const note = { group: 'public', url: 'https://example.org/a', text: 'A note' };
const ID = '0123456789abcdef0123456789abcdef';

test('checkNote returns the fields of a note', () => {
  expect(checkNote(note)).toEqual({ ...note, parent: null, id: null });
  expect(checkNote({ ...note, parent: ID, id: ID })).toEqual({ ...note, parent: ID, id: ID });
});

test('checkNote keeps markup as text, and removes what is not text', () => {
  const texts = [
    ['<script>alert(1)</script>', '<script>alert(1)</script>'],
    [' two\r\nlines\r ', 'two\nlines'],
    ['a\u0000b\u001b[31mc\u009f', 'ab[31mc'],
    ['abc\u202Egnp.exe\u2066', 'abcgnp.exe'],
    ['tab\tnewline\n.', 'tab\tnewline\n.'],
    ['😀'.repeat(MOST_TEXT), '😀'.repeat(MOST_TEXT)],
  ];
  for (const [text, kept] of texts) expect(checkNote({ ...note, text }).text).toBe(kept);
});

test.each<[unknown, string]>([
  [null, 'field'],
  ['a note', 'field'],
  [[note], 'field'],
  [{ ...note, html: '<b>' }, 'field'],
  [{ ...note, group: 'Public' }, 'field'],
  [{ ...note, group: '../public' }, 'field'],
  [{ ...note, group: 'g'.repeat(33) }, 'field'],
  [{ ...note, group: undefined }, 'field'],
  [{ ...note, parent: 'x' }, 'field'],
  [{ ...note, id: ID.toUpperCase() }, 'field'],
  [{ ...note, id: 7 }, 'field'],
  [{ ...note, url: 'http://example.org/a' }, 'url'],
  [{ ...note, url: 'https://example.org/a#b' }, 'url'],
  [{ ...note, url: 'javascript:alert(1)' }, 'url'],
  [{ ...note, url: 7 }, 'url'],
  [{ ...note, text: '' }, 'text'],
  [{ ...note, text: ' \u0007 ' }, 'text'],
  [{ ...note, text: 7 }, 'text'],
  [{ ...note, text: 'x'.repeat(MOST_TEXT + 1) }, 'text'],
  [{ ...note, text: 'lone \ud800' }, 'text'],
])('checkNote refuses %j', (value, code) => {
  expect(() => checkNote(value)).toThrow(AnnotationError);
  try {
    checkNote(value);
  } catch (error) {
    expect((error as AnnotationError).code).toBe(code);
  }
});

test('checkPrefix takes exactly the bits that the list allows', () => {
  expect(checkPrefix('0110', 4)).toBe('0110');
  expect(checkPrefix('', 0)).toBe('');
  for (const wrong of ['011', '01100', '01x0', 'abcd', null, undefined, '0'.repeat(21)]) {
    expect(() => checkPrefix(wrong, 4)).toThrow(/expected a prefix of exactly 4 zeros and ones/);
  }
});
