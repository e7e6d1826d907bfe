/**
 * `npm run bench:queues-bins`: stochastic fair Blue on the lightly loaded link, over numbers of
 * bins, sizes of a bin and steps. It is the search for parameters that hold a steady flow of 2
 * Mbit/s, and its result is that there are none.
 */

import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { SfbQueue } from '../../packages/packets/dist/queues/index.js';
import { simulateBottleneck } from '../../packages/packets/dist/simulation/index.js';

const { values: options } = parseArgs({ options: { markdown: { type: 'string' } } });
const cells = (...row: (string | number)[]) => `| ${row.join(' | ')} |`;

async function rowOf(bins: number, target: number, increment: number): Promise<string> {
  const { udp, fairShare, utilization, tcpLoss, fairness, delayMs } = await simulateBottleneck({
    seed: 1,
    bitsPerSecond: 45e6,
    queue: ({ random, nextKey }) =>
      SfbQueue.linux({
        limitPackets: 200,
        levels: 2,
        bins,
        target,
        max: 200,
        increment,
        decrement: 0.001,
        random,
        nextKey,
      }),
    tcp: { flows: 100, rttMs: [100, 300], ecn: false },
    udpBitsPerSecond: [2e6],
    seconds: 20,
    warmUpSeconds: 10,
  });
  return cells(
    bins,
    target,
    increment,
    (udp[0]! / fairShare).toFixed(2),
    `${(100 * utilization).toFixed(1)} %`,
    `${(100 * tcpLoss).toFixed(1)} %`,
    fairness.toFixed(2),
    delayMs.mean.toFixed(1),
  );
}

const rows: string[] = [];
for (const bins of [23, 256, 1024])
  for (const target of [2, 3, 5, 14])
    for (const increment of [0.005, 0.02]) rows.push(await rowOf(bins, target, increment));
const markdown = [
  '# Stochastic fair Blue on a lightly loaded link',
  '',
  '`npm run bench:queues-bins`. A flow of UDP of 2 Mbit/s beside 100 connections of TCP with round trips of 100 to 300 ms, on 45 Mbit/s with a',
  'buffer of 200 packets. Two levels of bins, a step down of 0.001; 20 s after 10 s, one seed. The figures do not depend on the machine.',
  '',
  cells('bins', 'target', 'step up', 'fair parts', 'link used', 'TCP loss', 'fairness', 'delay, ms'),
  '|---:|---:|---:|---:|---:|---:|---:|---:|',
  ...rows,
  '',
].join('\n');
if (options.markdown !== undefined) writeFileSync(options.markdown, markdown);
console.log(markdown);
