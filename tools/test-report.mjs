// The last lines of tools/test.mjs, made from the report of Vitest's JSON reporter.

import { relative } from 'node:path';

/**
 * The fields of Vitest's report that are read here.
 * @typedef {object} Report
 * @property {{ name: string, startTime: number, endTime: number, status?: string }[]} testResults
 */

/** @typedef {{ numPassedTests: number, numFailedTests: number, numPendingTests: number }} Counts */

/**
 * Seconds on two idle cores. Exceeding them is a warning and not a failure, because a busy machine
 * is not the fault of a change. docs/notes/tests.md says what to do about it.
 */
export const BUDGETS = { quick: 3 * 60, whole: 35 * 60 };

/** The most files that get a second run. More failures than that are not a busy machine. */
const MOST_REPEATED = 3;

/**
 * The files with failed tests, if there are so few of them that the load of the machine may be the
 * reason; otherwise an empty list. Such files run again, alone.
 * @param {Report} report
 * @param {string} root
 */
export function filesToRepeat(report, root) {
  const failed = report.testResults.filter(({ status }) => status === 'failed');
  const paths = [...new Set(failed.map(({ name }) => relative(root, name)))];
  return paths.length > MOST_REPEATED ? [] : paths;
}

/**
 * One line for each of the ten files that took longest. A file that ran in Node and in Chromium
 * counts once, by its sum.
 * @param {Report} report
 * @param {string} root
 * @param {number} [count]
 */
export function slowestFiles(report, root, count = 10) {
  const times = new Map();
  for (const { name, startTime, endTime } of report.testResults) {
    const path = relative(root, name);
    times.set(path, (times.get(path) ?? 0) + endTime - startTime);
  }
  return [...times]
    .sort(([, a], [, b]) => b - a)
    .slice(0, count)
    .map(([path, ms]) => `${(ms / 1000).toFixed(1).padStart(7)} s  ${path}`);
}

/**
 * The warning for a run that took `seconds`, or undefined if it kept its budget.
 * @param {number} seconds
 * @param {boolean} quick
 */
export function overBudget(seconds, quick) {
  const budget = quick ? BUDGETS.quick : BUDGETS.whole;
  if (seconds <= budget) return undefined;
  const name = quick ? 'npm run test:quick' : 'npm test';
  return (
    `Warning: ${name} took ${seconds} s, and its budget is ${budget} s on two idle cores. ` +
    'If the machine was idle, see docs/notes/tests.md.'
  );
}

/** @param {Counts} counts */
export function countLine({ numPassedTests, numFailedTests, numPendingTests }) {
  return `tests: ${numPassedTests} passed, ${numFailedTests} failed, ${numPendingTests} skipped`;
}
