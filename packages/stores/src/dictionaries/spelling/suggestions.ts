/**
 * Suggestions for a misspelling: the words of the dictionary's exact list that are near
 * (nearby-words.ts), the results of the dictionary's own list of typical mistakes (REP), and splits
 * into two words. Every suggestion is a word of the dictionary, or two.
 *
 * The order is the cost of the mistakes minus the frequency of the word. Doubling the frequency
 * outweighs half a unit of cost, where a typical edit costs 7 to 10. A frequency that counted more
 * would push common words in front of near ones.
 *
 * We refused the former way, which asked the filter about every string at one edit. At a rate of
 * 1/32 almost half of its suggestions were not words, and 100,000 strings at two edits would find
 * false positives even at 0.1 %.
 */

import { nearbyWords } from './listing/nearby-words.ts';
import type { ListedWord, WordTrie } from './listing/word-trie.ts';
import type { Speller } from './speller.ts';
import { capitalised, capitals, smallLetters, type WordCase, wordCase } from './word-case.ts';

export function suggestWords(speller: Speller, written: string, limit: number): string[] {
  const trie = speller.parts.list?.trie;
  if (trie === undefined || limit < 1) return [];
  const { language, possessives } = speller.traits;
  const ending = possessives && written.length > 3 && /'s$/i.test(written) ? written.slice(-2) : '';
  const word = written.slice(0, written.length - ending.length);
  if (word.length < 2 || word.length > MOST_TYPED) return [];
  const kind = wordCase(word);
  const small = smallLetters(word, language);
  const scores = new Map<string, number>();
  const offer = (text: string, score: number): void => {
    const dressed = dress(text, kind, language) + ending;
    if (dressed !== written && !((scores.get(dressed) ?? Number.POSITIVE_INFINITY) <= score))
      scores.set(dressed, score);
  };
  for (const near of nearWords(trie, small, speller)) {
    if (ending !== '' && !near.possessive) continue;
    const name = kind === 'small' && wordCase(near.word) !== 'small';
    offer(near.word, near.cost - FREQUENCY * near.frequency + (name ? NAME : 0));
  }
  if (ending === '') for (const [text, score] of phrases(small, trie, speller)) offer(text, score);
  if (possessives && small.endsWith('s')) {
    const owner = trie.find(small.slice(0, -1));
    if (owner?.possessive) offer(`${owner.word}'s`, APOSTROPHE - FREQUENCY * owner.frequency);
  }
  const ranked = [...scores].sort((a, b) => a[1] - b[1] || (a[0] < b[0] ? -1 : 1));
  // Made-up names (camelCase) are rarely typos, so only close words are kept.
  const most = Math.min((ranked[0]?.[1] ?? 0) + SPREAD, kind === 'mixed' ? MOST_MIXED : Number.MAX_VALUE);
  const kept: string[] = [];
  for (const [text, score] of ranked) {
    if (score > most || kept.length === limit) break;
    // A word may be right only as it is written in the dictionary: kHz, not KHZ.
    if (text.split(' ').every((part) => speller.check(part))) kept.push(text);
  }
  return kept;
}

/**
 * Yields the words near a misspelling, and the words from which one typical mistake leads to it.
 */
function* nearWords(
  trie: WordTrie,
  small: string,
  { traits: { language, replacements } }: Speller,
): Generator<ListedWord & { readonly cost: number }> {
  yield* nearbyWords(trie, small, (letter) => smallLetters(letter, language));
  for (const [from, to] of replacements) {
    if (from === '' || to.includes('_')) continue;
    for (let at = small.indexOf(from); at >= 0; at = small.indexOf(from, at + 1)) {
      const found = trie.find(small.slice(0, at) + to + small.slice(at + from.length));
      if (found !== undefined) yield { ...found, cost: TYPICAL };
    }
  }
}

/** Yields splits into two words, and replacements of the dictionary that contain a space. */
function* phrases(small: string, trie: WordTrie, { traits }: Speller): Generator<[string, number]> {
  for (const [from, to] of traits.replacements) {
    if (!to.includes('_') || small !== from) continue;
    yield [to.replaceAll('_', ' '), TYPICAL - NAME];
  }
  for (let at = 2; at <= small.length - 2; at++) {
    const [first, second] = [trie.find(small.slice(0, at)), trie.find(small.slice(at))];
    if (first === undefined || second === undefined) continue;
    const frequency = Math.min(first.frequency, second.frequency);
    yield [`${first.word} ${second.word}`, SPLIT - FREQUENCY * frequency];
  }
}

/** Puts a suggestion into the case of the written word. */
function dress(text: string, kind: WordCase, language: string): string {
  if (kind === 'capitals') return capitals(text, language);
  return kind === 'initial' ? capitalised(text, language) : text;
}

/** The longest misspelling that is searched for, in UTF-16 code units. */
const MOST_TYPED = 64;
// Costs, in the units of nearby-words.ts.
/** Gain for each class of frequency, a factor of two. */
const FREQUENCY = 0.5;
/** A name, if what was written has no capital. */
const NAME = 3;
/** A mistake that the dictionary lists as typical. */
const TYPICAL = 8;
/** A missing apostrophe: whats. */
const APOSTROPHE = 4;
/** A missing space. */
const SPLIT = 14;
/** Suggestions that cost more than the best one by this are left out. */
const SPREAD = 14;
const MOST_MIXED = 8;
