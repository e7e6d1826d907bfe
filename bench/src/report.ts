/** The same tables for the terminal and for Markdown. */

import { KEY_KINDS } from './keys.ts';
import { READING, REFERENCE } from './lanes.ts';
import { findRow, hasRounds, type Results, type Section, sizeName } from './results.ts';
import { median, medianRatio } from './statistics.ts';
import { FORMS } from './subject.ts';
import { evaluateTargets, type Target } from './targets.ts';

export interface Table {
  readonly title: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly notes: readonly string[];
}

export function tables(results: Results): Table[] {
  return [...results.sections.map(sectionTable), targetsTable(evaluateTargets(results))];
}

export function machineLines({ machine, rounds, sliceMs }: Results): string[] {
  const { processor, cores, memoryGb, node, v8, compiler, date } = machine;
  return [
    `${processor}, ${cores} cores, ${memoryGb} GB; Node ${node} (V8 ${v8}); native: ${compiler}; ${date}`,
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
        row.lane === READING ? '' : row.bitsPerKey.toFixed(2),
        row.lane === READING || row.rate === null ? '' : `${(row.rate * 100).toFixed(2)} %`,
        reference === undefined ? '' : ratio(medianRatio(hasRounds(reference), has)),
      ];
    }),
    notes,
  };
}

function targetsTable(targets: readonly Target[]): Table {
  return {
    title: 'Targets',
    head: ['what', 'keys', 'measured', 'fastest rounds', 'target', ''],
    rows: targets.map(({ what, keys, measured, fastest, wanted, sense, met }) => [
      what,
      keys,
      `${ratio(measured)} times ${sense === 'faster' ? 'as fast' : 'the time'}`,
      ratio(fastest),
      `${sense === 'faster' ? 'at least' : 'at most'} ${wanted}`,
      met ? 'met' : 'NOT MET',
    ]),
    notes: targets.length === 0 ? ['No row that a target speaks of was measured.'] : [],
  };
}

export function asText(table: Table): string {
  const widths = table.head.map((head, i) =>
    Math.max(head.length, ...table.rows.map((row) => row[i].length)),
  );
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, i) => (isNumeric(table, i) ? cell.padStart(widths[i]) : cell.padEnd(widths[i])))
      .join('  ')
      .trimEnd();
  const notes = table.notes.map((note) => `  ${note}`);
  const rule = widths.map((width) => '-'.repeat(width)).join('  ');
  return [`== ${table.title}`, line(table.head), rule, ...table.rows.map(line), ...notes, ''].join('\n');
}

export function asMarkdown(table: Table): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  const rule = line(table.head.map((_, i) => (isNumeric(table, i) ? '---:' : '---')));
  const notes = table.notes.length === 0 ? [] : ['', ...table.notes.map((note) => `- ${note}`)];
  return [`## ${table.title}`, '', line(table.head), rule, ...table.rows.map(line), ...notes, ''].join('\n');
}

function isNumeric(table: Table, column: number): boolean {
  return table.head === HEAD && column >= 2;
}

function ns(value: number): string {
  if (!Number.isFinite(value)) return '';
  return Math.abs(value) >= 1000 ? value.toFixed(0) : value.toFixed(1);
}

function ratio(value: number): string {
  if (!Number.isFinite(value)) return '';
  return value >= 100 ? value.toFixed(0) : value < 0.1 ? value.toFixed(3) : value.toFixed(2);
}
