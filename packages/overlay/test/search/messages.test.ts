/** The messages of a search against untrusted bytes: prefixes, flipped bits, random bytes. */

import { withEffort } from '@bloomery/testkit/effort';
import { expect, test } from 'vitest';
import { readBundle, writeBundle } from '../../src/directory/bundle.ts';
import { CompactReader, CompactWriter } from '../../src/directory/compact-bytes.ts';
import { SearchError } from '../../src/directory/search-error.ts';
import {
  readDocuments,
  readHolding,
  readPaths,
  readWish,
  writeDocuments,
  writeHolding,
  writePaths,
  writeWish,
} from '../../src/search/wire/document-message.ts';
import { readQuestion, readScores, writeQuestion, writeScores } from '../../src/search/wire/score-message.ts';

const question = {
  keys: [
    { key: 'bloom', having: 300, isRequired: true },
    { key: 'name:größe', having: 1, isRequired: false },
  ],
  phrases: [
    [
      { key: 0, offset: 0 },
      { key: 1, offset: 2 },
    ],
  ],
  types: ['md'],
  documents: 12_345,
  floor: 0.125,
  most: 10,
};
const scores = {
  documents: 400,
  having: [3, 0],
  matching: 2,
  hits: [
    { handle: 7, length: 900, counts: [2, 0] },
    { handle: 300, length: 1, counts: [1, 0] },
  ],
};
const documents = [
  {
    handle: 7,
    path: 'a/b.md',
    bytes: 5000,
    changed: 1_790_000_000,
    objectId: '0123456789abcdef',
    snippet: { text: 'a bloom filter', marks: [{ start: 2, length: 5 }] },
  },
];
const card = { start: 1_790_000_000_000, sequence: 3, documents: 9, keys: 70, label: 'docs' };

const MESSAGES: [string, Uint8Array, (bytes: Uint8Array) => unknown, unknown][] = [
  ['question', writeQuestion(question), readQuestion, question],
  ['scores', writeScores(scores), readScores, scores],
  [
    'wish',
    writeWish({ handles: [7, 300], keys: ['bloom'] }),
    readWish,
    { handles: [7, 300], keys: ['bloom'] },
  ],
  ['documents', writeDocuments(documents), readDocuments, documents],
  ['holding', writeHolding(new Uint8Array(32).fill(9)), readHolding, new Uint8Array(32).fill(9)],
  ['paths', writePaths(['a', 'b/c']), readPaths, ['a', 'b/c']],
  [
    'bundle',
    writeBundle({ card, keys: Uint8Array.of(1, 2), objects: new Uint8Array(0) }),
    readBundle,
    { card, keys: Uint8Array.of(1, 2), objects: new Uint8Array(0) },
  ],
];

function readsOrRefuses(read: (bytes: Uint8Array) => unknown, bytes: Uint8Array): boolean {
  try {
    read(bytes);
    return true;
  } catch (error) {
    expect(error).toBeInstanceOf(SearchError);
    return false;
  }
}

test.each(MESSAGES)('a message of type %s is read as it was written', (_, bytes, read, value) => {
  expect(read(bytes)).toEqual(value);
});

test.each(MESSAGES)('every strict prefix of a %s and every byte behind it is refused', (_, bytes, read) => {
  for (let end = 0; end < bytes.length; end++)
    expect(readsOrRefuses(read, bytes.subarray(0, end)), `prefix of ${end}`).toBe(false);
  expect(readsOrRefuses(read, Uint8Array.of(...bytes, 0))).toBe(false);
});

test.each(MESSAGES)('a %s with a flipped bit, and random bytes, are read or refused', (_, bytes, read) => {
  for (let bit = 0; bit < 8 * bytes.length; bit++) {
    const flipped = bytes.slice();
    flipped[bit >> 3] ^= 1 << (bit & 7);
    readsOrRefuses(read, flipped);
  }
  let state = 1;
  const draw = (below: number) => (state = (state * 16807) % 2147483647) % below;
  for (let i = 0; i < withEffort(3000, 300); i++)
    readsOrRefuses(
      read,
      Uint8Array.from({ length: draw(60) }, (_, at) => (at === 0 ? 1 : draw(256))),
    );
});

test('a declared count above the bytes at hand is refused before anything is allocated', () => {
  const huge = new CompactWriter(1).count(1).count(1).byte(0).count(200).finish();
  expect(() => readQuestion(huge)).toThrow('expected 200 entries, got fewer bytes');
  expect(() => new CompactReader(Uint8Array.of(1, 0x80, 0), 1).count()).toThrow('the shortest form');
  expect(() => new CompactReader(new Uint8Array(12).fill(0xff).fill(1, 0, 1), 1).count()).toThrow(
    'below 2^53',
  );
});

test('CompactWriter writes every whole number up to 2^53 so that it is read again', () => {
  for (const value of [0, 1, 127, 128, 2 ** 31, 2 ** 32, 2 ** 49, Number.MAX_SAFE_INTEGER])
    expect(new CompactReader(new CompactWriter(1).count(value).finish(), 1).count()).toBe(value);
  for (const value of [-1, 0.5, 2 ** 53]) expect(() => new CompactWriter(1).count(value)).toThrow(RangeError);
});

test('paths and snippets lose control characters and those that turn the direction of writing', () => {
  const text = 'a\u001b[31mred\u202egnp.exe\u0000';
  const [read] = readDocuments(
    writeDocuments([{ ...documents[0], path: text, snippet: { text, marks: [{ start: 6, length: 3 }] } }]),
  );
  expect(read.path).toBe('a\ufffd[31mred\ufffdgnp.exe\ufffd');
  expect(read.snippet.text).toBe(read.path);
  expect(read.snippet.marks).toEqual([{ start: 6, length: 3 }]);
});

test('marks outside the snippet, or over each other, are refused', () => {
  const marks = (...list: { start: number; length: number }[]) =>
    writeDocuments([{ ...documents[0], snippet: { text: 'abc', marks: list } }]);
  expect(() => readDocuments(marks({ start: 2, length: 2 }))).toThrow('marks in the snippet');
  expect(() => readDocuments(marks({ start: 1, length: 2 }, { start: 2, length: 1 }))).toThrow('marks');
});

test('messages have the bytes of docs/spec/search.md', () => {
  const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
  expect(Object.fromEntries(MESSAGES.map(([name, bytes]) => [name, hex(bytes)]))).toEqual({
    bundle: '010780d8c1a28c3403094604646f6373020102007153d497',
    documents: '01010706612f622e6d64882780f7c4d5060123456789abcdef0e6120626c6f6f6d2066696c746572010205',
    holding: `01${'09'.repeat(32)}`,
    paths: '0102016103622f63',
    question: '010ab96001000000000000c03f0205626c6f6f6dd9040c6e616d653a6772c3b6c39f650201020000010201026d64',
    scores: '01900302030002020784070102ac02010101',
    wish: '010207ac020105626c6f6f6d',
  });
});
