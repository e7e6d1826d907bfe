/**
 * `union` and `intersect`: combine several filters of one kind into one. The union is exact: bit
 * for bit the filter that all keys together would have made (survey 2.4: the OR of the arrays). The
 * intersection is not exact. Its bits are a superset of those that the common keys alone would set,
 * because two different keys may have set the same bit on the two sides. So it has more false
 * positives than a filter built from the common keys, though never more than either of the two. The
 * help says so.
 *
 * The union of counting filters adds their counters; the union of sketches adds their streams.
 * Files of other systems unite with files of the same system, by the rules of that system. Filters
 * with different parameters are an error that shows both, and nothing is written.
 *
 * Files are read one after the other, so memory holds two filters at a time, whatever their number.
 */

import { BlockedBloomFilter, BloomFilter, CountingBloomFilter, HashList } from 'bloomery';
import { DcsoFilter } from 'bloomery/formats/dcso';
import { ParquetFilter } from 'bloomery/formats/parquet';
import { RedisBloomFilter } from 'bloomery/formats/redisbloom';
import type { Command } from 'commander';
import { withExamples, withFormat, withJson, withKeyFile, withOutput } from '../command-options.ts';
import {
  type AnyFilter,
  estimatedRateOf,
  estimatedSizeOf,
  overfullPart,
} from '../conversion/filter-facts.ts';
import { checkInputs, checkOutput, finishOutput, type MadeFileOptions } from '../conversion/made-file.ts';
import { unlikeFiles } from '../conversion/unlike-files.ts';
import { type FilterFile, openFilter } from '../files/filter-file.ts';
import { readSecretKey } from '../files/secret-key-file.ts';
import { formatCount, formatRate } from '../terminal/format-values.ts';
import { warn } from '../terminal/warning.ts';
import { UsageError } from '../usage-error.ts';

export function register(program: Command): void {
  const union = program
    .command('union')
    .description('make one filter of the keys of several')
    .argument('<filters...>', 'two or more, with the same parameters; - is standard input')
    .action((paths, options) => run(UNION, paths, options));
  withExamples(withOptions(union), [
    ['bloomery union mon.blm tue.blm wed.blm -o week.blm', 'the keys of all three, exactly'],
    ['bloomery union a.bloom b.bloom -o both.bloom', 'two files of another system, in its format'],
  ]);
  const intersect = program
    .command('intersect')
    .description('make one filter of the keys that several have in common (with more false positives)')
    .argument('<filters...>', 'two or more, with the same parameters; - is standard input')
    .addHelpText('after', INTERSECTION_HELP)
    .action((paths, options) => run(INTERSECTION, paths, options));
  withExamples(withOptions(intersect), [
    ['bloomery intersect ours.blm theirs.blm -o common.blm', 'every key that both may have'],
  ]);
}

function withOptions(command: Command): Command {
  return withFormat(withKeyFile(withOutput(withJson(command), 'where the combined filter goes')));
}

interface CombineOptions extends MadeFileOptions {
  readonly keyFile?: string;
  readonly format?: string;
}

interface Combination {
  readonly verb: string;
  /** Combines both into the first, or returns undefined if the structure cannot be combined. */
  combine(one: AnyFilter, other: AnyFilter): AnyFilter | undefined;
  whyNot(file: FilterFile): string;
}

const UNION: Combination = { verb: 'unite', combine: unite, whyNot: whyNoUnion };
const INTERSECTION: Combination = { verb: 'intersect', combine: intersection, whyNot: whyNoIntersection };

