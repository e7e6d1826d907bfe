/**
 * `npm run reconcile`: the bytes, round trips and processor time of sessions over a grid of sizes n
 * and differences d, beside the best single method, @peerbit/riblt, negentropy and plain lists.
 *
 *     npm --prefix bench run reconcile -- --quick                n = 1,000 and 10,000; a minute
 *     npm --prefix bench run reconcile -- --only grid --sizes 100000 --differences 0,100 --write
 *     npm --prefix bench run reconcile -- --write                the full form, some minutes
 *
 * `--write` keeps the rows that were measured in results/reconcile.json and writes
 * results/reconcile.md from all of them, so that the full form can run in pieces.
 */

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { KeySet } from '@bloomery/reconcile';
import { methodBytes } from './best-method.ts';
import { generator, pairOf, quantile, sameKeys } from './pairs.ts';
import { type Cell, type Kept, type Report, type Rival, reportText } from './report.ts';
import { runSession, type SessionRun } from './run-session.ts';

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    sizes: { type: 'string' },
    differences: { type: 'string' },
    only: { type: 'string' },
    write: { type: 'boolean', default: false },
  },
});
const RESULTS = fileURLToPath(new URL('../results/reconcile', import.meta.url));
const SIZES = (options.sizes ?? (options.quick ? '1000,10000' : '1000,10000,100000,1000000'))
  .split(',')
  .map(Number);

/** Sessions of a cell, and pairs for which the best method is computed. */
function rounds(n: number): { sessions: number; best: number } {
  if (options.quick) return { sessions: n > 1000 ? 9 : 21, best: 5 };
  if (n <= 1000) return { sessions: 301, best: 101 };
  if (n <= 10_000) return { sessions: 101, best: 21 };
  return n <= 100_000 ? { sessions: 11, best: 3 } : { sessions: 5, best: 3 };
}

function differences(n: number): number[] {
  const steps = [0, 1, 3, 10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000];
  const wanted = options.differences?.split(',').map(Number) ?? steps;
  return wanted.filter((d) => d <= n);
}

const next = generator(20_261_118);
const random = () => Uint8Array.from({ length: 8 }, () => next() & 255);

function measureCell(n: number, d: number): Cell {
  const { sessions, best } = rounds(n);
  const runs: SessionRun[] = [];
  let exact = 0;
  for (let i = 0; i < sessions; i++) {
    const pair = pairOf(n, d, next());
    const run = runSession(pair.a, pair.b, random);
    if (sameKeys(run.onlyA, pair.onlyA) && sameKeys(run.onlyB, pair.onlyB)) exact++;
    runs.push(run);
  }
  const methods = Array.from({ length: best }, () => methodsOf(n, d));
  const of = (value: (run: SessionRun) => number, share = 0.5) => quantile(runs.map(value), share);
  const name = ['symbols8', 'symbols13', 'filter', 'list'] as const;
  return {
    n,
    d,
    sessions,
    exact,
    bytes: of((run) => run.bytes),
    p99: of((run) => run.bytes, 0.99),
    trips: of((run) => run.trips),
    tripsP90: of((run) => run.trips, 0.9),
    cpuMs: of((run) => run.cpuMs),
    method: runs.map((run) => run.method).sort()[runs.length >> 1],
    best: Object.fromEntries(
      name.map((each) => [
        each,
        quantile(
          methods.map((bytes) => bytes[each]),
          0.5,
        ),
      ]),
    ) as Cell['best'],
    narrow: quantile(
      methods.map((bytes) => bytes.narrow),
      0.5,
    ),
  };
}

/** The bytes of each method. A salt under which keys share an id is replaced, as in a session. */
function methodsOf(n: number, d: number): ReturnType<typeof methodBytes> {
  for (let attempt = 0; ; attempt++) {
    try {
      return methodBytes(pairOf(n, d, next()), Uint8Array.from([...random(), ...random()]));
    } catch (error) {
      if (attempt === 4) throw error;
    }
  }
}

