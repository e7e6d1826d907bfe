/**
 * Mutual TLS between nodes, with certificates made by openssl on real servers: which ones are
 * refused and with what reason, what a wrong clock means, and a change of authority and
 * certificates under traffic.
 */

import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer as createHttpServer, type Server } from 'node:http';
import { createServer, request as httpsRequest } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '@bloomery/testkit/eventually';
import { type IssueOptions, TestAuthority } from '@bloomery/testkit/programs/test-authority';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import {
  FleetCertificates,
  HttpTransport,
  type HttpTransportOptions,
  RequestSigner,
} from '../../src/http/index.ts';
import { systemClock, type TransportError } from '../../src/index.ts';
import { SECRET } from './http-fleet.ts';

const folder = mkdtempSync(join(tmpdir(), 'bloomery-mtls-'));
let authority: TestAuthority;
let other: TestAuthority;
beforeAll(() => {
  authority = new TestAuthority(folder, 'authority');
  other = new TestAuthority(folder, 'other');
});
afterAll(() => rmSync(folder, { recursive: true }));

const endings: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

const certificates = (name: string, from = authority, options: IssueOptions = {}) =>
  new FleetCertificates({ ...from.issue(name, options), ca: authority.pem });

/** A server that is there before its node, so that its address is known. */
interface Place {
  readonly server: Server;
  readonly address: string;
}

async function place(own: FleetCertificates | null): Promise<Place> {
  const server =
    own === null
      ? createHttpServer()
      : createServer({ ...own.pem, requestCert: true, rejectUnauthorized: false });
  own?.watch(() => (server as ReturnType<typeof createServer>).setSecureContext(own.pem));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  endings.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { server: server as Server, address: `${own === null ? 'http' : 'https'}://127.0.0.1:${port}` };
}

function start(id: string, { server }: Pick<Place, 'server'>, options: Partial<HttpTransportOptions>) {
  const limits = { firstPauseMs: 10, longestPauseMs: 50, heartbeatMs: 400 };
  const node = new HttpTransport({ id, secret: SECRET, peers: [], limits, ...options });
  server.on('request', (request, response) => void node.handle(request, response));
  node.serve('echo', (body) => body);
  endings.push(() => node.close());
  return node;
}

const ask = (node: HttpTransport, address: string) =>
  node.request(address, 'echo', Buffer.from('?'), { timeoutMs: 10_000 }).then(
    () => 'answered',
    (error: TransportError) => error.code,
  );

/** Starts b with certificates, and a, which asks it; returns why a finds b down, and the code. */
async function refusalOf(options: Partial<HttpTransportOptions>, own = certificates('b'), id = 'a') {
  const b = await place(own);
  start('b', b, { certificates: own });
  const a = start(id, await place(null), { peers: [b.address], ...options });
  await until('refused', () => a.peers()[0].state === 'down' && a.peers()[0].why !== 'not yet reached');
  return { why: a.peers()[0].why, code: await ask(a, b.address) };
}

const WANTS = 'refused: it wants a certificate of its fleet with the name of this node';

test('HttpTransport with certificates talks to a neighbour that has one of the same authority', async () => {
  const [ofA, ofB] = [certificates('a'), certificates('b')];
  const [atA, atB] = [await place(ofA), await place(ofB)];
  const a = start('a', atA, { certificates: ofA, peers: [atB.address] });
  const b = start('b', atB, { certificates: ofB, peers: [atA.address] });
  await until('up', () => [a, b].every((node) => node.peers()[0].state === 'up'));
  expect([a.peers()[0].id, b.peers()[0].id]).toEqual(['b', 'a']);
  expect(await ask(a, atB.address)).toBe('answered');
});

test('HttpTransport refuses a neighbour without a certificate, although it knows the secret', async () => {
  expect(await refusalOf({ tls: { ca: authority.pem } })).toEqual({ why: WANTS, code: 'certificate' });
});

test('HttpTransport refuses certificates of another authority, on both sides', async () => {
  const foreign = other.issue('a');
  // The asker trusts the neighbour, and is not trusted.
  const asker = new FleetCertificates({ ...foreign, ca: authority.pem });
  expect(await refusalOf({ certificates: asker })).toEqual({ why: WANTS, code: 'certificate' });
  const doubting = new FleetCertificates({ ...authority.issue('a'), ca: other.pem });
  const { why, code } = await refusalOf({ certificates: doubting });
  expect(why).toMatch(/^its certificate is from another authority: /);
  expect(code).toBe('unreachable');
});

test('HttpTransport refuses certificates that have expired, on both sides', async () => {
  const expired = { days: -1 };
  expect(await refusalOf({ certificates: certificates('a', authority, expired) })).toEqual({
    why: WANTS,
    code: 'certificate',
  });
  const own = certificates('b', authority, expired);
  expect(await refusalOf({ certificates: certificates('a') }, own)).toEqual({
    why: 'its certificate has expired; or is the clock of this node wrong?',
    code: 'unreachable',
  });
});

test('HttpTransport refuses a member of the fleet that takes the name of another one', async () => {
  const own = certificates('b');
  const b = await place(own);
  start('b', b, { certificates: own });
  const { port } = new URL(b.address);
  const host = `127.0.0.1:${port}`;
  const path = '/.bloomery/peers/ask?topic=echo';
  const mallory = authority.issue('mallory');
  const send = async (node: string) => {
    const field = new RequestSigner(SECRET, node, systemClock).sign({ method: 'POST', target: path, host });
    const headers = { host, 'bloomery-peer': field };
    const tls = { ...mallory, ca: authority.pem };
    const sent = httpsRequest({
      ...tls,
      host: '127.0.0.1',
      port,
      method: 'POST',
      path,
      headers,
      agent: false,
    });
    sent.end();
    const [response] = await once(sent, 'response');
    response.resume();
    return [response.statusCode, response.headers['bloomery-refused']];
  };
  expect(await send('mallory')).toEqual([200, undefined]);
  expect(await send('a')).toEqual([403, 'certificate']);
});

