/**
 * A spell checker whose dictionary is a filter. This is the oldest widespread use of Bloom's idea
 * (survey 3.1: McIlroy's `spell`). The filter is asked as it lies in the file, without unpacking,
 * and a right word is never called wrong.
 *
 * What is inside. There is a filter of all words with their inflections (a `StaticFilter`, near the
 * lower bound, or a `BloomFilter`). A filter of letter groups at one bit each detects half of the
 * typical misspellings that the first one lets through (letter-groups.ts). The traits hold the
 * conversions and case rules of the language. A packed list of the words serves suggestions alone
 * (word-list-code.ts). For en_US, filters and traits take 189 kB and the list 205 kB.
 *
 * What it promises. Every word of the dictionary is accepted, in every case that hunspell accepts
 * it in. A misspelling is accepted with a probability of at most `slipRate(word)`: the rate of the
 * filter times the number of keys asked, one for a word in small letters, two with a capital first,
 * up to four in capitals. The default rate is 1/1024. Every suggestion is a word of the dictionary,
 * or two words.
 *
 * What it does not detect. Possessives: `'s` is accepted after every word if its letter groups
 * occur in the language, because keeping `word's` next to every `word` would take a fifth of the
 * file (dictionaries where that is not worth it have no such rule). Compounds: a language that
 * forms them without limit (German, Hungarian) needs a program, not a set; only hyphens and English
 * ordinals are understood. Real-word errors: no dictionary detects a word that exists but was not
 * meant.
 */

import type { BloomFilter, StaticFilter } from 'bloomery';
import { atLeastOne } from 'bloomery/math';
import type { LetterGroups } from './letter-groups.ts';
import type { CodedWords } from './listing/word-list-code.ts';
import { NormalForm } from './normal-form.ts';
import type { SpellerTraits } from './speller-traits.ts';
import { suggestWords } from './suggestions.ts';
import { capitalised, smallLetters, withSharpS, wordCase } from './word-case.ts';

export interface SpellerParts {
  readonly words: StaticFilter | BloomFilter;
  readonly groups: LetterGroups;
  /** The words themselves, for suggestions. Files of version 1 have none. */
  readonly list?: CodedWords | undefined;
  readonly traits: SpellerTraits;
}

export class Speller {
  readonly parts: SpellerParts;
  readonly #normal: NormalForm;
  readonly #own = new Set<string>();
  /**
   * Whether the user's own words include mixed-case or dotted ones, like `upperOnly` and `dotted`
   * of the traits.
   */
  #ownMixed = false;
  #ownDotted = false;

  constructor(parts: SpellerParts) {
    this.parts = parts;
    this.#normal = new NormalForm(parts.traits);
  }

  get traits(): SpellerTraits {
    return this.parts.traits;
  }

  /**
   * The rate at which one key that is not a word is accepted, before the letter groups are checked.
   */
  get falsePositiveRate(): number {
    const { words } = this.parts;
    return 'falsePositiveRate' in words ? words.falsePositiveRate : words.estimatedFalsePositiveRate();
  }

  /** Adds the user's own words. They are stored exactly, not in the filter. */
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
   * Whether a word is right: maybe (true), or certainly not in the dictionary (false). `dotted`
   * means that a full stop follows, so that abbreviations are understood. If the whole is not a
   * word, it is split at hyphens, into words that may contain hyphens themselves: `well-X-ray`. An
   * empty word, or one of ignored characters only, is right, as in hunspell.
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

  /** Upper bound on the probability that a misspelling written like this is accepted as a whole. */
  slipRate(word: string): number {
    const form = this.#normal.of(word);
    const base = possessiveBase(form, this.traits);
    const keys = this.#keys(form).length + (base === undefined ? 0 : this.#keys(base).length);
    return atLeastOne(this.falsePositiveRate, keys);
  }

  /**
   * Returns words that may have been meant, the best first. All of them are words of the
   * dictionary; see suggestions.ts. A dictionary without a list of its words has none.
   */
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

  /**
   * Whether the filter has any key of the form. The letter groups are checked together with the
   * ending.
   */
  #has(form: string, ending: string): boolean {
    const { words, groups } = this.parts;
    for (const key of this.#keys(form)) {
      if (this.#own.has(key)) return true;
      if (!words.has(key)) continue;
      // Groups were collected only from words in small letters.
      if (key.charCodeAt(0) < 32 || wordCase(key) !== 'small' || groups.mayBeWord(key + ending)) return true;
    }
    return false;
  }

  /** The keys to look up for a form as it was written. */
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

/**
 * The word before a possessive ending, or undefined if there is no such ending, or if the
 * dictionary lists all possessives.
 */
function possessiveBase(form: string, { possessives }: SpellerTraits): string | undefined {
  if (!possessives || form.length < 3 || form[form.length - 2] !== "'") return undefined;
  const last = form[form.length - 1];
  const base = form.slice(0, -2);
  return last === 's' || (last === 'S' && base === base.toUpperCase()) ? base : undefined;
}

/** Prefix of words that are right only as they are written. */
export const KEEP_CASE = '\u0001';
/** Prefix of words in small letters that are right in capitals: McDonald is right as MCDONALD. */
export const UPPER_ONLY = '\u0002';
/**
 * The most parts of a hyphenated word in the dictionary, such as jack-of-all-trades; `check` tries
 * no more.
 */
const MOST_JOINED = 4;
const NUMBER = /^\p{N}[\p{N}.,:-]*$/u;
/** Ordinals that the compound rules of en_US make from digits: 1st, 12th, 123rd. */
const ORDINAL = /^\d*(?:1\dth|(?:^|[02-9])(?:1st|2nd|3rd|[04-9]th))$/;
