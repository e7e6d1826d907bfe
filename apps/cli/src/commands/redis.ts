/**
 * `redis`: one filter for many processes, on a Redis server (`@bloomery/stores/shared`). `attach`
 * makes the filter or describes it, `watch` stays a member and prints changes, `add` and `check` do
 * for it what the commands of the same names do for files, and `export` writes it to files.
 */

import { formatPairs } from '@bloomery/papers/drawing';
import type { SharedFilter, SharedFilterStats } from '@bloomery/stores/shared';
import { lineEnds } from 'bloomery';
import type { Command } from 'commander';
import { type MatchOptions, MatchPrinter } from '../checking/match-printer.ts';
import {
  parseCount,
  parseRate,
  parseSeconds,
  parseSeed,
  withExamples,
  withForce,
  withJson,
  withKeyFile,
} from '../command-options.ts';
import { FOUND, NOT_FOUND } from '../exit-codes.ts';
import { checkTarget, writeTarget } from '../files/target-file.ts';
import { bytesOf, inputsOf } from '../keys/input.ts';
import { type KeyOptions, readKeys, withKeyOptions } from '../keys/key-source.ts';
import { SentAdds } from '../sharing/sent-adds.ts';
import { type SharedOptions, untilLive, withSharedFilter } from '../sharing/shared-session.ts';
import { numberedFile, statusLine } from '../sharing/shared-text.ts';
import { formatBytes, formatCount, formatRate } from '../terminal/format-values.ts';
import { holdSignals } from '../terminal/orderly-end.ts';
import { startProgress } from '../terminal/progress.ts';
import { writeJson, writeLine } from '../terminal/standard-output.ts';
import { isTerminal, outputIsFile } from '../terminal/terminal.ts';
import { UsageError } from '../usage-error.ts';

export function register(program: Command): void {
  const command = program
    .command('redis')
    .description('share one filter between many processes through a Redis server');
  registerAttach(command);
  registerWatch(command);
  registerAdd(command);
  registerCheck(command);
  registerExport(command);
  command.addHelpText('after', HELP);
  withExamples(command, [
    ['bloomery redis attach users --capacity 5M --rate 0.1%', 'make a filter for five million keys'],
    ['bloomery redis add users names.txt', 'add the lines of a file, for all processes'],
    ['bloomery redis check users -v candidates.txt', 'the lines that are certainly not in it'],
  ]);
}

/** Adds the options that all of these commands have. */
function withServer(command: Command): Command {
  return withJson(withKeyFile(command))
    .argument('<name>', 'the name of the filter in Redis')
    .option('--url <url>', 'the server: redis:// or, with TLS, rediss:// (default: REDIS_URL, or 127.0.0.1)')
    .option('--seed <number>', 'the seed of the hash, if the filter was made with one', parseSeed)
    .option('--accept-eviction', 'use a server that may delete the filter when its memory is full')
    .option(
      '--timeout <seconds>',
      'wait so long for the server and for a filter that is unsure',
      parseSeconds,
      30,
    );
}

interface AttachOptions extends SharedOptions {
  readonly capacity?: number;
  readonly rate: number;
}

function registerAttach(parent: Command): void {
  const command = parent.command('attach').description('make the filter if there is none, and describe it');
  withServer(command)
    .option('-N, --capacity <keys>', 'make it for so many keys; it grows past them', parseCount(1))
    .option('-r, --rate <rate>', 'the share of other keys that it takes for its own', parseRate, 0.01)
    .action(attach);
  withExamples(command, [
    ['bloomery redis attach users --capacity 5M --rate 0.1%', 'make it, or find it'],
    ['bloomery redis attach users --json | jq .state', 'does it answer more than "maybe"?'],
    [
      'REDIS_URL=rediss://app:secret@redis.example:6380 bloomery redis attach users',
      'over TLS, as a user; NODE_EXTRA_CA_CERTS names the certificate of an authority of your own',
    ],
  ]);
}

async function attach(name: string, options: AttachOptions): Promise<void> {
  const { capacity, rate, json } = options;
  const size = capacity === undefined ? {} : { size: { capacity, falsePositiveRate: rate } };
  await withSharedFilter({ ...options, name, ...size }, async (filter) => {
    await untilLive(filter, options);
    const stats = filter.stats();
    if (json) writeJson({ name, ...plain(stats) });
    else writeLine(description(name, stats));
  });
}

