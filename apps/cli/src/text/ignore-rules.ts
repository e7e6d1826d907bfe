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

  private constructor(levels: readonly Level[], names: readonly string[]) {
    this.#levels = levels;
    this.#names = names;
  }

  /** The rules of a folder, without those of folders above it. */
  static of(folder: string): IgnoreRules {
    return new IgnoreRules([], []).#with(folder, []);
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
    const text = readRules(join(folder, IGNORE_FILE));
    if (text === null) return new IgnoreRules(this.#levels, names);
    // Loaded when there are rules, because most folders have none.
    const ignore = createRequire(import.meta.url)('ignore') as typeof import('ignore');
    const rules = ignore({ allowRelativePaths: false, ignorecase: false }).add(text);
    return new IgnoreRules([{ rules, depth: names.length }, ...this.#levels], names);
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
