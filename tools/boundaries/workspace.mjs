// The input of the rules: packages and source files with their imports, as plain data.
// read-workspace.mjs reads it from the disk; the tests write it by hand.

import { posix } from 'node:path';
import { parseSource } from '../source/parse-source.mjs';
import { importsOf } from './imports.mjs';

/**
 * @typedef {object} Place
 * @property {string} home the folder of its package, such as packages/cache
 * @property {string} package the name of that folder, such as cache
 * @property {boolean} isTest
 * @property {(import('./imports.mjs').Import & { target: string | null })[]} imports `target` is
 * the
 *   path that a relative specifier means
 */

/** @typedef {import('../source/parse-source.mjs').Source & Place} SourceFile */

/**
 * @typedef {object} Package
 * @property {string} home
 * @property {string} name
 * @property {import('../workspaces.mjs').Manifest} manifest its package.json
 */

/** @typedef {{ packages: Package[], files: SourceFile[], testTools: string[] }} Workspace */

/** @param {string} path @param {string} text @returns {SourceFile} */
export function sourceFile(path, text) {
  const source = parseSource(path, text);
  const home = path.split('/').slice(0, 2).join('/');
  const imports = importsOf(source).map((found) => ({
    ...found,
    target: found.specifier.startsWith('.') ? posix.join(posix.dirname(path), found.specifier) : null,
  }));
  const name = home.split('/')[1];
  const isTest = name === 'testkit' || /\.test\.ts$/.test(path) || path.startsWith(`${home}/test/`);
  return { ...source, home, package: name, isTest, imports };
}

/** Source files that the product consists of. @param {Workspace} workspace */
export function productFiles({ files }) {
  return files.filter(({ isTest }) => !isTest);
}

/**
 * Exceptions that no import needed.
 * @param {{ from: string, to: string }[]} all
 * @param {Set<object>} used
 * @param {string} list the name of the list
 */
export function unusedExceptions(all, used, list) {
  return all
    .filter((exception) => !used.has(exception))
    .map(
      ({ from, to }) =>
        `${from}: no longer needs its exception for ${to}: remove it from ${list} in ${TABLES}`,
    );
}

export const TABLES = 'tools/boundaries/tables.mjs';
