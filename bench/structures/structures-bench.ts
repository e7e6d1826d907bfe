/**
 * `npm run bench:structures`: the structures that are not a plain Bloom filter, beside their peers.
 */

import type { Bench, Suite } from '../shared/bench.ts';
import { DELTA, EPSILON } from '../shared/count-errors.ts';
import { KEY_KINDS } from '../shared/keys.ts';
import { bits, ns, percent, ratio, type Table, targetsTable } from '../shared/report.ts';
import {
  actionRounds,
  firstRow,
  type Measure,
  type Results,
  type Row,
  type Section,
  sizeName,
} from '../shared/results.ts';
import { median, medianRatio } from '../shared/statistics.ts';
import { FORM_NAMES, FORMS } from '../shared/subject.ts';
import { OVERVIEW_FORMS, overview, overviewTable } from './overview.ts';
import {
  COUNTING_LANES,
  COUNTING_REFERENCE,
  FREQUENCY_LANES,
  FREQUENCY_REFERENCE,
  OVERVIEW_LANES,
  STATIC_LANES,
  STATIC_REFERENCE,
} from './structure-lanes.ts';
import { structureTargets } from './structure-targets.ts';

const COUNTING = suite('counting', COUNTING_LANES, COUNTING_REFERENCE);
const STATIC: Suite = {
  ...suite('static', STATIC_LANES, STATIC_REFERENCE),
  // Near this size a segment has just become twice as long, and few graphs can be peeled.
  trials: { size: 11_500, sets: 100, lanes: [STATIC_REFERENCE, 'bloomery StaticFilter, integers'] },
};
const FREQUENCY: Suite = {
  ...suite('frequency', FREQUENCY_LANES, FREQUENCY_REFERENCE),
  forms: OVERVIEW_FORMS,
};
const OVERVIEW: Suite = { ...suite('overview', OVERVIEW_LANES, null), forms: OVERVIEW_FORMS };

const TITLES: Readonly<Record<string, string>> = {
  counting: 'Keys that can be deleted',
  static: 'Keys that are known beforehand',
  frequency: 'How often',
  overview: 'All structures',
};

export const STRUCTURES_BENCH: Bench = {
  title: 'Results of the structures',
  command: 'npm run bench:structures',
  about: {
    quick: '10 k and 1 M keys, fewer rounds and rows: about a minute',
    only: 'only rows whose name (such as "CountingBloomFilter packed") matches; the peer of ratios always runs',
    full: 'The full form has more rounds, fills slow peers, and looks for constructions that fail: ten minutes.',
  },
  quick: [
    { suite: COUNTING, kind: 'url', sizes: [1e4, 1e6] },
    { suite: STATIC, kind: 'url', sizes: [1e4, 1e6] },
    { suite: OVERVIEW, kind: 'url', sizes: [1e6] },
    { suite: FREQUENCY, kind: 'stream', sizes: [1e6] },
  ],
  full: [
    { suite: COUNTING, kind: 'url', sizes: [1e4, 1e6] },
    { suite: STATIC, kind: 'url', sizes: [1e4, 1e6] },
    { suite: OVERVIEW, kind: 'url', sizes: [1e4, 1e6] },
    { suite: FREQUENCY, kind: 'stream', sizes: [1e6] },
  ],
  legend,
  tables: (results) => ({
    targets: targetsTable(structureTargets(results)),
    sections: results.sections.flatMap((section) => [
      section.suite === 'overview' ? overviewTable(titleOf(section), section) : sectionTable(section),
      ...(section.suite === 'frequency' ? [overviewTable('How often, a line each', section)] : []),
    ]),
  }),
  summary: (results) => ({
    overview: results.sections.flatMap((section) => overview(section)),
    targets: structureTargets(results),
  }),
};

function suite(name: string, lanes: Suite['lanes'], reference: string | null): Suite {
  // Lines cost what packed keys cost and a little more: the benchmark of the filters shows it.
  const forms = FORM_NAMES.filter((form) => form !== 'lines');
  return { name, lanes, forms, always: reference === null ? [] : [reference], native: false };
}

function legend({ rounds, sliceMs }: Results): string[] {
  return [
    `ns per key: median of ${rounds} interleaved rounds of at least ${sliceMs} ms each; build: of the whole structure, by the number of its keys.`,
    '"×": how many times as fast as the peer that the heading names, median of the ratios of each round; has is the mean of hit and miss.',
    `False positive rate asked: 1 %; of static filters: 8 bits a fingerprint (0.39 %). Count-Min: ε ${EPSILON}, δ ${DELTA}.`,
  ];
}

interface Column {
  readonly head: string;
  readonly cell: (row: Row) => string;
}

/** One row for each lane and form; only the columns that have something to show. */
function sectionTable(section: Section): Table {
  const { suite: name, rows } = section;
  const reference = REFERENCES[name];
  const peer = reference === undefined ? undefined : firstRow(section, reference);
  const possible: Column[] = [
    ...(['add', 'hit', 'miss', 'delete', 'build'] as const).map((action) => ({
      head: action,
      cell: (row: Row) => ns(median(row.rounds[action])),
    })),
    { head: 'bits/key', cell: (row) => bits(row.bitsPerKey) },
    { head: 'rate', cell: (row) => percent(row.rate) },
    { head: 'too high', cell: ({ counts }) => percent(counts?.over ?? null) },
    { head: 'too low', cell: ({ counts }) => (counts?.under ? percent(counts.under) : '') },
    { head: '> εN', cell: ({ counts }) => percent(counts?.beyond ?? null) },
    { head: 'mean error', cell: ({ counts }) => (counts === null ? '' : counts.meanError.toFixed(3)) },
    ...(['add', 'has', 'delete', 'build'] as const).map((measure: Measure) => ({
      head: `${measure} ×`,
      cell: (row: Row) =>
        peer === undefined ? '' : ratio(medianRatio(actionRounds(peer, measure), actionRounds(row, measure))),
    })),
  ];
  const columns = possible.filter(({ cell }) => rows.some((row) => cell(row) !== ''));
  return {
    title: titleOf(section),
    head: ['', 'keys come as', ...columns.map(({ head }) => head)],
    numbersFrom: 2,
    rows: rows.map((row) => [row.lane, FORMS[row.form], ...columns.map(({ cell }) => cell(row))]),
    notes: [...section.notes, ...trialNotes(section)],
  };
}

const REFERENCES: Readonly<Record<string, string | undefined>> = {
  counting: COUNTING_REFERENCE,
  static: STATIC_REFERENCE,
  frequency: FREQUENCY_REFERENCE,
};

function titleOf({ suite: name, kind, size, distinct }: Section): string {
  const of =
    kind === 'stream'
      ? `${sizeName(size)} ${KEY_KINDS.stream}, ${distinct} of them different`
      : `${sizeName(size)} keys`;
  const against = REFERENCES[name] === undefined ? '' : ` (× ${REFERENCES[name]})`;
  return `${TITLES[name]}: ${of}${against}`;
}

function trialNotes({ trials }: Section): string[] {
  return trials.map(({ lane, size, sets, failed, milliseconds }) => {
    const slowest = Math.max(...milliseconds);
    return `${lane}, ${sets} sets of ${size} keys: ${failed} not built; median ${ns(median(milliseconds))} ms, slowest ${ns(slowest)} ms.`;
  });
}
