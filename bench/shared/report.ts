/** Tables, the same for the terminal and for Markdown, and how numbers are written in them. */

import type { Machine } from './results.ts';
import type { Target } from './target.ts';

export interface Table {
  readonly title: string;
  readonly head: readonly string[];
  /** Columns from this one on are numbers, and aligned to the right; none if absent. */
  readonly numbersFrom?: number;
  readonly rows: readonly (readonly string[])[];
  readonly notes: readonly string[];
}

export function machineLine({ processor, cores, memoryGb, node, v8, compiler, date }: Machine): string {
  const native = compiler === null ? '' : `native: ${compiler}; `;
  return `${processor}, ${cores} cores, ${memoryGb} GB; Node ${node} (V8 ${v8}); ${native}${date}`;
}

export function targetsTable(targets: readonly Target[]): Table {
  return {
    title: 'Targets',
    head: ['what', 'keys', 'measured', 'fastest rounds', 'target', ''],
    rows: targets.map(({ what, keys, measured, fastest, wanted, sense, unit, met }) => [
      what,
      keys,
      `${ratio(measured)} ${unit}`,
      fastest === null ? '' : ratio(fastest),
      `${sense} ${wanted}`,
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
  return table.numbersFrom !== undefined && column >= table.numbersFrom;
}

/** Nanoseconds; nothing where nothing was measured. */
export function ns(value: number): string {
  if (!Number.isFinite(value)) return '';
  return Math.abs(value) >= 1000 ? value.toFixed(0) : value.toFixed(1);
}

export function ratio(value: number): string {
  if (!Number.isFinite(value)) return '';
  return value >= 100 ? value.toFixed(0) : value < 0.1 ? value.toFixed(3) : value.toFixed(2);
}

export function bits(perKey: number | null): string {
  return perKey === null ? '' : perKey.toFixed(2);
}

export function percent(share: number | null): string {
  return share === null ? '' : `${(share * 100).toFixed(2)} %`;
}
