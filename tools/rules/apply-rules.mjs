// Applies the rules to the sources of the repository and takes out the exceptions.

import { closeTo } from './close-to.mjs';
import { commentWidth } from './comment-width.mjs';
import { commentWords } from './comment-words.mjs';
import { errorGrammar } from './error-grammar.mjs';
import { realTimers } from './real-timers.mjs';

const LIST = 'tools/rules/exceptions.mjs';

/**
 * @typedef {object} Findings
 * @property {string[]} problems
 * @property {Map<string, number>} excepted the number of refusals in each folder of UNDER_REPAIR
 */

/**
 * @param {import('./rule.mjs').Source[]} sources
 * @param {typeof import('./exceptions.mjs')} exceptions
 * @returns {Findings}
 */
export function applyRules(sources, { UNDER_REPAIR, OWN_GRAMMAR, EXCEPTIONS }) {
  /** @type {Record<string, import('./rule.mjs').Rule>} */
  const rules = {
    'comment-width': commentWidth,
    'comment-words': commentWords,
    'error-grammar': errorGrammar(sources, OWN_GRAMMAR),
    'close-to': closeTo,
    'real-timers': realTimers,
  };
  /** @type {string[]} */
  const problems = [];
  /** @type {Map<string, number>} */
  const excepted = new Map();
  const used = new Set();
  for (const source of sources) {
    const { path } = source;
    const folder = UNDER_REPAIR.find((start) => path.startsWith(start));
    for (const [rule, check] of Object.entries(rules)) {
      const refusals = check(source);
      if (folder !== undefined) {
        excepted.set(folder, (excepted.get(folder) ?? 0) + refusals.length);
        continue;
      }
      const exception = EXCEPTIONS.find((one) => one.rule === rule && one.path === path);
      if (exception !== undefined && exception.count === refusals.length) {
        used.add(exception);
        continue;
      }
      problems.push(...refusals.map(({ line, text }) => `${text} (${path}:${line})`));
    }
  }
  for (const exception of EXCEPTIONS.filter((one) => !used.has(one))) {
    const { rule, path, count } = exception;
    problems.push(
      `Cannot use an exception: expected ${count} refusals of ${rule} in ${path}, got another number (${LIST})`,
    );
  }
  return { problems, excepted };
}
