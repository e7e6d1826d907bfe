import { expect, test } from 'vitest';
import { parseQuery } from './query.ts';

test('parseQuery gives sorted keys without stop words', () => {
  expect(parseQuery('the Filters of bloom')).toEqual({
    keys: ['bloom', 'filter'],
    required: [],
    phrases: [],
    types: [],
  });
});

test('parseQuery reads signs, phrases, names and types', () => {
  expect(parseQuery('bloom +filter name:report type:.MD type:txt "state of the art"')).toEqual({
    keys: ['art', 'bloom', 'filter', 'name:report', 'state'],
    required: [0, 2, 3, 4],
    phrases: [
      [
        { key: 4, offset: 0 },
        { key: 0, offset: 3 },
      ],
    ],
    types: ['md', 'txt'],
  });
  expect(parseQuery('type:pdf').keys).toEqual(['type:pdf']);
});

test('parseQuery takes the parts of an identifier, and the whole as well', () => {
  expect(parseQuery('readFile').keys).toEqual(['file', 'read', 'readfil']);
  expect(parseQuery('+readFile')).toMatchObject({ required: [0, 1], phrases: [[{ key: 1 }, { key: 0 }]] });
});

test('parseQuery takes a phrase that does not end, and refuses a query without words', () => {
  expect(parseQuery('"open end').phrases).toHaveLength(1);
  for (const text of ['', '  ', 'the of', '"to be or not to be"', '+', '""'])
    expect(() => parseQuery(text), text).toThrow('expected a word that is indexed');
  expect(() => parseQuery(Array.from({ length: 257 }, (_, i) => `w${i}x`).join(' '))).toThrow(
    'expected at most 256 words',
  );
});
