// Refuses `toBeCloseTo` without an error bound. Its default is two digits, which is right for
// hardly any number, and a number of digits that was picked until the test passed cannot fail for a
// reason. So it is given the number of digits, and a comment at the end of its line or above its
// statement says where the error comes from. One comment serves the statements that follow
// directly. Measured numbers are tested by the 5-sigma functions of the test kit instead.

import { isNode, visitNodes } from '../source/parse-source.mjs';

/** @typedef {import('../source/parse-source.mjs').Node} Node */

/** @type {import('./rule.mjs').Rule} */
export function closeTo(source) {
  const commentEnds = new Set(source.comments.map(({ end }) => source.lineOf(end)));
  /** Last lines of statements with a bound, so that a statement below them shares it. */
  const coveredEnds = new Set();
  /** @type {import('./rule.mjs').Refusal[]} */
  const found = [];
  visitNodes(source, (node, ancestors) => {
    if (!isCloseTo(node)) return;
    const line = source.lineOf(Number(/** @type {Node} */ (node.callee).end));
    const digits = Array.isArray(node.arguments) ? node.arguments[1] : undefined;
    if (digits === undefined) {
      found.push({ line, text: 'Cannot accept toBeCloseTo: expected a number of digits, got none' });
      return;
    }
    const statement = ancestors.find(({ type }) => type.endsWith('Statement')) ?? node;
    const first = source.lineOf(statement.start);
    const last = source.lineOf(statement.end);
    if (commentEnds.has(first - 1) || commentEnds.has(last) || coveredEnds.has(first - 1))
      coveredEnds.add(last);
    else
      found.push({
        line,
        text: 'Cannot accept toBeCloseTo: expected a comment that states its error bound, got none',
      });
  });
  return found;
}

/** @param {Node} node */
function isCloseTo({ type, callee }) {
  if (type !== 'CallExpression' || !isNode(callee) || !isNode(callee.property)) return false;
  return callee.property.name === 'toBeCloseTo' || callee.property.name === 'closeTo';
}
