/**
 * `bloomery add` and `bloomery remove`: change a filter file. This file holds the options and the
 * output. in-place/ documents what the commands guarantee after a crash and with other processes
 * that read or write the file at the same time.
 */

import type { GuavaFunnel } from 'bloomery/formats/guava';
import { type Command, Option } from 'commander';
import {
  parseCount,
  parseSeconds,
  withExamples,
  withFormat,
  withJson,
  withKeyFile,
} from '../command-options.ts';
import { NOT_FOUND } from '../exit-codes.ts';
import { readSecretKey } from '../files/secret-key-file.ts';
import type { Fullness } from '../in-place/fullness.ts';
import {
  addToFile,
  type KeyChunks,
  removeFromFile,
  type Update,
  type UpdateOptions,
} from '../in-place/update-file.ts';
import { inputsOf } from '../keys/input.ts';
import { type KeyOptions, readKeys, withKeyOptions } from '../keys/key-source.ts';
import { updateByStream } from '../streaming/stream-update.ts';
import { formatBytes, formatCount, formatRate } from '../terminal/format-values.ts';
import { startProgress } from '../terminal/progress.ts';
import { writeJson } from '../terminal/standard-output.ts';
import { isTerminal } from '../terminal/terminal.ts';
import { warn } from '../terminal/warning.ts';

interface Options extends KeyOptions {
  readonly keyFile?: string;
  readonly format?: string;
  readonly funnel?: GuavaFunnel;
  readonly dryRun?: boolean;
  readonly flush: number;
  readonly flushKeys: number;
  readonly wait: number;
  readonly verbose?: boolean;
  readonly json?: boolean;
  readonly strict?: boolean;
}

export function register(program: Command): void {
  const add = program
    .command('add')
    .description('add keys to a filter file, in place where its structure allows')
    .argument('<filter>', 'the file to change')
    .argument('[files...]', 'files of keys, one a line; none, or -: standard input')
    .addOption(
      new Option('--funnel <name>', 'Guava: how keys became bytes').choices([
        'utf8',
        'utf16',
        'int',
        'long',
        'bytes',
      ]),
    )
    .action(runAdd);
  withExamples(withUpdateOptions(add), [
    ['bloomery add seen.blm today.txt', 'the lines of a file'],
    ['cut -f1 access.log | bloomery add seen.blm --verbose', 'from a pipe, and say how many were new'],
    ['tail -f access.log | bloomery add seen.blm', 'a stream, written every second'],
    ['bloomery add seen.blm users.csv --column email --dry-run --json', 'what would happen, for a script'],
  ]);
  add.addHelpText(
    'after',
    `
A large BloomFilter or BlockedBloomFilter is not read as a whole: only the pages of 4 kB that the keys touch are read
and written. After a crash at any moment the file holds the old contents or the new ones; what was interrupted is
finished when the filter is next used. Others who add at the same time are waited for (--wait). Keys from a pipe are
written in batches as they come (--flush), so tail -f works; Ctrl-C and SIGTERM write the rest first.`,
  );

  const remove = program
    .command('remove')
    .description(
      'remove keys from a filter file that can forget (counting and spectral filters, count-min sketches)',
    )
    .argument('<filter>', 'the file to change')
    .argument('[files...]', 'files of keys, one a line; none, or -: standard input')
    .option('--strict', 'change nothing and exit with 1 if a key is certainly not in')
    .action(runRemove);
  withExamples(withUpdateOptions(remove), [
    ['bloomery remove sessions.blm ended.txt', 'take keys out again'],
    ['bloomery remove sessions.blm ended.txt --strict', 'all of them, or none'],
  ]);
  remove.addHelpText(
    'after',
    `
Remove only what was added. A key that is certainly not in is left alone and counted; one that was never added but looks
as if it were in takes a part of other keys with it, and those may then be missed.`,
  );
}

function withUpdateOptions(command: Command): Command {
  withFormat(withKeyFile(withJson(withKeyOptions(command))));
  return command
    .option('--dry-run', 'find out what would happen and write nothing')
    .option('--flush <seconds>', 'write the keys of a pipe at least so often', parseSeconds, 1)
    .option('--flush-keys <count>', 'write them when there are so many', parseCount(), 1_000_000)
    .option('--wait <seconds>', 'how long to wait for others who change the same file', parseSeconds, 10)
    .option('--verbose', 'say what was done, also where standard error is no terminal');
}

async function runAdd(path: string, files: string[], options: Options): Promise<void> {
  const settings = updateOptions(options);
  const work = (keys: KeyChunks) => addToFile(path, keys, settings);
  await withKeys('adding', files, options, work, (update) => reportAdded(path, update, options));
}

