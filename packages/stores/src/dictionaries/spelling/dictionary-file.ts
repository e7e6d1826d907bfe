/**
 * The dictionary file: a speller as bytes, version 1. Integers are little-endian.
 *
 *     offset  bytes  field
 *     0       4      magic: 42 53 50 4C ('BSPL')
 *     4       1      version: 1
 *     5       1      switches: 1 possessives, 2 words that keep their case, 4 words of mixed case,
 *                    8 words with a full stop, 16 ordinals, 32 hyphens join words, 64 SS may be ß,
 *                    128 the dictionary makes compounds
 *     6       2      length of the texts
 *     8       4      length of the frame of the words
 *     12      4      length of the frame of the letter groups
 *     16      4      length of the frame of the common groups
 *     20      4      length of the frame of the words that are not proposed
 *     24      4      number of forms
 *     28      …      texts: seven in UTF-8, U+001E between them: language, alphabet, characters of
 *                    words, ignored characters, conversions, replacements, endings; the last three
 *                    are lists of pairs, U+001F after each part: at most 4096, 4096 and 64 of them,
 *                    each part of at most 256 UTF-16 code units
 *     …       …      the four frames (docs/spec/frame.md): a StaticFilter or a BloomFilter, and three
 *                    StaticFilters
 *     end-4   4      checksum: the lower 32 bits of Forge64 of all bytes before it
 *
 * The input is untrusted. Lengths are compared with the number of bytes before anything is
 * allocated, the checksum is compared before anything is read, the texts have limits, and the
 * frames check themselves. Errors are a `SpellingError` with the offset. The checksum detects
 * accidents, not forgery: a user who can write the file decides what is a word.
 */

import { BloomFilter, FrameError, StaticFilter } from 'bloomery';
import {
  CHECKSUM,
  checkEnvelope,
  checkLength,
  checkSum,
  readFrameHead,
  VERSION,
  wholeSum,
} from 'bloomery/frames';
import { CommonGroups, LetterGroups } from './letter-groups.ts';
import { Speller } from './speller.ts';
import type { Pair, SpellerTraits } from './speller-traits.ts';
import { SpellingError } from './spelling-error.ts';

export interface DecodeSpellerOptions {
  /** The most bytes of a file; default 2^28. */
  readonly maxBytes?: number;
}

export function encodeSpeller({
  parts: { words, groups, common, unsuggested, traits },
}: Speller): Uint8Array<ArrayBuffer> {
  checkPairs(traits);
  const texts = new TextEncoder().encode(textsOf(traits));
  if (texts.length > MOST_TEXT) {
    throw new SpellingError(
      'limit',
      `the texts of the dictionary take ${texts.length} bytes; expected at most ${MOST_TEXT}`,
    );
  }
  const frames = [words.encode(), groups.filter.encode(), common.filter.encode(), unsuggested.encode()];
  const bytes = new Uint8Array(
    HEAD + texts.length + frames.reduce((sum, frame) => sum + frame.length, 0) + CHECKSUM,
  );
  const view = new DataView(bytes.buffer);
  bytes.set([...MAGIC, VERSION, switchesOf(traits)]);
  view.setUint16(6, texts.length, true);
  for (const [i, frame] of frames.entries()) view.setUint32(8 + 4 * i, frame.length, true);
  view.setUint32(24, traits.forms, true);
  let at = HEAD;
  for (const part of [texts, ...frames]) {
    bytes.set(part, at);
    at += part.length;
  }
  view.setUint32(at, wholeSum(bytes.subarray(0, at)), true);
  return bytes;
}

export function decodeSpeller(
  bytes: Uint8Array,
  { maxBytes = DEFAULT_MAX_BYTES }: DecodeSpellerOptions = {},
): Speller {
  checked(() => checkEnvelope(MAGIC, bytes, HEAD));
  if (bytes.length > maxBytes) fail('limit', 0, `at most ${maxBytes} bytes`, bytes.length);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const lengths = [view.getUint16(6, true), ...[8, 12, 16, 20].map((at) => view.getUint32(at, true))];
  const end = HEAD + lengths.reduce((sum, length) => sum + length, 0);
  checked(() => {
    checkLength(bytes.length, end + CHECKSUM);
    checkSum(view.getUint32(end, true), wholeSum(bytes.subarray(0, end)), end);
  });
  const starts = lengths.map((_, i) => HEAD + lengths.slice(0, i).reduce((sum, length) => sum + length, 0));
  const part = (i: number) => bytes.subarray(starts[i], starts[i] + lengths[i]);
  const traits = traitsOf(part(0), view.getUint8(5), view.getUint32(24, true));
  try {
    const bloom = readFrameHead(part(1)).structure === 'BloomFilter';
    const words = bloom ? BloomFilter.decode(part(1)) : StaticFilter.decode(part(1));
    const groups = new LetterGroups(StaticFilter.decode(part(2)));
    const common = new CommonGroups(StaticFilter.decode(part(3)));
    return new Speller({ words, groups, common, unsuggested: StaticFilter.decode(part(4)), traits });
  } catch (error) {
    if (!(error instanceof FrameError)) throw error;
    throw new SpellingError('content', `Cannot read dictionary: ${error.message}`, starts[1], {
      cause: error,
    });
  }
}

