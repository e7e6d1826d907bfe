/**
 * A filter on a Redis Cluster of three masters: parts on all nodes, a node that dies and comes back
 * empty, and a slot that moves to another node while keys are added.
 */

import { eventually, until } from '@bloomery/testkit/eventually';
import { RedisCluster } from '@bloomery/testkit/programs/redis-cluster';
import { RedisServer } from '@bloomery/testkit/programs/redis-server';
import { Cluster } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { partName, slotOf } from '../../src/shared/decisions/cluster-parts.ts';
import {
  type ClusteredFilter,
  type ClusteredFilterOptions,
  createClusteredFilter,
  type RedisClient,
} from '../../src/shared/index.ts';
import { CLIENTS, type ClientName, clientFor, numbered, QUICK_TIMES } from './members.ts';

const SLOW = { timeout: 120_000 };
const PARTS = 6;

let cluster: RedisCluster;
beforeAll(async () => {
  cluster = await RedisCluster.start();
}, SLOW.timeout);
afterAll(() => cluster?.[Symbol.asyncDispose]());

async function open(
  name: string,
  client: ClientName = 'ioredis',
  options: Partial<ClusteredFilterOptions> = {},
): Promise<ClusteredFilter> {
  return createClusteredFilter({
    redis: clientFor(client, cluster.url),
    name,
    capacity: 6000,
    falsePositiveRate: 0.001,
    maxAgeMs: 120_000,
    timing: QUICK_TIMES,
    parts: PARTS,
    ...options,
  });
}

const missing = (filter: ClusteredFilter, keys: readonly string[]) =>
  filter.hasMany(keys).reduce((sum, answer) => sum + 1 - answer, 0);

test('slotOf agrees with the server', () => {
  for (const tag of ['a', 'users/6/0/12', 'Ünïcode', 'x'.repeat(200)])
    expect(slotOf(tag)).toBe(Number(cluster.nodes[0].cli('CLUSTER', 'KEYSLOT', tag)));
});

test.each(CLIENTS)('parts lie on all nodes, and adds reach other processes, by %s', SLOW, async (client) => {
  const name = `spread-${client}`;
  await using one = await open(name, client);
  await using two = await open(name, client);
  await Promise.all([one.ready(), two.ready()]);
  const logs = cluster.nodes.map((node) => {
    const keys = node.cli('KEYS', `bloomery:{${name}/*}:log:*`).split('\n');
    return keys.filter((key) => key !== '').length;
  });
  expect(logs).toEqual([2, 2, 2]);
  const keys = numbered('k', 3000);
  const id = await one.addMany(keys);
  const single = await one.add('one more');
  await two.waitFor(id);
  await two.waitFor(single);
  expect(missing(two, [...keys, 'one more'])).toBe(0);
  expect(two.has('one more', { after: single })).toBe(true);
  const others = 20_000;
  const wrong = others - missing(two, numbered('other', others));
  expect(wrong).toBeLessThan(0.001 * others + 5 * Math.sqrt(0.001 * others));
  expect(two.stats()).toMatchObject({ state: 'live', capacity: 6000 });
  expect(Math.abs(two.stats().estimatedSize - 3001)).toBeLessThan(150);
  // A rebuild forgets keys, part by part.
  await one.rebuild(() => keys.slice(0, 1500));
  await until('a smaller filter in the other process', () => missing(two, keys.slice(1500)) > 1450);
  expect(missing(two, keys.slice(0, 1500))).toBe(0);
});

test(
  'a node that dies and comes back empty: the other parts go on, and its parts are restored',
  SLOW,
  async () => {
    await using one = await open('dies');
    await using two = await open('dies', 'redis');
    await Promise.all([one.ready(), two.ready()]);
    const keys = numbered('d', 2000);
    await two.waitFor(await one.addMany(keys));
    const dead = cluster.nodes[1];
    await dead.kill();
    const late = one.addMany(numbered('late', 600));
    // Parts of the other nodes still say "certainly not".
    expect(missing(two, numbered('other', 600))).toBeGreaterThan(300);
    await dead.start();
    await late;
    await two.waitFor(await late);
    await Promise.all([one.ready(), two.ready()]);
    expect(missing(two, [...keys, ...numbered('late', 600)])).toBe(0);
    expect(missing(two, numbered('other', 600))).toBeGreaterThan(590);
    await cluster.whole();
  },
);

test('a slot that moves to another node while keys are added loses none', SLOW, async () => {
  await using one = await open('moves');
  await using two = await open('moves', 'redis');
  await Promise.all([one.ready(), two.ready()]);
  const added: string[] = [];
  let isOver = false;
  const adding = (async () => {
    for (let i = 0; !isOver; i++) {
      await one.add(`m${i}`);
      added.push(`m${i}`);
    }
  })();
  await until('some adds', () => added.length > 50);
  const slot = slotOf(partName('moves', 0, PARTS));
  await moveSlot(slot, cluster.nodes[0], cluster.nodes[2]);
  const before = added.length;
  await until('adds after the move', () => added.length > before + 200);
  isOver = true;
  await adding;
  expect(Number(cluster.nodes[2].cli('CLUSTER', 'COUNTKEYSINSLOT', String(slot)))).toBeGreaterThan(0);
  await Promise.all([one.ready(), two.ready()]);
  const isThere = () => missing(two, added) === 0;
  await eventually(isThere, 60_000, 'all keys in the other process', 50);
  await using last = await open('moves');
  await last.ready();
  expect(missing(last, added)).toBe(0);
});

/** Moves a slot with all its keys, as redis-cli --cluster reshard does. */
async function moveSlot(slot: number, from: RedisServer, to: RedisServer): Promise<void> {
  const [source, target] = [from.cli('CLUSTER', 'MYID'), to.cli('CLUSTER', 'MYID')];
  to.cli('CLUSTER', 'SETSLOT', String(slot), 'IMPORTING', source);
  from.cli('CLUSTER', 'SETSLOT', String(slot), 'MIGRATING', target);
  for (;;) {
    const keys = (await from.ask('CLUSTER', 'GETKEYSINSLOT', String(slot), '100')).split('\n');
    const names = keys.filter((key) => key !== '');
    if (names.length === 0) break;
    await from.ask('MIGRATE', '127.0.0.1', String(to.port), '', '0', '5000', 'KEYS', ...names);
  }
  for (const node of [to, from]) await node.ask('CLUSTER', 'SETSLOT', String(slot), 'NODE', target);
}

test('a server that is no cluster, a client of a cluster and odd parts are clear errors', SLOW, async () => {
  await using alone = await RedisServer.start();
  const redis = clientFor('ioredis', alone.url);
  await expect(open('odd', 'ioredis', { redis })).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringContaining('without cluster support'),
  });
  await expect(open('odd', 'ioredis', { parts: 0 })).rejects.toThrow(RangeError);
  const whole = new Cluster([cluster.url], { lazyConnect: true });
  await expect(open('odd', 'ioredis', { redis: whole as unknown as RedisClient })).rejects.toThrow(
    /expected a client of one server, got one of a cluster/,
  );
  whole.disconnect();
  await using filter = await open('odd');
  await expect(filter.waitFor('9:x')).rejects.toThrow(TypeError);
});
