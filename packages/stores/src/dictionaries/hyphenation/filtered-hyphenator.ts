/**
 * The application in Bloom's paper (B. H. Bloom, Space/time trade-offs in hash coding with
 * allowable errors, CACM 1970). A program that hyphenates has simple rules, which are right for
 * most words, and a dictionary on disk for the others. Without help it must look up every word,
 * because it cannot know which ones the rules get wrong. A filter of the exceptions in memory
 * solves this. It answers "certainly not" for nearly all words that the rules get right, and these
 * need no lookup. It answers "maybe" for all exceptions and, wrongly, for a few other words, whose
 * lookups find nothing (false drops, as they were called).
 *
 * The output is the same with and without the filter. It has no false negatives, so no exception is
 * missed. After a false drop the rules are used.
 *
 * With n words asked, of which e are exceptions, at the filter's rate f: e + f(n - e) lookups are
 * expected and (1 - f)(n - e) saved. Bloom's example has one exception in ten words, so at best
 * nine of ten lookups can be saved.
 */

import type { BloomFilter } from 'bloomery';
import type { ExceptionDictionary } from './exception-dictionary.ts';
import { type Hyphenator, insertMarks, lowerCase } from './hyphenator.ts';

export interface HyphenationCounts {
  /** Words that are long enough for a break. Shorter words need neither rules nor lookup. */
  readonly words: number;
  readonly shortWords: number;
  /** Words that were looked up in the dictionary. */
  readonly lookups: number;
  /** Lookups that found the word. */
  readonly found: number;
  /** Lookups that did not find the word: the filter's false positives. */
  readonly falseDrops: number;
  /** Lookups that the filter saved. */
  readonly saved: number;
  /** Pages that the lookups read. */
  readonly reads: number;
}

export interface HyphenatedWord {
  readonly points: readonly number[];
  readonly source: 'short' | 'rules' | 'dictionary';
}

export interface FilteredHyphenatorParts {
  readonly rules: Hyphenator;
  /** Filter of the words in the dictionary, in lower case. */
  readonly filter: BloomFilter;
  readonly dictionary: ExceptionDictionary;
  /**
   * Number of words that the dictionary was made from. `exceptions` is the number of words in it.
   */
  readonly truthWords: number;
  readonly exceptions: number;
}

export class FilteredHyphenator implements FilteredHyphenatorParts {
  readonly rules: Hyphenator;
  readonly filter: BloomFilter;
  readonly dictionary: ExceptionDictionary;
  readonly truthWords: number;
  readonly exceptions: number;
  /** If false, every word is looked up, as if there were no filter. */
  usesFilter = true;
  #words = 0;
  #shortWords = 0;
  #lookups = 0;
  #found = 0;

  constructor({ rules, filter, dictionary, truthWords, exceptions }: FilteredHyphenatorParts) {
    this.rules = rules;
    this.filter = filter;
    this.dictionary = dictionary;
    this.truthWords = truthWords;
    this.exceptions = exceptions;
  }

  /** Returns where a word may be broken, and whether the rules or the dictionary decided it. */
  ask(word: string): HyphenatedWord {
    if (this.rules.isShort(word)) {
      this.#shortWords++;
      return SHORT;
    }
    this.#words++;
    const key = lowerCase(word);
    if (!this.usesFilter || this.filter.has(key)) {
      this.#lookups++;
      const points = this.dictionary.lookup(key);
      if (points !== undefined) {
        this.#found++;
        return { points, source: 'dictionary' };
      }
    }
    return { points: this.rules.points(word), source: 'rules' };
  }

  /** The word with `mark` at each break. */
  hyphenate(word: string, mark = '\u00ad'): string {
    return insertMarks(word, this.ask(word).points, mark);
  }

  get counts(): HyphenationCounts {
    const [words, lookups, found] = [this.#words, this.#lookups, this.#found];
    return {
      words,
      shortWords: this.#shortWords,
      lookups,
      found,
      falseDrops: lookups - found,
      saved: words - lookups,
      reads: this.dictionary.reads,
    };
  }

  /**
   * The rate of false drops among words that are no exceptions, estimated from the filter's bits.
   */
  estimatedFalseDropRate(): number {
    return this.usesFilter ? this.filter.estimatedFalsePositiveRate() : 1;
  }
}

const SHORT: HyphenatedWord = { points: [], source: 'short' };
