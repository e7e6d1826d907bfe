/**
 * All words that are one edit away from a password, as the keys to ask for. One character is
 * deleted, or replaced by each character of the alphabet, or each of these is inserted at each
 * place. The wildcard counts as a character of the alphabet if words were entered with it. Deleting
 * either of two equal neighbours gives the same word, and so does inserting a character before or
 * after an equal one. Each word is generated only once, so that the number of lookups, and with it
 * the rate of wrong refusals, is the smallest possible.
 *
 * The words are written as packed UTF-8, which the filter takes as it is, to avoid creating
 * hundreds of strings and encoding them again. They come in batches of at most 64 kB. A usual
 * password needs one batch. But an untrusted file may have an alphabet of 1024 characters and words
 * of 255, whose neighbours together take half a gigabyte.
 */

import type { PackedKeys } from 'bloomery';

export interface NeighbourLimits {
  /** Characters that can occur in a word. */
  readonly alphabet: readonly string[];
  /** Shortest length to ask for, in characters; `longest` is the upper limit. */
  readonly shortest: number;
  readonly longest: number;
}

/**
 * Yields all different neighbours within these lengths, but never the password itself, which is
 * given by its code points.
 */
export function* neighboursOf(characters: readonly string[], limits: NeighbourLimits): Generator<PackedKeys> {
  const { alphabet, shortest, longest } = limits;
  const { length } = characters;
  const text = ENCODER.encode(characters.join(''));
  const codes = alphabet.map((character) => ENCODER.encode(character));
  const keys = new KeyWriter(mostNeighbours(length, limits), text);
  const asks = (size: number) => size >= shortest && size <= longest;
  for (let i = 0, start = 0; i < length; i++) {
    const own = characters[i];
    const end = start + ENCODER.encode(own).length;
    if (asks(length - 1) && own !== characters[i - 1]) {
      if (keys.isFull) yield keys.take();
      keys.write(start, NOTHING, end);
    }
    if (asks(length)) {
      for (const [c, code] of codes.entries()) {
        if (alphabet[c] === own) continue;
        if (keys.isFull) yield keys.take();
        keys.write(start, code, end);
      }
    }
    start = end;
  }
  if (asks(length + 1)) {
    for (let i = 0, start = 0; i <= length; i++) {
      const before = characters[i - 1];
      for (const [c, code] of codes.entries()) {
        if (alphabet[c] === before) continue;
        if (keys.isFull) yield keys.take();
        keys.write(start, code, start);
      }
      if (i < length) start += ENCODER.encode(characters[i]).length;
    }
  }
  yield keys.take();
}

/**
 * The most neighbours that a password of `length` characters can have. A password reaches it if no
 * two equal characters are in a row and none is in the alphabet.
 */
export function mostNeighbours(length: number, { alphabet, shortest, longest }: NeighbourLimits): number {
  const asks = (size: number) => (size >= shortest && size <= longest ? 1 : 0);
  const { length: letters } = alphabet;
  return (
    asks(length - 1) * length + asks(length) * length * letters + asks(length + 1) * (length + 1) * letters
  );
}

/**
 * The most neighbours of a password of up to `length` characters. Passwords longer than the longest
 * word have fewer.
 */
export function mostNeighboursUpTo(length: number, limits: NeighbourLimits): number {
  let most = 0;
  for (let size = 0; size <= length; size++) most = Math.max(most, mostNeighbours(size, limits));
  return most;
}

/** Writes keys one after the other, each a copy of a text with a part of it replaced. */
class KeyWriter {
  readonly #text: Uint8Array;
  readonly #bytes: Uint8Array;
  readonly #offsets: Uint32Array;
  readonly #room: number;
  #count = 0;
  #used = 0;

  /** Allocates room for `most` keys, or for as many as fit in a batch. */
  constructor(most: number, text: Uint8Array) {
    const longest = text.length + LONGEST_CODE;
    this.#text = text;
    this.#room = Math.min(most, Math.max(1, Math.floor(BATCH_BYTES / longest)));
    this.#bytes = new Uint8Array(this.#room * longest);
    this.#offsets = new Uint32Array(this.#room + 1);
  }

  get isFull(): boolean {
    return this.#count === this.#room;
  }

  /**
   * Writes the text with its bytes from `start` to `end` replaced. It uses loops, because the
   * pieces are too short for `set` to be faster.
   */
  write(start: number, piece: Uint8Array, end: number): void {
    const [text, bytes] = [this.#text, this.#bytes];
    let used = this.#used;
    for (let i = 0; i < start; i++) bytes[used++] = text[i];
    for (let i = 0; i < piece.length; i++) bytes[used++] = piece[i];
    for (let i = end; i < text.length; i++) bytes[used++] = text[i];
    this.#offsets[++this.#count] = used;
    this.#used = used;
  }

  /** Returns the keys so far, in memory that is overwritten afterwards. */
  take(): PackedKeys {
    const keys = {
      bytes: this.#bytes.subarray(0, this.#used),
      offsets: this.#offsets.subarray(0, this.#count + 1),
    };
    this.#count = 0;
    this.#used = 0;
    return keys;
  }
}

const ENCODER = new TextEncoder();
const NOTHING = new Uint8Array(0);
const BATCH_BYTES = 2 ** 16;
/** The most bytes of a code point in UTF-8. */
const LONGEST_CODE = 4;
