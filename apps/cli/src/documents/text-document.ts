/**
 * Documents in files: their terms in a filter, as Text::Bloom has them (2^17 bits a document there,
 * and here by default). All filters have one size and one hash function, which gives the smallest
 * error for a comparison. The number of terms is counted, not estimated; the terms themselves are
 * forgotten, so a document takes 16 kB whatever its length.
 */

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { BloomFilter, type KeyBatch } from 'bloomery';
import { UsageError } from '../usage-error.ts';
import { termsOf } from './document-terms.ts';

export interface TextDocument {
  readonly path: string;
  /** The number of distinct terms. */
  readonly terms: number;
  readonly filter: BloomFilter;
  readonly ones: number;
}

/** The files that are meant: those that are named, and those below folders that are named. */
export function documentPaths(paths: readonly string[]): string[] {
  const found = paths.flatMap((path) => (statSync(path).isDirectory() ? [...below(path)] : [path]));
  return [...new Set(found)];
}

/** Reads a document. Null for a file that is not text: it has a zero byte. */
export function readDocument(path: string, bits: number): TextDocument | null {
  const { size } = statSync(path);
  if (size > MOST_BYTES) {
    throw new UsageError(`${path} has ${size} bytes, and a document has at most ${MOST_BYTES}; split it`);
  }
  const bytes = readFileSync(path);
  return bytes.includes(0) ? null : documentOf(path, termsOf(bytes.toString('utf8')), bits);
}

/** The document with these terms. */
export function documentOf(path: string, terms: KeyBatch & ReadonlySet<string>, bits: number): TextDocument {
  const filter = new BloomFilter({ bits, hashes: 1 });
  filter.addMany(terms);
  return { path, terms: terms.size, filter, ones: filter.onesCount() };
}

/** The files below a folder, sorted. Hidden ones and links are left out. */
function* below(folder: string): Generator<string> {
  const entries = readdirSync(folder, { withFileTypes: true }).filter(({ name }) => !name.startsWith('.'));
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* below(path);
    else if (entry.isFile()) yield path;
  }
}

const MOST_BYTES = 2 ** 28;
