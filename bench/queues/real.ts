/**
 * `npm run bench:queues-real`: the queues under real TCP. iperf3 runs in two network namespaces
 * with our router between them, and the queue in front of its link is the bottleneck. Root, Linux,
 * Perl and iperf3. The load of the machine is printed, because it can add delay to all rows.
 * `--ecn on`, `--udp 2M` and `--queue red` run a part, and keep the rows that the JSON file has
 * already.
 */

import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { SecretKey } from 'bloomery';
import { QUEUE_CHOICES, type QueueName } from '../../packages/packets/src/simulation/queue-choices.ts';
import { RealBottleneck, type RealResult } from '../../packages/packets/test/queues/real-bottleneck.ts';

const { values: options } = parseArgs({
  options: {
    markdown: { type: 'string' },
    json: { type: 'string' },
    ecn: { type: 'string' },
    udp: { type: 'string' },
    queue: { type: 'string' },
    seconds: { type: 'string', default: '6' },
    flows: { type: 'string', default: '20' },
  },
});
const SECONDS = Number(options.seconds);
const FLOWS = Number(options.flows);
const WARM_UP_SECONDS = 3;
const BITS = 20e6;
const BUFFER = 100;
const DELAY_MS = 20;
const UDP_RATES = [1e6, 2e6, 5e6, 20e6];
const QUEUES = Object.keys(QUEUE_CHOICES) as QueueName[];

async function measure(queue: QueueName, udpBits: number, ecn: boolean): Promise<RealResult> {
  const tools = {
    random: Math.random,
    nextKey: () => new SecretKey(randomBytes(16)),
    packetMs: (8000 * 1400) / BITS,
  };
  await using line = await RealBottleneck.start({
    queue: QUEUE_CHOICES[queue].make(BUFFER, tools),
    bitsPerSecond: BITS,
    delayMs: DELAY_MS,
    ecn,
  });
  return await line.load({
    tcpFlows: FLOWS,
    udpBitsPerSecond: udpBits,
    seconds: SECONDS,
    warmUpSeconds: WARM_UP_SECONDS,
  });
}

const cells = (...row: (string | number)[]) => `| ${row.join(' | ')} |`;
const percent = (share: number) => `${(100 * share).toFixed(1)} %`;
const mbit = (bits: number) => (bits / 1e6).toFixed(2);

/** Figures of one run. Rates are bits per second. */
interface Row {
  readonly ecn: boolean;
  readonly udpBits: number;
  readonly queue: QueueName;
  readonly share: number;
  readonly udp: number;
  readonly tcp: number;
  readonly tcpLoss: number;
  readonly udpLoss: number;
  readonly tcpMarked: number;
  readonly delayMs: number;
  readonly delayP99Ms: number;
  readonly fairness: number;
  readonly utilization: number;
  /** Load of the machine in the minute before. */
  readonly load: number;
}

function rowOf(queue: QueueName, udpBits: number, ecn: boolean, result: RealResult): Row {
  const { tcp, udp, fairShare, delayMs, tcpLoss, udpLoss, tcpMarked, utilization } = result;
  const data = tcp.slice(0, FLOWS);
  const sum = data.reduce((a, b) => a + b, 0);
  return {
    ecn,
    udpBits,
    queue,
    share: udp / fairShare,
    udp,
    tcp: tcp.reduce((a, b) => a + b, 0),
    tcpLoss,
    udpLoss,
    tcpMarked,
    delayMs: delayMs.mean,
    delayP99Ms: delayMs.p99,
    fairness: sum ** 2 / (FLOWS * data.reduce((a, b) => a + b * b, 0)),
    utilization,
    load: loadavg()[0]!,
  };
}

function lineOf(row: Row): string {
  const bold = row.share <= 2 ? '' : '**';
  return cells(
    row.ecn ? 'on' : 'off',
    row.udpBits / 1e6,
    row.queue,
    mbit(row.udp),
    `${bold}${row.share.toFixed(2)}${bold}`,
    mbit(row.tcp),
    percent(row.tcpLoss),
    percent(row.udpLoss),
    percent(row.tcpMarked),
    row.delayMs.toFixed(1),
    row.delayP99Ms.toFixed(0),
    row.fairness.toFixed(2),
    percent(row.utilization),
  );
}

const rows: Row[] =
  options.json !== undefined && existsSync(options.json)
    ? (JSON.parse(readFileSync(options.json, 'utf8')) as Row[])
    : [];
for (const ecn of [false, true]) {
  if (options.ecn !== undefined && options.ecn !== (ecn ? 'on' : 'off')) continue;
  for (const udpBits of UDP_RATES) {
    if (options.udp !== undefined && options.udp !== `${udpBits / 1e6}M`) continue;
    for (const queue of QUEUES) {
      if (options.queue !== undefined && options.queue !== queue) continue;
      const row = rowOf(queue, udpBits, ecn, await measure(queue, udpBits, ecn));
      const before = rows.findIndex(
        (one) => one.ecn === ecn && one.udpBits === udpBits && one.queue === queue,
      );
      rows.splice(before < 0 ? rows.length : before, before < 0 ? 0 : 1, row);
      console.log(lineOf(row));
      if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(rows, null, 1)}\n`);
    }
  }
}
const order = (row: Row) => [Number(row.ecn), row.udpBits, QUEUES.indexOf(row.queue)] as const;
rows.sort((a, b) => {
  const [x, y] = [order(a), order(b)];
  return x[0] - y[0] || x[1] - y[1] || x[2] - y[2];
});
const loads = rows.map(({ load }) => load);

const markdown = [
  '# Queues under real TCP',
  '',
  `\`npm run bench:queues-real\`. ${FLOWS} connections of iperf3 (the kernel's TCP) and one flow of UDP at a constant rate, through our router on`,
  `TUN devices: ${BITS / 1e6} Mbit/s, a buffer of ${BUFFER} packets of 1400 bytes, ${2 * DELAY_MS} ms of round trip. ${SECONDS} s after ${WARM_UP_SECONDS} s, one round for each row. The`,
  `load of the machine was ${Math.min(...loads).toFixed(1)} to ${Math.max(...loads).toFixed(1)} on 2 cores. A fair part is the bandwidth divided by the number of flows; more than two are`,
  'bold. Delay is the time in the queue.',
  '',
  cells(
    'ECN',
    'UDP sends, Mbit/s',
    'queue',
    'UDP gets',
    'fair parts',
    'TCP gets',
    'TCP loss',
    'UDP loss',
    'marked',
    'delay, ms',
    'p99',
    'fairness',
    'link used',
  ),
  '|---|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|',
  ...rows.map(lineOf),
  '',
].join('\n');
if (options.markdown !== undefined) writeFileSync(options.markdown, markdown);
else console.log(markdown);
