/**
 * Liang's hyphenation (F. M. Liang, Word Hy-phen-a-tion by Com-put-er, Stanford 1983; Knuth, The
 * TeXbook, appendix H).
 *
 * A pattern is a piece of a word with a number between its letters, such as `hy3ph`; a dot is the
 * border of the word. All patterns that fit somewhere put their numbers between the letters, the
 * largest at each place wins, and an odd one allows a break there. `leftMinimum` and `rightMinimum`
 * letters stay together at the ends, whatever the patterns say.
 *
 * On all 348,454 words of Debian's american-english-huge the breaks are the same as those of
 * libhyphen 2.8.8 with the same patterns.
 *
 * Letters are code points, compared in lower case. A break never comes before a combining mark.
 * Patterns of languages are in composed form (NFC); decomposed text finds fewer breaks, not wrong
 * ones.
 */

import { PatternTrie } from './pattern-trie.ts';

export interface HyphenatorOptions {
  /** Liang's notation, such as `.ach4`, `hy3ph`, `2io`. */
  readonly patterns: readonly string[];
  /** Letters that stay together at the beginning. */
  readonly leftMinimum: number;
  /** Letters that stay together at the end. */
  readonly rightMinimum: number;
  /** Strings at whose borders no break is allowed (libhyphen's NOHYPHEN). */
  readonly noHyphen?: readonly string[];
}

export class Hyphenator {
  readonly patterns: readonly string[];
  readonly leftMinimum: number;
  readonly rightMinimum: number;
  readonly noHyphen: readonly string[];
  readonly #trie: PatternTrie;
  /** The numbers of each pattern: one before each letter and one at the end. */
  readonly #values: readonly Uint8Array[];
  /** The strings of `noHyphen` as code points. */
  readonly #unbroken: readonly (readonly number[])[];

  constructor({ patterns, leftMinimum, rightMinimum, noHyphen = [] }: HyphenatorOptions) {
    for (const [name, value] of Object.entries({ leftMinimum, rightMinimum })) {
      if (!(Number.isInteger(value) && value >= 1 && value <= 255)) {
        throw new RangeError(
          `Cannot hyphenate: expected a whole number from 1 to 255 as ${name}, got ${value}`,
        );
      }
    }
    this.patterns = patterns;
    this.leftMinimum = leftMinimum;
    this.rightMinimum = rightMinimum;
    this.noHyphen = noHyphen;
    const split = patterns.map(splitPattern);
    this.#trie = new PatternTrie(split.map(({ codes }) => codes));
    this.#values = mergeEqual(split);
    this.#unbroken = noHyphen.map((text) => codesOf(text).slice(1, -1));
  }

  /**
   * Returns where the word may be broken: the number of letters (code points) before each break, in
   * rising order.
   */
  points(word: string): number[] {
    return pointsOf(this.#numbers(word));
  }

  /** The word with `mark` at each break. */
  hyphenate(word: string, mark = '\u00ad'): string {
    return insertMarks(word, this.points(word), mark);
  }

  /** Whether a word is too short to be broken at all. */
  isShort(word: string): boolean {
    // Most words are not short, so the cheap count of code units comes before that of code points.
    const least = this.leftMinimum + this.rightMinimum;
    return word.length < least || (word.length < 2 * least && [...word].length < least);
  }

  /**
   * Visits the patterns (by their indices) whose number is the winning one at some place of the
   * word. `strongestPatterns` uses it to choose the patterns that matter.
   */
  deciding(word: string, visit: (pattern: number) => void): void {
    const winning = this.#numbers(word);
    this.#trie.eachMatch(codesOf(word), (pattern, at) => {
      const values = this.#values[pattern];
      const decides = values.some((value, i) => value !== 0 && value === winning[at + i - 1]);
      if (decides) visit(pattern);
    });
  }

  /**
   * The number at each place: element i stands before letter i. Places where no break is allowed
   * are 0.
   */
  #numbers(word: string): Uint8Array {
    const codes = codesOf(word);
    const letters = codes.length - 2;
    const numbers = new Uint8Array(letters + 1);
    if (letters < this.leftMinimum + this.rightMinimum) return numbers;
    this.#trie.eachMatch(codes, (pattern, at) => {
      const values = this.#values[pattern];
      for (let i = 0, place = at - 1; i < values.length; i++, place++) {
        // Places before the first dot and after the last are outside of the typed array, which
        // ignores such writes.
        if (values[i] > numbers[place]) numbers[place] = values[i];
      }
    });
    numbers.fill(0, 0, this.leftMinimum);
    numbers.fill(0, letters - this.rightMinimum + 1);
    for (let i = 1; i < letters; i++) if (isMark(codes[i + 1])) numbers[i] = 0;
    for (const text of this.#unbroken) forbidAround(text, codes, numbers);
    return numbers;
  }
}

