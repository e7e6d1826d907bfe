/**
 * The opening of a document: which texts it is about, how the numbers were measured, how far they
 * lie from theory.
 */

import { summaryOf } from '../findings/comparison.ts';
import type { Findings } from '../findings/section.ts';

export const TITLE = 'The papers, recomputed';

export const SOURCES = [
  {
    name: 'compressed',
    what: 'M. Mitzenmacher, Compressed Bloom Filters, IEEE/ACM Transactions on Networking 10(5), 2002',
  },
  {
    name: 'survey',
    what: 'A. Broder, M. Mitzenmacher, Network Applications of Bloom Filters: A Survey, 2004',
  },
  { name: 'tutorial', what: 'M. Ripeanu, A. Iamnitchi, Bloom Filters: Short Tutorial' },
  { name: 'perl', what: 'M. Ceglowski, Using Bloom Filters, perl.com, April 2004' },
] as const;

/** The paragraph before the sources: how the numbers were measured. */
export function method({ trials, seed, whole, parts }: Findings): string {
  const what = whole
    ? 'Every table, figure, bound and simulation of the four texts this library rests on'
    : `Of the four texts this library rests on: ${parts.map(({ part }) => part.name).join(', ')}`;
  const start = seed === 0 ? 'plus a start' : `plus a start, by \`--seed ${seed}\`,`;
  return (
    `${what}, as *paper | formula | measured here*, by \`bloomery papers\` with **${trials.toLocaleString('en')} trials** for each ` +
    'simulation (the paper: 100,000) and a fixed share of that for the rest. Formulas are those of [bloomery/math](../guide/math.md); what ' +
    "is measured are the library's own filters, hash functions and coder. Nothing is random: keys are counters, and trial t has " +
    `hash seed t (${start} of its own for each experiment). The same command gives the same page.`
  );
}

/** The paragraph after the sources: how far the numbers lie from theory. */
export function outcome({ parts }: Findings): string {
  const comparisons = parts.flatMap(({ report }) => report.comparisons);
  return (
    `A value like 0.0216 ± 0.0001 is a mean and its standard error. ${summaryOf(comparisons)} Where the printed figures are wrong: ` +
    `[errata](errata.md). The order below is that of *${SOURCES[0].name}*, then the others.`
  );
}
