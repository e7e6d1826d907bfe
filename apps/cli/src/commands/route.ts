/**
 * `route`: a network that finds the nearest copy of a key by filters (`@bloomery/overlay`).
 * `simulate` and `compare` are experiments, `run` is a node, and `announce`, `withdraw`, `locate`
 * and `show` ask a node that runs.
 */

import { readFileSync } from 'node:fs';
import type { Located } from '@bloomery/overlay/routing';
import { RouteDaemon } from '@bloomery/overlay/routing/node';
import {
  compareLocation,
  measureRoutes,
  RouteWorld,
  simulateChurn,
  type WorldPicture,
} from '@bloomery/overlay/simulation';
import { type Command, InvalidArgumentError } from 'commander';
import { parseBytes, parseCount, parseRate, withExamples, withForce, withJson } from '../command-options.ts';
import { NOT_FOUND } from '../exit-codes.ts';
import { checkTarget, writeTarget } from '../files/target-file.ts';
import { networkSvg } from '../routing/network-svg.ts';
import { comparisonText, simulationText } from '../routing/route-text.ts';
import { holdSignals } from '../terminal/orderly-end.ts';
import { writeJson, writeLine } from '../terminal/standard-output.ts';
import { warn } from '../terminal/warning.ts';
import { UsageError } from '../usage-error.ts';

export function register(program: Command): void {
  const command = program
    .command('route')
    .description('find the nearest copy of a key in a network: nodes that run, and simulations');
  registerSimulate(command);
  registerCompare(command);
  registerRun(command);
  registerAsk(command);
  registerShow(command);
  withExamples(command, [
    ['bloomery route simulate --nodes 10000', 'how well filters find copies within three hops'],
    ['bloomery route compare --nodes 10,100,1000', 'filters against distributed hashing'],
    ['bloomery route run --id a --nats nats://127.0.0.1:4222 --secret-file secret', 'a node of a network'],
    ['bloomery route locate /layers/7f3a --node http://127.0.0.1:7070', 'which node holds a key'],
  ]);
}

interface SimulateOptions {
  readonly nodes: number;
  readonly degree: number;
  readonly objects: number;
  readonly levels: number;
  readonly state: number;
  readonly replicas: number;
  readonly queries: number;
  readonly seed: number;
  readonly churn?: number;
  readonly svg?: string;
  readonly force?: boolean;
  readonly json?: boolean;
}

function registerSimulate(parent: Command): void {
  const command = parent
    .command('simulate')
    .description('simulate a network that routes by attenuated filters, and measure it')
    .option('--nodes <count>', 'nodes of the network', parseCount(6), 1000)
    .option('--degree <count>', 'neighbours of a node', parseCount(2), 4)
    .option('--objects <count>', 'objects that a node holds', parseCount(), 50)
    .option('--replicas <count>', 'copies of each object', parseCount(), 10)
    .option('--levels <count>', 'hops that filters reach', parseCount(), 3)
    .option('--state <bytes>', 'bytes of filters per node at most', parseBytes, 64 * 1024)
    .option('--queries <count>', 'queries of each kind', parseCount(), 2000)
    .option(
      '--churn <share>',
      'objects that are replaced in a round; nodes and links at a tenth of it',
      parseRate,
    )
    .option('--seed <number>', 'the same seed gives the same run', parseCount(0), 1)
    .option('--svg <file>', 'draw the network with the way of one query')
    .action(simulate);
  withJson(withForce(command));
}

function simulate(options: SimulateOptions): void {
  const {
    nodes,
    degree,
    objects,
    replicas,
    levels,
    state,
    queries,
    seed,
    churn,
    svg,
    force = false,
  } = options;
  if (svg !== undefined) checkTarget(svg, { force });
  const settings = { seed, nodes, degree, objectsPerNode: objects, replicas, levels, stateBytes: state };
  const world = usable(() => new RouteWorld(settings));
  const rates = { objects: churn ?? 0, nodes: (churn ?? 0) / 10, links: (churn ?? 0) / 10 };
  world.settle();
  const report =
    churn === undefined
      ? { figures: measureRoutes(world, queries), updateBytes: world.measured.bytes / world.measured.nodes }
      : withUpdates(simulateChurn(settings, rates, { rounds: 5, queries }));
  const { stateBytes } = world.plan;
  if (options.json) writeJson({ ...report.figures, updateBytes: report.updateBytes, stateBytes });
  else writeLine(simulationText({ ...report, stateBytes }));
  if (svg !== undefined) writeTarget(svg, new TextEncoder().encode(pictureOf(world.picture())), { force });
}

function withUpdates(figures: ReturnType<typeof simulateChurn>) {
  return { figures, updateBytes: figures.updateBytes };
}

function pictureOf({ links, start, way, holders, hops }: WorldPicture): string {
  return networkSvg({
    title: `A query from the middle, and its way to a copy ${hops} hops away`,
    nodes: links.map((_, number) => `node ${number}`),
    links,
    start,
    way,
    holders,
  });
}