function description(name: string, stats: SharedFilterStats): string {
  const { state, epoch, capacity, falsePositiveRate, stages, bytes, estimatedSize, entries } = stats;
  return formatPairs([
    ['name', name],
    ['state', state],
    ['keys', `about ${formatCount(estimatedSize)}`],
    ['made for', `${formatCount(capacity)} keys at ${formatRate(falsePositiveRate)}; it grows past them`],
    ['stages', `${stages}, ${formatBytes(bytes)} in each process`],
    ['epoch', `${epoch}`],
    ['log', `${formatCount(entries)} entries so far`],
  ]);
}

interface WatchOptions extends SharedOptions {
  readonly interval: number;
  readonly lines?: number;
}

function registerWatch(parent: Command): void {
  const command = parent
    .command('watch')
    .description('stay a member of the filter, and print a line when something changed');
  withServer(command)
    .option('--interval <seconds>', 'look so often', parseSeconds, 1)
    .option('--lines <count>', 'end after so many lines', parseCount(1))
    .addHelpText(
      'after',
      `
A watching process holds the filter in memory: it makes snapshots, and if the server loses its data, it restores the filter.
It goes on while the server is away. Ctrl-C ends it.`,
    )
    .action(watch);
  withExamples(command, [
    ['bloomery redis watch users', 'state, keys and age, whenever they change'],
    ['bloomery redis watch users --json >> users.log', 'the same for programs, an object a line'],
  ]);
}

async function watch(name: string, options: WatchOptions): Promise<void> {
  const { json, interval, lines = Number.POSITIVE_INFINITY } = options;
  const signals = holdSignals();
  try {
    await withSharedFilter({ ...options, name, extra: { restore: true } }, async (filter) => {
      let last = '';
      for (let printed = 0; printed < lines && !signals.stop.aborted; ) {
        const stats = filter.stats();
        const line = statusLine(stats);
        if (line !== last) {
          last = line;
          printed++;
          if (json) writeJson({ time: new Date().toISOString(), name, ...plain(stats) });
          else writeLine(`${new Date().toISOString().slice(11, 19)} ${line}`);
        }
        if (printed < lines) await pause(1000 * interval, signals.stop);
      }
    });
  } finally {
    signals.close();
  }
}

interface AddOptions extends SharedOptions, KeyOptions {
  readonly replicas?: number;
  readonly quiet?: boolean;
}

function registerAdd(parent: Command): void {
  const command = parent.command('add').description('add keys to the filter, for all processes');
  withKeyOptions(withServer(command).argument('[files...]', KEY_FILES))
    .option('--replicas <count>', 'wait until so many replicas have the keys', parseCount(1))
    .option('-q, --quiet', 'no progress and no summary')
    .action(add);
  command.addHelpText(
    'after',
    `
The id that is printed names the last add: check --after ID waits until it is there.`,
  );
  withExamples(command, [
    ['bloomery redis add users names.txt', 'all lines of a file'],
    ['tail -f events.jsonl | bloomery redis add seen --jsonl .id', 'a stream, as it comes'],
  ]);
}

async function add(name: string, files: string[], options: AddOptions): Promise<void> {
  const { replicas, json, quiet, timeout } = options;
  const total = bytesOf(inputsOf(files));
  const extra = replicas === undefined ? {} : { durability: 'wait' as const, replicas };
  await withSharedFilter({ ...options, name, extra }, async (filter) => {
    const enabled = !quiet && !json;
    const progress = startProgress({ what: 'adding', total, enabled });
    const sent = new SentAdds(filter, 1000 * timeout);
    try {
      for await (const { keys, count } of readKeys(files, options, (bytes) => progress.advance(bytes)))
        if (count > 0) await sent.send(keys, count);
      await sent.end();
    } finally {
      progress.stop();
    }
    const { added, id } = sent;
    if (json) writeJson({ name, added, id });
    else if (!quiet) writeLine(`${formatCount(added)} keys added${id === '' ? '' : `, the last as ${id}`}`);
  });
}

interface CheckOptions extends SharedOptions, Omit<KeyOptions, 'null'>, MatchOptions {
  readonly after?: string;
}

