/**
 * `bloomery build`: makes a filter file from the keys in files or in a pipe.
 *
 * The number of keys must be known before the first one is added. Plain files are read twice:
 * counting newlines takes a fifth of the time (bench/results/cli.md has all the times). Inputs for
 * which a second reading is impossible or expensive (pipes, gzip, zstd) are hashed once, and the
 * hashes are stored until the count is known (8 bytes per key). Duplicate lines are counted each
 * time, so the filter may be a little larger than necessary.
 */

import { WordSpool } from '@bloomery/files';
import { hashKeys } from 'bloomery';
import { frameChunks } from 'bloomery/frames';
import { type Command, Option } from 'commander';
import { reportBuild } from '../building/build-report.ts';
import { FileBuilder } from '../building/file-builder.ts';
import { NeverKeys } from '../building/never-keys.ts';
import type { BuildParameters } from '../building/open-structure.ts';
import {
  parseCount,
  parseRate,
  parseSeed,
  withExamples,
  withFormerCapacity,
  withJson,
  withKeyFile,
  withOutput,
} from '../command-options.ts';
import { readSecretKey } from '../files/secret-key-file.ts';
import { type OwnFilter, STRUCTURES, type StructureOption } from '../files/structures.ts';
import { checkTarget, writeTarget } from '../files/target-file.ts';
import { sourceOf } from '../hashing/hash-source.ts';
import { RecordWorkers } from '../hashing/record-workers.ts';
import { BufferPool } from '../keys/buffer-pool.ts';
import { eachKey } from '../keys/each-key.ts';
import { type ColumnNames, extractKeys, warnOfSkipped } from '../keys/extract-keys.ts';
import { bytesOf, type Input, inputsOf } from '../keys/input.ts';
import { type KeyOptions, withKeyOptions } from '../keys/key-options.ts';
import { type RecordChunk, recordChunks } from '../keys/record-chunks.ts';
import { DEFAULT_RATE, defaultStructure } from '../planning/default-structure.ts';
import { formatRate } from '../terminal/format-values.ts';
import { startProgress } from '../terminal/progress.ts';
import { outputIsFile } from '../terminal/terminal.ts';
import { UsageError } from '../usage-error.ts';

interface BuildOptions
  extends KeyOptions,
    Omit<BuildParameters, 'structure' | 'seed' | 'key' | 'files' | 'bits'> {
  readonly structure?: StructureOption;
  readonly output: string;
  readonly force?: boolean;
  readonly json?: boolean;
  readonly verbose?: boolean;
  readonly quiet?: boolean;
  readonly bits?: number;
  readonly seed?: bigint;
  readonly keyFile?: string;
  readonly threads?: number;
  readonly valueColumn?: string;
  readonly never?: string;
  readonly tries?: number;
}

export function register(program: Command): void {
  const command = program
    .command('build')
    .description('make a filter of the keys in files, or on standard input')
    .argument(
      '[files...]',
      'files of keys, one a line; gzip, zstd, xz and bzip2 are read as they are; - is standard input',
    )
    .addOption(
      new Option(
        '-s, --structure <name>',
        'what to build (default: blocked; bloom for rates below 0.1 %)',
      ).choices(STRUCTURES.map(({ option }) => option)),
    )
    .option(
      '-r, --rate <rate>',
      `false positive rate at capacity (default: ${formatRate(DEFAULT_RATE)})`,
      parseRate,
    )
    .option('-N, --capacity <keys>', 'for how many keys (default: as many as there are)', parseCount())
    .option(
      '-b, --bits <count>',
      'the size in bits or counters instead of a rate; of a static filter, bits per key',
      parseCount(),
    )
    .option('-k, --hashes <count>', 'hash functions (default: the best number)', parseCount())
    .option(
      '-l, --layout <name>',
      'classic or partitioned; of blocked filters blocked or split-block (Parquet)',
    )
    .option('--halvings <count>', 'a size that can be halved so many times (bloomery halve)', parseCount(0))
    .addOption(
      new Option('--hash <name>', 'the hash (default: forge64); xxh64 is one that others published').choices([
        'forge64',
        'xxh64',
      ]),
    )
    .option('--seed <number>', 'another hash function; public, written into the file', parseSeed);
  command
    .option('--never <file>', 'keys that must not pass, one a line: seeds are tried until none of them does')
    .option('--tries <count>', 'the most seeds to try with --never (default: 1000)', parseCount());
  withKeyFile(command)
    .option(
      '--counter-bits <bits>',
      'width of the counters of counting, spectral and the sketches',
      parseCount(),
    )
    .option(
      '--method <name>',
      'spectral: minimum-selection, minimal-increase, recurring-minimum; sketches: plain, conservative',
    )
    .option(
      '--error <share>',
      'count-min, range-sketch: error as a share of the total (default: 0.0001, 0.01)',
      parseRate,
    )
    .option('--confidence <share>', 'count-min, range-sketch: how sure that is (default: 0.99)', parseRate)
    .option('--universe-bits <bits>', 'range-sketch: bits of the largest key (default: 32)', parseCount())
    .option(
      '--threshold <share>',
      'heavy-hitters: the share of the total that is heavy (default: 0.001)',
      parseRate,
    )
    .option('--value-column <name|number>', 'bloomier: the column with the value, a whole number')
    .option(
      '--value-bits <bits>',
      'bloomier: width of the values (default: what the largest needs)',
      parseCount(),
    );
  withKeyOptions(command)
    .option('--threads <count>', 'threads that hash (default: one less than there are cores)', parseCount(0))
    .option('-q, --quiet', 'no progress and no summary')
    .option('--verbose', 'a summary on standard error, also when that is no terminal');
  withFormerCapacity(withJson(withOutput(command, 'where the filter goes'))).action(run);
  command.addHelpText(
    'after',
    `
Structures: blocked (the fastest: one cache line, and in a file one page, a key; 4 % more bits than bloom at 1 %), bloom (the
smallest that can be added to, and the one to send), static (near the least possible size, for a set that does not change), counting
(keys can be removed), spectral and count-min (how often), heavy-hitters (which most), range-sketch (how many
numbers in a range, and quantiles), bloomier (a value for each key), scalable (grows), rotating (each file a generation, the oldest first), attenuated (each file a level, the nearest first),
hash-list (nearly empty filters).`,
  );
  withExamples(command, [
    ['bloomery build words.txt -o words.blm', 'a filter of all lines, at 1 % false positives'],
    ['zcat access.log.gz | cut -d" " -f1 | bloomery build --rate 1e-4 -o visitors.blm', 'from a pipe'],
    ['bloomery build users.csv --column email -s static --rate 0.1% -o emails.blm', 'a column of a CSV file'],
    ['bloomery build events.jsonl.zst --jsonl .user.id -s counting -o users.blm', 'a field of JSON lines'],
    [
      'bloomery build blocked.txt --never our-sites.txt -o blocked.blm',
      'no false positive on any line of our-sites.txt',
    ],
    ['bloomery build keys.txt --key-file secret -o keyed.blm', 'an attacker cannot choose keys that collide'],
  ]);
}

