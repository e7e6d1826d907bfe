/**
 * The reads that a filter saves, at several sizes and compared with theory; over real servers; and
 * while a merge runs.
 */

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { withEffort } from '@bloomery/testkit/effort';
import { PostgresCluster } from '@bloomery/testkit/programs/postgres-cluster';
import { expectCount, Random } from '@bloomery/testkit/statistics';
import { BloomFilter, SecretKey } from 'bloomery';
import { optimalHashesInteger, rateTrue, rateTrueVariance } from 'bloomery/math';
import pg from 'pg';
import { expect, test } from 'vitest';
import { httpBase } from '../../src/layered/bases/http-base.ts';
import { postgresBase } from '../../src/layered/bases/postgres-base.ts';
import { layerView } from '../../src/layered/layer-view.ts';
import { layered } from '../../src/layered/layered.ts';
import { jsonValues, textValues } from '../../src/layered/values.ts';
import { createSqlite, openSqlite, scratchFolder } from './layer-scratch.ts';

const scratch = scratchFolder();
const texts = { values: textValues };
const key = new SecretKey(Uint8Array.from({ length: 16 }, (_, i) => i));
const CHANGED = 2000;
/** Requests under way together. */
const AT_ONCE = 20;

/** Changes every fiftieth record in batches: 2 %. */
async function changeSome(layer: { batch(changes: { key: string; value: string }[]): Promise<void> }) {
  const changes = Array.from({ length: CHANGED }, (_, i) => ({ key: `key${50 * i}`, value: `new${i}` }));
  for (let i = 0; i < CHANGED; i += 500) await layer.batch(changes.slice(i, i + 500));
}

test('wasted reads are those of theory at 4, 8, 10 and 16 bits, and 97 % are saved at 10', async () => {
  const base = { get: () => 'base' };
  const reads = withEffort(50_000, 50_000);
  for (const bitsPerChange of [4, 8, 10, 16]) {
    const folder = join(scratch, `bits${bitsPerChange}`);
    const layer = await layered(base, folder, { ...texts, bitsPerChange, expectedChanges: CHANGED, key });
    await changeSome(layer);
    const random = new Random(bitsPerChange);
    let changed = 0;
    let wrong = 0;
    for (let i = 0; i < reads; i++) {
      const number = random.below(50 * CHANGED);
      const isChanged = number % 50 === 0;
      if (isChanged) changed++;
      const value = await layer.get(`key${number}`);
      if (value !== (isChanged ? `new${number / 50}` : 'base')) wrong++;
    }
    expect(wrong, 'wrong answers').toBe(0);
    const stats = layer.stats();
    expect([stats.reads, stats.changed, stats.saved + stats.wasted]).toEqual([
      reads,
      changed,
      reads - changed,
    ]);
    const bits = bitsPerChange * CHANGED;
    const hashes = optimalHashesInteger(bits, CHANGED);
    const rate = rateTrue(bits, hashes, CHANGED);
    const trials = reads - changed;
    // The rate of one filter varies about its mean, and the reads about that rate.
    const variance = trials * rate * (1 - rate) + trials ** 2 * rateTrueVariance(bits, hashes, CHANGED);
    expectCount(stats.wasted, trials * rate, Math.sqrt(variance), `${bitsPerChange} bits`);
    // Without the filter each read looks for a change. 2 % of them find one.
    if (bitsPerChange >= 10) expect(stats.saved / reads).toBeGreaterThan(0.97);
    await layer.close();
  }
});

