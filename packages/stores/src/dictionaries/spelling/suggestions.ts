/**
 * Suggestions from a filter. A filter cannot list its words, but it can be asked. Every string at
 * one edit from the misspelling is looked up (a letter left out, added or replaced, two letters
 * swapped, the dictionary's own list of typical mistakes, a space). A word of 8 letters has about
 * 450 of them.
 *
 * The problem is the false positive rate: at 1/32, some fourteen of 450 strings would be accepted
 * as words. The letter groups refuse most of them; evidence decides about the rest. The related
 * forms of a real word are words as well (walks, walked, walking), those of a false positive are
 * not. So each related form that the filter has is evidence, worth another lookup, and the file
 * needs only the list of endings for it. A suggestion can still be nonsense; `bench/spelling`
 * measures how often, compared with hunspell.
 *
 * Suggestions are ordered by the kind of mistake plus the evidence. The frequency of words and the
 * layout of keyboards are not known.
 */

import type { Speller } from './speller.ts';
import { capitalised, capitals, smallLetters, wordCase } from './word-case.ts';

export function suggestWords(speller: Speller, word: string, limit: number): string[] {
  if (limit < 1 || word.length < 2 || word.length > MOST_LETTERS) return [];
  const { language } = speller.traits;
  const kind = wordCase(word);
  const small = smallLetters(word, language);
  const scored = new Map<string, number>();
  const offer = (text: string, score: number): void => {
    if (text !== word && !((scored.get(text) ?? Number.NEGATIVE_INFINITY) >= score)) scored.set(text, score);
  };
  // The same letters in another case.
  const shapes = [small, capitalised(small, language)];
  if (small.length <= MOST_ACRONYM) shapes.push(capitals(small, language));
  for (const text of shapes) {
    if (text !== word && known(speller, text)) offer(text, CASE - RARE * speller.parts.common.rare(small));
  }
  const candidates = edits(small, speller);
  for (const [candidate, score] of inDictionary(speller, candidates)) {
    offer(dress(candidate, kind, language), score + evidence(speller, candidate));
  }
  // Names are tried only if a capital shows that it may be one, because they have few related forms
  // and so little evidence.
  if (kind !== 'small') {
    const names = new Map(
      [...candidates].map(([text, score]) => [capitalised(text, language), score - NAME]),
    );
    for (const [name, score] of inDictionary(speller, names)) {
      offer(
        kind === 'capitals' ? capitals(name, language) : name,
        score - RARE_IN_NAME * speller.parts.common.rare(smallLetters(name, language)),
      );
    }
  }
  for (const [text, score] of phrases(small, speller)) offer(dress(text, kind, language), score);
  // Made-up names (camelCase) are rarely typos, so only nearly certain suggestions are kept.
  const least = kind === 'mixed' ? LEAST_MIXED : LEAST;
  return [...scored]
    .sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
    .filter(([, score], i, all) => score >= least && (i === 0 || score >= all[0][1] - SPREAD))
    .slice(0, limit)
    .map(([text]) => text);
}

/** The candidates that the filter has, looked up all at once. */
function inDictionary(speller: Speller, candidates: ReadonlyMap<string, number>): [string, number][] {
  const answers = speller.parts.words.hasMany([...candidates.keys()]);
  return [...candidates].filter(([text], i) => answers[i] === 1 && known(speller, text));
}

/** Whether a form is a word that may be suggested. */
function known({ parts: { words, groups, unsuggested } }: Speller, form: string): boolean {
  if (!words.has(form) || unsuggested.has(form)) return false;
  return wordCase(form) !== 'small' || groups.mayBeWord(form);
}

