/**
 * Finds the exceptions: the words for which the rules say something else than the truth. The truth is a list of words with
 * their breaks, or what a larger set of rules says about a list of words.
 *
 * The second way repeats Bloom's experiment with files that everybody has. The rules are the few patterns that decide most
 * (`strongestPatterns`), the truth is what all patterns say, and the dictionary holds the difference.
 */

import { BloomFilter } from 'bloomery';
import { type Hyphenator, lowerCase } from './hyphenator.ts';

export interface FindExceptionsRequest {
  readonly rules: Hyphenator;
  /** Words with their breaks. Of a word that comes twice the last one counts. */
  readonly truth: Iterable<readonly [word: string, points: readonly number[]]>;
}

export interface FoundExceptions {
  readonly exceptions: Map<string, readonly number[]>;
  /** How many different words the truth had that could have a break. */
  readonly truthWords: number;
  /** Words of more than 255 bytes, for which the dictionary has no place. */
  readonly tooLong: number;
}

/** Breaks of the truth that the minimums of the rules do not allow do not count, as in TeX. */
export function findExceptions({ rules, truth }: FindExceptionsRequest): FoundExceptions {
  const words = new Map<string, readonly number[]>();
  const tooLong = new Set<string>();
  for (const [written, points] of truth) {
    const word = lowerCase(written);
    if (rules.isShort(word)) continue;
    if (3 * word.length > 255 && ENCODER.encode(word).length > 255) tooLong.add(word);
    else words.set(word, allowed(points, [...word].length, rules));
  }
  const exceptions = new Map<string, readonly number[]>();
  for (const [word, points] of words) {
    const ruled = rules.points(word);
    if (ruled.length !== points.length || ruled.some((point, i) => point !== points[i]))
      exceptions.set(word, points);
  }
  return { exceptions, truthWords: words.size, tooLong: tooLong.size };
}

/** The filter of the words in a dictionary. */
export function exceptionFilter(
  words: Iterable<string>,
  count: number,
  falsePositiveRate: number,
): BloomFilter {
  const filter = BloomFilter.forCapacity({ capacity: Math.max(1, count), falsePositiveRate });
  filter.addMany(words);
  return filter;
}

/**
 * The `count` patterns that decide most: those that have the winning number at a place of the most words. In the order of
 * the full set; of equals the earlier ones.
 */
export function strongestPatterns(all: Hyphenator, words: Iterable<string>, count: number): string[] {
  const decided = new Uint32Array(all.patterns.length);
  for (const word of words) {
    all.deciding(word, (pattern) => {
      decided[pattern]++;
    });
  }
  const order = Array.from(decided.keys()).sort((a, b) => decided[b] - decided[a] || a - b);
  return order
    .slice(0, count)
    .sort((a, b) => a - b)
    .map((i) => all.patterns[i]);
}

function allowed(
  points: readonly number[],
  letters: number,
  { leftMinimum, rightMinimum }: Hyphenator,
): number[] {
  return points.filter((point) => point >= leftMinimum && point <= letters - rightMinimum);
}

const ENCODER = new TextEncoder();
