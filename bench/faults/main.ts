/**
 * `npm run faults`: a fleet of three in network namespaces under every fault, as a soak of some
 * minutes or until so many answers were checked. It needs root, `ip`, `tc`, `nft`, for NATS the
 * program `nats-server`, and the command as it was built.
 */

import { appendFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { whyNoNetwork } from '../../packages/testkit/src/network/virtual-network.ts';
import { COMMAND } from '../cooperation/bench-fleet.ts';
import { renderFaults } from './fault-report.ts';
import { runFaults } from './fault-run.ts';

const HELP = `npm run faults -- [options]

  --transport NAME   http or nats: the way of the summaries (nats)
  --minutes N        a soak: every fault once a minute, for this time
  --answers N        until this many answers were checked
  --rate N           requests in a second (as many as come)
  --clients N        clients that ask at one time (12)
  --hold MS          how long each fault lasts (2000)
  --partition MS     how long the partition lasts (17000)
  --log FILE         events as lines of JSON, written as they come
  --report FILE      the report, in Markdown (standard output)
  --help

SIGINT and SIGTERM end the run after the fault that is under way, with a report of the figures so far.`;

const { values: options } = parseArgs({
  options: {
    transport: { type: 'string', default: 'nats' },
    minutes: { type: 'string' },
    answers: { type: 'string' },
    rate: { type: 'string' },
    clients: { type: 'string', default: '12' },
    hold: { type: 'string', default: '2000' },
    partition: { type: 'string', default: '17000' },
    log: { type: 'string' },
    report: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

async function main(): Promise<void> {
  const { transport, log, report } = options;
  if (options.help) {
    console.log(HELP);
    return;
  }
  const why = whyNoNetwork();
  if (why !== null) throw new Error(`Cannot make faults: expected a network of namespaces, got: ${why}`);
  if (transport !== 'http' && transport !== 'nats')
    throw new RangeError(`Cannot start a fleet: expected the transport http or nats, got ${transport}`);
  if (options.minutes === undefined && options.answers === undefined)
    throw new RangeError('Cannot make faults: expected --minutes or --answers, got neither');
  const ending = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => ending.abort());
  const number = (text: string | undefined) => (text === undefined ? undefined : Number(text));
  const result = await runFaults({
    transport,
    minutes: number(options.minutes),
    answers: number(options.answers),
    perSecond: number(options.rate),
    clients: Number(options.clients),
    holdMs: Number(options.hold),
    partitionMs: Number(options.partition),
    signal: ending.signal,
    program: (file) => [COMMAND, 'cache', '--config', file],
    tell: (event) => {
      const line = `${JSON.stringify({ time: new Date().toISOString(), ...event })}\n`;
      if (log === undefined) process.stderr.write(line);
      else appendFileSync(log, line);
    },
  });
  const text = renderFaults(result);
  if (report === undefined) process.stdout.write(text);
  else writeFileSync(report, text);
  const { wrongAnswers, failures, problems } = result;
  process.exitCode = wrongAnswers === 0 && failures === 0 && problems.length === 0 ? 0 : 1;
}

await main();
// Sockets whose namespace is gone are never told of their end, and would keep the process.
process.exit();
