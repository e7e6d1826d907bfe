/**
 * `flows`: who talks most, from captures, a pipe of tcpdump or flow exports, in fixed memory
 * (survey 8.1; Estan and Varghese 2002). Flows are exact as long as they fit into the memory. When
 * they do not, the largest are still listed, each with bounds, and the answer says from which size
 * on the list is complete.
 */

import { randomBytes } from 'node:crypto';
import {
  createAnonymiser,
  DEFAULT_FLOW_MEMORY,
  FIVE_TUPLE,
  type FlowFields,
  FlowMeter,
  FlowTableError,
  type NamedFlow,
  parseFlow,
  parseFlowFields,
} from '@bloomery/packets/flows';
import { type Command, InvalidArgumentError, Option } from 'commander';
import {
  parseBytes,
  parseCount,
  parseDuration,
  parseRate,
  withExamples,
  withJson,
} from '../command-options.ts';
import { readKeyBytes } from '../files/secret-key-file.ts';
import { finite, prometheusText, reportData } from '../flows/flow-data.ts';
import type { FlowSource } from '../flows/flow-source.ts';
import { oneFlowText, reportText } from '../flows/flow-text.ts';
import { listPrefixes } from '../flows/list-prefixes.ts';
import { LiveScreen } from '../flows/live-screen.ts';
import { packetSource } from '../flows/read-packets.ts';
import { exportSource } from '../flows/receive-exports.ts';
import { formatBytes } from '../terminal/format-values.ts';
import { holdSignals } from '../terminal/orderly-end.ts';
import { startProgress } from '../terminal/progress.ts';
import { writeJson, writeLine } from '../terminal/standard-output.ts';
import { isTerminal } from '../terminal/terminal.ts';
import { UsageError } from '../usage-error.ts';

interface FlowsOptions {
  readonly by?: FlowFields;
  readonly packets?: boolean;
  readonly top: number;
  readonly threshold?: number;
  readonly interval?: number;
  readonly prefixes?: 'src' | 'dst';
  readonly flow?: NamedFlow & { readonly text: string };
  readonly exact?: boolean;
  readonly memory?: number;
  readonly wire?: boolean;
  readonly tunnels?: boolean;
  readonly netflow?: string;
  readonly live?: boolean;
  readonly anonymise?: string;
  readonly json?: boolean;
  readonly prometheus?: boolean;
}

/** Memory of `--exact` unless `--memory` says otherwise. Pages that are not used are not taken. */
const EXACT_MEMORY = 2 ** 31;
const LEAST_MEMORY = 1.2e6;
const MOST_MEMORY = 4e9;
const REFRESH_MS = 1000;
const TUNNELS = ['gre', 'vxlan', 'ip'] as const;
/** Share that makes a prefix heavy unless `--threshold` says otherwise. */
const DEFAULT_SHARE = 0.01;

