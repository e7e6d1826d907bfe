// Purity: the library, and every `policy/`, `math/` and `decisions/` of the other packages, compute
// from their arguments alone. They ask no clock, draw no randomness and do no I/O. That lets tests
// and simulations run them with a time and a seed of their own.
//
// A file counts as impure if a file that it loads is impure, however far away. Imports of types do
// not load anything. `new Date(value)`, `Date.UTC` and `Date.parse` are functions of their
// arguments, so they pass. A local name such as `process` is refused as well as the global: readers
// could not tell them apart.

import { isNode, visitNodes } from '../source/parse-source.mjs';
import * as tables from './tables.mjs';
import { productFiles } from './workspace.mjs';

/** @typedef {import('./workspace.mjs').SourceFile} SourceFile */
/** @typedef {import('../source/parse-source.mjs').Node} Node */
/** @typedef {{ what: string, line: number }} Use */

/**
 * @param {import('./workspace.mjs').Workspace} workspace
 * @param {Pick<typeof tables, 'IMPURE_GLOBALS' | 'PLATFORM'>} tables
 * @returns {string[]} problems
 */
export function checkPurity(workspace, { IMPURE_GLOBALS, PLATFORM } = tables) {
  const files = new Map(productFiles(workspace).map((file) => [file.path, file]));
  return [...files.values()].filter(isPureRoom).flatMap((file) => {
    const closure = loadedFrom(file, files);
    return [...closure].flatMap(([path, before]) => {
      // A file of a pure room reports its own uses.
      const loaded = files.get(path);
      if (loaded === undefined || (path !== file.path && isPureRoom(loaded))) return [];
      const way = path === file.path ? '' : `, by way of ${wayTo(path, before, closure)}`;
      return usesIn(loaded).map(
        ({ what, line }) =>
          `Cannot keep ${file.path} pure: expected no clock, randomness or I/O, got ${what}${way} (${path}:${line})`,
      );
    });
  });

  /** @param {SourceFile} file @returns {Use[]} */
  function usesIn(file) {
    return [...impureImports(file), ...(file.path === PLATFORM ? [] : impureNames(file, IMPURE_GLOBALS))];
  }
}

/** @param {SourceFile} file */
function isPureRoom({ path, package: name }) {
  return name === 'bloomery' || /\/src\/(?:.*\/)?(?:policy|math|decisions)\//.test(path);
}

/**
 * Every file that loads with `start`, and the file that imports it.
 * @param {SourceFile} start
 * @param {Map<string, SourceFile>} files
 * @returns {Map<string, string | null>}
 */
function loadedFrom(start, files) {
  const before = new Map([[start.path, /** @type {string | null} */ (null)]]);
  for (const path of before.keys()) {
    for (const { kind, target } of files.get(path)?.imports ?? []) {
      if (target !== null && kind !== 'type' && !before.has(target)) before.set(target, path);
    }
  }
  return before;
}

/**
 * @param {string} path
 * @param {string | null} before
 * @param {Map<string, string | null>} closure
 */
function wayTo(path, before, closure) {
  const way = [path];
  for (let step = before; step !== null; step = closure.get(step) ?? null) way.unshift(step);
  return way.join(' → ');
}

/**
 * Packages that may be impure. The library may not, so importing it is no use.
 * check-packages.mjs refuses all others for the library itself.
 * @param {SourceFile} file
 * @returns {Use[]}
 */
function impureImports(file) {
  if (file.package === 'bloomery') return [];
  return file.imports
    .filter(({ kind, target, specifier }) => {
      return target === null && kind !== 'type' && !/^bloomery(?:\/|$)/.test(specifier);
    })
    .map(({ specifier, line }) => ({ what: `an import of ${specifier}`, line }));
}

/**
 * @param {SourceFile} file
 * @param {readonly string[]} globals
 * @returns {Use[]}
 */
function impureNames(file, globals) {
  /** @type {Use[]} */
  const uses = [];
  visitNodes(file, (node, [parent]) => {
    if (node.type !== 'Identifier' || typeof node.name !== 'string' || isPropertyName(node, parent)) return;
    const what = globals.includes(node.name) ? node.name : impureUse(node, parent);
    if (what !== null) uses.push({ what, line: file.lineOf(node.start) });
  });
  return uses;
}

/**
 * True for the name after a dot, the key of an object, class or interface, and the name of a type.
 * @param {Node} node
 * @param {Node} parent
 */
function isPropertyName(node, parent) {
  if (parent.type === 'TSTypeReference') return true;
  if (parent.computed === true) return false;
  if (parent.type === 'MemberExpression') return parent.property === node;
  return parent.key === node;
}

/**
 * Uses of `Date` and `Math` that do not depend on arguments alone.
 * @param {Node} node
 * @param {Node} parent
 */
function impureUse(node, parent) {
  const member = memberOf(node, parent);
  if (node.name === 'Math') return member === 'random' || member === null ? `Math.${member ?? '…'}` : null;
  if (node.name !== 'Date') return null;
  if (member !== null) return member === 'UTC' || member === 'parse' ? null : `Date.${member}`;
  const isGiven =
    parent.type === 'NewExpression' && Array.isArray(parent.arguments) && parent.arguments.length > 0;
  return isGiven ? null : 'the time by Date';
}

/**
 * The member that is taken of an object, or null if it cannot be told.
 * @param {Node} node
 * @param {Node} parent
 */
function memberOf(node, parent) {
  if (parent.type !== 'MemberExpression' || parent.object !== node || !isNode(parent.property)) return null;
  const { name, value } = parent.property;
  const member = parent.computed === true ? value : name;
  return typeof member === 'string' ? member : null;
}
