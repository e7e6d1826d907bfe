// Decides whether references resolve: files in, problems out. A link must lead to a file or a
// folder, and its anchor to a heading. A path in backticks must exist if it begins with a folder of
// the root; a path that ends like a source file may be the end of a longer one, such as
// `math/rates.ts`.

import { posix } from 'node:path';
import { anchorsOf, referencesIn } from './references.mjs';

const SOURCE = /\.(?:ts|mjs|md|cpp|lua)$/;

/**
 * @param {{ pages: Map<string, string>, files: string[] }} repository the texts of the Markdown files
 *   by path, and the paths of all files
 * @param {string[]} formerPaths mentions that pages make of what is no longer there
 * @returns {string[]} problems
 */
export function checkReferences({ pages, files }, formerPaths = []) {
  const known = new Set(files.flatMap(withFolders));
  const rooms = new Set(files.filter((path) => path.includes('/')).map((path) => path.split('/')[0]));
  /** @type {string[]} */
  const problems = [];
  for (const [page, text] of pages) {
    for (const { line, kind, target } of referencesIn(text)) {
      const reason = kind === 'link' ? linkProblem(page, target) : mentionProblem(page, target);
      if (reason !== null) problems.push(`${page}:${line}: ${kind}s ${target}, ${reason}`);
    }
  }
  return problems;

  /**
   * @param {string} page
   * @param {string} target
   */
  function linkProblem(page, target) {
    const [path, anchor] = target.split('#');
    const file = path === '' ? page : posix.join(posix.dirname(page), path).replace(/\/$/, '');
    if (!known.has(file)) return 'which does not exist';
    if (anchor === undefined || !pages.has(file)) return null;
    return anchorsOf(pages.get(file) ?? '').has(anchor) ? null : `but ${file} has no such heading`;
  }

  /**
   * @param {string} page
   * @param {string} target
   */
  function mentionProblem(page, target) {
    const path = target.replace(/\/$/, '');
    const besides = posix.join(posix.dirname(page), path);
    if (known.has(path) || known.has(besides) || formerPaths.includes(path)) return null;
    if (rooms.has(path.split('/')[0])) return 'which does not exist';
    if (!SOURCE.test(path) || path.startsWith('.')) return null;
    return files.some((file) => file.endsWith(`/${path}`)) ? null : 'which is the end of no path';
  }
}

/**
 * A path and the folders above it.
 * @param {string} path
 */
function withFolders(path) {
  const parts = path.split('/');
  return parts.map((_, i) => parts.slice(0, i + 1).join('/'));
}
