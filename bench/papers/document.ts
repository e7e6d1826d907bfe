/** Tables and the pages made of them, for the terminal and for Markdown; how numbers are written. */

import type { Summary } from './samples.ts';

export interface Table {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

export interface Section {
  readonly title: string;
  /** Paragraphs before the tables; Markdown. */
  readonly text: readonly string[];
  readonly tables: readonly Table[];
  /** Figures: file name and caption. */
  readonly figures?: readonly { readonly file: string; readonly caption: string }[];
  /** Paragraphs after the tables. */
  readonly notes?: readonly string[];
}

/** How far a measurement lies from its theory, in standard errors: collected from all sections. */
export interface Comparison {
  readonly what: string;
  readonly sigmas: number;
}

export function asText({ title, tables, notes = [] }: Section): string {
  return [`== ${title}`, ...tables.map(plain), ...notes.map(bare), ''].join('\n\n');
}

export function asMarkdown(
  { title, text, tables, figures = [], notes = [] }: Section,
  folder: string,
): string {
  const pictures = figures.map(({ file, caption }) => `![${caption}](${folder}${file})`);
  return [`## ${title}`, ...text, ...tables.map(markdown), ...pictures, ...notes].join('\n\n');
}

/** 5 significant digits, as in the columns of formulas. */
export function digits(value: number, count = 5): string {
  if (value === 0) return '0';
  const text = value.toPrecision(count);
  return text.includes('e') ? text.replace(/e\+?(-?)(\d+)/, 'e$1$2') : text;
}

/** value ± error, the error with two digits and the value with as many as that. */
export function measured({ mean, error }: Pick<Summary, 'mean' | 'error'>): string {
  // What never varies has the error of the sum.
  if (!(error > 1e-9 * Math.abs(mean))) return digits(mean, 6);
  const exponent = Math.floor(Math.log10(Math.max(Math.abs(mean), error)));
  if (exponent >= -4) return plusMinus(mean, error);
  return `(${plusMinus(mean / 10 ** exponent, error / 10 ** exponent)})e${exponent}`;
}

function plusMinus(mean: number, error: number): string {
  const decimals = Math.max(0, 1 - Math.floor(Math.log10(error)));
  return `${mean.toFixed(decimals)} ± ${error.toFixed(decimals)}`;
}

export function percent(share: number, decimals = 2): string {
  return `${(100 * share).toFixed(decimals)} %`;
}

/** Whether a formula's value, rounded to the digits that are printed, is what is printed. */
export function agrees(printed: string, value: number): boolean {
  return value.toFixed(printed.split('.')[1]?.length ?? 0) === printed;
}

/** What is printed; bold where the formula gives something else. */
export function printed(text: string, value: number): string {
  return agrees(text, value) ? text : `**${text}**`;
}

function plain({ head, rows }: Table): string {
  const cells = [head, ...rows].map((row) => row.map(bare));
  const widths = head.map((_, i) => Math.max(...cells.map((row) => row[i].length)));
  const lines = cells.map((row) => row.map((cell, i) => cell.padStart(widths[i])).join('  '));
  return [lines[0], widths.map((width) => '-'.repeat(width)).join('  '), ...lines.slice(1)].join('\n');
}

/** Aligned in the source too: these pages are read as text as well. */
function markdown({ head, rows }: Table): string {
  const widths = head.map((_, i) => Math.max(3, ...[head, ...rows].map((row) => row[i].length)));
  const line = (row: readonly string[]) =>
    `| ${row.map((cell, i) => cell.padStart(widths[i])).join(' | ')} |`;
  return [
    line(head),
    `| ${widths.map((width) => `${'-'.repeat(width - 1)}:`).join(' | ')} |`,
    ...rows.map(line),
  ].join('\n');
}

function bare(text: string): string {
  return text
    .replaceAll('**', '')
    .replaceAll('`', '')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1');
}
