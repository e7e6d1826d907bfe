/**
 * The figures of `bloomery queue` as a table with a legend, and as a plot. Both are pure functions
 * of the results.
 */

import type { BottleneckResult, QueueName } from '@bloomery/packets/simulation';
import { formatPairs, formatTable, type Plot, type Series } from '@bloomery/papers/drawing';
import { formatShare } from '../terminal/format-values.ts';

export interface QueueRun {
  readonly queue: QueueName;
  /** Bits per second that the flow sends which does not respond. */
  readonly udpBits: number;
  readonly result: BottleneckResult;
}

interface Column {
  readonly head: string;
  readonly meaning: string;
  cell(result: BottleneckResult): string;
}

const COLUMNS: readonly Column[] = [
  {
    head: 'UDP gets',
    meaning: 'Mbit/s of the flow that does not respond, at the other end of the link',
    cell: ({ udp }) => mbit(udp[0]!),
  },
  {
    head: 'fair parts',
    meaning: 'the same, as a multiple of the bandwidth divided by the number of flows; the aim is at most 2',
    cell: (result) => fairParts(result).toFixed(2),
  },
  {
    head: 'TCP gets',
    meaning: 'Mbit/s of all connections together',
    cell: ({ tcp }) => mbit(tcp.reduce((sum, rate) => sum + rate, 0)),
  },
  {
    head: 'lost',
    meaning: 'packets of TCP that the queue dropped',
    cell: ({ tcpLoss }) => formatShare(tcpLoss),
  },
  {
    head: 'marked',
    meaning: 'packets of TCP that the queue marked instead (--ecn)',
    cell: ({ tcpMarked }) => formatShare(tcpMarked),
  },
  {
    head: 'delay',
    meaning: 'average time in the queue and on the link',
    cell: ({ delayMs }) => `${delayMs.mean.toFixed(1)} ms`,
  },
  {
    head: 'p99',
    meaning: 'the same, which 99 % of the packets do not exceed',
    cell: ({ delayMs }) => `${delayMs.p99.toFixed(1)} ms`,
  },
  {
    head: 'fairness',
    meaning: "Jain's index of the connections: 1 if all got the same",
    cell: ({ fairness }) => fairness.toFixed(2),
  },
  {
    head: 'link',
    meaning: 'share of the bandwidth that was used',
    cell: ({ utilization }) => formatShare(Math.min(1, utilization)),
  },
];

/** The share of the flow that does not respond, in fair parts. */
export function fairParts({ udp, fairShare }: BottleneckResult): number {
  return udp[0]! / fairShare;
}

export function queueTable(runs: readonly QueueRun[]): string {
  const rows = runs.map(({ queue, udpBits, result }) => [
    mbit(udpBits),
    queue,
    ...COLUMNS.map(({ cell }) => cell(result)),
  ]);
  const head = ['UDP sends', 'queue', ...COLUMNS.map((column) => column.head)];
  return formatTable([head, ...rows], { right: [0, ...COLUMNS.map((_, i) => i + 2)] });
}

export function queueLegend(): string {
  return formatPairs(COLUMNS.map(({ head, meaning }) => [head, meaning]));
}

/** The fair parts that the flow gets, over the rate at which it sends. */
export function queuePlot(runs: readonly QueueRun[]): Plot {
  const queues = [...new Set(runs.map(({ queue }) => queue))];
  const rates = [...new Set(runs.map(({ udpBits }) => udpBits / 1e6))].sort((a, b) => a - b);
  const shares = runs.map(({ result }) => fairParts(result));
  const [low, high] = [Math.min(LEAST_SHARE, ...shares), Math.max(10, ...shares)];
  return {
    title: 'What a flow gets that does not respond',
    x: {
      label: 'Mbit/s that it sends',
      scale: rates.length > 1 ? 'log' : 'linear',
      from: rates[0]!,
      to: rates.at(-1)!,
      ticks: rates,
    },
    y: {
      label: 'fair parts that it gets',
      scale: 'log',
      from: Math.max(1e-3, low),
      to: high,
      ticks: [0.001, 0.01, 0.1, 1, 2, 10, 100, 1000].filter((tick) => tick >= low && tick <= high),
    },
    series: queues.map(
      (queue, i): Series => ({
        name: queue,
        kind: rates.length === 1 ? 'dots' : i < COLOURS ? 'line' : 'dashed',
        colour: (i % COLOURS) as Series['colour'],
        points: runs
          .filter((run) => run.queue === queue)
          .map(({ udpBits, result }) => [udpBits / 1e6, Math.max(1e-3, fairParts(result))] as const),
      }),
    ),
  };
}

function mbit(bits: number): string {
  return (bits / 1e6).toFixed(2);
}

const LEAST_SHARE = 0.5;
/** A plot has five colours. */
const COLOURS = 5;
