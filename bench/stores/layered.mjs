/**
 * Changes over a SQLite base: wasted reads against bits for each changed record, theory and
 * measured (the questions of Severance and Lohman 1976, Gremillion 1982 and Mullin 1983); CPU times
 * of reads with and without the filter; changes per second; start and merge; and the number of
 * changes at which a merge pays.
 *
 *     npm run build && node bench/stores/layered.mjs > bench/results/layered.md
 *
 * `--quick` takes a tenth of the records, `--counts` prints the tables of counts alone. Counts do
 * not depend on other programs; CPU times hardly, and wall times do.
 */

import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { layered, layerView, recommendedChanges, sqliteBase, textValues } from '@bloomery/stores/layered';
import { BloomFilter, SecretKey } from 'bloomery';
import { optimalHashesInteger, rateTrue, rateTrueVariance } from 'bloomery/math';

const Database = createRequire(new URL('../../packages/stores/package.json', import.meta.url))('libsql');
const QUICK = process.argv.includes('--quick');
const RECORDS = QUICK ? 100_000 : 1_000_000;
const CHANGED = RECORDS / 50;
const READS = QUICK ? 50_000 : 200_000;
const folder = mkdtempSync(join(tmpdir(), 'bloomery-bench-'));
const path = join(folder, 'base.sqlite');
const key = new SecretKey(Uint8Array.from({ length: 16 }, (_, i) => i * 7));
const values = textValues;

/** @param {number} value @param {number} digits */
const figure = (value, digits = 2) => value.toLocaleString('en', { maximumFractionDigits: digits });
/** @param {number} share @param {number} digits */
const percent = (share, digits = 3) => `${figure(100 * share, digits)} %`;

let state = 1;
/** @param {number} end */
function below(end) {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return Math.floor((state / 2 ** 32) * end);
}

/**
 * CPU and wall time of some work, in microseconds. @template T @param {() => Promise<T>} work
 */
async function timed(work) {
  const cpu = process.cpuUsage();
  const begin = performance.now();
  const result = await work();
  const { user, system } = process.cpuUsage(cpu);
  return { cpuUs: user + system, wallUs: 1000 * (performance.now() - begin), result };
}

function createBase() {
  const database = new Database(path);
  database.exec('create table records (key text primary key, value text) without rowid; begin');
  const insert = database.prepare('insert into records values (?, ?)');
  for (let i = 0; i < RECORDS; i++) insert.run(`key${i}`, `a value of some forty characters, number ${i}`);
  database.exec('commit');
  database.close();
}
const openBase = () => sqliteBase({ path, Database, table: 'records', values });

/**
 * @param {{ batch(changes: { key: string, value: string }[]): Promise<void> }} layer @param
 * {number} count
 */
async function change(layer, count) {
  const step = Math.floor(RECORDS / count);
  for (let i = 0; i < count; i += 1000) {
    const some = Array.from({ length: Math.min(1000, count - i) }, (_, j) => ({
      key: `key${(i + j) * step}`,
      value: `a changed value of some characters, number ${i + j}`,
    }));
    await layer.batch(some);
  }
}

