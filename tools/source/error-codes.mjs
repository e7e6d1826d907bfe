// Finds the error classes that have a `code`, and their codes, for the check of docs/errors.md.
//
// A code is the value of the field, or the texts in its type: a union, or an alias of one in the
// same file. A class whose codes cannot be read is an error, so that none is left out. A class that
// inherits its `code` has the codes of its parent.

import { isNode, visitNodes } from './parse-source.mjs';

/** @typedef {import('./parse-source.mjs').Node} Node */

/**
 * @param {import('./parse-source.mjs').Source} source
 * @returns {{ name: string, codes: string[] }[]}
 */
export function errorCodes(source) {
  /** @type {Map<string, unknown>} */
  const aliases = new Map();
  /** @type {{ name: string, field: Node }[]} */
  const fields = [];
  visitNodes(source, (node, ancestors) => {
    if (node.type === 'TSTypeAliasDeclaration') aliases.set(nameOf(node.id), node.typeAnnotation);
    if (node.type !== 'PropertyDefinition' || nameOf(node.key) !== 'code') return;
    const name = nameOf(ancestors.find(({ type }) => type.startsWith('Class') && type !== 'ClassBody')?.id);
    if (name.endsWith('Error')) fields.push({ name, field: node });
  });
  return fields.map(({ name, field }) => {
    const type = isNode(field.typeAnnotation) ? field.typeAnnotation.typeAnnotation : null;
    const codes = isNode(field.value) ? textsOf(field.value, aliases) : textsOf(type, aliases);
    if (codes.length === 0) {
      const where = `${source.path}:${source.lineOf(field.start)}`;
      throw new TypeError(`Cannot read the codes of ${name}: expected a union of texts (${where})`);
    }
    return { name, codes };
  });
}

/**
 * The texts in a value or in a type.
 * @param {unknown} node
 * @param {Map<string, unknown>} aliases
 * @returns {string[]}
 */
function textsOf(node, aliases) {
  if (!isNode(node)) return [];
  if (node.type === 'Literal') return typeof node.value === 'string' ? [node.value] : [];
  if (node.type === 'TSLiteralType') return textsOf(node.literal, aliases);
  if (node.type === 'TSUnionType' && Array.isArray(node.types)) {
    return node.types.flatMap((type) => textsOf(type, aliases));
  }
  return node.type === 'TSTypeReference' ? textsOf(aliases.get(nameOf(node.typeName)), aliases) : [];
}

/** @param {unknown} node */
function nameOf(node) {
  return isNode(node) ? String(node.name ?? '') : '';
}
