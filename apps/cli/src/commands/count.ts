/**
 * `bloomery count`, `bloomery get` and `bloomery top`: what a structure knows of a key besides
 * whether it may have it. `count` prints how often each key was added (counting, spectral,
 * count-min, heavy-hitters), `get` its value, its level or its generation (bloomier, attenuated,
 * rotating), and `top` the keys that were added most (heavy-hitters).
 *
 * The number stands before the line, with a tab between them, as `uniq -c` has it: `sort -n` and
 * `awk` take it from there. We refused one command for all three: a count of 0 is an answer, a
 * missing value is none, and the heavy keys need no input.
 */

import { type HeavyHitter, HeavyHitters, lineEnds, RotatingBloomFilter } from 'bloomery';
import type { Command } from 'commander';
import { type KeyNumbers, keyNumbers } from '../checking/key-numbers.ts';
import { LineWriter } from '../checking/line-writer.ts';
import { parseCount, withExamples, withJson, withKeyFile } from '../command-options.ts';
import { FOUND, NOT_FOUND } from '../exit-codes.ts';
import { openFilter } from '../files/filter-file.ts';
import { readSecretKey } from '../files/secret-key-file.ts';
import { className, type OwnFilter } from '../files/structures.ts';
import { type KeyChunk, type KeyOptions, readKeys, withKeyOptions } from '../keys/key-source.ts';
import { writeJson } from '../terminal/standard-output.ts';
import { UsageError } from '../usage-error.ts';

interface AskOptions extends KeyOptions {
  readonly keyFile?: string;
  readonly json?: boolean;
  /** `count` only: the least count that is printed. */
  readonly atLeast?: number;
}

interface TopOptions {
  readonly keyFile?: string;
  readonly json?: boolean;
  readonly maxCount?: number;
  readonly null?: boolean;
}

const FILTER = 'the filter file';
const FILES = 'files of keys, one a line; none, or -: standard input';

export function register(program: Command): void {
  const count = program
    .command('count')
    .description(
      'print how often each key, or range of a range-sketch, was added (counting, spectral, sketches)',
    )
    .argument('<filter>', FILTER)
    .argument('[files...]', FILES)
    .option(
      '--at-least <count>',
      'only lines with at least this count (0 prints all of them)',
      parseCount(0),
      0,
    )
    .action((path: string, files: string[], options: AskOptions) => ask('count', path, files, options));
  withExamples(withJson(withKeyFile(withKeyOptions(count))), [
    ['bloomery build access.log --column 1 -d " " -s count-min -o hits.blm', 'count, in little memory'],
    ['bloomery count hits.blm addresses.txt | sort -rn', 'how often each address came, most first'],
    ['bloomery count hits.blm addresses.txt --at-least 100', 'those that came a hundred times'],
    ['echo 0..200 | bloomery count latencies.blm', 'how many numbers of a range-sketch are at most 200'],
  ]);
  count.addHelpText('after', '\nA count is never too low. Exit code: 0 if a line was printed, 1 if none.');

  const get = program
    .command('get')
    .description(
      'print what a filter has for each key: value (bloomier), level (attenuated), generation (rotating)',
    )
    .argument('<filter>', FILTER)
    .argument('[files...]', FILES)
    .action((path: string, files: string[], options: AskOptions) => ask('get', path, files, options));
  withExamples(withJson(withKeyFile(withKeyOptions(get))), [
    [
      'bloomery build users.csv --column name --value-column id -s bloomier -o ids.blm',
      'a number for each key',
    ],
    ['bloomery get ids.blm names.txt', 'the number before each name that may have one'],
    ['bloomery build near.txt far.txt -s attenuated -o levels.blm', 'the first file is level 0'],
    ['bloomery get levels.blm objects.txt', 'the nearest level that may have each object'],
  ]);
  get.addHelpText(
    'after',
    '\nLines whose key is certainly not in are left out. Exit code: 0 if a line was printed, 1 if none.',
  );

  const top = program
    .command('top')
    .description('print the keys that were added most, with their counts (heavy-hitters)')
    .argument('<filter>', FILTER)
    .option('-m, --max-count <count>', 'at most so many keys', parseCount())
    .option('-0, --null', 'end each key with a zero byte')
    .action(runTop);
  withExamples(withJson(withKeyFile(top)), [
    ['cut -d" " -f1 access.log | bloomery build -s heavy-hitters --threshold 1% -o busy.blm', 'find them'],
    ['bloomery top busy.blm -m 10', 'the ten addresses with the most requests'],
  ]);
}

