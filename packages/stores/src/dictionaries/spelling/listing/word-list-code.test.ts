import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { SpellingError } from '../spelling-error.ts';
import { CodedWords, decodeWords, encodeWords } from './word-list-code.ts';
import { type ListedWord, WordTrie } from './word-trie.ts';

const listed = (word: string, frequency = 0, possessive = false): ListedWord => ({
  word,
  frequency,
  possessive,
});

/** Words of random letters, many of which share their beginnings. */
function someWords(random: Random, letters: string, count: number): ListedWord[] {
  const words = new Map<string, ListedWord>();
  while (words.size < count) {
    const before = [...words.keys()][random.below(words.size || 1)] ?? '';
    let word = before.slice(0, random.below(before.length + 1));
    for (let i = 0; i <= random.below(5); i++) word += letters[random.below(letters.length)];
    if (word.length <= 64) words.set(word, listed(word, random.below(16), random.below(2) === 1));
  }
  return [...words.values()];
}

test('WordTrie finds its words with their facts, and no others', () => {
  const random = new Random(21);
  const words = someWords(random, "abcdeé'", 500);
  const trie = WordTrie.from(words);
  expect(trie.size).toBe(500);
  for (const word of words) expect(trie.find(word.word)).toEqual(word);
  const known = new Set(words.map(({ word }) => word));
  for (const { word } of words) {
    for (const other of [`${word}a`, word.slice(1), word.slice(0, -1), `${word}Z`, ''])
      expect(trie.find(other) !== undefined, other).toBe(known.has(other));
  }
  const sorted = words.sort((a, b) => (a.word < b.word ? -1 : 1));
  expect([...trie.words()]).toEqual(sorted);
  const ends = [...trie.marks.keys()].filter((node) => trie.marks[node] !== 0);
  expect(ends.map((node) => trie.wordAt(node))).toEqual(sorted.map(({ word }) => word));
});

test('WordTrie keeps the larger frequency of a word that comes twice, and drops empty and long ones', () => {
  const trie = WordTrie.from([
    listed('ant', 3),
    listed('ant', 9),
    listed('ant', 1),
    listed(''),
    listed('x'.repeat(65)),
  ]);
  expect([...trie.words()]).toEqual([listed('ant', 9)]);
  expect(WordTrie.from([]).find('a')).toBeUndefined();
});

test.each([
  ['a Latin alphabet', "abcdefghijklmnopqrstuvwxyzABC-'", 3000],
  ['one letter', 'a', 20],
  [
    'thousands of letters',
    Array.from({ length: 5000 }, (_, i) => String.fromCharCode(0xac00 + i)).join(''),
    3000,
  ],
])('decodeWords gives the words back: %s', (_, letters, count) => {
  const trie = WordTrie.from(someWords(new Random(22), letters, count));
  const bytes = encodeWords(trie);
  const again = decodeWords(bytes);
  expect([...again.words()]).toEqual([...trie.words()]);
  expect(again).toEqual(trie);
  expect(encodeWords(again)).toEqual(bytes);
});

test('an empty list is 10 bytes', () => {
  const bytes = encodeWords(WordTrie.from([]));
  expect(bytes.length).toBe(10);
  expect(decodeWords(bytes).size).toBe(0);
});

test('untrusted bytes are an error or a list of rising words, never anything else', () => {
  const random = new Random(23);
  const bytes = encodeWords(WordTrie.from(someWords(random, 'abcdefgh', 300)));
  let refused = 0;
  for (let round = 0; round < 2000; round++) {
    const changed = bytes.slice(0, round % 2 === 0 ? bytes.length : random.below(bytes.length));
    for (let i = 0; i <= random.below(3) && changed.length > 0; i++)
      changed[random.below(changed.length)] = random.below(256);
    try {
      const words = [...decodeWords(changed, 77).words()].map(({ word }) => word);
      expect(words).toEqual([...new Set(words)].sort());
    } catch (error) {
      expect(error).toBeInstanceOf(SpellingError);
      refused++;
    }
  }
  expect(refused).toBeGreaterThan(500);
});

test('a list that claims more words than its code has is refused before it takes memory', () => {
  const bytes = encodeWords(WordTrie.from([listed('ant'), listed('bee')]));
  new DataView(bytes.buffer).setUint32(0, 0xffffffff, true);
  expect(() => decodeWords(bytes)).toThrow(SpellingError);
  expect(() => decodeWords(bytes.subarray(0, 5))).toThrow(/expected at least 6 bytes, got 5 \(at byte 0\)/);
  expect(() => decodeWords(bytes.subarray(0, 9), 30)).toThrow(/\(at byte 30\)/);
});

test('CodedWords unpacks its bytes when the words are asked for, and once', () => {
  const trie = WordTrie.from([listed('ant'), listed('bee')]);
  expect(new CodedWords(trie).trie).toBe(trie);
  const packed = new CodedWords(new CodedWords(trie).bytes);
  expect(packed.trie).toEqual(trie);
  expect(packed.trie).toBe(packed.trie);
  const broken = new CodedWords(Uint8Array.of(1, 0, 0, 0), 9);
  expect(() => broken.trie).toThrow(/\(at byte 9\)/);
});
