import { expect, test } from 'vitest';
import { parseSource } from '../source/parse-source.mjs';
import { applyRules } from './apply-rules.mjs';

const TEST = 'packages/cache/test/node/a.test.ts';
const FAULTS = `/** Of bytes, nobody's. */
setTimeout(f, 1);
expect(a).toBeCloseTo(1);
`;
const PRODUCT = `// ${'word '.repeat(20)}
throw new Error('no message');
`;

/** @type {Parameters<typeof applyRules>[1]} */
const NONE = { OWN_GRAMMAR: [], EXCEPTIONS: [] };

/** @param {Record<string, string>} files */
function sources(files) {
  return Object.entries(files).map(([path, text]) => parseSource(path, text));
}

test('every rule finds its planted fault, with the path and the line', () => {
  const problems = applyRules(sources({ [TEST]: FAULTS, 'packages/cache/src/a.ts': PRODUCT }), NONE);
  expect(problems.map((problem) => /\(([^()]*)\)$/.exec(problem)?.[1])).toEqual([
    ...[`${TEST}:1`, `${TEST}:1`, `${TEST}:3`, `${TEST}:2`],
    ...['packages/cache/src/a.ts:1', 'packages/cache/src/a.ts:2'],
  ]);
});

test('an exception counts the refusals of one rule in one file, and must be right', () => {
  const exception = { rule: 'real-timers', path: TEST, count: 1, why: 'the test measures time' };
  const one = sources({ [TEST]: 'setTimeout(f, 1);' });
  const two = sources({ [TEST]: 'setTimeout(f, 1); setTimeout(f, 1);' });
  const lists = { ...NONE, EXCEPTIONS: [exception] };
  expect(applyRules(one, lists)).toEqual([]);
  expect(applyRules(two, lists)).toHaveLength(3);
  expect(applyRules(sources({}), lists)).toEqual([
    `Cannot use an exception: expected 1 refusals of real-timers in ${TEST}, got another number (tools/rules/exceptions.mjs)`,
  ]);
});
