import { until } from '@bloomery/testkit/eventually';
import { RedisServer } from '@bloomery/testkit/programs/redis-server';
import { SecretKey } from 'bloomery';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { SharedFilterError } from '../../src/shared/index.ts';
import { CLIENTS, missing, numbered, openMember } from './members.ts';

let server: RedisServer;
beforeAll(async () => {
  server = await RedisServer.start();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

test.each(CLIENTS)('an add of one process is seen by another, by the client %s', async (client) => {
  const name = `seen-${client}`;
  await using a = await openMember(server, { name, client });
  await using b = await openMember(server, { name, client });
  await Promise.all([a.ready(), b.ready()]);
  expect(b.has('ada')).toBe(false);
  const id = await a.add('ada');
  expect(a.has('ada')).toBe(true);
  await b.waitFor(id);
  expect(b.has('ada')).toBe(true);
  expect(b.has('ada', { after: id })).toBe(true);
  expect(b.has('bob', { after: id })).toBe(false);
});

test('a filter that was just created answers "maybe" to everything', async () => {
  await using a = await openMember(server, { name: 'new', timing: { settleMs: 3_600_000 } });
  expect(a.state).toBe('unsure');
  expect(a.has('ada')).toBe(true);
  expect(missing(a, ['ada', 'bob'])).toBe(0);
  await expect(a.ready({ timeoutMs: 20 })).rejects.toMatchObject({ code: 'timeout' });
});

test('has answers "maybe" for an id that this process has not read', async () => {
  await using a = await openMember(server, { name: 'after' });
  await a.ready();
  const id = await a.add('x');
  const [lineage, epoch, replication] = id.split('.');
  await a.waitFor(id);
  expect(a.has('never', { after: id })).toBe(false);
  expect(a.has('never', { after: `${lineage}.${epoch}.${replication}.99999999999999-0` })).toBe(true);
  expect(a.has('never', { after: `${lineage}.${epoch}.000000000000.1-0` })).toBe(true);
  expect(a.has('never', { after: `00000000.${epoch}.${replication}.1-0` })).toBe(true);
  expect(() => a.has('never', { after: '1-0' })).toThrow('Cannot read an id');
  await expect(a.waitFor(`${lineage}.9.${replication}.1-0`, { timeoutMs: 20 })).rejects.toThrow(
    'within 20 ms',
  );
});

test('a caller that waits for an add ends the rest of the reader', async () => {
  const name = 'rest';
  await using a = await openMember(server, { name });
  await a.ready();
  // Without a caller, this reader would rest for an hour after two entries.
  const anHour = 3_600_000;
  await using b = await openMember(server, { name, timing: { readPauseMs: anHour, lookMs: anHour } });
  await b.waitFor(await a.add('one'));
  await a.add('two');
  await until('an entry that the server pushes', () => b.has('two'));
  const three = await a.add('three');
  expect(b.has('other', { after: three })).toBe(true);
  await until('an entry that has() asked for', () => b.has('three'));
  await b.waitFor(await a.add('four'), { timeoutMs: 60_000 });
  expect(b.has('four')).toBe(true);
});

test('a machine that slept answers "maybe" until it has heard of the server again', async () => {
  await using a = await openMember(server, { name: 'slept' });
  await a.ready();
  expect(a.has('never')).toBe(false);
  // The steady clock stands still while a machine sleeps, and the wall clock goes on.
  const anHourLater = Date.now() + 3_600_000;
  const clock = vi.spyOn(Date, 'now').mockReturnValue(anHourLater);
  expect(a.state).toBe('unsure');
  expect(a.has('never')).toBe(true);
  clock.mockRestore();
  await a.ready();
  expect(a.has('never')).toBe(false);
});

test('batches larger than the capacity reach all processes, and the filter grows', async () => {
  await using a = await openMember(server, { name: 'grown', client: 'redis' });
  await using b = await openMember(server, { name: 'grown' });
  await Promise.all([a.ready(), b.ready()]);
  const keys = numbered('k', 30_000);
  const id = await a.addMany(keys);
  await b.waitFor(id);
  expect(missing(b, keys)).toBe(0);
  expect(b.stats().stages).toBeGreaterThan(1);
  const positives = 20_000 - missing(b, numbered('other', 20_000));
  // At most the rate asked for: 20 of 20,000, five deviations above.
  expect(positives).toBeLessThan(45);
});

test('a process that starts later has all keys, by snapshot and log', async () => {
  await using a = await openMember(server, { name: 'late' });
  await a.ready();
  const keys: string[] = [];
  // Each call is an entry of its own, so snapshots become due.
  while (a.stats().snapshots < 2) {
    const some = numbered(`k${keys.length}-`, 10);
    keys.push(...some);
    await a.addMany(some);
  }
  const log = server.cli('KEYS', 'bloomery:{late}:log:*');
  expect(Number(server.cli('XLEN', log))).toBeLessThan(keys.length / 10);
  await using b = await openMember(server, { name: 'late', client: 'redis' });
  await b.ready();
  expect(missing(b, keys)).toBe(0);
  expect(b.has('other')).toBe(false);
  expect(b.stats()).toMatchObject({ resyncs: 0, entries: expect.any(Number) });
});

test('rebuild forgets keys for all processes, and keeps keys that were added meanwhile', async () => {
  await using a = await openMember(server, { name: 'rebuilt' });
  await using b = await openMember(server, { name: 'rebuilt', client: 'redis' });
  await Promise.all([a.ready(), b.ready()]);
  await b.waitFor(await a.addMany(numbered('old', 100)));
  const early = await b.add('early');
  async function* source() {
    yield* numbered('kept', 2000);
    await b.add('meanwhile');
    yield* numbered('more', 2000);
  }
  await a.rebuild(source(), { capacity: 5000 });
  await expect.poll(() => b.stats().epoch, { timeout: 60_000 }).toBe(2);
  const id = await b.add('afterwards');
  await Promise.all([a.waitFor(id), b.waitFor(id), a.waitFor(early)]);
  for (const member of [a, b]) {
    expect(
      missing(member, [...numbered('kept', 2000), ...numbered('more', 2000), 'meanwhile', 'afterwards']),
    ).toBe(0);
    expect(missing(member, numbered('old', 100))).toBeGreaterThan(95);
    expect(member.stats()).toMatchObject({ capacity: 5000, stages: 1 });
  }
  await using c = await openMember(server, { name: 'rebuilt' });
  await c.ready();
  expect(missing(c, ['kept1', 'meanwhile', 'afterwards'])).toBe(0);
});

test('a rebuild whose source fails changes nothing', async () => {
  await using a = await openMember(server, { name: 'unbuilt' });
  await a.ready();
  await a.add('x');
  async function* source() {
    yield 'y';
    throw new Error('the database is away');
  }
  await expect(a.rebuild(source())).rejects.toThrow('the database is away');
  expect(a.stats().epoch).toBe(1);
  await a.rebuild(['z']);
  await expect.poll(() => a.stats().epoch, { timeout: 60_000 }).toBe(2);
});

test('with a secret key Redis holds no key and no hash that others can compute', async () => {
  const key = new SecretKey(new Uint8Array(16).fill(9));
  await using a = await openMember(server, { name: 'keyed', key });
  await using b = await openMember(server, { name: 'keyed', key, client: 'redis' });
  await using plain = await openMember(server, { name: 'plain' });
  await Promise.all([a.ready(), b.ready(), plain.ready()]);
  await b.waitFor(await a.add('secret-user'));
  await plain.add('secret-user');
  expect(b.has('secret-user')).toBe(true);
  const entry = (name: string) =>
    server
      .cli('XREVRANGE', server.cli('KEYS', `bloomery:{${name}}:log:*`), '+', '-', 'COUNT', '1')
      .split('\n')
      .at(-1);
  expect(entry('keyed')).not.toBe(entry('plain'));
  expect(entry('keyed')).not.toContain('secret-user');
  await expect(openMember(server, { name: 'keyed' })).rejects.toMatchObject({ code: 'scheme' });
  const other = new SecretKey(new Uint8Array(16).fill(8));
  await expect(openMember(server, { name: 'keyed', key: other })).rejects.toMatchObject({ code: 'scheme' });
});

test('a server that may evict the filter is refused, unless the caller accepts it', async () => {
  await using small = await RedisServer.start({ words: ['--save', '', '--maxmemory-policy', 'allkeys-lru'] });
  const error = await openMember(small).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(SharedFilterError);
  expect(error).toMatchObject({ code: 'eviction', message: expect.stringContaining('got allkeys-lru') });
  await using accepted = await openMember(small, { acceptEviction: true });
  await accepted.ready();
  small.cli('CONFIG', 'SET', 'maxmemory-policy', 'volatile-lru');
  await using volatile = await openMember(small);
  await volatile.ready();
});

test('wrong options, a missing filter and a server that is away are clear errors', async () => {
  const away = { url: 'redis://127.0.0.1:1' };
  for (const client of CLIENTS)
    await expect(openMember(away, { client })).rejects.toMatchObject({ code: 'unavailable' });
  await expect(openMember(server, { name: 'nowhere', create: false })).rejects.toMatchObject({
    code: 'missing',
  });
  await expect(openMember(server, { name: 'a{b' })).rejects.toThrow('without braces');
  await expect(openMember(server, { capacity: 0 })).rejects.toThrow(RangeError);
  await expect(openMember(server, { typo: 1 } as object)).rejects.toThrow('unknown option typo');
  await expect(openMember(server, { redis: {} as never })).rejects.toThrow('npm package redis or ioredis');
  await expect(openMember(server, { signal: AbortSignal.abort(new Error('stop')) })).rejects.toThrow('stop');
});

test.each(CLIENTS)('a user with the rights that the spec names can do everything, by %s', async (client) => {
  const rights = '+@read +@write +@scripting +@connection +info +time +wait +xinfo'.split(' ');
  server.cli('ACL', 'SETUSER', 'filters', 'on', '>sesame', 'resetkeys', '~bloomery:*', '-@all', ...rights);
  const url = (password: string) => `redis://filters:${password}@127.0.0.1:${server.port}`;
  await using a = await openMember({ url: url('sesame') }, { name: `acl-${client}`, client });
  await a.ready();
  await a.waitFor(await a.add('x'));
  await a.rebuild(['y']);
  await expect(openMember({ url: url('wrong') }, { client })).rejects.toMatchObject({ code: 'unavailable' });
});

test('a member that closes during its first looks leaves the list of members', async () => {
  for (let i = 0; i < 30; i++) {
    const name = `brief-${i}`;
    const member = await openMember(server, { name });
    const last = member.add('last');
    await member.close();
    await last;
    expect(server.cli('HLEN', `bloomery:{${name}}:members`)).toBe('0');
  }
});

test('close sends what waits, and refuses what comes later', async () => {
  const a = await openMember(server, { name: 'closed' });
  const last = a.add('last');
  await a.close();
  await expect(last).resolves.toMatch(/^[0-9a-f]{8}\.1\./);
  await expect(a.add('later')).rejects.toMatchObject({ code: 'closed' });
  expect(a.has('anything')).toBe(true);
  await using b = await openMember(server, { name: 'closed' });
  await b.ready();
  expect(b.has('last')).toBe(true);
  expect(server.cli('HLEN', 'bloomery:{closed}:members')).toBe('1');
});
