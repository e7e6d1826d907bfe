/**
 * The words of a dictionary as bytes: a sorted list, front-coded, and written with learned
 * probabilities (adaptive-bits.ts). This is the exact part of a dictionary file. The filter next to
 * it answers whether a word is right; this list says which words there are, for suggestions.
 *
 *     0    4   number of words
 *     4    2   number of letters in the alphabet
 *     6    2a  the alphabet: rising UTF-16 code units
 *     …        the code, up to the end
 *
 * Each word is coded as the number of letters to drop from the word before it, the letters to add,
 * an end, how common the word is, and whether it has a possessive. A letter is predicted from the
 * two letters before it. The first added letter has contexts of its own, because it is larger than
 * the letter that it replaces.
 *
 * The list of en_US takes 205 kB. It takes 1,242 kB as text, 372 kB by gzip, and 228 kB front-coded
 * by gzip. A filter that is wrong once in a thousand takes 189 kB, so the exact list costs as much
 * again. It has to be unpacked before it can be asked, which takes 0.1 s of processor time. The
 * filter therefore still answers `check`, and the list is unpacked for the first suggestion.
 *
 * The input is untrusted. The words must rise, the number of nodes has a limit (word-trie.ts), and
 * a code that ends too early is refused.
 */

import { SpellingError } from '../spelling-error.ts';
import { AdaptiveBitReader, AdaptiveBitWriter } from './adaptive-bits.ts';
import { factsOf, MOST_LETTERS, TrieBuilder, type WordTrie } from './word-trie.ts';

/** A word list that is unpacked when its words are first needed. */
export class CodedWords {
  #bytes: Uint8Array | undefined;
  #trie: WordTrie | undefined;
  readonly #offset: number;

  /** Takes a list as words, or as bytes at an offset of a file. */
  constructor(words: WordTrie | Uint8Array, offset = 0) {
    if (words instanceof Uint8Array) this.#bytes = words;
    else this.#trie = words;
    this.#offset = offset;
  }

  get bytes(): Uint8Array {
    this.#bytes ??= encodeWords(this.trie);
    return this.#bytes;
  }

  get trie(): WordTrie {
    this.#trie ??= decodeWords(this.bytes, this.#offset);
    return this.#trie;
  }
}

export function encodeWords(trie: WordTrie): Uint8Array {
  const { alphabet } = trie;
  const layout = new ContextLayout(alphabet.length);
  const writer = new AdaptiveBitWriter(layout.count);
  let [length, first] = [0, true];
  const path: number[] = [];
  for (let node = 0; node < trie.letters.length; node++) {
    const depth = trie.depths[node] - 1;
    // The first letter behind a word: the number of letters that it drops comes before it.
    if (first) writer.writeNumber(length - depth, DROP_DIGITS, layout.drop(length));
    path.length = depth;
    const letter = trie.letters[node] + 1;
    writer.writeNumber(letter, layout.digits, layout.letter(path, first));
    path.push(letter);
    first = trie.marks[node] !== 0;
    if (!first) continue;
    writer.writeNumber(END, layout.digits, layout.letter(path, false));
    const { frequency, possessive } = factsOf(trie.marks[node]);
    writer.writeNumber(frequency, FREQUENCY_DIGITS, layout.frequency(path.length));
    writer.write(possessive ? 1 : 0, layout.possessive(letter));
    length = path.length;
  }
  const code = writer.finish();
  const head = HEAD + 2 * alphabet.length;
  const bytes = new Uint8Array(head + code.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, trie.size, true);
  view.setUint16(4, alphabet.length, true);
  for (let i = 0; i < alphabet.length; i++) view.setUint16(HEAD + 2 * i, alphabet.charCodeAt(i), true);
  bytes.set(code, head);
  return bytes;
}

