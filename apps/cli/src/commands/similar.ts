/**
 * `similar`: estimates how many keys two filters hold, together and in common, from the ones among
 * their bits (survey 2.4). No keys are needed, so a node with a peer's summary can tell how much
 * there is to gain before anything is sent.
 *
 * Every number comes with the interval that holds the true value with the given confidence. An
 * intersection is a small difference of large numbers. Its error is that of the union, whatever its
 * own size, so small overlaps are lost in it. In JSON the estimates are as the library gives them,
 * and may be below 0 for sets with nothing in common (they are unbiased, so that sums and means
 * stay right). In the text output they are cut to possible values.
 *
 * Containment, |A∩B| / |A|, is not among the library's estimators; its error follows from theirs.
 * With C = n∩/n₁ and n∩ = n₁ + n₂ - n∪, to first order n₁·dC = (1-C)·dn₁ + dn₂ - dn∪. The
 * covariances of the three sizes (math/estimates/estimators.ts: Cov(n∪, n₁) = Var n₁, Cov(n∪, n₂) =
 * Var n₂) are all known except Cov(n₁, n₂), which follows from the error of n∩: Var n∩ = Var n∪ +
 * 2·Cov(n₁, n₂) - Var n₁ - Var n₂.
 *
 * Filters of other systems can be compared if they can be united: the number of common ones is the
 * sum of both minus the ones of the union. A size that is known (`--size-a`) makes the intersection
 * more exact (math/estimates/join-size.ts).
 *
 * With `--text` the files are documents, and their words the keys (documents/).
 */

import { formatTable } from '@bloomery/papers/drawing';
import { type Comparable, type Estimate, jaccardEstimate, sizeEstimate, unionEstimate } from 'bloomery';
import { estimateIntersectionSize, estimateJoinSize, normalQuantile, rateFromOnes } from 'bloomery/math';
import type { Command } from 'commander';
import {
  parseCount,
  parseRate,
  withExamples,
  withFormat,
  withJson,
  withKeyFile,
} from '../command-options.ts';
import { comparableFiles } from '../conversion/comparable-files.ts';
import { checkInputs } from '../conversion/made-file.ts';
import { similarDocuments } from '../documents/similar-documents.ts';
import { openFilter } from '../files/filter-file.ts';
import { readSecretKey } from '../files/secret-key-file.ts';
import { formatCount } from '../terminal/format-values.ts';
import { writeJson, writeLine } from '../terminal/standard-output.ts';
import { colors } from '../terminal/terminal.ts';
import { UsageError } from '../usage-error.ts';

export function register(program: Command): void {
  const command = program
    .command('similar')
    .description(
      'estimate what filters have in common: sizes, union, intersection, Jaccard, containment, semi-join',
    )
    .argument(
      '<filters...>',
      'two filters with the same parameters; more give a matrix of Jaccard similarities. With --text, files or folders',
    )
    .option('--text', 'compare text files by their words; the most similar pairs come first')
    .option('--top <n>', 'with --text: how many pairs to print (default: 20)', parseCount())
    .option('--bits <n>', 'with --text: bits for each document (default: 131072)', parseCount(64))
    .option('--confidence <share>', 'how often the intervals hold the truth', parseRate, 0.95)
    .option('--size-a <n>', 'the number of keys of the first, if it is known', parseCount(0))
    .option('--size-b <n>', 'the number of keys of the second, if it is known', parseCount(0))
    .addHelpText('after', HELP)
    .action(run);
  withFormat(withKeyFile(withJson(command)));
  withExamples(command, [
    ['bloomery similar ours.blm theirs.blm', 'how much two sets have in common'],
    ['bloomery similar orders.blm customers.blm --size-a 120000', 'how many rows a semi-join sends'],
    ['bloomery similar *.blm', 'which of many are alike'],
    ['bloomery similar --text reports/ --top 5', 'the five pairs of documents with the most words in common'],
  ]);
}

interface SimilarOptions {
  readonly confidence: number;
  readonly sizeA?: number;
  readonly sizeB?: number;
  readonly text?: boolean;
  readonly top?: number;
  readonly bits?: number;
  readonly json?: boolean;
  readonly keyFile?: string;
  readonly format?: string;
}

type Compared = Comparable<unknown>;

