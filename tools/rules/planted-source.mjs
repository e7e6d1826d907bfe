// What a rule refuses in a planted text, for the tests of the rules.

import { parseSource } from '../source/parse-source.mjs';

/**
 * Returns one line for each refusal, with the number of its line in front.
 * @param {import('./rule.mjs').Rule} rule
 * @param {string} text
 * @param {string} [path]
 */
export function refusalsOf(rule, text, path = 'packages/cache/src/a.ts') {
  return rule(parseSource(path, text)).map(({ line, text }) => `${line}: ${text}`);
}
