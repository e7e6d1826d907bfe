/**
 * Builds a blocklist from words that come one by one or as lines of bytes. It keeps 8 bytes per
 * word, and the word itself only if it has a character other than an ASCII letter or digit.
 * Building the static filter takes another 31 bytes per word for a moment. Two million lines,
 * gzipped, take 2.2 s of processor time, including the start of the command.
 *
 * The same set of words with the same options gives the same bytes, in any order and with any
 * repetitions.
 */

import { eachLine, type HashScheme, hashKeys, type KeyHashes, type SecretKey, StaticFilter } from 'bloomery';
import { mostUnmangledUpTo } from './manglings.ts';
import { mostNeighboursUpTo } from './neighbours.ts';
import { normalizePassword, WILDCARD } from './normalize-password.ts';
import { PasswordBlocklist } from './password-blocklist.ts';

export interface BlocklistOptions {
  /**
   * The share of passwords of up to `typicalLength` characters that may be refused by mistake.
   * Default 1e-4, which is 1 in 10,000.
   */
  readonly refusalRate?: number;
  /** The length up to which the rate is kept, in characters. Default 12. */
  readonly typicalLength?: number;
  /** Words of fewer characters refuse only themselves, not their neighbours. Default 4. */
  readonly nearMinimum?: number;
  /** Words of more characters are left out and counted; at most 255. Default 72. */
  readonly longest?: number;
  /** Whether upper and lower case differ. Default false. */
  readonly caseSensitive?: boolean;
  /** Whether words with digits, marks or look-alikes are refused (manglings.ts). Default true. */
  readonly manglings?: boolean;
  /** The secret key of the filter. A keyed blocklist cannot be asked without it. */
  readonly key?: SecretKey;
}

/** Numbers of words that were not added. */
export interface SkippedWords {
  readonly empty: number;
  readonly tooLong: number;
}

export class BlocklistBuilder {
  readonly #options: Required<Omit<BlocklistOptions, 'key'>>;
  readonly #keyed: { readonly key?: SecretKey };
  readonly #hashes = new HashColumn();
  /** Words with characters that may be too rare for the alphabet. */
  readonly #unusual = new Set<string>();
  readonly #used = new Uint8Array(128);
  #pending: string[] = [];
  #shortest = Number.POSITIVE_INFINITY;
  #longest = 0;
  #empty = 0;
  #tooLong = 0;
  #latin1 = 0;

