import { VirtualClock } from '@bloomery/testkit/virtual-clock';
import { expect, test } from 'vitest';
import { DnsMembers, type DnsMembersOptions } from './dns-members.ts';
import { parseDnsName } from './dns-name.ts';
import type { AddressRecord, NameResolver, ServiceRecord } from './name-resolver.ts';

type Records<T> = readonly T[] | string;

/** A resolver that answers from tables; a word is the code of an error. */
class Tables implements NameResolver {
  readonly v4 = new Map<string, Records<AddressRecord>>();
  readonly v6 = new Map<string, Records<AddressRecord>>();
  readonly srv = new Map<string, Records<ServiceRecord>>();
  readonly asked: string[] = [];
  running = 0;
  mostRunning = 0;
  cancelled = 0;

  resolve4 = (host: string) => this.#answer('A', host, this.v4);
  resolve6 = (host: string) => this.#answer('AAAA', host, this.v6);
  resolveSrv = (host: string) => this.#answer('SRV', host, this.srv);
  cancel = () => void this.cancelled++;

  async #answer<T>(kind: string, host: string, table: Map<string, Records<T>>): Promise<readonly T[]> {
    this.asked.push(`${kind} ${host}`);
    this.mostRunning = Math.max(this.mostRunning, ++this.running);
    await Promise.resolve();
    this.running--;
    const found = table.get(host) ?? 'ENODATA';
    if (typeof found === 'string') throw Object.assign(new Error(found), { code: found });
    return found;
  }
}

const at = (ttl: number, ...addresses: string[]) => addresses.map((address) => ({ address, ttl }));

function start(name: string, tables: Tables, options: Partial<DnsMembersOptions> = {}) {
  const clock = new VirtualClock();
  const events: string[] = [];
  const members = new DnsMembers({
    name: parseDnsName(name),
    port: 3129,
    resolver: tables,
    clock,
    isOwn: () => false,
    event: (level, event, fields) => events.push(`${level} ${event} ${JSON.stringify(fields)}`),
    ...options,
  });
  const addresses = () => members.members().map(({ address }) => address);
  return { clock, events, members, addresses };
}

test('A and AAAA records become members with the port of the name, or of the settings', async () => {
  const tables = new Tables();
  tables.v4.set('caches.test', at(60, '10.0.0.2', '10.0.0.1', '10.0.0.1'));
  tables.v6.set('caches.test', at(60, 'fd00::1'));
  const plain = start('caches.test', tables);
  await plain.clock.advance(1);
  expect(plain.addresses()).toEqual([
    'http://10.0.0.1:3129',
    'http://10.0.0.2:3129',
    'http://[fd00::1]:3129',
  ]);
  expect(plain.members.members()[0]).toMatchObject({ name: null, source: 'dns caches.test' });
  const other = start('https://caches.test:4000', tables);
  await other.clock.advance(1);
  expect(other.addresses()[0]).toBe('https://10.0.0.1:4000');
});

test.each([
  [0, 5000],
  [3, 5000],
  [30, 30_000],
  [86_400, 300_000],
])('a TTL of %i s is followed within its bounds: the next look-up comes after %i ms', async (ttl, ms) => {
  const tables = new Tables();
  tables.v4.set('caches.test', at(ttl, '10.0.0.1'));
  tables.v6.set('caches.test', at(86_400, 'fd00::1'));
  const { clock } = start('caches.test', tables);
  await clock.advance(1);
  expect(tables.asked.length).toBe(2);
  await clock.advance(ms - 2);
  expect(tables.asked.length).toBe(2);
  await clock.advance(2);
  expect(tables.asked.length).toBe(4);
});

test('members come and go with the answers', async () => {
  const tables = new Tables();
  tables.v4.set('caches.test', at(10, '10.0.0.1', '10.0.0.2'));
  const { clock, members, addresses } = start('caches.test', tables);
  const told: string[] = [];
  members.watch(({ joined, left }) => {
    for (const { address } of joined) told.push(`+${address}`);
    for (const { address } of left) told.push(`-${address}`);
  });
  await clock.advance(1);
  tables.v4.set('caches.test', at(10, '10.0.0.2', '10.0.0.3'));
  await clock.advance(10_000);
  expect(addresses()).toEqual(['http://10.0.0.2:3129', 'http://10.0.0.3:3129']);
  expect(told.slice(2)).toEqual(['+http://10.0.0.3:3129', '-http://10.0.0.1:3129']);
});

test('a failure, and an empty answer, keep the members; attempts slow down, and two lines are logged', async () => {
  const tables = new Tables();
  tables.v4.set('caches.test', at(10, '10.0.0.1'));
  const { clock, events, addresses, members } = start('caches.test', tables);
  await clock.advance(1);
  tables.v4.set('caches.test', 'ESERVFAIL');
  await clock.advance(600_000);
  expect(addresses()).toEqual(['http://10.0.0.1:3129']);
  // Pauses of 1, 2, 4 … 60 s, each shortened by up to a half: 1 + 6 + 9 to 18 look-ups.
  expect(tables.asked.length / 2).toBeGreaterThan(12);
  expect(tables.asked.length / 2).toBeLessThan(28);
  expect(members.report()).toMatchObject({ problem: 'ESERVFAIL', members: 1 });
  tables.v4.set('caches.test', 'ENOTFOUND');
  await clock.advance(60_000);
  expect(addresses()).toEqual(['http://10.0.0.1:3129']);
  expect(members.report().problem).toBe('no addresses');
  tables.v4.set('caches.test', at(10, '10.0.0.2'));
  await clock.advance(60_000);
  expect(addresses()).toEqual(['http://10.0.0.2:3129']);
  expect(events.map((line) => line.split(' ').slice(0, 2).join(' '))).toEqual([
    'warn dns-failed',
    'warn dns-failed',
    'info dns-answers',
  ]);
  expect(events[0]).toContain('"problem":"ESERVFAIL","kept":1');
  expect(members.report()).toMatchObject({ problem: null });
});

