/**
 * `bloomery queue`: queue disciplines of a busy link in simulation. One flow that does not respond
 * sends beside connections of TCP, once for each queue and rate, and the table says what it gets.
 * The simulation is `simulateBottleneck` of @bloomery/packets/simulation; this file holds its
 * options and its output.
 */

import {
  type BottleneckResult,
  QUEUE_CHOICES,
  type QueueName,
  simulateBottleneck,
} from '@bloomery/packets/simulation';
import { svgFile, terminalPlot } from '@bloomery/papers/drawing';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { parseCount, withExamples, withForce, withJson } from '../command-options.ts';
import { checkTarget, writeTarget } from '../files/target-file.ts';
import { fairParts, type QueueRun, queueLegend, queuePlot, queueTable } from '../queues/queue-report.ts';
import { startProgress } from '../terminal/progress.ts';
import { writeJson, writeLine } from '../terminal/standard-output.ts';
import { colors, isTerminal, terminalWidth } from '../terminal/terminal.ts';

interface QueueOptions {
  readonly queue: readonly QueueName[];
  readonly link: number;
  readonly buffer: number;
  readonly tcp: number;
  readonly rtt: readonly [shortest: number, longest: number];
  readonly udp: readonly number[];
  readonly ecn?: boolean;
  readonly seconds: number;
  readonly warmUp: number;
  readonly seed: number;
  readonly plot?: string;
  readonly explain?: boolean;
  readonly json?: boolean;
  readonly force?: boolean;
}

const NAMES = Object.keys(QUEUE_CHOICES) as QueueName[];

export function register(program: Command): void {
  const command = program
    .command('queue')
    .description('see what queues do against a flow that does not back off, beside TCP, in simulation')
    .addOption(
      new Option('--queue <list>', `queues with commas between, or all: ${NAMES.join(', ')}`)
        .argParser(parseQueues)
        .default(NAMES, 'all'),
    )
    .option('--link <bits>', 'bandwidth in bits per second, such as 45M', parseCount(1000), 45e6)
    .option('--buffer <packets>', 'packets of 1000 bytes that may wait', parseCount(), 200)
    .option('--tcp <flows>', 'connections that respond, at most 2000', parseFlows, 100)
    .addOption(
      new Option('--rtt <ms>', 'their round-trip times without waiting, such as 50 or 20-100')
        .argParser(parseRange)
        .default([20, 100], '20-100'),
    )
    .addOption(
      new Option('--udp <list>', 'bits per second of the flow that does not respond, one run for each')
        .argParser(parseRates)
        .default([1e6, 2e6, 10e6, 45e6], '1M,2M,10M,45M'),
    )
    .option('--ecn', 'connections understand marks, so packets are marked instead of dropped')
    .option('--seconds <n>', 'virtual time that is measured', parseCount(), 20)
    .option('--warm-up <n>', 'virtual time before it, in seconds', parseCount(), 10)
    .option('--seed <number>', 'other random numbers', parseCount(0), 1)
    .option('--plot <file>', 'write a plot as SVG')
    .option('--explain', 'say how each queue works, and what the simulation leaves out')
    .action(run);
  withExamples(withJson(withForce(command, 'the plot if it exists already')), [
    ['bloomery queue', 'six queues, 100 connections, a flow of 1 to 45 Mbit/s'],
    ['bloomery queue --tcp 400 --udp 2M,45M --ecn', 'as many flows as in the paper, with marks'],
    ['bloomery queue --rtt 100-300 --queue sfb-linux,rates --plot light.svg', 'a lightly loaded link'],
    ['bloomery queue --link 1M --buffer 50 --tcp 5 --udp 500k,1M --json', 'a slow uplink, for a script'],
  ]);
}

async function run(options: QueueOptions): Promise<void> {
  if (options.plot !== undefined) checkTarget(options.plot, options);
  const runs = await simulateAll(options);
  if (options.plot !== undefined)
    writeTarget(options.plot, Buffer.from(svgFile(queuePlot(runs))), { force: options.force === true });
  if (options.json) writeJson(reportOf(runs, options));
  else writeReport(runs, options);
}

