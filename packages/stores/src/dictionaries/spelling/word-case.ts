/**
 * Letter case as hunspell treats it. A word with an initial capital is right if the dictionary has
 * it like that or in small letters (the start of a sentence, a title). A word in capitals is right
 * if the dictionary has it in any case. Any other word, such as `iPhone` or `tEh`, is right only as
 * it is written in the dictionary.
 */

export type WordCase = 'small' | 'initial' | 'capitals' | 'mixed';

export function wordCase(word: string): WordCase {
  if (SMALL.test(word)) return 'small';
  let [capitals, neutral, length] = [0, 0, 0];
  let first = false;
  for (const letter of word) {
    const upper = letter.toUpperCase();
    const lower = letter.toLowerCase();
    if (upper === lower) neutral++;
    else if (letter === upper) {
      capitals++;
      if (length === 0) first = true;
    }
    length++;
  }
  if (capitals === 0) return 'small';
  if (capitals === 1 && first) return 'initial';
  return capitals + neutral === length ? 'capitals' : 'mixed';
}

/**
 * Converts to small letters by the rules of a language: Turkish and Azeri have an i without a dot.
 */
export function smallLetters(word: string, language: string): string {
  return isTurkic(language) ? word.toLocaleLowerCase('tr') : word.toLowerCase();
}

/** Makes the first letter a capital and leaves the rest as it is. */
export function capitalised(word: string, language: string): string {
  const first = String.fromCodePoint(word.codePointAt(0) ?? 0);
  const upper = isTurkic(language) ? first.toLocaleUpperCase('tr') : first.toUpperCase();
  return word === '' ? '' : upper + word.slice(first.length);
}

/** Converts to capitals. */
export function capitals(word: string, language: string): string {
  return isTurkic(language) ? word.toLocaleUpperCase('tr') : word.toUpperCase();
}

/** All ways to write ß for `ss`, without the word itself: STRASSE may be `straße` (CHECKSHARPS). */
export function withSharpS(word: string): string[] {
  const places = [...word.matchAll(/ss/g)].slice(0, MOST_SHARP).map(({ index }) => index);
  const words: string[] = [];
  for (let choice = 1; choice < 2 ** places.length; choice++) {
    let made = '';
    let at = 0;
    for (const [i, place] of places.entries()) {
      if (((choice >> i) & 1) === 0) continue;
      made += `${word.slice(at, place)}ß`;
      at = place + 2;
    }
    words.push(made + word.slice(at));
  }
  return words;
}

function isTurkic(language: string): boolean {
  return /^(tr|az)(_|-|$)/.test(language);
}

const SMALL = /^[a-z'-]*$/;
const MOST_SHARP = 3;