test('a kind of record that fails keeps its addresses while the other one is followed', async () => {
  const tables = new Tables();
  tables.v4.set('caches.test', at(10, '10.0.0.1'));
  tables.v6.set('caches.test', at(10, 'fd00::1'));
  const { clock, addresses, events } = start('caches.test', tables);
  await clock.advance(1);
  tables.v4.set('caches.test', at(10, '10.0.0.2'));
  tables.v6.set('caches.test', 'ETIMEOUT');
  await clock.advance(10_000);
  expect(addresses()).toEqual(['http://10.0.0.2:3129', 'http://[fd00::1]:3129']);
  tables.v6.set('caches.test', 'ENODATA');
  await clock.advance(10_000);
  expect(addresses()).toEqual(['http://10.0.0.2:3129']);
  expect(events).toEqual([]);
});

test('a service gives ports and names, one member for each target, asked for every 30 s', async () => {
  const tables = new Tables();
  tables.srv.set('_b._tcp.test', [
    { name: 'b.test', port: 4002 },
    { name: 'a.test', port: 4001 },
    { name: '.', port: 4003 },
    { name: 'unknown.test', port: 4004 },
  ]);
  tables.v4.set('a.test', at(1, '10.0.0.1'));
  tables.v4.set('b.test', at(1, '10.0.0.2'));
  tables.v6.set('b.test', at(1, 'fd00::2'));
  const { clock, members } = start('_b._tcp.test', tables);
  await clock.advance(1);
  expect(members.members().map(({ address, name }) => [address, name])).toEqual([
    ['http://10.0.0.1:4001', 'a.test'],
    ['http://10.0.0.2:4002', 'b.test'],
  ]);
  const asked = () => tables.asked.filter((question) => question.startsWith('SRV')).length;
  await clock.advance(29_000);
  expect(asked()).toBe(1);
  // A target that cannot be looked up keeps its address, and one that the records dropped goes.
  tables.v4.set('b.test', 'ETIMEOUT');
  tables.v6.set('b.test', 'ETIMEOUT');
  tables.srv.set('_b._tcp.test', [{ name: 'b.test', port: 4002 }]);
  await clock.advance(1100);
  expect(asked()).toBe(2);
  expect(members.members().map(({ address }) => address)).toEqual(['http://10.0.0.2:4002']);
  tables.srv.set('_b._tcp.test', 'ENOTFOUND');
  await clock.advance(30_000);
  expect(members.members().length).toBe(1);
  expect(members.report().problem).toBe('no service records');
});

test('a service over https keeps the names of its targets, which certificates name', async () => {
  const tables = new Tables();
  tables.srv.set('_b._tcp.test', [{ name: 'a.test', port: 4001 }]);
  const { clock, addresses } = start('https://_b._tcp.test', tables);
  await clock.advance(1);
  expect(addresses()).toEqual(['https://a.test:4001']);
});

test('own addresses are left out', async () => {
  const tables = new Tables();
  tables.v4.set('caches.test', at(60, '10.0.0.1', '10.0.0.2'));
  const { clock, addresses } = start('caches.test', tables, {
    isOwn: (address) => address === 'http://10.0.0.1:3129',
  });
  await clock.advance(1);
  expect(addresses()).toEqual(['http://10.0.0.2:3129']);
});

test('more records than the limit are cut before they are used, with one line in the log', async () => {
  const tables = new Tables();
  const many = Array.from({ length: 5000 }, (_, i) => `10.1.${i >> 8}.${i & 255}`);
  tables.v4.set('caches.test', at(5, ...many));
  const { clock, members, events } = start('caches.test', tables, { most: 100 });
  await clock.advance(1);
  await clock.advance(20_000);
  expect(members.members().length).toBe(100);
  expect(events.length).toBe(1);
  expect(events[0]).toMatch(/^warn dns-too-many .*"most":100/);
  tables.srv.set(
    '_b._tcp.test',
    many.map((_, i) => ({ name: `${i}.test`, port: 1 + i })),
  );
  for (const [i, address] of many.entries()) tables.v4.set(`${i}.test`, at(5, address));
  tables.asked.length = 0;
  tables.mostRunning = 0;
  const service = start('_b._tcp.test', tables, { most: 100 });
  await service.clock.advance(1);
  expect(service.members.members().length).toBe(100);
  // The service, and A and AAAA for the limit and one more; 16 targets at a time.
  expect(tables.asked.length).toBe(1 + 2 * 101);
  expect(tables.mostRunning).toBeLessThanOrEqual(32);
});

test('close ends the look-ups, and an answer that comes later changes nothing', async () => {
  const tables = new Tables();
  tables.v4.set('caches.test', at(5, '10.0.0.1'));
  const { clock, members } = start('caches.test', tables);
  await clock.advance(1);
  let answer: (records: readonly AddressRecord[]) => void = () => {};
  tables.resolve4 = () => new Promise((resolve) => (answer = resolve));
  await clock.advance(5000);
  members.close();
  answer(at(5, '10.0.0.9'));
  await clock.advance(100_000);
  expect(members.members().map(({ address }) => address)).toEqual(['http://10.0.0.1:3129']);
  expect(tables.cancelled).toBe(1);
  expect(clock.pending).toBe(0);
});