async function run(files: string[], options: BuildOptions): Promise<void> {
  const started = performance.now();
  const { output, json, force = false } = options;
  if (json && output === '-') throw new UsageError('--json and -o - both want standard output');
  checkTarget(output, options);
  const inputs = inputsOf(files);
  // Wrong options are reported before anything is read.
  const builder = new FileBuilder(parametersOf(options, inputs.length));
  checkValues(options);
  const { filter, count, ...search } =
    options.never === undefined
      ? await build(builder, inputs, options)
      : await buildWithout(options.never, builder, inputs, options);
  let bytes = 0;
  function* chunks() {
    for (const chunk of frameChunks(filter)) {
      bytes += chunk.length;
      yield chunk;
    }
  }
  writeTarget(output, chunks(), { force });
  reportBuild(filter, { count, bytes, seconds: (performance.now() - started) / 1000, ...search }, options);
}

function parametersOf(options: BuildOptions, files: number): BuildParameters {
  const { seed, hash, keyFile } = options;
  if (seed !== undefined && keyFile !== undefined)
    throw new UsageError('--seed and --key-file exclude each other');
  if (hash !== undefined && keyFile !== undefined)
    throw new UsageError('--hash and --key-file exclude each other: a secret key belongs to SipHash-2-4');
  if (options.bits !== undefined && options.rate !== undefined && options.structure !== 'static') {
    throw new UsageError('--bits and --rate exclude each other: one follows from the other (bloomery plan)');
  }
  const structure = options.structure ?? defaultStructure(options);
  return { ...options, structure, key: keyFile === undefined ? undefined : readSecretKey(keyFile), files };
}

/** Builds with one seed after the other until none of the listed keys passes. */
async function buildWithout(
  path: string,
  first: FileBuilder,
  inputs: readonly Input[],
  options: BuildOptions,
): Promise<Built & { tries: number; seed: bigint }> {
  if (options.keyFile !== undefined) {
    throw new UsageError('--never and --key-file exclude each other: it tries seeds, and a secret is none');
  }
  if (inputs.some(({ bytes }) => bytes === undefined)) {
    throw new UsageError('--never reads the keys again for each seed; put them into a file');
  }
  const { tries: mostTries = 1000, seed = 0n } = options;
  const builderOf = (attempt: bigint) =>
    new FileBuilder(parametersOf({ ...options, seed: BigInt.asUintN(64, seed + attempt) }, inputs.length));
  builderOf(1n); // a structure without a seed is refused here
  const never = await NeverKeys.read(path, options);
  for (let attempt = 0; attempt < mostTries; attempt++) {
    const built = await build(attempt === 0 ? first : builderOf(BigInt(attempt)), inputs, options);
    const passing = never.passing(built.filter);
    if (passing.size === 0) return { ...built, tries: attempt + 1, seed: seed + BigInt(attempt) };
    if (attempt > 0) continue;
    await never.refuseMembers(
      passing,
      inputs.map((input) => input.path),
      options,
    );
    never.refuseHopeless(built.filter, passing.size, mostTries);
  }
  throw never.exhausted(mostTries);
}

