/**
 * `npm run bench:join`: a join of two PostgreSQL clusters, a million near rows with ten million far
 * rows of which 2 % match, by every way: postgres_fdw as it plans, the keys, the filter as a
 * parameter, a stream beside the far database, and the condition inside postgres_fdw. Bytes are
 * counted by a proxy between the two, CPU time is that of the far server's own process, and every
 * answer is compared with that of plain SQL.
 */

import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import {
  csv,
  fdwCondition,
  type JoinPlan,
  type JoinWay,
  nearFilter,
  PushdownFilter,
  postgres,
  type Row,
  type SemiJoin,
  semiJoin,
} from '@bloomery/stores/join';
import pg from 'pg';
import { PostgresCluster } from '../../../packages/testkit/src/programs/postgres-cluster.ts';
import { processCpuMs } from '../../../packages/testkit/src/programs/process-cpu.ts';

const HELP = `npm run bench:join -- [options]

  --quick            a tenth: 100,000 rows with 1,000,000
  --cpu              only the CPU of the far server, with and without a copy of the filter for each hash
  --markdown FILE    write the tables into this file
  --help`;

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    cpu: { type: 'boolean', default: false },
    markdown: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
if (options.help) {
  console.log(HELP);
  process.exit();
}

const SCALE = options.quick ? 0.1 : 1;
const NEAR_ROWS = options.cpu ? 1_000_000 : 1_000_000 * SCALE;
const FAR_ROWS = 10_000_000 * SCALE;
const MATCHES = FAR_ROWS / 50;
const COLUMNS = ['email', 'amount', 'note'];
const MB = 1e6;
const PRECISION = 0.015;
const ROUNDS = 5;
/** The filter that the plan of the full form chooses. */
const FULL_FILTER = { bitsLog2: 24, hashes: 7 };
const SCAN = 'select count(*) from far_t where amount >= 0';

interface Measured {
  readonly name: string;
  readonly up: number;
  readonly down: number;
  readonly seconds: number;
  readonly farCpuMs: number | null;
  readonly rows: number;
}

interface Round {
  /** CPU time of a bare scan. */
  readonly scanMs: number;
  readonly filtered: Measured;
}

/** CPU times of one round of `--cpu`, in milliseconds. */
interface CpuRound {
  readonly scan: number;
  readonly copies: number;
  readonly row: number;
}

interface Limit {
  readonly what: string;
  readonly measured: string;
  readonly limit: string;
  readonly kept: boolean;
}

