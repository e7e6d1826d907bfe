/**
 * `npm run bench:console`: what an open console costs a node. One node, from whose memory clients
 * get a small object over and over; rounds with and without three open consoles, in turn. The
 * figure is the CPU time of the node per request (/proc), not the throughput: the clients share the
 * machine with it.
 *
 * With `--other COMMAND`, the same load goes to a node of another build, in turn as well, without
 * consoles: what the counting for the console costs each request.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { availableParallelism, cpus, loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { median } from '../shared/statistics.ts';
import { bareServer, freePort } from './servers.ts';

const HELP = `npm run bench:console -- [options]

  --rounds N         pairs of rounds (15)
  --seconds N        of load in each (2)
  --other COMMAND    the file bloomery.js of another build
  --markdown FILE    write the table
  --help`;

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '15' },
    seconds: { type: 'string', default: '2' },
    other: { type: 'string' },
    markdown: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
const ROUNDS = Number(options.rounds);
const SECONDS = Number(options.seconds);
const CONNECTIONS = 16;
const CONSOLES = 3;
const COMMAND = fileURLToPath(new URL('../../apps/cli/bin/bloomery.js', import.meta.url));
const TICKS_PER_SECOND = 100;

interface BenchNode {
  readonly port: number;
  readonly child: ChildProcess;
}

async function startNode(command: string, origin: string): Promise<BenchNode> {
  const port = await freePort();
  const args = ['cache', '--no-disk', '--log-level', 'error', '--quiet', '--listen', `127.0.0.1:${port}`];
  const child = spawn(process.execPath, [command, ...args, '--upstream', `/=${origin}/`], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  for (let tries = 0; tries < 200; tries++) {
    const isUp = await fetch(`http://127.0.0.1:${port}/n/1`).then(
      (answer) => answer.text().then(() => true),
      () => false,
    );
    if (isUp) return { port, child };
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`Cannot measure: expected a node at port ${port}, got none`);
}

/** CPU time of a process so far, in microseconds. */
function cpuMicros({ child }: BenchNode): number {
  const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return ((Number(fields[11]) + Number(fields[12])) * 1e6) / TICKS_PER_SECOND;
}

/** Keeps connections busy with one request each for a time. Returns the number of answers. */
async function load({ port }: BenchNode): Promise<number> {
  let answers = 0;
  let isOver = false;
  const request = Buffer.from('GET /n/1 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
  const one = (socket: Socket) =>
    new Promise<void>((resolve) => {
      let length = 0;
      let got = 0;
      socket.on('data', (chunk: Buffer) => {
        got += chunk.length;
        if (length === 0) {
          const head = chunk.indexOf('\r\n\r\n');
          length =
            head +
            4 +
            Number(/content-length: *(\d+)/i.exec(chunk.subarray(0, head).toString('latin1'))?.[1]);
        }
        if (got < length) return;
        answers++;
        got = 0;
        // The head of a hit differs in the digits of its age.
        length = 0;
        if (isOver) socket.end();
        else socket.write(request);
      });
      socket.on('close', () => resolve());
      socket.write(request);
    });
  const sockets = Array.from({ length: CONNECTIONS }, () =>
    connect({ host: '127.0.0.1', port, noDelay: true }),
  );
  const done = sockets.map(one);
  await new Promise((resolve) => setTimeout(resolve, SECONDS * 1000));
  isOver = true;
  await Promise.all(done);
  return answers;
}

/** Opens consoles, which read. Returns a function that closes them. */
async function openConsoles({ port }: BenchNode, count: number): Promise<() => void> {
  const streams = await Promise.all(
    Array.from(
      { length: count },
      () =>
        new Promise<IncomingMessage>((resolve, reject) => {
          get({ host: '127.0.0.1', port, path: '/.bloomery/events', agent: false }, (stream) => {
            stream.on('error', () => {});
            stream.resume();
            if (stream.statusCode === 200) resolve(stream);
            else reject(new Error(`Cannot open a console: expected 200, got ${stream.statusCode}`));
          }).on('error', reject);
        }),
    ),
  );
  return () => {
    for (const stream of streams) stream.destroy();
  };
}

/** CPU time per request of one round, in microseconds. */
async function round(node: BenchNode, consoles: number): Promise<number> {
  const close = await openConsoles(node, consoles);
  try {
    const before = cpuMicros(node);
    const answers = await load(node);
    return (cpuMicros(node) - before) / answers;
  } finally {
    close();
  }
}

/** The median of ratios, and the order statistics around it that hold it in 95 % of all cases. */
function ratioOf(
  these: readonly number[],
  those: readonly number[],
): { median: number; low: number; high: number } {
  const ratios = these.map((value, i) => value / those[i]!).sort((a, b) => a - b);
  const off = Math.max(0, Math.floor((ratios.length - 1.96 * Math.sqrt(ratios.length)) / 2));
  return { median: median(ratios), low: ratios[off]!, high: ratios[ratios.length - 1 - off]! };
}

async function main(): Promise<void> {
  if (options.help) {
    console.log(HELP);
    return;
  }
  const origin = await bareServer('origin');
  const node = await startNode(COMMAND, origin.url);
  const other = options.other === undefined ? null : await startNode(options.other, origin.url);
  const [without, open, before]: number[][] = [[], [], []];
  const loads = [loadavg()[0]!];
  try {
    for (const each of other === null ? [node] : [node, other]) for (let i = 0; i < 2; i++) await load(each);
    for (let i = 0; i < ROUNDS; i++) {
      // In turn, and each pair in the other order, so that a drift of the machine favours none.
      const pair = [
        () => round(node, 0).then((us) => without!.push(us)),
        () => round(node, CONSOLES).then((us) => open!.push(us)),
      ];
      for (const run of i % 2 === 0 ? pair : pair.reverse()) await run();
      if (other !== null) before!.push(await round(other, 0));
      loads.push(loadavg()[0]!);
      process.stderr.write(
        `round ${i + 1} of ${ROUNDS}: ${without!.at(-1)!.toFixed(1)} and ${open!.at(-1)!.toFixed(1)} us\n`,
      );
    }
  } finally {
    node.child.kill();
    other?.child.kill();
    await origin.stop();
  }
  const row = (name: string, times: readonly number[], to: readonly number[]) => {
    const { median: middle, low, high } = ratioOf(times, to);
    return `| ${name} | ${median(times).toFixed(1)} | ${middle.toFixed(3)} | ${low.toFixed(3)} to ${high.toFixed(3)} |`;
  };
  const text = [
    '# What an open console costs',
    '',
    `Made by \`npm run bench:console\`: ${ROUNDS} rounds of ${SECONDS} s in turn, ${CONNECTIONS} connections, plain hits of 200 bytes from memory, by one`,
    `process. CPU time of the node per request; ratios are medians of rounds, with 95 % of their order statistics.`,
    `${cpus()[0]?.model ?? 'unknown processor'}, ${availableParallelism()} cores, Node ${process.version}, load ${Math.min(...loads).toFixed(1)} to ${Math.max(...loads).toFixed(1)}.`,
    '',
    '| | µs per request | ratio | interval |',
    '|---|---:|---:|---:|',
    row('no console', without!, without!),
    row(`${CONSOLES} open consoles`, open!, without!),
    ...(other === null ? [] : [row('the other build, no console', before!, without!)]),
  ].join('\n');
  console.log(text);
  if (options.markdown !== undefined) writeFileSync(options.markdown, `${text}\n`);
}

await main();
