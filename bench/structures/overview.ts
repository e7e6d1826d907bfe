/** All structures in one table, a line each: what docs/guide/which-filter.md quotes. */

import { bits, ns, percent, type Table } from '../shared/report.ts';
import { actionRounds, findRow, type Measure, type Section } from '../shared/results.ts';
import { median } from '../shared/statistics.ts';
import type { FormName } from '../shared/subject.ts';

/** Forms that a reader has to choose from, among the many ways in. */
export const OVERVIEW_FORMS = ['scalar', 'batch', 'packed'] as const satisfies readonly FormName[];

/** ns per key, median of the rounds; null where there is no such call. */
type Speeds = Readonly<Record<(typeof OVERVIEW_FORMS)[number], number | null>>;

export interface OverviewEntry {
  readonly question: string;
  readonly keys: number;
  readonly structure: string;
  readonly parameters: string;
  readonly bitsPerKey: number | null;
  /**
   * Time per added key. For a structure that is built at once: building, divided by the number of
   * keys.
   */
  readonly nsPerAdd: Speeds;
  readonly nsPerHas: Speeds;
  readonly measuredRate: number | null;
  /**
   * Shares of stored keys whose count is wrong, and by how much on average, for structures that
   * count.
   */
  readonly tooHigh: number | null;
  readonly tooLow: number | null;
  readonly tooHighByEpsilon: number | null;
  readonly meanError: number | null;
}

export function overview(section: Section): OverviewEntry[] {
  const lanes = [...new Set(section.rows.map(({ lane }) => lane))];
  return lanes.map((lane) => {
    const row = section.rows.find((candidate) => candidate.lane === lane)!;
    const speeds = (...measures: Measure[]) =>
      Object.fromEntries(
        OVERVIEW_FORMS.map((form) => [
          form,
          first(measures.map((measure) => speed(section, lane, form, measure))),
        ]),
      ) as unknown as Speeds;
    return {
      question: section.suite,
      keys: section.size,
      structure: lane.replace(/^bloomery /, ''),
      parameters: row.parameters,
      bitsPerKey: row.bitsPerKey,
      nsPerAdd: speeds('add', 'build'),
      nsPerHas: speeds('has'),
      measuredRate: row.rate,
      tooHigh: row.counts?.over ?? null,
      tooLow: row.counts?.under ?? null,
      tooHighByEpsilon: row.counts?.beyond ?? null,
      meanError: row.counts?.meanError ?? null,
    };
  });
}

export function overviewTable(title: string, section: Section): Table {
  const entries = overview(section);
  const counting = entries.some(({ meanError }) => meanError !== null);
  const ask = counting ? 'count' : 'has';
  return {
    title,
    head: [
      '',
      'parameters',
      'bits/key',
      ...OVERVIEW_FORMS.map((form) => `add, ${HEADS[form]}`),
      ...OVERVIEW_FORMS.map((form) => `${ask}, ${HEADS[form]}`),
      'rate',
      ...(counting ? ['too high', 'too low', 'mean error'] : []),
    ],
    numbersFrom: 2,
    rows: entries.map((entry) => [
      entry.structure,
      entry.parameters,
      bits(entry.bitsPerKey),
      ...OVERVIEW_FORMS.map((form) => ns(entry.nsPerAdd[form] ?? Number.NaN)),
      ...OVERVIEW_FORMS.map((form) => ns(entry.nsPerHas[form] ?? Number.NaN)),
      percent(entry.measuredRate),
      ...(counting ? [percent(entry.tooHigh), percent(entry.tooLow), entry.meanError?.toFixed(3) ?? ''] : []),
    ]),
    notes: counting ? [] : section.notes,
  };
}

const HEADS = { scalar: 'one', batch: 'array', packed: 'packed' };

function speed(section: Section, lane: string, form: FormName, measure: Measure): number | null {
  const row = findRow(section, lane, form);
  const rounds = row === undefined ? [] : actionRounds(row, measure);
  return rounds.length === 0 ? null : median(rounds);
}

function first(values: readonly (number | null)[]): number | null {
  return values.find((value) => value !== null) ?? null;
}
