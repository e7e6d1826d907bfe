/**
 * `.bloomeryignore`: files and folders that are neither indexed nor searched, in the syntax of
 * `.gitignore`. Such a file counts for its folder and all below it, and one that lies deeper is
 * stronger. The npm package `ignore` reads the syntax: 140 kB unpacked, MIT, no dependencies, used
 * by ESLint.
 */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { errorCode } from '@bloomery/files';
import type { Ignore } from 'ignore';

const IGNORE_FILE = '.bloomeryignore';

interface Level {
  readonly rules: Ignore;
  /** Parts of the path that lie above the folder of the rules. */
  readonly depth: number;
}

export class IgnoreRules {
  readonly #levels: readonly Level[];
  readonly #names: readonly string[];

  readonly #files: readonly string[];

  private constructor(levels: readonly Level[], names: readonly string[], files: readonly string[]) {
    this.#levels = levels;
    this.#names = names;
    this.#files = files;
  }

  /**
   * The rules of a folder, without those of folders above it. `files` are the names of the files
   * with rules, the stronger ones last.
   */
  static of(folder: string, files: readonly string[] = [IGNORE_FILE]): IgnoreRules {
    return new IgnoreRules([], [], files).#with(folder, []);
  }

  /** The rules for a folder in this one. */
  below(name: string, folder: string): IgnoreRules {
    return this.#with(folder, [...this.#names, name]);
  }

  ignores(name: string, isFolder: boolean): boolean {
    for (const { rules, depth } of this.#levels) {
      const path = [...this.#names.slice(depth), name].join('/');
      const { ignored, unignored } = rules.test(isFolder ? `${path}/` : path);
      if (ignored || unignored) return ignored;
    }
    return false;
  }

  #with(folder: string, names: readonly string[]): IgnoreRules {
    const texts = this.#files.flatMap((file) => readRules(join(folder, file)) ?? []);
    if (texts.length === 0) return new IgnoreRules(this.#levels, names, this.#files);
    // Loaded when there are rules, because most folders have none.
    const ignore = createRequire(import.meta.url)('ignore') as typeof import('ignore');
    const rules = ignore({ allowRelativePaths: false, ignorecase: false });
    for (const text of texts) rules.add(text);
    return new IgnoreRules([{ rules, depth: names.length }, ...this.#levels], names, this.#files);
  }
}

function readRules(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'EISDIR') return null;
    throw error;
  }
}
