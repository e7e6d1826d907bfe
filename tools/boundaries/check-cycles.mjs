// Cycles: no file of a package may import itself through others. Which of two modules in a cycle
// runs first depends on which one is imported first, so a constant may be undefined for one caller
// and defined for another. Imports of types are exempt, because they do not exist at run time. URLs
// of worker files are exempt as well, because they load in another thread.

import * as tables from './tables.mjs';
import { productFiles, unusedExceptions } from './workspace.mjs';

/**
 * @param {import('./workspace.mjs').Workspace} workspace
 * @param {Pick<typeof tables, 'CYCLE_EXCEPTIONS'>} [lists]
 * @returns {string[]} problems
 */
export function checkCycles(workspace, { CYCLE_EXCEPTIONS } = tables) {
  const whole = new Map(productFiles(workspace).map((file) => [file.path, loadedBy(file)]));
  const used = new Set(
    CYCLE_EXCEPTIONS.filter(
      ({ from, to }) => whole.get(from)?.includes(to) && pathTo(whole, to, from) !== null,
    ),
  );
  const graph = new Map(
    [...whole].map(([path, targets]) => [path, targets.filter((to) => !isExcepted(path, to))]),
  );
  const problems = [];
  const reported = new Set();
  for (const [path, targets] of graph) {
    if (reported.has(path)) continue;
    const back = targets.map((target) => pathTo(graph, target, path)).filter((found) => found !== null);
    if (back.length === 0) continue;
    const shortest = back.reduce((best, found) => (found.length < best.length ? found : best));
    for (const member of shortest) reported.add(member);
    problems.push(`${path}: imports itself: ${[path, ...shortest].join(' → ')}`);
  }
  return [...problems, ...unusedExceptions(CYCLE_EXCEPTIONS, used, 'CYCLE_EXCEPTIONS')];

  /**
   * @param {string} path
   * @param {string} target
   */
  function isExcepted(path, target) {
    return CYCLE_EXCEPTIONS.some(({ from, to }) => from === path && to === target);
  }
}

/** @param {import('./workspace.mjs').SourceFile} file */
function loadedBy({ imports }) {
  return imports
    .filter(({ kind }) => kind === 'value' || kind === 'dynamic')
    .map(({ target }) => target)
    .filter((target) => target !== null);
}

/**
 * The shortest path from one file to another, both included; null if there is none.
 * @param {Map<string, string[]>} graph
 * @param {string} from
 * @param {string} to
 * @returns {string[] | null}
 */
function pathTo(graph, from, to) {
  const before = new Map([[from, /** @type {string | null} */ (null)]]);
  for (const path of before.keys()) {
    if (path === to) {
      const found = [path];
      for (let step = before.get(path); step; step = before.get(step)) found.unshift(step);
      return found;
    }
    for (const next of graph.get(path) ?? []) if (!before.has(next)) before.set(next, path);
  }
  return null;
}
