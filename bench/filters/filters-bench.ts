/**
 * `npm run bench`: Bloom filters beside the peers and beside native code, by the number and the
 * kind of keys.
 */

import { type Bench, READING, type Suite } from '../shared/bench.ts';
import { KEY_KINDS } from '../shared/keys.ts';
import { bits, ns, percent, ratio, type Table, targetsTable } from '../shared/report.ts';
import { findRow, hasRounds, type Results, type Section, sizeName } from '../shared/results.ts';
import { median, medianRatio } from '../shared/statistics.ts';
import { FORM_NAMES, FORMS } from '../shared/subject.ts';
import { LANES, REFERENCE } from './lanes.ts';
import { evaluateTargets } from './targets.ts';

const FILTERS: Suite = {
  name: 'filters',
  lanes: LANES,
  forms: FORM_NAMES,
  always: [REFERENCE, READING],
  native: true,
};

export const FILTERS_BENCH: Bench = {
  title: 'Results',
  command: 'npm run bench',
  about: {
    quick: '10 k and 1 M keys, fewer rounds and rows: about a minute',
    only: 'only rows whose name (such as "bloomery blocked packed") matches; `bloomfilter` always runs',
    full: 'The full form measures 10 k, 1 M and 10 M keys, and 50 M where memory allows: a quarter of an hour.',
  },
  quick: [
    { suite: FILTERS, kind: 'url', sizes: [1e4, 1e6] },
    // Only with --sizes.
    { suite: FILTERS, kind: 'url50', sizes: [] },
    { suite: FILTERS, kind: 'key12', sizes: [1e6] },
  ],
  full: [
    { suite: FILTERS, kind: 'url', sizes: [1e4, 1e6, 1e7, 5e7] },
    { suite: FILTERS, kind: 'url50', sizes: [1e6] },
    { suite: FILTERS, kind: 'key12', sizes: [1e4, 1e6, 1e7] },
  ],
  legend,
  tables: (results) => ({
    targets: targetsTable(evaluateTargets(results)),
    sections: results.sections.map(sectionTable),
  }),
};

function legend({ rounds, sliceMs }: Results): string[] {
  return [
    `ns per key: median of ${rounds} interleaved rounds of at least ${sliceMs} ms each; false positive rate asked: 1 %`,
    '"fastest": the best round of has (mean of hit and miss). "net": has without reading the key by charCodeAt',
    '(a negative value: encoding the whole string at once is cheaper than reading it character by character).',
    `"× ${REFERENCE}": how many times as fast as its scalar has, median of the ratios of each round.`,
  ];
}

const HEAD = [
  '',
  'keys come as',
  'add',
  'hit',
  'miss',
  'fastest',
  'net',
  'bits/key',
  'rate',
  `× ${REFERENCE}`,
];

function sectionTable(section: Section): Table {
  const { kind, size, averageLength, rows, notes } = section;
  const reference = findRow(section, REFERENCE, 'scalar');
  const reading = findRow(section, READING, 'scalar');
  const readNs = reading === undefined ? Number.NaN : median(hasRounds(reading));
  return {
    title: `${sizeName(size)} keys: ${KEY_KINDS[kind]}${kind === 'url' ? ` (${averageLength.toFixed(1)})` : ''}`,
    head: HEAD,
    numbersFrom: 2,
    rows: rows.map((row) => {
      const has = hasRounds(row);
      const scalar = row.form === 'scalar' && row.lane !== READING;
      return [
        row.lane,
        FORMS[row.form],
        ns(median(row.rounds.add)),
        ns(median(row.rounds.hit)),
        ns(median(row.rounds.miss)),
        ns(Math.min(...has)),
        scalar ? ns(median(has) - readNs) : '',
        row.lane === READING ? '' : bits(row.bitsPerKey),
        row.lane === READING ? '' : percent(row.rate),
        reference === undefined ? '' : ratio(medianRatio(hasRounds(reference), has)),
      ];
    }),
    notes,
  };
}
