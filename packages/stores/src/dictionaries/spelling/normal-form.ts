/**
 * The form of words in the filter: composed (NFC), with the straight apostrophe, without soft
 * hyphens and without the characters that the dictionary ignores. A word that is asked for first
 * goes through the conversions of the dictionary (ICONV). The dictionary's own words do not,
 * because a dictionary may convert a to b and b to c, and have words with b.
 *
 * Conversions work as in hunspell. At each place the longest that matches is applied, in one pass,
 * so that no list of them can make an endless word. A conversion that begins or ends with `_`
 * applies only at that end of the word, and a `_` elsewhere is a space.
 */

import type { SpellerTraits } from './speller-traits.ts';

export class NormalForm {
  /** Conversions by their first code unit, the longest first. */
  readonly #byFirst = new Map<string, Conversion[]>();
  readonly #ignored: ReadonlySet<string>;

  constructor({ conversions, ignored }: Pick<SpellerTraits, 'conversions' | 'ignored'>) {
    this.#ignored = new Set(ignored);
    const byText = new Map<string, Conversion>();
    for (const [written, to] of conversions) {
      const [, start, text, end] = /^(_?)(.*?)(_?)$/su.exec(written) ?? [];
      const from = text.replaceAll('_', ' ');
      if (from === '') continue;
      const conversion = byText.get(from) ?? { from, to: [] };
      conversion.to[(start === '' ? 0 : AT_START) + (end === '' ? 0 : AT_END)] = to.replaceAll('_', ' ');
      byText.set(from, conversion);
    }
    for (const conversion of [...byText.values()].sort((a, b) => b.from.length - a.from.length)) {
      const list = this.#byFirst.get(conversion.from[0]) ?? [];
      list.push(conversion);
      this.#byFirst.set(conversion.from[0], list);
    }
  }

  /** The form of a word that is asked for. */
  of(word: string): string {
    // The fast path for most words, because dictionaries that convert ASCII are rare.
    if (ASCII.test(word) && !this.#touches(word)) return word;
    return this.ofEntry(this.#byFirst.size === 0 ? word : this.#convert(word.normalize('NFC')));
  }

  /** The form of a word of the dictionary. */
  ofEntry(word: string): string {
    if (ASCII.test(word) && !this.#touches(word)) return word;
    let form = '';
    for (const letter of word.normalize('NFC')) if (!this.#ignored.has(letter)) form += letter;
    return form.replaceAll('\u00ad', '').replaceAll('’', "'");
  }

  #convert(text: string): string {
    let converted = '';
    for (let at = 0; at < text.length; ) {
      const found = this.#byFirst.get(text[at])?.find(({ from }) => text.startsWith(from, at));
      const to = found && outcome(found, at === 0, at + found.from.length === text.length);
      converted += to ?? text[at];
      at += to === undefined ? 1 : found!.from.length;
    }
    return converted;
  }

  #touches(word: string): boolean {
    if (this.#byFirst.size + this.#ignored.size === 0) return false;
    for (const letter of word) if (this.#byFirst.has(letter) || this.#ignored.has(letter)) return true;
    return false;
  }
}

interface Conversion {
  readonly from: string;
  /**
   * The results anywhere, at the beginning, at the end, and for the whole word, each if it is
   * given.
   */
  readonly to: (string | undefined)[];
}

/** The result of a conversion here. The most specific one wins. */
function outcome({ to }: Conversion, start: boolean, end: boolean): string | undefined {
  if (start && end) return to[AT_START + AT_END] ?? to[AT_END] ?? to[AT_START] ?? to[0];
  return (start ? to[AT_START] : end ? to[AT_END] : undefined) ?? to[0];
}

const AT_START = 1;
const AT_END = 2;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the range of ASCII
const ASCII = /^[\u0000-\u007f]*$/;
