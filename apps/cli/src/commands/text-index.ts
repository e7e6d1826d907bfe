/**
 * `bloomery index`: makes or renews the index of folders, by which `bloomery grep` leaves out the
 * parts of files that cannot contain a needle. docs/spec/text-index.md has the bytes.
 */

import { statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { FolderTakenError } from '@bloomery/files';
import { DEFAULT_SCHEME, PRECISE_SCHEME } from '@bloomery/stores/text';
import type { Command } from 'commander';
import { parseCount, parseSeconds, withExamples, withJson } from '../command-options.ts';
import { describeError, isExpected } from '../terminal/error-text.ts';
import { formatBytes, formatCount } from '../terminal/format-values.ts';
import { holdSignals } from '../terminal/orderly-end.ts';
import { startProgress } from '../terminal/progress.ts';
import { writeJson, writeLine } from '../terminal/standard-output.ts';
import { warn } from '../terminal/warning.ts';
import { bytesBelow, type IndexReport, indexFolder } from '../text/index-folder.ts';
import { watchFolders } from '../text/watch-folders.ts';
import { UsageError } from '../usage-error.ts';

interface IndexCommandOptions {
  readonly precise?: boolean;
  readonly rebuild?: boolean;
  readonly repack?: boolean;
  readonly threads?: number;
  readonly watch?: boolean;
  readonly pause?: number;
  readonly json?: boolean;
}

export function register(program: Command): void {
  const command = program
    .command('index')
    .description('index the text files of folders, plain, gzip or zstd, for bloomery grep')
    .argument('<folders...>', 'folders; the index lies in .bloomery in each of them')
    .option('--precise', 'a larger index that leaves out more, above all for numbers and short needles')
    .option('--repack', 'write gzip and zstd files of one piece again as many members, no larger')
    .option('--rebuild', 'index all files again, not only those that changed')
    .option('--watch', 'go on: renew the index whenever files change, and print a line for each time')
    .option('--pause <seconds>', 'with --watch, seconds between two runs for a folder (5)', parseSeconds)
    .option('--threads <count>', 'threads that read and scan (default: one for each core)', parseCount(1))
    .addHelpText('after', HELP)
    .action(run);
  withExamples(withJson(command), [
    ['bloomery index /var/log/app', 'index a folder of logs, or renew its index'],
    ['bloomery index --repack /var/log/app', 'and let searches skip parts of large gzip files'],
    ['bloomery index --watch /var/log/app', 'keep the index current until Ctrl-C or SIGTERM'],
    ['bloomery grep 4bf92f3577b34da6 /var/log/app', 'search it'],
  ]);
}

async function run(folders: readonly string[], options: IndexCommandOptions): Promise<void> {
  for (const folder of folders) {
    if (!statSync(folder).isDirectory())
      throw new UsageError(`${folder} is a file; index the folder that it is in`);
  }
  if (options.pause !== undefined && !options.watch) throw new UsageError('--pause is for --watch');
  // A signal ends a run in an orderly way: the former index stays, and its lock is released.
  const held = holdSignals();
  try {
    if (options.watch) await watch(folders, options, held.stop);
    else for (const folder of folders) print(folder, await indexOnce(folder, options, held.stop), options);
  } catch (error) {
    if (!held.stop.aborted) throw error;
  } finally {
    held.close();
  }
}

/** Renews the index whenever logs grow or are rotated. A run that fails is tried again later. */
async function watch(
  folders: readonly string[],
  options: IndexCommandOptions,
  signal: AbortSignal,
): Promise<void> {
  const { pause = 5, ...rest } = options;
  const rebuilt = new Set<string>();
  await watchFolders(folders, {
    pauseMs: 1000 * pause,
    lookMs: LOOK_MS,
    signal,
    run: async (folder) => {
      try {
        const isFirst = !rebuilt.has(folder);
        const report = await indexOnce(
          folder,
          { ...rest, rebuild: rest.rebuild === true && isFirst },
          signal,
        );
        rebuilt.add(folder);
        if (isFirst || isChanged(report)) print(folder, report, options);
      } catch (error) {
        if (signal.aborted) return;
        if (!isExpected(error) && !(error instanceof FolderTakenError)) throw error;
        warn(`${folder} was not indexed, and is tried again: ${describeError(error)}`);
      }
    },
    onUnwatched: (folder, error) =>
      warn(`changes in ${folder} are looked for every ${LOOK_MS / 1000} s: ${error.message}`),
  });
}

/** Changes that the system does not tell are found after this time. */
const LOOK_MS = 60_000;

async function indexOnce(
  folder: string,
  { precise = false, rebuild = false, repack = false, threads, watch = false, json }: IndexCommandOptions,
  signal: AbortSignal,
): Promise<IndexReport> {
  const enabled = !json && !watch;
  const total = enabled ? bytesBelow(folder) : 0;
  const progress = startProgress({ what: `indexing ${folder}`, total, enabled });
  try {
    return await indexFolder(folder, {
      scheme: precise ? PRECISE_SCHEME : DEFAULT_SCHEME,
      rebuild,
      repack,
      threads: threads ?? availableParallelism(),
      signal,
      onProgress: (bytes) => progress.advance(bytes),
      onWarning: (message) => warn(message),
    });
  } finally {
    progress.stop();
  }
}

function print(folder: string, report: IndexReport, { json }: IndexCommandOptions): void {
  if (json) writeJson({ folder, ...report });
  else writeLine(textOf(folder, report));
}

function isChanged({ indexed, renamed, removed, repacked }: IndexReport): boolean {
  return indexed + renamed + removed + repacked > 0;
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
