/**
 * `npm run bench:guard`: what a filter in front of a lookup saves, for stores of different cost and
 * for different shares of absent keys. Guarded and plain lookups alternate in one run; the figures
 * are those of the fastest round, which other work on the machine disturbed least, as time per
 * lookup of one caller that waits for each answer.
 */

import { writeFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { guard, RebuiltFilter } from '../../../packages/stores/dist/guard/index.js';
import { asMarkdown, percent } from '../../shared/report.ts';
import {
  fileStore,
  httpStore,
  type MeasuredStore,
  memoryStore,
  postgresStore,
  redisStore,
  sqliteStore,
} from './measured-stores.ts';

const { values: options } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, markdown: { type: 'string' } },
});

const KEYS = 10_000;
const ROUNDS = options.quick ? 5 : 25;
const ABSENT = [0, 0.5, 0.9, 0.99, 1];
const RATE = 0.01;
/** Time that the far store takes for an answer: a database in the next zone. */
const FAR_MS = 1;

const present = Array.from({ length: KEYS }, (_, at) => `present-${at}`);

async function main(): Promise<void> {
  const filter = await RebuiltFilter.build({ source: () => present, falsePositiveRate: RATE });
  const rows: string[][] = [];
  const lookups = options.quick ? 50 : 150;
  const stores: (() => MeasuredStore | Promise<MeasuredStore>)[] = [
    () => memoryStore(present),
    () => sqliteStore(present),
    () => fileStore(present),
    () => redisStore(present, lookups),
    () => postgresStore(present, lookups),
    () => httpStore(present, { name: 'HTTP HEAD on loopback', delayMs: 0, lookups }),
    () => httpStore(present, { name: `HTTP HEAD, ${FAR_MS} ms away`, delayMs: FAR_MS, lookups }),
  ];
  for (const open of stores) {
    const store = await open();
    for (const absent of ABSENT)
      rows.push([store.name, percent(absent), ...(await measured(store, filter, absent))]);
    await store.close?.();
  }
  const machine = `${cpus()[0]?.model ?? 'unknown'}, ${availableParallelism()} cores, Node ${process.version}, ${new Date().toISOString().slice(0, 10)}, load ${loadavg()[0]?.toFixed(1)}.`;
  const head = ['store', 'absent keys', 'plain, µs', 'guarded, µs', 'plain ÷ guarded', 'lookups saved'];
  const text = [
    '# A filter in front of a lookup',
    '',
    `${machine} ${KEYS.toLocaleString('en')} keys, a filter with a rate of ${percent(RATE)} (${filter.status().bytes.toLocaleString('en')} bytes), the fastest of ${ROUNDS} rounds, one caller that waits for each answer.`,
    '',
    asMarkdown({ title: 'Time of one lookup', head, rows, numbersFrom: 1, notes: [] }),
    '',
  ].join('\n');
  filter.close();
  if (options.markdown === undefined) console.log(text);
  else writeFileSync(options.markdown, text);
}

async function measured(store: MeasuredStore, filter: RebuiltFilter, absent: number): Promise<string[]> {
  const guarded = guard(store.lookup, { filter });
  const keys = keysFor(store.lookups, absent);
  const [plain, behind]: [number[], number[]] = [[], []];
  for (let round = 0; round <= ROUNDS; round++) {
    const times = [await timeOf(store.lookup, keys), await timeOf(guarded, keys)];
    if (round === 0) continue; // the compiler's round
    plain.push(times[0]!);
    behind.push(times[1]!);
  }
  const { asked, saved } = guarded.stats();
  const [slow, fast] = [Math.min(...plain), Math.min(...behind)];
  return [slow.toFixed(2), fast.toFixed(2), (slow / fast).toFixed(2), percent(saved / asked)];
}

/** Microseconds per lookup. */
async function timeOf(lookup: (key: string) => Promise<unknown>, keys: readonly string[]): Promise<number> {
  const began = performance.now();
  for (const key of keys) await lookup(key);
  return (1000 * (performance.now() - began)) / keys.length;
}

function keysFor(count: number, absent: number): string[] {
  let state = 12_345;
  return Array.from({ length: count }, (_, at) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32 < absent ? `absent-${at}` : present[state % KEYS]!;
  });
}

await main();
