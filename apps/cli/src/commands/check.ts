/**
 * `bloomery check`: grep for sets. Prints the records whose key may be in a filter, or is certainly
 * not in.
 *
 * For a filter of the library, workers split and hash the input, and this thread asks the filter
 * and prints, so the output is in the order of the input. Several filters with the same hash scheme
 * share the hashing (hash once, ask many). Each record is printed with the names of the filters
 * that may have it. Files of other systems are asked key by key.
 */

import { type HashScheme, type KeyBatch, lineEnds } from 'bloomery';
import type { GuavaFunnel } from 'bloomery/formats/guava';
import { type Command, Option } from 'commander';
import { type Asker, askerOf } from '../checking/ask.ts';
import { LineWriter } from '../checking/line-writer.ts';
import { gather, type Records } from '../checking/selected-records.ts';
import { parseCount, withExamples, withFormat, withJson, withKeyFile } from '../command-options.ts';
import { funnelOfBytes } from '../conversion/guava-keys.ts';
import { FOUND, NOT_FOUND } from '../exit-codes.ts';
import { type FilterFile, type OpenOptions, openFilter } from '../files/filter-file.ts';
import { readSecretKey } from '../files/secret-key-file.ts';
import { schemeOf, sourceOf } from '../hashing/hash-source.ts';
import { RecordWorkers } from '../hashing/record-workers.ts';
import { type Input, inputsOf } from '../keys/input.ts';
import { type KeyOptions, withKeyOptions } from '../keys/key-options.ts';
import { readKeys } from '../keys/key-source.ts';
import { startProgress } from '../terminal/progress.ts';
import { writeJson, writeLine } from '../terminal/standard-output.ts';
import { outputIsFile } from '../terminal/terminal.ts';
import { UsageError } from '../usage-error.ts';

interface CheckOptions extends KeyOptions {
  readonly filter?: string[];
  readonly invertMatch?: boolean;
  readonly count?: boolean;
  readonly quiet?: boolean;
  readonly withFilename?: boolean;
  readonly lineNumber?: boolean;
  readonly json?: boolean;
  readonly keyFile?: string;
  readonly format?: string;
  readonly funnel: GuavaFunnel;
  readonly threads?: number;
}

export function register(program: Command): void {
  const command = program
    .command('check')
    .description('print the lines whose key may be in a filter (or, with -v, is certainly not)')
    .argument('<filter>', 'the filter file, of bloomery or of another system')
    .argument(
      '[files...]',
      'files of keys, one a line; gzip, zstd and xz are read as they are; - is standard input',
    )
    .option(
      '-f, --filter <file...>',
      'ask these filters as well; lines are printed with the filters that may have them',
    )
    .option('-v, --invert-match', 'print the lines whose key is certainly in none of the filters')
    .option('--count', 'print how many there are instead of the lines')
    .option('-q, --quiet', 'print nothing, stop at the first one; the exit code tells')
    .option('-H, --with-filename', 'print the name of the file before each line')
    .option('-n, --line-number', 'print the number of the record before each line');
  withFormat(withKeyFile(command)).addOption(
    new Option('--funnel <name>', 'Guava: how keys became bytes')
      .choices(['utf8', 'utf16', 'int', 'long', 'bytes'])
      .default('utf8'),
  );
  withJson(withKeyOptions(command).option('--threads <count>', 'threads that hash', parseCount(0))).action(
    run,
  );
  command.addHelpText(
    'after',
    '\nExit code: 0 if a line was found, 1 if none, 2 on errors. What is printed may be wrong at the rate of the filter;\nwhat -v prints is certain.',
  );
  withExamples(command, [
    ['bloomery check words.blm candidates.txt', 'the lines that may be in words.blm'],
    ['bloomery check seen.blm -v urls.txt > new.txt', 'the lines that are certainly new'],
    [
      'bloomery check bad-ips.blm --column 3 -d " " access.log --count',
      'how many requests come from listed addresses',
    ],
    ['bloomery check node1.blm -f node2.blm node3.blm -- objects.txt', 'which nodes may have which object'],
    ['echo hunter2 | bloomery check -q leaked.blm && echo leaked', 'in a script'],
  ]);
}