function reportAdded(path: string, update: Update, options: Options): void {
  const { keys, effective, fullness } = update;
  const present = effective === undefined ? undefined : keys - effective;
  if (fullness?.overfull) {
    warn(
      `${path} was made for ${formatCount(fullness.capacity!)} keys and ${options.dryRun ? 'would hold' : 'holds'} about ` +
        `${Number.isFinite(fullness.estimatedSize) ? formatCount(fullness.estimatedSize) : 'any number'}; ${rateText(fullness)}` +
        `build a larger one from all keys (build --capacity), or use --structure scalable`,
    );
  }
  if (options.json) {
    writeJson({
      filter: path,
      keys,
      new: effective ?? null,
      present: present ?? null,
      ...details(update, options),
    });
  } else {
    const counted =
      effective === undefined
        ? ''
        : `, ${formatCount(effective)} new, ${formatCount(present!)} maybe in before`;
    report(options, `${path}: ${count(keys, 'key')}${counted}; ${describe(update, options)}`);
  }
}

/** The rate that an overfull filter has come to, where its structure tells. */
function rateText({ estimatedFalsePositiveRate: rate }: Fullness): string {
  return rate === undefined ? '' : `false positives are about ${formatRate(rate)} now; `;
}

async function runRemove(path: string, files: string[], options: Options): Promise<void> {
  const settings = { ...updateOptions(options), strict: options.strict };
  const work = (keys: KeyChunks) => removeFromFile(path, keys, settings);
  await withKeys('removing', files, options, work, (update) => reportRemoved(path, update, options));
}

function reportRemoved(path: string, update: Update, options: Options): void {
  const { strict } = options;
  const { keys, effective: removed = 0 } = update;
  const missing = keys - removed;
  const refused = strict === true && missing > 0;
  if (refused) process.exitCode = NOT_FOUND;
  if (options.json) {
    const counts = { keys, removed: refused ? 0 : removed, notIn: missing };
    writeJson({ filter: path, ...counts, ...details(update, options) });
    return;
  }
  if (missing > 0) {
    const rest = refused ? 'nothing was changed (--strict)' : 'they were left alone';
    warn(`${path}: ${formatCount(missing)} of ${formatCount(keys)} keys were certainly not in; ${rest}`);
  }
  if (!refused) {
    report(
      options,
      `${path}: ${count(keys, 'key')}, ${formatCount(removed)} removed; ${describe(update, options)}`,
    );
  }
}

async function withKeys(
  what: string,
  files: readonly string[],
  options: Options,
  work: (keys: KeyChunks) => Promise<Update>,
  report: (update: Update) => void,
): Promise<void> {
  const progress = startProgress({ what, enabled: !options.json });
  const keys = readKeys(files, options, (bytes) => progress.advance(bytes));
  const done = (update: Update) => {
    progress.stop();
    report(update);
  };
  try {
    // `--strict` and `--dry-run` are about all keys together.
    const inBatches = inputsOf(files).some(({ bytes }) => bytes === undefined);
    if (!inBatches || options.strict || options.dryRun) done(await work(keys));
    else {
      const limits = { everyMs: 1000 * options.flush, mostKeys: options.flushKeys };
      await updateByStream(keys, limits, work, done);
    }
  } finally {
    progress.stop();
  }
}

function updateOptions({ keyFile, format, funnel, dryRun, wait }: Options): UpdateOptions {
  const key = keyFile === undefined ? undefined : readSecretKey(keyFile);
  return { key, format, funnel, dryRun, waitMs: 1000 * wait };
}

/** The fields of the JSON output besides the counts. */
function details(update: Update, { dryRun = false }: Options): object {
  const { structure, written, pagesRead, pagesWritten, bytesRead, bytesWritten, fileBytes, fullness } =
    update;
  return {
    structure,
    dryRun,
    written,
    pagesRead,
    pagesWritten,
    bytesRead,
    bytesWritten,
    fileBytes,
    estimatedSize: fullness === undefined ? null : Math.round(fullness.estimatedSize),
    estimatedFalsePositiveRate: fullness?.estimatedFalsePositiveRate ?? null,
    capacity: fullness?.capacity ?? null,
    overfull: fullness?.overfull ?? false,
  };
}

function describe(update: Update, { dryRun }: Options): string {
  const { written, pagesRead, pagesWritten, bytesWritten, fileBytes } = update;
  if (written === 'nothing') return 'nothing changed';
  if (written === 'file') {
    return dryRun ? 'the file would be replaced' : `the file was replaced, ${formatBytes(bytesWritten)}`;
  }
  const read = `${count(pagesRead, 'page')} read`;
  if (dryRun) return `${read}, ${formatCount(pagesWritten)} would be written in place`;
  const size = `${formatBytes(bytesWritten)} for a file of ${formatBytes(fileBytes)}`;
  return `${read}, ${formatCount(pagesWritten)} written in place, ${size}`;
}

function report({ verbose, json }: Options, line: string): void {
  if (!json && (verbose || isTerminal(2))) process.stderr.write(`${line}\n`);
}

function count(value: number, what: string): string {
  return `${formatCount(value)} ${what}${value === 1 ? '' : 's'}`;
}
