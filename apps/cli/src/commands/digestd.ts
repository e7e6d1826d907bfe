/**
 * `digestd`: remembers which packets passed, in little space, and answers questions about them
 * (survey 8.2). packages/packets/src/traceback has all of it; this is the process around it: a
 * capture or a pipe of tcpdump, the folder with its lock and secrets, a timer, and signals.
 *
 * A capture that ends or is damaged does not end the process, because questions about its packets
 * come later. `--once` ends it, to collect files from a script.
 */

import { FolderLock } from '@bloomery/files';
import {
  CaptureDecoder,
  CaptureError,
  DEFAULT_BATCH_PACKETS,
  PacketBatch,
  type Tunnel,
} from '@bloomery/packets/capture';
import { Collector, type CollectorStatus, DigestService } from '@bloomery/packets/traceback';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { feedCapture } from '../captures/feed-capture.ts';
import { parseBytes, parseCount, parseDuration, withExamples, withJson } from '../command-options.ts';
import { inputsOf } from '../keys/input.ts';
import { formatCount } from '../terminal/format-values.ts';
import { holdSignals } from '../terminal/orderly-end.ts';
import { writeJson, writeLine } from '../terminal/standard-output.ts';
import { warn } from '../terminal/warning.ts';
import { collectorKey, collectorToken } from '../tracing/collector-files.ts';
import { UsageError } from '../usage-error.ts';

interface DigestdOptions {
  readonly dir: string;
  readonly listen: { readonly host: string; readonly port: number };
  readonly tokenFile?: string;
  readonly payload: number;
  readonly bits: number;
  readonly table?: number;
  readonly span?: number;
  readonly keep?: number;
  readonly space?: number;
  readonly tunnels: readonly Tunnel[];
  readonly changes?: boolean;
  readonly once?: boolean;
  readonly json?: boolean;
}

const TUNNELS: readonly Tunnel[] = ['gre', 'vxlan', 'ip'];
/**
 * Digests reach the disk this often, so that a kill loses less than a second unless the machine is
 * overloaded: bench/results/traceback.md has kills.
 */
const FLUSH_MS = 200;

export function register(program: Command): void {
  const command = program
    .command('digestd')
    .description('remember which packets passed, and answer whether and when one did')
    .argument('[captures...]', 'pcap or pcapng files; none, or -: standard input, as from tcpdump -w -')
    .requiredOption('--dir <folder>', 'where the tables, the key and the token are kept')
    .addOption(
      new Option('--listen <host:port>', 'where questions come in')
        .argParser(parseListen)
        .default({ host: '127.0.0.1', port: 4780 }, '127.0.0.1:4780'),
    )
    .option('--token-file <file>', 'the token of those who may ask (default: token in the folder)')
    .option('--payload <bytes>', 'bytes of the payload that identify a packet', parseCount(8), 44)
    .option('--bits <n>', 'bits per packet in a full table, from 2 to 32', parseCount(2), 10)
    .option('--table <bytes>', 'size of a table, a power of two (default: 1MiB)', parseBytes)
    .option('--span <time>', 'the longest time that a table covers (default: 60s)', parseDuration)
    .option('--keep <time>', 'discard tables after this time (default: 24h)', parseDuration)
    .option('--space <bytes>', 'discard the oldest tables beyond this size (default: 2GB)', parseBytes)
    .addOption(
      new Option('--tunnels <list>', 'also remember the packets inside gre, vxlan, ip')
        .argParser(parseTunnels)
        .default([], 'none'),
    )
    .option('--changes', 'find packets that this router changed: NAT, fragments')
    .option('--once', 'end after the captures, without questions')
    .addHelpText('after', HELP)
    .action(run);
  withJson(command);
  withExamples(command, [
    ['tcpdump -i any -s 192 -U -w - | bloomery digestd --dir /var/lib/digests', 'a collector on a router'],
    ['bloomery digestd monday.pcap --dir monday', 'questions about a capture'],
    [
      'tcpdump -i any -s 192 -U -w - | bloomery digestd --dir d --tunnels gre,vxlan --changes',
      'on a router with NAT and tunnels',
    ],
  ]);
}

const HELP = `
A packet is remembered as a few bits in a table of the minute in which it passed, under a key of this collector alone. Questions need
the token in DIR/token, and say in which time to look; each answer says how many tables would say yes by chance. docs/guide/traceback.md
explains how routes are found with it, docs/spec/traceback.md the questions. Capture at least 192 bytes of each packet (-s 192), and
switch off GRO and LRO on the router's cards (ethtool -K eth0 gro off), which join packets before they are captured.`;

