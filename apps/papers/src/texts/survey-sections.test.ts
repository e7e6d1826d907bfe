/** The sections on hash lists and turnovers, with trials run in this process. */

import { expect, test } from 'vitest';
import { type Comparison, isTooFar } from '../findings/comparison.ts';
import type { Section } from '../findings/section.ts';
import { type Results, resultOf, type Work } from '../trials/jobs.ts';
import { Samples } from '../trials/samples.ts';
import { COLUMNS, runTrial } from '../trials/trials.ts';
import { hashList, hashListWork } from './survey-hash-list.ts';
import { turnover, turnoverWork } from './survey-turnover.ts';

test('a list of hashes of 2·log2 n bits has the rate 1/n, in 2·log2 n bits per element', () => {
  const results = run(hashListWork(10));
  const { section, comparisons } = reported(hashList, results);
  expect(comparisons).toHaveLength(3);
  expect(comparisons.filter(isTooFar)).toEqual([]);
  for (const row of section.tables[0].rows) {
    const [bits, stored] = [Number(row[1]), Number.parseFloat(row[2])];
    // The number of hashes, and one hash for elements that collide.
    expect(Math.abs(stored - bits)).toBeLessThan(0.6);
  }
});

test('a set that turns over overflows as often, and loses elements as soon, as theory says', () => {
  const { comparisons } = reported(turnover, run(turnoverWork(10), { extra: turnoverWork(10)[0].job.id }));
  expect(comparisons.map(({ what }) => what)).toContain('overflows, 2 bits, 100 keys');
  expect(comparisons.filter(isTooFar)).toEqual([]);
});

test('the library denies no element where the rule of the survey does', () => {
  const [{ job }] = turnoverWork(10);
  const samples = resultOf(run([{ job, trials: 20 }]), job);
  expect(samples.summary('denied').most).toBe(0);
  expect(samples.column('lost').every((lost) => lost > 0)).toBe(true);
  expect(samples.column('lossSteps').every((steps) => steps > 0)).toBe(true);
  expect(runTrial(job, 5)).toEqual(runTrial(job, 5));
  expect(runTrial(job, 5)).not.toEqual(runTrial(job, 6));
});

function reported(
  report: (results: Results, compare: (one: Comparison) => string) => Section,
  results: Results,
): { section: Section; comparisons: Comparison[] } {
  const comparisons: Comparison[] = [];
  const section = report(results, (one) => String(comparisons.push(one)));
  return { section, comparisons };
}

/** Runs the work; the experiment `extra` with five times the trials. */
function run(work: readonly Work[], { extra }: { extra?: string } = {}): Results {
  return new Map(
    work.map(({ job, trials }) => {
      const width = COLUMNS[job.kind].length;
      const count = job.id === extra ? 5 * trials : trials;
      const numbers = new Float64Array(width * count);
      for (let t = 0; t < count; t++) numbers.set(runTrial(job, 1000 + t), t * width);
      return [job.id, new Samples(job, numbers)];
    }),
  );
}
