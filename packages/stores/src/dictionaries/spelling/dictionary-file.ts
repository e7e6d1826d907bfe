/**
 * The dictionary file: a speller as bytes, version 2. Integers are little-endian.
 *
 *     offset  bytes  field
 *     0       4      magic: 42 53 50 4C ('BSPL')
 *     4       1      version: 2
 *     5       1      switches: 1 possessives, 2 words that keep their case, 4 words of mixed case,
 *                    8 words with a full stop, 16 ordinals, 32 hyphens join words, 64 SS may be ß,
 *                    128 the dictionary makes compounds
 *     6       2      length of the texts
 *     8       4      length of the frame of the words
 *     12      4      length of the frame of the letter groups
 *     16      4      length of the word list
 *     20      4      0
 *     24      4      number of forms
 *     28      …      texts: five in UTF-8, U+001E between them: language, characters of words,
 *                    ignored characters, conversions, replacements; the last two are lists of pairs,
 *                    U+001F after each part: at most 4096 of each, each part of at most 256 UTF-16
 *                    code units
 *     …       …      the two frames (docs/spec/frame.md): a StaticFilter or a BloomFilter, and a
 *                    StaticFilter
 *     …       …      the word list (word-list-code.ts)
 *     end-4   4      checksum: the lower 32 bits of Forge64 of all bytes before it
 *
 * Version 1 is still read. It had no word list. Suggestions must be certainly words, so a file of
 * version 1 gives none. In the place of the list were filters of common letter groups and of words
 * that are not suggested (lengths at 16 and 20), and texts for the alphabet (after the language)
 * and for endings (at the end).
 *
 * The input is untrusted. Lengths are compared with the number of bytes before anything is
 * allocated, the checksum is compared before anything is read, the texts have limits, and the
 * frames check themselves. The word list is read and checked when a suggestion is first asked for.
 * Errors are a `SpellingError` with the offset. The checksum detects accidents, not forgery: a user
 * who can write the file decides what is a word.
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
import { LetterGroups } from './letter-groups.ts';
import { CodedWords } from './listing/word-list-code.ts';
import { Speller } from './speller.ts';
import type { Pair, SpellerTraits } from './speller-traits.ts';
import { SpellingError } from './spelling-error.ts';

export interface DecodeSpellerOptions {
  /** The most bytes of a file; default 2^28. */
  readonly maxBytes?: number;
}

export function encodeSpeller({ parts: { words, groups, list, traits } }: Speller): Uint8Array<ArrayBuffer> {
  checkPairs(traits);
  const texts = new TextEncoder().encode(textsOf(traits));
  if (texts.length > MOST_TEXT) {
    throw new SpellingError(
      'limit',
      `the texts of the dictionary take ${texts.length} bytes; expected at most ${MOST_TEXT}`,
    );
  }
  const frames = [words.encode(), groups.filter.encode(), list?.bytes ?? new Uint8Array(0)];
  const bytes = new Uint8Array(
    HEAD + texts.length + frames.reduce((sum, frame) => sum + frame.length, 0) + CHECKSUM,
  );
  const view = new DataView(bytes.buffer);
  bytes.set([...MAGIC, WITH_LIST, switchesOf(traits)]);
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
  const version = checked(() => versionOf(bytes));
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
  if (version === WITH_LIST && lengths[4] !== 0) fail('content', 20, '0', lengths[4]);
  const traits = traitsOf(part(0), view.getUint8(5), view.getUint32(24, true), version);
  try {
    const bloom = readFrameHead(part(1)).structure === 'BloomFilter';
    const words = bloom ? BloomFilter.decode(part(1)) : StaticFilter.decode(part(1));
    const groups = new LetterGroups(StaticFilter.decode(part(2)));
    const hasList = version === WITH_LIST && lengths[3] > 0;
    return new Speller({
      words,
      groups,
      traits,
      ...(hasList && { list: new CodedWords(part(3), starts[3]) }),
    });
  } catch (error) {
    if (!(error instanceof FrameError)) throw error;
    throw new SpellingError('content', `Cannot read dictionary: ${error.message}`, starts[1], {
      cause: error,
    });
  }
}

/** Checks the envelope and returns its version. */
function versionOf(bytes: Uint8Array): number {
  try {
    checkEnvelope(MAGIC, bytes, HEAD, VERSION);
    return VERSION;
  } catch (error) {
    if (!(error instanceof FrameError && error.code === 'version')) throw error;
    checkEnvelope(MAGIC, bytes, HEAD, WITH_LIST);
    return WITH_LIST;
  }
}

/** Runs a check of the envelope, and turns its errors into a `SpellingError`. */
function checked<T>(check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (!(error instanceof FrameError)) throw error;
    const code = error.code === 'not-a-frame' ? 'not-a-dictionary' : error.code;
    const message = `Cannot read dictionary: ${error.reason} (at byte ${error.offset})`;
    throw new SpellingError(code as SpellingError['code'], message, error.offset, { cause: error });
  }
}

/** Refuses to write pairs that could not be read again. */
function checkPairs({ conversions, replacements }: SpellerTraits): void {
  for (const [what, pairs] of Object.entries({ conversions, replacements })) {
    if (pairs.length > MOST_PAIRS)
      throw new SpellingError(
        'limit',
        `the dictionary has ${pairs.length} ${what}; expected at most ${MOST_PAIRS}`,
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
  const { language, wordCharacters, ignored, conversions, replacements } = traits;
  const single = [language, wordCharacters, ignored];
  for (const text of [...single, ...[...conversions, ...replacements].flat()]) {
    if (text.includes('\u001e') || text.includes('\u001f'))
      throw new SpellingError('content', `${JSON.stringify(text)} has a separator in it`);
  }
  return [...single, list(conversions), list(replacements)].join('\u001e');
}

function traitsOf(bytes: Uint8Array, switches: number, forms: number, version: number): SpellerTraits {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return fail('content', HEAD, 'texts in UTF-8', 'other bytes');
  }
  const fields = text.split('\u001e');
  const count = version === WITH_LIST ? 5 : 7;
  if (fields.length !== count) fail('content', HEAD, `${count} texts`, fields.length);
  // The alphabet and the endings of version 1 served suggestions only.
  if (version !== WITH_LIST) fields.splice(1, 1);
  const [language, wordCharacters, ignored, conversions, replacements] = fields;
  const on = (bit: number) => (switches & bit) !== 0;
  return {
    language,
    forms,
    wordCharacters,
    ignored,
    conversions: pairsOf(conversions, 'conversions'),
    replacements: pairsOf(replacements, 'replacements'),
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

function pairsOf(text: string, what: string): Pair[] {
  const parts = text.split('\u001f');
  if (parts.pop() !== '' || parts.length % 2 !== 0)
    fail('content', HEAD, `pairs of ${what}`, `${parts.length} parts`);
  if (parts.length / 2 > MOST_PAIRS) fail('content', HEAD, `at most ${MOST_PAIRS} ${what}`, parts.length / 2);
  const pairs: Pair[] = [];
  for (let i = 0; i < parts.length; i += 2) {
    if (parts[i] === '') fail('content', HEAD, `${what} of something`, 'one of nothing');
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
/** The version with a word list. */
const WITH_LIST = 2;
const HEAD = 28;
const DEFAULT_MAX_BYTES = 2 ** 28;
const MOST_TEXT = 0xffff;
export const MOST_PAIRS = 4096;
const MOST_PART = 256;
