/**
 * `bloomery index`: makes or renews the index of folders, by which `bloomery grep` leaves out the
 * parts of files that cannot contain a needle. docs/spec/text-index.md has the bytes.
 */

import { statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { DEFAULT_SCHEME, PRECISE_SCHEME } from '@bloomery/stores/text';
import type { Command } from 'commander';
import { parseCount, withExamples, withJson } from '../command-options.ts';
import { formatBytes, formatCount } from '../terminal/format-values.ts';
import { startProgress } from '../terminal/progress.ts';
import { writeJson, writeLine } from '../terminal/standard-output.ts';
import { warn } from '../terminal/warning.ts';
import { bytesBelow, type IndexReport, indexFolder } from '../text/index-folder.ts';
import { UsageError } from '../usage-error.ts';

interface IndexCommandOptions {
  readonly precise?: boolean;
  readonly rebuild?: boolean;
  readonly repack?: boolean;
  readonly threads?: number;
  readonly json?: boolean;
}

export function register(program: Command): void {
  const command = program
    .command('index')
    .description('index the text files of folders, plain or gzip, for bloomery grep')
    .argument('<folders...>', 'folders; the index lies in .bloomery in each of them')
    .option('--precise', 'a larger index that leaves out more, above all for numbers and short needles')
    .option('--repack', 'write gzip files of one piece again as many members: still gzip, and no larger')
    .option('--rebuild', 'index all files again, not only those that changed')
    .option('--threads <count>', 'threads that read and scan (default: one for each core)', parseCount(1))
    .addHelpText('after', HELP)
    .action(run);
  withExamples(withJson(command), [
    ['bloomery index /var/log/app', 'index a folder of logs, or renew its index'],
    ['bloomery index --repack /var/log/app', 'and let searches skip parts of large gzip files'],
    ['bloomery grep 4bf92f3577b34da6 /var/log/app', 'search it'],
  ]);
}

async function run(folders: readonly string[], options: IndexCommandOptions): Promise<void> {
  const { precise = false, rebuild = false, repack = false, json = false } = options;
  for (const folder of folders) {
    if (!statSync(folder).isDirectory())
      throw new UsageError(`${folder} is a file; index the folder that it is in`);
  }
  for (const folder of folders) {
    const progress = startProgress({ what: `indexing ${folder}`, total: bytesBelow(folder), enabled: !json });
    let report: IndexReport;
    try {
      report = await indexFolder(folder, {
        scheme: precise ? PRECISE_SCHEME : DEFAULT_SCHEME,
        rebuild,
        repack,
        threads: options.threads ?? availableParallelism(),
        onProgress: (bytes) => progress.advance(bytes),
        onWarning: (message) => warn(message),
      });
    } finally {
      progress.stop();
    }
    if (json) writeJson({ folder, ...report });
    else writeLine(textOf(folder, report));
  }
}

function textOf(folder: string, report: IndexReport): string {
  const { files, indexed, grown, renamed, removed, repacked, totalTextBytes, indexBytes, blocks } = report;
  const share = totalTextBytes === 0 ? 0 : (100 * indexBytes) / totalTextBytes;
  const changes = [
    `${formatCount(indexed)} indexed now`,
    ...(grown > 0 ? [`${formatCount(grown)} of them further`] : []),
    ...(renamed > 0 ? [`${formatCount(renamed)} renamed`] : []),
    ...(repacked > 0 ? [`${formatCount(repacked)} repacked`] : []),
    ...(removed > 0 ? [`${formatCount(removed)} gone`] : []),
  ];
  return `${folder}: ${formatCount(files)} files (${changes.join(', ')}), ${formatBytes(totalTextBytes)} of text in ${formatCount(blocks)} blocks, index ${formatBytes(indexBytes)} (${share.toFixed(1)} %)`;
}

const HELP = `
Run it again after logs grew or were rotated: it reads what is new. A search never trusts a file that changed since; it
reads such a file whole.`;
