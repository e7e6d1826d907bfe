/**
 * `npm run bench:queues`: a flow that does not respond beside TCP on a simulated link of 45 Mbit/s
 * with a buffer of 200 packets, for each queue discipline, over loads and seeds. The figures do not
 * depend on the machine. `--json` writes them for the pictures (queues-figures), `--markdown` the
 * tables. `--load many`, `--ecn on` and `--queue fair` run a part, and keep the rows that the
 * JSON file has already.
 */

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { levelsMisclassified } from '../../packages/packets/dist/queues/index.js';
import {
  type BottleneckResult,
  QUEUE_CHOICES,
  type QueueName,
  simulateBottleneck,
} from '../../packages/packets/dist/simulation/index.js';

const { values: options } = parseArgs({
  options: {
    markdown: { type: 'string' },
    json: { type: 'string' },
    load: { type: 'string' },
    ecn: { type: 'string' },
    queue: { type: 'string' },
    seeds: { type: 'string', default: '2' },
    seconds: { type: 'string', default: '20' },
  },
});
const SEEDS = Number(options.seeds);
const SECONDS = Number(options.seconds);
const WARM_UP_SECONDS = 10;
const BUFFER = 200;
const BITS = 45e6;
const UDP_RATES = [1e6, 2e6, 10e6, 45e6];
const LOADS = [
  { name: 'many: 400 connections, round trips of 20 to 100 ms', flows: 400, rttMs: [20, 100] },
  { name: 'light: 100 connections, round trips of 100 to 300 ms', flows: 100, rttMs: [100, 300] },
  { name: 'few: 20 connections, round trips of 20 to 100 ms', flows: 20, rttMs: [20, 100] },
] as const;
const QUEUES = Object.keys(QUEUE_CHOICES) as QueueName[];

/** Means over the seeds, and the deviation of the share. */
interface Row {
  readonly load: string;
  readonly ecn: boolean;
  readonly udpBits: number;
  readonly queue: QueueName;
  readonly share: number;
  readonly shareDeviation: number;
  readonly udp: number;
  readonly tcp: number;
  readonly tcpLoss: number;
  readonly tcpMarked: number;
  readonly delayMs: number;
  readonly delayP99Ms: number;
  readonly fairness: number;
  readonly utilization: number;
}

async function measure(
  queue: QueueName,
  { flows, rttMs }: (typeof LOADS)[number],
  udpBits: number,
  ecn: boolean,
): Promise<BottleneckResult[]> {
  const results: BottleneckResult[] = [];
  for (let seed = 1; seed <= SEEDS; seed++) {
    results.push(
      await simulateBottleneck({
        seed,
        bitsPerSecond: BITS,
        queue: (tools) => QUEUE_CHOICES[queue].make(BUFFER, tools),
        tcp: { flows, rttMs, ecn },
        udpBitsPerSecond: [udpBits],
        seconds: SECONDS,
        warmUpSeconds: WARM_UP_SECONDS,
      }),
    );
  }
  return results;
}

function rowOf(
  place: Pick<Row, 'load' | 'ecn' | 'udpBits' | 'queue'>,
  results: readonly BottleneckResult[],
): Row {
  const mean = (of: (result: BottleneckResult) => number) =>
    results.reduce((sum, result) => sum + of(result), 0) / results.length;
  const shareOf = ({ udp, fairShare }: BottleneckResult) => udp[0] / fairShare;
  const share = mean(shareOf);
  const variance = mean((result) => (shareOf(result) - share) ** 2) * (results.length / (results.length - 1));
  return {
    ...place,
    share,
    shareDeviation: Math.sqrt(variance),
    udp: mean(({ udp }) => udp[0]),
    tcp: mean(({ tcp }) => tcp.reduce((a, b) => a + b, 0)),
    tcpLoss: mean(({ tcpLoss }) => tcpLoss),
    tcpMarked: mean(({ tcpMarked }) => tcpMarked),
    delayMs: mean(({ delayMs }) => delayMs.mean),
    delayP99Ms: mean(({ delayMs }) => delayMs.p99),
    fairness: mean(({ fairness }) => fairness),
    utilization: mean(({ utilization }) => utilization),
  };
}

const asked = LOADS.filter(({ name }) => options.load === undefined || name.startsWith(options.load));
const earlier: Row[] =
  options.json !== undefined && existsSync(options.json)
    ? JSON.parse(readFileSync(options.json, 'utf8'))
    : [];
const ecns = [false, true].filter((ecn) => options.ecn === undefined || ecn === (options.ecn === 'on'));
const queues =
  options.queue === undefined ? QUEUES : QUEUES.filter((name) => options.queue?.split(',').includes(name));