export function register(program: Command): void {
  const command = program
    .command('flows')
    .description('list the largest flows of captures in fixed memory: who talks most')
    .argument(
      '[captures...]',
      'pcap or pcapng files, also packed; none, or -: standard input, as from tcpdump -w -',
    )
    .option(
      '--by <fields>',
      'fields of a flow: src, dst, sport, dport, proto; prefixes as in src/24 or src/24/56',
      fieldsOption,
    )
    .option('--packets', 'rank by packets instead of bytes')
    .option('--top <n>', 'how many flows to print', parseCount(), 10)
    .option(
      '--threshold <share>',
      'only flows with at least this share of the total, such as 0.1%',
      parseRate,
    )
    .option('--interval <time>', 'a list for each interval of the capture, such as 60s or 5m', parseDuration)
    .option(
      '--flow <flow>',
      'print one flow and its bounds, such as src=10.0.0.7,dport=443,proto=tcp',
      flowOption,
    )
    .addOption(
      new Option(
        '--prefixes <side>',
        'list the prefixes, of any length, with at least --threshold of the bytes (default: 1%)',
      ).choices(['src', 'dst']),
    )
    .option('--exact', 'count exactly, and stop with an error if the flows do not fit into the memory')
    .option('--memory <bytes>', 'memory for the flows (default: 36MiB; with --exact 2GiB)', parseBytes)
    .option('--wire', 'count bytes on the wire instead of those of IP')
    .option('--tunnels', 'count the flows inside GRE, VXLAN and IP-in-IP tunnels')
    .option('--netflow <address>', 'receive NetFlow, IPFIX and sFlow on this UDP address, such as :2055')
    .option('--live', 'a screen that refreshes each second')
    .option(
      '--anonymise <file>',
      'replace addresses by pseudonyms that keep prefixes; the file holds the key',
    )
    .option('--prometheus', 'print metrics in the text format of Prometheus')
    .addHelpText('after', HELP)
    .action(run);
  withJson(command);
  withExamples(command, [
    ['bloomery flows office.pcap', 'the ten largest flows'],
    ['bloomery flows office.pcap --by src/24,dport --top 20', 'which subnets use which services'],
    [
      'tcpdump -i eth0 -s 96 -U -w - | bloomery flows --live --interval 60s',
      'what happens now, minute by minute',
    ],
    ['bloomery flows day*.pcap.gz --by dst --threshold 1%', 'destinations with at least 1 % of the bytes'],
    ['bloomery flows office.pcap --flow src=10.0.0.7', 'one host'],
    ['bloomery flows office.pcap --prefixes dst', 'the networks that most traffic goes to, large or small'],
    ['bloomery flows --netflow :2055 --by src/24 --interval 5m', 'from routers that export flows'],
  ]);
}

const HELP = `
Bytes are those of IP, headers included, as nfdump counts them. Flows have a direction: --by src counts what a host sent, --by
dst what it received. As long as all flows fit into --memory the numbers are exact. When they do not, the list still holds every
flow above a size that it tells, each with a lower and an upper bound that are always true.`;

async function run(paths: string[], options: FlowsOptions): Promise<void> {
  checkOptions(options);
  if (options.prefixes !== undefined) return runPrefixes(paths, options, options.prefixes);
  const fields = options.flow?.fields ?? options.by ?? FIVE_TUPLE;
  const source = sourceOf(paths, options);
  const view = options.live ? new LiveScreen() : undefined;
  const print = () => printReport(meter, options, source);
  const meter = new FlowMeter({
    fields,
    measure: options.packets ? 'packets' : 'bytes',
    wire: options.wire,
    memory: options.memory ?? (options.exact ? EXACT_MEMORY : DEFAULT_FLOW_MEMORY),
    exact: options.exact,
    secret: randomBytes(16),
    intervalSeconds: options.interval === undefined ? undefined : options.interval / 1000,
    onInterval: () => {
      if (view === undefined) print();
    },
    rename: options.anonymise === undefined ? undefined : createAnonymiser(readKeyBytes(options.anonymise)),
  });
  const held = holdSignals();
  const timer = view && setInterval(() => view.draw(liveText(meter, options, source)), REFRESH_MS);
  // Lists of intervals come while it reads, and a bar on the same terminal would overwrite them.
  const isListing = options.interval !== undefined && isTerminal(1);
  const quiet = options.json || options.prometheus || view !== undefined || isListing;
  const bar = startProgress({ what: 'reading', total: source.bytes, enabled: !quiet });
  try {
    await source.read(meter, bar.advance, held.stop);
  } catch (error) {
    throw error instanceof FlowTableError
      ? new UsageError(
          `the flows do not fit into the memory for --exact; raise --memory, or leave --exact out (${error.message})`,
          { cause: error },
        )
      : error;
  } finally {
    bar.stop();
    clearInterval(timer);
    view?.close();
  }
  print();
  if (!options.json && !options.prometheus) writeNotes(source);
  held.close();
}

