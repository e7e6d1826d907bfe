/**
 * The terms of a text, by which documents are indexed and searched. Owners and askers run the same
 * code, so a word of a query meets the same word of a document.
 *
 * The rule. A word is a run of letters, marks and decimal digits; an apostrophe between two of them
 * belongs to it. It is normalised (NFKC), put into lower case, and loses its accents: "Résumé" and
 * "resume" are one term. English function words are left out (stop-words.ts). Words of the letters
 * a to z become Porter stems (the npm package `stemmer`: 0.8 kB, MIT, no dependencies). Scripts
 * that do not separate words (Chinese, Japanese, Thai, Lao, Khmer, Burmese) give every pair of
 * adjacent characters, as in `similar --text`.
 *
 * Source code. An identifier in camel case gives its parts, each at a place of its own, and the
 * whole: "readFileSync" is found by "read", by "file" and by "readfilesync". Words above 64
 * characters are data and are left out.
 *
 * We tried minisearch (5.9 kB), the best of the libraries in our trials: it ranks by the counts of
 * its own documents and cannot be given those of other peers, and the ranking of all peers
 * together needs those.
 */

import { stemmer } from 'stemmer';
import { isStopWord } from './stop-words.ts';

export interface TextTerm {
  readonly term: string;
  /** The place of the word, counted in words, including those that are left out. */
  readonly position: number;
  /** The characters of the text that the word takes. */
  readonly start: number;
  readonly end: number;
  /** True for the whole of an identifier whose parts are terms as well. */
  readonly isWhole: boolean;
}

/** The terms of a text, in their order. */
export function* textTerms(text: string): Generator<TextTerm> {
  let position = 0;
  for (const match of text.matchAll(RUNS)) {
    const [run] = match;
    const start = match.index;
    if (UNSPACED.test(run)) {
      for (const pair of pairsOf(run, start)) yield { ...pair, position: position++, isWhole: false };
      continue;
    }
    const parts = partsOf(run);
    if (parts.length > 1) {
      const term = termOf(run);
      if (term !== null) yield { term, position, start, end: start + run.length, isWhole: true };
    }
    for (const { part, at } of parts) {
      const term = termOf(part);
      const from = start + at;
      if (term !== null) yield { term, position, start: from, end: from + part.length, isWhole: false };
      position++;
    }
  }
}

/** The term of one word, or null if it is left out. */
function termOf(word: string): string | null {
  const known = KNOWN.get(word);
  if (known !== undefined) return known;
  const term = newTermOf(word);
  // A text repeats its words. The table is dropped when it is full, because most of it is rare.
  if (KNOWN.size >= MOST_KNOWN) KNOWN.clear();
  if (word.length <= MOST_LETTERS) KNOWN.set(word, term);
  return term;
}

function newTermOf(word: string): string | null {
  if (word.length > MOST_LETTERS) return null;
  const plain = word.normalize('NFKC').toLowerCase().normalize('NFD').replace(ACCENTS, '').normalize('NFC');
  const base = plain.replaceAll('’', "'");
  if (isStopWord(base)) return null;
  const bare = base.replace(/'s?$|'/g, '');
  if (bare === '' || bare.length > MOST_LETTERS || isStopWord(bare)) return null;
  return LATIN.test(bare) ? stemmer(bare) : bare;
}

/** The parts of an identifier, with their places in it. */
function partsOf(run: string): { readonly part: string; readonly at: number }[] {
  if (!MIXED.test(run)) return [{ part: run, at: 0 }];
  const parts: { part: string; at: number }[] = [];
  for (const match of run.matchAll(PARTS)) parts.push({ part: match[0], at: match.index });
  return parts;
}

/** Every pair of adjacent characters, or a single one that stands alone. */
function* pairsOf(run: string, start: number): Generator<{ term: string; start: number; end: number }> {
  const characters = [...run];
  if (characters.length === 1) yield { term: run, start, end: start + run.length };
  let at = start;
  for (let i = 1; i < characters.length; i++) {
    const term = characters[i - 1] + characters[i];
    yield { term, start: at, end: at + term.length };
    at += characters[i - 1].length;
  }
}

const MOST_LETTERS = 64;
const MOST_KNOWN = 50_000;
const KNOWN = new Map<string, string | null>();

const SCRIPTS = ['Han', 'Hiragana', 'Katakana', 'Thai', 'Lao', 'Khmer', 'Myanmar'];
const SCRIPT = SCRIPTS.map((name) => `\\p{Script=${name}}`).join('');
/** A character of a word, in a script with spaces. */
const LETTER = `(?![${SCRIPT}])[\\p{L}\\p{M}\\p{Nd}]`;
const RUNS = new RegExp(`[${SCRIPT}]+|(?:${LETTER})+(?:['’](?:${LETTER})+)*`, 'gu');
const UNSPACED = new RegExp(`^[${SCRIPT}]`, 'u');
/** A small letter before a capital one, or a letter beside a digit. */
const MIXED = /\p{Ll}\p{Lu}|\p{L}\p{Nd}|\p{Nd}\p{L}|\p{Lu}{2}\p{Ll}/u;
const PARTS = /\p{Nd}+|\p{Lu}+(?!\p{Ll})|\p{Lu}?[\p{Ll}\p{M}\p{Lo}\p{Lm}\p{Lt}'’]+|\p{Lu}/gu;
/** The accents of European scripts. The marks of others are letters of their own kind. */
const ACCENTS = /[\u0300-\u036f]/g;
const LATIN = /^[a-z]{3,}$/;
