/**
 * A part of the papers as text: titles, paragraphs, tables, plots, verdicts. On a terminal tables that are too wide are
 * folded between groups of columns, with the columns that name a row repeated; in a pipe a row stays a line.
 */

import { stripVTControlCharacters } from 'node:util';
import { formatTable } from '../terminal/table.ts';
import { colors, isTerminal, terminalWidth } from '../terminal/terminal.ts';
import { bare, type Span, spans } from './inline.ts';
import type { Part, Report, Section, Table } from './section.ts';
import { terminalPlot } from './terminal-plot.ts';
import { type Comparison, farthest, isTooFar } from './verdict.ts';

/** The whole part, without a newline at its end. */
export function reportText(part: Part, { sections, comparisons }: Report): string {
  const blocks = sections.map(sectionText);
  if (part.showsVerdicts) blocks.push(verdictTable(comparisons));
  blocks.push(verdictLine(comparisons));
  return blocks.join('\n\n');
}

/** How many comparisons there are, which is the farthest, and whether that is too far. */
export function verdictLine(comparisons: readonly Comparison[], where = ''): string {
  const { green, red } = colors(1);
  const far = comparisons.filter(isTooFar);
  if (far.length > 0) {
    const names = far.map(({ what, deviations }) => `${what}: ${deviations.toFixed(1)} σ`);
    return red(paragraph(`${where}Outside 5 σ: ${names.join('; ')}.`));
  }
  const { what, deviations } = farthest(comparisons);
  const count = `${comparisons.length} comparisons with theory`;
  const text = paragraph(
    `${where}All within 5 σ: ${count}, the farthest ${deviations.toFixed(1)} σ (${what}).`,
  );
  return text.replace('All within 5 σ:', green('All within 5 σ:'));
}

function sectionText({ title, text, tables, figures = [], notes = [] }: Section): string {
  const { bold, cyan } = colors(1);
  return [
    bold(cyan(`== ${bare(title)}`)),
    ...text.map(paragraph),
    ...tables.map(tableText),
    ...figures.map(({ plot }) => terminalPlot(plot)),
    ...notes.map(paragraph),
  ].join('\n\n');
}

function verdictTable(comparisons: readonly Comparison[]): string {
  const { bold, green, red } = colors(1);
  const head = ['against theory', 'distance in σ', 'verdict'].map((cell) => bold(cell));
  const rows = comparisons.map((one) => [
    one.what,
    one.deviations.toFixed(1),
    isTooFar(one) ? red('OUTSIDE 5 σ') : green('within 5 σ'),
  ]);
  return formatTable([head, ...rows], { right: [1] });
}

function tableText(table: Table): string {
  const width = isTerminal(1) ? terminalWidth() : Number.POSITIVE_INFINITY;
  const { bold } = colors(1);
  return fold(table, width)
    .map(({ head, rows }) => {
      const cells = [head.map((cell) => bold(bare(cell))), ...rows.map((row) => row.map(styled))];
      return formatTable(cells, { right: head.map((_, i) => i) });
    })
    .join('\n\n');
}

/** As many groups of columns side by side as the width allows. */
export function fold({ head, rows, names = 1, folds = [] }: Table, width: number): Table[] {
  const widths = head.map((_, i) => Math.max(...[head, ...rows].map((row) => bare(row[i]).length)));
  const starts = [names, ...folds];
  const groups = starts.map((from, i) => range(from, starts[i + 1] ?? head.length));
  const size = (columns: readonly number[]) => columns.reduce((sum, i) => sum + widths[i] + GAP, -GAP);
  const blocks: number[][] = [];
  for (const group of groups) {
    const last = blocks.at(-1);
    if (last !== undefined && size([...last, ...group]) <= width) last.push(...group);
    else blocks.push([...range(0, names), ...group]);
  }
  const pick = (row: readonly string[], columns: readonly number[]) => columns.map((i) => row[i]);
  return blocks.map((columns) => ({
    head: pick(head, columns),
    rows: rows.map((row) => pick(row, columns)),
  }));
}

/** Wrapped at the width of the terminal, but not to lines that are hard to read. */
export function paragraph(text: string): string {
  const width = Math.min(terminalWidth(), 100);
  const lines: string[] = [];
  let length = 0;
  for (const word of styled(text).split(' ')) {
    const size = stripVTControlCharacters(word).length;
    if (lines.length > 0 && length + 1 + size <= width) {
      lines[lines.length - 1] += ` ${word}`;
      length += 1 + size;
    } else {
      lines.push(word);
      length = size;
    }
  }
  return lines.join('\n');
}

/**
 * Word by word, so that it can be wrapped. Without colours bold keeps its stars: that a printed figure is wrong must not
 * get lost.
 */
function styled(text: string): string {
  const { bold, yellow, italic, isColorSupported } = colors(1);
  const show = ({ kind, text: words }: Span) => {
    if (kind === 'strong' && !isColorSupported) return `**${words}**`;
    const style = {
      strong: (word: string) => bold(yellow(word)),
      emphasis: italic,
      plain: String,
      code: String,
      link: String,
    }[kind];
    return words.replace(/[^ ]+/g, (word) => style(word));
  };
  return spans(text).map(show).join('');
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i);
}

/** Spaces between columns, as table.ts sets them. */
const GAP = 2;
