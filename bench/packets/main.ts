/**
 * `npm run bench:packets`: the largest flows of a capture, beside tcpdump, nfpcapd with nfdump,
 * softflowd, an exact Map and the library's HeavyHitters. Captures are synthetic (Zipf's law, three
 * orders), and the real ones of BLOOMERY_DATA. Numbers are CPU seconds of whole processes for
 * programs, without the start for lanes of ours; medians of rounds that take turns.
 *
 * Not the same work: nfpcapd keeps times and flags of each flow and writes them to disk, softflowd
 * exports them. The comparison is about one question, which flows are the largest.
 */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import {
  CAPTURE_ORDERS,
  type CaptureOrder,
  writeZipfCapture,
} from '../../packages/testkit/src/captures/zipf-capture.ts';
import { needPrograms } from '../shared/need-programs.ts';
import { asMarkdown, type Table } from '../shared/report.ts';
import { median } from '../shared/statistics.ts';

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    packets: { type: 'string' },
    rounds: { type: 'string', default: '3' },
    markdown: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
if (options.help) {
  console.log(`npm run bench:packets -- [options]

  --quick            1 M packets instead of 10 M
  --packets N        another number of packets
  --rounds N         rounds of each row (3)
  --markdown FILE    write the tables into this file
  --help

Real captures come from the folder captures of BLOOMERY_DATA, if that is set. Run npm run build first.`);
  process.exit();
}
needPrograms(['nfpcapd', 'nfdump', 'tcpdump', 'softflowd', 'time'], 'nfdump tcpdump softflowd time');

const PACKETS = Number(options.packets ?? (options.quick ? 1e6 : 10e6));
const FLOWS = PACKETS / 10;
const ROUNDS = Number(options.rounds);
const COMMAND = fileURLToPath(new URL('../../apps/cli/bin/bloomery.js', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'bloomery-bench-packets-'));
const SMALL_MEMORIES = [1_500_000, 4_000_000, 16_000_000];

interface Cost {
  readonly seconds: number;
  readonly rssMb: number;
}

/** Runs a program to its end. Its CPU time includes its start. */
function program(command: string, args: readonly string[]): Cost {
  const format = ['-f', 'COST %U %S %M', '--', command, ...args];
  const { stderr, status } = spawnSync('time', format, {
    stdio: ['ignore', 'ignore', 'pipe'],
    maxBuffer: 1 << 26,
  });
  const cost = /COST ([\d.]+) ([\d.]+) (\d+)/.exec(String(stderr));
  if (status !== 0 || cost === null) throw new Error(`Cannot run ${command}: ${stderr}`);
  return { seconds: Number(cost[1]) + Number(cost[2]), rssMb: Number(cost[3]) / 1000 };
}

interface LaneCost extends Cost {
  readonly flows?: number;
  readonly exact?: boolean;
  readonly largest?: number[];
}

function script<T>(file: string, args: readonly string[]): T {
  const path = fileURLToPath(new URL(file, import.meta.url));
  const { stdout, stderr, status } = spawnSync(process.execPath, [...process.execArgv, path, ...args], {
    maxBuffer: 1 << 26,
  });
  if (status !== 0) throw new Error(`Cannot run ${file} ${args.join(' ')}: ${stderr}`);
  return JSON.parse(String(stdout));
}

const lane = (way: string, path: string, ...rest: string[]) =>
  script<LaneCost>('./lane.ts', [way, path, ...rest]);

interface RowSpec {
  readonly name: string;
  readonly does: string;
  readonly run: (path: string) => Cost;
  /** Slow programs run on the first order only, once. */
  readonly slow?: boolean;
}

