/**
 * Rules, filter and dictionary in one file, version 1. Integers are little-endian.
 *
 *     0   4  magic 'BLHY' (42 4C 48 59)
 *     4   1  version: 1
 *     5   1  letters that stay together at the beginning, 1 … 255
 *     6   1  at the end, 1 … 255
 *     7   1  0
 *     8   4  number of words that the exceptions were found among
 *     12  4  number of exceptions
 *     16  4  r: bytes of the rules, at most 2^21
 *     20  4  b: bytes of the filter
 *     24  4  p: pages of the dictionary
 *     28  4  checksum: the lower 32 bits of Forge64 (docs/spec/frame.md) with seed 0, of bytes 0 to 27
 *            and the rules
 *     32  r  rules, UTF-8: a line of strings without breaks around them, at most 256, separated by
 *            commas; then one pattern per line, of at most 255 characters
 *     …   b  a frame of a BloomFilter of the exceptions
 *     …      zeros up to the next multiple of 4096
 *     …      p pages of 4096 bytes: the dictionary (exception-dictionary.ts)
 *
 * Opening the file reads only the part before the pages, and a lookup reads only the pages that it
 * needs. The input is untrusted: lengths are compared with the size of the file before anything is
 * read, and the rules have limits, because the trie takes some 130 bytes for each byte of rules.
 * The largest known patterns (TeX's Hungarian) have 0.6 MB.
 */

import { BloomFilter, FrameError } from 'bloomery';
import { checkEnvelope, checkLength, checkSum, decoding, PAGE, VERSION, wholeSum } from 'bloomery/frames';
import {
  type DictionaryBytes,
  ExceptionDictionary,
  type Exceptions,
  encodeExceptions,
} from './exception-dictionary.ts';
import { FilteredHyphenator } from './filtered-hyphenator.ts';
import { Hyphenator } from './hyphenator.ts';

export interface HyphenationContent {
  readonly rules: Hyphenator;
  readonly filter: BloomFilter;
  readonly exceptions: Exceptions;
  readonly truthWords: number;
}

export function encodeHyphenation({
  rules,
  filter,
  exceptions,
  truthWords,
}: HyphenationContent): Uint8Array<ArrayBuffer> {
  const text = ENCODER.encode([rules.noHyphen.join(','), ...rules.patterns].join('\n'));
  const excess = excessOf(rules.noHyphen, rules.patterns, text.length);
  if (excess !== undefined) throw new RangeError(`Cannot write the rules: they have ${excess}`);
  const frame = filter.encode();
  const pages = encodeExceptions(exceptions);
  const start = roundUp(HEADER + text.length + frame.length);
  const bytes = new Uint8Array(start + pages.length);
  bytes.set([...MAGIC, VERSION, rules.leftMinimum, rules.rightMinimum, 0]);
  const view = new DataView(bytes.buffer);
  const numbers = [truthWords, exceptions.size, text.length, frame.length, pages.length / PAGE];
  for (const [i, value] of numbers.entries()) view.setUint32(8 + 4 * i, value, true);
  bytes.set(text, HEADER);
  bytes.set(frame, HEADER + text.length);
  bytes.set(pages, start);
  view.setUint32(28, checksum(bytes.subarray(0, 28), text), true);
  return bytes;
}

/** Opens a file. An error in the file is a `FrameError`. */
export function openHyphenation(bytes: DictionaryBytes): FilteredHyphenator {
  return decoding('hyphenation file', () => {
    const head = bytes.read(0, Math.min(HEADER, bytes.size));
    checkEnvelope(MAGIC, head, HEADER);
    const view = new DataView(head.buffer, head.byteOffset, HEADER);
    const [truthWords, exceptions, ruleBytes, frameBytes, pages] = [8, 12, 16, 20, 24].map((at) =>
      view.getUint32(at, true),
    );
    const start = roundUp(HEADER + ruleBytes + frameBytes);
    checkLength(bytes.size, start + pages * PAGE);
    if (ruleBytes > MOST_RULE_BYTES)
      throw new FrameError('limit', 16, `rules have at most ${MOST_RULE_BYTES} bytes, got ${ruleBytes}`);
    const text = bytes.read(HEADER, ruleBytes);
    checkSum(view.getUint32(28, true), checksum(head.subarray(0, 28), text), 28);
    const [leftMinimum, rightMinimum, zero] = head.subarray(5, 8);
    if (leftMinimum === 0 || rightMinimum === 0 || zero !== 0)
      throw new FrameError('parameters', 5, 'no rules have such minimums');
    const frame = bytes.read(HEADER + ruleBytes, frameBytes);
    const filter = decoding(
      'hyphenation file',
      () => BloomFilter.decode(frame),
      'filter: ',
      HEADER + ruleBytes,
    );
    const dictionary = new ExceptionDictionary(bytes, start, pages);
    const rules = readRules(text, leftMinimum, rightMinimum);
    return new FilteredHyphenator({ rules, filter, dictionary, truthWords, exceptions });
  });
}

function readRules(text: Uint8Array, leftMinimum: number, rightMinimum: number): Hyphenator {
  const [first, ...patterns] = DECODER.decode(text).split('\n');
  const noHyphen = first === '' ? [] : first.split(',');
  const excess = excessOf(noHyphen, patterns, text.length);
  if (excess !== undefined) throw new FrameError('limit', HEADER, `rules have ${excess}`);
  return new Hyphenator({ patterns, leftMinimum, rightMinimum, noHyphen });
}

/** Describes the limit that the rules exceed, or returns undefined. */
function excessOf(
  noHyphen: readonly string[],
  patterns: readonly string[],
  bytes: number,
): string | undefined {
  if (bytes > MOST_RULE_BYTES) return `at most ${MOST_RULE_BYTES} bytes, got ${bytes}`;
  if (noHyphen.length > MOST_UNBROKEN)
    return `at most ${MOST_UNBROKEN} strings without breaks around them, got ${noHyphen.length}`;
  const long = patterns.find((pattern) => pattern.length > MOST_LETTERS);
  if (long !== undefined) return `patterns of at most ${MOST_LETTERS} characters, got one of ${long.length}`;
  return undefined;
}

function checksum(head: Uint8Array, rules: Uint8Array): number {
  const both = new Uint8Array(head.length + rules.length);
  both.set(head);
  both.set(rules, head.length);
  return wholeSum(both);
}

function roundUp(size: number): number {
  return Math.ceil(size / PAGE) * PAGE;
}

/** 'BLHY' */
const MAGIC = [0x42, 0x4c, 0x48, 0x59] as const;
const HEADER = 32;
const MOST_RULE_BYTES = 2 ** 21;
const MOST_UNBROKEN = 256;
const MOST_LETTERS = 255;
const ENCODER = new TextEncoder();
const DECODER = new TextDecoder();
