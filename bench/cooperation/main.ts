/**
 * `npm run bench:cooperation`: what cooperating caches cost and gain, as rows with targets. Each
 * section is a module that returns lines of Markdown; `--only` chooses among them.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { needPrograms } from '../shared/need-programs.ts';
import { agreementTable } from './agreement-row.ts';
import { capturedTable } from './captured-stream.ts';
import { churnTable } from './churn-row.ts';
import { firstByteTable } from './first-byte-row.ts';
import { freshTable } from './fresh-row.ts';
import { herdTable } from './herd-row.ts';
import { idleTable } from './idle-row.ts';
import { localHitsTable } from './local-hits-row.ts';
import { multicastTable } from './multicast-row.ts';
import { networkFaultsTable } from './network-faults-row.ts';
import { squidTable } from './squid-row.ts';
import { stallTable } from './stall-row.ts';
import { updatePage, updateTable } from './update-table.ts';

const RESULTS = fileURLToPath(new URL('../results/cooperation.md', import.meta.url));
const DOCS = fileURLToPath(new URL('../../docs/notes/summary-bytes.md', import.meta.url));

const HELP = `npm run bench:cooperation -- [options]

  --only LIST        sections: bytes, stream, multicast, fresh, herd, first-byte, network-faults,
                     local-hits, stall, idle, agreement, churn, squid (all of them)
  --quick            smaller and fewer
  --write            put the sections into bench/results/cooperation.md; the others stay
  --docs             write the table of bytes into docs/notes/summary-bytes.md as well
  --help`;

const { values: options } = parseArgs({
  options: {
    only: { type: 'string' },
    quick: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    docs: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

interface BenchSection {
  readonly name: string;
  readonly title: string;
  run(): Promise<string[]>;
}

const SECTIONS: readonly BenchSection[] = [
  {
    name: 'bytes',
    title: 'Bytes of an update',
    async run() {
      needPrograms(['rsync', 'xdelta3', 'zstd'], 'rsync xdelta3 zstd');
      const objects = options.quick ? 10_000 : 100_000;
      const table = updateTable(objects);
      if (options.docs) writeFileSync(DOCS, updatePage(table, objects));
      return table;
    },
  },
  {
    name: 'stream',
    title: 'Bytes on a captured TCP stream',
    run: () => capturedTable(options.quick),
  },
  {
    name: 'multicast',
    title: 'Bytes by fleet size, streams and multicast',
    run: () => multicastTable(options.quick),
  },
  { name: 'fresh', title: 'Fresh', run: () => freshTable(options.quick) },
  { name: 'herd', title: 'Herd', run: () => herdTable(options.quick) },
  {
    name: 'first-byte',
    title: 'First byte under faults',
    run: () => firstByteTable(options.quick),
  },
  {
    name: 'network-faults',
    title: 'First byte under faults of the network',
    run: () => networkFaultsTable(options.quick),
  },
  {
    name: 'local-hits',
    title: 'Local hits',
    async run() {
      needPrograms(['wrk'], 'wrk');
      return localHitsTable(options.quick);
    },
  },
  { name: 'stall', title: 'No stall', run: () => stallTable(options.quick) },
  {
    name: 'idle',
    title: 'An idle fleet',
    async run() {
      needPrograms(['unshare', 'ip', 'nats-server'], 'util-linux iproute2 nats-server');
      return idleTable(options.quick);
    },
  },
  {
    name: 'agreement',
    title: 'Agreement with the simulator',
    run: () => agreementTable(options.quick),
  },
  {
    name: 'churn',
    title: 'Nodes that come and go, beside the simulator',
    async run() {
      needPrograms(['nats-server'], 'nats-server');
      return churnTable(options.quick);
    },
  },
  {
    name: 'squid',
    title: 'Beside Squid',
    async run() {
      needPrograms(['squid'], 'squid');
      return squidTable(options.quick);
    },
  },
];

async function main(): Promise<void> {
  if (options.help) {
    console.log(HELP);
    return;
  }
  const wanted = options.only?.split(',') ?? SECTIONS.map(({ name }) => name);
  const unknown = wanted.find((name) => !SECTIONS.some((section) => section.name === name));
  if (unknown !== undefined)
    throw new RangeError(
      `Cannot run a section: expected some of ${SECTIONS.map(({ name }) => name).join(', ')}, got ${unknown}`,
    );
  for (const section of SECTIONS) {
    if (!wanted.includes(section.name)) continue;
    process.stderr.write(`${section.title}\n`);
    const load = loadavg()[0].toFixed(1);
    const lines = await section.run();
    const text = [`## ${section.title}`, '', machine(load), '', ...lines, ''].join('\n');
    console.log(text);
    if (options.write) keep(section, text);
  }
}

/** `load` is the load average before the section: other work makes times longer. */
function machine(load: string): string {
  const form = options.quick ? ', quick form' : '';
  return `${cpus()[0]?.model ?? 'unknown processor'}, ${availableParallelism()} cores, Node ${process.version}, ${new Date().toISOString().slice(0, 10)}, load before ${load}${form}.`;
}

/** Replaces the section in the file of results, or adds it at its place. */
function keep(section: BenchSection, text: string): void {
  const parts = new Map(read().map((part) => [/^## (.*)/.exec(part)?.[1] ?? '', part]));
  parts.set(section.title, text.trimEnd());
  const ordered = SECTIONS.flatMap(({ title }) => parts.get(title) ?? []);
  const head = '# Cooperating caches\n\nWritten by `npm run bench:cooperation -- --write`.';
  writeFileSync(RESULTS, `${[head, ...ordered].join('\n\n')}\n`);
}

function read(): string[] {
  try {
    return readFileSync(RESULTS, 'utf8')
      .split(/\n(?=## )/)
      .slice(1)
      .map((part) => part.trimEnd());
  } catch {
    return [];
  }
}

await main();
// Sockets whose namespace is gone are never told of their end, and would keep the process busy.
process.exit();
