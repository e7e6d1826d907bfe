// Finds the imports of a source: statements, `export … from`, `import()`, types by `import('…')`
// and `new URL('./x.ts', import.meta.url)`. It does not see `import(variable)`.

import { isNode, visitNodes } from '../source/parse-source.mjs';

/** @typedef {import('../source/parse-source.mjs').Node} Node */
/** @typedef {'value' | 'type' | 'dynamic' | 'url'} ImportKind */
/** @typedef {{ specifier: string, kind: ImportKind, line: number }} Import */

/**
 * Returns the imports. An import is of kind `type` if it does not exist at run time.
 * @param {import('../source/parse-source.mjs').Source} source
 * @returns {Import[]}
 */
export function importsOf(source) {
  /** @type {Import[]} */
  const found = [];
  visitNodes(source, (node) => {
    const kind = kindOf(node);
    if (kind === null) return;
    const specifier = textOf(kind === 'url' ? argumentsOf(node)[0] : node.source);
    if (specifier !== null) found.push({ specifier, kind, line: source.lineOf(node.start) });
  });
  return found;
}

/**
 * @param {Node} node
 * @returns {ImportKind | null}
 */
function kindOf(node) {
  switch (node.type) {
    case 'ImportDeclaration':
      return node.importKind === 'type' || areTypes(node.specifiers, 'importKind') ? 'type' : 'value';
    case 'ExportNamedDeclaration':
    case 'ExportAllDeclaration':
      return node.exportKind === 'type' || areTypes(node.specifiers, 'exportKind') ? 'type' : 'value';
    case 'ImportExpression':
      return 'dynamic';
    case 'TSImportType':
      return 'type';
    case 'NewExpression':
      return isAddress(node) ? 'url' : null;
    default:
      return null;
  }
}

/**
 * True if there are specifiers and each is marked as a type.
 * @param {unknown} specifiers
 * @param {string} kind
 */
function areTypes(specifiers, kind) {
  if (!Array.isArray(specifiers) || specifiers.length === 0) return false;
  return specifiers.every((specifier) => specifier[kind] === 'type');
}

/**
 * True for `new URL('./x', import.meta.url)`.
 * @param {Node} node
 */
function isAddress(node) {
  const [path, base] = argumentsOf(node);
  if (!isNode(node.callee) || node.callee.name !== 'URL' || !isNode(base)) return false;
  const isOfModule =
    base.type === 'MemberExpression' && isNode(base.object) && base.object.type === 'MetaProperty';
  return isOfModule && textOf(path)?.startsWith('.') === true;
}

/** @param {Node} node @returns {unknown[]} */
function argumentsOf(node) {
  return Array.isArray(node.arguments) ? node.arguments : [];
}

/** @param {unknown} node @returns {string | null} */
function textOf(node) {
  return isNode(node) && typeof node.value === 'string' ? node.value : null;
}