const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'bloomery-join-'));
chmodSync(folder, 0o755);
const children: ChildProcess[] = [];
const config = {
  shared_buffers: '256MB',
  max_wal_size: '4GB',
  // One process does all work of a query, so that its CPU time is that of the query.
  max_parallel_workers_per_gather: '0',
  work_mem: '256MB',
};
const clusters = await Promise.all([PostgresCluster.start({ config }), PostgresCluster.start({ config })]);
try {
  await run(clusters[0], clusters[1]);
} finally {
  for (const child of children) child.kill();
  for (const cluster of clusters) await cluster[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
}

async function run(nearCluster: PostgresCluster, farCluster: PostgresCluster): Promise<void> {
  const near = await connected(nearCluster.connection);
  const direct = await connected(farCluster.connection);
  log('filling the tables');
  const email = (i: string) => `'user' || lpad((${i})::text, 9, '0') || '@example.org'`;
  await near.query(
    `create unlogged table near_t as select i id, ${email(`${FAR_ROWS - MATCHES} + i`)} email
       from generate_series(1, ${NEAR_ROWS}) i`,
  );
  await direct.query(
    `create unlogged table far_t as select i::int8 id, ${email('i')} email, i % 1000 amount, md5(i::text) note
       from generate_series(1, ${FAR_ROWS}) i`,
  );
  await near.query('analyze near_t');
  await direct.query('vacuum analyze far_t');
  const truth = (
    await direct.query({
      text: `select count(*)::int8, sum(amount)::int8, sum(('x' || left(note, 8))::bit(32)::int8)::int8
               from far_t where id > ${FAR_ROWS - MATCHES}`,
      rowMode: 'array',
    })
  ).rows[0].map(Number) as number[];

  const proxied = { ...farCluster.connection, host: folder };
  const proxy = fork(path('counting-proxy.mjs'), [join(folder, '.s.PGSQL.5432'), farCluster.socket]);
  children.push(proxy);
  await once(proxy, 'message');
  const far = await connected(proxied);
  const backend = Number((await far.query('select pg_backend_pid() pid')).rows[0].pid);
  const moved = async () => {
    proxy.send('');
    return (await once(proxy, 'message'))[0] as { up: number; down: number };
  };

  async function measure(name: string, work: () => Promise<Sums>, hasCpu = true): Promise<Measured> {
    log(name);
    const before = await moved();
    const cpu = processCpuMs(backend);
    const start = performance.now();
    const sums = await work();
    const seconds = (performance.now() - start) / 1000;
    const after = await moved();
    if (sums.join() !== truth.join())
      throw new Error(`Cannot trust ${name}: expected the answer ${truth}, got ${sums}`);
    return {
      name,
      up: after.up - before.up,
      down: after.down - before.down,
      seconds,
      farCpuMs: hasCpu ? processCpuMs(backend) - cpu : null,
      rows: sums[0],
    };
  }

  const nearSide = postgres({ client: near, table: 'near_t' });
  const farSide = postgres({ client: far, table: 'far_t' });
  const planned = (more: { way?: JoinWay; precision?: number } = {}) =>
    semiJoin({ near: nearSide, far: farSide, on: ['email'], columns: COLUMNS, ...more });

  if (options.cpu) {
    const filter = await filterOf(near, FULL_FILTER);
    const values = [Buffer.from(filter.bytes.buffer)];
    const query = (bits: string) =>
      `select email, amount, note from far_t where ${filter.condition(['email'], bits)} offset 0`;
    const cpuOf = async (text: string, parameters: unknown[] = []) => {
      const cpu = processCpuMs(backend);
      await far.query({ text, values: parameters, rowMode: 'array' });
      return processCpuMs(backend) - cpu;
    };
    const asRow = `select p.* from (select $1::bytea bits offset 0) f cross join lateral (${query('f.bits')}) p`;
    const cpuRounds: CpuRound[] = [];
    for (let i = 0; i < ROUNDS; i++) {
      const scan = await cpuOf(SCAN);
      // A bind parameter is a constant of the plan, copied for each place that names it.
      const copies = await cpuOf(query('$1::bytea'), values);
      cpuRounds.push({ scan, copies, row: await cpuOf(asRow, values) });
    }
    reportCpu(cpuRounds, filter);
    for (const client of [near, direct, far]) await client.end();
    return;
  }

  // A scan and a join by turns, so that other work on the machine slows both. The round in the
  // middle counts.
  const rounds: Round[] = [];
  for (let i = 0; i < ROUNDS; i++) {
    const cpu = processCpuMs(backend);
    await far.query(SCAN);
    const scanMs = processCpuMs(backend) - cpu;
    const filtered = await measure('filter as a parameter', async () => sumOf((await planned()).rows()));
    rounds.push({ scanMs, filtered });
  }
  rounds.sort((x, y) => scansOf(x) - scansOf(y));
  const keys = await measure('keys as a parameter', async () =>
    sumOf((await planned({ way: 'keys' })).rows()),
  );
  let explained: SemiJoin | undefined;
  const predicted = await measure('--explain, then the join', async () => {
    explained = await planned({ precision: PRECISION });
    return sumOf(explained.rows());
  });
  const plan = explained!.plan!;

  const fdwSettings = `host '${folder}', dbname 'postgres', fetch_size '10000'`;
  await near.query(
    `create extension postgres_fdw;
     create server far foreign data wrapper postgres_fdw options (${fdwSettings});
     create user mapping for postgres server far options (user 'postgres');
     create foreign table far_f(id int8, email text, amount int, note text) server far options (table_name 'far_t')`,
  );
  const sums = "count(*)::int8, sum(f.amount)::int8, sum(('x' || left(f.note, 8))::bit(32)::int8)::int8";
  const query = `select ${sums} from near_t n join far_f f on f.email = n.email`;
  const fdw = await measure('postgres_fdw as it plans', () => sumsOf(near, { text: query }), false);
  const condition = fdwCondition(await filterOf(near, plan.filter), 'f.email');
  await near.query(condition.setup);
  const inside = await measure(
    'condition inside postgres_fdw',
    () =>
      sumsOf(near, {
        name: 'joined',
        text: `${query} where ${condition.text}`,
        values: [Buffer.from(condition.parameter)],
      }),
    false,
  );

  const stream = await measureStream(farCluster.connection.host, plan.bestRate, nearSide, truth);
  report({ plan, rounds, keys, predicted, fdw, inside, stream });
  for (const client of [near, direct, far]) await client.end();
}

/** A filter with all near keys. */
async function filterOf(near: pg.Client, size: typeof FULL_FILTER): Promise<PushdownFilter> {
  const filter = new PushdownFilter({ types: ['text'], ...size });
  for (const row of (await near.query({ text: 'select email from near_t', rowMode: 'array' })).rows)
    filter.add(row);
  return filter;
}

type Sums = readonly number[];

async function sumOf(rows: AsyncIterable<Row>): Promise<Sums> {
  const sums = [0, 0, 0];
  for await (const [, amount, note] of rows) {
    sums[0]++;
    sums[1] += Number(amount);
    sums[2] += Number.parseInt(note!.slice(0, 8), 16);
  }
  return sums;
}

async function sumsOf(client: pg.Client, query: object): Promise<Sums> {
  const { rows } = await client.query({ ...query, rowMode: 'array' } as never as pg.QueryArrayConfig);
  return rows[0].map(Number);
}

/** Starts the process beside the far database, and counts the bytes of its pipes. */
async function measureStream(
  host: string,
  falsePositiveRate: number,
  near: ReturnType<typeof postgres>,
  truth: Sums,
): Promise<Measured> {
  log('stream beside the far database');
  const start = performance.now();
  const { frame } = await nearFilter({ near, on: ['email'], falsePositiveRate });
  const child = spawn(process.execPath, [path('far-process.mjs'), host, 'far_t'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  children.push(child);
  child.stdin.end(frame);
  let down = 0;
  async function* counted() {
    for await (const piece of child.stdout) {
      down += piece.length;
      yield piece as Uint8Array;
    }
  }
  const finished = await semiJoin({ near, far: csv(counted), on: ['email'], columns: COLUMNS });
  const sums = await sumOf(finished.rows());
  if (sums.join() !== truth.join())
    throw new Error(`Cannot trust the stream: expected the answer ${truth}, got ${sums}`);
  const seconds = (performance.now() - start) / 1000;
  return {
    name: 'stream beside the database',
    up: frame.length,
    down,
    seconds,
    farCpuMs: null,
    rows: sums[0],
  };
}

interface Results {
  readonly plan: JoinPlan;
  /** The join after a precise plan, with the slices of the plan. */
  readonly predicted: Measured;
  /** Sorted by `scansOf`. */
  readonly rounds: readonly Round[];
  readonly keys: Measured;
  readonly fdw: Measured;
  readonly inside: Measured;
  readonly stream: Measured;
}

/** The far server's CPU time for a join, in bare scans. */
function scansOf({ scanMs, filtered }: Round): number {
  return (filtered.farCpuMs ?? 0) / scanMs;
}

function report({ plan, predicted, rounds, keys, fdw, inside, stream }: Results): void {
  const middle = rounds[Math.floor(rounds.length / 2)];
  const { filtered, scanMs } = middle;
  const total = ({ up, down }: Measured) => up + down;
  const whole = total(predicted);
  const most = (what: string, bytes: number, limitMb: number): Limit => ({
    what,
    measured: megabytes(bytes),
    limit: `at most ${(limitMb * SCALE).toPrecision(3)} MB`,
    kept: bytes <= limitMb * SCALE * MB,
  });
  const cpu = scansOf(middle);
  const apart = whole / plan.bytes.filter - 1;
  const limits: Limit[] = [
    most('filter as a parameter', total(filtered), 18.8),
    most('stream beside the database', total(stream), 15.2),
    most('condition inside postgres_fdw', total(inside), 21.5),
    {
      what: "far server's CPU, in bare scans",
      measured: cpu.toFixed(1),
      limit: 'at most 4.5',
      kept: cpu <= 4.5,
    },
    {
      what: 'bytes of --explain and the join, beside the plan',
      measured: `${(100 * apart).toFixed(1)} %`,
      limit: 'within 5 %',
      kept: Math.abs(apart) <= 0.05,
    },
  ];
  const rows = [fdw, keys, filtered, inside, stream].map(
    (one) =>
      `| ${one.name} | ${megabytes(one.up)} | ${megabytes(one.down)} | ${(total(fdw) / total(one)).toFixed(1)} | ` +
      `${one.farCpuMs === null ? '' : `${(one.farCpuMs / 1000).toFixed(2)} s`} | ${one.seconds.toFixed(1)} s |`,
  );
  const { matches, filter } = plan;
  const lines = [
    '# Joins of two databases',
    '',
    `Written by \`npm --prefix bench run bench:join${options.quick ? ' -- --quick' : ''}\`. ${NEAR_ROWS.toLocaleString('en')} near rows, ` +
      `${FAR_ROWS.toLocaleString('en')} far rows, ${MATCHES.toLocaleString('en')} of them match; ${cpus()[0].model}, ` +
      `${cpus().length} cores, load ${loadavg()[0].toFixed(1)}. Every answer equals that of plain SQL.`,
    '',
    '| way | to the far side | from it | times fewer bytes than postgres_fdw | CPU of the far server | wall time |',
    '|---|---|---|---|---|---|',
    ...rows,
    '',
    `A bare scan of the far table (\`${SCAN}\`) took ${(scanMs / 1000).toFixed(2)} s of CPU. The join by the filter took ` +
      `${rounds.map((round) => scansOf(round).toFixed(1)).join(', ')} times the CPU of the scan beside it, in ${rounds.length} rounds.`,
    `The plan: ${Math.round(matches.value).toLocaleString('en')} matches (${Math.round(matches.low).toLocaleString('en')} to ` +
      `${Math.round(matches.high).toLocaleString('en')}), p* ${(100 * plan.bestRate).toFixed(3)} %, filter of ${megabytes(filter.bytes)} with ` +
      `${filter.hashes} hashes; ${megabytes(plan.bytes.filter)} with its slices of ${megabytes(plan.sliceBytes)}, ` +
      `${megabytes(plan.bytes.keys)} by keys, ${megabytes(plan.bytes.all)} for the whole table. Moved: ${megabytes(whole)}.`,
    '',
    '| limit | measured | asked for | |',
    '|---|---|---|---|',
    ...limits.map(
      ({ what, measured, limit, kept }) =>
        `| ${what} | ${measured} | ${limit} | ${kept ? 'kept' : 'missed'} |`,
    ),
    '',
  ];
  console.log(lines.join('\n'));
  if (options.markdown !== undefined) writeFileSync(options.markdown, lines.join('\n'));
  if (limits.some(({ kept }) => !kept)) process.exitCode = 1;
}

function reportCpu(rounds: readonly CpuRound[], { bytes, hashes }: PushdownFilter): void {
  const middle = (numbers: number[]) => numbers.sort((x, y) => x - y)[Math.floor(numbers.length / 2)];
  const row = (what: string, of: (round: CpuRound) => number) =>
    `| ${what} | ${(middle(rounds.map(of)) / 1000).toFixed(2)} s | ` +
    `${middle(rounds.map((round) => of(round) / round.scan)).toFixed(1)} | ` +
    `${rounds.map((round) => (of(round) / round.scan).toFixed(1)).join(', ')} |`;
  const lines = [
    "# The far server's CPU in a join",
    '',
    `Written by \`npm --prefix bench run bench:join -- --cpu${options.quick ? ' --quick' : ''}\`. ${NEAR_ROWS.toLocaleString('en')} near rows, ` +
      `${FAR_ROWS.toLocaleString('en')} far rows, ${MATCHES.toLocaleString('en')} of them match; a filter of ${megabytes(bytes.length)} with ` +
      `${hashes} hashes; ${cpus()[0].model}, ${cpus().length} cores, load ${loadavg()[0].toFixed(1)}. Medians of ${rounds.length} rounds.`,
    '',
    '| statement | CPU | in bare scans | each round |',
    '|---|---|---|---|',
    row(`\`${SCAN}\``, ({ scan }) => scan),
    row('the condition with the filter as a parameter, copied for each hash', ({ copies }) => copies),
    row('the condition with the filter as the value of a row, as the join does it', (round) => round.row),
    '',
  ];
  console.log(lines.join('\n'));
  if (options.markdown !== undefined) writeFileSync(options.markdown, lines.join('\n'));
}

function megabytes(bytes: number): string {
  return `${(bytes / MB).toFixed(2)} MB`;
}

async function connected(connection: object): Promise<pg.Client> {
  const client = new pg.Client(connection);
  await client.connect();
  return client;
}

function log(text: string): void {
  console.error(`${new Date().toISOString().slice(11, 19)} ${text}`);
}
