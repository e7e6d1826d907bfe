/**
 * How often the word that was meant is proposed: slips of the finger in words of the text, made
 * with a fixed seed, asked of both.
 */

import { spawnSync } from 'node:child_process';
import type { Speller } from '../../packages/stores/dist/dictionaries/spelling/index.js';

const SLIPS = 2000;

export function compareSuggestions(
  speller: Speller,
  forms: ReadonlySet<string>,
  words: readonly string[],
): string[][] {
  const slips = slipsIn(
    words.filter((word) => /^[a-z]{4,}$/.test(word) && forms.has(word)),
    forms,
  );
  const seen = slips.filter(({ slip }) => !speller.check(slip));
  const started = performance.now();
  const ours = seen.map(({ slip }) => speller.suggest(slip, 5));
  const milliseconds = (performance.now() - started) / seen.length;
  const asked = performance.now();
  const theirs = askHunspell(seen.map(({ slip }) => slip));
  const theirMilliseconds = (performance.now() - asked) / seen.length;
  const nonsense = ours
    .flat()
    .filter((text) =>
      text.split(' ').some((word) => !forms.has(word) && !forms.has(word.toLowerCase())),
    ).length;
  const share = (lists: readonly (readonly string[])[], most: number) =>
    `${((100 * lists.filter((list, i) => list.slice(0, most).includes(seen[i].word)).length) / seen.length).toFixed(1)} %`;
  return [
    [`${slips.length} slips of the finger`, 'bloomery spell', 'hunspell'],
    ['unseen', `${((100 * (slips.length - seen.length)) / slips.length).toFixed(2)} %`, '0 %'],
    ['the word is proposed first', share(ours, 1), share(theirs, 1)],
    ['  among the first three', share(ours, 3), share(theirs, 3)],
    ['  among the first five', share(ours, 5), share(theirs, 5)],
    ['proposals that are no words', `${((100 * nonsense) / ours.flat().length).toFixed(1)} %`, '0 %'],
    ['time for one', `${milliseconds.toFixed(1)} ms`, `${theirMilliseconds.toFixed(1)} ms`],
  ];
}

function slipsIn(words: readonly string[], forms: ReadonlySet<string>): { word: string; slip: string }[] {
  let state = 20231;
  const below = (end: number) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * end);
  };
  const slips: { word: string; slip: string }[] = [];
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
