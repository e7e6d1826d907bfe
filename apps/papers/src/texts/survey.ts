/** The bounds, estimates and tricks of the survey's section 2, each with a measurement. */

import type { Compare, Comparison } from '../findings/comparison.ts';
import type { Part, Report } from '../findings/section.ts';
import type { Results } from '../trials/jobs.ts';
import { boundWork, lowerBound } from './survey-bound.ts';
import { countersWork, overflow } from './survey-counters.ts';
import { estimates, estimatesWork } from './survey-estimates.ts';
import { halving, halvingWork } from './survey-halving.ts';
import { hashList, hashListWork } from './survey-hash-list.ts';
import { rates, ratesWork } from './survey-rates.ts';
import { turnover, turnoverWork } from './survey-turnover.ts';
import { zeros, zerosWork } from './survey-zeros.ts';

export const survey: Part = {
  name: 'survey',
  what: 'section 2 of Network Applications of Bloom Filters: rates, bounds, hash lists, halving, estimates, counters',
  files: [],
  work: (trials) =>
    [
      ratesWork,
      zerosWork,
      boundWork,
      hashListWork,
      halvingWork,
      estimatesWork,
      countersWork,
      turnoverWork,
    ].flatMap((one) => one(trials)),
  report,
};

function report(results: Results): Report {
  const comparisons: Comparison[] = [];
  const compare: Compare = (comparison) => {
    comparisons.push({ ...comparison, what: `survey, ${comparison.what}` });
    return comparison.sigmas.toFixed(1);
  };
  const sections = [rates, zeros, lowerBound, hashList, halving, estimates, overflow, turnover].map(
    (section) => section(results, compare),
  );
  return { sections, comparisons };
}
