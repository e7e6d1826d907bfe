/**
 * `bloomery simulate`: plays an access log, or requests by Zipf's law, to a simulated fleet of
 * caches, once for each way to cooperate, and shows what the fleet would have saved. The simulation
 * is `simulateFleet` of @bloomery/cache/simulation; this file holds its options and its output.
 *
 * The table compares policies on the same requests with the same caches. `alone` is always among
 * them, because savings are compared with it.
 */

import {
  DEALS,
  type FleetOptions,
  type FleetResult,
  simulateFleet,
  TRACE_FORMATS,
  thresholdAlone,
} from '@bloomery/cache/simulation';
import { svgFile, terminalPlot } from '@bloomery/papers/drawing';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { parseBytes, parseCount, parseRate, withExamples, withForce, withJson } from '../command-options.ts';
import { checkTarget, writeTarget } from '../files/target-file.ts';
import { explanation } from '../simulating/explanation.ts';
import { shockPlot, sourcesPlot } from '../simulating/fleet-plots.ts';
import { fleetLegend, fleetTable, fleetVerdict, type PolicyRun } from '../simulating/fleet-table.ts';
import { DEFAULT_POLICIES, POLICIES, type PolicyName, parsePolicies } from '../simulating/named-policies.ts';
import { SERIES_POINTS, shockOf, shockTable } from '../simulating/replacement-shock.ts';
import { openSource, type RequestSource, type SourceOptions } from '../simulating/request-source.ts';
import { formatBytes, formatCount, formatShare } from '../terminal/format-values.ts';
import { startProgress } from '../terminal/progress.ts';
import { writeJson, writeLine } from '../terminal/standard-output.ts';
import { colors, isTerminal, terminalWidth } from '../terminal/terminal.ts';
import { UsageError } from '../usage-error.ts';

interface SimulateOptions extends SourceOptions {
  readonly policy: readonly PolicyName[];
  readonly cacheSize?: number;
  readonly cacheObjects?: number;
  readonly warmUp: number;
  readonly copies?: number;
  readonly threshold?: number;
  readonly replace?: number;
  readonly originMs: number;
  readonly neighbourMs: number;
  readonly plot?: string;
  readonly explain?: boolean;
  readonly force?: boolean;
}

export function register(program: Command): void {
  const command = program
    .command('simulate')
    .description('play an access log to a fleet of caches, and see what cooperation would have saved')
    .argument(
      '[files...]',
      'access logs or traces, in the order of their times; gzip, zstd and xz are read as they are; - is standard input',
    )
    .option('-n, --nodes <count>', 'caches in the fleet', parseNodes, 8)
    .option(
      '--cache-size <size>',
      'size of each cache, such as 10GB (default: a tenth of all objects)',
      parseBytes,
    )
    .option('--cache-objects <count>', 'the same as a number of objects, whatever their length', parseCount())
    .addOption(
      new Option(
        '-p, --policy <list>',
        `ways to cooperate, with commas between, or all: ${Object.keys(POLICIES).join(', ')}`,
      )
        .argParser(parsePolicies)
        .default([...DEFAULT_POLICIES], DEFAULT_POLICIES.join(',')),
    )
    .option(
      '--copies <share>',
      'part of each cache for copies from neighbours, with summaries (default: 10%)',
      parseShare,
    )
    .option(
      '--threshold <share>',
      'tell the neighbours when this share of the objects is new, and not by time (default: as a node does)',
      parseRate,
    )
    .option('--replace <share>', 'replace this share of the nodes by empty ones in the middle', parseRate)
    .addOption(
      new Option('--warm-up <share>', 'part of the requests that fills the caches and is not counted')
        .argParser(parseShare)
        .default(0.25, '25%'),
    )
    .addOption(
      new Option('--deal <how>', 'who gets a request (default: clients, or random without them)').choices(
        DEALS,
      ),
    )
    .option(
      '--rate <number>',
      'requests per second of each node, instead of the times of the log',
      parsePositive,
    )
    .option('--origin-ms <number>', 'time of an answer from the origin', parsePositive, 50)
    .option('--neighbour-ms <number>', 'time of an answer from a neighbour', parsePositive, 1)
    .addOption(
      new Option('--format <name>', 'what the files are, instead of finding out').choices(
        Object.keys(TRACE_FORMATS),
      ),
    )
    .option(
      '--zipf <exponent>',
      "make requests by Zipf's law instead of reading them, such as 0.8",
      parseExponent,
    )
    .option('--objects <count>', 'objects that can be asked for, with --zipf (default: 100k)', parseCount())
    .option('--requests <count>', 'requests in all, with --zipf (default: 200k)', parseCount())
    .option('--tastes <share>', 'requests by the taste of one of 8 groups of nodes, with --zipf', parseRate)
    .option('--seed <number>', 'other random numbers', parseCount(0), 1)
    .option('--plot <file>', 'write a plot as SVG')
    .option('--explain', 'say how each policy works, and what the simulation leaves out')
    .action(run);
  withExamples(withJson(withForce(command, 'the plot if it exists already')), [
    [
      'bloomery simulate access.log --nodes 8 --cache-size 10GB',
      'what would a fleet of 8 have saved yesterday?',
    ],
    [
      'zcat access.log.*.gz | bloomery simulate --nodes 4 --policy all',
      'several days, all ways to cooperate',
    ],
    [
      'bloomery simulate --zipf 0.8 --objects 1M --requests 1M --nodes 64 --cache-objects 10k',
      'the fleet of the guide: 64 nodes that hold 1 % of a million objects each',
    ],
    ['bloomery simulate access.log --replace 25% --plot shock.svg', 'a quarter of the nodes starts empty'],
    ['bloomery simulate access.log --policy summaries --copies 0 --json', 'single copies, for a script'],
  ]);
}

