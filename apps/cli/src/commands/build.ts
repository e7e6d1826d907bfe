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
import { FileBuilder } from '../building/file-builder.ts';
import type { BuildParameters } from '../building/open-structure.ts';
import {
  parseCount,
  parseRate,
  withExamples,
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
import { type ColumnNames, extractKeys } from '../keys/extract-keys.ts';
import { type Input, inputsOf } from '../keys/input.ts';
import { type KeyOptions, withKeyOptions } from '../keys/key-options.ts';
import { type RecordChunk, recordChunks } from '../keys/record-chunks.ts';
import { DEFAULT_RATE, defaultStructure } from '../planning/default-structure.ts';
import { formatBytes, formatCount, formatRate, formatSeconds } from '../terminal/format-values.ts';
import { startProgress } from '../terminal/progress.ts';
import { writeJson } from '../terminal/standard-output.ts';
import { isTerminal, outputIsFile } from '../terminal/terminal.ts';
import { warn } from '../terminal/warning.ts';
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
}

export function register(program: Command): void {
  const command = program
    .command('build')
    .description('make a filter of the keys in files, or on standard input')
    .argument(
      '[files...]',
      'files of keys, one a line; gzip, zstd and xz are read as they are; - is standard input',
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
    .option('-n, --capacity <keys>', 'for how many keys (default: as many as there are)', parseCount())
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
  withKeyFile(command)
    .option(
      '--counter-bits <bits>',
      'width of the counters of counting, spectral and count-min',
      parseCount(),
    )
    .option(
      '--method <name>',
      'spectral: minimum-selection, minimal-increase, recurring-minimum; sketches: plain, conservative',
    )
    .option('--error <share>', 'count-min: error as a share of the total (default: 0.0001)', parseRate)
    .option('--confidence <share>', 'count-min: how sure that is (default: 0.99)', parseRate)
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
  withJson(withOutput(command, 'where the filter goes')).action(run);
  command.addHelpText(
    'after',
    `
Structures: blocked (the fastest: one cache line, and in a file one page, a key; 4 % more bits than bloom at 1 %), bloom (the
smallest that can be added to, and the one to send), static (near the least possible size, for a set that does not change), counting
(keys can be removed), spectral and count-min (how often), heavy-hitters (which most), bloomier (a value for each key),
scalable (grows), rotating (each file a generation, the oldest first), attenuated (each file a level, the nearest first),
hash-list (nearly empty filters).`,
  );
  withExamples(command, [
    ['bloomery build words.txt -o words.blm', 'a filter of all lines, at 1 % false positives'],
    ['zcat access.log.gz | cut -d" " -f1 | bloomery build --rate 1e-4 -o visitors.blm', 'from a pipe'],
    ['bloomery build users.csv --column email -s static --rate 0.1% -o emails.blm', 'a column of a CSV file'],
    ['bloomery build events.jsonl.zst --jsonl .user.id -s counting -o users.blm', 'a field of JSON lines'],
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
  const { filter, count } = await build(builder, inputs, options);
  let bytes = 0;
  function* chunks() {
    for (const chunk of frameChunks(filter)) {
      bytes += chunk.length;
      yield chunk;
    }
  }
  writeTarget(output, chunks(), { force });
  report(filter, { count, bytes, seconds: (performance.now() - started) / 1000 }, options);
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

/** Adds all keys, by the way that reads the least, and finishes the structure. */
async function build(
  builder: FileBuilder,
  inputs: readonly Input[],
  options: BuildOptions,
): Promise<{ filter: OwnFilter; count: number }> {
  const counts = builder.needsCapacity;
  const twice = counts && inputs.every(({ plainFile }) => plainFile);
  const total = inputs.reduce((sum, { bytes }) => sum + (bytes ?? Number.NaN), 0) * (twice ? 2 : 1);
  const progress = startProgress({
    what: 'building',
    total: Number.isNaN(total) ? 0 : total,
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
    for await (const chunk of recordChunks(input, options, new BufferPool(0), onRead)) {
      const { keys, count } = extractKeys(chunk, options, columns);
      if (options.valueColumn === undefined) builder.add(keys, file);
      else builder.add(hashKeys(keys, builder.scheme), file, valuesOf(chunk, options, valueColumns));
      total += count;
    }
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

function checkValues({ structure, column, valueColumn }: BuildOptions): void {
  if (structure === 'bloomier' && (valueColumn === undefined || column === undefined)) {
    throw new UsageError('--structure bloomier needs --column for the key and --value-column for its value');
  }
  if (structure !== 'bloomier' && valueColumn !== undefined) {
    throw new UsageError('--value-column is for --structure bloomier');
  }
}

function report(
  filter: OwnFilter,
  { count, bytes, seconds }: { count: number; bytes: number; seconds: number },
  options: BuildOptions,
): void {
  const { output } = options;
  const capacity = 'capacity' in filter ? filter.capacity : undefined;
  const overfull = capacity !== undefined && options.capacity !== undefined && count > capacity;
  const told = options.verbose || (!options.quiet && isTerminal(2));
  // Counting the ones takes time, so it is done only if the result is shown.
  if (!overfull && !told && !options.json) return;
  const rate = 'estimatedFalsePositiveRate' in filter ? filter.estimatedFalsePositiveRate() : undefined;
  if (overfull) {
    warn(
      `${formatCount(count)} keys went into a filter for ${formatCount(capacity)}; false positives are now about ${formatRate(rate ?? 1)}`,
    );
  }
  if (options.json) {
    writeJson({
      output,
      structure: filter.constructor.name,
      description: String(filter),
      keys: count,
      bytes,
      bitsPerKey: count === 0 ? null : (8 * bytes) / count,
      estimatedFalsePositiveRate: rate ?? null,
      seconds,
    });
  } else if (told) {
    const share = count === 0 ? '' : `, ${((8 * bytes) / count).toFixed(2)} bits per key`;
    const rates = rate === undefined ? '' : `, false positives ${formatRate(rate)}`;
    process.stderr.write(
      `${output}: ${formatCount(count)} keys in ${formatBytes(bytes)}${share}${rates}, ${formatSeconds(seconds)}\n`,
    );
  }
}

function parseSeed(text: string): bigint {
  if (!/^(0x[0-9a-f]+|\d+)$/i.test(text) || BigInt(text) >= 2n ** 64n) {
    throw new UsageError(`--seed must be a whole number from 0 to 2^64 - 1, got ${text}`);
  }
  return BigInt(text);
}

/** A hash has 64 bits. */
const WORDS_PER_HASH = 2;
