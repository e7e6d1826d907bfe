/**
 * Reads pattern files: TeX's (`\patterns{…}` and `\hyphenation{…}`, such as hyphen.tex and the
 * files of hyph-utf8) and those of libhyphen (hyph_en_US.dic and its like, used by LibreOffice and
 * Firefox).
 *
 * A libhyphen file begins with the name of its encoding; then come lines of LEFTHYPHENMIN,
 * RIGHTHYPHENMIN, NOHYPHEN, and one pattern per line. % and # begin comments. Two features are
 * refused, because partial support would give wrong breaks: patterns that change the spelling
 * (`f1f/ff=f`, for languages that write Schiffahrt as Schiff-fahrt), and NEXTLEVEL, which breaks
 * compounds first. The minimums for compounds (COMPOUNDLEFTHYPHENMIN, …) mean nothing without
 * levels and are ignored. libhyphen has one more built-in level, which splits words at hyphens and
 * apostrophes. Here the code that splits a text into words does that.
 *
 * In TeX files, macros outside the two lists are skipped, and macros inside them are refused.
 * `^^e9` is understood. TeX keeps the minimums in macros elsewhere, so they are 2 and 3 unless the
 * caller changes them.
 */

import { splitPattern } from './hyphenator.ts';

export interface PatternFile {
  readonly format: 'tex' | 'libhyphen';
  readonly patterns: readonly string[];
  readonly leftMinimum: number;
  readonly rightMinimum: number;
  readonly noHyphen: readonly string[];
  /** `\hyphenation{…}`: words with their breaks. */
  readonly exceptions: ReadonlyMap<string, readonly number[]>;
}

/** An error in a pattern file or a list of hyphenated words. The message names the line. */
export class PatternError extends Error {
  override readonly name = 'PatternError';
}

