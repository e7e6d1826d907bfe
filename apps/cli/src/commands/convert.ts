/**
 * `convert`: writes a filter in another format. Where only the form changes (coded or plain, gzip
 * or not, binary or JSON, with Parquet's header or without, a counting filter to its snapshot) the
 * bits are kept as they are. Between formats with different hashes that is impossible, because a
 * filter holds bits and not keys. In that case `--keys` names the files that the filter was built
 * from, and the new filter is built from them, for the same capacity and rate.
 *
 * The keys are checked against the old filter during the build. A key that the old filter certainly
 * does not have shows that these are not its keys. If the old filter holds more keys than were
 * read, some are missing. Both are only warnings, because the new filter is correct for the keys it
 * got.
 *
 * Cost: one pass over the keys, each of which is also asked of the old filter. A million keys of 10
 * bytes took 0.4 s of processor time to Parquet, which takes batches as the library's own
 * structures do, and 1.3 to 1.5 s to DCSO and Guava, which hash key by key (one slow core, without
 * the start of Node).
 */

import { statSync } from 'node:fs';
import { formatTable } from '@bloomery/papers/drawing';
import type { KeyBatch } from 'bloomery';
import { cannotConvert } from 'bloomery/formats';
import { BinaryFuseFile } from 'bloomery/formats/binary-fuse';
import { GuavaFilter, type GuavaFunnel } from 'bloomery/formats/guava';
import { type Command, Option } from 'commander';
import { type Asker, askerOf } from '../checking/ask.ts';
import {
  FORMATS,
  parseCount,
  parseRate,
  withExamples,
  withForce,
  withFormat,
  withFormerCapacity,
  withJson,
  withKeyFile,
} from '../command-options.ts';
import {
  type AnyFilter,
  type Design,
  designOf,
  estimatedRateOf,
  estimatedSizeOf,
  leastSizeOf,
} from '../conversion/filter-facts.ts';
import { funnelOfBytes, guavaKey } from '../conversion/guava-keys.ts';
import { checkInputs, checkOutput, finishOutput, type MadeFileOptions } from '../conversion/made-file.ts';
import { type CreateOptions, READ_ONLY, TARGETS, type Target } from '../conversion/targets.ts';
import { type FilterFile, openFilter } from '../files/filter-file.ts';
import { readSecretKey } from '../files/secret-key-file.ts';
import { eachKey } from '../keys/each-key.ts';
import { type KeyOptions, readKeys, withKeyOptions } from '../keys/key-source.ts';
import { formatBytes, formatCount, formatRate } from '../terminal/format-values.ts';
import { startProgress } from '../terminal/progress.ts';
import { writeJson, writeLine } from '../terminal/standard-output.ts';
import { warn } from '../terminal/warning.ts';
import { UsageError } from '../usage-error.ts';

export function register(program: Command): void {
  const command = program
    .command('convert')
    .description('write a filter in another format; between different hashes, from its keys')
    .argument('[filter]', 'any filter file; - is standard input')
    .option('-o, --output <file>', 'where the new filter goes; - is standard output')
    .addOption(
      new Option('-t, --to <format>', 'the format of the new filter; --list explains them').choices(
        TARGETS.map(({ name }) => name),
      ),
    )
    .option('--keys <file...>', 'the keys that the filter was built from; - is standard input')
    .option('-N, --capacity <keys>', 'with --keys: make it for so many keys instead', parseCount(1))
    .option('-r, --rate <rate>', 'with --keys: make it for this false positive rate instead', parseRate)
    .addOption(
      new Option('--funnel <name>', 'how keys become bytes in Guava filters')
        .choices(['utf8', 'utf16', 'int', 'long', 'bytes'])
        .default('utf8'),
    )
    .option('--redis-key <key>', 'with --to redis-cli: the key that the filter gets in Redis')
    .option('--list', 'show what can be read and written, and from what')
    .action(run);
  withForce(withFormerCapacity(withKeyOptions(withFormat(withKeyFile(withJson(command))))));
  withExamples(command, [
    ['bloomery convert --list', 'what can be converted to what'],
    [
      'bloomery convert seen.dump --to redis-cli --redis-key seen -o - | redis-cli --pipe',
      'a filter of RedisBloom back into a server',
    ],
    ['bloomery convert column.parquet-bloom --to split-block -o column.blm', 'no keys needed: the bits stay'],
    [
      'bloomery convert seen.bloom --to guava --keys seen.txt -o seen.guava',
      'another hash: built from the keys',
    ],
  ]);
}

interface ConvertOptions extends Partial<MadeFileOptions>, KeyOptions {
  readonly to?: string;
  readonly keys?: readonly string[];
  readonly capacity?: number;
  readonly rate?: number;
  readonly funnel: GuavaFunnel;
  readonly redisKey?: string;
  readonly list?: boolean;
  readonly format?: string;
  readonly keyFile?: string;
}

