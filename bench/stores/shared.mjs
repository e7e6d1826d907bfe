/**
 * The shared filter on one Redis: checks in many processes, adds per second and their bytes, the
 * time until another process sees an add, and the server's CPU compared with a script per key.
 *
 *     npm run build && node bench/stores/shared.mjs > bench/results/shared.md
 *
 * Needs redis-server. `--quick` takes a tenth of the work, `--only fill`, `claims`, `check`,
 * `read` or `pace` one table. `--readers N` sets the number of readers in `pace`, and `--client`
 * lets them read the log through copies of the client. CPU times are those of the processes
 * concerned, so other work on the machine does not count; wall times need an idle machine. The
 * delay of the writer's own timer says how busy the machine was: a reader cannot be more punctual
 * than that.
 */

import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServerFilter } from '../../packages/stores/dist/shared/index.js';

const { Redis } = createRequire(new URL('../../packages/stores/package.json', import.meta.url))('ioredis');
const QUICK = process.argv.includes('--quick');
const PROCESSES = QUICK ? 10 : 50;
const WATCHERS = 4;
const PORT = 20_000 + (process.pid % 10_000);

const folder = mkdtempSync(join(tmpdir(), 'bloomery-bench-'));
const server = spawn(
  'redis-server',
  ['--port', `${PORT}`, '--bind', '127.0.0.1', '--dir', folder, '--save', ''],
  {
    stdio: ['ignore', 'pipe', 'inherit'],
  },
);
await new Promise((resolve) => {
  server.stdout.on('data', (said) => /Ready to accept/.test(`${said}`) && resolve(said));
});
const redis = new Redis(PORT, '127.0.0.1');

/** CPU of the server in microseconds, bytes that it received, and reads of the log. */
async function serverCost() {
  const info = await redis.info('all');
  /** @param {string} name */
  const field = (name) => Number(new RegExp(`${name}[:=]([0-9.]+)`).exec(info)?.[1]);
  return {
    us: 1e6 * (field('used_cpu_user') + field('used_cpu_sys')),
    bytes: field('total_net_input_bytes'),
    reads: field('cmdstat_xread:calls') || 0,
  };
}

class Member {
  /** @param {object} settings */
  constructor(settings) {
    const program = new URL('shared-process.mjs', import.meta.url);
    this.child = fork(program, [JSON.stringify({ port: PORT, ...settings })], { serialization: 'advanced' });
    this.number = 0;
    this.waiting = new Map();
    this.child.on('message', (/** @type {any} */ reply) => this.waiting.get(reply.number)?.(reply));
    this.ready = this.reply(0);
  }

  /** @param {number} number @returns {Promise<any>} */
  reply(number) {
    return new Promise((resolve) => this.waiting.set(number, resolve));
  }

  /** @param {string} work @param {object} [order] */
  async ask(work, order = {}) {
    const number = ++this.number;
    const reply = this.reply(number);
    this.child.send({ ...order, work, number });
    return reply;
  }

  async end() {
    const gone = once(this.child, 'exit');
    this.child.send({ work: 'end' });
    await gone;
  }
}

/** @param {object} settings @param {number} count */
async function open(settings, count) {
  const members = Array.from({ length: count }, () => new Member(settings));
  await Promise.all(members.map(({ ready }) => ready));
  return members;
}

/** @param {number[]} numbers @param {number} share */
const quantile = (numbers, share) =>
  numbers.toSorted((a, b) => a - b)[Math.floor(share * (numbers.length - 1))] ?? 0;
/** @param {number} value @param {number} digits */
const figure = (value, digits = 2) => value.toLocaleString('en', { maximumFractionDigits: digits });

console.log(`# The shared filter

By \`node bench/stores/${['shared.mjs', ...process.argv.slice(2)].join(' ')}\`: Redis ${/redis_version:(\S+)/.exec(await redis.info('server'))?.[1]}, Node ${process.version}, load ${figure(loadavg()[0] ?? 0, 1)} at the start, ${readFileSync('/proc/cpuinfo', 'utf8').match(/^processor/gm)?.length} cores.
`);

/** @param {string} row */
const wants = (row) => !process.argv.includes('--only') || process.argv.includes(row);