interface CompareOptions {
  readonly nodes: readonly number[];
  readonly rates: readonly number[];
  readonly objects: number;
  readonly rounds: number;
  readonly questions: number;
  readonly seed: number;
  readonly json?: boolean;
}

function registerCompare(parent: Command): void {
  const command = parent
    .command('compare')
    .description(
      'compare filters with distributed hashing: bytes, hops, latency, wrong turns, missed objects',
    )
    .option(
      '--nodes <list>',
      'sizes of the network, with commas between',
      parseList(parseCount(6)),
      [10, 100, 1000],
    )
    .option(
      '--rates <list>',
      'shares of the objects that are replaced in a round',
      parseList(parseRate),
      [0.001, 0.01, 0.1],
    )
    .option('--objects <count>', 'objects that a node holds', parseCount(), 50)
    .option('--rounds <count>', 'rounds that are measured', parseCount(), 5)
    .option('--questions <count>', 'questions in each round', parseCount(), 100)
    .option('--seed <number>', 'the same seed gives the same table', parseCount(0), 1)
    .action(compare);
  withJson(command);
}

function compare({ nodes, rates, objects, rounds, questions, seed, json }: CompareOptions): void {
  const cells = nodes.flatMap((size) =>
    rates.map((rate) => {
      const options = { seed, nodes: size, objectsPerNode: objects, rate, rounds, questions };
      return { nodes: size, rate, figures: usable(() => compareLocation(options)) };
    }),
  );
  if (json) writeJson(cells);
  else writeLine(comparisonText(cells));
}

interface RunOptions {
  readonly id: string;
  readonly secretFile: string;
  readonly listen: { readonly host: string; readonly port: number };
  readonly peer: readonly string[];
  readonly nats?: string;
  readonly fleet: string;
  readonly control: number;
  readonly objects: number;
  readonly degree: number;
  readonly interval: number;
}

function registerRun(parent: Command): void {
  parent
    .command('run')
    .description('run a node of a network, until it is interrupted')
    .requiredOption('--id <name>', 'the name of this node, unique in the network')
    .requiredOption('--secret-file <file>', 'a file with the secret of the network, 16 bytes at least')
    .option('--listen <host:port>', 'the peer port, for other nodes', parseListen, {
      host: '127.0.0.1',
      port: 7071,
    })
    .option('--peer <url>', 'the peer port of another member; several times', collect, [])
    .option('--nats <url>', 'a NATS server, in the place of peer ports')
    .option('--fleet <name>', 'the name of the network on that server', 'route')
    .option('--control <port>', 'the port on loopback for announce and locate', parseCount(0), 7070)
    .option(
      '--objects <count>',
      'objects that a node holds, on average; the same on all nodes',
      parseCount(),
      50,
    )
    .option('--degree <count>', 'neighbours of a node; the same on all nodes', parseCount(), 4)
    .option('--interval <ms>', 'time between two publications', parseCount(), 1000)
    .action(run);
}

async function run(options: RunOptions): Promise<void> {
  const { id, secretFile, listen, peer, nats, fleet, control, objects, degree, interval } = options;
  if (nats === undefined && peer.length === 0)
    throw new UsageError('name the other members: --peer URL, or --nats URL');
  const daemon = await RouteDaemon.start({
    id,
    secret: readSecret(secretFile),
    listen,
    peers: peer,
    nats,
    fleet,
    controlPort: control,
    plan: { objectsPerNode: objects, degree },
    degree,
    intervalMs: interval,
    event: (level, name, { problem }) => {
      if (level === 'warn') warn(`${name}${problem === undefined ? '' : `: ${String(problem)}`} (${nats})`);
    },
  });
  writeLine(`node ${id}: control port ${daemon.control}`);
  const held = holdSignals();
  if (!held.stop.aborted) await new Promise((resolve) => held.stop.addEventListener('abort', resolve));
  await daemon.close();
  held.close();
}

interface AskOptions {
  readonly node: string;
  readonly json?: boolean;
}

const DEFAULT_NODE = 'http://127.0.0.1:7070';

function registerAsk(parent: Command): void {
  const descriptions = {
    announce: 'say that the program behind a node holds a key',
    withdraw: 'say that it holds the key no more',
    locate: 'find a node that holds a key: exit code 0 if found, 1 if absent or unknown',
  };
  for (const [name, description] of Object.entries(descriptions))
    withJson(
      parent
        .command(name)
        .description(description)
        .argument('<key>', 'the key')
        .option('--node <url>', 'the control port of a node', DEFAULT_NODE)
        .action((key: string, options: AskOptions) => ask(name, key, options)),
    );
}