async function run(paths: string[], options: DigestdOptions): Promise<void> {
  const inputs = inputsOf(paths);
  const key = collectorKey(options.dir);
  const lock = await FolderLock.take(options.dir);
  const held = holdSignals();
  const { payload, bits, table, span, keep, space, tunnels, changes } = options;
  let collector: Collector | undefined;
  let service: DigestService | undefined;
  let timer: NodeJS.Timeout | undefined;
  try {
    collector = Collector.open({
      folder: options.dir,
      key,
      payloadBytes: payload,
      bitsPerDigest: bits,
      ...(table !== undefined && { tableBytes: table }),
      ...(span !== undefined && { spanS: span / 1000 }),
      ...(keep !== undefined && { budgetS: keep / 1000 }),
      ...(space !== undefined && { budgetBytes: space }),
      tunnels,
      changes: changes ?? false,
      warn,
    });
    const own = collector;
    if (!options.once) service = await startService(own, options);
    timer = setInterval(() => own.flush(), FLUSH_MS);
    void own.verify(held.stop);
    for (const input of inputs) await collect(own, input, held.stop);
    own.flush();
    if (service !== undefined && !held.stop.aborted) {
      warn('the capture ended; questions are answered until Ctrl-C');
      await new Promise((resolve) => held.stop.addEventListener('abort', resolve, { once: true }));
    }
  } catch (error) {
    throw error instanceof RangeError ? new UsageError(error.message, { cause: error }) : error;
  } finally {
    clearInterval(timer);
    await service?.close();
    collector?.close();
    lock.release();
  }
  if (options.json) writeJson(collector.status);
  else writeLine(statusText(collector.status));
  held.close();
}

async function startService(collector: Collector, options: DigestdOptions): Promise<DigestService> {
  const { host, port } = options.listen;
  const { token, path } = collectorToken(options.dir, options.tokenFile);
  const nowMs = () => performance.now();
  const service = await DigestService.start({ collector, token, host, port, nowMs, warn });
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${service.port}`;
  if (options.json) writeJson({ listening: url, tokenFile: path });
  else writeLine(`answers questions at ${url}, with the token in ${path}`);
  return service;
}

/** Reads one capture to its end, or to its fault. */
async function collect(
  collector: Collector,
  input: ReturnType<typeof inputsOf>[number],
  stop: AbortSignal,
): Promise<void> {
  const decoder = new CaptureDecoder();
  const batch = new PacketBatch(DEFAULT_BATCH_PACKETS);
  const take = (bytes: Uint8Array) => {
    decoder.push(bytes);
    while (decoder.next(batch)) collector.take(batch);
  };
  try {
    await feedCapture(input, take, () => {}, stop);
    if (!stop.aborted) decoder.end();
  } catch (error) {
    if (!(error instanceof CaptureError)) throw error;
    const name = input.path === '-' ? 'standard input' : input.path;
    warn(`${name}: ${error.message}; the packets before it are remembered`);
  }
}

function statusText({ headers, digested, cut, tables, bytes, discarded }: CollectorStatus): string {
  const lines = [
    `${formatCount(digested)} digests of ${formatCount(headers.packets)} packets in ${formatCount(tables)} closed tables, ${formatCount(bytes)} bytes on disk`,
  ];
  if (cut > 0)
    lines.push(`${formatCount(cut)} packets are not remembered: the capture cut them (tcpdump -s 192)`);
  if (discarded > 0) lines.push(`${formatCount(discarded)} old tables were discarded`);
  return lines.join('\n');
}

function parseListen(text: string): { host: string; port: number } {
  const match = /^(?:\[([0-9a-fA-F:]+)\]|([^:]*)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port > 65_535) {
    throw new InvalidArgumentError('Expected an address and a port such as 127.0.0.1:4780 or [::1]:4780.');
  }
  return { host: match[1] ?? (match[2] || '0.0.0.0'), port };
}

function parseTunnels(text: string): Tunnel[] {
  const names = text.split(',').map((name) => name.trim());
  const isTunnel = (name: string): name is Tunnel => (TUNNELS as readonly string[]).includes(name);
  if (!names.every(isTunnel)) throw new InvalidArgumentError(`Expected some of ${TUNNELS.join(', ')}.`);
  return names as Tunnel[];
}
