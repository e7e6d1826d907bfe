// Refuses real time in tests: setTimeout, setInterval, node:timers/promises and Atomics.wait. A
// pause that is long enough on an idle machine is too short on a busy one, and makes every run as
// slow as the slowest machine. A test waits for an event, or asks for it by `eventually` of the
// test kit; code that measures time is given a virtual clock. A timer that is kept in a variable
// and cleared is a deadline, and passes. Files that need real time are listed in exceptions.mjs,
// with the number of their uses and a reason.

import { isNode, visitNodes } from '../source/parse-source.mjs';
import { isTestCode } from './rule.mjs';

const TIMERS = ['setTimeout', 'setInterval'];
const MODULES = ['node:timers', 'node:timers/promises'];

/** @type {import('./rule.mjs').Rule} */
export function realTimers(source) {
  if (!isTestCode(source.path)) return [];
  /** @type {import('./rule.mjs').Refusal[]} */
  const found = [];
  /** Names under which this file imports timers. */
  const imported = new Set();
  const cleared = clearedNames(source);
  visitNodes(source, (node, [parent]) => {
    if (
      node.type === 'ImportDeclaration' &&
      isNode(node.source) &&
      MODULES.includes(String(node.source.value))
    )
      for (const { local } of /** @type {{ local: { name: string } }[]} */ (node.specifiers))
        imported.add(local.name);
    if (node.type !== 'CallExpression' || !isNode(node.callee)) return;
    const name = calledName(node.callee);
    if (!imported.has(name) && !TIMERS.includes(name) && name !== 'Atomics.wait') return;
    if (parent.type === 'VariableDeclarator' && isNode(parent.id) && cleared.has(String(parent.id.name)))
      return;
    found.push({
      line: source.lineOf(node.start),
      text: `Cannot accept a wait in a test: expected it to wait for an event, got ${name}`,
    });
  });
  return found;
}

/** @param {import('../source/parse-source.mjs').Node} callee */
function calledName({ type, name, object, property }) {
  if (type === 'Identifier') return String(name);
  if (type !== 'MemberExpression' || !isNode(object) || !isNode(property)) return '';
  const isGlobal = object.name === 'globalThis' || object.name === 'window';
  return isGlobal ? String(property.name) : `${object.name}.${property.name}`;
}

/**
 * Names of variables that are passed to clearTimeout or clearInterval.
 * @param {import('./rule.mjs').Source} source
 */
function clearedNames(source) {
  const names = new Set();
  visitNodes(source, (node) => {
    if (node.type !== 'CallExpression' || !isNode(node.callee) || !Array.isArray(node.arguments)) return;
    if (!['clearTimeout', 'clearInterval'].includes(calledName(node.callee))) return;
    const [timer] = node.arguments;
    if (isNode(timer) && timer.type === 'Identifier') names.add(String(timer.name));
  });
  return names;
}
