/**
 * The findings for programs: every table as it is shown, every comparison, and the numbers of every
 * experiment.
 */

import { isTooFar } from '../findings/comparison.ts';
import type { Findings } from '../findings/section.ts';
import { collect, firstSeed, type Results, resultOf } from '../trials/jobs.ts';
import { COLUMNS } from '../trials/trials.ts';

export function asJson({ trials, seed, parts }: Findings, results: Results): unknown {
  return {
    trials,
    seed,
    within: parts.every(({ report }) => !report.comparisons.some(isTooFar)),
    parts: parts.map(({ part, report }) => ({
      name: part.name,
      sections: report.sections.map(({ title, tables }) => ({
        title,
        tables: tables.map(({ head, rows }) => ({ head, rows })),
      })),
      comparisons: report.comparisons.map((one) => ({ ...one, within: !isTooFar(one) })),
      experiments: collect(part.work(trials)).map(({ job }) => {
        const samples = resultOf(results, job);
        const numbers = COLUMNS[job.kind].map((name) => [name, samples.summary(name)]);
        return {
          ...job,
          firstSeed: firstSeed(job, seed),
          trials: samples.trials,
          ...Object.fromEntries(numbers),
        };
      }),
    })),
  };
}