async function simulateAll(options: QueueOptions): Promise<QueueRun[]> {
  const { queue: queues, udp, json } = options;
  const total = queues.length * udp.length;
  const progress = startProgress({ what: 'simulating', total, unit: 'steps', enabled: !json });
  const runs: QueueRun[] = [];
  try {
    for (const udpBits of udp) {
      for (const queue of queues) {
        runs.push({ queue, udpBits, result: await simulateOne(queue, udpBits, options) });
        progress.advance(1);
      }
    }
  } finally {
    progress.stop();
  }
  return runs;
}

function simulateOne(queue: QueueName, udpBits: number, options: QueueOptions): Promise<BottleneckResult> {
  const { seed, link, buffer, tcp, rtt, ecn = false, seconds, warmUp } = options;
  return simulateBottleneck({
    seed,
    bitsPerSecond: link,
    queue: (tools) => QUEUE_CHOICES[queue].make(buffer, tools),
    tcp: { flows: tcp, rttMs: rtt, ecn },
    udpBitsPerSecond: [udpBits],
    seconds,
    warmUpSeconds: warmUp,
  });
}

function reportOf(runs: readonly QueueRun[], options: QueueOptions) {
  const { link, buffer, tcp, rtt, ecn = false, seconds, warmUp, seed } = options;
  return {
    link: { bitsPerSecond: link, bufferPackets: buffer },
    tcp: { flows: tcp, rttMs: rtt, ecn },
    seconds,
    warmUpSeconds: warmUp,
    seed,
    runs: runs.map(({ queue, udpBits, result }) => ({
      queue,
      udpBitsPerSecond: udpBits,
      fairParts: fairParts(result),
      ...result,
    })),
  };
}

function writeReport(runs: readonly QueueRun[], options: QueueOptions): void {
  const { link, buffer, tcp, rtt, ecn, seconds, warmUp, queue, explain } = options;
  writeLine(
    `${link / 1e6} Mbit/s, ${buffer} packets of buffer; ${tcp} connections of TCP, round trips of ${rtt[0]} to ${rtt[1]} ms, ECN ${ecn ? 'on' : 'off'}; ${seconds} s after ${warmUp} s`,
  );
  if (explain) writeLine(`\n${explanation(queue)}`);
  writeLine(`\n${queueTable(runs)}\n`);
  writeLine(colors(1).dim(queueLegend()));
  if (!isTerminal(1)) return;
  const plot = terminalPlot(queuePlot(runs), { colors: colors(1), width: terminalWidth(), height: 16 });
  if (plot !== '') writeLine(`\n${plot}`);
}

function explanation(queues: readonly QueueName[]): string {
  return [
    ...queues.map((name) => `${name}: ${QUEUE_CHOICES[name].how}`),
    '',
    'TCP is Reno with selective acknowledgements and timeouts, in packets of 1000 bytes; UDP sends at a constant',
    'rate and never backs off. Left out: other versions of TCP, delayed and lost acknowledgements, several',
    'bottlenecks in a row. All queues see the same round-trip times and starts, and the same seed gives the same',
    'figures. bench/results/queues-real.md has real TCP.',
  ].join('\n');
}

function parseQueues(text: string): QueueName[] {
  if (text === 'all') return NAMES;
  const names = text.split(',').map((name) => name.trim());
  const unknown = names.find((name) => !(NAMES as string[]).includes(name));
  if (unknown !== undefined)
    throw new InvalidArgumentError(`Expected queues of ${NAMES.join(', ')}, or all.`);
  return [...new Set(names)] as QueueName[];
}

function parseFlows(text: string): number {
  const flows = parseCount(0)(text);
  if (flows > MOST_FLOWS) throw new InvalidArgumentError(`Expected at most ${MOST_FLOWS} flows.`);
  return flows;
}

function parseRates(text: string): number[] {
  const rates = text.split(',').map((part) => parseCount(1000)(part.trim()));
  return [...new Set(rates)].sort((a, b) => a - b);
}

function parseRange(text: string): [number, number] {
  const match = /^(\d+(?:\.\d+)?)(?:-(\d+(?:\.\d+)?))?$/.exec(text.trim());
  const [shortest, longest] = [Number(match?.[1]), Number(match?.[2] ?? match?.[1])];
  if (!(shortest > 0 && longest >= shortest && longest <= 10_000))
    throw new InvalidArgumentError('Expected times in milliseconds such as 50 or 20-100, at most 10000.');
  return [shortest, longest];
}

const MOST_FLOWS = 2000;