/** A server that counts its requests, by the first part of their path. */
async function countingServer(answer: (place: string, key: string) => Promise<[number, string]>) {
  const counts = new Map<string, number>();
  const server: Server = createServer(async (request, response) => {
    const [, place, name] = request.url!.split('/');
    counts.set(place, (counts.get(place) ?? 0) + 1);
    const [status, body] = await answer(place, decodeURIComponent(name));
    response.writeHead(status).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = () => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  };
  return { url, counts, close };
}

test('over HTTP, 99 % of unchanged records cost one round trip instead of two at 16 bits', async () => {
  const owner = await layered({ get: () => 'base' }, join(scratch, 'remote'), {
    ...texts,
    bitsPerChange: 16,
    expectedChanges: CHANGED,
    key,
  });
  await changeSome(owner);
  await owner.delete('key50');
  const server = await countingServer(async (place, name) => {
    if (place === 'base') return [200, `base of ${name}`];
    const change = await owner.changeOf(name);
    if (change === undefined) return [404, ''];
    return change.deleted === true ? [410, ''] : [200, change.value];
  });
  const view = layerView({
    base: httpBase({ url: `${server.url}/base/{key}`, values: textValues }),
    changes: {
      async get(name) {
        const response = await fetch(`${server.url}/changes/${encodeURIComponent(name)}`);
        const value = await response.text();
        if (response.status === 404) return undefined;
        return response.status === 410 ? { key: name, deleted: true } : { key: name, value };
      },
    },
    filter: BloomFilter.decode(owner.encodeFilter(), { key }),
  });
  const count = withEffort(1000, 1000);
  const names = Array.from({ length: count }, (_, i) => `key${50 * i + 1}`);
  for (let i = 0; i < count; i += AT_ONCE) {
    const some = names.slice(i, i + AT_ONCE);
    expect(await Promise.all(some.map((name) => view.get(name)))).toEqual(
      some.map((name) => `base of ${name}`),
    );
  }
  const unchanged = server.counts.get('changes') ?? 0;
  expect(server.counts.get('base')).toBe(count);
  expect(unchanged / count, 'second round trips').toBeLessThan(0.01);
  expect(view.stats()).toEqual({ reads: count, saved: count - unchanged, changed: 0, wasted: unchanged });
  expect([await view.get('key100'), await view.get('key50')]).toEqual(['new2', undefined]);
  view.replaceFilter({ has: () => true });
  await view.get('key1');
  expect(server.counts.get('changes')).toBe(unchanged + 3);
  await server.close();
  await owner.close();
});

test('a table of PostgreSQL is a base, and its records are listed with the changes', async () => {
  await using cluster = await PostgresCluster.start();
  const client = new pg.Client(cluster.connection);
  await client.connect();
  await client.query(
    `create table records (key text primary key, value jsonb);
     insert into records select 'key' || i, to_jsonb(i) from generate_series(1, 2500) i;
     insert into records values ('nothing', null)`,
  );
  const values = jsonValues<unknown>();
  const base = () => postgresBase({ client, table: 'records', values });
  const folder = join(scratch, 'postgres');
  const layer = await layered(base(), folder, { values });
  await layer.set('key7', { seven: true });
  await layer.delete('key8');
  await layer.set('new', 'value');
  expect(await Promise.all(['key7', 'key8', 'key9', 'nothing'].map((name) => layer.get(name)))).toEqual([
    { seven: true },
    undefined,
    9,
    undefined,
  ]);
  const all = new Map<string, unknown>();
  for await (const [name, value] of layer) all.set(name, value);
  expect([all.size, all.get('key2500'), all.get('new'), all.has('key8')]).toEqual([
    2500,
    2500,
    'value',
    false,
  ]);
  await layer.close();
  const other = postgresBase({ client, table: 'other', values });
  await expect(layered(other, folder, { values })).rejects.toMatchObject({ code: 'other-base' });
  const missing = await layered(other, join(scratch, 'missing'), { values });
  await expect(missing.get('x')).rejects.toThrow(/expected rows, got relation "other" does not exist/);
  await missing.close();
  await client.end();
}, 120_000);

test('readers and writers go on during a merge, in this process and beside it', async () => {
  const path = join(scratch, 'busy.sqlite');
  const folder = join(scratch, 'busy');
  createSqlite(path, 5000);
  const layer = await layered(openSqlite(path), folder, texts);
  for (let i = 0; i < 5000; i += 1000)
    await layer.batch(Array.from({ length: 1000 }, (_, j) => ({ key: `key${i + j}`, value: `one${i + j}` })));
  const beside = await layered(openSqlite(path), folder, { ...texts, readOnly: true });
  const steps: number[] = [];
  let isDone = false;
  const merge = layer.merge({ onProgress: (done, total) => steps.push(done / total) }).finally(() => {
    isDone = true;
  });
  let during = 0;
  for (let i = 0; !isDone; i++) {
    const name = `key${(i * 37) % 5000}`;
    const found = await layer.get(name);
    expect(found).toMatch(/^(one|two)/);
    if (i % 20 === 0) {
      await layer.set(name, `two${i}`);
      expect(await layer.get(name)).toBe(`two${i}`);
    }
    if (!isDone) during++;
  }
  expect(await merge).toMatchObject({ deleted: 0 });
  expect(during).toBeGreaterThan(0);
  expect(steps.length).toBeGreaterThan(0);
  expect(await beside.get('key4999')).toBe('one4999');
  await beside.close();
  const changed = layer.stats().changedKeys;
  expect(changed).toBeLessThan(5000);
  await layer.merge();
  const all = new Map<string, string>();
  for await (const [name, value] of layer) all.set(name, value);
  expect(all.size).toBe(5000);
  await layer.close();
  const rows = openSqlite(path);
  expect([rows.get('key4999'), rows.count?.()]).toEqual([all.get('key4999'), 5000]);
  await rows.close?.();
});
