/**
 * `traceback`: the route of one packet, from the answers of the collectors (`bloomery digestd`) of
 * a network (survey 8.2). packages/packets/src/traceback/graph has the walk and the odds.
 *
 * The exit code is that of grep: 0 if the collector at the victim saw the packet, 1 if not, 2 after
 * an error. Collectors that do not answer are no error: the graph goes round them and marks them.
 */

import { randomBytes, randomFillSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { writeAtomically } from '@bloomery/files';
import {
  type CollectorEntry,
  collectorClient,
  DEFAULT_PAYLOAD_BYTES,
  decoysOf,
  formsOf,
  invariantOf,
  maskedPacket,
  parseTopology,
  type Topology,
  TracebackError,
  type TraceGraph,
  traceGraph,
  walkBack,
} from '@bloomery/packets/traceback';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { parseCount, parseDuration, withExamples, withForce, withJson } from '../command-options.ts';
import { NOT_FOUND } from '../exit-codes.ts';
import { checkTarget } from '../files/target-file.ts';
import { write, writeJson, writeLine } from '../terminal/standard-output.ts';
import { readToken } from '../tracing/collector-files.ts';
import { graphSvg } from '../tracing/graph-svg.ts';
import { graphData, graphDot, graphText } from '../tracing/graph-text.ts';
import { readPacket, type TracedPacket } from '../tracing/read-packet.ts';
import { UsageError } from '../usage-error.ts';

interface TracebackOptions {
  readonly topology: string;
  readonly packet: number;
  readonly start?: string;
  readonly window?: number;
  readonly from?: number;
  readonly to?: number;
  readonly tokenFile?: string;
  readonly timeout?: number;
  readonly decoys: number;
  readonly format: 'text' | 'dot' | 'svg';
  readonly output?: string;
  readonly force?: boolean;
  readonly json?: boolean;
}

export function register(program: Command): void {
  const command = program
    .command('traceback')
    .description('find the route of a packet by asking the collectors (digestd) of a network')
    .argument('<capture>', 'a capture with the packet; - is standard input')
    .requiredOption('--topology <file>', 'collectors and links in JSON (docs/spec/traceback.md)')
    .option('--packet <n>', 'the number of the packet in the capture', parseCount(), 1)
    .option('--start <collector>', 'the collector at the victim (default: start of the topology)')
    .option(
      '--window <time>',
      'ask about this time before and after the packet (default: 60s)',
      parseDuration,
    )
    .option('--from <time>', 'ask from this time on, such as 2026-11-18T10:00:00Z', parseTime)
    .option('--to <time>', 'ask up to this time', parseTime)
    .option('--token-file <file>', 'the token of collectors that have none in the topology')
    .option('--timeout <time>', 'how long a collector may take (default: 5s)', parseDuration)
    .option('--decoys <n>', 'packets that were never sent, to test collectors that say yes', parseCount(0), 4)
    .addOption(
      new Option('--format <form>', 'text, or a picture').choices(['text', 'dot', 'svg']).default('text'),
    )
    .option('-o, --output <file>', 'write to this file')
    .addHelpText('after', HELP)
    .action(run);
  withJson(withForce(command));
  withExamples(command, [
    [
      'bloomery traceback attack.pcap --topology net.json',
      'where did the first packet of this capture come from?',
    ],
    ['bloomery traceback attack.pcap --topology net.json --format svg -o route.svg', 'the same as a picture'],
    [
      'bloomery traceback attack.pcap --topology net.json --format dot | dot -Tpdf > route.pdf',
      'by Graphviz',
    ],
  ]);
}

const HELP = `
The percentage of a link is the probability that the packet took it, given all answers. "silent" did not answer, "unreliable" says yes
to packets that were never sent, "says no, against its neighbours" lies or lost packets. Exit code 0: the packet was seen at the victim,
1: it was not, 2: an error.`;

async function run(path: string, options: TracebackOptions): Promise<void> {
  const { output, force = false, json, format } = options;
  if (json && format !== 'text') throw new UsageError(`--json and --format ${format} exclude each other`);
  if (output !== undefined) checkTarget(output, { force });
  try {
    const topology = parseTopology(readFileSync(options.topology, 'utf8'));
    const packet = await readPacket(path, options.packet);
    const graph = await trace(topology, packet, options);
    const isSeen = graph.nodes.some(({ id, verdict }) => id === graph.start && verdict === 'seen');
    if (json) writeJson(graphData(graph));
    else if (format === 'text') print(`${packet.text}\n\n${graphText(graph)}\n`, output);
    else print(format === 'dot' ? `${graphDot(graph)}\n` : graphSvg(graph), output);
    if (!isSeen) process.exitCode = NOT_FOUND;
  } catch (error) {
    throw error instanceof TracebackError ? new UsageError(error.message, { cause: error }) : error;
  }
}

async function trace(
  topology: Topology,
  packet: TracedPacket,
  options: TracebackOptions,
): Promise<TraceGraph> {
  const { window = 60_000, from, to, timeout = 5000, decoys } = options;
  const start = options.start ?? topology.start;
  if (start === null || !topology.collectors.has(start)) {
    throw new UsageError(
      start === null
        ? '--start must name the collector at the victim'
        : `--start: the topology has no ${start}`,
    );
  }
  const span = {
    firstS: from ?? Math.max(0, packet.timeS - window / 1000),
    lastS: to ?? packet.timeS + window / 1000,
  };
  if (span.lastS < span.firstS) throw new UsageError('--to must be after --from');
  const ask = collectorClient({
    collectors: topology.collectors,
    window: span,
    tokenOf: tokens(topology, options),
    timeoutMs: timeout,
  });
  // Throws now if the capture cut the packet, and not at the first collector.
  invariantOf(packet.bytes, DEFAULT_PAYLOAD_BYTES);
  const others = formsOf(packet.bytes, DEFAULT_PAYLOAD_BYTES).map((form) => form.packet);
  const walk = await walkBack({
    topology,
    start,
    forms: [packet.bytes, ...others].map(maskedPacket),
    ask,
    decoys: decoysOf(packet.bytes, decoys, (bytes) => randomFillSync(bytes)),
    random: () => randomBytes(4).readUInt32LE() / 2 ** 32,
  });
  return traceGraph(topology, walk);
}

/**
 * Finds the tokens of all collectors before the first question: in the topology, in a file, or in
 * `--token-file`. A file that cannot be read is a mistake of the user, and no silence.
 */
function tokens(
  { collectors }: Topology,
  { topology, tokenFile }: TracebackOptions,
): (id: string, entry: CollectorEntry) => string {
  const common = tokenFile === undefined ? undefined : readToken(tokenFile);
  const found = new Map<string, string>();
  for (const [id, { url, token, tokenFile: own }] of collectors) {
    if (url === undefined) continue;
    const known = token ?? (own === undefined ? common : readToken(resolve(dirname(topology), own)));
    if (known === undefined)
      throw new UsageError(`collector ${id} has a url and no token; --token-file names one for all`);
    found.set(id, known);
  }
  return (id) => found.get(id) as string;
}

function print(text: string, output: string | undefined): void {
  if (output === undefined) write(text);
  else if (output === '-') writeLine(text);
  else writeAtomically(output, Buffer.from(text));
}

function parseTime(text: string): number {
  const seconds = Date.parse(text) / 1000;
  if (!(seconds >= 0)) throw new InvalidArgumentError('Expected a time such as 2026-11-18T10:00:00Z.');
  return seconds;
}