/** Puts a mark before the letters with these numbers. */
export function insertMarks(word: string, points: readonly number[], mark: string): string {
  if (points.length === 0) return word;
  const places = new Set(points);
  let text = '';
  let i = 0;
  for (const letter of word) text += places.has(i++) ? mark + letter : letter;
  return text;
}

/**
 * Replaces each word of a text. Words are letters with their marks; apostrophes and hyphens
 * separate them, as in TeX and libhyphen. A word with soft hyphens in it is one word, including the
 * soft hyphens.
 */
export function replaceWords(text: string, replace: (word: string) => string): string {
  return text.replace(WORDS, (word) => replace(word));
}

/** The words of a text, in order. */
export function* wordsOf(text: string): Generator<string> {
  for (const [word] of text.matchAll(WORDS)) yield word;
}

export interface SplitPattern {
  /** The letters, and dots at the borders of words. */
  readonly codes: readonly number[];
  /** The number before each letter and at the end. */
  readonly values: Uint8Array;
}

export function splitPattern(pattern: string): SplitPattern {
  const codes: number[] = [];
  const values: number[] = [0];
  for (const character of pattern) {
    if (character >= '0' && character <= '9') values[codes.length] = Number(character);
    else {
      codes.push(character.codePointAt(0) as number);
      values.push(0);
    }
  }
  return { codes, values: Uint8Array.from(values) };
}

/**
 * Merges patterns with the same letters: the larger number wins at each place, as if all of them
 * had matched.
 */
function mergeEqual(patterns: readonly SplitPattern[]): Uint8Array[] {
  const seen = new Map<string, Uint8Array>();
  return patterns.map(({ codes, values }) => {
    const letters = codes.join(' ');
    const before = seen.get(letters);
    const merged = before === undefined ? values : values.map((value, i) => Math.max(value, before[i]));
    seen.set(letters, merged);
    return merged;
  });
}

/**
 * Converts to lower case, code point by code point, because breaks are counted in code points of
 * the word.
 */
export function lowerCase(word: string): string {
  if (/^[a-z]*$/.test(word)) return word;
  let lower = '';
  for (const character of word) {
    // 'İ' would become two code points.
    const small = character.toLowerCase();
    lower += small.length === character.length ? small : character;
  }
  return lower;
}

/** The letters in lower case between two dots. */
function codesOf(word: string): number[] {
  const codes = [DOT];
  for (const character of lowerCase(word)) codes.push(character.codePointAt(0) as number);
  codes.push(DOT);
  return codes;
}

/** Forbids breaks at both ends of `sought`, wherever it occurs in the dotted word. */
function forbidAround(sought: readonly number[], codes: readonly number[], numbers: Uint8Array): void {
  for (let at = 1; at + sought.length < codes.length; at++) {
    if (sought.some((code, i) => codes[at + i] !== code)) continue;
    numbers[at - 1] = 0;
    numbers[at - 1 + sought.length] = 0;
  }
}

function isMark(code: number): boolean {
  return code >= 0x300 && MARK.test(String.fromCodePoint(code));
}

function pointsOf(numbers: Uint8Array): number[] {
  const points: number[] = [];
  for (let i = 0; i < numbers.length; i++) if (numbers[i] % 2 === 1) points.push(i);
  return points;
}

const WORDS = /[\p{L}\p{M}\u00ad]+/gu;
const MARK = /\p{M}/u;
const DOT = 46;
