// Applies the rules to the sources of the repository and takes out the exceptions.

import { closeTo } from './close-to.mjs';
import { commentLists } from './comment-lists.mjs';
import { commentWidth } from './comment-width.mjs';
import { commentWords } from './comment-words.mjs';
import { errorGrammar } from './error-grammar.mjs';
import { realTimers } from './real-timers.mjs';
import { sealedCode } from './sealed-code.mjs';

const LIST = 'tools/rules/exceptions.mjs';

/**
 * @param {import('./rule.mjs').Source[]} sources
 * @param {typeof import('./exceptions.mjs')} exceptions
 * @returns {string[]} the problems
 */
export function applyRules(sources, { OWN_GRAMMAR, EXCEPTIONS }) {
  /** @type {Record<string, import('./rule.mjs').Rule>} */
  const rules = {
    'comment-lists': commentLists,
    'comment-width': commentWidth,
    'comment-words': commentWords,
    'error-grammar': errorGrammar(sources, OWN_GRAMMAR),
    'close-to': closeTo,
    'real-timers': realTimers,
    'sealed-code': sealedCode,
  };
  /** @type {string[]} */
  const problems = [];
  const used = new Set();
  for (const source of sources) {
    const { path } = source;
    for (const [rule, check] of Object.entries(rules)) {
      const refusals = check(source);
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
  return problems;
}
