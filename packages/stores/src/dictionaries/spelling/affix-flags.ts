/**
 * Flags name affix classes and properties of words. FLAG says how they are written: one byte each
 * (`char`; hunspell counts bytes there, in UTF-8 as well), one character each (`UTF-8`), two bytes
 * each (`long`), or numbers with commas between (`num`).
 */

import { bytesOf } from './text-encoding.ts';

export type FlagFormat = 'char' | 'UTF-8' | 'long' | 'num';

/** Reads the flags in a text. A single character left over from a pair is a flag by itself. */
export function readAffixFlags(text: string, format: FlagFormat, utf8: boolean): readonly string[] {
  if (format === 'num')
    return text
      .split(',')
      .filter((flag) => flag !== '')
      .map(withoutZeros);
  const letters = utf8 && format !== 'UTF-8' ? bytesOf(text) : [...text];
  if (format !== 'long') return letters;
  const flags: string[] = [];
  for (let i = 0; i < letters.length; i += 2) flags.push(letters[i] + (letters[i + 1] ?? ''));
  return flags;
}

/** `012` and `12` are the same number. */
function withoutZeros(flag: string): string {
  return flag.replace(/^0+(?=\d)/, '');
}