async function openOwn(path: string, keyFile: string | undefined): Promise<OwnFilter> {
  const file = await openFilter(path, { key: keyFile === undefined ? undefined : readSecretKey(keyFile) });
  if (file.format === 'bloomery') return file.filter;
  throw new UsageError(
    `${path} is a ${file.format} file, which only tells whether a key may be in: bloomery check`,
  );
}

async function ask(
  command: 'count' | 'get',
  path: string,
  files: readonly string[],
  options: AskOptions,
): Promise<void> {
  if (path === '-' && (files.length === 0 || files.includes('-'))) {
    throw new UsageError('standard input can be read once only: the filter or one of the files is -');
  }
  const filter = await openOwn(path, options.keyFile);
  const numbers = keyNumbers(filter);
  if (numbers?.command !== command) throw notFor(command, path, filter, numbers);
  // The age of a key is its age now, not at the last change of the file.
  if (filter instanceof RotatingBloomFilter && filter.rotation === 'by-time') filter.advance(Date.now());
  let printed = 0;
  const writer = new LineWriter(options.null ? 0 : 10);
  for (const name of files.length === 0 ? ['-'] : files) {
    let before = 0;
    for await (const chunk of readKeys([name], options)) {
      printed += print(chunk, numbers, options, writer, before);
      writer.flush(); // a user may be watching the output of `tail -f`
      before += chunk.count + chunk.skipped;
    }
  }
  process.exitCode = printed > 0 ? FOUND : NOT_FOUND;
}

/** Prints the records of a chunk with their numbers, and returns how many there were. */
function print(
  chunk: KeyChunk,
  { name, many, atLeast }: KeyNumbers,
  options: AskOptions,
  writer: LineWriter,
  before: number,
): number {
  const { records, start, numbers: places } = chunk;
  const ends = chunk.ends ?? lineEnds(records);
  const end = options.null ? 0 : 10;
  const found = many(chunk.keys);
  let printed = 0;
  for (let i = 0; i < chunk.count; i++) {
    const number = found[i];
    if (!(number >= (options.atLeast ?? 0))) continue;
    printed++;
    const [from, to] = [i === 0 ? start : ends[i - 1], ends[i]];
    const text = records.subarray(from, to > from && records[to - 1] === end ? to - 1 : to);
    if (options.json) {
      const record = before + (places?.[i] ?? i) + 1;
      const least = atLeast === undefined ? {} : { atLeast: atLeast(number) };
      writeJson({ file: chunk.path, record, text: Buffer.from(text).toString(), [name]: number, ...least });
    } else {
      writer.add(Buffer.concat([Buffer.from(`${number}\t`), text, Buffer.of(end)]));
    }
  }
  return printed;
}

async function runTop(path: string, options: TopOptions): Promise<void> {
  const filter = await openOwn(path, options.keyFile);
  if (!(filter instanceof HeavyHitters)) {
    throw new UsageError(
      `${path} is a ${className(filter)}, which does not keep its keys; build one that does: bloomery build --structure heavy-hitters`,
    );
  }
  const heavy = filter.list().slice(0, options.maxCount);
  const writer = new LineWriter(options.null ? 0 : 10);
  for (const { key, count, atLeast } of heavy) {
    if (options.json) writeJson({ key: textOf(key), count, atLeast, share: count / filter.total });
    else
      writer.add(Buffer.concat([Buffer.from(`${count}\t`), bytesOf(key), Buffer.of(options.null ? 0 : 10)]));
  }
  writer.flush();
  process.exitCode = heavy.length > 0 ? FOUND : NOT_FOUND;
}

function bytesOf(key: HeavyHitter['key']): Uint8Array {
  return key instanceof Uint8Array ? key : Buffer.from(String(key));
}

function textOf(key: HeavyHitter['key']): string {
  return Buffer.from(bytesOf(key)).toString();
}

/** The error for a structure that does not know the number. It names one that does. */
function notFor(
  command: 'count' | 'get',
  path: string,
  filter: OwnFilter,
  numbers: KeyNumbers | undefined,
): UsageError {
  const name = className(filter);
  if (numbers !== undefined) {
    return new UsageError(
      `${path} is a ${name}, which tells ${numbers.words}; ask it by: bloomery ${numbers.command}`,
    );
  }
  const structures =
    command === 'count' ? 'counting, spectral or count-min' : 'bloomier, attenuated or rotating';
  return new UsageError(
    `${path} is a ${name}, which only tells whether a key may be in; build one that knows more: --structure ${structures}`,
  );
}