interface Built {
  readonly filter: OwnFilter;
  readonly count: number;
}

/** Adds all keys, by the way that reads the least, and finishes the structure. */
async function build(builder: FileBuilder, inputs: readonly Input[], options: BuildOptions): Promise<Built> {
  const counts = builder.needsCapacity;
  const twice = counts && inputs.every(({ plainFile }) => plainFile);
  const progress = startProgress({
    what: 'building',
    total: bytesOf(inputs) * (twice ? 2 : 1),
    enabled: !options.quiet && !options.json && (options.output !== '-' || outputIsFile()),
  });
  const onRead = (bytes: number) => progress.advance(bytes);
  const source = sourceOf(builder.scheme, options.keyFile);
  const workers = new RecordWorkers({ keys: options, source, threads: options.threads });
  try {
    if (twice) builder.sizeFor(await countKeys(inputs, workers, onRead));
    const count =
      counts && !twice
        ? await addSpooled(inputs, builder, workers, onRead)
        : builder.takesHashes
          ? await addHashes(inputs, builder, workers, onRead)
          : await addKeys(inputs, builder, options, onRead);
    return { filter: builder.finish(), count };
  } finally {
    progress.stop();
    await workers.close();
  }
}

/** The number of keys in each file. */
async function countKeys(
  inputs: readonly Input[],
  workers: RecordWorkers,
  onRead: (bytes: number) => void,
): Promise<number[]> {
  const counts: number[] = [];
  for (const input of inputs) counts.push(await workers.count(input, { onRead }));
  return counts;
}

async function addHashes(
  inputs: readonly Input[],
  builder: FileBuilder,
  workers: RecordWorkers,
  onRead: (bytes: number) => void,
): Promise<number> {
  const { scheme, keepsHashes } = builder;
  let total = 0;
  for (const [file, input] of inputs.entries()) {
    for await (const { words, count } of workers.hash(input, { onRead, keepsHashes })) {
      builder.add({ scheme, words, length: count }, file);
      total += count;
    }
  }
  return total;
}

/** Adds keys to structures that need the keys themselves, or a value with each key. */
async function addKeys(
  inputs: readonly Input[],
  builder: FileBuilder,
  options: BuildOptions,
  onRead: (bytes: number) => void,
): Promise<number> {
  let total = 0;
  const columns: ColumnNames = new Map();
  const valueColumns: ColumnNames = new Map();
  for (const [file, input] of inputs.entries()) {
    const before = total;
    let skipped = 0;
    for await (const chunk of recordChunks(input, options, new BufferPool(0), onRead)) {
      const { keys, count, ...found } = extractKeys(chunk, options, columns);
      skipped += found.skipped;
      if (options.valueColumn === undefined) builder.add(keys, file);
      else builder.add(hashKeys(keys, builder.scheme), file, valuesOf(chunk, options, valueColumns));
      total += count;
    }
    warnOfSkipped(input.path, { skipped, count: total - before }, options);
  }
  return total;
}

/** Hashes the keys once and adds them when their number is known. */
async function addSpooled(
  inputs: readonly Input[],
  builder: FileBuilder,
  workers: RecordWorkers,
  onRead: (bytes: number) => void,
): Promise<number> {
  const spools = inputs.map(() => new WordSpool());
  try {
    for (const [file, input] of inputs.entries()) {
      for await (const { words } of workers.hash(input, { onRead, keepsHashes: true }))
        spools[file].add(words);
    }
    const counts = spools.map(({ count }) => count / WORDS_PER_HASH);
    builder.sizeFor(counts);
    for (const [file, spool] of spools.entries()) {
      for (const words of spool.parts())
        builder.add({ scheme: builder.scheme, words, length: words.length / WORDS_PER_HASH }, file);
    }
    return counts.reduce((sum, count) => sum + count, 0);
  } finally {
    for (const spool of spools) spool.close();
  }
}

/** The values of a chunk, for a Bloomier filter. */
function valuesOf(chunk: RecordChunk, options: BuildOptions, columns: ColumnNames): number[] {
  const { keys } = extractKeys(chunk, { ...options, column: options.valueColumn }, columns);
  return Array.from(eachKey(keys), (bytes) => {
    const text = Buffer.from(bytes).toString().trim();
    if (!/^\d+$/.test(text) || !Number.isSafeInteger(Number(text))) {
      throw new UsageError(
        `${chunk.path}: a value must be a whole number, got ${JSON.stringify(text.slice(0, 40))}`,
      );
    }
    return Number(text);
  });
}

function checkValues({ structure, column, valueColumn, skipMissing }: BuildOptions): void {
  if (skipMissing && valueColumn !== undefined) {
    throw new UsageError('--skip-missing and --value-column exclude each other: each key needs its value');
  }
  if (structure === 'bloomier' && (valueColumn === undefined || column === undefined)) {
    throw new UsageError('--structure bloomier needs --column for the key and --value-column for its value');
  }
  if (structure !== 'bloomier' && valueColumn !== undefined) {
    throw new UsageError('--value-column is for --structure bloomier');
  }
}

/** A hash has 64 bits. */
const WORDS_PER_HASH = 2;