async function run(paths: string[], options: SimilarOptions): Promise<void> {
  checkText(options);
  if (options.text) {
    similarDocuments(paths, options);
    return;
  }
  if (paths.length < 2) throw new UsageError(`expected two or more filters, got ${paths.length}`);
  checkInputs(paths);
  const key = options.keyFile === undefined ? undefined : readSecretKey(options.keyFile);
  if (paths.length > 2 && (options.sizeA !== undefined || options.sizeB !== undefined)) {
    throw new UsageError(`--size-a and --size-b are for two filters, got ${paths.length}`);
  }
  const files = [];
  for (const path of paths) files.push(await openFilter(path, { key, format: options.format }));
  if (files.length > 2) printMatrix(paths, comparableFiles(files), options);
  else {
    const [a, b] = comparableFiles(files);
    const result = compare(a, b, options);
    if (options.json) writeJson({ a: paths[0], b: paths[1], confidence: options.confidence, ...result });
    else printPair(paths, result);
  }
}

/** Refuses options of filters for documents, and options of documents for filters. */
function checkText({ text, top, bits, sizeA, sizeB, keyFile, format }: SimilarOptions): void {
  const given = (...values: unknown[]) => values.some((value) => value !== undefined);
  if (!text && given(top, bits)) {
    throw new UsageError('--top and --bits are for documents; --text compares text files');
  }
  if (text && given(sizeA, sizeB, keyFile, format)) {
    throw new UsageError(
      '--size-a, --size-b, --key-file and --format are for filters, and --text is for text files',
    );
  }
}

interface Similarity {
  readonly sizeA: Estimate;
  readonly sizeB: Estimate;
  readonly union: Estimate;
  readonly intersection: Estimate;
  readonly jaccard: Estimate;
  /** The share of A that is in B. */
  readonly containmentAInB: Estimate;
  readonly containmentBInA: Estimate;
  /** The keys that A's owner sends back after it got B's filter: matches and false positives. */
  readonly semiJoinAWithB: SemiJoin;
  readonly semiJoinBWithA: SemiJoin;
}

interface SemiJoin {
  readonly matches: number;
  readonly passing: number;
}

function compare(a: Compared, b: Compared, options: SimilarOptions): Similarity {
  const { confidence, sizeA: knownA, sizeB: knownB } = options;
  const { bits, hashes, layout } = a;
  const [ones1, ones2, onesAnd] = [a.onesCount(), b.onesCount(), a.sharedOnesCount(b)];
  const counts = { bits, hashes, layout, confidence, ones1, ones2, onesAnd };
  const sizeA = knownA === undefined ? sizeEstimate(a, { confidence }) : exactly(knownA);
  const sizeB = knownB === undefined ? sizeEstimate(b, { confidence }) : exactly(knownB);
  const union = unionEstimate(a, b, { confidence });
  const intersection = knownIntersection(counts, knownA, knownB);
  const contained = (size: Estimate, other: Estimate, known: boolean) =>
    known ? scaled(intersection, size.value) : containment(size, other, union, intersection, confidence);
  const join = (size: Estimate, ones: number): SemiJoin => {
    const matches = intersection.value;
    return { matches, passing: matches + rateFromOnes(bits, ones, hashes) * (size.value - matches) };
  };
  return {
    sizeA,
    sizeB,
    union,
    intersection,
    jaccard: jaccardEstimate(a, b, { confidence }),
    containmentAInB: contained(sizeA, sizeB, knownA !== undefined),
    containmentBInA: contained(sizeB, sizeA, knownB !== undefined),
    semiJoinAWithB: join(sizeA, ones2),
    semiJoinBWithA: join(sizeB, ones1),
  };
}

type Counts = Parameters<typeof estimateIntersectionSize>[0];

/** Estimates the intersection. The more sizes are known, the more exact the estimate is. */
function knownIntersection(counts: Counts, size1: number | undefined, size2: number | undefined): Estimate {
  if (size1 !== undefined) return estimateJoinSize({ ...counts, size1, size2 });
  if (size2 === undefined) return estimateIntersectionSize(counts);
  const { ones1, ones2 } = counts;
  return estimateJoinSize({ ...counts, ones1: ones2, ones2: ones1, size1: size2 });
}

