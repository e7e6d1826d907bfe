/**
 * `bloomery check`: grep for sets. Prints the records whose key may be in a filter, or is certainly
 * not in. Its flags are those of grep: `-c`, `-f`, `-H`, `-n`, `-q` and `-v` mean the same. As in
 * grep, all arguments are files of keys if `-f` names the filters, and a file that cannot be read
 * is reported without stopping the others; the exit code is then 2.
 *
 * For a filter of the library, workers split and hash the input, and this thread asks the filter
 * and prints, so the output is in the order of the input. Several filters with the same hash scheme
 * share the hashing (hash once, ask many). Files of other systems are asked key by key.
 */

import { type HashScheme, type KeyBatch, lineEnds } from 'bloomery';
import type { GuavaFunnel } from 'bloomery/formats/guava';
import { type Command, Option } from 'commander';
import { type Asker, askerOf } from '../checking/ask.ts';
import { type MatchOptions, MatchPrinter, type NamedRecords } from '../checking/match-printer.ts';
import { parseCount, withExamples, withFormat, withJson, withKeyFile } from '../command-options.ts';
import { funnelOfBytes } from '../conversion/guava-keys.ts';
import { FAILED, FOUND, NOT_FOUND } from '../exit-codes.ts';
import { type FilterFile, type OpenOptions, openFilter } from '../files/filter-file.ts';
import { readSecretKey } from '../files/secret-key-file.ts';
import { schemeOf, sourceOf } from '../hashing/hash-source.ts';
import { RecordWorkers } from '../hashing/record-workers.ts';
import { bytesOf, type Input, inputsOf } from '../keys/input.ts';
import { type KeyOptions, withKeyOptions } from '../keys/key-options.ts';
import { readKeys } from '../keys/key-source.ts';
import { isExpected, reportError } from '../terminal/error-text.ts';
import { startProgress } from '../terminal/progress.ts';
import { outputIsFile } from '../terminal/terminal.ts';
import { UsageError } from '../usage-error.ts';

interface CheckOptions extends Omit<KeyOptions, 'null'>, MatchOptions {
  readonly filter?: string[];
  readonly keyFile?: string;
  readonly format?: string;
  readonly funnel: GuavaFunnel;
  readonly threads?: number;
}

export function register(program: Command): void {
  const command = program
    .command('check')
    .description('print the lines whose key may be in a filter (or, with -v, is certainly not)')
    .usage(
      '[options] <filter> [files...]\n       bloomery check [options] -f <filter> [-f <filter>] [files...]',
    )
    .argument('[filter]', 'the filter file, of bloomery or of another system; with -f, a file of keys')
    .argument(
      '[files...]',
      'files of keys, one a line; gzip, zstd, xz and bzip2 are read as they are; none, or -: standard input',
    )
    .option(
      '-f, --filter <file>',
      'a filter to ask; once for each of several, lines are printed with those that may have them',
      (path: string, before: string[] = []) => [...before, path],
    )
    .option('--all', 'only lines that may be in all of the filters; their names are not printed')
    .option(
      '-v, --invert-match',
      'print the other lines: their key is certainly in none (with --all, not in all)',
    )
    .option('-c, --count', 'print how many there are instead of the lines; with -H, for each file')
    .option('-q, --quiet', 'print nothing, stop at the first one; the exit code tells')
    .option('-H, --with-filename', 'print the name of the file before each line')
    .option('-n, --line-number', 'print the number of the record before each line');
  withFormat(withKeyFile(command)).addOption(
    new Option('--funnel <name>', 'Guava: how keys became bytes')
      .choices(['utf8', 'utf16', 'int', 'long', 'bytes'])
      .default('utf8'),
  );
  withKeyOptions(command, { hasCount: true }).option('--threads <count>', 'threads that hash', parseCount(0));
  withJson(command).action(run);
  command.addHelpText(
    'after',
    `
Exit code: 0 if a line was found, 1 if none, 2 on errors. A file that cannot be read does not stop the others.
What is printed may be wrong at the rate of the filter; what -v prints is certain. Filters of one set with different seeds
(build --seed) are wrong independently: with --all, their rates multiply.`,
  );
  withExamples(command, [
    ['bloomery check words.blm candidates.txt', 'the lines that may be in words.blm'],
    ['bloomery check seen.blm -v urls.txt > new.txt', 'the lines that are certainly new'],
    [
      'bloomery check bad-ips.blm --column 3 -d " " access.log -c',
      'how many requests come from listed addresses',
    ],
    ['bloomery check -f node1.blm -f node2.blm objects.txt', 'which nodes may have which object'],
    ['bloomery check --all -f seed1.blm -f seed2.blm keys.txt', 'the lines that both filters may have'],
    ['echo hunter2 | bloomery check -q leaked.blm && echo leaked', 'in a script'],
  ]);
}