// One writer and one reader.
const adds = QUICK ? 500_000 : 5_000_000;
if (wants('fill')) {
  const settings = { name: 'fill', capacity: adds, rate: 0.01 };
  const [writer, reader] = /** @type {[Member, Member]} */ (await open(settings, 2));
  const readerBefore = await reader.ask('waitFor', {
    id: (await writer.ask('fill', { count: 1000, chunk: 1000 })).id,
  });
  const before = await serverCost();
  const { id, begin, seconds } = await writer.ask('fill', { count: adds, chunk: 50_000 });
  const { end, seconds: readerSeconds } = await reader.ask('waitFor', { id });
  const after = await serverCost();
  const logUs = (after.us - before.us) / adds;
  const scripts = QUICK ? 20_000 : 200_000;
  const scriptUs = await perKeyScripts(scripts);
  console.log(`| one writer, one reader, ${figure(adds)} adds | |
|---|---|
| adds per second, from the first add until the reader has the last | ${figure(adds / ((end - begin) / 1000), 0)} |
| bytes that the server receives per add | ${figure((after.bytes - before.bytes) / adds)} |
| server's CPU per add, snapshots and reader included | ${figure(logUs, 3)} µs |
| server's CPU per add by a script per key, pipelined (7 bits, ${figure(scripts)} keys) | ${figure(scriptUs, 2)} µs |
| ratio | ${figure(scriptUs / logUs, 0)} |
| writer's CPU per add | ${figure((1e6 * seconds) / adds)} µs |
| reader's CPU per add | ${figure((1e6 * (readerSeconds - readerBefore.seconds)) / adds)} µs |
`);
  await Promise.all([writer.end(), reader.end()]);
}

// Test-and-set on the server.
if (wants('claims')) {
  const count = QUICK ? 20_000 : 200_000;
  const filter = await createServerFilter({
    redis,
    name: 'claims',
    capacity: count,
    falsePositiveRate: 0.001,
    settleMs: 100,
    lookMs: 50,
  });
  await filter.ready();
  const keys = Array.from({ length: count }, (_, i) => `key${i}`);
  const costs = [];
  for (const [what, ask] of /** @type {const} */ ([
    ['certainly new', () => filter.addManyIfNew(keys)],
    ['seen before', () => filter.addManyIfNew(keys)],
    ['asked only', () => filter.hasMany(keys)],
  ])) {
    const before = await serverCost();
    await ask();
    const after = await serverCost();
    costs.push({ what, us: (after.us - before.us) / count, bytes: (after.bytes - before.bytes) / count });
  }
  await filter.close();
  const scriptUs = await perKeyScripts(count);
  console.log(`| test-and-set on the server, ${figure(count)} keys | server's CPU per key | bytes to the server per key |
|---|---|---|
${costs.map(({ what, us, bytes }) => `| ${what}, 250 keys in a call | ${figure(us, 2)} µs | ${figure(bytes, 1)} |`).join('\n')}
| a script per key, pipelined (7 bits) | ${figure(scriptUs, 2)} µs | |
`);
}

// Many processes that ask.
if (wants('check')) {
  const settings = { name: 'many', capacity: 1_000_000, rate: 0.01 };
  const members = await open(settings, PROCESSES);
  const { id } = await /** @type {Member} */ (members[0]).ask('fill', { count: 500_000, chunk: 50_000 });
  await Promise.all(members.map((member) => member.ask('waitFor', { id })));
  const before = await serverCost();
  const answers = await Promise.all(members.map((member) => member.ask('check', { count: 500_000 })));
  const after = await serverCost();
  const rates = answers.map(({ perSecond }) => perSecond);
  const isLive = answers.every(({ state }) => state === 'live');
  console.log(`| ${PROCESSES} processes, 500,000 keys of 1,000,000, each asks for 500,000 keys${isLive ? '' : ' (NOT ALL LIVE)'} | |
|---|---|
| checks per CPU second: slowest process, median | ${figure(Math.min(...rates) / 1e6)} M, ${figure(quantile(rates, 0.5) / 1e6)} M |
| bytes to the server per check (looks at the log go on) | ${figure((after.bytes - before.bytes) / (500_000 * PROCESSES), 4)} |
`);
  await Promise.all(members.map((member) => member.end()));
}