async function run(path: string | undefined, options: ConvertOptions): Promise<void> {
  if (options.list) {
    printList(options.json === true);
    return;
  }
  const { to, output, keys } = options;
  if (path === undefined) {
    // `--keys` takes every name that follows.
    const order = keys === undefined ? '' : '; the filter stands before --keys';
    throw new UsageError(`which filter? bloomery convert FILTER --to FORMAT -o FILE${order}`);
  }
  if (to === undefined)
    throw new UsageError('to which format? --to names it, bloomery convert --list shows them');
  if (output === undefined) throw new UsageError('where to? -o names the file; - is standard output');
  const target = TARGETS.find(({ name }) => name === to)!;
  const made = { ...options, output };
  checkOutput(made);
  checkInputs([path, ...(keys ?? [])]);
  const key = options.keyFile === undefined ? undefined : readSecretKey(options.keyFile);
  const file = await openFilter(path, { key, format: options.format, funnel: funnelOfBytes(options.funnel) });
  if (keys !== undefined) {
    const keyed = key === undefined ? {} : { key };
    await rebuild(file, target, keys, { ...made, ...keyed });
    return;
  }
  if (options.capacity !== undefined || options.rate !== undefined) {
    throw new UsageError('--capacity and --rate are for a filter that is built again: name its --keys');
  }
  const bytes = await target.bridge(file, options);
  if (bytes === undefined) throw new UsageError(`${whyNot(file, target)}; ${remedy(target)}`);
  warnOfParquetSize(file, target);
  finishOutput(made, bytes, { from: kindOf(file), to, inputBytes: file.bytes.length, bitsKept: true }, [
    `${kindOf(file)} -> ${to}: the same bits, ${formatBytes(file.bytes.length)} -> ${formatBytes(bytes.length)}`,
  ]);
}

type RebuildOptions = ConvertOptions & MadeFileOptions & Pick<CreateOptions, 'key'>;

async function rebuild(
  file: FilterFile,
  target: Target,
  paths: readonly string[],
  options: RebuildOptions,
): Promise<void> {
  if (target.create === undefined) {
    throw new UsageError(`--to ${target.name} takes no --keys: convert first, then bloomery encode`);
  }
  const design = chooseDesign(file, options);
  const { funnel, key } = options;
  const created = target.create({ ...design, funnel, redisKey: options.redisKey, ...hashOf(file), key });
  const misses = missesOf(file, funnel);
  let [count, missing] = [0, 0];
  const progress = startProgress({ what: 'reading keys', total: sizeOf(paths), enabled: !options.json });
  try {
    for await (const chunk of readKeys(paths, options, (bytes) => progress.advance(bytes))) {
      created.addMany(chunk.keys);
      missing += misses?.(chunk.keys) ?? 0;
      count += chunk.count;
    }
  } finally {
    progress.stop();
  }
  warnOfKeys(file, created.filter, design, count, missing);
  const bytes = await created.encode();
  finishOutput(
    options,
    bytes,
    {
      from: kindOf(file),
      to: target.name,
      inputBytes: file.bytes.length,
      bitsKept: false,
      keys: count,
      ...(misses === undefined ? {} : { keysNotInInput: missing }),
      ...design,
      estimatedFalsePositiveRate: estimatedRateOf(created.filter),
    },
    [
      `${kindOf(file)} -> ${target.name}, from ${formatCount(count)} keys: ${formatBytes(bytes.length)}`,
      `made for ${formatCount(design.capacity)} keys at ${formatRate(design.falsePositiveRate)}`,
    ],
  );
}

/**
 * Takes the design of the old filter, or estimates from its current fill where the file does not
 * record the design.
 */
function chooseDesign(file: FilterFile, { capacity, rate }: ConvertOptions): Design {
  const { filter, path } = file;
  const design = designOf(filter);
  const keys = capacity ?? design?.capacity ?? Math.ceil(estimatedSizeOf(filter) ?? 0);
  const falsePositiveRate = rate ?? design?.falsePositiveRate ?? estimatedRateOf(filter) ?? 0;
  if (!(keys >= 1 && Number.isFinite(keys))) {
    throw new UsageError(`${path} does not say how many keys it was made for; --capacity does`);
  }
  if (!(falsePositiveRate > 0 && falsePositiveRate < 1)) {
    throw new UsageError(`${path} does not say which rate it was made for; --rate does`);
  }
  return { capacity: keys, falsePositiveRate };
}

/**
 * The hash and the seed of a filter of the library. Split blocks have Parquet's, which is for them
 * alone.
 */
