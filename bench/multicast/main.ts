/**
 * `npm run bench:multicast`: forwarding of multicast by filters. Bytes, surplus copies with their
 * prediction, and processor time per packet for different numbers of interfaces, beside an exact
 * map from groups to interfaces. Surplus does not depend on the machine; times are processor time,
 * medians of several rounds.
 */

import { writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { SecretKey } from 'bloomery';
import { GroupTable } from '../../packages/packets/dist/multicast/index.js';

const { values: options } = parseArgs({
  options: { markdown: { type: 'string' }, rounds: { type: 'string', default: '5' } },
});
const ROUNDS = Number(options.rounds);
const GROUPS = 100_000;
const MEMBERS = 3;
const key = new SecretKey(Uint8Array.from({ length: 16 }, (_, i) => i));
const cells = (...row: (string | number)[]) => `| ${row.join(' | ')} |`;

/** xorshift32: the same numbers in every run. */
let state = 0x2545f491;
function below(end: number): number {
  state ^= state << 13;
  state ^= state >>> 17;
  state ^= state << 5;
  return Math.floor(((state >>> 0) / 2 ** 32) * end);
}

const groupOf = (i: number) => Uint8Array.of(239, i >> 16, i >> 8, i);
const groups = Array.from({ length: GROUPS }, (_, i) => groupOf(i));

/** Median of the processor time of some rounds, in nanoseconds per packet. */
function nanoseconds(work: () => void): number {
  const times: number[] = [];
  for (let round = -1; round < ROUNDS; round++) {
    const start = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(start);
    if (round >= 0) times.push((1000 * (user + system)) / GROUPS);
  }
  return times.sort((a, b) => a - b)[times.length >> 1]!;
}

function rowOf(interfaces: number, rate: number): string {
  const members = groups.map(() => {
    const ports = new Set<number>();
    while (ports.size < MEMBERS) ports.add(below(interfaces));
    return ports;
  });
  const counts = Array.from(
    { length: interfaces },
    (_, port) => members.filter((set) => set.has(port)).length,
  );
  const table = new GroupTable({ interfaces, capacity: Math.max(...counts), falsePositiveRate: rate, key });
  for (let port = 0; port < interfaces; port++)
    table.joinMany(
      port,
      groups.filter((_, i) => members[i]!.has(port)),
    );
  let [surplus, predicted, missing] = [0, 0, 0];
  for (const [i, group] of groups.entries()) {
    const found = table.portsFor(group, -1);
    for (const port of members[i]!) if (!found.includes(port)) missing++;
    surplus += found.length - MEMBERS;
  }
  for (let i = 0; i < 1000; i++) predicted += table.estimatedSurplus(members[i]!, -1) / 1000;
  const byFilter = nanoseconds(() => {
    for (const group of groups) table.portsFor(group, 0);
  });
  const exact = new Map(groups.map((group, i) => [String(group), [...members[i]!]]));
  const byMap = nanoseconds(() => {
    for (const group of groups) exact.get(String(group))!.filter((port) => port !== 0);
  });
  return cells(
    interfaces,
    `${100 * rate} %`,
    missing,
    (surplus / GROUPS).toFixed(4),
    predicted.toFixed(4),
    ((8 * table.tableBytes) / GROUPS / MEMBERS).toFixed(1),
    ((8 * table.counterBytes) / GROUPS / MEMBERS).toFixed(1),
    byFilter.toFixed(0),
    byMap.toFixed(0),
  );
}

const load = loadavg()[0]!;
const rows = [
  [8, 0.01],
  [32, 0.01],
  [32, 0.001],
  [128, 0.01],
  [128, 0.001],
].map(([interfaces, rate]) => {
  const row = rowOf(interfaces!, rate!);
  console.log(row);
  return row;
});
const markdown = [
  '# Multicast forwarding by filters',
  '',
  `\`npm run bench:multicast\`. ${GROUPS.toLocaleString('en-US')} groups with ${MEMBERS} memberships each, at random interfaces; one packet to each group. Bits are per membership; an`,
  `IPv4 address alone has 32. Times are processor time per packet, medians of ${ROUNDS} rounds at a load of ${load.toFixed(1)}, beside a JavaScript \`Map\` of exact`,
  'lists whose keys are text.',
  '',
  cells(
    'interfaces',
    'rate of a filter',
    'members left out',
    'surplus copies per packet',
    'predicted',
    'bits in the table',
    'bits in the counters',
    'ns by filters',
    'ns by a map',
  ),
  '|---:|---:|---:|---:|---:|---:|---:|---:|---:|',
  ...rows,
  '',
].join('\n');
if (options.markdown !== undefined) writeFileSync(options.markdown, markdown);
else console.log(markdown);