  constructor(options: BlocklistOptions = {}) {
    this.#options = checked(options);
    this.#keyed = options.key === undefined ? {} : { key: options.key };
    hashKeys([], this.#keyed); // refuses an invalid key before any work
  }

  add(word: string): void {
    if (typeof word !== 'string')
      throw new TypeError(`Cannot add the word: expected a string, got ${typeof word}`);
    const text = normalizePassword(word, this.#options);
    const length = codePoints(text);
    if (length === 0) this.#empty++;
    else if (length > this.#options.longest) this.#tooLong++;
    else {
      this.#shortest = Math.min(this.#shortest, length);
      this.#longest = Math.max(this.#longest, length);
      if (this.#note(text)) this.#unusual.add(text);
      if (this.#pending.push(text) === BATCH) this.#flush();
    }
  }

  /**
   * Adds one word per line, as UTF-8. A CR before the newline and a byte order mark before the
   * first word are dropped. Lines that are not UTF-8 are read as Latin-1.
   */
  addLines(lines: Uint8Array): void {
    const text = UTF8.decode(lines);
    if (!text.includes(REPLACEMENT)) {
      for (const line of splitLines(text)) this.add(line);
      return;
    }
    for (const line of eachLine(lines)) this.addBytes(line);
  }

  /** Adds one word, as UTF-8 or otherwise Latin-1. */
  addBytes(word: Uint8Array): void {
    const bytes = word[word.length - 1] === 13 ? word.subarray(0, -1) : word;
    const text = utf8OrNull(bytes);
    if (text === null) this.#latin1++;
    // Only as many bytes as are needed to see that it is too long.
    this.add(text ?? String.fromCharCode(...bytes.subarray(0, this.#options.longest + 1)));
  }

  get skipped(): SkippedWords {
    return { empty: this.#empty, tooLong: this.#tooLong };
  }

  /** Number of lines that were not UTF-8 and were read as Latin-1. */
  get latin1(): number {
    return this.#latin1;
  }

  /** Builds the blocklist. The builder cannot be used afterwards. */
  build(): PasswordBlocklist {
    this.#flush();
    const { refusalRate, typicalLength, nearMinimum, caseSensitive, manglings } = this.#options;
    const words = this.#hashes.unique();
    const lengths = {
      shortest: words === 0 ? 0 : this.#shortest,
      longest: this.#longest,
    };
    const near = { shortest: Math.max(nearMinimum, lengths.shortest), longest: lengths.longest };
    const rateFor = (alphabet: readonly string[]) => {
      const texts = manglings ? mostUnmangledUpTo(typicalLength, near) : 0;
      const lookups = 1 + mostNeighboursUpTo(typicalLength, { alphabet, ...near }) + texts;
      return refusalRate / lookups;
    };
    const { alphabet, rare } = this.#chooseAlphabet(words, rateFor);
    const wildcards = rare.size > 0;
    this.#addWildcards(rare, nearMinimum);
    this.#hashes.unique();
    const rate = rateFor(wildcards ? [...alphabet, WILDCARD] : alphabet);
    const fingerprintBits = Math.max(1, Math.ceil(-Math.log2(rate)));
    if (fingerprintBits > MOST_BITS) {
      throw new RangeError(
        `Cannot build the blocklist: expected refusalRate to be at least ${(refusalRate * (2 ** -MOST_BITS / rate)).toPrecision(2)} for this list and ` +
          `typicalLength ${typicalLength}, got ${refusalRate}`,
      );
    }
    const { scheme } = hashKeys([], this.#keyed);
    const filter = StaticFilter.from(this.#hashes.batch(scheme), { fingerprintBits, ...this.#keyed });
    return new PasswordBlocklist(
      {
        words,
        ...lengths,
        nearMinimum,
        typicalLength,
        refusalRate,
        caseSensitive,
        wildcards,
        manglings,
        alphabet,
      },
      filter,
    );
  }

  /**
   * Chooses the characters to enumerate: all letters and digits that occur, and as many of the
   * other characters, the most frequent first, as make the filter smallest. The rest get wildcards.
   */
  #chooseAlphabet(words: number, rateFor: (alphabet: readonly string[]) => number) {
    const plain = Array.from(this.#used, (used, code) => (used ? String.fromCharCode(code) : '')).filter(
      Boolean,
    );
    const counts = new Map<string, number>();
    for (const word of this.#unusual) {
      for (const character of word) {
        if (!PLAIN.test(character)) counts.set(character, (counts.get(character) ?? 0) + 1);
      }
    }
    const others = [...counts].sort(([a, x], [b, y]) => y - x || compare(a, b));
    let keys = words + others.reduce((sum, [, count]) => sum + count, 0);
    let best = { bits: Number.POSITIVE_INFINITY, taken: 0 };
    const tried = [...plain];
    for (let taken = 0; taken <= others.length && tried.length <= MOST_CHARACTERS; taken++) {
      const alphabet = taken < others.length ? [...tried, WILDCARD] : tried;
      const bits = keys * -Math.log2(rateFor(alphabet));
      if (bits < best.bits) best = { bits, taken };
      if (taken === others.length) break;
      tried.push(others[taken][0]);
      keys -= others[taken][1];
    }
    const chosen = others.slice(0, best.taken).map(([character]) => character);
    const rare = new Set(others.slice(best.taken).map(([character]) => character));
    return { alphabet: [...plain, ...chosen].sort(compare), rare };
  }

  #addWildcards(rare: ReadonlySet<string>, nearMinimum: number): void {
    if (rare.size === 0) return;
    for (const word of this.#unusual) {
      const characters = [...word];
      if (characters.length < nearMinimum) continue;
      for (const [i, character] of characters.entries()) {
        if (!rare.has(character)) continue;
        this.#pending.push(characters.with(i, WILDCARD).join(''));
        if (this.#pending.length >= BATCH) this.#flush();
      }
    }
    this.#flush();
  }

  /** Records the letters and digits of a word. Returns whether there are other characters. */
  #note(text: string): boolean {
    let unusual = false;
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (isPlain(code)) this.#used[code] = 1;
      else unusual = true;
    }
    return unusual;
  }

  #flush(): void {
    this.#hashes.push(hashKeys(this.#pending, this.#keyed).words);
    this.#pending = [];
  }
}

/** 64-bit hashes in one array that grows. */
class HashColumn {
  #words = new BigUint64Array(1024);
  #length = 0;

  push(hashes: Int32Array): void {
    const added = hashes.length / 2;
    if (this.#length + added > this.#words.length) {
      const larger = new BigUint64Array(Math.max(2 * this.#words.length, this.#length + added));
      larger.set(this.#words.subarray(0, this.#length));
      this.#words = larger;
    }
    new Int32Array(this.#words.buffer).set(hashes, 2 * this.#length);
    this.#length += added;
  }

  /** Sorts the hashes and removes duplicates. Returns how many are left. */
  unique(): number {
    const words = this.#words.subarray(0, this.#length).sort();
    let kept = 0;
    for (let i = 0; i < words.length; i++) {
      if (i === 0 || words[i] !== words[i - 1]) words[kept++] = words[i];
    }
    this.#length = kept;
    return kept;
  }

  batch(scheme: HashScheme): KeyHashes {
    const words = new Int32Array(this.#words.buffer, 0, 2 * this.#length);
    return { scheme, words, length: this.#length };
  }
}

function checked(options: BlocklistOptions): Required<Omit<BlocklistOptions, 'key'>> {
  for (const name of Object.keys(options)) {
    if (!OPTIONS.includes(name)) {
      throw new TypeError(
        `Cannot build the blocklist: expected the options ${OPTIONS.join(', ')}, got '${name}'`,
      );
    }
  }
  const {
    refusalRate = 1e-4,
    typicalLength = 12,
    nearMinimum = 4,
    longest = 72,
    caseSensitive = false,
    manglings = true,
  } = options;
  if (!(refusalRate > 0 && refusalRate < 1)) {
    throw new RangeError(
      `Cannot build the blocklist: expected refusalRate to be between 0 and 1, got ${refusalRate}`,
    );
  }
  for (const [name, value] of Object.entries({ typicalLength, nearMinimum, longest })) {
    if (!(Number.isInteger(value) && value >= 1 && value <= 255)) {
      throw new RangeError(
        `Cannot build the blocklist: expected a whole number from 1 to 255 as ${name}, got ${value}`,
      );
    }
  }
  return { refusalRate, typicalLength, nearMinimum, longest, caseSensitive, manglings };
}

function* splitLines(text: string): Generator<string> {
  for (let at = 0; at < text.length; ) {
    const newline = text.indexOf('\n', at);
    const end = newline < 0 ? text.length : newline;
    yield text.slice(at, end > at && text[end - 1] === '\r' ? end - 1 : end);
    at = end + 1;
  }
}

function utf8OrNull(bytes: Uint8Array): string | null {
  try {
    return STRICT_UTF8.decode(bytes);
  } catch {
    return null;
  }
}

function codePoints(text: string): number {
  let count = text.length;
  for (let i = 0; i + 1 < text.length; i++) {
    if ((text.charCodeAt(i) & 0xfc00) === 0xd800 && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00) count--;
  }
  return count;
}

function isPlain(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 48 && code <= 57) || (code >= 65 && code <= 90);
}

/** Compares by code points. */
function compare(a: string, b: string): number {
  return (a.codePointAt(0) ?? 0) - (b.codePointAt(0) ?? 0);
}

const PLAIN = /^[A-Za-z0-9]$/;
const BATCH = 4096;
/** More characters would make lookups slow: 3200 of them for 12 characters. */
const MOST_CHARACTERS = 128;
/** The most bits of a fingerprint in a static filter. */
const MOST_BITS = 32;
const OPTIONS = [
  'refusalRate',
  'typicalLength',
  'nearMinimum',
  'longest',
  'caseSensitive',
  'manglings',
  'key',
];
const REPLACEMENT = '\ufffd';
const UTF8 = new TextDecoder('utf-8', { ignoreBOM: false });
const STRICT_UTF8 = new TextDecoder('utf-8', { fatal: true });