/** Reads a file of either format, which it detects from the contents. */
export function parsePatternFile(bytes: Uint8Array): PatternFile {
  const ascii = LATIN1.decode(bytes);
  if (/\\(patterns|hyphenation)\s*\{/.test(ascii)) return parseTex(decode(bytes, 'utf-8'));
  const first = ascii
    .slice(0, 200)
    .split(/\r?\n/, 1)[0]
    .replace(/^\u00ef\u00bb\u00bf/, '')
    .trim();
  const encoding = encodingOf(first);
  if (encoding === undefined) {
    throw new PatternError(
      'expected TeX \\patterns{…}, or a libhyphen file that begins with its encoding (UTF-8, ISO8859-1, …)',
    );
  }
  return parseLibhyphen(decode(bytes, encoding));
}

/**
 * Words with their breaks marked by a hyphen, a soft hyphen, a middle dot or a hyphenation point:
 * one or several per line, or in TeX's `\hyphenation{…}`. Words are converted to lower case. If a
 * word comes twice, the last one counts.
 */
export function parseTruth(text: string): Map<string, number[]> {
  const words = new Map<string, number[]>();
  const lists = /\\hyphenation\s*\{/.test(text) ? texLists(text, 'hyphenation') : [[text, 1] as const];
  for (const [list, firstLine] of lists) {
    for (const [i, line] of list.split('\n').entries()) {
      for (const entry of line.replace(/%.*/, '').split(/\s+/)) {
        if (entry !== '') addTruth(entry, firstLine + i, words);
      }
    }
  }
  return words;
}

function addTruth(entry: string, line: number, words: Map<string, number[]>): void {
  if (/[\\{}\d]/.test(entry)) {
    throw new PatternError(`line ${line}: ${JSON.stringify(entry.slice(0, 40))} is no hyphenated word`);
  }
  const points: number[] = [];
  let word = '';
  let letters = 0;
  for (const character of entry) {
    if (BREAKS.includes(character)) {
      if (letters > 0 && points.at(-1) !== letters) points.push(letters);
    } else {
      const lower = character.toLowerCase();
      word += lower.length === character.length ? lower : character;
      letters++;
    }
  }
  if (points.at(-1) === letters) points.pop();
  if (letters > 0) words.set(word, points);
}

function parseTex(text: string): PatternFile {
  const patterns: string[] = [];
  for (const [list, firstLine] of texLists(text, 'patterns')) {
    for (const [i, line] of list.split('\n').entries()) {
      for (const pattern of line.split(/\s+/))
        if (pattern !== '') patterns.push(checkPattern(pattern, firstLine + i));
    }
  }
  const exceptions = /\\hyphenation\s*\{/.test(text) ? parseTruth(text) : new Map<string, number[]>();
  return { format: 'tex', patterns, leftMinimum: 2, rightMinimum: 3, noHyphen: [], exceptions };
}

/** The contents of each `\name{…}` without comments, and the line in which it begins. */
function texLists(text: string, name: string): (readonly [content: string, line: number])[] {
  const plain = text
    .replace(/(^|[^\\])%[^\n]*/g, '$1')
    .replace(/\^\^([0-9a-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  const lists: (readonly [string, number])[] = [];
  const begin = new RegExp(`\\\\${name}\\s*\\{`, 'g');
  let line = 1;
  let counted = 0;
  for (let match = begin.exec(plain); match !== null; match = begin.exec(plain)) {
    const end = plain.indexOf('}', begin.lastIndex);
    line += plain.slice(counted, begin.lastIndex).split('\n').length - 1;
    counted = begin.lastIndex;
    if (end < 0) throw new PatternError(`line ${line}: \\${name}{ has no closing brace`);
    lists.push([plain.slice(begin.lastIndex, end), line]);
  }
  return lists;
}

function parseLibhyphen(text: string): PatternFile {
  const patterns: string[] = [];
  let noHyphen: string[] = [];
  let leftMinimum = 2;
  let rightMinimum = 2;
  for (const [i, raw] of text.split('\n').entries()) {
    const line = raw.trim();
    if (i === 0 || line === '' || line.startsWith('%') || line.startsWith('#')) continue;
    const [keyword, value = ''] = line.split(/\s+/);
    if (keyword === 'LEFTHYPHENMIN') leftMinimum = minimum(value, i + 1);
    else if (keyword === 'RIGHTHYPHENMIN') rightMinimum = minimum(value, i + 1);
    else if (keyword === 'NOHYPHEN') noHyphen = value.split(',').filter((part) => part !== '');
    else if (keyword === 'NEXTLEVEL') {
      throw new PatternError(`line ${i + 1}: NEXTLEVEL (patterns for compounds) is not supported`);
    } else if (!/^COMPOUND(LEFT|RIGHT)HYPHENMIN$/.test(keyword)) patterns.push(checkPattern(keyword, i + 1));
  }
  return { format: 'libhyphen', patterns, leftMinimum, rightMinimum, noHyphen, exceptions: new Map() };
}

function minimum(text: string, line: number): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 0 && value <= 255) return Math.max(1, value);
  throw new PatternError(`line ${line}: expected a number of letters, got ${JSON.stringify(text)}`);
}

function checkPattern(pattern: string, line: number): string {
  const shown = JSON.stringify(pattern.slice(0, 40));
  if (pattern.includes('/')) {
    throw new PatternError(
      `line ${line}: ${shown} changes the spelling at the break, which is not supported`,
    );
  }
  if (/[\\{}=,]/.test(pattern) || /\d\d/.test(pattern))
    throw new PatternError(`line ${line}: ${shown} is no pattern`);
  const { codes } = splitPattern(pattern);
  if (codes.slice(1, -1).includes(DOT) || codes.every((code) => code === DOT)) {
    throw new PatternError(`line ${line}: ${shown} is no pattern: a dot stands at an end, beside letters`);
  }
  return pattern;
}

function decode(bytes: Uint8Array, encoding: string): string {
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch (error) {
    if (error instanceof RangeError) throw new PatternError(`the encoding ${encoding} is not known here`);
    throw new PatternError(`the bytes are no ${encoding.toUpperCase()}`);
  }
}

/** Maps libhyphen's name of an encoding to its name in the Encoding Standard. */
function encodingOf(name: string): string | undefined {
  const iso = /^ISO-?8859-(\d+)$/i.exec(name);
  if (iso !== null) return `iso-8859-${iso[1]}`;
  const windows = /^microsoft-cp(\d+)$/i.exec(name);
  if (windows !== null) return `windows-${windows[1]}`;
  return /^(UTF-8|KOI8-[RU]|TIS-?620(-2533)?)$/i.test(name)
    ? name.toLowerCase().replace('-2533', '')
    : undefined;
}

const DOT = 46;
const BREAKS = ['-', '\u00ad', '\u00b7', '\u2027', '\u2010'];
const LATIN1 = new TextDecoder('latin1');