function registerCheck(parent: Command): void {
  const command = parent
    .command('check')
    .description('print the lines whose key may be in the filter (or, with -v, is certainly not)');
  withServer(command)
    .argument('[files...]', KEY_FILES)
    .option('-v, --invert-match', 'print the other lines: their key is certainly not in it')
    .option('-c, --count', 'print how many there are instead of the lines')
    .option('-q, --quiet', 'print nothing, stop at the first one; the exit code tells')
    .option('--after <id>', 'wait until the add with this id is there');
  withKeyOptions(command, { hasCount: true }).action(check);
  command.addHelpText(
    'after',
    `
The filter is loaded into memory and asked there. Exit code: 0 if a line was found, 1 if none, 2 on errors.
Keys that another process added in the last seconds may be missed, unless --after names their add.`,
  );
  withExamples(command, [
    ['bloomery redis check users candidates.txt', 'the lines that may be in it'],
    ['echo ada | bloomery redis check users -q && echo maybe', 'in a script'],
  ]);
}

async function check(name: string, files: string[], options: CheckOptions): Promise<void> {
  const { after, quiet, json, count, timeout } = options;
  const total = bytesOf(inputsOf(files));
  const printer = new MatchPrinter([name], options);
  await withSharedFilter({ ...options, name }, async (filter) => {
    await untilLive(filter, options);
    if (after !== undefined) await untilThere(filter, after, timeout);
    const enabled = !quiet && !json && (count === true || outputIsFile());
    const progress = startProgress({ what: 'checking', total, enabled });
    try {
      for await (const chunk of readKeys(files, options as KeyOptions, (bytes) => progress.advance(bytes))) {
        await untilLive(filter, options);
        const ends = chunk.ends ?? lineEnds(chunk.records);
        if (!printer.print({ ...chunk, ends }, [filter.hasMany(chunk.keys)])) break;
        printer.flush();
      }
    } finally {
      progress.stop();
    }
    printer.end();
  });
  process.exitCode = printer.matched > 0 ? FOUND : NOT_FOUND;
}

async function untilThere(filter: SharedFilter, id: string, timeout: number): Promise<void> {
  try {
    await filter.waitFor(id, { timeoutMs: 1000 * timeout });
  } catch (error) {
    if (error instanceof TypeError) throw new UsageError(`--after ${id} is no id that an add printed`);
    throw error;
  }
}

interface ExportOptions extends SharedOptions {
  readonly output: string;
  readonly force?: boolean;
}

function registerExport(parent: Command): void {
  const command = parent.command('export').description('write the filter to a file, or one for each stage');
  withForce(
    withServer(command).requiredOption(
      '-o, --output <file>',
      'the filter of the first stage; the others get -2, -3 and so on before the extension',
    ),
  ).action(exportFilter);
  command.addHelpText(
    'after',
    `
A filter that grew past its capacity has several stages. A key is in the set if one of them may have it:
bloomery check -f users.blm -f users-2.blm asks them all.`,
  );
  withExamples(command, [['bloomery redis export users -o users.blm', 'a file for bloomery check']]);
}

async function exportFilter(name: string, options: ExportOptions): Promise<void> {
  const { output, json, force = false } = options;
  if (json && output === '-') throw new UsageError('--json and -o - both want standard output');
  checkTarget(output, { force });
  await withSharedFilter({ ...options, name }, async (filter) => {
    await untilLive(filter, options);
    const frames = filter.frames();
    if (frames.length > 1 && output === '-')
      throw new UsageError(`${name} has ${frames.length} stages, and standard output takes one; name a file`);
    const files = frames.map((_, i) => numberedFile(output, i));
    for (const file of files) checkTarget(file, { force });
    for (const [i, file] of files.entries()) writeTarget(file, frames[i], { force });
    const bytes = frames.reduce((sum, frame) => sum + frame.length, 0);
    const { estimatedSize } = filter.stats();
    if (json) writeJson({ name, files, bytes, estimatedSize });
    else if (isTerminal(2))
      process.stderr.write(
        `${files.join(', ')}: about ${formatCount(estimatedSize)} keys, ${formatBytes(bytes)}\n`,
      );
  });
}

/** The figures for programs. */
function plain({ lastError, ...stats }: SharedFilterStats): object {
  return { ...stats, ageMs: Math.round(stats.ageMs), lastError: lastError?.message ?? null };
}

async function pause(ms: number, stop: AbortSignal): Promise<void> {
  if (stop.aborted) return;
  await new Promise<void>((resolve) => {
    const done = () => {
      clearTimeout(timer);
      stop.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    stop.addEventListener('abort', done);
  });
}

const KEY_FILES =
  'files of keys, one a line; gzip, zstd, xz and bzip2 are read as they are; none, or -: standard input';

const HELP = `
Redis 7 or later, without modules. The client is the npm package redis or ioredis, whichever is installed. docs/guide/stores-shared.md
describes what a shared filter promises, and which rights a user of the server needs.`;
