/**
 * `npm run bench:cache`: the HTTP cache beside Squid and beside a bare Node `http` server that
 * sends the same bytes from memory, in one run. Rounds in turn, medians of ratios: the machine may
 * be shared. Every server has one process; wrk has another core.
 */

import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { needPrograms } from '../shared/need-programs.ts';
import { median, medianRatio } from '../shared/statistics.ts';
import { bareServer, bloomeryNode, ONE_CONNECTION, type RunningServer, squid } from './servers.ts';
import { type Load, type LoadOptions, load } from './wrk.ts';

const HELP = `npm run bench:cache -- [options]

  --rounds N         rounds (7)
  --seconds N        of load in each (4)
  --objects LIST     sizes for the cost of a request (1000,10000,100000,1000000); none: leave it out
  --quick            3 rounds of 2 seconds, objects to 10000
  --markdown FILE    write the tables
  --help`;

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    objects: { type: 'string' },
    quick: { type: 'boolean', default: false },
    markdown: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
const ROUNDS = Number(options.rounds ?? (options.quick ? 3 : 7));
const SECONDS = Number(options.seconds ?? (options.quick ? 2 : 4));
const OBJECTS = (options.objects ?? (options.quick ? '1000,10000' : '1000,10000,100000,1000000'))
  .split(',')
  .map(Number)
  .filter((count) => count > 0);
const RANDOM_PATH = fileURLToPath(new URL('./random-path.lua', import.meta.url));

async function main(): Promise<void> {
  if (options.help) {
    console.log(HELP);
    return;
  }
  needPrograms(['wrk', 'squid'], 'wrk squid');
  const origin = await bareServer('origin');
  const lines = [
    '# The cache beside Squid and a bare Node server',
    '',
    `Made by \`npm run bench:cache${options.quick ? ' -- --quick' : ''}\`: ${ROUNDS} rounds of ${SECONDS} s in turn, wrk with one thread; medians. Ratios are to the bare`,
    `Node \`http\` server of the same round. One process a server. ${cpus()[0]?.model ?? 'unknown processor'}, ${availableParallelism()} cores, Node ${process.version}, ${squidVersion()}.`,
    '',
  ];
  try {
    const memory = '1GB';
    const inMemory = () => [
      bareServer(),
      bloomeryNode({ origin: origin.url, memory }),
      squid({ origin: origin.url, memory: '1000 MB', disk: false }),
    ];
    const small = await compare(inMemory(), '/10k', { connections: 32, seconds: SECONDS });
    lines.push(...table('10 KB from memory, 32 connections', small));
    const large = await compare(inMemory(), '/50m', { connections: 4, seconds: SECONDS });
    lines.push(...table('50 MB from memory, 4 connections', large));
    const onDisk = [
      bareServer(),
      bloomeryNode({ origin: origin.url, memory: '8MB', diskSize: '2GB' }),
      squid({ origin: origin.url, memory: '8 MB', disk: true }),
    ];
    const disk = await compare(onDisk, '/50m', { connections: 4, seconds: SECONDS });
    lines.push(...table('50 MB from disk (in the page cache of the system), 4 connections', disk));
    lines.push(...verdicts(small, large, disk));
    if (OBJECTS.length > 0) lines.push(...(await costByObjects(origin)));
  } finally {
    await origin.stop();
  }
  const text = lines.join('\n');
  console.log(text);
  if (options.markdown !== undefined) writeFileSync(options.markdown, `${text}\n`);
}

interface Contender {
  readonly name: string;
  readonly loads: Load[];
}

/** Loads the servers in turn, round after round; the first is the yardstick. */
async function compare(
  starting: Promise<RunningServer>[],
  path: string,
  how: LoadOptions,
): Promise<Contender[]> {
  const servers = await allOrNone(starting);
  try {
    const contenders = servers.map(({ name }) => ({ name, loads: [] as Load[] }));
    // Twice: a cache may keep only what was asked for before.
    for (const { url } of servers) {
      for (let i = 0; i < 3; i++)
        await fetch(url + path, ONE_CONNECTION).then((answer) => answer.arrayBuffer());
      await load(url + path, { ...how, seconds: 1 });
    }
    for (let round = 0; round < ROUNDS; round++) {
      for (const [i, { url, name }] of servers.entries()) {
        process.stderr.write(`${path} round ${round + 1}: ${name}\n`);
        contenders[i]!.loads.push(await load(url + path, how));
      }
    }
    return contenders;
  } finally {
    for (const server of servers) await server.stop();
  }
}

/** If one does not start, the others end. */
async function allOrNone(starting: Promise<RunningServer>[]): Promise<RunningServer[]> {
  const started = await Promise.allSettled(starting);
  const servers = started.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const failed = started.find((one) => one.status === 'rejected');
  if (failed === undefined) return servers;
  for (const server of servers) await server.stop();
  throw failed.reason;
}

function ratioOf(contender: Contender, yardstick: Contender): number {
  return medianRatio(
    contender.loads.map(({ requestsPerSecond }) => requestsPerSecond),
    yardstick.loads.map(({ requestsPerSecond }) => requestsPerSecond),
  );
}

