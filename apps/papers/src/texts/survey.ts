/** The bounds, estimates and tricks of the survey's section 2, each with a measurement. */

import type { Compare, Comparison } from '../findings/comparison.ts';
import type { Part, Report } from '../findings/section.ts';
import type { Results } from '../trials/jobs.ts';
import { boundWork, lowerBound } from './survey-bound.ts';
import { countersWork, overflow } from './survey-counters.ts';
import { estimates, estimatesWork } from './survey-estimates.ts';
import { halving, halvingWork } from './survey-halving.ts';
import { rates, ratesWork } from './survey-rates.ts';
import { zeros, zerosWork } from './survey-zeros.ts';

export const survey: Part = {
  name: 'survey',
  what: 'section 2 of Network Applications of Bloom Filters: rates, bounds, halving, estimates, counters',
  files: [],
  work: (trials) =>
    [ratesWork, zerosWork, boundWork, halvingWork, estimatesWork, countersWork].flatMap((one) => one(trials)),
  report,
};

function report(results: Results): Report {
  const comparisons: Comparison[] = [];
  const compare: Compare = (comparison) => {
    comparisons.push({ ...comparison, what: `survey, ${comparison.what}` });
    return comparison.sigmas.toFixed(1);
  };
  const sections = [rates, zeros, lowerBound, halving, estimates, overflow].map((section) =>
    section(results, compare),
  );
  return { sections, comparisons };
}