/** Reads a word list. `offset` is its place in the file, for errors. */
export function decodeWords(bytes: Uint8Array, offset = 0): WordTrie {
  const wrong = (expected: string, got: unknown) =>
    new SpellingError(
      'content',
      `Cannot read word list: expected ${expected}, got ${got} (at byte ${offset})`,
      offset,
    );
  if (bytes.length < HEAD) throw wrong(`at least ${HEAD} bytes`, bytes.length);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const [size, letters] = [view.getUint32(0, true), view.getUint16(4, true)];
  const head = HEAD + 2 * letters;
  if (bytes.length < head) throw wrong(`at least ${head} bytes`, bytes.length);
  let alphabet = '';
  for (let i = 0, last = -1; i < letters; i++) {
    const code = view.getUint16(HEAD + 2 * i, true);
    if (code <= last) throw wrong('rising letters', code);
    alphabet += String.fromCharCode(code);
    last = code;
  }
  const layout = new ContextLayout(letters);
  const reader = new AdaptiveBitReader(bytes.subarray(head), layout.count);
  const builder = new TrieBuilder(alphabet);
  const path: number[] = [];
  for (let word = 0; word < size; word++) {
    const length = path.length;
    const shared = length - reader.readNumber(DROP_DIGITS, layout.drop(length));
    if (shared < 0) throw wrong('a word that shares letters with the one before', shared);
    const floor = shared < length ? path[shared] : END;
    path.length = shared;
    for (let first = true; ; first = false) {
      const letter = reader.readNumber(layout.digits, layout.letter(path, first));
      if (letter === END && !first) break;
      if (letter > letters || (first && letter <= floor)) throw wrong('rising words', `letter ${letter}`);
      if (path.length === MOST_LETTERS)
        throw wrong(`words of at most ${MOST_LETTERS} letters`, 'a longer one');
      builder.letter(path.length, letter - 1);
      path.push(letter);
    }
    const frequency = reader.readNumber(FREQUENCY_DIGITS, layout.frequency(path.length));
    builder.end(frequency, reader.read(layout.possessive(path[path.length - 1])) === 1);
    if (reader.overrun > SLACK) throw wrong(`${size} words`, `the end of the code after ${word}`);
  }
  return builder.build();
}

/** The places of the contexts of all decisions. */
class ContextLayout {
  /** Binary digits of a letter. */
  readonly digits: number;
  readonly #letters: number;
  /** Number of pairs of letters that are told apart. */
  readonly #pairs: number;

  constructor(letters: number) {
    this.#letters = letters + 1;
    this.digits = Math.max(1, Math.ceil(Math.log2(this.#letters)));
    this.#pairs = Math.min(this.#letters ** 2, Math.max(64, 2 ** (MOST_CONTEXTS - this.digits)));
  }

  get count(): number {
    return this.possessive(this.#letters);
  }

  drop(length: number): number {
    return length << DROP_DIGITS;
  }

  frequency(length: number): number {
    return DROPS + (Math.min(length, 15) << FREQUENCY_DIGITS);
  }

  letter(path: readonly number[], first: boolean): number {
    const { length } = path;
    const last = length > 0 ? path[length - 1] : 0;
    const before = length > 1 ? path[length - 2] : 0;
    const pair = (before * this.#letters + last) % this.#pairs;
    return DROPS + FREQUENCIES + ((pair + (first ? this.#pairs : 0)) << this.digits);
  }

  possessive(letter: number): number {
    return DROPS + FREQUENCIES + ((2 * this.#pairs) << this.digits) + letter;
  }
}

const HEAD = 6;
/** The letter that ends a word. */
const END = 0;
const DROP_DIGITS = 7;
const FREQUENCY_DIGITS = 4;
const DROPS = (MOST_LETTERS + 1) << DROP_DIGITS;
const FREQUENCIES = 16 << FREQUENCY_DIGITS;
/** Letters have at most 2^20 contexts, for any alphabet of up to 2^14 letters. */
const MOST_CONTEXTS = 20;
/** A reader is up to 4 bytes ahead of the code. */
const SLACK = 4;
