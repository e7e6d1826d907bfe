/**
 * `bloomery uniq`: passes each line once, in the order of the input, without sorting. It remembers
 * lines in a filter: 4 to 8 bytes per line at the default rate, however long the lines are. With
 * `--seen FILE` it remembers them in a filter file, from one run to the next.
 *
 * Lines are printed as they come, and remembered in the file within a second (streaming/). The file
 * is changed after the lines were printed: a crash in between lets some lines pass again at the
 * next run, and loses none. SIGINT, SIGTERM, SIGHUP and a closed pipe write the file first.
 *
 * Several processes can share the file of `--seen`: each adds its lines to what the others wrote. A
 * process does not see lines that another one passed after it started. The file of `--exact` is for
 * one process at a time, because lines of another one would shift the places that it remembers. So
 * it is locked for the whole run.
 */

import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { placeOf } from '@bloomery/files';
import { systemClock } from '@bloomery/transport';
import { type KeyHashes, lineEnds, RotatingBloomFilter } from 'bloomery';
import type { Command } from 'commander';
import { MatchPrinter } from '../checking/match-printer.ts';
import {
  parseCount,
  parseDuration,
  parseRate,
  parseSeconds,
  withExamples,
  withJson,
  withKeyFile,
} from '../command-options.ts';
import { openFilter } from '../files/filter-file.ts';
import { readSecretKey } from '../files/secret-key-file.ts';
import { checkTarget, writeTarget } from '../files/target-file.ts';
import { lockFile } from '../in-place/recovered-file.ts';
import { addToFile } from '../in-place/update-file.ts';
import { eachKey } from '../keys/each-key.ts';
import { inputsOf } from '../keys/input.ts';
import { type KeyChunk, type KeyOptions, readKeys, withKeyOptions } from '../keys/key-source.ts';
import { ExactLines } from '../streaming/exact-lines.ts';
import { FlushPacing } from '../streaming/flush-pacing.ts';
import { runFlushed } from '../streaming/flushed-stream.ts';
import { LineSieve } from '../streaming/line-sieve.ts';
import { fileSeenFilter, MOST_SIGHTS, newSeenFilter } from '../streaming/seen-filter.ts';
import { formatCount } from '../terminal/format-values.ts';
import { holdSignals } from '../terminal/orderly-end.ts';
import { warn } from '../terminal/warning.ts';
import { UsageError } from '../usage-error.ts';

interface UniqOptions extends Omit<KeyOptions, 'null'> {
  readonly null?: boolean;
  readonly seen?: string;
  readonly exact?: string;
  readonly window?: number;
  readonly at: number;
  readonly capacity?: number;
  readonly rate: number;
  readonly keyFile?: string;
  readonly invertMatch?: boolean;
  readonly count?: boolean;
  readonly withFilename?: boolean;
  readonly lineNumber?: boolean;
  readonly flush: number;
  readonly wait: number;
  readonly json?: boolean;
}

export function register(program: Command): void {
  const command = program
    .command('uniq')
    .description(
      'pass each line once, in order, also lines that are far apart; remember them in a filter file',
    )
    .argument('[files...]', 'files of lines; none, or -: standard input')
    .option('--seen <file>', 'remember lines in this filter file; it is made if there is none')
    .option(
      '--window <time>',
      'pass a line again after this time, such as 90s, 15m, 24h or 7d',
      parseDuration,
    )
    .option('--at <sight>', 'pass a line at its Nth sight instead of the first', parseCount(), 1)
    .option('--exact <file>', 'drop no line by a false positive: passed lines are kept in this text file')
    .option(
      '-N, --capacity <lines>',
      'distinct lines to expect (default: a filter that grows; 1M with --window and --at)',
      parseCount(),
    )
    .option('-r, --rate <rate>', 'how likely a new line is dropped', parseRate, 1e-6)
    .option('-v, --invert-match', 'print the other lines: those that were seen before')
    .option('-c, --count', 'print how many lines there are instead of the lines')
    .option('-H, --with-filename', 'print the name of the file before each line')
    .option('-n, --line-number', 'print the number of the line before each line')
    .option('--flush <seconds>', 'write --seen at least so often', parseSeconds, 1)
    .option('--wait <seconds>', 'how long to wait for others who change the same file', parseSeconds, 10)
    .action(run);
  withJson(withKeyFile(withKeyOptions(command, { hasCount: true })));
  command.addHelpText(
    'after',
    `
A line that was seen never passes again. A new line is dropped with the probability --rate; with --exact it is not. With --at N
a line passes at its Nth sight at the latest. The file of --seen is a ScalableBloomFilter, with --capacity a fixed one, with
--window a RotatingBloomFilter, with --at a CountingBloomFilter: info, check and add work on it.`,
  );
  withExamples(command, [
    ['bloomery uniq urls.txt > once.txt', 'each line once, in the order of the file, without sorting'],
    ['tail -f app.log | bloomery uniq --seen known.blm', 'lines that no run has seen before'],
    ['journalctl -f -o cat | bloomery uniq --seen day.blm --window 24h', 'each message at most once a day'],
    ['bloomery uniq access.log --column 1 -d " " --at 3', 'the third request of each address'],
    ['bloomery uniq --exact done.txt jobs.txt', 'no new line is dropped; done.txt lists them all'],
  ]);
}

