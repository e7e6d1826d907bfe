/**
 * Passwords that must not be chosen: refuses every word of a list and everything one edit away from one, and needs the
 * list no more. Spafford's OPUS (1992; survey 3.1) keeps a dictionary of bad passwords as a Bloom filter; Manber and Wu
 * (1994) refuse what is within edit distance 1 of it as well, by asking for changed words instead of searching the list.
 *
 * The scheme. A password is within distance 1 of a word if deleting, replacing or inserting one character makes it that
 * word. Two ways to find out by exact lookups are known:
 *
 * - Extended words (Manber, Wu): the set holds, for each word, the word and the word with each character replaced by a
 *   wildcard. A password of length L takes 3L + 2 lookups, whatever the alphabet; a word of length l takes l + 1 keys.
 * - Enumeration: the set holds the words only, and a password is asked for with each character of the alphabet at each
 *   place: 1 + L + (2L + 1)a lookups for an alphabet of a characters, one key a word.
 *
 * Lookups are cheap (below a microsecond; a password is hashed for a tenth of a second anyway) and a filter pays for them
 * by their logarithm, but for keys in full. For 339,000 English words, passwords of 12 characters and 1 wrong refusal
 * in 10,000: 10.5 keys of 19 bits a word against one key of 23. So this enumerates, over the characters that
 * occur in the list; and for those that occur so rarely that each would cost more lookups than it saves keys (a 'ß'
 * in a list of English words; the thousands of signs of a Chinese one), the word is entered with a wildcard in that place
 * as well. Both pure schemes are ends of this one; the builder finds the best point between them.
 *
 * What it promises. No false acceptance: every word of the list of up to `longest` characters, and every password one
 * edit from one of at least `nearMinimum`, is refused. Words shorter than that (4) refuse only themselves: else
 * three-letter words would refuse all short passwords. A password that is not near the list is refused
 * with probability 1 - (1 - f)^lookups, where f = 2^-fingerprintBits: at most `refusalRate` up to `typicalLength`
 * characters, proportionally more for longer ones. Characters are code points after `normalizePassword`; swapped neighbours are
 * two edits and are not looked for.
 *
 * What it costs. A static filter, which is the right one because nobody adds to a list at run time: 25.1 bits a word
 * for those English words, 1.07 MB, alphabet and all. `refuses` takes 0.12 ms of processor time for 12 characters over
 * an alphabet of 27 (713 lookups). A password more than one longer than the longest word takes no lookup at all.
 *
 * What it tells others. The file is not the list, but whoever has it can ask it: any candidate can be tested against it
 * offline, at any speed, and a list of guessable words can be recovered by guessing. That is no loss for a public list,
 * whose filter can be published without the list. A list that is itself a secret (names of projects, passwords that
 * leaked from one's own users) needs a `key`: then the file alone answers nothing, and file and key together answer
 * everything. Never build one from passwords that are in use. Nothing here logs a password or puts one into an error.
 */

import { type SecretKey, StaticFilter } from 'bloomery';
import { BlocklistBuilder, type BlocklistOptions } from './blocklist-builder.ts';
import { type BlocklistParameters, decodeBlocklist, encodeBlocklist } from './blocklist-bytes.ts';
import { mostNeighbours, mostNeighboursUpTo, neighboursOf } from './neighbours.ts';
import { normalizePassword, WILDCARD } from './normalize-password.ts';

/** 'listed': it is a word of the list. 'near': one edit from one. Either may be a mistake, at the rate of the filter. */
export type RefusalReason = 'listed' | 'near' | 'empty';

/** The answer about one password. */
export type PasswordVerdict =
  | { readonly refused: false; readonly reason: null }
  | { readonly refused: true; readonly reason: RefusalReason };

/** @deprecated The name is now `PasswordVerdict`: `bloomery/wire` has a `Verdict` of another meaning. */
export type Verdict = PasswordVerdict;

export class PasswordBlocklist {
  readonly parameters: BlocklistParameters;
  readonly filter: StaticFilter;
  readonly #alphabet: readonly string[];

  /** @internal Made by `from`, a `BlocklistBuilder`, or `decode`. */
  constructor(parameters: BlocklistParameters, filter: StaticFilter) {
    this.parameters = parameters;
    this.filter = filter;
    this.#alphabet = parameters.wildcards ? [...parameters.alphabet, WILDCARD] : [...parameters.alphabet];
  }

  /** The blocklist of these words, in any order, any number of times each. A list in files: `BlocklistBuilder`. */
  static from(words: Iterable<string>, options: BlocklistOptions = {}): PasswordBlocklist {
    const builder = new BlocklistBuilder(options);
    for (const word of words) builder.add(word);
    return builder.build();
  }

  /** Whether a password must not be chosen, and why as far as the filter can know. */
  refuses(password: string): PasswordVerdict {
    if (typeof password !== 'string') throw new TypeError(`A password is a string, got ${typeof password}`);
    const text = normalizePassword(password, this.parameters);
    if (text === '') return { refused: true, reason: 'empty' };
    const { longest } = this.parameters;
    // A code point takes at most two code units: no need to count those of a novel.
    if (text.length > 2 * (longest + 1)) return ACCEPTED;
    if (this.filter.has(text)) return { refused: true, reason: 'listed' };
    for (const neighbours of neighboursOf([...text], this.#near())) {
      if (this.filter.hasMany(neighbours).includes(1)) return { refused: true, reason: 'near' };
    }
    return ACCEPTED;
  }

  /** The number of different words. */
  get words(): number {
    return this.parameters.words;
  }

  /**
   * How often a password of this length is looked up, at most: 1 + L + (2L + 1)a where words of all lengths exist.
   * Without a length, the most for passwords of up to `typicalLength`.
   */
  mostLookups(length?: number): number {
    const near = this.#near();
    if (length === undefined) return 1 + mostNeighboursUpTo(this.parameters.typicalLength, near);
    return 1 + mostNeighbours(length, near);
  }

  /** The rate at which passwords of this length are refused by mistake, at most; without one, up to `typicalLength`. */
  estimatedRefusalRate(length?: number): number {
    return -Math.expm1(this.mostLookups(length) * Math.log1p(-this.filter.falsePositiveRate));
  }

  /** Bytes to save or to publish; blocklist-bytes.ts specifies them. A secret key is not in them. */
  encode(): Uint8Array<ArrayBuffer> {
    return encodeBlocklist(this.parameters, this.filter.encode());
  }

  /** Reads what `encode` wrote. What is wrong with the bytes is a `FrameError`; a keyed blocklist needs its key. */
  static decode(bytes: Uint8Array, options: { readonly key?: SecretKey } = {}): PasswordBlocklist {
    const { parameters, frame } = decodeBlocklist(bytes);
    return new PasswordBlocklist(parameters, StaticFilter.decode(frame, options));
  }

  #near() {
    const { shortest, longest, nearMinimum } = this.parameters;
    return { alphabet: this.#alphabet, shortest: Math.max(shortest, nearMinimum), longest };
  }
}

const ACCEPTED: PasswordVerdict = { refused: false, reason: null };
