/**
 * Refuses passwords that must not be chosen: every word of a list, everything one edit away from
 * one, and words with digits, marks or look-alikes (manglings.ts). It does not need the list
 * itself. Spafford's OPUS (1992; survey 3.1) keeps a dictionary of bad passwords as a Bloom
 * filter; Manber and Wu (1994) refuse what is within edit distance 1 of it as well, by asking for
 * changed words instead of searching the list.
 *
 * The scheme. A password is within distance 1 of a word if deleting, replacing or inserting one
 * character makes it that word. Two ways to find out by exact lookups are known:
 *
 * - Extended words (Manber, Wu): the set holds, for each word, the word and the word with each
 *   character replaced by a wildcard. A password of length L takes 3L + 2 lookups, for any
 *   alphabet; a word of length l takes l + 1 keys.
 * - Enumeration: the set holds the words only, and a password is asked for with each character of
 *   the alphabet at each place: 1 + L + (2L + 1)a lookups for an alphabet of a characters, one key
 *   per word.
 *
 * Lookups are cheap (below a microsecond; a password is hashed for a tenth of a second anyway) and
 * the size of a filter grows only with the logarithm of the lookups, but in proportion to the keys.
 * For 339,000 English words, passwords of 12 characters and 1 wrong refusal in 10,000, extended
 * words take 10.5 keys of 19 bits per word, enumeration one key of 23 bits. So this class
 * enumerates, over the characters that occur in the list. Some characters are so rare that each
 * would cost more lookups than it saves keys (a 'ß' in a list of English words; the thousands of
 * signs of a Chinese one). A word with such a character is also entered with a wildcard in that
 * place. Both pure schemes are extremes of this one; the builder finds the best point between them.
 *
 * What it promises. No false acceptance: every word of the list of up to `longest` characters, and
 * every password one edit from one of at least `nearMinimum`, is refused. Words shorter than that
 * (4) refuse only themselves: otherwise three-letter words would refuse all short passwords. A
 * password that is not near the list is refused with probability 1 - (1 - f)^lookups, where f =
 * 2^-fingerprintBits: at most `refusalRate` up to `typicalLength` characters, proportionally more
 * for longer ones. Characters are code points after `normalizePassword`; swapped neighbours are two
 * edits and are not looked for.
 *
 * What it costs. The filter is a static one, because no words are added at run time: 25.1 bits per
 * word for those English words, 1.07 MB including the alphabet. `refuses` takes 0.12 ms of
 * processor time for 12 characters over an alphabet of 27 (713 lookups). A password that is more
 * than one character longer than the longest word takes no lookup at all.
 *
 * What it reveals. The file is not the list, but an attacker who has the file can ask it: any
 * candidate can be tested offline, at any speed, and a list of guessable words can be recovered by
 * guessing. That is no loss for a public list, whose filter can be published without the list. A
 * list that is itself a secret (names of projects, leaked passwords of your own users) needs a
 * `key`. Then the file alone answers nothing; only file and key together do. Never build one from
 * passwords that are in use. Nothing here logs a password or puts one into an error.
 */

import { type SecretKey, StaticFilter } from 'bloomery';
import { atLeastOne } from 'bloomery/math';
import { BlocklistBuilder, type BlocklistOptions } from './blocklist-builder.ts';
import { type BlocklistParameters, decodeBlocklist, encodeBlocklist } from './blocklist-bytes.ts';
import { MOST_STRIPPED, mostUnmangled, mostUnmangledUpTo, unmangled } from './manglings.ts';
import { mostNeighbours, mostNeighboursUpTo, neighboursOf } from './neighbours.ts';
import { normalizePassword, WILDCARD } from './normalize-password.ts';

/**
 * The reason of a refusal. 'listed' means that it is a word of the list, 'near' that it is one edit
 * away from one, 'mangled' that it is one with digits, marks or look-alikes, or backwards. Each may
 * be a mistake, at the rate of the filter.
 */
export type RefusalReason = 'listed' | 'near' | 'mangled' | 'empty';

/** The answer about one password. */
export type PasswordVerdict =
  | { readonly refused: false; readonly reason: null }
  | { readonly refused: true; readonly reason: RefusalReason };

/**
 * @deprecated The name is now `PasswordVerdict`: `bloomery/wire` has a `Verdict` of another
 * meaning.
 */
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

  /**
   * Builds the blocklist of these words, in any order, with any repetitions. For a list in files,
   * use `BlocklistBuilder`.
   */
  static from(words: Iterable<string>, options: BlocklistOptions = {}): PasswordBlocklist {
    const builder = new BlocklistBuilder(options);
    for (const word of words) builder.add(word);
    return builder.build();
  }

  /**
   * Says whether a password must not be chosen, and the reason as far as the filter can know it.
   */
  refuses(password: string): PasswordVerdict {
    if (typeof password !== 'string')
      throw new TypeError(`Cannot check the password: expected a string, got ${typeof password}`);
    const text = normalizePassword(password, this.parameters);
    if (text === '') return { refused: true, reason: 'empty' };
    const { longest } = this.parameters;
    // A code point takes at most two code units, so very long text need not be counted.
    if (text.length > 2 * (longest + MOST_STRIPPED)) return ACCEPTED;
    if (this.filter.has(text)) return { refused: true, reason: 'listed' };
    for (const neighbours of neighboursOf([...text], this.#near())) {
      if (this.filter.hasMany(neighbours).includes(1)) return { refused: true, reason: 'near' };
    }
    if (this.parameters.manglings) {
      const texts = [...unmangled(text, this.#near())];
      if (this.filter.hasMany(texts).includes(1)) return { refused: true, reason: 'mangled' };
    }
    return ACCEPTED;
  }

  /** The number of different words. */
  get words(): number {
    return this.parameters.words;
  }

  /**
   * The most lookups for a password of this length: 1 + L + (2L + 1)a if there are words of all
   * lengths, and up to 167 for manglings. Without a length, the most for passwords of up to
   * `typicalLength`.
   */
  mostLookups(length?: number): number {
    const near = this.#near();
    const { typicalLength, manglings } = this.parameters;
    if (length === undefined)
      return (
        1 + mostNeighboursUpTo(typicalLength, near) + (manglings ? mostUnmangledUpTo(typicalLength, near) : 0)
      );
    return 1 + mostNeighbours(length, near) + (manglings ? mostUnmangled(length, near) : 0);
  }

  /**
   * Upper bound on the rate of mistaken refusals for passwords of this length. Without a length,
   * for passwords of up to `typicalLength`.
   */
  estimatedRefusalRate(length?: number): number {
    return atLeastOne(this.filter.falsePositiveRate, this.mostLookups(length));
  }

  /**
   * Returns the bytes to save or to publish; blocklist-bytes.ts specifies them. They do not contain
   * a secret key.
   */
  encode(): Uint8Array<ArrayBuffer> {
    return encodeBlocklist(this.parameters, this.filter.encode());
  }

  /**
   * Reads what `encode` wrote. An error in the bytes is a `FrameError`. A keyed blocklist needs its
   * key.
   */
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
