/**
 * `halve`: makes a filter of half the bits with the same keys (survey 2.4), by OR-ing neighbouring
 * bits or blocks. It is for a filter that was made too large, or for a slow link. The false
 * positive rate rises, and halving cannot be undone.
 *
 * A halved filter is bit for bit the one that a build of that size would have made, so it can be
 * combined with other filters of its new size. Only even sizes can be halved. The error for any
 * other size names the nearest sizes that can.
 */

import { BlockedBloomFilter, BloomFilter } from 'bloomery';
import { ParquetFilter } from 'bloomery/formats/parquet';
import type { Command } from 'commander';
import {
  parseCount,
  withExamples,
  withFormat,
  withJson,
  withKeyFile,
  withOutput,
} from '../command-options.ts';
import { checkInputs, checkOutput, finishOutput, type MadeFileOptions } from '../conversion/made-file.ts';
import { type FilterFile, openFilter } from '../files/filter-file.ts';
import { readSecretKey } from '../files/secret-key-file.ts';
import { becomesBloom } from '../files/structures.ts';
import { formatBytes, formatCount, formatRate } from '../terminal/format-values.ts';
import { warn } from '../terminal/warning.ts';
import { UsageError } from '../usage-error.ts';

export function register(program: Command): void {
  const command = program
    .command('halve')
    .description('shrink a filter to half its bits, with the same keys and a higher rate')
    .argument('<filter>', 'a Bloom filter, blocked or not, or a Parquet filter; - is standard input')
    .option('--times <count>', 'how often', parseCount(1), 1)
    .action(run);
  withFormat(withKeyFile(withOutput(withJson(command), 'where the smaller filter goes')));
  withExamples(command, [
    ['bloomery halve big.blm -o small.blm', 'half the bits'],
    ['bloomery halve big.blm --times 3 -o small.blm', 'an eighth of them'],
  ]);
}

interface HalveOptions extends MadeFileOptions {
  readonly times: number;
  readonly keyFile?: string;
  readonly format?: string;
}

async function run(path: string, options: HalveOptions): Promise<void> {
  checkOutput(options);
  checkInputs([path]);
  const key = options.keyFile === undefined ? undefined : readSecretKey(options.keyFile);
  const file = await openFilter(path, { key, format: options.format });
  const { filter } = file;
  if (filter instanceof ParquetFilter) {
    finish(file, filter, new ParquetFilter(fold(path, filter.filter, options.times)), options);
  } else if (filter instanceof BloomFilter) finish(file, filter, halve(path, filter, options.times), options);
  else if (filter instanceof BlockedBloomFilter)
    finish(file, filter, fold(path, filter, options.times), options);
  else throw new UsageError(`${path} is a ${String(filter)}, which does not halve; ${instead(file)}`);
}

type Halved = BloomFilter | BlockedBloomFilter | ParquetFilter;

function finish(file: FilterFile, before: Halved, after: Halved, options: HalveOptions): void {
  const bytes = after.encode();
  const rates = { before: before.estimatedFalsePositiveRate(), after: after.estimatedFalsePositiveRate() };
  if (after.onesCount() === after.bits) warn(`${options.output} is full and says "maybe" to every key`);
  finishOutput(
    options,
    bytes,
    {
      filter: String(after),
      times: options.times,
      inputBytes: file.bytes.length,
      estimatedFalsePositiveRateBefore: rates.before,
      estimatedFalsePositiveRate: rates.after,
    },
    [
      `${formatCount(before.bits)} -> ${formatCount(after.bits)} bits, ${formatBytes(bytes.length)}`,
      `false positive rate ${formatRate(rates.before)} -> ${formatRate(rates.after)}`,
    ],
  );
}

function halve(path: string, filter: BloomFilter, times: number): BloomFilter {
  const slices = filter.layout === 'partitioned' ? filter.hashes : 1;
  checkSize(path, filter.bits / slices, times, slices === 1 ? 'bits' : `bits in each of ${slices} slices`);
  return filter.halve(times);
}

function fold(path: string, filter: BlockedBloomFilter, times: number): BlockedBloomFilter {
  checkSize(path, filter.blocks, times, 'blocks');
  return filter.fold(times);
}

/** Refuses a size that is not a multiple of 2^times, and names the nearest multiples. */
function checkSize(path: string, size: number, times: number, unit: string): void {
  if (times > MOST_TIMES) throw new UsageError(`--times must be at most ${MOST_TIMES}, got ${times}`);
  const factor = 2 ** times;
  if (size % factor === 0) return;
  let possible = 0;
  for (let rest = size; rest % 2 === 0; rest /= 2) possible++;
  const most = possible === 0 ? 'not at all' : possible === 1 ? 'once' : `${possible} times`;
  const below = Math.floor(size / factor) * factor;
  const near = [below, below + factor].filter((n) => n > 0).map(formatCount);
  throw new UsageError(
    `${path} has ${formatCount(size)} ${unit}, which halve ${most}, not ${times === 1 ? 'once' : `${times} times`}; multiples of ${formatCount(factor)} do, such as ${near.join(' or ')}: bloomery build --halvings ${times}`,
  );
}

function instead(file: FilterFile): string {
  if (file.format !== 'bloomery') return 'Parquet filters are the only foreign ones that do';
  if (becomesBloom(file.structure))
    return `first make a BloomFilter of it: bloomery convert ${file.path} --to bloom`;
  return 'BloomFilter and BlockedBloomFilter do';
}

/** No filter has more than 2^36 bits. */
const MOST_TIMES = 36;
