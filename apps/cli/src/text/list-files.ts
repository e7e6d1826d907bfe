/** Finds the files below folders, in the order of their names. Symbolic links are not followed. */

import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { isTemporaryName } from '@bloomery/files';
import { IgnoreRules } from './ignore-rules.ts';
import { INDEX_FOLDER, manifestPath } from './index-manifest.ts';
import { NameGlobs } from './name-globs.ts';

export interface FileChoice {
  readonly globs?: NameGlobs;
  /** Whether files that `.bloomeryignore` names are left out; they are unless this is false. */
  readonly ignore?: boolean;
}

const ALL_NAMES = new NameGlobs([]);

/**
 * Regular files below a folder, as paths that begin with `folder`. Those of the index are left out,
 * and so is the copy of a log that a run of `--repack` left when it was killed.
 */
export function* filesBelow(folder: string, choice: FileChoice = {}): Generator<string> {
  yield* walk(folder, choice.ignore === false ? null : rulesAt(folder), choice.globs ?? ALL_NAMES);
}

function* walk(folder: string, rules: IgnoreRules | null, globs: NameGlobs): Generator<string> {
  const entries = readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of entries) {
    const { name } = entry;
    const path = join(folder, name);
    const isFolder = entry.isDirectory();
    if (rules?.ignores(name, isFolder) === true) continue;
    if (isFolder) {
      if (name !== INDEX_FOLDER && globs.takesFolder(name))
        yield* walk(path, rules?.below(name, path) ?? null, globs);
    } else if (entry.isFile() && globs.takesFile(name) && !isTemporaryName(name)) yield path;
  }
}

/** The rules that count in a folder: its own, and those above it up to the folder of its index. */
function rulesAt(folder: string): IgnoreRules {
  const top = indexedFolderOf(join(folder, 'any'));
  if (top === null) return IgnoreRules.of(folder);
  let rules = IgnoreRules.of(top);
  let at = top;
  for (const name of relative(top, resolve(folder)).split(sep)) {
    if (name === '') continue;
    at = join(at, name);
    rules = rules.below(name, at);
  }
  return rules;
}

/** The files that a path stands for: itself, or those below a folder. */
export function filesOf(path: string, choice: FileChoice = {}): { files: string[]; isFolder: boolean } {
  const { globs = ALL_NAMES } = choice;
  if (!statSync(path).isDirectory())
    return { files: globs.takesNamedFile(path) ? [path] : [], isFolder: false };
  return { files: globs.takesNamedFolder(path) ? [...filesBelow(path, choice)] : [], isFolder: true };
}

/** The nearest folder above a file that has an index, or null. */
export function indexedFolderOf(path: string): string | null {
  for (let folder = dirname(resolve(path)); ; folder = dirname(folder)) {
    if (existsSync(manifestPath(folder))) return folder;
    if (folder === dirname(folder)) return null;
  }
}
