/**
 * A blocklist as bytes, version 1. Integers are little-endian.
 *
 *     0    4   magic 'BLPW' (42 4C 50 57)
 *     4    1   version: 1
 *     5    1   flags: 1 upper and lower case differ, 2 wildcards were entered, 4 manglings are
 *              undone (manglings.ts); others are 0
 *     6    1   nearMinimum: shorter words refuse only themselves, 1 … 255
 *     7    1   typicalLength, 1 … 255
 *     8    1   length of the shortest word, 0 if there is none
 *     9    1   length of the longest word, 0 if there is none
 *     10   4   number of different words
 *     14   8   refusalRate, a double between 0 and 1
 *     22   2   a: number of characters in the alphabet, at most 1024
 *     24   3a  the alphabet: rising code points
 *     …    4   checksum of all bytes before it: the lower 32 bits of Forge64 (docs/spec/frame.md) with
 *              seed 0
 *     …        a frame of a StaticFilter up to the end; it has a checksum of its own
 *
 * Keys of the filter are the UTF-8 of the words after `normalizePassword`, and of the same with
 * U+FFFF in place of one character that is not in the alphabet.
 *
 * The input is untrusted: before anything is allocated, every field is checked, and lengths are
 * compared with the number of bytes. Errors are a `FrameError`.
 */

import { FrameError } from 'bloomery';
import { CHECKSUM, checkEnvelope, checkSum, decoding, VERSION, wholeSum } from 'bloomery/frames';

export interface BlocklistParameters {
  /** The number of different words. */
  readonly words: number;
  /** Lengths of the shortest and of the longest word, in characters. */
  readonly shortest: number;
  readonly longest: number;
  readonly nearMinimum: number;
  readonly typicalLength: number;
  readonly refusalRate: number;
  readonly caseSensitive: boolean;
  /** Whether words with characters outside the alphabet were entered with a wildcard. */
  readonly wildcards: boolean;
  /** Whether manglings of words are refused. Files before this had a name did not refuse them. */
  readonly manglings: boolean;
  /** The characters that are tried in each place. */
  readonly alphabet: readonly string[];
}

export function encodeBlocklist(parameters: BlocklistParameters, frame: Uint8Array): Uint8Array<ArrayBuffer> {
  const { words, shortest, longest, nearMinimum, typicalLength, refusalRate, alphabet } = parameters;
  const head = HEADER + 3 * alphabet.length;
  const bytes = new Uint8Array(head + CHECKSUM + frame.length);
  const flags =
    (parameters.caseSensitive ? CASE_SENSITIVE : 0) +
    (parameters.wildcards ? WILDCARDS : 0) +
    (parameters.manglings ? MANGLINGS : 0);
  bytes.set([...MAGIC, VERSION, flags, nearMinimum, typicalLength, shortest, longest]);
  const view = new DataView(bytes.buffer);
  view.setUint32(10, words, true);
  view.setFloat64(14, refusalRate, true);
  view.setUint16(22, alphabet.length, true);
  for (const [i, character] of alphabet.entries()) {
    const code = character.codePointAt(0) ?? 0;
    bytes.set([code & 255, (code >> 8) & 255, code >> 16], HEADER + 3 * i);
  }
  view.setUint32(head, wholeSum(bytes.subarray(0, head)), true);
  bytes.set(frame, head + CHECKSUM);
  return bytes;
}

export function decodeBlocklist(bytes: Uint8Array): { parameters: BlocklistParameters; frame: Uint8Array } {
  return decoding('password blocklist', () => {
    checkEnvelope(MAGIC, bytes, HEADER);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const size = view.getUint16(22, true);
    if (size > MOST_CHARACTERS) throw unsound(22, `an alphabet of ${size} characters`);
    const head = HEADER + 3 * size;
    checkEnvelope(MAGIC, bytes, head + CHECKSUM);
    checkSum(view.getUint32(head, true), wholeSum(bytes.subarray(0, head)), head);
    return { parameters: readParameters(bytes, view, size), frame: bytes.subarray(head + CHECKSUM) };
  });
}

/** Reads the fields, and refuses invalid values, which a correct checksum does not exclude. */
function readParameters(bytes: Uint8Array, view: DataView, size: number): BlocklistParameters {
  const [flags, nearMinimum, typicalLength, shortest, longest] = bytes.subarray(5, 10);
  if (flags > CASE_SENSITIVE + WILDCARDS + MANGLINGS) throw unsound(5, `the flags ${flags}`);
  if (nearMinimum === 0 || typicalLength === 0) throw unsound(6, `lengths of 0`);
  if (shortest > longest || (shortest === 0) !== (longest === 0)) {
    throw unsound(8, `words of ${shortest} to ${longest} characters`);
  }
  const refusalRate = view.getFloat64(14, true);
  if (!(refusalRate > 0 && refusalRate < 1)) throw unsound(14, `a refusal rate of ${refusalRate}`);
  const alphabet: string[] = [];
  for (let i = 0, last = -1; i < size; i++) {
    const at = HEADER + 3 * i;
    const code = bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16);
    if (code <= last || code > 0x10ffff || code === 0xffff) throw unsound(at, `the code point ${code} here`);
    alphabet.push(String.fromCodePoint(code));
    last = code;
  }
  return {
    words: view.getUint32(10, true),
    shortest,
    longest,
    nearMinimum,
    typicalLength,
    refusalRate,
    caseSensitive: (flags & CASE_SENSITIVE) !== 0,
    wildcards: (flags & WILDCARDS) !== 0,
    manglings: (flags & MANGLINGS) !== 0,
    alphabet,
  };
}

function unsound(at: number, what: string): FrameError {
  return new FrameError('parameters', at, `no blocklist has ${what}`);
}

/** 'BLPW' */
const MAGIC = [0x42, 0x4c, 0x50, 0x57] as const;
const CASE_SENSITIVE = 1;
const WILDCARDS = 2;
const MANGLINGS = 4;
const HEADER = 24;
const MOST_CHARACTERS = 1024;
