/**
 * `npm run bench:queues-real`: the queues under real TCP. iperf3 runs in two network namespaces
 * with our router between them, and the queue in front of its link is the bottleneck. Root, Linux,
 * Perl and iperf3. The load of the machine is printed, because it can add delay to all rows.
 */

import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { SecretKey } from 'bloomery';
import { QUEUE_CHOICES, type QueueName } from '../../packages/packets/src/simulation/queue-choices.ts';
import { RealBottleneck, type RealResult } from '../../packages/packets/test/queues/real-bottleneck.ts';

const { values: options } = parseArgs({
  options: {
    markdown: { type: 'string' },
    seconds: { type: 'string', default: '8' },
    flows: { type: 'string', default: '20' },
  },
});
const SECONDS = Number(options.seconds);
const FLOWS = Number(options.flows);
const WARM_UP_SECONDS = 4;
const BITS = 20e6;
const BUFFER = 100;
const DELAY_MS = 20;
const UDP_RATES = [2e6, 20e6];
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
const loads: number[] = [];
const lines: string[] = [];
for (const ecn of [false, true]) {
  for (const udpBits of UDP_RATES) {
    for (const queue of QUEUES) {
      const { tcp, udp, fairShare, tcpLoss, udpLoss, tcpMarked, delayMs, utilization } = await measure(
        queue,
        udpBits,
        ecn,
      );
      loads.push(loadavg()[0]!);
      const share = udp / fairShare;
      const data = tcp.slice(0, FLOWS);
      const sum = data.reduce((a, b) => a + b, 0);
      const fairness = sum ** 2 / (FLOWS * data.reduce((a, b) => a + b * b, 0));
      const line = cells(
        ecn ? 'on' : 'off',
        udpBits / 1e6,
        queue,
        mbit(udp),
        `${share <= 2 ? '' : '**'}${share.toFixed(2)}${share <= 2 ? '' : '**'}`,
        mbit(tcp.reduce((a, b) => a + b, 0)),
        percent(tcpLoss),
        percent(udpLoss),
        percent(tcpMarked),
        delayMs.mean.toFixed(1),
        delayMs.p99.toFixed(0),
        fairness.toFixed(2),
        percent(utilization),
      );
      lines.push(line);
      console.log(line);
    }
  }
}

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
  ...lines,
  '',
].join('\n');
if (options.markdown !== undefined) writeFileSync(options.markdown, markdown);
else console.log(markdown);
