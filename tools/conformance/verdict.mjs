// Compares the results of http-tests/cache-tests with the list of deliberate differences
// (differences.json), and writes the list as the table of docs/spec/cache-conformance.md. A
// difference counts in both directions: a listed test that passes makes the list wrong, as much as
// a failure that is not listed.

import { keepPart } from '../written-part.mjs';

/**
 * @typedef {{ id: string, kind: 'required' | 'optimal', passed: boolean }} Result
 * @typedef {{ tests: string[], kind: string, reason: string }} Difference
 * @typedef {{ shown: number, all: number }} Count
 * @typedef {{ required: Count, optimal: Count, differences: Difference[] }} Expected
 */

/**
 * The counts of a run, and a line for each test that does not do what the list says.
 *
 * @param {readonly Result[]} results
 * @param {Expected} expected
 */
export function verdictOf(results, { required, optimal, differences }) {
  const listed = new Set(differences.flatMap(({ tests }) => tests));
  const counts = { required: countOf(results, 'required'), optimal: countOf(results, 'optimal') };
  /** @type {string[]} */
  const surprises = [];
  for (const { id, kind, passed } of results) {
    if (!passed && !listed.has(id)) surprises.push(`${id} (${kind}) fails, and the list does not say so`);
    if (passed && listed.has(id)) surprises.push(`${id} (${kind}) passes, and the list says that it fails`);
    listed.delete(id);
  }
  for (const id of listed) surprises.push(`${id} is in the list, and the suite has no such test`);
  for (const { kind, count, was } of [
    { kind: 'required', count: counts.required, was: required },
    { kind: 'optimal', count: counts.optimal, was: optimal },
  ]) {
    if (count.all !== was.all)
      surprises.push(`The suite has ${count.all} ${kind} tests, the list ${was.all}`);
  }
  return { counts, surprises };
}

/**
 * The one line that a run is about, such as `159 of 160 required, 98 of 105 optimal`.
 * @param {Pick<Expected, 'required' | 'optimal'>} counts
 */
export function summaryOf({ required, optimal }) {
  return `${required.shown} of ${required.all} required, ${optimal.shown} of ${optimal.all} optimal`;
}

/**
 * The parts of the page that are written from the list, by the name in their comments.
 *
 * @param {Expected} expected
 */
export function partsOf({ required, optimal, differences }) {
  const rows = differences.map(
    ({ tests, kind, reason }) =>
      `| ${tests.map((id) => `\`${id}\``).join(', ')}${kind === 'required' ? ' (required)' : ''} | ${reason} |`,
  );
  return {
    figures:
      `The node shows **${required.shown} of ${required.all} required behaviours and ` +
      `${optimal.shown} of ${optimal.all} optimal ones**.`,
    differences: ['| behaviour | reason |', '|---|---|', ...rows].join('\n'),
  };
}

/**
 * Compares the page with the list, or writes it; see `keepPart`.
 * @param {string} page
 * @param {Expected} expected
 * @param {boolean} write
 */
export function keepPage(page, expected, write) {
  const kept = Object.entries(partsOf(expected)).map(([name, text]) =>
    keepPart({
      page,
      begin: `<!-- ${name}: written by tools/cache-conformance.mjs -->`,
      end: `<!-- end of ${name} -->`,
      text,
      tool: 'tools/cache-conformance.mjs',
      write,
    }),
  );
  return kept.every(Boolean);
}

/**
 * @param {readonly Result[]} results
 * @param {Result['kind']} kind
 */
function countOf(results, kind) {
  const ofKind = results.filter((result) => result.kind === kind);
  return { shown: ofKind.filter(({ passed }) => passed).length, all: ofKind.length };
}