async function run(combination: Combination, paths: string[], options: CombineOptions): Promise<void> {
  if (paths.length < 2) throw new UsageError(`expected two or more filters, got ${paths.length}`);
  checkOutput(options);
  checkInputs(paths);
  const key = options.keyFile === undefined ? undefined : readSecretKey(options.keyFile);
  const open = (path: string) => openFilter(path, { key, format: options.format });
  const first = await open(paths[0]);
  let { filter } = first;
  for (const path of paths.slice(1)) filter = combineFiles(combination, first, filter, await open(path));
  const overfull = overfullPart(filter);
  if (overfull !== undefined) {
    warn(
      `${options.output} holds about ${formatCount(overfull.estimatedSize)} keys and was made for ${formatCount(overfull.capacity)}: ${rateNow(filter)}`,
    );
  }
  const estimatedSize = estimatedSizeOf(filter);
  const rate = estimatedRateOf(filter);
  const capacity = 'capacity' in filter ? (filter.capacity as number | undefined) : undefined;
  finishOutput(
    options,
    await encoded(first, filter),
    {
      files: paths.length,
      format: first.format,
      filter: String(filter),
      ...(capacity === undefined ? {} : { capacity }),
      ...(estimatedSize === undefined ? {} : { estimatedSize }),
      ...(rate === undefined ? {} : { estimatedFalsePositiveRate: rate }),
      overfull: overfull !== undefined,
    },
    [
      String(filter),
      ...(estimatedSize === undefined
        ? []
        : [`about ${formatCount(estimatedSize)} keys, ${rateNow(filter)}`]),
    ],
  );
}

/** Combines the next file into the result so far; the error names the two files and the reason. */
function combineFiles(
  { verb, combine, whyNot }: Combination,
  first: FilterFile,
  soFar: AnyFilter,
  next: FilterFile,
) {
  if (first.format !== next.format) throw unlikeFiles(verb, first, next);
  try {
    const combined = combine(soFar, next.filter);
    if (combined === undefined)
      throw new UsageError(`cannot ${verb} ${first.path} and ${next.path}: ${whyNot(first)}`);
    return combined;
  } catch (error) {
    if (!(error instanceof RangeError || error instanceof TypeError)) throw error;
    if (/^Cannot \w+ unlike filters/.test(error.message)) throw unlikeFiles(verb, first, next);
    throw new UsageError(`cannot ${verb} ${first.path} and ${next.path}: ${error.message}`, { cause: error });
  }
}

/** Each structure has its own way to unite, and checks that the other has the same parameters. */
function unite(one: AnyFilter, other: AnyFilter): AnyFilter | undefined {
  // Chains of links unite although their links differ, and keep their rates.
  if (one instanceof RedisBloomFilter && other instanceof RedisBloomFilter) return one.unite(other);
  if ('merge' in one) return (one as { merge(other: unknown): AnyFilter }).merge(other);
  if ('union' in one) return (one as { union(other: unknown): AnyFilter }).union(other);
  return undefined;
}

function whyNoUnion(file: FilterFile): string {
  return `a ${kindOf(file)} is built from all its keys at once and cannot take in others; build one from the keys of both`;
}

function intersection(one: AnyFilter, other: AnyFilter): AnyFilter | undefined {
  if (one instanceof ParquetFilter && other instanceof ParquetFilter) {
    return new ParquetFilter(one.filter.intersection(other.filter));
  }
  const possible = [BloomFilter, BlockedBloomFilter, CountingBloomFilter, HashList].some(
    (s) => one instanceof s,
  );
  return possible ? (one as { intersection(other: unknown): AnyFilter }).intersection(other) : undefined;
}

function whyNoIntersection(file: FilterFile): string {
  return `there is no intersection of ${kindOf(file)} filters; BloomFilter, BlockedBloomFilter, CountingBloomFilter, HashList and Parquet filters have one`;
}

function kindOf(file: FilterFile): string {
  return file.format === 'bloomery' ? file.structure.name : file.format;
}

function rateNow(filter: AnyFilter): string {
  const rate = estimatedRateOf(filter);
  return rate === undefined ? 'it errs more often' : `the false positive rate is ${formatRate(rate)} now`;
}

/**
 * Encodes in the form of the first file where its format has several. Frames of the library are
 * written plain.
 */
async function encoded(first: FilterFile, filter: AnyFilter): Promise<Uint8Array> {
  if (filter instanceof DcsoFilter && first.bytes[0] === 0x1f) return filter.encodeGzip();
  return filter.encode();
}

const INTERSECTION_HELP = `
The result says "maybe" to every key that is in all of the filters. It is not the filter of the common keys: two
different keys may have set the same bit on the two sides, so it has more false positives than a filter built from the
common keys alone would have (and never more than any of its parts). How many keys are common: bloomery similar.`;
