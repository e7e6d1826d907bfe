/**
 * How many manglings of listed words a blocklist refuses, and how many good passwords. The words
 * are Debian's american-english-huge, or the file that is named.
 *
 *     npm --prefix bench run passwords [-- file]
 */

import { readFileSync } from 'node:fs';
import { PasswordBlocklist } from '../../packages/stores/dist/dictionaries/passwords/index.js';

const path = process.argv[2] ?? '/usr/share/dict/american-english-huge';
const words = readFileSync(path, 'utf8').split('\n').filter(Boolean);
let state = 20231;
const below = (end: number) => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return Math.floor((state / 2 ** 32) * end);
};
const usual = words.filter((word) => /^[a-z]{5,10}$/.test(word));
const capital = (word: string) => word[0].toUpperCase() + word.slice(1);
const LEET: Readonly<Record<string, string>> = { a: '4', e: '3', i: '1', o: '0', s: '$', t: '7' };
const KINDS: Readonly<Record<string, (word: string) => string>> = {
  word12: (word) => `${word}${10 + below(90)}`,
  'Word1!': (word) => `${capital(word)}1!`,
  Word2024: (word) => `${capital(word)}${1950 + below(75)}`,
  '123word': (word) => `123${word}`,
  'w0rd, all look-alikes': (word) => word.replace(/[aeiost]/g, (letter) => LEET[letter]),
  drow: (word) => [...word].reverse().join(''),
};
const GOOD: Readonly<Record<string, () => string>> = {
  '12 random printable characters': () => random(12, 33, 94),
  '10 random letters and digits': () =>
    Array.from({ length: 10 }, () => 'abcdefghijklmnopqrstuvwxyz0123456789'[below(36)]).join(''),
  'four words with spaces': () => Array.from({ length: 4 }, () => usual[below(usual.length)]).join(' '),
  'a word and 8 random digits': () => usual[below(usual.length)] + random(8, 48, 10),
};

for (const manglings of [false, true]) {
  const blocklist = PasswordBlocklist.from(words, { manglings });
  const bytes = blocklist.encode().length;
  const rate = blocklist.estimatedRefusalRate();
  console.log(
    `\nmanglings ${manglings ? 'refused' : 'accepted'}: ${words.length} words, ${bytes} bytes; ` +
      `${blocklist.mostLookups()} lookups, at most ${rate.toExponential(2)} refused by mistake`,
  );
  for (const [kind, mangle] of Object.entries(KINDS))
    show(kind, 2000, () => blocklist.refuses(mangle(usual[below(usual.length)])).refused);
  for (const [kind, make] of Object.entries(GOOD))
    show(kind, 20_000, () => blocklist.refuses(make()).refused);
}

function show(kind: string, count: number, ask: () => boolean): void {
  let refused = 0;
  for (let i = 0; i < count; i++) if (ask()) refused++;
  console.log(
    `  ${kind.padEnd(32)} ${refused} of ${count} refused (${((100 * refused) / count).toFixed(2)} %)`,
  );
}

function random(length: number, first: number, count: number): string {
  return Array.from({ length }, () => String.fromCharCode(first + below(count))).join('');
}
