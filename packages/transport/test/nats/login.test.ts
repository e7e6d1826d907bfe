import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '@bloomery/testkit/eventually';
import { selfSigned } from '@bloomery/testkit/programs/self-signed';
import { nkeys } from '@nats-io/transport-node';
import { afterAll, expect, test } from 'vitest';
import { NatsFleet } from './nats-fleet.ts';

const folder = mkdtempSync(join(tmpdir(), 'bloomery-nats-login-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const loopback = (fleet: NatsFleet, scheme = 'nats', user = '') =>
  `${scheme}://${user}127.0.0.1:${fleet.server.port}`;

test('user and password in the address let a node in, and appear in no event and no status', async () => {
  await using fleet = await NatsFleet.start({
    config: 'authorization { user: ann, password: "s3cret-word" }',
  });
  const wrong = await fleet.node('wrong', { server: { url: loopback(fleet, 'nats', 'ann:wr0ng-word@') } });
  await until('it is refused', () => /[Aa]uthorization/.test(wrong.status().why ?? ''));
  const right = await fleet.node('right', { server: { url: loopback(fleet, 'nats', 'ann:s3cret-word@') } });
  await until('it is connected', () => right.status().isConnected);
  const told = JSON.stringify([fleet.events, wrong.status(), right.status()]);
  expect(told).not.toMatch(/s3cret-word|wr0ng-word|ann/);
});

test('the seed of an nkey lets a node in, and another one does not', async () => {
  const [known, unknown] = [nkeys.createUser(), nkeys.createUser()];
  await using fleet = await NatsFleet.start({
    config: `authorization { users = [ { nkey: ${known.getPublicKey()} } ] }`,
  });
  const url = loopback(fleet);
  const seedFile = Buffer.from(`${Buffer.from(known.getSeed())}\n`);
  const right = await fleet.node('right', { server: { url, credentials: seedFile } });
  await until('it is connected', () => right.status().isConnected);
  const wrong = await fleet.node('wrong', { server: { url, credentials: unknown.getSeed() } });
  await until('it is refused', () => /[Aa]uthorization/.test(wrong.status().why ?? ''));
});

test('the permissions that the guide names suffice, for states as well', async () => {
  const subjects = ['bloomery.test.>', '_INBOX.>', '$JS.API.>', '$JS.ACK.>', '$KV.bloomery_test.>'];
  const list = JSON.stringify(subjects);
  await using fleet = await NatsFleet.start({
    config: `authorization { users = [ { user: node, password: word,
      permissions: { publish: { allow: ${list} }, subscribe: { allow: ${list} } } } ] }`,
  });
  const server = { url: loopback(fleet, 'nats', 'node:word@') };
  const a = await fleet.node('a', { server });
  await until('a has a place for states', () => a.status().hasStates);
  a.publish('x', Buffer.from('one'));
  a.leaveState('x', Buffer.from('state'));
  a.serve('echo', (body) => body);
  const told: string[] = [];
  for (let tried = 0; !told.includes('state') && tried < 20; tried++) {
    const b = await fleet.node(`b${tried}`, { server });
    await until('a is up', () => b.peers().some(({ id, state }) => id === 'a' && state === 'up'));
    const ignore = { message() {}, closed() {} };
    const on = { ...ignore, state: () => told.push('state'), open: () => told.push('open') };
    b.subscribe(fleet.address('a'), 'x', on);
    await until('it is open', () => told.includes('open'));
    expect(await b.request(fleet.address('a'), 'echo', Buffer.from('!'), { timeoutMs: 9000 })).toHaveLength(
      1,
    );
    await b.close();
  }
  expect(told).toContain('state');
  expect(fleet.events.filter(({ level }) => level === 'warn')).toEqual([]);
});

test('TLS: a node checks the server, shows its certificate, and refuses a server without TLS', async () => {
  const server = selfSigned(folder, 'server');
  const client = selfSigned(folder, 'client');
  const stranger = selfSigned(folder, 'stranger');
  await using fleet = await NatsFleet.start({
    config: `tls { cert_file: "${server.cert}", key_file: "${server.key}", ca_file: "${client.cert}", verify: true }`,
  });
  const url = loopback(fleet, 'tls');
  const [ca, cert, key] = [server.cert, client.cert, client.key].map((path) => readFileSync(path));
  const right = await fleet.node('right', { server: { url, tls: { ca, cert, key } } });
  await until('it is connected', () => right.status().isConnected);
  const other = readFileSync(stranger.cert);
  const wary = await fleet.node('wary', { server: { url, tls: { ca: other, cert, key } } });
  await until('it refuses the server', () => /certificate/.test(wary.status().why ?? ''));
  const bare = await fleet.node('bare', { server: { url, tls: { ca } } });
  await until('the server refuses it', () => bare.status().why !== 'not yet connected');
  expect(bare.status().isConnected).toBe(false);

  await using plain = await NatsFleet.start();
  const strict = await plain.node('strict', { server: { url: loopback(plain, 'tls') } });
  await until('it refuses a server without TLS', () => /tls/.test(strict.status().why ?? ''));
});
