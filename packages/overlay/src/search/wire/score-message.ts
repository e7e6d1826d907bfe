/**
 * The messages of the score round. docs/spec/search.md has the bytes.
 *
 *     question   version, most, documents, floor 8, keys (text, documents with it, 1 if required),
 *                phrases (key and offset of each word), types
 *     answer     version, documents, documents with each key, matching,
 *                hits (handle, length, a bit for each key, count of each key whose bit is set)
 *
 * A document has few of the words of a long query. With a count for each of them, the queries of
 * the CISI collection took half as many bytes again.
 */

import { CompactReader, CompactWriter } from '../../directory/compact-bytes.ts';
import type { Answer, Question } from '../decisions/answer-question.ts';
import { MOST_KEYS, MOST_PHRASE, MOST_TYPES } from '../terms/query.ts';

const VERSION = 1;
/** The most results of one search. */
export const MOST_RESULTS = 100;
/** A term has at most 64 UTF-16 units, and `name:` before it. */
const KEY_BYTES = 256;
const MOST_OFFSET = 4096;
const MOST_COUNT = 2 ** 32;

export function writeQuestion({ keys, phrases, types, documents, floor, most }: Question): Uint8Array {
  const writer = new CompactWriter(VERSION).count(most).count(documents);
  // A floor is in a second question alone, so the first one saves its bytes.
  writer.byte(floor > 0 ? 1 : 0);
  if (floor > 0) writer.float(floor);
  writer.count(keys.length);
  for (const { key, having, isRequired } of keys) writer.text(key).count(2 * having + (isRequired ? 1 : 0));
  writer.count(phrases.length);
  for (const phrase of phrases) {
    writer.count(phrase.length);
    for (const { key, offset } of phrase) writer.count(key).count(offset);
  }
  writer.count(types.length);
  for (const type of types) writer.text(type);
  return writer.finish();
}

export function readQuestion(bytes: Uint8Array): Question {
  const reader = new CompactReader(bytes, VERSION);
  const most = reader.count(MOST_RESULTS);
  const documents = reader.count(MOST_COUNT);
  const hasFloor = reader.byte();
  if (hasFloor > 1) reader.fail('0 or 1', hasFloor);
  const floor = hasFloor === 1 ? reader.float() : 0;
  const keys = Array.from({ length: reader.entries(MOST_KEYS, 2) }, () => {
    const key = reader.text(KEY_BYTES);
    const coded = reader.count(2 * MOST_COUNT + 1);
    return { key, having: Math.floor(coded / 2), isRequired: coded % 2 === 1 };
  });
  if (keys.length === 0) reader.fail('a key', 'none');
  if (new Set(keys.map(({ key }) => key)).size < keys.length) reader.fail('different keys', 'one twice');
  const phrases = Array.from({ length: reader.entries(MOST_TYPES, 1) }, () =>
    Array.from({ length: reader.entries(MOST_PHRASE, 2) }, () => ({
      key: reader.count(keys.length - 1),
      offset: reader.count(MOST_OFFSET),
    })),
  );
  if (phrases.some((phrase) => phrase.length < 2)) reader.fail('two words in a phrase', 'fewer');
  const types = Array.from({ length: reader.entries(MOST_TYPES) }, () => reader.text(KEY_BYTES));
  reader.end();
  return { keys, phrases, types, documents, floor, most };
}

export function writeScores({ documents, having, matching, hits }: Answer): Uint8Array {
  const writer = new CompactWriter(VERSION).count(documents).count(having.length);
  for (const count of having) writer.count(count);
  writer.count(matching).count(hits.length);
  for (const { handle, length, counts } of hits) {
    writer.count(handle).count(length).raw(bitsOf(counts));
    for (const count of counts) if (count > 0) writer.count(count);
  }
  return writer.finish();
}

export function readScores(bytes: Uint8Array): Answer {
  const reader = new CompactReader(bytes, VERSION);
  const documents = reader.count(MOST_COUNT);
  const having = Array.from({ length: reader.entries(MOST_KEYS) }, () => reader.count(MOST_COUNT));
  const matching = reader.count(MOST_COUNT);
  const bitBytes = Math.ceil(having.length / 8);
  const hits = Array.from({ length: reader.entries(MOST_RESULTS, 2 + bitBytes) }, () => {
    const handle = reader.count();
    const length = reader.count(MOST_COUNT);
    if (length === 0) reader.fail('a document with a word', 'one of length 0');
    const bits = reader.raw(bitBytes);
    if (bits.length > 0 && bits[bitBytes - 1] >> (having.length - 8 * (bitBytes - 1)) !== 0)
      reader.fail(`bits of ${having.length} keys`, 'more');
    const counts = having.map((_, key) => {
      if (((bits[key >> 3] >> (key & 7)) & 1) === 0) return 0;
      return reader.count(MOST_COUNT) || reader.fail('a count above 0', 0);
    });
    return { handle, length, counts };
  });
  reader.end();
  return { documents, having, matching, hits };
}

/** A bit for each count, set if it is above 0. The first is the lowest bit of the first byte. */
function bitsOf(counts: readonly number[]): Uint8Array {
  const bits = new Uint8Array(Math.ceil(counts.length / 8));
  for (const [i, count] of counts.entries()) if (count > 0) bits[i >> 3] |= 1 << (i & 7);
  return bits;
}
