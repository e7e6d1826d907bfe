/**
 * The report of a part as text: titles, paragraphs, tables, plots, verdicts. On a terminal, a table
 * that is too wide is folded between groups of columns, and the columns that name a row are
 * repeated. In a pipe a row stays one line.
 */

import { stripVTControlCharacters } from 'node:util';
import type { Colors, Screen } from '../drawing/screen.ts';
import { terminalPlot } from '../drawing/terminal-plot.ts';
import { formatTable } from '../drawing/text-table.ts';
import { type Comparison, farthest, isTooFar } from '../findings/comparison.ts';
import type { Part, Report, Section, Table } from '../findings/section.ts';
import { bare, type Span, spans } from './inline.ts';

/** The whole part, without a newline at its end. */
export function reportText(part: Part, { sections, comparisons }: Report, screen: Screen): string {
  const blocks = sections.map((section) => sectionText(section, screen));
  if (part.showsVerdicts) blocks.push(verdictTable(comparisons, screen));
  blocks.push(verdictLine(comparisons, screen));
  return blocks.join('\n\n');
}

/** Name and subject of each part, one line each. */
export function partList(parts: readonly Part[]): string {
  return `${formatTable(parts.map(({ name, what }) => [name, what]))}\n`;
}

/** How many comparisons there are, which is the farthest, and whether that is too far. */
export function verdictLine(comparisons: readonly Comparison[], screen: Screen, where = ''): string {
  const { green, red } = screen.colors;
  const far = comparisons.filter(isTooFar);
  if (far.length > 0) {
    const names = far.map(({ what, deviations }) => `${what}: ${deviations.toFixed(1)} σ`);
    return red(paragraph(`${where}Outside 5 σ: ${names.join('; ')}.`, screen));
  }
  const { what, deviations } = farthest(comparisons);
  const count = `${comparisons.length} comparisons with theory`;
  const text = paragraph(
    `${where}All within 5 σ: ${count}, the farthest ${deviations.toFixed(1)} σ (${what}).`,
    screen,
  );
  return text.replace('All within 5 σ:', green('All within 5 σ:'));
}

function sectionText(section: Section, screen: Screen): string {
  const { title, text, tables, figures = [], notes = [] } = section;
  const { bold, cyan } = screen.colors;
  return [
    bold(cyan(`== ${bare(title)}`)),
    ...text.map((words) => paragraph(words, screen)),
    ...tables.map((table) => tableText(table, screen)),
    ...figures.map(({ plot }) => terminalPlot(plot, screen)),
    ...notes.map((words) => paragraph(words, screen)),
  ]
    .filter((block) => block !== '')
    .join('\n\n');
}

function verdictTable(comparisons: readonly Comparison[], { colors }: Screen): string {
  const { bold, green, red } = colors;
  const head = ['against theory', 'distance in σ', 'verdict'].map((cell) => bold(cell));
  const rows = comparisons.map((one) => [
    one.what,
    one.deviations.toFixed(1),
    isTooFar(one) ? red('OUTSIDE 5 σ') : green('within 5 σ'),
  ]);
  return formatTable([head, ...rows], { right: [1] });
}

function tableText(table: Table, { colors, width, folds }: Screen): string {
  return fold(table, folds ? width : Number.POSITIVE_INFINITY)
    .map(({ head, rows }) => {
      const cells = [
        head.map((cell) => colors.bold(bare(cell))),
        ...rows.map((row) => row.map((cell) => styled(cell, colors))),
      ];
      return formatTable(cells, { right: head.map((_, i) => i) });
    })
    .join('\n\n');
}

/** Cuts a table into tables, each with as many groups of columns as the width allows. */
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

/**
 * A text wrapped at the width of the screen, and at most 100 columns, because longer lines are hard
 * to read.
 */
export function paragraph(text: string, screen: Pick<Screen, 'colors' | 'width'>): string {
  const width = Math.min(screen.width, 100);
  const lines: string[] = [];
  let length = 0;
  for (const word of styled(text, screen.colors).split(' ')) {
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
 * A text with its marks as colours, word by word so that it can be wrapped. Without colours bold
 * text keeps its stars, because bold says that a printed number is wrong.
 */
function styled(text: string, { bold, yellow, italic, isColorSupported }: Colors): string {
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

/** Number of spaces that text-table.ts sets between columns. */
const GAP = 2;