async function run(files: string[], options: UniqOptions): Promise<void> {
  checkOptions(options);
  const { exact, wait } = options;
  if (exact === undefined) return pass(files, options);
  const lock = await lockFile(placeOf(exact) ?? resolve(exact), { waitMs: 1000 * wait });
  try {
    await pass(files, options);
  } finally {
    lock.release();
  }
}

async function pass(files: string[], options: UniqOptions): Promise<void> {
  inputsOf(files); // all files are checked before the first is read
  const key = options.keyFile === undefined ? undefined : readSecretKey(options.keyFile);
  const filter = await seenFilter(options, key);
  const { scheme } = filter;
  const end = options.null ? 0 : 10;
  const sieve = new LineSieve(filter, options.at);
  let waiting: KeyHashes[] = [];
  const note = (words: Int32Array) => {
    if (words.length > 0) waiting.push({ scheme, words, length: words.length / 2 });
  };
  const exact =
    options.exact === undefined
      ? undefined
      : ExactLines.open(options.exact, { scheme, end }, (words) => {
          filter.addMany({ scheme, words, length: words.length / 2 });
          note(words);
        });
  const printer = new MatchPrinter([], options);
  const signals = holdSignals();
  const update = { key, waitMs: 1000 * options.wait };
  let overfull: string | undefined;
  const flush = async () => {
    const batch = waiting;
    waiting = [];
    if (options.seen === undefined || batch.length === 0) return;
    const { fullness } = await addToFile(options.seen, batch.map(chunkOf), update);
    if (fullness?.overfull) {
      overfull = `${options.seen} was made for ${formatCount(fullness.capacity!)} lines and holds about ${formatCount(fullness.estimatedSize)}: more new lines are dropped than --rate says; name a new file, with a larger --capacity`;
    }
  };
  try {
    await runFlushed({
      parts: eachFile(files, options, printer),
      take(chunk) {
        if (filter instanceof RotatingBloomFilter && filter.ttlMs !== undefined)
          filter.advance(systemClock.now());
        const lines = exact && [...eachKey(chunk.keys)];
        const { passes, taken } = sieve.sieve(
          chunk.keys,
          lines && exact.forBatch((i) => checked(lines[i], end)),
        );
        exact?.flush();
        printer.print({ ...chunk, ends: chunk.ends ?? lineEnds(chunk.records) }, [passes]);
        printer.flush();
        note(taken);
        return { keys: taken.length / 2, bytes: taken.byteLength };
      },
      flush,
      pacing: new FlushPacing({ everyMs: 1000 * options.flush, mostKeys: MOST_WAITING }),
      clock: systemClock,
      stop: signals.stop,
    });
    printer.end();
  } finally {
    process.stdin.destroy(); // it would keep the process alive after an error
    // Lines that were printed before an error or a closed pipe are remembered.
    await flush();
    exact?.close();
    if (overfull !== undefined) warn(overfull);
    signals.close();
  }
}

const MOST_WAITING = 1_000_000;

function checkOptions({ at, window, exact, seen }: UniqOptions): void {
  if (at > MOST_SIGHTS)
    throw new UsageError(`--at counts to ${formatCount(MOST_SIGHTS)}, got ${formatCount(at)}`);
  if (at > 1 && window !== undefined) throw new UsageError('--at and --window exclude each other');
  if (exact !== undefined && (at > 1 || window !== undefined)) {
    throw new UsageError('--exact keeps every line once and for all; it excludes --at and --window');
  }
  if (seen === '-') throw new UsageError('--seen is changed in its file; name it instead of -');
}

/** The filter of `--seen`, which is made if there is none, or one that lasts as long as the run. */
async function seenFilter(
  { seen, ...options }: UniqOptions,
  key: ReturnType<typeof readSecretKey> | undefined,
) {
  if (seen !== undefined && existsSync(seen)) {
    const file = await openFilter(seen, { key });
    return fileSeenFilter(file, options);
  }
  const filter = newSeenFilter({ ...options, key }, systemClock.now());
  if (seen !== undefined) {
    checkTarget(seen);
    writeTarget(seen, filter.encode());
  }
  return filter;
}

/** The chunks of all files, one file after the other. */
async function* eachFile(
  files: readonly string[],
  options: UniqOptions,
  printer: MatchPrinter,
): AsyncGenerator<KeyChunk> {
  for (const path of files.length === 0 ? ['-'] : files) {
    yield* readKeys([path], options);
    printer.endFile(path);
  }
}

/** Hashes in the form that the update of a file takes. */
function chunkOf(keys: KeyHashes): KeyChunk {
  return {
    path: '',
    records: NOTHING,
    keys,
    count: keys.length,
    ends: null,
    start: 0,
    skipped: 0,
    numbers: null,
  };
}

const NOTHING = new Uint8Array(0);

/** A key that can stand on a line of its own. */
function checked(line: Uint8Array, end: number): Uint8Array {
  if (!line.includes(end)) return line;
  throw new UsageError(
    '--exact keeps each key on a line, and a key has a newline in it; --null keeps such keys',
  );
}