async function ask(what: string, key: string, { node, json }: AskOptions): Promise<void> {
  const answer = await askControl(node, `/${what}?key=${encodeURIComponent(key)}`, what !== 'locate');
  if (what === 'locate') {
    const located = answer as Located;
    if (json) writeJson(located);
    else writeLine(locatedText(located));
    if (located.status !== 'found') process.exitCode = NOT_FOUND;
    return;
  }
  const { settled } = answer as { settled: boolean };
  if (json) writeJson({ settled });
  else writeLine(settled ? 'confirmed by the directory' : 'not confirmed yet; the node goes on trying');
}

function locatedText(located: Located): string {
  if (located.status === 'found')
    return `${located.node}${located.address === null ? '' : ` at ${located.address}`} (by ${located.by}, ${located.hops} hops)`;
  return located.status === 'absent' ? 'absent: no member holds it' : `unknown: ${located.why}`;
}

interface ShowOptions {
  readonly node: readonly string[];
  readonly svg?: string;
  readonly force?: boolean;
  readonly json?: boolean;
}

interface Status {
  readonly id: string;
  readonly members: readonly { readonly id: string | null; readonly state: string }[];
  readonly neighbours: readonly string[];
  readonly keys: number;
  readonly stateBytes: number;
  readonly publishedBytes: number;
}

function registerShow(parent: Command): void {
  const command = parent
    .command('show')
    .description('show nodes that run: members, neighbours, keys, bytes')
    .option('--node <url>', 'the control port of a node; several times', collect, [])
    .option('--svg <file>', 'draw the links of these nodes')
    .action(show);
  withJson(withForce(command));
}

async function show({ node, svg, force = false, json }: ShowOptions): Promise<void> {
  if (svg !== undefined) checkTarget(svg, { force });
  const urls = node.length > 0 ? node : [DEFAULT_NODE];
  const all: Status[] = [];
  for (const url of urls) all.push((await askControl(url, '/status', false)) as Status);
  if (json) writeJson(all);
  else
    for (const { id, members, neighbours, keys, stateBytes, publishedBytes } of all) {
      const up = members.filter(({ state }) => state === 'up').length;
      writeLine(
        `${id}: ${keys} keys, ${up} of ${members.length} members up, neighbours ${neighbours.join(' ')}, ${stateBytes} B of filters, ${publishedBytes} B sent`,
      );
    }
  if (svg !== undefined) writeTarget(svg, new TextEncoder().encode(drawn(all)), { force });
}

/** The links of some nodes as a picture, around the first of them. */
function drawn(all: readonly Status[]): string {
  const names = [
    ...new Set(all.flatMap(({ id, members }) => [id, ...members.flatMap((each) => each.id ?? [])])),
  ];
  const number = new Map(names.map((name, i) => [name, i]));
  const links = names.map(() => new Set<number>());
  for (const { id, neighbours } of all)
    for (const neighbour of neighbours) links[number.get(id)!].add(number.get(neighbour)!);
  const down = new Set(
    all.flatMap(({ members }) =>
      members.flatMap(({ id, state }) => (state !== 'up' && id !== null ? [number.get(id)!] : [])),
    ),
  );
  return networkSvg({
    title: `The neighbours of ${all[0].id}`,
    nodes: names,
    links,
    start: number.get(all[0].id)!,
    down,
  });
}

async function askControl(node: string, path: string, isChange: boolean): Promise<unknown> {
  let response: Response;
  try {
    const headers: Record<string, string> = isChange ? { 'Bloomery-Admin': '1' } : {};
    const method = isChange ? 'POST' : 'GET';
    response = await fetch(new URL(path, node), { method, headers, signal: AbortSignal.timeout(10_000) });
  } catch {
    throw new UsageError(`no node answers at ${node}; --node says where its control port is`);
  }
  const text = await response.text();
  if (!response.ok) throw new UsageError(`${node} answered ${response.status}: ${text.trim()}`);
  return JSON.parse(text);
}

function readSecret(path: string): Uint8Array {
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    throw new UsageError(`${path} cannot be read; --secret-file names the secret of the network`, {
      cause: error,
    });
  }
  const text = new TextEncoder().encode(new TextDecoder().decode(bytes).trim());
  if (text.length < 16) throw new UsageError(`${path} is too short; a secret has 16 bytes at least`);
  return text;
}

/** Turns the refusals of a plan into one line. */
function usable<T>(make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (error instanceof RangeError) throw new UsageError(error.message, { cause: error });
    throw error;
  }
}

function collect(value: string, all: readonly string[]): string[] {
  return [...all, value];
}

function parseList(parse: (text: string) => number): (text: string) => number[] {
  return (text) => text.split(',').map((part) => parse(part));
}

function parseListen(text: string): { host: string; port: number } {
  const match = /^(.+):(\d{1,5})$/.exec(text);
  if (match !== null && Number(match[2]) < 65_536) return { host: match[1], port: Number(match[2]) };
  throw new InvalidArgumentError('Expected a host and a port, such as 10.0.0.5:7071.');
}