/** Runs a check of the envelope, and turns its errors into a `SpellingError`. */
function checked(check: () => void): void {
  try {
    check();
  } catch (error) {
    if (!(error instanceof FrameError)) throw error;
    const code = error.code === 'not-a-frame' ? 'not-a-dictionary' : error.code;
    const message = `Cannot read dictionary: ${error.reason} (at byte ${error.offset})`;
    throw new SpellingError(code as SpellingError['code'], message, error.offset, { cause: error });
  }
}

/** Refuses to write pairs that could not be read again. */
function checkPairs({ conversions, replacements, endings }: SpellerTraits): void {
  for (const [what, pairs, most] of [
    ['conversions', conversions, MOST_PAIRS],
    ['replacements', replacements, MOST_PAIRS],
    ['endings', endings, MOST_ENDINGS],
  ] as const) {
    if (pairs.length > most)
      throw new SpellingError(
        'limit',
        `the dictionary has ${pairs.length} ${what}; expected at most ${most}`,
      );
    if (!pairs.every(isShortPair))
      throw new SpellingError('limit', `the dictionary has ${what} of more than ${MOST_PART} letters`);
  }
}

/**
 * Whether both parts are short enough for the file. A conversion of one letter to a very long text
 * would blow up every word.
 */
export function isShortPair([from, to]: Pair): boolean {
  return from.length <= MOST_PART && to.length <= MOST_PART;
}

function textsOf(traits: SpellerTraits): string {
  const list = (pairs: readonly Pair[]) =>
    pairs.map((pair) => pair.map((text) => `${text}\u001f`).join('')).join('');
  const { language, alphabet, wordCharacters, ignored, conversions, replacements, endings } = traits;
  const single = [language, alphabet, wordCharacters, ignored];
  for (const text of [...single, ...[...conversions, ...replacements, ...endings].flat()]) {
    if (text.includes('\u001e') || text.includes('\u001f'))
      throw new SpellingError('content', `${JSON.stringify(text)} has a separator in it`);
  }
  return [...single, list(conversions), list(replacements), list(endings)].join('\u001e');
}

function traitsOf(bytes: Uint8Array, switches: number, forms: number): SpellerTraits {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return fail('content', HEAD, 'texts in UTF-8', 'other bytes');
  }
  const fields = text.split('\u001e');
  if (fields.length !== 7) fail('content', HEAD, '7 texts', fields.length);
  const [language, alphabet, wordCharacters, ignored] = fields;
  if ([...alphabet].length > MOST_LETTERS)
    fail('content', HEAD, `at most ${MOST_LETTERS} letters`, [...alphabet].length);
  const on = (bit: number) => (switches & bit) !== 0;
  return {
    language,
    forms,
    alphabet,
    wordCharacters,
    ignored,
    conversions: pairsOf(fields[4], MOST_PAIRS, 'conversions', true),
    replacements: pairsOf(fields[5], MOST_PAIRS, 'replacements', true),
    endings: pairsOf(fields[6], MOST_ENDINGS, 'endings', false),
    possessives: on(1),
    keepCase: on(2),
    upperOnly: on(4),
    dotted: on(8),
    ordinals: on(16),
    hyphens: on(32),
    sharpS: on(64),
    compounds: on(128),
  };
}

function switchesOf(traits: SpellerTraits): number {
  const { possessives, keepCase, upperOnly, dotted, ordinals, hyphens, sharpS, compounds } = traits;
  return [possessives, keepCase, upperOnly, dotted, ordinals, hyphens, sharpS, compounds].reduce(
    (sum, on, i) => sum + (on ? 2 ** i : 0),
    0,
  );
}

function pairsOf(text: string, most: number, what: string, solid: boolean): Pair[] {
  const parts = text.split('\u001f');
  if (parts.pop() !== '' || parts.length % 2 !== 0)
    fail('content', HEAD, `pairs of ${what}`, `${parts.length} parts`);
  if (parts.length / 2 > most) fail('content', HEAD, `at most ${most} ${what}`, parts.length / 2);
  const pairs: Pair[] = [];
  for (let i = 0; i < parts.length; i += 2) {
    if (solid && parts[i] === '') fail('content', HEAD, `${what} of something`, 'one of nothing');
    const pair: Pair = [parts[i], parts[i + 1]];
    if (!isShortPair(pair)) fail('content', HEAD, `${what} of at most ${MOST_PART} letters`, 'longer ones');
    pairs.push(pair);
  }
  return pairs;
}

function fail(code: SpellingError['code'], at: number, expected: string, got: unknown): never {
  throw new SpellingError(
    code,
    `Cannot read dictionary: expected ${expected}, got ${got} (at byte ${at})`,
    at,
  );
}

/** 'BSPL' */
const MAGIC = [0x42, 0x53, 0x50, 0x4c];
const HEAD = 28;
const DEFAULT_MAX_BYTES = 2 ** 28;
const MOST_TEXT = 0xffff;
const MOST_LETTERS = 128;
export const MOST_PAIRS = 4096;
const MOST_ENDINGS = 64;
const MOST_PART = 256;