const records = join(folder, 'records');
const ROWS: RowSpec[] = [
  {
    name: 'tcpdump --count',
    does: 'walks records',
    run: (path) => program('tcpdump', ['-r', path, '--count']),
  },
  {
    name: 'tcpdump -w /dev/null',
    does: 'copies records',
    run: (path) => program('tcpdump', ['-r', path, '-w', '/dev/null']),
  },
  { name: 'lane: records', does: 'walks records', run: (path) => lane('walk', path) },
  { name: 'lane: headers', does: 'and decodes five-tuples', run: (path) => lane('parse', path) },
  { name: 'lane: FlowMeter', does: 'and lists the largest flows', run: (path) => lane('table', path) },
  {
    name: 'lane: FlowMeter, 4 MB',
    does: 'the same in 4 MB: bounds',
    run: (path) => lane('table', path, '4000000'),
  },
  {
    name: 'lane: FlowMeter, decoded in JavaScript',
    does: 'the same by HeaderDecoder and add',
    run: (path) => lane('decoded', path),
  },
  {
    name: 'bloomery flows',
    does: 'the command, with its start',
    run: (path) => program(process.execPath, [COMMAND, 'flows', path]),
  },
  {
    name: 'lane: CountMinSketch',
    does: 'estimates, no list (conservative, 65536 × 4)',
    run: (path) => lane('sketch', path),
    slow: true,
  },
  {
    name: 'lane: HeavyHitters',
    does: 'flows of 0.1 % and more',
    run: (path) => lane('heavy', path),
    slow: true,
  },
  { name: 'lane: Map of text', does: 'exact, all flows', run: (path) => lane('map', path), slow: true },
  { name: 'nfpcapd -r', does: 'exact records on disk', run: runNfpcapd, slow: true },
  {
    name: 'nfdump -s record/bytes',
    does: 'the list from these records',
    run: () => program('nfdump', ['-R', records, '-s', 'record/bytes']),
    slow: true,
  },
  {
    name: 'softflowd -r',
    does: 'exact, exports nothing here',
    run: (path) =>
      program('softflowd', ['-r', path, '-d', '-m', '10000000', '-c', 'none', '-p', join(folder, 'pid')]),
    slow: true,
  },
];

function runNfpcapd(path: string): Cost {
  rmSync(records, { recursive: true, force: true });
  mkdirSync(records);
  return program('nfpcapd', ['-r', path, '-l', records, '-t', '86400']);
}

const M = 1e6;
const format = (value: number, digits = 2) => (Number.isFinite(value) ? value.toFixed(digits) : '');
const tables: Table[] = [];
const facts = new Map<string, Cost>();
let bare: Cost = { seconds: 0, rssMb: 0 };

function measure(order: CaptureOrder, path: string, flows: number): void {
  const costs = new Map<string, Cost[]>();
  for (let round = 0; round < ROUNDS; round++) {
    for (const { name, run, slow } of ROWS) {
      if (slow && (round > 0 || order !== 'mixed')) continue;
      costs.set(name, [...(costs.get(name) ?? []), run(path)]);
      console.error(order, round, name, costs.get(name)!.at(-1)!.seconds);
    }
  }
  const rows = ROWS.filter(({ name }) => costs.has(name)).map(({ name, does }) => {
    const all = costs.get(name)!;
    const seconds = median(all.map((cost) => cost.seconds));
    const rssMb = Math.max(...all.map((cost) => cost.rssMb));
    facts.set(`${order} ${name}`, { seconds, rssMb });
    return [name, format(seconds), format(PACKETS / M / seconds), format(rssMb, 0), does];
  });
  tables.push({
    title: `${PACKETS / M} M packets, ${flows.toLocaleString('en-US')} flows, ${order}: ${format(statSync(path).size / M, 0)} MB`,
    head: ['program', 'CPU s', 'M packets per CPU s', 'RSS MB', 'does'],
    rows,
    notes: [
      `Rounds: ${ROUNDS}, medians; slow programs ran once. RSS of lanes includes the loader of TypeScript. Load ${format(loadavg()[0], 1)} on ${cpus().length} cores.`,
    ],
  });
}

interface Accuracy {
  readonly flows: number;
  readonly rows: {
    memory: number;
    exact: boolean;
    threshold: number;
    entries: number;
    wrong: number;
    missing: number;
    meanError: number;
    maxError: number;
  }[];
}

