/**
 * Reads plain word lists in UTF-8, one word per line, such as those in /usr/share/dict. Lines are
 * used as they are, except for spaces around them.
 */

import { eachLine } from 'bloomery';
import type { DictionaryForm } from './hunspell-dictionary.ts';
import { SpellingError } from './spelling-error.ts';

/**
 * Yields the words of a list. A NUL or bytes that are not UTF-8 are errors, because a list of
 * nonsense would accept nonsense.
 */
export function* readWordList(bytes: Uint8Array, what = 'the word list'): Generator<DictionaryForm> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let line = 0;
  for (const bytesOfLine of eachLine(bytes)) {
    line++;
    const word = decodeLine(decoder, bytesOfLine, what, line);
    if (word !== '') yield { form: word, keepCase: false, noSuggest: false, derived: false };
  }
}

function decodeLine(
  decoder: InstanceType<typeof TextDecoder>,
  bytes: Uint8Array,
  what: string,
  line: number,
): string {
  if (bytes.length > MOST_BYTES) {
    throw new SpellingError(
      'words',
      `${what}, line ${line}: expected a word, got ${bytes.length} bytes`,
      line,
    );
  }
  if (bytes.includes(0))
    throw new SpellingError('words', `${what}, line ${line}: a NUL byte; this is no word list`, line);
  try {
    return decoder.decode(bytes).trim();
  } catch (error) {
    throw new SpellingError('encoding', `${what}, line ${line}: not UTF-8`, line, { cause: error });
  }
}

const MOST_BYTES = 4000;
