/**
 * A spell checker whose dictionary is a filter: the oldest use of Bloom's idea that people had on their machines (survey
 * 3.1: McIlroy's `spell`). The words of en_US take 350 kB as a list packed by xz; here they take 99 kB, are asked
 * as they lie in the file, and a right word is never called wrong.
 *
 * What is inside. A filter of all words with their inflections (a `StaticFilter`, near the lower bound, or a
 * `BloomFilter`); a filter of letter groups at one bit each, which sees half of the typical misspellings that the first
 * one lets through (letter-groups.ts); and what the language asks for: its alphabet, conversions, case rules.
 *
 * What it promises. Every word of the dictionary is accepted, in every case that hunspell accepts it in. A misspelling is
 * accepted with a probability of at most `slipRate(word)`: the rate of the filter times the number of keys asked, one
 * for a word in small letters, two with a capital first, up to four in capitals. The rate of en_US in 99 kB is 1/32; with `--rate 0.1%` it takes
 * 190 kB.
 *
 * What it does not see. Possessives: `'s` is accepted after every word, if its letters go together, since keeping
 * `word's` beside every `word` would take a fifth of the file (dictionaries where that is not worth it have no such rule).
 * Compounds: a language that makes them without end (German, Hungarian) needs a program, not a set; only
 * hyphens and English ordinals are understood. A word that exists but was not meant: no dictionary sees that.
 */

import type { BloomFilter, StaticFilter } from 'bloomery';
import type { CommonGroups, LetterGroups } from './letter-groups.ts';
import { NormalForm } from './normal-form.ts';
import type { SpellerTraits } from './speller-traits.ts';
import { suggestWords } from './suggestions.ts';
import { capitalised, smallLetters, withSharpS, wordCase } from './word-case.ts';

export interface SpellerParts {
  readonly words: StaticFilter | BloomFilter;
  readonly groups: LetterGroups;
  /** For suggestions. */
  readonly common: CommonGroups;
  /** Words that are right and not proposed; a stranger is among them with probability 1/256. */
  readonly unsuggested: StaticFilter;
  readonly traits: SpellerTraits;
}

export class Speller {
  readonly parts: SpellerParts;
  readonly #normal: NormalForm;
  readonly #own = new Set<string>();
  /** Whether there are such among one's own words as traits tell of the dictionary's. */
  #ownMixed = false;
  #ownDotted = false;

  constructor(parts: SpellerParts) {
    this.parts = parts;
    this.#normal = new NormalForm(parts.traits);
  }

  get traits(): SpellerTraits {
    return this.parts.traits;
  }

  /** The rate at which one key that is no word is taken for one, before the letter groups are looked at. */
  get falsePositiveRate(): number {
    const { words } = this.parts;
    return 'falsePositiveRate' in words ? words.falsePositiveRate : words.estimatedFalsePositiveRate();
  }

  /** Adds words of one's own, exactly: they are kept as they are, not in the filter. */
  addWords(words: Iterable<string>): void {
    for (const word of words) {
      const form = this.#normal.of(word);
      this.#own.add(form);
      if (form.endsWith('.')) this.#ownDotted = true;
      if (wordCase(form) !== 'mixed') continue;
      this.#ownMixed = true;
      this.#own.add(UPPER_ONLY + smallLetters(form, this.traits.language));
    }
  }

  /**
   * Whether a word is right: maybe (true), or certainly not in the dictionary (false). `dotted`: a full stop follows, so that
   * abbreviations are understood. If the whole is no word, it is parted at hyphens, into words that may have some themselves:
   * `well-X-ray`. Nothing, or what the dictionary ignores, is right, as in hunspell.
   */
  check(word: string, { dotted = false }: { dotted?: boolean } = {}): boolean {
    const form = this.#normal.of(word);
    if (form === '' || this.#checkForm(form, dotted)) return true;
    if (!this.traits.hyphens || !form.includes('-')) return false;
    const parts = form.split('-').filter((part) => part !== '');
    // Whether the parts before this one are words.
    const right = [parts.length > 0];
    for (let end = 1; end <= parts.length; end++) {
      right[end] = false;
      for (let start = end - 1; start >= 0 && start >= end - MOST_JOINED && !right[end]; start--) {
        const piece = parts.slice(start, end).join('-');
        right[end] = right[start] && this.#checkForm(piece, dotted && end === parts.length);
      }
    }
    return right[parts.length];
  }

  /** The probability, at most, that a misspelling written like this is accepted as a whole. */
  slipRate(word: string): number {
    const form = this.#normal.of(word);
    const base = possessiveBase(form, this.traits);
    const keys = this.#keys(form).length + (base === undefined ? 0 : this.#keys(base).length);
    return 1 - (1 - this.falsePositiveRate) ** keys;
  }

  /** Words that may have been meant, the best first. Some may be nonsense, see suggestions.ts. */
  suggest(word: string, limit = 5): string[] {
    return suggestWords(this, this.#normal.of(word), limit);
  }

  #checkForm(form: string, dotted: boolean): boolean {
    if (NUMBER.test(form)) return true;
    if (this.#has(form, '')) return true;
    const base = possessiveBase(form, this.traits);
    if (base !== undefined && this.#has(base, "'s")) return true;
    if (dotted && (this.traits.dotted || this.#ownDotted) && this.#has(`${form}.`, '')) return true;
    return this.traits.ordinals && ORDINAL.test(form.toLowerCase());
  }

  /** Whether any key of the form is in; with the ending the letters must go together. */
  #has(form: string, ending: string): boolean {
    const { words, groups } = this.parts;
    for (const key of this.#keys(form)) {
      if (this.#own.has(key)) return true;
      if (!words.has(key)) continue;
      // Only words in small letters had their groups collected.
      if (key.charCodeAt(0) < 32 || wordCase(key) !== 'small' || groups.mayBeWord(key + ending)) return true;
    }
    return false;
  }

  /** What the filter is asked for a form as it was written. */
  #keys(form: string): string[] {
    const { language, keepCase, upperOnly, sharpS } = this.traits;
    const keys = [form];
    const kind = wordCase(form);
    if (keepCase) keys.push(KEEP_CASE + form);
    if (kind === 'small' || kind === 'mixed') return keys;
    const small = smallLetters(form, language);
    keys.push(small);
    if (kind === 'capitals') {
      keys.push(capitalised(small, language));
      if (upperOnly || this.#ownMixed) keys.push(UPPER_ONLY + small);
      if (sharpS) for (const word of withSharpS(small)) keys.push(word, capitalised(word, language));
    }
    return keys;
  }
}

/** What is before a possessive ending; undefined: there is none, or the dictionary has all of them. */
function possessiveBase(form: string, { possessives }: SpellerTraits): string | undefined {
  if (!possessives || form.length < 3 || form[form.length - 2] !== "'") return undefined;
  const last = form[form.length - 1];
  const base = form.slice(0, -2);
  return last === 's' || (last === 'S' && base === base.toUpperCase()) ? base : undefined;
}

/** Before words that are right only as they are written. */
export const KEEP_CASE = '\u0001';
/** Before words in small letters that are right in capitals: NATO's neighbour McDonald is right as MCDONALD. */
export const UPPER_ONLY = '\u0002';
/** Parts of a word with hyphens in the dictionary, such as jack-of-all-trades; `check` looks for no more. */
export const MOST_JOINED = 4;
const NUMBER = /^\p{N}[\p{N}.,:-]*$/u;
/** What en_US's compound rules make of digits: 1st, 12th, 123rd. */
const ORDINAL = /^\d*(?:1\dth|(?:^|[02-9])(?:1st|2nd|3rd|[04-9]th))$/;
