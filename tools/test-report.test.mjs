import { expect, test } from 'vitest';
import { BUDGETS, countLine, filesToRepeat, overBudget, slowestFiles } from './test-report.mjs';

const ran = (/** @type {string} */ name, /** @type {number} */ ms) => ({
  name: `/clone/${name}`,
  startTime: 1000,
  endTime: 1000 + ms,
});

test('slowestFiles adds up what a file took in Node and in Chromium, and begins with the slowest', () => {
  const testResults = [
    ran('a.test.ts', 4000),
    ran('b.test.ts', 5000),
    ran('a.test.ts', 3500),
    ran('c.test.ts', 10),
  ];
  expect(slowestFiles({ testResults }, '/clone', 2)).toEqual([
    '    7.5 s  a.test.ts',
    '    5.0 s  b.test.ts',
  ]);
});

test.each([
  [true, BUDGETS.quick, 'npm run test:quick took 181 s, and its budget is 180 s'],
  [false, BUDGETS.whole, 'npm test took 2101 s, and its budget is 2100 s'],
])('overBudget warns of a run that takes longer than its budget (quick: %s)', (quick, budget, warning) => {
  expect(overBudget(budget, quick)).toBeUndefined();
  expect(overBudget(budget + 1, quick)).toContain(warning);
});

test('countLine is the line that ends a run', () => {
  expect(countLine({ numPassedTests: 3, numFailedTests: 0, numPendingTests: 1 })).toBe(
    'tests: 3 passed, 0 failed, 1 skipped',
  );
});

test('filesToRepeat names each failed file once, and none if more than three failed', () => {
  const failed = (/** @type {string} */ name) => ({ ...ran(name, 1), status: 'failed' });
  const passed = { ...ran('p.test.ts', 1), status: 'passed' };
  const two = [failed('a.test.ts'), passed, failed('a.test.ts'), failed('b.test.ts')];
  expect(filesToRepeat({ testResults: two }, '/clone')).toEqual(['a.test.ts', 'b.test.ts']);
  expect(filesToRepeat({ testResults: [passed] }, '/clone')).toEqual([]);
  const four = ['a', 'b', 'c', 'd'].map((name) => failed(`${name}.test.ts`));
  expect(filesToRepeat({ testResults: four }, '/clone')).toEqual([]);
});
