/**
 * How common words are, in classes: class c stands for about 2^(c - 1) occurrences per million
 * words, from 1 to 15; words that were not counted have class 0. Suggestions need no more: a class
 * is worth 1/20 of an edit (suggestions.ts), so that only large differences matter.
 *
 * English has a table of its own (english-frequency.ts). For another language, count a text.
 */

import { wordsOf } from '../word-scanner.ts';
import { ENGLISH_WORDS } from './english-frequency.ts';

/** Classes by word in small letters. */
export type WordFrequencies = ReadonlyMap<string, number>;

/** The highest class. */
const MOST_FREQUENT = 15;

/** The class of a number of occurrences in a text of `total` words. */
export function frequencyClass(count: number, total: number): number {
  const perMillion = (1e6 * count) / total;
  return Math.max(1, Math.min(MOST_FREQUENT, Math.round(Math.log2(perMillion) + 1)));
}

/** Counts the words of texts, one line at a time. */
export class FrequencyCounter {
  readonly #counts = new Map<string, number>();
  #total = 0;

  add(text: string): void {
    for (const { word } of wordsOf(text)) {
      const small = word.toLowerCase().replaceAll('’', "'");
      this.#counts.set(small, (this.#counts.get(small) ?? 0) + 1);
      this.#total++;
    }
  }

  classes(): WordFrequencies {
    return new Map([...this.#counts].map(([word, count]) => [word, frequencyClass(count, this.#total)]));
  }
}

/** The classes of the 5,000 most common English words. */
export function englishFrequencies(): WordFrequencies {
  const classes = new Map<string, number>();
  for (const line of ENGLISH_WORDS.trim().split('\n')) {
    const [frequency, ...words] = line.split(',');
    for (const word of words) classes.set(word, Number(frequency));
  }
  return classes;
}
