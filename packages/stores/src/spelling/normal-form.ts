/**
 * How words are written in the filter: composed (NFC), with the straight apostrophe, without the characters that the
 * dictionary ignores, and after its conversions (ICONV: at each place the longest that fits, in one pass, so that no list of them
 * can make a long word of a short one).
 */

import type { SpellerTraits } from './speller-traits.ts';

export class NormalForm {
  readonly #byFirst = new Map<string, (readonly [string, string])[]>();
  readonly #ignored: ReadonlySet<string>;

  constructor({ conversions, ignored }: Pick<SpellerTraits, 'conversions' | 'ignored'>) {
    this.#ignored = new Set(ignored);
    for (const pair of [...conversions].sort((a, b) => b[0].length - a[0].length)) {
      const list = this.#byFirst.get(pair[0][0]) ?? [];
      list.push(pair);
      this.#byFirst.set(pair[0][0], list);
    }
  }

  of(word: string): string {
    // Most words of most texts; dictionaries that convert ASCII are rare.
    if (ASCII.test(word) && !this.#touches(word)) return word;
    const text = word.normalize('NFC');
    let form = '';
    for (let at = 0; at < text.length; ) {
      const pair = this.#byFirst.get(text[at])?.find(([from]) => text.startsWith(from, at));
      if (pair !== undefined) form += pair[1];
      else if (!this.#ignored.has(text[at])) form += text[at];
      at += pair === undefined ? 1 : pair[0].length;
    }
    return form.replaceAll('’', "'");
  }

  #touches(word: string): boolean {
    if (this.#byFirst.size + this.#ignored.size === 0) return false;
    for (const letter of word) if (this.#byFirst.has(letter) || this.#ignored.has(letter)) return true;
    return false;
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the range of ASCII
const ASCII = /^[\u0000-\u007f]*$/;
