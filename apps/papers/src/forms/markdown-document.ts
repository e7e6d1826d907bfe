/** The document as Markdown, which is how docs/papers/papers.md is written. */

import type { Findings, Section, Table } from '../findings/section.ts';
import { method, outcome, SOURCES, TITLE } from './preface.ts';

export interface MarkdownOptions {
  /** The command line that wrote it. */
  readonly command: string;
  /**
   * The relative path from the document to its figures, with a slash at the end; undefined for no
   * figures.
   */
  readonly folder: string | undefined;
}

export function asMarkdown(findings: Findings, { command, folder }: MarkdownOptions): string {
  const text = [
    `# ${TITLE}`,
    `<!-- Written by \`${command.replaceAll('-->', '')}\`. Do not edit. -->`,
    method(findings),
    SOURCES.map(({ name, what }) => `- *${name}*: ${what}`).join('\n'),
    outcome(findings),
    ...findings.parts.flatMap(({ report }) => report.sections.map((one) => section(one, folder))),
  ];
  return `${text.join('\n\n')}\n`;
}

function section(
  { title, text, tables, figures = [], notes = [] }: Section,
  folder: string | undefined,
): string {
  const pictures =
    folder === undefined ? [] : figures.map(({ file, caption }) => `![${caption}](${folder}${file})`);
  return [`## ${title}`, ...text, ...tables.map(table), ...pictures, ...notes].join('\n\n');
}

/**
 * A table whose columns are aligned in the source, because people read these pages as plain text.
 */
function table({ head, rows }: Table): string {
  const widths = head.map((_, i) => Math.max(3, ...[head, ...rows].map((row) => row[i].length)));
  const line = (row: readonly string[]) =>
    `| ${row.map((cell, i) => cell.padStart(widths[i])).join(' | ')} |`;
  return [
    line(head),
    `| ${widths.map((width) => `${'-'.repeat(width - 1)}:`).join(' | ')} |`,
    ...rows.map(line),
  ].join('\n');
}
