import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { nearbyWords } from './nearby-words.ts';
import { WordTrie } from './word-trie.ts';

const lower = (letter: string) => letter.toLowerCase();
const trieOf = (words: readonly string[]) =>
  WordTrie.from(words.map((word) => ({ word, frequency: 0, possessive: false })));
const costsOf = (words: readonly string[], written: string) =>
  Object.fromEntries(nearbyWords(trieOf(words), written, lower).map(({ word, cost }) => [word, cost]));

test.each([
  ['receive', 'recieve', 7],
  ['accommodate', 'accomodate', 5],
  ['until', 'untill', 5],
  ['separate', 'seperate', 6],
  ['knowledge', 'knowlege', 7],
  ['further', 'furthers', 9],
  ['walk', 'wolk', 6],
  ['walk', 'wakk', 10],
  ['walk', 'valk', 17],
  ["don't", 'dont', 4],
  ['cooperate', 'co-operate', 4],
  ['Paris', 'paris', 0],
  ['maintenance', 'maintainance', 15],
])('%s written as %s costs %i', (word, written, cost) => {
  expect(costsOf([word], written)).toEqual({ [word]: cost });
});

test('short words have a small budget: half of the letters cannot be wrong', () => {
  expect(costsOf(['ox', 'an', 'at'], 'ab')).toEqual({ an: 10, at: 10 });
  expect(costsOf(['cat', 'dog', 'sum'], 'cas')).toEqual({ cat: 10 });
});

/**
 * The same distance by its definition, word by word, without a trie: the cheapest way to align the
 * first i letters of the word and the first j letters that were typed.
 */
function distance(word: string, typed: string): number {
  const one = (text: string, i: number, usual: number) => {
    if (text[i] === "'" || text[i] === '-') return 4;
    return (text[i] === text[i - 1] ? 5 : usual) + (i === 0 ? 7 : 0);
  };
  const table = Array.from({ length: word.length + 1 }, () => new Array<number>(typed.length + 1).fill(0));
  for (let i = 0; i <= word.length; i++) {
    for (let j = 0; j <= typed.length; j++) {
      if (i + j === 0) continue;
      const ways: number[] = [];
      if (i > 0) ways.push(table[i - 1][j] + one(word, i - 1, 7));
      if (j > 0) ways.push(table[i][j - 1] + one(typed, j - 1, 9));
      if (i > 0 && j > 0) {
        const [a, b] = [word[i - 1], typed[j - 1]];
        const both = 'aeiouy'.includes(a) && 'aeiouy'.includes(b);
        const replaced = (both ? 6 : 10) + (i === 1 || j === 1 ? 7 : 0);
        ways.push(table[i - 1][j - 1] + (a === b ? 0 : replaced));
        if (i > 1 && j > 1 && a === typed[j - 2] && b === word[i - 2] && a !== b)
          ways.push(table[i - 2][j - 2] + 7);
      }
      table[i][j] = Math.min(...ways);
    }
  }
  return table[word.length][typed.length];
}

test('nearbyWords finds every word within the budget, with its distance, and no other', () => {
  const random = new Random(31);
  const letters = "aeibbccd'";
  const make = () => Array.from({ length: 2 + random.below(8) }, () => letters[random.below(9)]).join('');
  const words = [...new Set(Array.from({ length: 3000 }, make))];
  const trie = trieOf(words);
  let found = 0;
  for (let round = 0; round < 60; round++) {
    const typed = make();
    const budget = [0, 0, 12, 17, 21][typed.length] ?? 28;
    const expected = words
      .map((word) => [word, distance(word, typed)] as const)
      .filter(([, cost]) => cost <= budget)
      .sort((a, b) => (a[0] < b[0] ? -1 : 1));
    const got = nearbyWords(trie, typed, lower).map(({ word, cost }) => [word, cost]);
    expect(got, typed).toEqual(expected);
    found += got.length;
  }
  expect(found).toBeGreaterThan(1000);
});
