/**
 * Counts the most common English words in free texts of Debian, and prints the table that
 * suggestions use (packages/stores/src/dictionaries/spelling/listing/english-frequency.ts).
 *
 *     npm --prefix bench run --silent spelling:frequencies > english-frequency.ts
 *
 * The texts are those of the packages `fortunes` (432,000 words of quotations), `jargon-text`
 * (239,000 words about computers and their users) and `dict-gcide` (5.4 million words, Webster's
 * dictionary of 1913 with additions). A word's frequency is the median of its three frequencies, so
 * that the abbreviations of the dictionary and the slang of the hackers do not count as common
 * English. The table holds counts, not text. Only words of en_US in small letters are counted.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { HunspellDictionary } from '../../packages/stores/dist/dictionaries/spelling/index.js';

const WORDS = 5000;
const FORTUNES = '/usr/share/games/fortunes';
const JARGON = '/usr/share/doc/jargon-text/jargon.txt.gz';
const GCIDE = '/usr/share/dictd/gcide.dict.dz';
const root = process.env.TEXTS_ROOT ?? '';

const en = (name: string) => readFileSync(`/usr/share/hunspell/en_US.${name}`);
const forms = new Set<string>();
for (const { form, noSuggest } of new HunspellDictionary(en('dic'), en('aff')).forms())
  if (!noSuggest) forms.add(form);

const shares = new Map<string, number[]>();
for (const [source, text] of [fortunes(), packed(JARGON), packed(GCIDE)].entries()) {
  const words = text.toLowerCase().match(/[a-z]+(?:'[a-z]+)?/g) ?? [];
  for (const word of words) {
    if (!forms.has(word) || /^[^ai]$/.test(word)) continue;
    const own = shares.get(word) ?? [0, 0, 0];
    own[source] += 1 / words.length;
    shares.set(word, own);
  }
}
const medians = [...shares].map(([word, own]) => [word, own.sort((a, b) => a - b)[1]] as const);
const common = medians.sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, WORDS);
const classes = new Map<number, string[]>();
for (const [word, share] of common) {
  const frequency = Math.max(1, Math.min(15, Math.round(Math.log2(1e6 * share) + 1)));
  classes.set(frequency, [...(classes.get(frequency) ?? []), word]);
}
const lines = [...classes].flatMap(([frequency, words]) => wrapped(`${frequency}`, words.sort()));
console.log(`/**
 * The ${common.length.toLocaleString('en-US')} most common English words, by classes of frequency (word-frequency.ts): each line
 * is a class and words of it. bench/spelling/frequencies.ts counted them and names the texts.
 * Generated: do not edit.
 */

export const ENGLISH_WORDS = \`
${lines.join('\n')}
\`;`);

function fortunes(): string {
  const names = readdirSync(FORTUNES).filter((name) => !name.includes('.'));
  return names.map((name) => readFileSync(join(FORTUNES, name), 'utf8')).join('\n');
}

function packed(path: string): string {
  return gunzipSync(readFileSync(root + path)).toString();
}

function wrapped(head: string, words: readonly string[]): string[] {
  const out = [head];
  for (const word of words) {
    if (out[out.length - 1].length + 1 + word.length > 100) out.push(head);
    out[out.length - 1] += `,${word}`;
  }
  return out;
}