createBase();
console.log(`# Changes over a base

By \`node bench/stores/layered.mjs${process.argv
  .slice(2)
  .map((word) => ` ${word}`)
  .join(
    '',
  )}\`: a SQLite base of ${figure(RECORDS)} records (${figure(statSync(path).size / 1e6, 0)} MB), ${figure(CHANGED)} of them changed (2 %), Node ${process.version}, ${readFileSync('/proc/cpuinfo', 'utf8').match(/^processor/gm)?.length} cores, load ${figure(loadavg()[0] ?? 0, 1)} at the start. Base and log are in the page cache.

## Wasted reads against bits for each changed record

${figure(READS)} random reads. A read of the differential file is wasted if it finds no change. Theory is the true rate of a filter with the best whole number of hashes; in brackets is the distance of the measured rate in standard deviations.

| bits | hashes | filter | differential reads | wasted | rate of unchanged records | theory | saved |
|---|---|---|---|---|---|---|---|
| no filter | | | ${figure(READS)} | ${figure(READS * 0.98, 0)} expected | 100 % | 100 % | 0 % |`);
for (const bitsPerChange of [2, 4, 6, 8, 10, 12, 16, 20]) {
  const place = join(folder, `bits${bitsPerChange}`);
  const layer = await layered(openBase(), place, { values, bitsPerChange, expectedChanges: CHANGED, key });
  await change(layer, CHANGED);
  for (let i = 0; i < READS; i++) await layer.get(`key${below(RECORDS)}`);
  const { reads, changed, wasted, saved, filterBytes } = layer.stats();
  const bits = Math.ceil(bitsPerChange * CHANGED);
  const hashes = optimalHashesInteger(bits, CHANGED);
  const rate = rateTrue(bits, hashes, CHANGED);
  const trials = reads - changed;
  const sigma = Math.sqrt(trials * rate * (1 - rate) + trials ** 2 * rateTrueVariance(bits, hashes, CHANGED));
  const distance = (wasted - trials * rate) / sigma;
  console.log(
    `| ${bitsPerChange} | ${hashes} | ${figure(filterBytes / 1000, 0)} kB | ${figure(changed + wasted)} | ${figure(wasted)} | ${percent(wasted / trials)} | ${percent(rate)} (${figure(distance, 1)}) | ${percent(saved / reads, 1)} |`,
  );
  await layer.close();
  if (bitsPerChange !== 10) rmSync(place, { recursive: true });
}

const unchanged = () => `key${50 * below(RECORDS / 50) + 1 + below(49)}`;

// The same reads with the changes on another machine: a server on loopback.
/** @type {import('@bloomery/stores/layered').Layered<string> | undefined} */
let served;
const server = createServer(async (request, response) => {
  const name = String(request.url).slice('/changes/'.length);
  if (request.url?.startsWith('/base/')) return response.end('base');
  const found = await served?.changeOf(name);
  response.writeHead(found === undefined ? 404 : 200).end('');
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(null)));
const address = /** @type {import('node:net').AddressInfo} */ (server.address());
const url = `http://127.0.0.1:${address.port}`;
/** @param {number} bits */
async function overHttp(bits) {
  const owner = await layered({ get: () => undefined }, join(folder, `http${bits}`), {
    values,
    bitsPerChange: bits || 1,
    expectedChanges: CHANGED,
    key,
  });
  await change(owner, CHANGED);
  served = owner;
  let requests = 0;
  /** @param {string} where @param {string} name */
  const ask = async (where, name) => {
    requests++;
    const response = await fetch(`${url}/${where}/${name}`);
    await response.arrayBuffer();
    return response.status;
  };
  const view = layerView({
    base: { get: async (name) => `${await ask('base', name)}` },
    changes: {
      get: async (name) => ((await ask('changes', name)) === 200 ? { key: name, value: '' } : undefined),
    },
    filter: bits === 0 ? { has: () => true } : BloomFilter.decode(owner.encodeFilter(), { key }),
  });
  const count = QUICK ? 1000 : 5000;
  const names = Array.from({ length: count }, unchanged);
  for (const name of names) await view.get(name);
  const { saved } = view.stats();
  await owner.close();
  return { trips: requests / count, one: saved / count };
}
const http = { none: await overHttp(0), ten: await overHttp(10), sixteen: await overHttp(16) };
server.closeAllConnections();
await new Promise((resolve) => server.close(resolve));

console.log(`
## Base and changes behind HTTP

${figure(QUICK ? 1000 : 5000)} reads of unchanged records; round trips are counted by the client of a real server.

| | round trips per read | records with one round trip |
|---|---|---|
| no filter | ${figure(http.none.trips, 4)} | ${percent(http.none.one, 2)} |
| 10 bits | ${figure(http.ten.trips, 4)} | ${percent(http.ten.one, 2)} |
| 16 bits | ${figure(http.sixteen.trips, 4)} | ${percent(http.sixteen.one, 2)} |`);
if (process.argv.includes('--counts')) {
  rmSync(folder, { recursive: true, force: true });
  process.exit();
}

const place = join(folder, 'bits10');
const opened = await timed(() =>
  layered(openBase(), place, { values, bitsPerChange: 10, expectedChanges: CHANGED, key }),
);
const layer = opened.result;
const startUs = opened.cpuUs;

/**
 * CPU per read in microseconds. @param {{ get(key: string): unknown }} from @param {(i: number) =>
 * string} name @param {number} count
 */