// The cost of reading the log, through a light connection and through a copy of the client.
if (wants('read')) {
  const plan = { name: 'read', capacity: 100_000, rate: 1e-6 };
  const [writer] = /** @type {[Member]} */ (await open(plan, 1));
  const ways = [
    { what: 'a light connection', readers: await open(plan, WATCHERS) },
    { what: 'a copy of `ioredis`', readers: await open({ ...plan, isLight: false }, WATCHERS) },
  ];
  const costs = () =>
    Promise.all(ways.map(({ readers }) => Promise.all(readers.map((reader) => reader.ask('cpu')))));
  const count = QUICK ? 5000 : 20_000;
  // The code of the readers is compiled in the first seconds.
  await writer.ask('pace', { prefix: 'warm', count, perSecond: 1000 });
  const before = await costs();
  await writer.ask('pace', { prefix: 'paced', count, perSecond: 1000 });
  const after = await costs();
  const rows = ways.map(({ what }, way) => {
    const each = after[way].map(
      ({ seconds, entries }, i) =>
        (1e6 * (seconds - before[way][i].seconds)) / (entries - before[way][i].entries),
    );
    return `| ${what} | ${figure(quantile(each, 0.5), 0)} µs | ${each.map((us) => figure(us, 0)).join(', ')} |`;
  });
  console.log(`| CPU of a reader per entry of the log, 1,000 adds per second for ${count / 1000} s, by | median | each reader |
|---|---|---|
${rows.join('\n')}
`);
  await Promise.all([writer, ...ways.flatMap(({ readers }) => readers)].map((member) => member.end()));
}

// The time until another process sees an add.
const asked = process.argv.indexOf('--readers');
const readerCounts = asked < 0 ? (QUICK ? [5] : [10, 25, 50]) : [Number(process.argv[asked + 1])];
if (wants('pace')) for (const count of readerCounts) await pace(count);

redis.disconnect();
const gone = once(server, 'exit');
server.kill('SIGKILL');
await gone;
rmSync(folder, { recursive: true, force: true });

/** A script per key that sets seven bits, 1000 keys in a pipeline: the server's CPU per key. */
async function perKeyScripts(/** @type {number} */ keys) {
  const text = "for i = 1, 7 do redis.call('SETBIT', KEYS[1], ARGV[i], 1) end return 1";
  const digest = await redis.script('LOAD', text);
  const bits = 10_000_000;
  const before = await serverCost();
  for (let from = 0; from < keys; from += 1000) {
    const pipeline = redis.pipeline();
    for (let i = 0; i < 1000; i++) {
      const places = Array.from({ length: 7 }, () => Math.floor(Math.random() * bits));
      pipeline.evalsha(digest, 1, 'scripted', ...places);
    }
    await pipeline.exec();
  }
  const after = await serverCost();
  return (after.us - before.us) / keys;
}

/** Adds at a steady rate, of which some of the readers tell when they see them. */
async function pace(/** @type {number} */ readerCount) {
  const name = `pace${readerCount}`;
  const isLight = !process.argv.includes('--client');
  const members = await open({ name, capacity: 100_000, rate: 1e-6, isLight }, readerCount + 1);
  const [writer, ...readers] = /** @type {[Member, ...Member[]]} */ (members);
  const count = QUICK ? 10_000 : 20_000;
  // The code of 51 processes that have just started is not compiled yet.
  await writer.ask('pace', { prefix: 'warm', count: count / 2, perSecond: 1000 });
  const watching = readers.slice(0, WATCHERS).map((reader) => reader.ask('watch', { count }));
  const quiet = readers.slice(WATCHERS);
  const seconds = async () =>
    (await Promise.all(quiet.map((reader) => reader.ask('cpu')))).map((cpu) => cpu.seconds);
  const cpuBefore = await seconds();
  const before = await serverCost();
  const begin = performance.now();
  const added = (await writer.ask('pace', { prefix: 'paced', count, perSecond: 1000 })).times;
  const wall = (performance.now() - begin) / 1000;
  const seen = await Promise.all(watching);
  const after = await serverCost();
  const cpu = (await seconds()).map((end, i) => (100 * (end - (cpuBefore[i] ?? 0))) / wall);
  const lags = seen.flatMap(({ times }) =>
    times.map((/** @type {number} */ time, /** @type {number} */ i) => time - added[i]),
  );
  const late = added.map((/** @type {number} */ time, /** @type {number} */ i) => time - added[0] - i);
  const reads = (after.reads - before.reads) / wall / readerCount;
  console.log(`| ${readerCount} readers, 1,000 adds per second for ${count / 1000} s; ${WATCHERS} readers tell when they have each | |
|---|---|
| time until a reader has an add: median, p99, p99.9 | ${[0.5, 0.99, 0.999].map((share) => figure(quantile(lags, share), 1)).join(' ms, ')} ms |
| delay of the writer's own timer, one add per millisecond: median, p99 | ${[0.5, 0.99].map((share) => figure(quantile(late, share), 1)).join(' ms, ')} ms |
| reads of the log, per reader and second | ${figure(reads, 0)} |
| server's CPU | ${figure((after.us - before.us) / count, 0)} µs per add |
| CPU of a reader that does not ask, median | ${figure(quantile(cpu, 0.5), 1)} % of a core |
`);
  await Promise.all(members.map((member) => member.end()));
}
