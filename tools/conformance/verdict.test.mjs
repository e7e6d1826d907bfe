import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { keepPage, partsOf, summaryOf, verdictOf } from './verdict.mjs';

const EXPECTED = {
  required: { shown: 1, all: 2 },
  optimal: { shown: 1, all: 1 },
  differences: [{ tests: ['b'], kind: 'required', reason: 'on purpose' }],
};
/** @type {import('./verdict.mjs').Result[]} */
const RESULTS = [
  { id: 'a', kind: 'required', passed: true },
  { id: 'b', kind: 'required', passed: false },
  { id: 'c', kind: 'optimal', passed: true },
];
const changed = (/** @type {string} */ id, /** @type {boolean} */ passed) =>
  RESULTS.map((result) => (result.id === id ? { ...result, passed } : result));

test('verdictOf finds nothing where all results are as listed', () => {
  const { counts, surprises } = verdictOf(RESULTS, EXPECTED);
  expect(surprises).toEqual([]);
  expect(summaryOf(counts)).toBe('1 of 2 required, 1 of 1 optimal');
});

test('verdictOf names a failure that is not listed', () => {
  expect(verdictOf(changed('c', false), EXPECTED).surprises).toEqual([
    'c (optimal) fails, and the list does not say so',
  ]);
});

test('verdictOf names a listed test that passes', () => {
  expect(verdictOf(changed('b', true), EXPECTED).surprises).toEqual([
    'b (required) passes, and the list says that it fails',
  ]);
});

test('verdictOf names a listed test that the suite does not have, and another number of tests', () => {
  expect(verdictOf(RESULTS.slice(0, 1), EXPECTED).surprises).toEqual([
    'b is in the list, and the suite has no such test',
    'The suite has 1 required tests, the list 2',
    'The suite has 0 optimal tests, the list 1',
  ]);
});

test('partsOf writes figures and table from the list', () => {
  expect(partsOf(EXPECTED)).toEqual({
    figures: 'The node shows **1 of 2 required behaviours and 1 of 1 optimal ones**.',
    differences: '| behaviour | reason |\n|---|---|\n| `b` (required) | on purpose |',
  });
});

test('the page of the cache has the figures and the table of the list', () => {
  const at = (/** @type {string} */ path) => fileURLToPath(new URL(path, import.meta.url));
  const list = JSON.parse(readFileSync(at('./differences.json'), 'utf8'));
  expect(keepPage(at('../../docs/spec/cache-conformance.md'), list, false)).toBe(true);
});
