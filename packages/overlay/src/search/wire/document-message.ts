/**
 * The messages that fetch documents after the ranking, and those that ask who holds an object.
 *
 *     wish       version, handles, keys (text)
 *     documents  version, documents (handle, path, size, seconds, object id 8, snippet, marks)
 *     holding    version, SHA-256 32          answer: version, paths
 *
 * Names and snippets are text of another peer. Control characters and those that turn the
 * direction of writing are taken out here, where they are read, so that no terminal and no page
 * meets them.
 */

import { CompactReader, CompactWriter } from '../../directory/compact-bytes.ts';
import { MOST_KEYS } from '../terms/query.ts';
import type { Snippet } from '../terms/snippet.ts';
import { MOST_RESULTS } from './score-message.ts';

const VERSION = 1;
const KEY_BYTES = 256;
const PATH_BYTES = 4096;
const SNIPPET_BYTES = 2048;
const MOST_MARKS = 64;
const OBJECT_ID_BYTES = 8;
const DIGEST_BYTES = 32;
const MOST_PATHS = 16;
/** The last second that a Date of JavaScript can hold. */
const LAST_SECOND = 8_640_000_000_000;

export interface Wish {
  readonly handles: readonly number[];
  /** The keys of the query, for the snippets. */
  readonly keys: readonly string[];
}

export interface FetchedDocument {
  readonly handle: number;
  readonly path: string;
  readonly bytes: number;
  /** The last change of the file, in seconds since 1970. */
  readonly changed: number;
  /** The first 64 bits of the SHA-256 of the file, in hex digits. */
  readonly objectId: string;
  readonly snippet: Snippet;
}

export function writeWish({ handles, keys }: Wish): Uint8Array {
  const writer = new CompactWriter(VERSION).count(handles.length);
  for (const handle of handles) writer.count(handle);
  writer.count(keys.length);
  for (const key of keys) writer.text(key);
  return writer.finish();
}

export function readWish(bytes: Uint8Array): Wish {
  const reader = new CompactReader(bytes, VERSION);
  const handles = Array.from({ length: reader.entries(MOST_RESULTS) }, () => reader.count());
  const keys = Array.from({ length: reader.entries(MOST_KEYS) }, () => reader.text(KEY_BYTES));
  reader.end();
  return { handles, keys };
}

export function writeDocuments(documents: readonly FetchedDocument[]): Uint8Array {
  const writer = new CompactWriter(VERSION).count(documents.length);
  for (const { handle, path, bytes, changed, objectId, snippet } of documents) {
    writer.count(handle).text(path).count(bytes).count(Math.max(0, changed));
    writer.raw(Buffer.from(objectId, 'hex')).text(snippet.text).count(snippet.marks.length);
    for (const { start, length } of snippet.marks) writer.count(start).count(length);
  }
  return writer.finish();
}

export function readDocuments(bytes: Uint8Array): FetchedDocument[] {
  const reader = new CompactReader(bytes, VERSION);
  const documents = Array.from({ length: reader.entries(MOST_RESULTS, 15) }, () => {
    const handle = reader.count();
    const path = harmless(reader.text(PATH_BYTES));
    if (path === '') reader.fail('a path', 'none');
    const size = reader.count();
    const changed = reader.count(LAST_SECOND);
    const objectId = Buffer.from(reader.raw(OBJECT_ID_BYTES)).toString('hex');
    const text = harmless(reader.text(SNIPPET_BYTES));
    const marks = Array.from({ length: reader.entries(MOST_MARKS, 2) }, () => ({
      start: reader.count(text.length),
      length: reader.count(text.length),
    }));
    let end = 0;
    for (const { start, length } of marks) {
      if (start < end || start + length > text.length) reader.fail('marks in the snippet', 'others');
      end = start + length;
    }
    return { handle, path, bytes: size, changed, objectId, snippet: { text, marks } };
  });
  reader.end();
  return documents;
}

export function writeHolding(digest: Uint8Array): Uint8Array {
  return new CompactWriter(VERSION).raw(digest).finish();
}

export function readHolding(bytes: Uint8Array): Uint8Array {
  const reader = new CompactReader(bytes, VERSION);
  const digest = Uint8Array.from(reader.raw(DIGEST_BYTES));
  reader.end();
  return digest;
}

export function writePaths(paths: readonly string[]): Uint8Array {
  const writer = new CompactWriter(VERSION).count(Math.min(MOST_PATHS, paths.length));
  for (const path of paths.slice(0, MOST_PATHS)) writer.text(path);
  return writer.finish();
}

export function readPaths(bytes: Uint8Array): string[] {
  const reader = new CompactReader(bytes, VERSION);
  const paths = Array.from({ length: reader.entries(MOST_PATHS) }, () => harmless(reader.text(PATH_BYTES)));
  reader.end();
  return paths;
}

/** Each dangerous character becomes one replacement, so that the marks stay where they are. */
function harmless(text: string): string {
  return text.replace(DANGEROUS, '\ufffd');
}

/** Controls of C0 and C1, separators of lines, and characters of bidirectional control. */
const DANGEROUS = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;