async function run(paths: readonly string[], options: SimulateOptions): Promise<void> {
  if (options.cacheSize !== undefined && options.cacheObjects !== undefined)
    throw new UsageError('--cache-size and --cache-objects say the same; give one of them');
  if (options.plot !== undefined) checkTarget(options.plot, options);
  const source = await openSource(paths, options);
  try {
    const runs = await simulateAll(source, options);
    if (options.plot !== undefined) {
      const svg = svgFile(plotOf(runs, options));
      writeTarget(options.plot, Buffer.from(svg), { force: options.force === true });
    }
    if (options.json) writeJson(reportOf(source, runs, options));
    else writeReport(source, runs, options);
  } finally {
    source.close();
  }
}

async function simulateAll(source: RequestSource, options: SimulateOptions): Promise<PolicyRun[]> {
  const total = source.requests * options.policy.length;
  const progress = startProgress({ what: 'simulating', total, unit: 'steps', enabled: !options.json });
  const runs: PolicyRun[] = [];
  try {
    for (const name of options.policy) {
      let told = 0;
      const advance = (played: number) => {
        progress.advance(played - told);
        told = played;
      };
      runs.push({ name, result: await simulateOne(name, source, options, advance) });
      advance(source.requests);
    }
  } finally {
    progress.stop();
  }
  return runs;
}

async function simulateOne(
  name: PolicyName,
  source: RequestSource,
  options: SimulateOptions,
  progress: (played: number) => void,
): Promise<FleetResult> {
  const { nodes, seed, originMs, neighbourMs, threshold, replace } = options;
  const warmUpRequests = warmUpOf(source, options);
  const measured = source.requests - warmUpRequests;
  const shock: Partial<FleetOptions> =
    replace === undefined
      ? {}
      : {
          seriesEvery: Math.max(1, Math.floor(measured / SERIES_POINTS)),
          replacements: [{ beforeRequest: warmUpRequests + Math.floor(measured / 2), share: replace }],
        };
  try {
    return await simulateFleet({
      policy: POLICIES[name].choice(options),
      nodes,
      capacity: capacityOf(source, options),
      trace: source.trace,
      times: { originMs, neighbourMs },
      ...(threshold === undefined ? {} : { updates: thresholdAlone(threshold) }),
      seed,
      warmUpRequests,
      ...shock,
      progress,
    });
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new UsageError(`--policy ${name}: ${error.message}`, { cause: error });
  }
}