function table(title: string, contenders: readonly Contender[]): string[] {
  const of = (loads: readonly Load[], pick: (load: Load) => number) => median(loads.map(pick));
  return [
    `## ${title}`,
    '',
    '| | requests a second | MB a second | ratio | p50 ms | p99 ms | errors |',
    '|---|---:|---:|---:|---:|---:|---:|',
    ...contenders.map((contender) => {
      const { name, loads } = contender;
      const cells = [
        of(loads, (load) => load.requestsPerSecond).toFixed(0),
        (of(loads, (load) => load.bytesPerSecond) / 1e6).toFixed(0),
        ratioOf(contender, contenders[0]!).toFixed(2),
        of(loads, (load) => load.p50Ms).toFixed(2),
        of(loads, (load) => load.p99Ms).toFixed(2),
        String(loads.reduce((sum, { errors }) => sum + errors, 0)),
      ];
      return `| ${name} | ${cells.join(' | ')} |`;
    }),
    '',
  ];
}

function verdicts(small: Contender[], large: Contender[], disk: Contender[]): string[] {
  const [bare, ours, theirs] = small;
  const ratio = (contenders: Contender[]) => ratioOf(contenders[1]!, contenders[0]!);
  const p99 = (contender: Contender) => median(contender.loads.map((load) => load.p99Ms));
  const rows: [string, number, number, boolean][] = [
    ['10 KB from memory, ratio', ratioOf(ours!, bare!), 0.8, ratioOf(ours!, bare!) >= 0.8],
    [
      "10 KB from memory, p99 in ms, not worse than Squid's",
      p99(ours!),
      p99(theirs!),
      p99(ours!) <= p99(theirs!),
    ],
    ['50 MB from memory, ratio', ratio(large), 0.9, ratio(large) >= 0.9],
    ['50 MB from disk, ratio', ratio(disk), 0.5, ratio(disk) >= 0.5],
  ];
  return [
    '## Targets',
    '',
    '| target | measured | wanted | |',
    '|---|---:|---:|---|',
    ...rows.map(
      ([what, measured, wanted, met]) =>
        `| ${what} | ${measured.toFixed(2)} | ${wanted.toFixed(2)} | ${met ? 'met' : 'NOT MET'} |`,
    ),
    '',
  ];
}

/**
 * Random hits among more and more objects of two hundred bytes; the bare server beside it in each
 * round.
 */
async function costByObjects(origin: RunningServer): Promise<string[]> {
  const rows: string[] = [];
  let first: number | undefined;
  for (const count of OBJECTS) {
    const bare = await bareServer();
    const node = await bloomeryNode({ origin: origin.url, memory: '4GB' });
    try {
      await fill(node, count);
      const how = {
        connections: 32,
        seconds: SECONDS,
        script: RANDOM_PATH,
        scriptArguments: [String(count)],
      };
      const bareLoads: number[] = [];
      const nodeLoads: number[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        bareLoads.push((await load(bare.url, how)).requestsPerSecond);
        nodeLoads.push((await load(node.url, how)).requestsPerSecond);
      }
      const ratio = medianRatio(nodeLoads, bareLoads);
      first ??= ratio;
      const microseconds = 1e6 / median(nodeLoads);
      const cells = [
        median(nodeLoads).toFixed(0),
        microseconds.toFixed(1),
        ratio.toFixed(2),
        (ratio / first).toFixed(2),
      ];
      const resident = memoryOf(node.pid);
      rows.push(`| ${count.toLocaleString('en')} | ${cells.join(' | ')} | ${resident} |`);
    } finally {
      await node.stop();
      await bare.stop();
    }
  }
  return [
    '## The cost of a request by the number of objects',
    '',
    'Random hits in memory, 200 bytes each. The last but one column is the ratio beside that of the fewest objects: 1 is flat.',
    '',
    '| objects | requests a second | µs a request | ratio to bare | of the first | MB resident |',
    '|---:|---:|---:|---:|---:|---:|',
    ...rows,
    '',
  ];
}

/** Asks for each object, until all are there. */
async function fill(node: RunningServer, count: number): Promise<void> {
  const { port, hostname } = new URL(node.url);
  const { Agent, request } = await import('node:http');
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  let next = 0;
  const one = () =>
    new Promise<void>((resolve, reject) => {
      request({ hostname, port, agent, path: `/n/${next++}` }, (response) => {
        response.resume().once('end', resolve).once('error', reject);
      })
        .once('error', reject)
        .end();
    });
  const worker = async () => {
    while (next < count) await one();
  };
  await Promise.all(Array.from({ length: 64 }, worker));
  agent.destroy();
}

function memoryOf(pid: number): string {
  try {
    const kilobytes = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return String(Math.round(Number(kilobytes) / 1024));
  } catch {
    return '?';
  }
}

function squidVersion(): string {
  const { stdout } = spawnSync('squid', ['-v'], { encoding: 'utf8' });
  return /Squid Cache: Version (\S+)/.exec(stdout ?? '')?.[1]?.replace(/^/, 'Squid ') ?? 'no Squid';
}

await main();
