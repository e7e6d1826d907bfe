/**
 * `npm run bench:filter-table`: one key asked of many filters, in three ways.
 *
 * - `hasHash` of every filter: the loop that a program writes today.
 * - A loop that derives the indices once, and goes over all filters in one array, leaving each at
 *   its first zero: the best that can be done without changing the layout.
 * - `FilterTable.candidates`, in both kernels.
 *
 * The table is the one that `planTable` gives for 0.02 false candidates per absent key. Keys are
 * asked that no filter holds, that one holds, and that all hold; the worst of the three ratios
 * decides. The rounds of all ways alternate, and each way has other keys, so that neither a busy
 * second of the machine nor a warm cache favours one of them. Hashes are random words: a good
 * hash gives no others.
 */

import { writeFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { hashScheme, useKernel } from 'bloomery';
import { asMarkdown, asText, ratio, type Table } from '../shared/report.ts';
import { median, medianRatio } from '../shared/statistics.ts';
import { compareAnswers } from './compare-answers.ts';
import { cpuMs } from './cpu-time.ts';
import { ASKED, type Asked, askedKeys, fleetOf, waysToAsk } from './fleet.ts';
import { measureChanges } from './table-changes.ts';

const HELP = `npm run bench:filter-table -- [options]

  --rounds N         rounds (15)
  --keys N           keys of each filter (100000)
  --markdown FILE    write the tables
  --help`;

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '15' },
    keys: { type: 'string', default: '100000' },
    markdown: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
const ROUNDS = Number(options.rounds);
const KEYS = Number(options.keys);
const SCHEME = hashScheme();

if (options.help) {
  console.log(HELP);
} else {
  const tables = [...measureLookups(256, 2), ...measureLookups(1024, 6)];
  const text = [
    '# One key, many filters',
    '',
    `Made by \`npm run bench:filter-table\`: ${ROUNDS} rounds, medians of processor time. ${cpus()[0]?.model ?? 'unknown processor'}, ${availableParallelism()} cores, Node ${process.version}.`,
    '',
    ...tables.map(asMarkdown),
  ].join('\n');
  for (const table of tables) console.log(asText(table));
  if (options.markdown !== undefined) writeFileSync(options.markdown, text);
}

function measureLookups(columns: number, most: number): Table[] {
  process.stderr.write(`${columns} filters of ${KEYS} keys\n`);
  const fleet = fleetOf(columns, KEYS, SCHEME);
  const ways = waysToAsk(fleet);
  const out = new Uint32Array(columns / 32);
  const times = new Map<string, number[]>();
  let slice = 0;
  for (let round = -1; round < ROUNDS; round++) {
    process.stderr.write(`round ${round + 1}\n`);
    for (const asked of ASKED) {
      for (const [name, { kernel, ask, lookups }] of Object.entries(ways)) {
        const hashes = askedKeys(fleet, asked, slice++, lookups);
        useKernel(kernel);
        const ms = cpuMs(() => {
          for (const hash of hashes) ask(hash, out);
        });
        // The first round only warms up.
        if (round >= 0) push(times, `${asked} ${name}`, (ms * 1000) / lookups);
      }
    }
  }
  const of = (asked: Asked, name: string) => times.get(`${asked} ${name}`) ?? [];
  const names = Object.keys(ways);
  const { plan } = fleet;
  const worst = (name: string) =>
    Math.min(...ASKED.map((asked) => medianRatio(of(asked, name), of(asked, 'table'))));
  const slowest = Math.max(...ASKED.map((asked) => median(of(asked, 'table'))));
  const target = (what: string, wanted: string, met: boolean) =>
    `${what}, wanted ${wanted}: ${met ? 'met' : 'NOT MET'}.`;
  const [calls, loop] = [worst('hasHash'), worst('loop')];
  const found: Table = {
    title: `${columns} filters of ${KEYS} keys, µs of processor time per lookup`,
    head: ['the key is held by', ...names, 'hasHash / table', 'loop / table'],
    numbersFrom: 1,
    rows: ASKED.map((asked) => [
      asked,
      ...names.map((name) => median(of(asked, name)).toFixed(2)),
      ratio(medianRatio(of(asked, 'hasHash'), of(asked, 'table'))),
      ratio(medianRatio(of(asked, 'loop'), of(asked, 'table'))),
    ]),
    notes: [
      `${plan.rows} rows, ${plan.hashes} hashes, ${plan.bitsPerKey.toFixed(1)} bits per key, ${(plan.memoryBytes / 1e6).toFixed(1)} MB.`,
      target(`Slowest: ${slowest.toFixed(2)} µs`, `at most ${most}`, slowest <= most),
      ...(columns === 256
        ? [
            target(`hasHash / table at its worst: ${ratio(calls)}`, 'at least 25', calls >= 25),
            target(`loop / table at its worst: ${ratio(loop)}`, 'at least 9', loop >= 9),
          ]
        : []),
      ...compareAnswers(fleet, 1_000_000),
    ],
  };
  return columns === 256 ? [found, measureChanges(fleet, ROUNDS)] : [found];
}

function push(times: Map<string, number[]>, name: string, value: number): void {
  const list = times.get(name);
  if (list === undefined) times.set(name, [value]);
  else list.push(value);
}