async function runPrefixes(
  paths: string[],
  { threshold, packets, wire, tunnels, json }: FlowsOptions,
  side: 'src' | 'dst',
): Promise<void> {
  const source = packetSource(paths, tunnels ? TUNNELS : []);
  const share = threshold ?? DEFAULT_SHARE;
  await listPrefixes(source, { side, share, measure: packets ? 'packets' : 'bytes', wire, json });
  if (!json) writeNotes(source);
}

function sourceOf(paths: readonly string[], { netflow, tunnels }: FlowsOptions): FlowSource {
  if (netflow === undefined) return packetSource(paths, tunnels ? TUNNELS : []);
  if (paths.length > 0) throw new UsageError('--netflow receives from the network; leave the captures out');
  return exportSource(netflow);
}

function printReport(meter: FlowMeter, options: FlowsOptions, source: FlowSource): void {
  const { flow, top, threshold: share } = options;
  if (flow !== undefined) {
    const { bytes, packets } = meter.count(flow.key);
    if (options.json) writeJson({ flow: flow.text, bytes: finite(bytes), packets: finite(packets) });
    else writeLine(oneFlowText(flow.text, bytes, packets));
    return;
  }
  const report = meter.report({ top, share });
  if (options.json) writeJson(reportData(report, source.undecoded()));
  else if (options.prometheus) writeLine(prometheusText(report, meter.fields, source.undecoded()));
  else writeLine(`${reportText(report, meter.fields)}${options.interval === undefined ? '' : '\n'}`);
}

function liveText(meter: FlowMeter, { top, threshold: share }: FlowsOptions, source: FlowSource): string {
  return `${reportText(meter.report({ top, share }), meter.fields)}\n\n${source.notes()}`;
}

function writeNotes(source: FlowSource): void {
  const notes = source.notes();
  if (notes !== '') writeLine(`\n${notes}`);
}

function checkOptions(options: FlowsOptions): void {
  const { by, flow, live, json, prometheus, anonymise, interval, memory } = options;
  if (memory !== undefined && !(memory >= LEAST_MEMORY && memory <= MOST_MEMORY)) {
    throw new UsageError(`--memory must be from 1.2MB to 4GB, got ${formatBytes(memory)}`);
  }
  if (json && prometheus)
    throw new UsageError('--json and --prometheus are two forms of the output; choose one');
  if (options.prefixes !== undefined) checkPrefixes(options);
  if (flow !== undefined && by !== undefined) {
    throw new UsageError('--flow names the fields of its flow itself; leave --by out');
  }
  if (flow !== undefined && (prometheus || anonymise !== undefined || live)) {
    throw new UsageError('--flow prints one flow; --prometheus, --anonymise and --live are for lists');
  }
  if (prometheus && interval !== undefined) {
    throw new UsageError('--prometheus prints one state; leave --interval out');
  }
  if (live && (json || prometheus))
    throw new UsageError('--live draws a screen; leave --json and --prometheus out');
  if (live && !isTerminal(1)) {
    throw new UsageError('--live needs a terminal; --interval 10s prints a list for each interval instead');
  }
}

/** Options that `--prefixes` has no use for. */
function checkPrefixes(options: FlowsOptions): void {
  const others = [
    'by',
    'flow',
    'interval',
    'live',
    'netflow',
    'anonymise',
    'prometheus',
    'exact',
    'memory',
  ] as const;
  const given = others.find((name) => options[name] !== undefined);
  if (given !== undefined) {
    throw new UsageError(`--prefixes lists prefixes of captures, by bytes or packets; leave --${given} out`);
  }
}

function fieldsOption(text: string): FlowFields {
  return optionValue(() => parseFlowFields(text));
}

function flowOption(text: string): NamedFlow & { readonly text: string } {
  return optionValue(() => ({ ...parseFlow(text), text }));
}

/** Parses an option; the part of the message behind the first colon tells what was expected. */
function optionValue<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    const { message } = error as Error;
    const expected = message.slice(message.indexOf(': ') + 2);
    throw new InvalidArgumentError(`${expected[0].toUpperCase()}${expected.slice(1)}.`);
  }
}