async function run(first: string | undefined, others: string[], options: CheckOptions): Promise<void> {
  const { filters: paths, files } = operandsOf(first, others, options);
  const key = options.keyFile === undefined ? undefined : readSecretKey(options.keyFile);
  // Keys are asked for as bytes, as `add` does: decoding input that is not valid UTF-8 would change
  // it.
  const opening: OpenOptions = { key, format: options.format, funnel: funnelOfBytes(options.funnel) };
  if ([...paths, ...files].filter((name) => name === '-').length > 1) {
    throw new UsageError('standard input can be read once only: one of the filters or one of the files is -');
  }
  // Only the part that is asked is kept of each file, so its bytes need not stay in memory.
  const filters: AskedFilter[] = [];
  for (const name of paths) filters.push(askedFilter(await openFilter(name, opening)));
  let failed = false;
  const onProblem = (error: unknown) => {
    if (!isExpected(error)) throw error;
    failed = true;
    reportError(error);
  };
  const inputs = readableInputs(files, onProblem);
  // The lines, or the output of the next command in a pipe, would run into the bar.
  const enabled = !options.quiet && !options.json && (options.count === true || outputIsFile());
  const progress = startProgress({ what: 'checking', total: bytesOf(inputs), enabled });
  const printer = new MatchPrinter(
    filters.map(({ path }) => path),
    options,
  );
  const answers = new Answers(filters, options, (bytes) => progress.advance(bytes));
  try {
    each: for (const input of inputs) {
      for await (const { records, maybe } of reporting(answers.of(input), onProblem)) {
        if (!printer.print(records, maybe)) break each;
        printer.flush(); // a user may be watching the output of `tail -f`
      }
      printer.endFile(input.path);
    }
  } finally {
    progress.stop();
    await answers.close();
  }
  printer.end();
  const found = printer.matched > 0;
  // As in grep, -q is content with what it found.
  process.exitCode = failed && !(found && options.quiet) ? FAILED : found ? FOUND : NOT_FOUND;
}

/** Sorts the arguments into filters and files of keys, as grep does with its patterns. */
function operandsOf(
  first: string | undefined,
  others: readonly string[],
  { filter = [], all }: CheckOptions,
): { filters: readonly string[]; files: readonly string[] } {
  const named = filter.length > 0;
  if (!named && first === undefined) {
    throw new UsageError('which filter? bloomery check FILTER [FILES...], or -f FILTER for each of several');
  }
  if (all && filter.length < 2) {
    throw new UsageError('--all is about several filters; name each of them by -f');
  }
  const filters = named ? filter : [first!];
  const files = named && first !== undefined ? [first, ...others] : others;
  return { filters, files: files.length === 0 ? ['-'] : files };
}

/** The inputs that can be opened. The others are reported. */
function readableInputs(files: readonly string[], onProblem: (error: unknown) => void): Input[] {
  return files.flatMap((path) => {
    try {
      return inputsOf([path]);
    } catch (error) {
      onProblem(error);
      return [];
    }
  });
}

/** Yields until the input cannot be read on, and reports that. */
async function* reporting<T>(
  parts: AsyncIterable<T>,
  onProblem: (error: unknown) => void,
): AsyncGenerator<T> {
  try {
    yield* parts;
  } catch (error) {
    onProblem(error);
  }
}

interface AskedFilter extends Asker {
  readonly path: string;
  /** The hash scheme, or undefined if the filter takes no hashes. */
  readonly scheme: HashScheme | undefined;
}

function askedFilter(file: FilterFile): AskedFilter {
  const asker = askerOf(file);
  const own = asker.takesHashes && file.format === 'bloomery' && 'scheme' in file.filter;
  return { ...asker, path: file.path, scheme: own ? file.filter.scheme : undefined };
}

interface Answered {
  readonly records: NamedRecords;
  /** The answers of each filter, one byte per record. */
  readonly maybe: readonly Uint8Array[];
}

/** Asks all filters for the keys of inputs, with one hash per key where they share the scheme. */
class Answers {
  readonly #filters: readonly AskedFilter[];
  readonly #options: CheckOptions;
  readonly #onRead: (bytes: number) => void;
  readonly #scheme: HashScheme | undefined;
  readonly #workers: RecordWorkers | undefined;

  constructor(filters: readonly AskedFilter[], options: CheckOptions, onRead: (bytes: number) => void) {
    this.#filters = filters;
    this.#options = options;
    this.#onRead = onRead;
    const scheme = commonScheme(filters);
    if (scheme === undefined) return;
    const source = sourceOf(scheme, options.keyFile);
    this.#scheme = schemeOf(source);
    const wantsEnds = !options.count && !options.quiet;
    this.#workers = new RecordWorkers({ keys: options, source, threads: options.threads, wantsEnds });
  }

  async *of(input: Input): AsyncGenerator<Answered> {
    const [scheme, onRead] = [this.#scheme, this.#onRead];
    if (scheme === undefined) {
      for await (const chunk of readKeys([input.path], this.#options, onRead)) {
        const ends = chunk.ends ?? lineEnds(chunk.records);
        yield { records: { ...chunk, ends }, maybe: this.#ask(chunk.keys) };
      }
      return;
    }
    for await (const hashed of this.#workers!.hash(input, { onRead })) {
      const keys: KeyBatch = { scheme, words: hashed.words, length: hashed.count };
      yield { records: { ...hashed, ends: hashed.ends ?? NO_ENDS }, maybe: this.#ask(keys) };
    }
  }

  async close(): Promise<void> {
    await this.#workers?.close();
  }

  #ask(keys: KeyBatch): Uint8Array[] {
    return this.#filters.map(({ ask }) => ask(keys));
  }
}

/** For output that needs only the number of records. */
const NO_ENDS = new Uint32Array(0);

/** The hash scheme of all filters if they share one, otherwise undefined. */
function commonScheme(filters: readonly AskedFilter[]): HashScheme | undefined {
  const [{ scheme }] = filters;
  return filters.every((filter) => filter.scheme?.id === scheme?.id) ? scheme : undefined;
}
