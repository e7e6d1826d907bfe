/**
 * The filter on the server: "certainly new" is said once among all members, on real servers that
 * fail over and lose data.
 */

import { eventually, until } from '@bloomery/testkit/eventually';
import { RedisServer } from '@bloomery/testkit/programs/redis-server';
import { hashKeys, hashScheme } from 'bloomery';
import { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { PROBE_BYTES, packProbes } from '../../src/shared/decisions/split-blocks.ts';
import { createServerFilter, type ServerFilter, type ServerFilterOptions } from '../../src/shared/index.ts';
import { type ClientName, clientFor, numbered } from './members.ts';
import { RedisPair } from './redis-pair.ts';

const SLOW = { timeout: 120_000 };
const SIZE = { capacity: 20_000, falsePositiveRate: 0.001 };

type Options = Partial<ServerFilterOptions> & { readonly client?: ClientName };

async function open({ url }: { readonly url: string }, options: Options = {}): Promise<ServerFilter> {
  const { client = 'ioredis', ...rest } = options;
  const redis = clientFor(client, url);
  return createServerFilter({ redis, name: 'events', ...SIZE, settleMs: 100, lookMs: 20, ...rest });
}

const ones = (answers: Uint8Array) => answers.reduce((sum, one) => sum + one, 0);

/** Tests and sets key by key, bit by bit. */
function naiveClaims(bytes: Uint8Array, probes: Uint8Array): number[] {
  const answers: number[] = [];
  const view = new DataView(probes.buffer);
  for (let at = 0; at < probes.length; at += PROBE_BYTES) {
    const block = 32 * Math.floor((view.getUint32(at, true) * (bytes.length / 32)) / 2 ** 32);
    const places = Array.from({ length: 8 }, (_, word) => 8 * (block + 4 * word) + probes[at + 4 + word]);
    const isNew = places.some((place) => ((bytes[place >>> 3] >>> (place & 7)) & 1) === 0);
    for (const place of places) bytes[place >>> 3] |= 1 << (place & 7);
    answers.push(isNew ? 1 : 0);
  }
  return answers;
}

describe('one server', () => {
  test('"certainly new" is said once among members that ask at the same time', SLOW, async () => {
    await using server = await RedisServer.start();
    const members = await Promise.all([
      open(server),
      open(server, { client: 'redis' }),
      open(server, { scripts: true }),
      open(server, { client: 'redis', scripts: true }),
    ]);
    await Promise.all(members.map((member) => member.ready()));
    const keys = numbered('k', 3000);
    const answers = await Promise.all(members.map((member) => member.addManyIfNew(keys)));
    const said = keys.map((_, i) => answers.reduce((sum, one) => sum + one[i], 0));
    expect(Math.max(...said)).toBe(1);
    // A key that no member calls new was mistaken for another: at most 0.1 %, at a seventh of the
    // capacity far less.
    expect(said.filter((count) => count === 0).length).toBeLessThan(5);
    // A key that stands twice in a batch is new once, and single calls travel together.
    expect([...(await members[0].addManyIfNew(['twice', 'twice']))]).toEqual([1, 0]);
    const singles = await Promise.all(
      members.flatMap((member) => [member.addIfNew('one'), member.addIfNew('one')]),
    );
    expect(singles.filter((isNew) => isNew)).toHaveLength(1);
    expect(await members[1].has('one')).toBe(true);
    expect(ones(await members[2].hasMany(keys))).toBe(3000);
    expect(await members[3].has('never')).toBe(false);
    expect((await members[0].stats()).size).toBe(ones(Uint8Array.from(said)) + 2);
    for (const member of members) await member.close();
    await expect(members[0].addIfNew('late')).rejects.toMatchObject({ code: 'closed' });
  });

  test('the bits on the server are those of a naive model', SLOW, async () => {
    await using server = await RedisServer.start();
    await using filter = await open(server, { capacity: 3000 });
    await filter.ready();
    const keys = numbered('b', 2000);
    const claimed = await filter.addManyIfNew(keys);
    const redis = new Redis(server.url);
    const bytes = (await redis.getBuffer('bloomery:{events}:set:stage:1')) as Buffer;
    redis.disconnect();
    const model = new Uint8Array(bytes.length);
    const answers = naiveClaims(model, packProbes(hashKeys(keys, hashScheme({ seed: 0 })).words));
    expect(Buffer.from(model).equals(bytes)).toBe(true);
    expect([...claimed]).toEqual(answers);
  });

  test('the filter grows by stages and keeps its rate', SLOW, async () => {
    await using server = await RedisServer.start();
    await using filter = await open(server, { capacity: 1000, falsePositiveRate: 0.01, client: 'redis' });
    await filter.ready();
    const keys = numbered('g', 10_000);
    const fresh = ones(await filter.addManyIfNew(keys));
    const { stages, size } = await filter.stats();
    expect(stages).toBeGreaterThan(3);
    expect(size).toBe(fresh);
    expect(ones(await filter.hasMany(keys))).toBe(10_000);
    const others = 20_000;
    const wrong = ones(await filter.hasMany(numbered('other', others)));
    expect(wrong).toBeLessThan(0.01 * others + 5 * Math.sqrt(0.01 * others));
    expect(wrong).toBeGreaterThan(0);
  });

  test('a user without functions gets scripts, and a keyed filter refuses other hashes', SLOW, async () => {
    await using server = await RedisServer.start();
    const rights = [
      '~bloomery:*',
      '+@read',
      '+@write',
      '+@scripting',
      '+@connection',
      '+info',
      '+time',
      '+command',
    ];
    server.cli('ACL', 'SETUSER', 'app', 'on', '>word', ...rights, '-function', '-fcall');
    const url = `redis://app:word@127.0.0.1:${server.port}`;
    for (const client of ['redis', 'ioredis'] as const) {
      await using filter = await open({ url }, { client });
      await filter.ready();
      expect(await filter.addIfNew(client)).toBe(true);
      expect(await filter.addIfNew(client)).toBe(false);
    }
    await expect(open({ url }, { seed: 7 })).rejects.toMatchObject({ code: 'scheme' });
    await expect(open({ url }, { engine: 'bf' })).rejects.toMatchObject({ code: 'unavailable' });
    await expect(open({ url }, { durability: 'wait', replicas: 0 })).rejects.toThrow(RangeError);
    await expect(open({ url: 'redis://127.0.0.1:1' })).rejects.toMatchObject({ code: 'unavailable' });
  });

  test(
    'FLUSHALL, a lost stage, another filter in its place: "maybe" until the loss is accepted',
    SLOW,
    async () => {
      await using server = await RedisServer.start();
      await using one = await open(server);
      await using two = await open(server, { client: 'redis' });
      await Promise.all([one.ready(), two.ready()]);
      const keys = numbered('f', 100);
      expect(ones(await one.addManyIfNew(keys))).toBe(100);
      server.cli('FLUSHALL');
      expect(ones(await two.addManyIfNew(keys))).toBe(0);
      expect(await two.has('never')).toBe(true);
      await until('one to notice', () => one.state === 'unsure');
      // A process that starts now makes an empty filter. The others know that one is lost.
      await using three = await open(server, { settleMs: 5000 });
      await expect(three.ready()).rejects.toMatchObject({ code: 'lost' });
      expect(ones(await three.addManyIfNew(keys))).toBe(0);
      await two.accept();
      await Promise.all(
        [one, two, three].map((member) => until('a live member', () => member.state === 'live')),
      );
      expect(ones(await three.addManyIfNew(keys))).toBe(100);
      expect(ones(await one.addManyIfNew(keys))).toBe(0);
      server.cli('DEL', 'bloomery:{events}:set:stage:1');
      expect(ones(await one.addManyIfNew(numbered('n', 10)))).toBe(0);
      expect((await two.stats()).reason).toBe('doubted');
    },
  );
});

test('a loss that was accepted is not doubted by a member that looks only afterwards', SLOW, async () => {
  await using server = await RedisServer.start();
  await using late = await open(server, { lookMs: 3_600_000 });
  await using other = await open(server);
  await Promise.all([late, other].map(async (each) => eventually(() => isLive(each))));
  expect(ones(await late.addManyIfNew(numbered('k', 10)))).toBe(10);
  server.cli('FLUSHALL');
  await using third = await open(server, { settleMs: 5000 });
  await expect(third.ready()).rejects.toMatchObject({ code: 'lost' });
  await other.accept();
  for (const each of [late, other, third]) await eventually(() => isLive(each));
  expect(ones(await late.addManyIfNew(numbered('k', 10)))).toBe(10);
});

const isLive = async (filter: ServerFilter) => (await filter.stats()).state === 'live';

describe('failover', () => {
  test('a loss of acknowledged keys is noticed, and no key is called new twice', SLOW, async () => {
    await using pair = await RedisPair.start();
    await using filter = await open(pair);
    await using other = await open(pair, { client: 'redis' });
    await Promise.all([filter.ready(), other.ready()]);
    const kept = numbered('kept', 200);
    expect(ones(await filter.addManyIfNew(kept))).toBe(200);
    await until('a replica in step', async () => (await pair.lag()) <= 0);
    pair.stall();
    const lost = numbered('lost', 300);
    expect(ones(await filter.addManyIfNew(lost))).toBe(300);
    await pair.failOver();
    // In doubt, and later because of the loss, nothing is called new.
    const ask = () => other.addManyIfNew([...kept, ...lost]).catch(() => new Uint8Array(1));
    const isDoubted = async () => {
      expect(ones(await ask())).toBe(0);
      const stats = await other.stats().catch(() => null);
      return stats?.reason === 'doubted';
    };
    await eventually(isDoubted, 60_000, 'the loss to be noticed', 20);
    await expect(filter.ready()).rejects.toMatchObject({ code: 'lost' });
    await filter.accept();
    await Promise.all([filter, other].map((member) => until('a live member', () => member.state === 'live')));
    expect(ones(await other.addManyIfNew(lost))).toBe(300);
  });

  test("a failover that loses nothing is over by itself; durability 'wait' loses nothing", SLOW, async () => {
    await using pair = await RedisPair.start();
    await using filter = await open(pair, { durability: 'wait' });
    await filter.ready();
    const keys = numbered('w', 500);
    expect(ones(await filter.addManyIfNew(keys))).toBe(500);
    pair.stall();
    let isDone = false;
    const late = filter.addIfNew('late').then(
      () => {
        isDone = true;
      },
      () => {},
    );
    await until('the key on the master', async () => (await pair.lag()) > 0);
    expect(isDone).toBe(false);
    await pair.failOver();
    await late;
    const isLive = async () => filter.state === 'live';
    await eventually(isLive, 60_000, 'a live filter', 20);
    expect(ones(await filter.addManyIfNew(keys))).toBe(0);
    expect(await filter.addIfNew('late')).toBe(true);
  });
});

/** A server with the commands BF.: Redis 8, or Redis with the module RedisBloom. */
const BLOOM_URL = process.env.BLOOMERY_REDISBLOOM_URL;

test.skipIf(BLOOM_URL === undefined)('the commands BF. of the server test and set', SLOW, async () => {
  const name = `bloomery-test-${process.pid}`;
  const url = BLOOM_URL as string;
  const redis = new Redis(url);
  try {
    await using one = await open({ url }, { name, capacity: 1000 });
    await using two = await open({ url }, { name, client: 'redis' });
    await Promise.all([one.ready(), two.ready()]);
    const keys = numbered('m', 5000);
    const [first, second] = await Promise.all([one.addManyIfNew(keys), two.addManyIfNew(keys)]);
    const said = keys.map((_, i) => first[i] + second[i]);
    expect(Math.max(...said)).toBe(1);
    expect(said.filter((count) => count === 0).length).toBeLessThan(20);
    expect((await one.stats()).engine).toBe('bf');
    expect(ones(await two.hasMany(keys))).toBe(5000);
    expect(await two.has('never')).toBe(false);
  } finally {
    await redis.del(`bloomery:{${name}}:set`, `bloomery:{${name}}:set:stage:1`);
    redis.disconnect();
  }
});
