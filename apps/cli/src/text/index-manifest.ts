/**
 * The list of files of an indexed folder, `.bloomery/text.json`: which files are indexed, how each
 * is recognised, and in which index files their blocks are. The first line has a checksum of the
 * JSON text after it. The file is replaced in one step, so an index becomes visible as a whole.
 */

import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { errorCode, writeAtomically } from '@bloomery/files';
import type { GramScheme } from '@bloomery/stores/text';
import type { FileIdentity, FileKind } from './text-file.ts';

/** Blocks of a file in one index file: those of its unpacked bytes from `from` to `to`. */
interface IndexedPart {
  readonly index: string;
  readonly from: number;
  readonly to: number;
  /** Newlines before `from`. Lists of earlier versions lack it. */
  readonly lines?: number;
}

export interface IndexedFile extends FileIdentity {
  /** The number of the file in the extents. */
  readonly id: number;
  /** The path below the folder, with slashes. */
  readonly path: string;
  readonly kind: FileKind;
  /** The beginning of the last extent, and the newlines before it: a log goes on there. */
  readonly last: { readonly start: number; readonly lines: number };
  readonly parts: readonly IndexedPart[];
}

export interface IndexFile {
  /** Name in `.bloomery`. */
  readonly name: string;
  readonly id: string;
  readonly size: number;
  readonly blocks: number;
}

export interface IndexManifest {
  readonly scheme: GramScheme;
  readonly nextId: number;
  /** Whether the last run repacked gzip files of one piece. */
  readonly repacked: boolean;
  readonly indexes: readonly IndexFile[];
  readonly files: readonly IndexedFile[];
  /** Files that could not be indexed; a search without the folder at hand reads them whole. */
  readonly unindexed?: readonly string[];
}

export const INDEX_FOLDER = '.bloomery';
const MAGIC = 'bloomery-text-index 1';

/** The place of the list in an indexed folder. */
export function manifestPath(folder: string): string {
  return join(folder, INDEX_FOLDER, 'text.json');
}

/** A list of files that cannot be read. */
export class ManifestError extends Error {
  override readonly name = 'ManifestError';
  readonly code = 'manifest';
}

/** Reads the list; null if the folder is not indexed. Throws a `ManifestError` if it is damaged. */
export function readManifest(folder: string): IndexManifest | null {
  const path = manifestPath(folder);
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return null;
    throw error;
  }
  return parseManifest(text, path);
}

/** Reads the text of a list. Throws a `ManifestError` if its checksum is another one. */
export function parseManifest(text: string, path: string): IndexManifest {
  const end = text.indexOf('\n');
  const json = text.slice(end + 1);
  if (text.slice(0, end) !== `${MAGIC} ${sumOf(json)}`)
    throw new ManifestError(`Cannot read ${path}: expected the checksum of its first line, got other bytes`);
  return JSON.parse(json) as IndexManifest;
}

/** Replaces the list in one step. */
export function writeManifest(folder: string, manifest: IndexManifest): void {
  const json = `${JSON.stringify(manifest)}\n`;
  mkdirSync(join(folder, INDEX_FOLDER), { recursive: true });
  writeAtomically(manifestPath(folder), Buffer.from(`${MAGIC} ${sumOf(json)}\n${json}`));
}

function sumOf(json: string): string {
  return crc32(json).toString(16).padStart(8, '0');
}