test('HttpTransport refuses a neighbour whose hello has another name than its certificate', async () => {
  const own = certificates('b');
  const b = await place(certificates('mallory'));
  start('b', b, { certificates: own });
  const a = start('a', await place(null), { peers: [b.address], certificates: certificates('a') });
  await until('refused', () => a.peers()[0].why?.startsWith('its certificate'));
  expect(a.peers()[0]).toMatchObject({
    state: 'down',
    id: null,
    why: 'its certificate does not have its name b',
  });
});

test('HttpTransport does not take a name that its certificate does not have', () => {
  expect(
    () => new HttpTransport({ id: 'x', secret: SECRET, peers: [], certificates: certificates('a') }),
  ).toThrow('Cannot take part in a fleet: expected the name x in the certificate, got a');
});

test('HttpTransport refuses a right certificate with another secret', async () => {
  const options = { certificates: certificates('a'), secret: SECRET.slice(1) };
  expect(await refusalOf(options)).toEqual({
    why: 'refused: has the neighbour the same secret?',
    code: 'refused',
  });
});

test('HttpTransport with certificates talks to a node whose clock is a day wrong', async () => {
  for (const skewMs of [-86_400_000, 86_400_000]) {
    const [ofA, ofB] = [certificates('a'), certificates('b')];
    const b = await place(ofB);
    start('b', b, { certificates: ofB });
    const clock = { ...systemClock, now: () => Date.now() + skewMs };
    const a = start('a', await place(null), { certificates: ofA, peers: [b.address], clock });
    await until('up', () => a.peers()[0].state === 'up');
    expect(await ask(a, b.address)).toBe('answered');
  }
});

test('HttpTransport says why nodes with and without certificates do not meet', async () => {
  const own = certificates('b');
  const [atA, atB] = [await place(null), await place(own)];
  const plainOfB = atB.address.replace('https', 'http');
  const a = start('a', atA, { peers: [plainOfB] });
  const tlsOfA = atA.address.replace('http', 'https');
  const b = start('b', atB, { peers: [atA.address, tlsOfA], certificates: own });
  await until('told', () =>
    [...a.peers(), ...b.peers()].every(({ state, why }) => state === 'down' && why !== 'not yet reached'),
  );
  expect([...a.peers(), ...b.peers()].map(({ why }) => why)).toEqual([
    'closed without an answer: does it want https://?',
    'refused: it has no https:// address',
    'no TLS there: has it a certificate?',
  ]);
});

test('HttpTransport changes authority and certificates without a lost link or a failed request', async () => {
  const names = ['a', 'b', 'c'];
  const own = names.map((name) => certificates(name));
  const places = await Promise.all(own.map(place));
  const downs: string[] = [];
  const nodes = names.map((name, i) => {
    const peers = places.filter((each) => each !== places[i]).map(({ address }) => address);
    const node = start(name, places[i], { certificates: own[i], peers });
    node.watchPeers(({ state, why, id }) => state === 'up' || downs.push(`${name} lost ${id}: ${why}`));
    return node;
  });
  const areUp = () => nodes.every((node) => node.peers().every(({ state }) => state === 'up'));
  await until('all are up', areUp);
  downs.length = 0;
  let isOver = false;
  let asked = 0;
  const failures: string[] = [];
  const traffic = nodes.map(async (node) => {
    while (!isOver) {
      for (const { address } of node.peers()) {
        const answer = await ask(node, address);
        asked++;
        if (answer !== 'answered') failures.push(answer);
      }
    }
  });
  const fresh = names.map((name) => other.issue(name));
  const both = authority.pem + other.pem;
  const steps = [
    (i: number) => ({ ...own[i].pem, ca: both }),
    (i: number) => ({ ...fresh[i], ca: both }),
    (i: number) => ({ ...fresh[i], ca: other.pem }),
  ];
  let streams = 0;
  for (const { server } of places)
    server.on('request', ({ url }) => url?.startsWith('/.bloomery/peers/stream') && streams++);
  for (const step of steps)
    for (const i of [0, 1, 2]) {
      const [before, askedBefore] = [streams, asked];
      own[i].change(step(i), names[i]);
      // The node opens a stream to both others, and both open one to it.
      await until('streams are renewed', () => streams >= before + 4 && areUp());
      await until('requests go on', () => asked >= askedBefore + 12);
    }
  isOver = true;
  await Promise.all(traffic);
  expect(downs).toEqual([]);
  expect(failures).toEqual([]);
  // The old authority counts no longer.
  const late = start('late', await place(null), {
    peers: [places[0].address],
    certificates: new FleetCertificates({ ...authority.issue('late'), ca: both }),
  });
  await until('refused', () => late.peers()[0].why === WANTS);
});

test('HttpTransport ends the link of a neighbour whose authority was removed', async () => {
  const ofA = certificates('a');
  const ofB = new FleetCertificates({ ...authority.issue('b'), ca: authority.pem + other.pem });
  const b = await place(ofB);
  start('b', b, { certificates: ofB });
  const a = start('a', await place(null), { certificates: ofA, peers: [b.address] });
  await until('up', () => a.peers()[0].state === 'up');
  ofB.change({ ...ofB.pem, ca: other.pem }, 'b');
  await until('down', () => a.peers()[0].state === 'down');
  expect(a.peers()[0].why).toBe(WANTS);
});