/** Every string at one edit, with a score of how likely such a typo is. */
function edits(word: string, { traits }: Speller): Map<string, number> {
  const out = new Map<string, number>();
  const offer = (text: string, score: number): void => {
    if (text !== word && text !== '' && !((out.get(text) ?? Number.NEGATIVE_INFINITY) >= score))
      out.set(text, score);
  };
  for (const [from, to] of traits.replacements) {
    if (from === '' || to.includes('_')) continue;
    for (let at = word.indexOf(from); at >= 0; at = word.indexOf(from, at + 1)) {
      offer(word.slice(0, at) + to + word.slice(at + from.length), REPLACED);
    }
  }
  const letters = [...word];
  const alphabet = [...traits.alphabet];
  for (let i = 0; i <= letters.length; i++) {
    const before = letters.slice(0, i).join('');
    const after = letters.slice(i).join('');
    const rest = letters.slice(i + 1).join('');
    const start = i === 0 ? FIRST : 0;
    if (i < letters.length) {
      const doubled = letters[i] === letters[i - 1] || letters[i] === letters[i + 1];
      offer(before + rest, (doubled ? DOUBLED : REMOVED) + start);
      if (i + 1 < letters.length) {
        offer(before + letters[i + 1] + letters[i] + letters.slice(i + 2).join(''), SWAPPED);
      }
      for (const letter of alphabet) offer(before + letter + rest, EXCHANGED + start);
    }
    for (const letter of alphabet) {
      const doubled = letter === letters[i] || letter === letters[i - 1];
      offer(before + letter + after, (letter === "'" ? APOSTROPHE : doubled ? DOUBLED : ADDED) + start);
    }
  }
  return out;
}

/** Yields splits into two words, and replacements of the dictionary that contain a space. */
function* phrases(word: string, speller: Speller): Generator<[string, number]> {
  for (const [from, to] of speller.traits.replacements) {
    if (!to.includes('_') || word !== from) continue;
    yield [to.replaceAll('_', ' '), REPLACED + 2];
  }
  for (let at = 2; at <= word.length - 2; at++) {
    const [first, second] = [word.slice(0, at), word.slice(at)];
    if (!known(speller, first) || !known(speller, second)) continue;
    yield [`${first} ${second}`, SPLIT + Math.min(evidence(speller, first), evidence(speller, second))];
  }
}

/**
 * The evidence from the letters and the related forms of a form: roughly the logarithm of how much
 * likelier it is a word than a false positive.
 */
function evidence(speller: Speller, form: string): number {
  const { common } = speller.parts;
  const { endings } = speller.traits;
  const letters = -RARE * common.rare(form);
  if (endings.length === 0) return letters;
  const relatives = new Set<string>();
  const bases = new Set<string>();
  for (const [strip, add] of endings) {
    if (form.endsWith(strip)) relatives.add(form.slice(0, form.length - strip.length) + add);
    if (form.endsWith(add) && form.length - add.length >= 2)
      bases.add(form.slice(0, form.length - add.length) + strip);
  }
  let found = 0;
  for (const base of bases) {
    if (!known(speller, base)) continue;
    found++;
    for (const [strip, add] of endings) {
      if (base.endsWith(strip)) relatives.add(base.slice(0, base.length - strip.length) + add);
    }
  }
  relatives.delete(form);
  for (const relative of relatives) if (known(speller, relative)) found++;
  return letters + (found === 0 ? -ALONE : RELATIVE * Math.min(MOST_RELATIVES, found - 1));
}

/** Puts a suggestion into the case of the written word. */
function dress(text: string, kind: ReturnType<typeof wordCase>, language: string): string {
  if (kind === 'capitals') return capitals(text, language);
  return kind === 'initial' ? capitalised(text, language) : text;
}

const MOST_LETTERS = 64;
const MOST_ACRONYM = 6;
// Weights, in natural logarithms; bench/spelling measures their effect.
const CASE = 6;
const REPLACED = 3;
const SWAPPED = 3.5;
const DOUBLED = 3;
const APOSTROPHE = 4.5;
const REMOVED = 2;
const ADDED = 2;
const EXCHANGED = 1.5;
const SPLIT = 0;
const FIRST = -1;
const NAME = 1;
const RARE = 1;
const RARE_IN_NAME = 0.5;
const RELATIVE = 1;
const MOST_RELATIVES = 3;
const ALONE = 1;
const LEAST = -2;
const LEAST_MIXED = 2;
const SPREAD = 2.5;
