/** Finds the files below folders, in the order of their names. Symbolic links are not followed. */

import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { INDEX_FOLDER, manifestPath } from './index-manifest.ts';

/** Regular files below a folder, without those of the index, as paths that begin with `folder`. */
export function* filesBelow(folder: string): Generator<string> {
  const entries = readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      if (entry.name !== INDEX_FOLDER) yield* filesBelow(path);
    } else if (entry.isFile()) yield path;
  }
}

/** The files that a path stands for: itself, or those below a folder. */
export function filesOf(path: string): string[] {
  return statSync(path).isDirectory() ? [...filesBelow(path)] : [path];
}

/** The nearest folder above a file that has an index, or null. */
export function indexedFolderOf(path: string): string | null {
  for (let folder = dirname(resolve(path)); ; folder = dirname(folder)) {
    if (existsSync(manifestPath(folder))) return folder;
    if (folder === dirname(folder)) return null;
  }
}