function warmUpOf({ requests }: RequestSource, { warmUp }: SimulateOptions): number {
  return Math.min(requests - 1, Math.floor(requests * warmUp));
}

function capacityOf({ objectBytes }: RequestSource, { cacheSize, cacheObjects }: SimulateOptions) {
  if (cacheObjects !== undefined) return { objects: cacheObjects };
  return { bytes: cacheSize ?? Math.max(1, Math.round(objectBytes / 10)) };
}

function reportOf(source: RequestSource, runs: readonly PolicyRun[], options: SimulateOptions) {
  const { nodes, seed, replace } = options;
  return {
    source: source.report,
    nodes,
    capacity: capacityOf(source, options),
    warmUpRequests: warmUpOf(source, options),
    seed,
    policies: runs.map(({ name, result }) => ({
      policy: name,
      choice: POLICIES[name as PolicyName].choice(options),
      ...result,
      ...(replace === undefined ? {} : { shock: shockOf(result) }),
    })),
  };
}

function writeReport(source: RequestSource, runs: readonly PolicyRun[], options: SimulateOptions): void {
  const { nodes, policy, replace, explain } = options;
  const dim = colors(1).dim;
  const capacity = capacityOf(source, options);
  const size = 'bytes' in capacity ? formatBytes(capacity.bytes) : `${formatCount(capacity.objects)} objects`;
  for (const fact of source.facts) writeLine(fact);
  const warmUp = warmUpOf(source, options);
  const share = formatShare(warmUp / source.requests);
  writeLine(
    `${nodes} nodes with caches of ${size}; ${formatCount(warmUp)} requests (${share}) fill the caches and are not counted`,
  );
  if (explain) writeLine(`\n${explanation(policy)}`);
  writeLine(`\n${fleetTable(runs)}\n`);
  writeLine(dim(fleetLegend()));
  const [{ result: alone }] = runs;
  const told = runs.find(({ name }) => name.startsWith('summaries')) ?? runs.at(-1)!;
  if (told.name !== 'alone') writeLine(`\n${fleetVerdict(told, alone)}`);
  if (replace !== undefined) {
    writeLine(
      `\nRequests to the origin when ${formatShare(replace)} of the nodes are replaced by empty ones:\n`,
    );
    writeLine(shockTable(runs));
  }
  if (isTerminal(1)) {
    const plot = terminalPlot(plotOf(runs, options), {
      colors: colors(1),
      width: terminalWidth(),
      height: 14,
    });
    if (plot !== '') writeLine(`\n${plot}`);
  }
}

function plotOf(runs: readonly PolicyRun[], { replace }: SimulateOptions) {
  return replace === undefined ? sourcesPlot(runs) : shockPlot(runs, replace);
}

function parseNodes(text: string): number {
  const count = parseCount()(text);
  if (count > MOST_NODES) throw new InvalidArgumentError(`Expected at most ${MOST_NODES} nodes.`);
  return count;
}

/** Parses a share from 0 to 1, both included: 0.1, 10%, 0, 100%. */
function parseShare(text: string): number {
  const match = /^(\d+(?:\.\d+)?)\s*(%?)$/.exec(text.trim());
  const value = match === null ? Number.NaN : Number(match[1]) / (match[2] === '%' ? 100 : 1);
  if (!(value >= 0 && value <= 1)) throw new InvalidArgumentError('Expected a share, such as 0.1 or 10%.');
  return value;
}

function parsePositive(text: string): number {
  const value = Number(text);
  if (!(value > 0 && value < 1e9)) throw new InvalidArgumentError('Expected a number above 0.');
  return value;
}

function parseExponent(text: string): number {
  const value = Number(text);
  if (text === '' || !(value >= 0 && value <= 10))
    throw new InvalidArgumentError('Expected an exponent from 0 to 10, such as 0.8.');
  return value;
}

const MOST_NODES = 1024;