/** |A∩B| / |A|; the head of this file derives its error. */
export function containment(
  size: Estimate,
  other: Estimate,
  union: Estimate,
  intersection: Estimate,
  confidence: number,
): Estimate {
  if (!(size.value > 0 && Number.isFinite(union.value))) {
    return { value: Number.NaN, low: 0, high: 1, standardError: Number.POSITIVE_INFINITY };
  }
  const value = intersection.value / size.value;
  const [v1, v2, vUnion, vShared] = [size, other, union, intersection].map((e) => e.standardError ** 2);
  const covariance = (vShared + v1 + v2 - vUnion) / 2;
  const rest = 1 - value;
  const variance = rest * rest * v1 + v2 + vUnion + 2 * rest * covariance - 2 * rest * v1 - 2 * v2;
  const standardError = Math.sqrt(Math.max(0, variance)) / size.value;
  const reach = normalQuantile((1 + confidence) / 2) * standardError;
  return { value, low: value - reach, high: value + reach, standardError };
}

function exactly(value: number): Estimate {
  return { value, low: value, high: value, standardError: 0 };
}

function scaled({ value, low, high, standardError }: Estimate, by: number): Estimate {
  return { value: value / by, low: low / by, high: high / by, standardError: standardError / by };
}

function printPair(paths: readonly string[], result: Similarity): void {
  const { sizeA, sizeB, union, intersection, jaccard, semiJoinAWithB, semiJoinBWithA } = result;
  const dim = colors(1).dim;
  // Why a share is unknown: it is a share of no keys, or of a number that cannot be estimated.
  const unknown = Number.isFinite(union.value) ? 'there are no keys' : 'a filter has no zeros left';
  const row = (
    name: string,
    { value, low, high }: Estimate,
    show: (n: number) => string,
    most = Infinity,
  ) => {
    const possible = (n: number) => show(Math.min(most, Math.max(0, n)));
    if (Number.isNaN(value)) return [name, 'unknown', dim(unknown)];
    return [name, possible(value), dim(`${possible(low)} to ${possible(high)}`)];
  };
  const passing = (name: string, { passing }: SemiJoin, of: Estimate) =>
    row(name, exactly(passing), formatFinite, of.value).slice(0, 2);
  writeLine(`A  ${paths[0]}`);
  writeLine(`B  ${paths[1]}`);
  writeLine();
  writeLine(
    formatTable(
      [
        row('keys in A', sizeA, formatFinite),
        row('keys in B', sizeB, formatFinite),
        row('in A or B', union, formatFinite),
        row('in A and B', intersection, formatFinite, Math.min(sizeA.value, sizeB.value)),
        row('Jaccard similarity', jaccard, formatShare, 1),
        row('share of A that is in B', result.containmentAInB, formatShare, 1),
        row('share of B that is in A', result.containmentBInA, formatShare, 1),
        passing("keys of A that pass B's filter", semiJoinAWithB, sizeA),
        passing("keys of B that pass A's filter", semiJoinBWithA, sizeB),
      ],
      { right: [1] },
    ),
  );
}

function printMatrix(paths: readonly string[], filters: readonly Compared[], options: SimilarOptions): void {
  const { confidence } = options;
  const estimates = filters.map((a, i) =>
    filters.map((b, j) => (i === j ? exactly(1) : jaccardEstimate(a, b, { confidence }))),
  );
  if (options.json) {
    const sizes = filters.map((filter) => sizeEstimate(filter, { confidence }));
    writeJson({ files: paths, confidence, sizes, jaccard: estimates });
    return;
  }
  const numbers = paths.map((_, i) => String(i + 1));
  writeLine(
    formatTable(
      [
        ['', '', 'keys', ...numbers],
        ...paths.map((path, i) => [
          numbers[i],
          path,
          formatFinite(sizeEstimate(filters[i]).value),
          ...estimates[i].map(({ value }) => (Number.isNaN(value) ? '?' : formatShare(Math.max(0, value)))),
        ]),
      ],
      { right: [0, 2, ...paths.map((_, i) => i + 3)] },
    ),
  );
}

function formatFinite(value: number): string {
  return Number.isFinite(value) ? formatCount(value) : 'more than can be told';
}

function formatShare(value: number): string {
  return value.toFixed(3);
}

const HELP = `
"Keys of A that pass B's filter": what a semi-join sends. The owner of A gets B's filter and sends back the keys that it
says "maybe" to: those in common, and the false positives. In JSON, estimates may lie below 0 where nothing is common.`;
