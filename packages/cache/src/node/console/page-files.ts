/**
 * The files of the console's page, as the command gives them: a folder, or assets of the single
 * executable. They are read when the page is first asked for, and kept: 300 kB, compressed once.
 *
 * A file is found by its exact name in a list that was made before, so no name from outside ever
 * reaches the file system.
 */

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { extname, join, sep } from 'node:path';
import { gzipSync } from 'node:zlib';

/** In the place of a folder: the page is in the assets of the single executable. */
const PAGE_IN_ASSETS = 'assets:';

/** The asset with the names of the others, which are below `console/`. */
const ASSET_LIST = 'console.json';

export interface PageFile {
  readonly type: string;
  readonly bytes: Buffer;
  /** The same in gzip; null if that saves nothing. */
  readonly gzipped: Buffer | null;
  /** A strong validator of the bytes (RFC 9110, 8.8.3), without quotes. */
  readonly tag: string;
}

const MOST_FILES = 500;
const MOST_BYTES = 16 * 2 ** 20;

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.txt': 'text/plain; charset=utf-8',
};

/** Reads the page. Returns null if it was not built. Throws if it cannot be the page. */
export function readPage(place: string | null): ReadonlyMap<string, PageFile> | null {
  if (place === null) return null;
  const names = place === PAGE_IN_ASSETS ? assetNames() : fileNames(place);
  if (!names.includes('index.html')) return null;
  if (names.length > MOST_FILES)
    throw new RangeError(
      `Cannot serve the console: expected at most ${MOST_FILES} files, got ${names.length}`,
    );
  const files = new Map<string, PageFile>();
  let left = MOST_BYTES;
  for (const name of names) {
    const bytes = place === PAGE_IN_ASSETS ? asset(`console/${name}`) : readFileSync(join(place, name));
    left -= bytes.length;
    if (left < 0)
      throw new RangeError(`Cannot serve the console: expected at most ${MOST_BYTES} bytes (${name})`);
    files.set(name.replaceAll(sep, '/'), pageFile(name, bytes));
  }
  return files;
}

function pageFile(name: string, bytes: Buffer): PageFile {
  const gzipped = gzipSync(bytes, { level: 9 });
  return {
    type: TYPES[extname(name)] ?? 'application/octet-stream',
    bytes,
    gzipped: gzipped.length < bytes.length ? gzipped : null,
    tag: createHash('sha256').update(bytes).digest('base64url').slice(0, 22),
  };
}

function fileNames(folder: string): string[] {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name).slice(join(folder, sep).length));
}

type Assets = { readonly getRawAsset: (name: string) => ArrayBuffer };

function asset(name: string): Buffer {
  return Buffer.from((process.getBuiltinModule('node:sea') as unknown as Assets).getRawAsset(name));
}

function assetNames(): string[] {
  try {
    return JSON.parse(asset(ASSET_LIST).toString()) as string[];
  } catch {
    return [];
  }
}
