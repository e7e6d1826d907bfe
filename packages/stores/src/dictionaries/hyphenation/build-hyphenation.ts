/**
 * Finds the exceptions: the words for which the rules give other breaks than the truth. The truth
 * is a list of words with their breaks, or the result of a larger set of rules for a list of words.
 *
 * The second way repeats Bloom's experiment with files that are widely available. The rules are the
 * few patterns that decide most words (`strongestPatterns`), the truth is the result of all
 * patterns, and the dictionary holds the difference.
 */

import { BloomFilter } from 'bloomery';
import { type Hyphenator, lowerCase } from './hyphenator.ts';

export interface FindExceptionsRequest {
  readonly rules: Hyphenator;
  /** Words with their breaks. If a word comes twice, the last one counts. */
  readonly truth: Iterable<readonly [word: string, points: readonly number[]]>;
}

export interface FoundExceptions {
  readonly exceptions: Map<string, readonly number[]>;
  /** Number of different words in the truth that are long enough for a break. */
  readonly truthWords: number;
  /** Number of words of more than 255 bytes, which the dictionary cannot hold. */
  readonly tooLong: number;
}

/**
 * Finds the exceptions. Breaks that the minimums of the rules do not allow are ignored, as in TeX.
 */
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

/** Builds the filter of the words in a dictionary. */
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
 * The `count` patterns that decide the most words. A pattern decides a word if it has the winning
 * number at some place. The result is in the order of the full set; of equally strong patterns the
 * earlier ones are taken.
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
