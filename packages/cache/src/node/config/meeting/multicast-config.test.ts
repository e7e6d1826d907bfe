import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { configProblems } from '../../../../test/node/config-problems.ts';
import { loadConfig, printConfig } from '../node-config.ts';
import { settingsForRestart } from '../reload-rules.ts';
import { announcedOn, networkOf } from './multicast-config.ts';

const folder = mkdtempSync(join(tmpdir(), 'bloomery-multicast-config-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const peerSecret = join(folder, 'secret');
writeFileSync(peerSecret, 'a secret of enough bytes\n', { mode: 0o600 });

const GROUP = '239.192.0.7:3130';
const LOOPBACK = Object.entries(networkInterfaces()).find(([, addresses]) =>
  addresses?.some(({ address }) => address === '127.0.0.1'),
)![0];

const load = (flags: Record<string, unknown>) =>
  loadConfig({ flags: { peerMulticast: GROUP, peerListen: '127.0.0.1:3129', peerSecret, ...flags } });

const problemsOf = (flags: Record<string, unknown>) => configProblems(() => load(flags));

test('--peer-multicast makes a fleet without a list of neighbours', () => {
  const { peers, warnings } = load({});
  expect(peers).toMatchObject({
    peers: [],
    nats: null,
    multicast: { group: GROUP, card: null, hops: 1 },
    address: null,
  });
  expect(warnings).toEqual([]);
  const again = load({ peerMulticastInterface: 'eth0', peerMulticastHops: 2, peerListen: ':3129' });
  expect(again.peers?.multicast).toEqual({ group: GROUP, card: 'eth0', hops: 2 });
  expect(loadConfig({ flags: JSON.parse(printConfig(again)) }).peers).toEqual(again.peers);
});

test('--peer-multicast and another way to find the neighbours are one error', () => {
  expect(problemsOf({ nats: 'nats://10.0.0.5:4222' })).toEqual([
    '--nats finds the neighbours by itself; leave out --peer-multicast, or --nats',
  ]);
  expect(problemsOf({ peer: ['http://10.0.0.3:3129'] })).toEqual([
    '--peer-multicast finds the neighbours by itself; leave out --peer and --peers-dns, or --peer-multicast',
  ]);
  expect(problemsOf({ nats: 'nats://10.0.0.5:4222', peer: ['http://10.0.0.3:3129'] })).toEqual([
    '--nats finds the neighbours by itself; leave out --peer-multicast, --peer and --peers-dns, or --nats',
  ]);
});

test('--peer-multicast needs a secret, a group, and an address that others can reach', () => {
  expect(problemsOf({ peerSecret: false })).toEqual([
    '--peer-listen needs --peer-secret: a file with the secret that all nodes of the fleet share',
  ]);
  expect(problemsOf({ peerSecret: false, peerListen: undefined })).toEqual([
    '--peer-multicast needs --peer-secret: a file with the secret that all nodes of the fleet share',
  ]);
  expect(problemsOf({ peerMulticast: '10.0.0.7:3130' })[0]).toContain(
    '--peer-multicast: Cannot use a multicast group: expected GROUP:PORT such as 239.192.0.7:3130',
  );
  expect(problemsOf({ peerMulticastHops: 0 })[0]).toContain('--peer-multicast-hops: expected 1 to 255');
  expect(problemsOf({ peerListen: ':3129' })[0]).toContain('--peer-address does');
  expect(problemsOf({ peerListen: ':3129', peerAddress: 'http://10.0.0.2:3129' })).toEqual([]);
  expect(problemsOf({ peerListen: ':3129', peerMulticastInterface: 'eth0' })).toEqual([]);
});

test('settings of multicast need a restart, and have no effect without a group', () => {
  expect(settingsForRestart(load({}), load({ peerMulticastHops: 2 }))).toEqual(['peerMulticast']);
  expect(loadConfig({ flags: { peerMulticastHops: 2 } }).warnings).toEqual([
    'peerMulticastHops has no effect without --peer-multicast',
  ]);
});

test('networkOf() is the card of the peer port, unless another one is named', () => {
  const config = { group: GROUP, card: null, hops: 1 };
  const listen = { host: '127.0.0.1', port: 3129, secure: false };
  expect(networkOf(config, listen)).toBe('127.0.0.1');
  expect(networkOf({ ...config, card: LOOPBACK }, null)).toBe('127.0.0.1');
  expect(networkOf(config, { ...listen, host: '::' })).toBeUndefined();
  expect(networkOf(config, { ...listen, host: 'fd00::2' })).toBeUndefined();
  expect(() => networkOf(config, { ...listen, host: '203.0.113.9' })).toThrow('Cannot use a network card');
});

test('announcedOn() tells the address of the card if the node listens on all addresses', () => {
  const config = { group: GROUP, card: LOOPBACK, hops: 1 };
  const listen = { host: '0.0.0.0', port: 3129, secure: false };
  expect(announcedOn(config, listen, null)).toBe('http://127.0.0.1:3129');
  expect(announcedOn(config, listen, 'http://10.0.0.2:80')).toBe('http://10.0.0.2:80');
  expect(announcedOn(config, { ...listen, host: '10.0.0.2' }, null)).toBe('http://10.0.0.2:3129');
});