async function run(path: string, files: string[], options: CheckOptions): Promise<void> {
  const key = options.keyFile === undefined ? undefined : readSecretKey(options.keyFile);
  // Keys are asked for as bytes, as `add` does: decoding input that is not valid UTF-8 would change
  // it.
  const opening: OpenOptions = { key, format: options.format, funnel: funnelOfBytes(options.funnel) };
  const paths = [path, ...(options.filter ?? [])];
  const keysFrom = files.length === 0 ? ['-'] : files;
  if ([...paths, ...keysFrom].filter((name) => name === '-').length > 1) {
    throw new UsageError('standard input can be read once only: one of the filters or one of the files is -');
  }
  // Only the part that is asked is kept of each file, so its bytes need not stay in memory.
  const filters: AskedFilter[] = [];
  for (const name of paths) filters.push(askedFilter(await openFilter(name, opening)));
  const inputs = inputsOf(files);
  const total = inputs.reduce((sum, { bytes }) => sum + (bytes ?? Number.NaN), 0);
  // The lines, or the output of the next command in a pipe, would run into the bar.
  const enabled = !options.quiet && !options.json && (options.count === true || outputIsFile());
  const progress = startProgress({ what: 'checking', total: Number.isNaN(total) ? 0 : total, enabled });
  const printer = new Printer(filters, options);
  try {
    for await (const { records, answers } of answered(inputs, filters, options, (bytes) =>
      progress.advance(bytes),
    )) {
      if (!printer.print(records, answers)) break;
      printer.flush(); // a user may be watching the output of `tail -f`
    }
  } finally {
    progress.stop();
  }
  printer.end();
  process.exitCode = printer.matched > 0 ? FOUND : NOT_FOUND;
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

interface NamedRecords extends Records {
  readonly path: string;
  /** Index of the file among the inputs; the same path may be given twice. */
  readonly file: number;
}

interface Answered {
  readonly records: NamedRecords;
  /** The answers of each filter, one byte per record. */
  readonly answers: readonly Uint8Array[];
}

async function* answered(
  inputs: readonly Input[],
  filters: readonly AskedFilter[],
  options: CheckOptions,
  onRead: (bytes: number) => void,
): AsyncGenerator<Answered> {
  const scheme = commonScheme(filters);
  if (scheme !== undefined) {
    const source = sourceOf(scheme, options.keyFile);
    const own = schemeOf(source);
    const wantsEnds = !options.count && !options.quiet;
    const workers = new RecordWorkers({ keys: options, source, threads: options.threads, wantsEnds });
    try {
      for (const [file, input] of inputs.entries()) {
        for await (const hashed of workers.hash(input, { onRead })) {
          const keys: KeyBatch = { scheme: own, words: hashed.words, length: hashed.count };
          yield {
            records: { ...hashed, file, ends: hashed.ends ?? NO_ENDS },
            answers: filters.map(({ ask }) => ask(keys)),
          };
        }
      }
    } finally {
      await workers.close();
    }
    return;
  }
  for (const [file, { path }] of inputs.entries()) {
    for await (const chunk of readKeys([path], options, onRead)) {
      const ends = chunk.ends ?? lineEnds(chunk.records);
      yield { records: { ...chunk, file, ends }, answers: filters.map(({ ask }) => ask(chunk.keys)) };
    }
  }
}

/** For output that needs only the number of records. */
const NO_ENDS = new Uint32Array(0);

/** The hash scheme of all filters if they share one, otherwise undefined. */
function commonScheme(filters: readonly AskedFilter[]): HashScheme | undefined {
  const [{ scheme }] = filters;
  return filters.every((filter) => filter.scheme?.id === scheme?.id) ? scheme : undefined;
}

/** Prints the selected records, and counts them. */
class Printer {
  matched = 0;
  #checked = 0;
  readonly #filters: readonly AskedFilter[];
  readonly #options: CheckOptions;
  readonly #writer: LineWriter;
  /** Records before this chunk in the same file. */
  #before = 0;
  #file = 0;

  constructor(filters: readonly AskedFilter[], options: CheckOptions) {
    this.#filters = filters;
    this.#options = options;
    this.#writer = new LineWriter(options.null ? 0 : 10);
  }

  /** Returns false if no more records are needed. */
  print(records: NamedRecords, answers: readonly Uint8Array[]): boolean {
    const { count, quiet, invertMatch } = this.#options;
    if (records.file !== this.#file) {
      this.#file = records.file;
      this.#before = 0;
    }
    const any = answers.length === 1 ? answers[0] : either(answers);
    const wanted = invertMatch ? 0 : 1;
    const silent = count === true || quiet === true;
    if (silent) {
      for (let i = 0; i < any.length; i++) if (any[i] === wanted) this.matched++;
    } else {
      this.#printChosen(records, any, wanted, answers);
    }
    this.#before += records.count;
    this.#checked += records.count;
    return !(quiet && this.matched > 0);
  }

  flush(): void {
    this.#writer.flush();
  }

  end(): void {
    this.flush();
    const { count, quiet, json } = this.#options;
    if (!count || quiet) return;
    if (json) writeJson({ checked: this.#checked, matched: this.matched });
    else writeLine(String(this.matched));
  }

  /** Whether lines are printed unchanged, in runs. */
  get #plain(): boolean {
    const { json, withFilename, lineNumber, invertMatch } = this.#options;
    return !json && !withFilename && !lineNumber && (this.#filters.length === 1 || invertMatch === true);
  }

  #printChosen(records: NamedRecords, any: Uint8Array, wanted: 0 | 1, answers: readonly Uint8Array[]): void {
    if (this.#plain) {
      const { chosen, count } = gather(records, any, wanted);
      this.matched += count;
      this.#writer.add(chosen);
      return;
    }
    for (let i = 0; i < any.length; i++) {
      if (any[i] !== wanted) continue;
      this.matched++;
      this.#printOne(records, i, answers);
    }
  }

  #printOne(
    { records, ends, path, start }: NamedRecords,
    record: number,
    answers: readonly Uint8Array[],
  ): void {
    const { json, withFilename, lineNumber, invertMatch } = this.#options;
    const end = this.#options.null ? 0 : 10;
    const from = record === 0 ? start : ends[record - 1];
    const to = ends[record];
    const text = records.subarray(from, to > from && records[to - 1] === end ? to - 1 : to);
    const named = this.#filters.length > 1 && !invertMatch;
    const holders = named ? this.#filters.filter((_, f) => answers[f][record] === 1).map((f) => f.path) : [];
    const number = this.#before + record + 1;
    if (json) {
      const filters = named ? { filters: holders } : {};
      writeJson({ file: path, record: number, text: Buffer.from(text).toString(), ...filters });
    } else {
      const before = `${withFilename ? `${path}:` : ''}${lineNumber ? `${number}:` : ''}`;
      const after = named ? `\t${holders.join(',')}` : '';
      this.#writer.add(Buffer.concat([Buffer.from(before), text, Buffer.from(after), Buffer.of(end)]));
    }
  }
}

function either(answers: readonly Uint8Array[]): Uint8Array {
  const any = Uint8Array.from(answers[0]);
  for (const more of answers.slice(1)) for (let i = 0; i < any.length; i++) any[i] |= more[i];
  return any;
}