const accuracyRows: string[][] = [];
let violations = 0;
function measureAccuracy(order: CaptureOrder): void {
  const path = join(folder, 'accuracy.pcap');
  writeZipfCapture({ path, packets: 1e6, flows: 1e5, order, seed: 2 });
  const percent = (share: number) => `${format(100 * share, 4)} %`;
  for (const row of script<Accuracy>('./accuracy.ts', [path, ...SMALL_MEMORIES.map(String)]).rows) {
    violations += row.wrong + row.missing;
    accuracyRows.push([
      order,
      `${row.memory / M} MB`,
      row.exact ? 'exact' : percent(row.threshold),
      String(row.entries),
      percent(row.meanError),
      percent(row.maxError),
      String(row.wrong),
      String(row.missing),
    ]);
  }
  rmSync(path);
}

const sharesDone: string[] = [];
try {
  for (const order of CAPTURE_ORDERS) {
    const path = join(folder, `${order}.pcap`);
    const flows = writeZipfCapture({ path, packets: PACKETS, flows: FLOWS, order, seed: 1 });
    if (order === 'mixed') {
      // Plain Node, because the loader of TypeScript takes memory of its own in the lanes.
      bare = program(process.execPath, ['-e', '0']);
      const [table, map] = [lane('table', path), lane('map', path)];
      const same = JSON.stringify(table.largest) === JSON.stringify(map.largest);
      const held = `${table.flows!.toLocaleString('en-US')} of ${map.flows!.toLocaleString('en-US')} flows`;
      sharesDone.push(
        table.exact
          ? `FlowMeter says that it is exact, and holds ${held}`
          : `FlowMeter says that it is an estimate: 36 MiB hold ${held} in the end`,
        `its 100 largest numbers are those of the Map: ${same ? 'yes' : 'NO'}`,
      );
    }
    measure(order, path, flows);
    rmSync(path);
    measureAccuracy(order);
  }
  measureFlood();
  tables.push({
    title: 'Bounds in little memory: 1 M packets, about 81,000 flows',
    head: [
      'order',
      'memory',
      'complete from (share of all bytes)',
      'flows held',
      'mean over-count of the top 100',
      'largest',
      'bounds violated',
      'flows missing',
    ],
    rows: accuracyRows,
    notes: ['Every flow of the capture was compared with its exact count. Both last columns must be 0.'],
  });
  measureReal();
  tables.unshift(targets());
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Ever new flows: the memory must not grow. */
function measureFlood(): void {
  const path = join(folder, 'flood.pcap');
  writeZipfCapture({ path, packets: PACKETS, flows: 2 ** 31, order: 'mixed', seed: 3 });
  const cost = program(process.execPath, [COMMAND, 'flows', path]);
  facts.set('flood', cost);
  rmSync(path);
}

function measureReal(): void {
  const real = process.env.BLOOMERY_DATA && join(process.env.BLOOMERY_DATA, 'captures');
  if (!real || !existsSync(real)) return;
  const rows = readdirSync(real)
    .filter((file) => /\.pcap(ng)?$/.test(file))
    .map((file) => {
      const path = join(real, file);
      const { stdout } = spawnSync(process.execPath, [COMMAND, 'flows', path, '--json', '--top', '1000000']);
      const report = JSON.parse(String(stdout));
      const own = usual(report.top.map((flow: Record<string, never>) => lineOf(flow)));
      if (!nfpcapdReads(path)) {
        return [
          file,
          String(report.packets),
          String(report.flows),
          report.exact ? 'exact' : 'bounds',
          String(own.length),
          'nfpcapd cannot read it',
        ];
      }
      const args = [
        '-R',
        records,
        '-A',
        'srcip,srcport,dstip,dstport,proto',
        '-N',
        '-q',
        '-6',
        '-o',
        'fmt:%sa,%sp,%da,%dp,%pr,%byt,%pkt',
      ];
      const theirs = usual(
        String(spawnSync('nfdump', args, { maxBuffer: 1 << 26 }).stdout)
          .replaceAll(' ', '')
          .split('\n'),
      );
      const different =
        own.filter((line) => !theirs.includes(line)).length +
        theirs.filter((line) => !own.includes(line)).length;
      return [
        file,
        String(report.packets),
        String(report.flows),
        report.exact ? 'exact' : 'bounds',
        String(own.length),
        String(different),
      ];
    });
  tables.push({
    title: 'Real captures beside nfdump',
    head: ['capture', 'packets', 'flows', 'answer', 'flows of TCP and UDP', 'different from nfdump'],
    rows,
    notes: ['A flow is different if its bytes or packets are, or if one of the two does not list it.'],
  });
}

/** Whether nfpcapd takes the capture; older ones do not know every link type. */
function nfpcapdReads(path: string): boolean {
  try {
    runNfpcapd(path);
    return true;
  } catch {
    return false;
  }
}

/** Flows of TCP and UDP: nfdump writes types of ICMP in place of ports. */
function usual(lines: readonly string[]): string[] {
  return lines.filter((line) => /,(6|17),\d+,\d+$/.test(line)).sort();
}

function lineOf(flow: Record<string, { atMost: number } & string>): string {
  const { source, sourcePort, destination, destinationPort, protocol, bytes, packets } = flow;
  return [source, sourcePort, destination, destinationPort, protocol, bytes.atMost, packets.atMost].join(',');
}

function targets(): Table {
  const of = (name: string, order = 'mixed') => facts.get(`${order} ${name}`)!;
  const list = of('lane: FlowMeter');
  const speed = Math.min(
    ...CAPTURE_ORDERS.map((order) => PACKETS / M / of('lane: FlowMeter', order).seconds),
  );
  const command = Math.min(
    ...CAPTURE_ORDERS.map((order) => PACKETS / M / of('bloomery flows', order).seconds),
  );
  const nfpcapd = of('nfpcapd -r').seconds / list.seconds;
  const overTcpdump = (name: string) =>
    Math.max(
      ...CAPTURE_ORDERS.map((order) => of(name, order).seconds / of('tcpdump -w /dev/null', order).seconds),
    );
  const tcpdump = overTcpdump('lane: FlowMeter');
  const sketch = overTcpdump('lane: FlowMeter, 4 MB');
  const memory = Math.max(facts.get('flood')!.rssMb, of('bloomery flows').rssMb) - bare.rssMb;
  const row = (what: string, measured: string, target: string, met: boolean) => [
    what,
    measured,
    target,
    met ? 'met' : 'NOT MET',
  ];
  return {
    title: 'Targets',
    head: ['what', 'measured', 'target', ''],
    rows: [
      row('list of heavy flows, slowest order, M packets per CPU s', format(speed), '>= 4', speed >= 4),
      row(
        'the command with its start, slowest order, M packets per CPU s',
        format(command),
        '>= 4',
        command >= 4,
      ),
      row('CPU of nfpcapd over that of the list', format(nfpcapd), '>= 6', nfpcapd >= 6),
      row(
        'CPU of the list over that of tcpdump -w /dev/null, worst order',
        format(tcpdump),
        '<= 1.5',
        tcpdump <= 1.5,
      ),
      row(
        'CPU of parse plus sketch (the list in 4 MB: bounds) over that of tcpdump, worst order',
        format(sketch),
        '<= 1.5',
        sketch <= 1.5,
      ),
      row('memory beyond bare Node, MB, with ever new flows', format(memory, 0), '<= 64', memory <= 64),
      row('bounds violated, flows missing', String(violations), '0', violations === 0),
    ],
    notes: [`Bare Node takes ${format(bare.rssMb, 0)} MB here. ${sharesDone.join('; ')}.`],
  };
}

/** The options, without the name of the file. */
function given(): string {
  const { markdown: _, help: __, ...rest } = options;
  return Object.entries(rest)
    .filter(([, value]) => value !== false)
    .map(([name, value]) => `--${name}${value === true ? '' : ` ${value}`}`)
    .join(' ');
}

const text = tables.map(asMarkdown).join('\n\n');
const page = `# Packets: the largest flows of a capture

Written by \`npm --prefix bench run bench:packets\`${process.argv.length > 2 ? ` with ${given()}` : ''}; ${cpus()[0].model}, Node ${process.version}.

${text}
`;
console.log(page);
if (options.markdown) writeFileSync(options.markdown, page);