const isAsked = ({ load, ecn, queue }: Row) =>
  ecns.includes(ecn) && queues.includes(queue) && asked.some(({ name }) => name === load);
const rows = earlier.filter((row) => !isAsked(row));
for (const ecn of ecns) {
  for (const load of asked) {
    for (const udpBits of UDP_RATES) {
      for (const queue of queues) {
        const row = rowOf({ load: load.name, ecn, udpBits, queue }, await measure(queue, load, udpBits, ecn));
        rows.push(row);
        console.log(
          `${load.flows} flows, UDP ${udpBits / 1e6} Mbit/s, ECN ${ecn ? 'on' : 'off'}, ${queue}: ${row.share.toFixed(2)} fair parts`,
        );
      }
    }
  }
}

const placeOf = ({ load, ecn, udpBits, queue }: Row) =>
  [Number(ecn), LOADS.findIndex(({ name }) => name === load), udpBits, QUEUES.indexOf(queue)] as const;
rows.sort((a, b) => {
  const [x, y] = [placeOf(a), placeOf(b)];
  return x[0] - y[0] || x[1] - y[1] || x[2] - y[2] || x[3] - y[3];
});

const cells = (...row: (string | number)[]) => `| ${row.join(' | ')} |`;
const percent = (share: number) => `${(100 * share).toFixed(1)} %`;
const mbit = (bits: number) => (bits / 1e6).toFixed(2);

function tableOf(load: string, ecn: boolean): string[] {
  return [
    `### ${load}, ECN ${ecn ? 'on' : 'off'}`,
    '',
    cells(
      'UDP sends, Mbit/s',
      'queue',
      'UDP gets',
      'fair parts',
      'TCP gets',
      'TCP loss',
      'marked',
      'delay, ms',
      'p99',
      'fairness',
      'link used',
    ),
    '|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|',
    ...rows
      .filter((row) => row.load === load && row.ecn === ecn)
      .map((row) =>
        cells(
          row.udpBits / 1e6,
          row.queue,
          mbit(row.udp),
          `${row.share <= 2 ? '' : '**'}${row.share.toFixed(2)}${row.share <= 2 ? '' : '**'} ± ${row.shareDeviation.toFixed(2)}`,
          mbit(row.tcp),
          percent(row.tcpLoss),
          percent(row.tcpMarked),
          row.delayMs.toFixed(1),
          row.delayP99Ms.toFixed(0),
          row.fairness.toFixed(2),
          percent(row.utilization),
        ),
      ),
    '',
  ];
}

const worst = (queue: QueueName) =>
  Math.max(...rows.filter((row) => row.queue === queue).map(({ share }) => share));
const markdown = [
  '# Queues: a flow that does not respond, in simulation',
  '',
  `\`npm run bench:queues\`. A link of 45 Mbit/s, a buffer of ${BUFFER} packets of 1000 bytes, one flow of UDP at a constant rate that does`,
  `not understand marks, and connections of TCP (Reno with SACK). ${SECONDS} s after ${WARM_UP_SECONDS} s, means of ${SEEDS} seeds; ± is the standard deviation`,
  'between seeds. A fair part is the bandwidth divided by the number of flows. More than two fair parts are bold. The figures do not depend',
  'on the machine.',
  '',
  cells('queue', 'what it is', 'worst share, fair parts'),
  '|---|---|---:|',
  ...QUEUES.map((queue) => cells(queue, QUEUE_CHOICES[queue].how, worst(queue).toFixed(2))),
  '',
  ...[false, true].flatMap((ecn) =>
    LOADS.filter(({ name }) => rows.some(({ load }) => load === name)).flatMap(({ name }) =>
      tableOf(name, ecn),
    ),
  ),
  '## A responsive flow that is punished by mistake',
  '',
  'The probability (1-(1-1/N)^M)^L beside M flows that do not respond, L levels of N bins, in percent. The tests compare it with the queue',
  'at 5 sigma.',
  '',
  cells('L × N', 'M = 1', '4', '10', '20'),
  '|---|---:|---:|---:|---:|',
  ...(
    [
      [2, 23],
      [8, 16],
      [4, 64],
      [1, 46],
      [2, 1024],
    ] as const
  ).map(([L, N]) =>
    cells(`${L} × ${N}`, ...[1, 4, 10, 20].map((M) => (100 * levelsMisclassified(L, N, M)).toFixed(4))),
  ),
  '',
].join('\n');
if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(rows, null, 1)}\n`);
if (options.markdown !== undefined) writeFileSync(options.markdown, markdown);
else console.log(markdown);
