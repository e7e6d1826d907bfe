/**
 * The documents of a run. Whether they can be written is checked before any work; they are written
 * when it is done.
 */

import { mkdirSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { svgFile } from './drawing/svg-plot.ts';
import type { Findings, Part } from './findings/section.ts';
import { asPage } from './forms/html-page.ts';
import { asMarkdown } from './forms/markdown-document.ts';

export interface DocumentOptions {
  readonly markdown?: string;
  /** A directory. */
  readonly figures?: string;
  readonly page?: string;
  /** Whether files that are there may be replaced. */
  readonly force?: true;
  /** Whether the findings go to standard output as JSON. */
  readonly json?: true;
}

/** Writes documents for the program that runs this. The path `-` is standard output. */
export interface FileWriter {
  /** Throws if no file can be written there, or if one is there already and may not be replaced. */
  checkFile(path: string, options: { readonly force: boolean }): void;
  writeFile(path: string, text: string, options: { readonly force: boolean }): void;
}

/** Throws if a document of these options could not be written. */
export function checkDocuments(parts: readonly Part[], options: DocumentOptions, files: FileWriter): void {
  const { markdown, page, figures, force = false, json } = options;
  const streams = [markdown === '-', page === '-', json === true].filter(Boolean).length;
  if (streams > 1) {
    throw new RangeError('only one of --markdown -, --page - and --json can have standard output');
  }
  for (const path of [markdown, page]) if (path !== undefined) files.checkFile(path, { force });
  if (figures === undefined) return;
  if (figures === '-') throw new RangeError('--figures writes several files; name a directory');
  const found = statSync(figures, { throwIfNoEntry: false });
  if (found === undefined) files.checkFile(figures, { force: false });
  else if (!found.isDirectory()) throw new RangeError(`${figures} is a file; --figures needs a directory`);
  else
    for (const file of parts.flatMap((part) => part.files)) files.checkFile(join(figures, file), { force });
}

/** Writes the documents that the options name. `names` are the parts as the user named them. */
export function writeDocuments(
  findings: Findings,
  names: readonly string[],
  options: DocumentOptions,
  files: FileWriter,
): void {
  const { markdown, figures, page, force = false } = options;
  if (figures !== undefined) {
    mkdirSync(figures, { recursive: true });
    for (const { report } of findings.parts) {
      for (const { figures: some = [] } of report.sections) {
        for (const { file, plot } of some) {
          files.writeFile(join(figures, file), svgFile(plot), { force });
        }
      }
    }
  }
  if (markdown !== undefined) {
    const command = commandLine(findings, names, options);
    const folder = figures === undefined ? undefined : linkTo(figures, markdown);
    files.writeFile(markdown, asMarkdown(findings, { command, folder }), { force });
  }
  if (page !== undefined) files.writeFile(page, asPage(findings), { force });
}

/** The relative path from a document to the folder of its figures. */
function linkTo(folder: string, document: string): string {
  const way = relative(document === '-' ? '.' : dirname(document), folder);
  return `${way.replaceAll('\\', '/') || '.'}/`;
}

/** The command line that writes this document again. */
function commandLine(
  { trials, seed }: Findings,
  names: readonly string[],
  { markdown, figures }: DocumentOptions,
): string {
  return [
    'bloomery papers',
    ...names,
    `--trials ${trials}`,
    ...(seed === 0 ? [] : [`--seed ${seed}`]),
    `--markdown ${markdown}`,
    ...(figures === undefined ? [] : [`--figures ${figures}`]),
  ].join(' ');
}
