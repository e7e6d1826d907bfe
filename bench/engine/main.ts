/**
 * `npm run bench:engine`: how fast packages/sim runs. Events per second of processor time by
 * the number of nodes, with and without promises, and 10,000 nodes in static meshes that follow
 * each other's sets for ten virtual minutes.
 */

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';
import type { EngineRow, MeshNumbers, MeshRow } from './rows.ts';

const HELP = `npm run bench:engine -- [options]

  --quick            fewer events, 500 nodes: half a minute
  --markdown FILE    write the tables into this file
  --help`;

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    markdown: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

/**
 * The heap of 990,000 links, and a larger nursery: messages under way outlive the default one, and
 * copying them took a seventh of the processor time.
 */
const NODE_OPTIONS = ['--max-old-space-size=12000', '--min-semi-space-size=64', '--max-semi-space-size=128'];
const TARGET_SECONDS = 120;
const ROUNDS = 3;

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));
const program = path('../build/engine-rows.mjs');

function measure<T>(row: EngineRow | MeshRow): T {
  const args = [...NODE_OPTIONS, program, JSON.stringify(row)];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' })) as T;
}

/** The best of several rounds: other programs can only make one slower. */
function engineSpeed(nodes: number, awaits: boolean): number {
  const events = options.quick ? 500_000 : 2_000_000;
  return Math.max(
    ...Array.from({ length: ROUNDS }, () => measure<number>({ row: 'engine', nodes, awaits, events })),
  );
}

function engineLines(): string[] {
  const millions = (speed: number) => (speed / 1e6).toFixed(2);
  return [
    '## Events per second of processor time',
    '',
    `Nodes that set one timer after the other, in millions of events; the best of ${ROUNDS} rounds.`,
    '',
    '| nodes | without promises | an `await` in every event |',
    '|---|---|---|',
    ...[1000, 10_000, 100_000].map((nodes) => {
      const [plain, awaits] = [engineSpeed(nodes, false), engineSpeed(nodes, true)];
      return `| ${nodes.toLocaleString('en')} | ${millions(plain)} | ${millions(awaits)} |`;
    }),
  ];
}

function meshLines(): string[] {
  const row: MeshRow = { row: 'meshes', meshes: options.quick ? 5 : 100, nodes: 100, minutes: 10 };
  const numbers = measure<MeshNumbers>(row);
  const count = (value: number) => value.toLocaleString('en');
  const seconds = (value: number) => `${value.toFixed(1)} s`;
  const isMet = numbers.cpuSeconds < TARGET_SECONDS;
  return [
    '## Meshes',
    '',
    'Each node holds 100 keys, replaces two of them and publishes once a minute (`SetPublisher`), and follows the',
    'other 99 nodes of its mesh (`SetSubscriber`, shared sets). Processor time includes that of the garbage',
    'collector’s helper threads.',
    '',
    '| what | measured |',
    '|---|---|',
    `| nodes, links | ${count(row.meshes * row.nodes)}, ${count(numbers.links)} |`,
    `| virtual time | ${row.minutes} minutes |`,
    `| events | ${count(numbers.events)} |`,
    `| messages received | ${count(numbers.received)} |`,
    `| links with the latest set at the end; the others have a message under way | ${count(numbers.currentLinks)} |`,
    `| processor time, of that until all links are up | ${seconds(numbers.cpuSeconds)}, ${seconds(numbers.setUpSeconds)} |`,
    `| elapsed time | ${seconds(numbers.wallSeconds)} |`,
    `| resident memory | ${count(Math.round(numbers.rssBytes / 1e6))} MB |`,
    `| event hash | ${numbers.hash} |`,
    ...(options.quick
      ? []
      : [`| target: below ${TARGET_SECONDS} s of processor time | ${isMet ? 'met' : 'NOT MET'} |`]),
  ];
}

if (options.help) console.log(HELP);
else {
  await build({
    entryPoints: [path('rows.ts')],
    outfile: program,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    packages: 'external',
  });
  const load = loadavg()[0].toFixed(1);
  const text = [
    '# Simulations',
    '',
    `Made by \`npm run bench:engine\` on Node ${process.versions.node}, with a load of ${load} on the machine at the start.`,
    'A busy machine makes these numbers worse: events touch much memory, and other programs take the caches.',
    '',
    ...engineLines(),
    '',
    ...meshLines(),
    '',
  ].join('\n');
  console.log(text);
  if (options.markdown !== undefined) writeFileSync(options.markdown, text);
}
