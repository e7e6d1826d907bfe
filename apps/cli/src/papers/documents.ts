/** The documents of a run: whether they can be written is found out before any work, and they are written when it is done. */

import { mkdirSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { checkTarget, writeAtomically } from '../files/atomic-file.ts';
import { UsageError } from '../usage-error.ts';
import { asMarkdown } from './markdown.ts';
import { asPage } from './page.ts';
import type { Findings, Part } from './section.ts';
import { svgFile } from './svg.ts';

export interface DocumentOptions {
  readonly markdown?: string;
  /** A directory. */
  readonly figures?: string;
  readonly page?: string;
  /** Whether files that are there may be replaced. */
  readonly force?: true;
  /** Whether standard output is taken. */
  readonly json?: true;
}

/** Refuses what is in the way or has no place. */
export function checkDocuments(parts: readonly Part[], options: DocumentOptions): void {
  const { markdown, page, figures, force, json } = options;
  const streams = [markdown === '-', page === '-', json === true].filter(Boolean).length;
  if (streams > 1) {
    throw new UsageError('only one of --markdown -, --page - and --json can have standard output');
  }
  for (const path of [markdown, page]) if (path !== undefined) checkTarget(path, { force });
  if (figures === undefined) return;
  if (figures === '-') throw new UsageError('--figures writes several files; name a directory');
  const found = statSync(figures, { throwIfNoEntry: false });
  if (found === undefined) checkTarget(figures);
  else if (!found.isDirectory()) throw new UsageError(`${figures} is a file; --figures needs a directory`);
  else for (const { files } of parts) for (const file of files) checkTarget(join(figures, file), { force });
}

/** `names` are the parts as they were asked for. */
export function writeDocuments(findings: Findings, names: readonly string[], options: DocumentOptions): void {
  const { markdown, figures, page, force = false } = options;
  if (figures !== undefined) {
    mkdirSync(figures, { recursive: true });
    for (const { report } of findings.parts) {
      for (const { figures: some = [] } of report.sections) {
        for (const { file, plot } of some) {
          writeAtomically(join(figures, file), Buffer.from(svgFile(plot)), { force });
        }
      }
    }
  }
  if (markdown !== undefined) {
    const command = commandLine(findings, names, options);
    const folder = figures === undefined ? undefined : linkTo(figures, markdown);
    writeAtomically(markdown, Buffer.from(asMarkdown(findings, { command, folder })), { force });
  }
  if (page !== undefined) writeAtomically(page, Buffer.from(asPage(findings)), { force });
}

/** The way from a document to the folder of its figures. */
function linkTo(folder: string, document: string): string {
  const way = relative(document === '-' ? '.' : dirname(document), folder);
  return `${way.replaceAll('\\', '/') || '.'}/`;
}

/** What gives this document again. */
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
