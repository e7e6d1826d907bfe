/**
 * A query as the user writes it, and what it asks of a document.
 *
 *     bloom filters            documents with either word; those with both rank higher
 *     +bloom filters           "bloom" must be there
 *     "counting filter"        these words in a row must be there
 *     name:report type:md      a word of the path, and the ending of the file
 *
 * Several `type:` are alternatives; everything else that must be there is a conjunction. Words that
 * must be there rank as well. A query of types alone ranks by them.
 */

import { SearchError } from '../../directory/search-error.ts';
import { compareText } from '../decisions/score.ts';
import { textTerms } from './text-terms.ts';

export interface Query {
  /** The distinct keys that rank, sorted. */
  readonly keys: readonly string[];
  /** Those of them that a document must have, by their places in `keys`. */
  readonly required: readonly number[];
  /** Keys at fixed distances from each other. */
  readonly phrases: readonly Phrase[];
  /** Endings of which a document must have one; none if any will do. */
  readonly types: readonly string[];
}

export type Phrase = readonly PhraseWord[];

interface PhraseWord {
  /** Place of the key in `keys`. */
  readonly key: number;
  /** Words between the beginning of the phrase and this one. */
  readonly offset: number;
}

/** Limits that owners check as well: a longer question is refused. */
export const MOST_KEYS = 256;
export const MOST_TYPES = 16;
export const MOST_PHRASE = 32;

interface PhraseTerm {
  readonly term: string;
  readonly offset: number;
}

/** Reads a query. Throws a `SearchError` of code `query` if there is nothing to search for. */
export function parseQuery(text: string): Query {
  const ranking = new Set<string>();
  const required = new Set<string>();
  const phrases: PhraseTerm[][] = [];
  const types = new Set<string>();
  for (const { sign, field, quoted, word } of [...text.matchAll(PARTS)].map(partOf)) {
    if (field === 'type') {
      types.add(word.replace(/^\./, '').toLowerCase());
      continue;
    }
    const terms = [...textTerms(word)].map((term) => ({
      ...term,
      term: field === 'name' ? `name:${term.term}` : term.term,
    }));
    // The whole of an identifier ranks beside its parts, but is no word of a phrase.
    const words = terms.filter(({ isWhole }) => !isWhole);
    for (const { term, isWhole } of terms) if (!(isWhole && field === 'name')) ranking.add(term);
    if (!quoted && field === '' && sign === '') continue;
    for (const { term } of words) required.add(term);
    if (words.length > 1)
      phrases.push(words.map(({ term, position }) => ({ term, offset: position - words[0].position })));
  }
  if (ranking.size === 0) for (const type of types) ranking.add(`type:${type}`);
  if (ranking.size === 0)
    throw new SearchError('query', 'Cannot search: expected a word that is indexed, got none');
  const keys = [...ranking].sort(compareText);
  checkSizes(keys, phrases, types);
  const place = new Map(keys.map((key, i) => [key, i]));
  return {
    keys,
    required: [...required].map((key) => place.get(key)!).sort((a, b) => a - b),
    phrases: phrases.map((phrase) => phrase.map(({ term, offset }) => ({ key: place.get(term)!, offset }))),
    types: [...types].sort(compareText),
  };
}

interface Part {
  readonly sign: string;
  readonly field: string;
  readonly quoted: boolean;
  readonly word: string;
}

function partOf({ groups = {} }: RegExpExecArray): Part {
  const { sign = '', field = '', phrase, word = '' } = groups;
  return { sign, field: field.slice(0, -1), quoted: phrase !== undefined, word: phrase ?? word };
}

function checkSizes(keys: readonly string[], phrases: readonly PhraseTerm[][], types: Set<string>): void {
  const check = (what: string, size: number, most: number) => {
    if (size > most)
      throw new SearchError('query', `Cannot search: expected at most ${most} ${what}, got ${size}`);
  };
  check('words', keys.length, MOST_KEYS);
  check('types', types.size, MOST_TYPES);
  check('phrases', phrases.length, MOST_TYPES);
  for (const phrase of phrases) check('words in a phrase', phrase.length, MOST_PHRASE);
}

const PARTS = /(?<sign>\+?)(?<field>name:|type:|)(?:"(?<phrase>[^"]*)"?|(?<word>[^\s"]+))/gu;
