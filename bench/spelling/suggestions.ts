/**
 * How often the word that was meant is proposed: for slips of the finger in words of the text, made
 * with a fixed seed, and for lists of misspellings that people make. Both programs are asked.
 */

import { spawnSync } from 'node:child_process';
import type { Speller } from '../../packages/stores/dist/dictionaries/spelling/index.js';
import type { Misspelling } from './misspellings.ts';

const SLIPS = 2000;

/** Compares the suggestions for slips in these words. */
export function compareSlips(
  speller: Speller,
  forms: ReadonlySet<string>,
  words: readonly string[],
): string[][] {
  const usual = words.filter((word) => /^[a-z]{4,}$/.test(word) && forms.has(word));
  return compareSuggestions('slips of the finger', speller, forms, slipsIn(usual, forms));
}

/** Compares the suggestions for misspellings whose words are known. */
export function compareSuggestions(
  what: string,
  speller: Speller,
  forms: ReadonlySet<string>,
  slips: readonly Misspelling[],
): string[][] {
  const seen = slips.filter(({ slip }) => !speller.check(slip));
  const started = process.cpuUsage();
  const ours = seen.map(({ slip }) => speller.suggest(slip, 5));
  const { user, system } = process.cpuUsage(started);
  const theirs = askHunspell(seen.map(({ slip }) => slip));
  const isWord = (word: string) => forms.has(word) || forms.has(word.toLowerCase());
  const nonsense = ours.flat().filter((text) => !text.split(' ').every(isWord)).length;
  const share = (lists: readonly (readonly string[])[], most: number) => {
    const right = lists.filter((list, i) => list.slice(0, most).includes(seen[i].word)).length;
    return `${right} (${((100 * right) / slips.length).toFixed(1)} %)`;
  };
  return [
    [`${slips.length} ${what}`, 'bloomery spell', 'hunspell'],
    ['unseen', `${slips.length - seen.length}`, '0'],
    ['the word is proposed first', share(ours, 1), share(theirs, 1)],
    ['  among the first three', share(ours, 3), share(theirs, 3)],
    ['  among the first five', share(ours, 5), share(theirs, 5)],
    ['proposals that are no words', `${nonsense} of ${ours.flat().length}`, '-'],
    ['processor time for one', `${((user + system) / 1000 / seen.length).toFixed(1)} ms`, '-'],
  ];
}

function slipsIn(words: readonly string[], forms: ReadonlySet<string>): Misspelling[] {
  let state = 20231;
  const below = (end: number) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * end);
  };
  const slips: Misspelling[] = [];
  while (slips.length < SLIPS) {
    const word = words[below(words.length)];
    const at = below(word.length);
    const letter = 'abcdefghijklmnopqrstuvwxyz'[below(26)];
    const slip = [
      word.slice(0, at) + word.slice(at + 1),
      word.slice(0, at) + letter + word.slice(at + 1),
      word.slice(0, at) + letter + word.slice(at),
      word.slice(0, at) + (word[at + 1] ?? '') + word[at] + word.slice(at + 2),
    ][below(4)];
    if (!forms.has(slip)) slips.push({ word, slip });
  }
  return slips;
}

function askHunspell(words: readonly string[]): string[][] {
  const { stdout } = spawnSync('hunspell', ['-d', 'en_US', '-a'], {
    input: `${words.join('\n')}\n`,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  const answers = stdout.split('\n').filter((line) => /^[&#*+-]/.test(line));
  return answers.map((line) => (line.startsWith('&') ? line.slice(line.indexOf(': ') + 2).split(', ') : []));
}