async function perRead(from, name, count) {
  for (let i = 0; i < count / 10; i++) await from.get(name(i));
  const { cpuUs } = await timed(async () => {
    for (let i = 0; i < count; i++) await from.get(name(i));
  });
  return cpuUs / count;
}
const some = READS / 10;
const changedName = () => `key${50 * below(RECORDS / 50)}`;
const bare = openBase();
const costs = {
  base: await perRead(bare, unchanged, some),
  unchanged: await perRead(layer, unchanged, some),
  changed: await perRead(layer, changedName, some),
};

console.log(`
## What a read costs

CPU time of the process, per read, ${figure(some)} reads one after the other.

| | µs |
|---|---|
| the base alone | ${figure(costs.base, 1)} |
| an unchanged record, 10 bits | ${figure(costs.unchanged, 1)} |
| a changed record | ${figure(costs.changed, 1)} |
`);

// Changes, a start and a merge.
const singles = QUICK ? 200 : 1000;
const single = await timed(async () => {
  for (let i = 0; i < singles; i++) await layer.set(`key${below(RECORDS)}`, 'one by one');
});
const together = await timed(() =>
  Promise.all(Array.from({ length: 10 * singles }, () => layer.set(`key${below(RECORDS)}`, 'together'))),
);
const { logBytes, changedKeys } = layer.stats();
await change(layer, RECORDS / 10);
const before = layer.stats();
const heap = process.memoryUsage().rss;
let most = heap;
const watch = setInterval(() => {
  most = Math.max(most, process.memoryUsage().rss);
}, 5);
let readsDuring = 0;
let isMerging = true;
const readers = (async () => {
  while (isMerging) {
    await layer.get(unchanged());
    readsDuring++;
    if (readsDuring % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
})();
const merged = await timed(() =>
  layer.merge().finally(() => {
    isMerging = false;
  }),
);
clearInterval(watch);
await readers;
const { result: report } = merged;
const mergeSeconds = report.ms / 1000;
console.log(`## Changes, starts and merges

| | |
|---|---|
| changes per second, one after the other (each flushed), wall time | ${figure((1e6 * singles) / single.wallUs, 0)} |
| changes per second, ${figure(10 * singles)} at once (flushed together), wall time | ${figure((1e7 * singles) / together.wallUs, 0)} |
| bytes of the log per changed record | ${figure(logBytes / changedKeys, 0)} |
| CPU of a start with ${figure(CHANGED)} changed records | ${figure(startUs / 1000, 0)} ms, ${figure(startUs / CHANGED, 1)} µs per change |
| a merge of ${figure(before.changedKeys)} changed records (${figure(before.logBytes / 1e6, 0)} MB of log), wall time with reads going on | ${figure(mergeSeconds, 1)} s |
| reads of this process during the merge | ${figure(readsDuring)} |
| growth of the process's memory during the merge | ${figure((most - heap) / 1e6, 0)} MB |
`);

const extraSeconds = Math.max(0, costs.changed - costs.base) / 1e6;
console.log(`## When to merge

\`recommendedChanges\` with the costs of this run: a merge of ${figure(mergeSeconds, 1)} s, ${figure(1e6 * extraSeconds, 1)} µs more for a read of a changed record than for one of the base, ${figure(startUs / CHANGED, 1)} µs of a start for each change.

| reads for each change | starts for each 1,000 changes | changed records at which a merge pays | share of the base |
|---|---|---|---|`);
for (const [readsPerChange, starts] of [
  [1, 0],
  [10, 0],
  [100, 0],
  [1000, 0],
  [10, 1],
  [10, 10],
]) {
  const best = recommendedChanges({
    mergeSeconds,
    differentialReadSeconds: extraSeconds,
    readsPerChange: readsPerChange ?? 0,
    baseRecords: RECORDS,
    startSecondsPerChange: startUs / CHANGED / 1e6,
    startsPerChange: (starts ?? 0) / 1000,
  });
  const pays = Number.isFinite(best);
  console.log(
    `| ${readsPerChange} | ${starts} | ${pays ? figure(best, 0) : 'never: reads cost no more'} | ${pays ? percent(best / RECORDS, 1) : ''} |`,
  );
}
await layer.close();
rmSync(folder, { recursive: true, force: true });