function hashOf({ filter }: FilterFile): Pick<CreateOptions, 'hash' | 'seed'> {
  const scheme = 'scheme' in filter ? filter.scheme : undefined;
  const split = 'layout' in filter && filter.layout === 'split-block';
  if (scheme === undefined || split || scheme.id.startsWith('siphash')) return {};
  return { hash: scheme.id, seed: scheme.seed };
}

/**
 * Counts the keys that the old filter certainly does not have; returns undefined if that filter
 * cannot be asked for lines.
 */
function missesOf(file: FilterFile, funnel: GuavaFunnel): ((keys: KeyBatch) => number) | undefined {
  const { filter } = file;
  // Keys of binary fuse filters are hashes, and the file does not say by which hash function.
  if (filter instanceof BinaryFuseFile) return undefined;
  const { ask } = filter instanceof GuavaFilter ? guavaAsker(filter, funnel) : askerOf(file);
  return (keys) => ask(keys).reduce((sum, answer) => sum + 1 - answer, 0);
}

function guavaAsker(filter: GuavaFilter, funnel: GuavaFunnel): Pick<Asker, 'ask'> {
  const keyOf = guavaKey(funnel);
  return { ask: (keys) => Uint8Array.from(eachKey(keys), (key) => (filter.has(keyOf(key)) ? 1 : 0)) };
}

function warnOfKeys(file: FilterFile, made: AnyFilter, design: Design, count: number, missing: number): void {
  const { path, filter } = file;
  if (missing > 0) {
    warn(
      `${formatCount(missing)} of the ${formatCount(count)} keys are certainly not in ${path}: these are not the keys it was built from`,
    );
  }
  const held = leastSizeOf(filter);
  if (held !== undefined && held > count) {
    warn(
      `${path} holds at least ${formatCount(held)} keys, --keys has only ${formatCount(count)}: some are missing`,
    );
  }
  const holds = leastSizeOf(made);
  if (holds !== undefined && holds > design.capacity) {
    warn(
      `the keys are more than the ${formatCount(design.capacity)} that the new filter was made for: ${formatRate(estimatedRateOf(made) ?? 1)} false positives; --capacity makes it larger`,
    );
  }
}

/**
 * Warns of a size that is not a power of two, which some readers of Parquet refuse
 * (formats/parquet.ts).
 */
function warnOfParquetSize({ filter }: FilterFile, target: Target): void {
  if (target.name !== 'parquet' || !('blocks' in filter)) return;
  if (!Number.isInteger(Math.log2(filter.blocks as number))) {
    warn(`${filter.blocks} blocks are no power of two, and some readers of Parquet refuse that`);
  }
}

function whyNot(file: FilterFile, target: Target): string {
  const { filter } = file;
  if (target.create === undefined) return `${file.path} is a ${kindOf(file)}, which has no coded form`;
  const scheme = 'scheme' in filter ? filter.scheme.id : undefined;
  const layout = 'layout' in filter ? ` ${filter.layout}` : '';
  const hash = 'hash' in filter ? filter.hash : `${scheme ?? 'its own'}${layout}`;
  const { message } = cannotConvert(
    { format: kindOf(file), hash },
    { format: target.name, hash: target.hash },
  );
  return `${file.path}: ${message.replace(' (add the keys to a new filter)', '')}`;
}

function remedy(target: Target): string {
  if (target.create === undefined) return 'BloomFilter, BlockedBloomFilter and CountingBloomFilter have';
  return 'name the files of its keys and it is built again: --keys FILE…';
}

function kindOf(file: FilterFile): string {
  return file.format === 'bloomery' ? file.structure.name : file.format;
}

/** Total size of the files in bytes, or 0 if it is unknown. */
function sizeOf(paths: readonly string[]): number {
  let sum = 0;
  for (const path of paths) {
    const found = path === '-' ? undefined : statSync(path, { throwIfNoEntry: false });
    if (!found?.isFile()) return 0;
    sum += found.size;
  }
  return sum;
}

function printList(json: boolean): void {
  const targets = TARGETS.map(({ name, what, bridges, create }) => ({
    to: name,
    what,
    withoutKeysFrom: bridges,
    fromKeys: create !== undefined,
  }));
  if (json) {
    writeJson({ read: FORMATS, write: targets });
    return;
  }
  writeLine(
    formatTable([
      ['--to', 'what it is', 'without keys from', 'from keys'],
      ...targets.map(({ to, what, withoutKeysFrom, fromKeys }) => [
        to,
        what,
        withoutKeysFrom,
        fromKeys ? 'yes' : 'no',
      ]),
    ]),
  );
  writeLine();
  writeLine('Read, and not written:');
  writeLine(formatTable(READ_ONLY.map(({ name, what }) => [`  ${name}`, what])));
}
