/** Members by a name in the DNS, with Node's resolver and a real name server on loopback. */

import { DnsServer } from '@bloomery/testkit/dns/dns-server';
import { VirtualClock } from '@bloomery/testkit/virtual-clock';
import { afterEach, expect, test } from 'vitest';
import { DnsMembers } from '../../src/membership/dns/dns-members.ts';
import { parseDnsName } from '../../src/membership/dns/dns-name.ts';
import { nodeResolver } from '../../src/membership/dns/name-resolver.ts';

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

async function start(name: string) {
  const server = await DnsServer.start();
  const clock = new VirtualClock();
  const events: string[] = [];
  let changed: () => void = () => {};
  const members = new DnsMembers({
    name: parseDnsName(name),
    port: 3129,
    resolver: nodeResolver([server.address]),
    clock,
    isOwn: () => false,
    event: (_, event) => {
      events.push(event);
      changed();
    },
  });
  cleanUps.push(
    () => members.close(),
    () => server[Symbol.asyncDispose](),
  );
  members.watch(() => changed());
  const addresses = () => members.members().map(({ address }) => address);
  /** Lets virtual time go by, and real time for the questions, until a condition holds. */
  const until = async (ms: number, condition: () => boolean) => {
    await clock.advance(ms);
    while (!condition()) await new Promise<void>((resolve) => (changed = resolve));
  };
  return { server, clock, members, events, addresses, until };
}

test('nodes join and leave by A and AAAA records, at the pace of their TTL', async () => {
  const { server, addresses, until } = await start('caches.test');
  server.hosts.set('caches.test', { addresses: ['10.0.0.1', 'fd00::1', '10.0.0.2'], ttl: 20 });
  await until(1, () => addresses().length === 3);
  expect(addresses()).toEqual(['http://10.0.0.1:3129', 'http://10.0.0.2:3129', 'http://[fd00::1]:3129']);
  expect([...server.questions].sort()).toEqual(['A caches.test', 'AAAA caches.test']);
  server.hosts.set('caches.test', { addresses: ['10.0.0.2', '10.0.0.3'], ttl: 20 });
  await until(20_000, () => addresses().includes('http://10.0.0.3:3129'));
  expect(addresses()).toEqual(['http://10.0.0.2:3129', 'http://10.0.0.3:3129']);
  expect(server.questions.length).toBe(4);
});

test('a server that fails, that knows the name no more, or that is silent takes no member away', async () => {
  const { server, addresses, events, until, members } = await start('caches.test:4000');
  server.hosts.set('caches.test', { addresses: ['10.0.0.1'], ttl: 5 });
  await until(1, () => addresses().length === 1);
  server.mode = 'fails';
  await until(5000, () => events.length === 1);
  expect(members.report()).toMatchObject({ problem: 'ESERVFAIL', failures: 1 });
  server.mode = 'answers';
  server.hosts.clear();
  await until(60_000, () => events.length === 2);
  expect(members.report().problem).toBe('no addresses');
  server.mode = 'silent';
  await until(60_000, () => events.length === 3);
  expect(members.report().problem).toBe('ETIMEOUT');
  expect(addresses()).toEqual(['http://10.0.0.1:4000']);
  server.mode = 'answers';
  server.hosts.set('caches.test', { addresses: ['10.0.0.9'], ttl: 5 });
  await until(60_000, () => addresses().includes('http://10.0.0.9:4000'));
  expect(events).toEqual(['dns-failed', 'dns-failed', 'dns-failed', 'dns-answers']);
});

test('a service brings the ports and the names of its nodes', async () => {
  const { server, members, until } = await start('_bloomery._tcp.test');
  server.services.set('_bloomery._tcp.test', {
    targets: [
      { host: 'b.test', port: 4002 },
      { host: 'a.test', port: 4001 },
    ],
  });
  server.hosts.set('a.test', { addresses: ['10.0.0.1'] });
  server.hosts.set('b.test', { addresses: ['fd00::2'] });
  await until(1, () => members.members().length === 2);
  expect(members.members()).toEqual([
    { address: 'http://10.0.0.1:4001', name: 'a.test', source: 'dns _bloomery._tcp.test' },
    { address: 'http://[fd00::2]:4002', name: 'b.test', source: 'dns _bloomery._tcp.test' },
  ]);
});
