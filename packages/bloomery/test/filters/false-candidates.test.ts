/**
 * A planned table keeps its promise: for a key that no column holds, the columns that say "maybe"
 * are as many as the plan expects, two-sided at 5 sigma, and the plan expects at most 0.02.
 */

import { withEffort } from '@bloomery/testkit/effort';
import { expectNormal } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { FilterTable, hashKeys } from '../../src/index.ts';
import { planTable } from '../../src/math/plan-table.ts';
import { rateTrueVariance } from '../../src/math/true-rate.ts';
import { inBothKernels } from '../contracts/subject.ts';
import { counterKeys } from '../keys.ts';

inBothKernels('false candidates per absent key', (kernel) => {
  test.each([
    [4, 20_000],
    [64, 2000],
    [256, 1000],
    [256, 20],
  ])('of %i columns with %i keys are those of the plan, at most 0.02', (columns, keysPerColumn) => {
    const plan = planTable({ columns, keysPerColumn });
    expect(plan.falseCandidates).toBeLessThanOrEqual(0.02);
    const table = FilterTable.forCapacity({ columns, capacity: keysPerColumn });
    expect([table.rows, table.hashes, table.byteLength]).toEqual([plan.rows, plan.hashes, plan.memoryBytes]);
    for (let c = 0; c < columns; c++) table.addMany(c, counterKeys(keysPerColumn, keysPerColumn * c));

    const questions = withEffort(kernel === 'wasm' ? 1_000_000 : 200_000);
    const { scheme, words } = hashKeys(counterKeys(questions, 0, 1), table.scheme);
    const out = new Uint32Array(table.candidateWords);
    let found = 0;
    for (let i = 0; i < questions; i++) {
      found += table.candidates({ scheme, low: words[2 * i] >>> 0, high: words[2 * i + 1] >>> 0 }, out);
    }
    // The deviation of the questions and that of the columns, whose rates scatter around the plan.
    const rate = plan.falsePositiveRate;
    const asked = questions * columns * rate * (1 - rate);
    const scatter = questions ** 2 * columns * rateTrueVariance(plan.rows, plan.hashes, keysPerColumn);
    expectNormal(found, questions * plan.falseCandidates, Math.sqrt(asked + scatter), 'false candidates');
  });
});
