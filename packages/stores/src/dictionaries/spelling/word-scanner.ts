/**
 * Finds the words of a text, with their lines and columns (from 1, counted in code points).
 *
 * A word is a run of letters, marks and digits with at least one letter (`3rd`, `x86`), with
 * apostrophes (' or ’) and soft hyphens inside, and hyphens between. Numbers are not words. URLs,
 * e-mail addresses and file paths are skipped, as in hunspell.
 *
 * A scanner takes a line at a time, so a file of any size can be scanned. Every step is linear in
 * the line.
 */

export interface TextWord {
  readonly word: string;
  readonly line: number;
  readonly column: number;
  /** Whether a full stop follows. */
  readonly dotted: boolean;
}

export interface WordScannerOptions {
  /** Characters besides letters that can be part of words, as listed in WORDCHARS. */
  readonly wordCharacters?: string;
}

/** Yields the words of a whole text. */
export function* wordsOf(text: string, options: WordScannerOptions = {}): Generator<TextWord> {
  const scanner = new WordScanner(options);
  for (const line of text.split('\n')) yield* scanner.scan(line);
}

export class WordScanner {
  #line = 0;
  readonly #pattern: RegExp;

  constructor({ wordCharacters = '0123456789' }: WordScannerOptions = {}) {
    const others = [...wordCharacters].filter(
      (letter) => !/[\p{L}\p{M}\p{N}'’.-]/u.test(letter) && letter.trim() !== '',
    );
    const more = others.map((letter) => `\\u{${letter.codePointAt(0)!.toString(16)}}`).join('');
    const letters = `[\\p{L}\\p{M}\\p{N}${more}]`;
    this.#pattern = new RegExp(`${letters}+(?:['’\\u{ad}-]${letters}+)*`, 'gu');
  }

  /** Yields the words of the next line. */
  *scan(line: string): Generator<TextWord> {
    this.#line++;
    const masked = maskAddresses(line);
    const plain = isAscii(line);
    let column = 1;
    let counted = 0;
    for (const match of masked.matchAll(this.#pattern)) {
      const word = match[0];
      if (!LETTER.test(word)) continue;
      column += plain ? match.index - counted : codePoints(line, counted, match.index);
      counted = match.index;
      const end = match.index + word.length;
      yield { word, line: this.#line, column, dotted: masked[end] === '.' };
    }
  }
}

/** Replaces addresses by spaces. The length stays the same. */
function maskAddresses(line: string): string {
  if (!/@|:\/\/|www\.|\//i.test(line)) return line;
  return line.replace(/\S+/g, (run) => maskMail(maskUrl(maskPaths(run))));
}

/** Masks a URL, from the scheme or from www. to the end of the run. */
function maskUrl(run: string): string {
  let start = run.indexOf('://');
  const slashes = start;
  while (start > 0 && /[a-z0-9+.-]/i.test(run[start - 1])) start--;
  if (slashes < 0 || start === slashes) start = /(?<![\p{L}\p{N}])www\./iu.exec(run)?.index ?? -1;
  return start < 0 ? run : run.slice(0, start) + ' '.repeat(run.length - start);
}

/** Masks the characters on both sides of an @ that can be part of an address. */
function maskMail(run: string): string {
  const parts: string[] = [];
  let copied = 0;
  for (let at = run.indexOf('@'), done = 0; at >= 0; at = run.indexOf('@', done)) {
    let [start, end] = [at, at + 1];
    while (start > done && MAIL.test(run[start - 1])) start--;
    while (end < run.length && MAIL.test(run[end])) end++;
    if (start < at && end > at + 1) {
      parts.push(run.slice(copied, start), ' '.repeat(end - start));
      copied = end;
    }
    done = end;
  }
  return parts.join('') + run.slice(copied);
}

/** Masks a run that begins like a path (/usr/…, ~/…, ./…); `and/or` is not a path. */
function maskPaths(run: string): string {
  return /^["'(<[`]*(?:~|\.{1,2})?\/[^/\s]+\//.test(run) ? ' '.repeat(run.length) : run;
}

function isAscii(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the range of ASCII
  return /^[\u0000-\u007f]*$/.test(text);
}

function codePoints(text: string, from: number, to: number): number {
  let count = 0;
  for (let i = from; i < to; i++) {
    const unit = text.charCodeAt(i);
    // The second half of a surrogate pair is not counted.
    if (unit < 0xdc00 || unit > 0xdfff) count++;
  }
  return count;
}

const LETTER = /\p{L}/u;
const MAIL = /[\p{L}\p{N}._%+-]/u;
