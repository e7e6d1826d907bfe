/**
 * The files of a folder that are shared, and the others with the reason why they are not. The list
 * that a user sees before anything is shared and the index that answers use this one rule:
 *
 * - Regular files only. Symbolic links are never followed: one could lead out of the folder.
 * - Nothing whose name begins with a dot, and nothing in such a folder: keys, settings, histories.
 * - Nothing that an ignore file names (`FolderRules`, which the caller brings).
 * - Nothing above 16 MiB, and at most 200,000 files.
 *
 * A file is opened without following a link in its last part, and its folder must be the one where
 * it was found. So a link that is put in the place of a file between the two looks leads nowhere.
 */

import {
  closeSync,
  constants,
  type Dirent,
  fstatSync,
  openSync,
  readdirSync,
  readSync,
  realpathSync,
  type Stats,
} from 'node:fs';
import { join } from 'node:path';
import { typeOf } from '../texts/file-text.ts';

/** Rules that leave files out, in the syntax of their owner. */
export interface FolderRules {
  /** The rules for a folder in this one. */
  below(name: string, folder: string): FolderRules;
  ignores(name: string, isFolder: boolean): boolean;
}

interface FolderFile {
  /** The path below the folder, with `/`. */
  readonly path: string;
  readonly type: string;
}

export type LeftOutReason = 'hidden' | 'ignored' | 'link' | 'no file' | 'large' | 'many' | 'unreadable';

interface LeftOut {
  readonly path: string;
  readonly why: LeftOutReason;
}

export const MOST_FILE_BYTES = 16 * 1024 * 1024;
export const MOST_FILES = 200_000;
/** Clocks of file systems tick every 4 to 10 ms; some of them every 2 s (FAT). */
const SETTLED_MS = 2500;

export type FolderEntry =
  | ({ readonly kind: 'file' } & FolderFile)
  | ({ readonly kind: 'left' } & LeftOut)
  | { readonly kind: 'folder'; readonly path: string };

/** Everything below a folder, or below a folder in it, in the order of the names. */
export function* folderEntries(root: string, rules: FolderRules | null, path = ''): Generator<FolderEntry> {
  // The folder itself comes first, so that a caller who watches it from now on misses no file.
  yield { kind: 'folder', path };
  let entries: Dirent[];
  try {
    entries = readdirSync(join(root, path), { withFileTypes: true });
  } catch {
    yield { kind: 'left', path, why: 'unreadable' };
    return;
  }
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of entries) {
    const { name } = entry;
    const below = path === '' ? name : `${path}/${name}`;
    const isFolder = entry.isDirectory();
    if (name.startsWith('.')) yield { kind: 'left', path: below, why: 'hidden' };
    else if (entry.isSymbolicLink()) yield { kind: 'left', path: below, why: 'link' };
    else if (rules?.ignores(name, isFolder)) yield { kind: 'left', path: below, why: 'ignored' };
    else if (isFolder) yield* folderEntries(root, rules?.below(name, join(root, below)) ?? null, below);
    else if (entry.isFile()) yield { kind: 'file', path: below, type: typeOf(name) };
    else yield { kind: 'left', path: below, why: 'no file' };
  }
}

/** The rules that hold in a folder below the root. */
export function rulesAt(root: string, rules: FolderRules | null, path: string): FolderRules | null {
  if (path === '' || rules === null) return rules;
  let at = rules;
  let folder = root;
  for (const name of path.split('/')) {
    folder = join(folder, name);
    at = at.below(name, folder);
  }
  return at;
}

/** Whether no part of a path below the root is hidden or ignored. */
export function isChosen(root: string, rules: FolderRules | null, path: string): boolean {
  const names = path.split('/');
  return names.every((name, depth) => {
    const above = rulesAt(root, rules, names.slice(0, depth).join('/'));
    return !name.startsWith('.') && !above?.ignores(name, depth < names.length - 1);
  });
}

/** Identifies the content of a file without reading it. */
function statMark({ dev, ino, size, mtimeMs, ctimeMs }: Stats): string {
  return `${dev} ${ino} ${size} ${mtimeMs} ${ctimeMs}`;
}

export interface ReadFile {
  readonly bytes: Uint8Array;
  readonly mark: string;
  /** False if a later change could have the same mark, because the file is so new. */
  readonly isSettled: boolean;
  /** The last change, in seconds since 1970. */
  readonly changed: number;
}

/**
 * Reads a file below a folder, whose real path is `root`, or says why it does not. `known` is the
 * mark of a content that need not be read again; then the result is 'same'.
 */
export function readInside(
  root: string,
  path: string,
  known: string | null = null,
): ReadFile | 'same' | LeftOutReason {
  let descriptor: number;
  try {
    const folder = join(root, path, '..');
    if (realpathSync(folder) !== folder) return 'link';
    // A pipe or a device that was put there must not make the opening wait.
    descriptor = openSync(join(root, path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ELOOP' ? 'link' : 'unreadable';
  }
  try {
    const stat = fstatSync(descriptor);
    if (!stat.isFile()) return 'no file';
    if (stat.size > MOST_FILE_BYTES) return 'large';
    const mark = statMark(stat);
    if (mark === known) return 'same';
    const bytes = Buffer.alloc(stat.size);
    let at = 0;
    for (let read = -1; read !== 0 && at < bytes.length; at += read)
      read = readSync(descriptor, bytes, at, bytes.length - at, at);
    const isSettled = Date.now() - Math.max(stat.mtimeMs, stat.ctimeMs) > SETTLED_MS;
    const changed = Math.max(0, Math.floor(stat.mtimeMs / 1000));
    return { bytes: bytes.subarray(0, at), mark, isSettled, changed };
  } catch {
    return 'unreadable';
  } finally {
    closeSync(descriptor);
  }
}
