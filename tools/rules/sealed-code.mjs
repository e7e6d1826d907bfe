// Refuses the real world in code that a simulation runs: timers, clocks and randomness that do not
// come from a `Clock`. It looks at decisions (`decisions/`, `policy/`), at every `simulation/` room
// and at packages/sim. During a run the globals throw (packages/sim/src/engine/seal.ts); this rule
// finds them before, and finds the imports that the globals do not cover.
//
// boundaries/check-purity.mjs refuses more (all I/O, by all that is loaded), but not in simulation/
// rooms, which read traces from files.

import { isNode, visitNodes } from '../source/parse-source.mjs';

const SCOPE = /^packages\/(?:sim\/src\/|[^/]+\/src\/(?:.*\/)?(?:decisions|policy|simulation)\/)/;
const GLOBALS = ['setTimeout', 'setInterval', 'setImmediate', 'systemClock'];
const MEMBERS = [
  'Date.now',
  'performance.now',
  'Math.random',
  'crypto.randomUUID',
  'crypto.getRandomValues',
  'process.hrtime',
  'process.nextTick',
];
const MODULES = ['node:timers', 'node:timers/promises', 'node:perf_hooks'];
const RANDOM_IMPORTS = /^(?:random|getRandomValues|webcrypto)/;

/** @type {import('./rule.mjs').Rule} */
export function sealedCode(source) {
  if (!SCOPE.test(source.path) || /\.test\.ts$/.test(source.path)) return [];
  /** @type {import('./rule.mjs').Refusal[]} */
  const found = [];
  visitNodes(source, (node, [parent]) => {
    const what = realWorld(node, parent);
    if (what === null) return;
    found.push({
      line: source.lineOf(node.start),
      text: `Cannot run code in a simulation: expected time and randomness from a Clock, got ${what}`,
    });
  });
  return found;
}

/**
 * The part of the real world that a node of the syntax tree uses, or null.
 * @param {import('../source/parse-source.mjs').Node} node
 * @param {import('../source/parse-source.mjs').Node | undefined} parent
 */
function realWorld(node, parent) {
  const { type, object, property, source, specifiers, callee } = node;
  if (type === 'ImportDeclaration' && isNode(source)) {
    const module = String(source.value);
    if (MODULES.includes(module)) return `an import of ${module}`;
    const names = /** @type {{ imported?: { name: string } }[]} */ (specifiers ?? []);
    const random = names.find(({ imported }) => RANDOM_IMPORTS.test(imported?.name ?? ''));
    return module === 'node:crypto' && random ? `an import of ${random.imported?.name}` : null;
  }
  if (type === 'MemberExpression' && isNode(object) && isNode(property)) {
    const member = `${nameOf(object)}.${property.name ?? property.value}`;
    return MEMBERS.includes(member) ? member : null;
  }
  if (type === 'NewExpression' || type === 'CallExpression') {
    const isDate = isNode(callee) && nameOf(callee) === 'Date';
    const isBare = Array.isArray(node.arguments) && node.arguments.length === 0;
    if (isDate && (isBare || type === 'CallExpression')) return 'the time by Date';
  }
  if (type !== 'Identifier' || !GLOBALS.includes(String(node.name))) return null;
  // The name after a dot counts if the object is the global one; a key of an object does not.
  if (parent?.type === 'MemberExpression' && parent.property === node && parent.computed !== true)
    return isNode(parent.object) && parent.object.name === 'globalThis' ? String(node.name) : null;
  return parent?.key === node ? null : String(node.name);
}

/** @param {import('../source/parse-source.mjs').Node} node */
function nameOf({ type, name, object, property }) {
  if (type === 'Identifier') return String(name);
  if (type !== 'MemberExpression' || !isNode(object) || !isNode(property)) return '';
  return object.name === 'globalThis' ? String(property.name) : '';
}