/** Two sets that keep their symbols. */
function measureKept(n: number, d: number, sessions: number): Kept {
  const secret = Uint8Array.from({ length: 16 }, (_, i) => i);
  const [a, b] = [new KeySet({ secret }), new KeySet({ secret })];
  const { a: here } = pairOf(n, 0, 1);
  a.addMany(here);
  b.addMany(here);
  const runs: SessionRun[] = [];
  const wall: number[] = [];
  let exact = 0;
  for (let i = 0; i < sessions; i++) {
    const changed = Array.from({ length: d }, () => `changed ${next()} ${next()}`);
    const [mine, theirs] = [changed.slice(0, d >> 1), changed.slice(d >> 1)];
    for (const key of mine) a.add(key);
    for (const key of theirs) b.add(key);
    const start = performance.now();
    const run = runSession(a, b, random);
    wall.push(performance.now() - start);
    const sorted = (keys: readonly unknown[]) => keys.map(String).sort();
    if (sameKeys(sorted(run.onlyA), sorted(mine)) && sameKeys(sorted(run.onlyB), sorted(theirs))) exact++;
    runs.push(run);
    for (const key of mine) a.delete(key);
    for (const key of theirs) b.delete(key);
  }
  const of = (value: (run: SessionRun) => number, share = 0.5) => quantile(runs.map(value), share);
  return {
    n,
    d,
    sessions,
    exact,
    bytes: of((run) => run.bytes),
    p90: of((run) => run.bytes, 0.9),
    p99: of((run) => run.bytes, 0.99),
    trips: of((run) => run.trips),
    oneTrip: runs.filter((run) => run.trips <= 2).length / sessions,
    cpuMs: of((run) => run.cpuMs),
    wallMs: quantile(wall, 0.5),
  };
}

/** A rival in a process of its own, in turn with our own sessions. */
function measureRival(name: string, n: number, d: number, times: number): Rival {
  const program = fileURLToPath(new URL(`${name}-process.mjs`, import.meta.url));
  const theirs: { bytes: number; cpuMs: number; trips?: number; exact: boolean }[] = [];
  const ours: SessionRun[] = [];
  for (let i = 0; i < times; i++) {
    // Our first session after a pause compiles the code; so does each process of the rival's first.
    for (let warm = 0; warm < 3; warm++) {
      const pair = pairOf(n, d, next());
      const run = runSession(pair.a, pair.b, random);
      if (warm > 0) ours.push(run);
    }
    const lines = execFileSync(process.execPath, [program, String(n), String(d), '3'], { encoding: 'utf8' });
    const [, ...kept] = lines
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    theirs.push(...kept);
  }
  return {
    name,
    n,
    d,
    bytes: quantile(
      theirs.map((each) => each.bytes),
      0.5,
    ),
    trips: theirs[0].trips ?? null,
    exact: theirs.every((each) => each.exact),
    cpuMs: quantile(
      theirs.map((each) => each.cpuMs),
      0.5,
    ),
    ourBytes: quantile(
      ours.map((each) => each.bytes),
      0.5,
    ),
    ourCpuMs: quantile(
      ours.map((each) => each.cpuMs),
      0.5,
    ),
    load: Math.round(loadavg()[0]),
  };
}

const file = `${RESULTS}.json`;
const report: Report =
  options.write && existsSync(file)
    ? JSON.parse(readFileSync(file, 'utf8'))
    : { cells: [], kept: [], rivals: [] };

function keep<Row extends object>(rows: Row[], row: Row, same: (keyof Row)[]): void {
  const at = rows.findIndex((each) => same.every((field) => each[field] === row[field]));
  rows.splice(at < 0 ? rows.length : at, at < 0 ? 0 : 1, row);
  console.error(JSON.stringify(row));
}

const wanted = (part: string) => options.only === undefined || options.only === part;

if (wanted('grid'))
  for (const n of SIZES) for (const d of differences(n)) keep(report.cells, measureCell(n, d), ['n', 'd']);
if (wanted('kept')) {
  const n = options.quick ? 100_000 : 1_000_000;
  for (const d of [0, 10, 30, 100])
    keep(report.kept, measureKept(n, d, options.quick ? 21 : 401), ['n', 'd']);
}
if (wanted('rivals')) {
  const times = options.quick ? 1 : 3;
  const among = (all: readonly number[]) => all.filter((d) => differences(10_000).includes(d));
  for (const d of among([10, 1000, 10_000]))
    keep(report.rivals, measureRival('riblt', 100_000, d, times), ['name', 'n', 'd']);
  for (const d of among([10]))
    keep(report.rivals, measureRival('negentropy', 10_000, d, times), ['name', 'n', 'd']);
}

report.cells.sort((x, y) => x.n - y.n || x.d - y.d);
console.log(reportText(report));
if (options.write) {
  writeFileSync(file, `${JSON.stringify(report, undefined, 2)}\n`);
  writeFileSync(`${RESULTS}.md`, reportText(report));
}
