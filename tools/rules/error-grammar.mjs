// Refuses error messages that do not follow the grammar of STYLE.md:
// `Cannot <do what>: <what was expected>, got <what came> (<where>)`, without a full stop.
//
// The rule reads `new …Error(…)` and the `super(…)` of error classes, where the message is a text
// or a template. A message that is computed elsewhere cannot be read here. A class whose `super(…)`
// begins with "Cannot" writes the first half itself, so its callers give the rest. Classes with a
// grammar of their own are listed in exceptions.mjs.

import { isNode, visitNodes } from '../source/parse-source.mjs';
import { isTestCode } from './rule.mjs';

/** @typedef {import('../source/parse-source.mjs').Node} Node */
/** @typedef {import('../source/parse-source.mjs').Source} Source */

const GRAMMAR = /^Cannot [^:]+: .*[^.]$/s;

/**
 * Returns the rule for a tree.
 * @param {Source[]} sources all sources, for the classes that write "Cannot" themselves
 * @param {readonly { name: string }[]} ownGrammar classes with a grammar of their own
 * @returns {import('./rule.mjs').Rule}
 */
export function errorGrammar(sources, ownGrammar) {
  const exempt = new Set([...sources.flatMap(classesThatBegin), ...ownGrammar.map(({ name }) => name)]);
  return (source) => {
    if (!/^(?:packages|apps)\/[^/]+\/src\//.test(source.path) || isTestCode(source.path)) return [];
    /** @type {import('./rule.mjs').Refusal[]} */
    const found = [];
    visitNodes(source, (node, ancestors) => {
      const name = errorName(node, ancestors);
      if (name === null || exempt.has(name)) return;
      const message = messageOf(node);
      if (message === null || GRAMMAR.test(message)) return;
      const line = source.lineOf(node.start);
      found.push({
        line,
        text: `Cannot accept a message: expected "Cannot <do what>: <reason>" without a full stop, got "${message}"`,
      });
    });
    return found;
  };
}

/**
 * Names of the error classes in a source whose messages begin with "Cannot" by themselves.
 * @param {Source} source
 */
function classesThatBegin(source) {
  /** @type {string[]} */
  const names = [];
  visitNodes(source, (node, ancestors) => {
    const name = errorName(node, ancestors);
    if (name !== null && isSuper(node) && /^Cannot …?/.test(messageOf(node) ?? '')) names.push(name);
  });
  return names;
}

/**
 * The class of the error that a node makes, or null for another node.
 * @param {Node} node
 * @param {Node[]} ancestors
 */
function errorName(node, ancestors) {
  if (isSuper(node)) {
    const owner = ancestors.find(({ type }) => type === 'ClassDeclaration' || type === 'ClassExpression');
    const name = isNode(owner?.id) ? String(owner.id.name) : '';
    return name.endsWith('Error') ? name : null;
  }
  if (node.type !== 'NewExpression' || !isNode(node.callee)) return null;
  const name = String(node.callee.name ?? '');
  return name.endsWith('Error') ? name : null;
}

/** @param {Node} node */
function isSuper({ type, callee }) {
  return type === 'CallExpression' && isNode(callee) && callee.type === 'Super';
}

/**
 * The message among the arguments, with … for what is computed. Codes have no spaces. Null if no
 * argument is a text.
 * @param {Node} node
 * @returns {string | null}
 */
function messageOf(node) {
  if (!Array.isArray(node.arguments)) return null;
  const texts = node.arguments.map(textOf).filter((text) => text !== null);
  return texts.find((text) => text.includes(' ')) ?? null;
}

/** @param {unknown} node @returns {string | null} */
function textOf(node) {
  if (!isNode(node)) return null;
  if (node.type === 'Literal') return typeof node.value === 'string' ? node.value : null;
  if (node.type === 'TemplateLiteral') {
    const parts = /** @type {{ value: { cooked: string } }[]} */ (node.quasis);
    return parts.map(({ value }) => value.cooked).join('…');
  }
  if (node.type === 'BinaryExpression' && node.operator === '+') {
    const [left, right] = [textOf(node.left), textOf(node.right)];
    return left === null && right === null ? null : `${left ?? '…'}${right ?? '…'}`;
  }
  if (node.type === 'ConditionalExpression') return textOf(node.consequent) ?? textOf(node.alternate);
  return null;
}
