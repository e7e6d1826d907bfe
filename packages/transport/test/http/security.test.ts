import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { until } from '@bloomery/testkit/eventually';
import { afterEach, expect, test } from 'vitest';
import { type HttpTransport, RequestSigner } from '../../src/http/index.ts';
import { systemClock, type TransportError } from '../../src/index.ts';
import { HttpFleet, SECRET } from './http-fleet.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const fleets: HttpFleet[] = [];

afterEach(async () => {
  for (const fleet of fleets.splice(0)) await fleet.end();
});

async function fleetOf(...names: string[]): Promise<HttpFleet> {
  const fleet = await HttpFleet.withNames(...names);
  fleets.push(fleet);
  return fleet;
}

const ask = (transport: HttpTransport, peer: string) =>
  transport.request(peer, 'echo', bytes('?'), { timeoutMs: 10_000 }).then(
    () => 'answered',
    (error: TransportError) => error.code,
  );

interface Raw {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

async function raw(fleet: HttpFleet, name: string, { method = 'GET', path = '/', headers = {}, body }: Raw) {
  const sent = httpRequest({
    host: '127.0.0.1',
    port: fleet.relay(name).port,
    method,
    path,
    headers,
    agent: false,
  });
  sent.end(body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.resume();
  return { status: response.statusCode, word: response.headers['bloomery-refused'] };
}

test('HttpTransport refuses another secret, and says what to look at', async () => {
  const fleet = await fleetOf('a', 'b');
  const a = fleet.start('a', ['b']);
  fleet.start('b', [], { secret: SECRET.slice(1) }).serve('echo', (body) => body);
  await until('a is refused', () => a.peers()[0].why?.startsWith('refused'));
  expect(a.peers()[0]).toMatchObject({
    state: 'down',
    id: null,
    why: 'refused: has the neighbour the same secret?',
  });
  expect(await ask(a, fleet.address('b'))).toBe('refused');
});

test('HttpTransport refuses a clock that is wrong, and says so', async () => {
  for (const skewMs of [-31_000, 31_000]) {
    const fleet = await fleetOf('a', 'b');
    const a = fleet.start('a', ['b'], { clock: { ...systemClock, now: () => Date.now() + skewMs } });
    fleet.start('b', []).serve('echo', (body) => body);
    await until('a is refused', () => a.peers()[0].why?.startsWith('refused'));
    expect(a.peers()[0].why).toBe('refused: the clocks differ by more than 30 s');
    expect(await ask(a, fleet.address('b'))).toBe('clock');
  }
});

test('HttpTransport refuses a request that is replayed at a node that does not know the right one', async () => {
  const fleet = await fleetOf('a', 'b', 'c');
  const a = fleet.start('a', ['b']);
  let served = 0;
  const serve = (body: Uint8Array) => {
    served++;
    return body;
  };
  fleet.start('b', []).serve('echo', serve);
  fleet.start('c', []).serve('echo', serve);
  await until('a has met b', () => a.peers()[0].state === 'up');
  expect(await ask(a, fleet.address('b'))).toBe('answered');
  const recorded = fleet
    .relay('b')
    .connections.map((connection) => connection.recorded().toServer)
    .find((each) => each.includes('POST '));
  const socket = connect(fleet.relay('c').port, '127.0.0.1');
  socket.write(recorded!);
  const [answer] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  expect(`${answer}`).toMatch(/^HTTP\/1.1 421 Misdirected Request\r\nbloomery-refused: peer\r\n/);
  expect(served).toBe(1);
});

test('HttpTransport refuses requests that are replayed, here and at another node', async () => {
  const fleet = await fleetOf('a', 'b', 'c');
  const a = fleet.start('a', ['b']);
  let served = 0;
  const serve = (body: Uint8Array) => {
    served++;
    return body;
  };
  fleet.start('b', []).serve('echo', serve);
  const c = fleet.start('c', ['b']);
  c.serve('echo', serve);
  await until('c has met b', () => c.peers()[0].state === 'up');
  expect(await ask(a, fleet.address('b'))).toBe('answered');
  const recorded = fleet
    .relay('b')
    .connections.map((connection) => connection.recorded().toServer)
    .find((each) => each.includes('POST '));
  const replay = async (name: string) => {
    const socket = connect(fleet.relay(name).port, '127.0.0.1');
    socket.write(recorded!);
    const [answer] = (await once(socket, 'data')) as [Buffer];
    socket.destroy();
    return `${answer}`;
  };
  expect(await replay('b')).toMatch(/^HTTP\/1.1 403 Forbidden\r\nbloomery-refused: replayed\r\n/);
  expect(await replay('c')).toMatch(/^HTTP\/1.1 421 Misdirected Request\r\nbloomery-refused: peer\r\n/);
  expect(served).toBe(1);
});

test('HttpTransport refuses what is unsigned before it reads a body, and passes on other paths', async () => {
  const fleet = await fleetOf('b');
  const b = fleet.start('b', []);
  b.serve('echo', (body) => body);
  const path = '/.bloomery/peers/ask?topic=echo';
  expect(await raw(fleet, 'b', { method: 'POST', path, body: 'x' })).toEqual({
    status: 403,
    word: 'refused',
  });
  expect(await raw(fleet, 'b', { path, headers: { 'bloomery-peer': 'v=1; node=a' } })).toEqual({
    status: 403,
    word: 'refused',
  });
  expect(await raw(fleet, 'b', { path: '/.bloomery/peers' })).toEqual({ status: 404, word: undefined });
  // 8 MB are announced, and the refusal comes without one of them.
  const announced = httpRequest({
    host: '127.0.0.1',
    port: fleet.relay('b').port,
    method: 'POST',
    path,
    headers: { 'content-length': 8_000_000 },
    agent: false,
  });
  announced.on('error', () => {});
  announced.flushHeaders();
  const [response] = (await once(announced, 'response')) as [IncomingMessage];
  expect([response.statusCode, response.headers.connection]).toEqual([403, 'close']);
  announced.destroy();
});

test('HttpTransport refuses a body that is not the one that was signed', async () => {
  const fleet = await fleetOf('b');
  fleet.start('b', []).serve('echo', (body) => body);
  const path = '/.bloomery/peers/ask?topic=echo';
  const host = `127.0.0.1:${fleet.relay('b').port}`;
  const signer = new RequestSigner(SECRET, 'a', systemClock);
  const sign = (body: string) => signer.sign({ method: 'POST', target: path, host, body: bytes(body) });
  const send = (body: string, field: string) =>
    raw(fleet, 'b', { method: 'POST', path, body, headers: { host, 'bloomery-peer': field } });
  expect(await send('true', sign('true'))).toEqual({ status: 200, word: undefined });
  expect(await send('fals', sign('true'))).toEqual({ status: 403, word: 'refused' });
  expect(await send('', sign('true'))).toEqual({ status: 403, word: 'refused' });
});

test('HttpTransport refuses an answer that was changed on its way', async () => {
  const fleet = await fleetOf('a', 'b');
  const a = fleet.start('a', ['b']);
  fleet.start('b', []).serve('echo', () => bytes('a body to be hit'));
  await until('up', () => a.peers()[0].state === 'up');
  fleet.relay('b').setFaults({
    toClient: {
      damage: (piece) => {
        const at = piece.indexOf('a body to be hit');
        if (at >= 0) piece[at] ^= 1;
      },
    },
  });
  expect(await ask(a, fleet.address('b'))).toBe('damaged');
});

test('HttpTransport refuses queries, methods and versions that it does not know', async () => {
  const fleet = await fleetOf('b');
  fleet.start('b', []);
  const host = `127.0.0.1:${fleet.relay('b').port}`;
  const signer = new RequestSigner(SECRET, 'a', systemClock);
  const send = (path: string, method = 'GET') =>
    raw(fleet, 'b', {
      method,
      path,
      headers: { host, 'bloomery-peer': signer.sign({ method, target: path, host }) },
    });
  const stream = '/.bloomery/peers/stream';
  expect(await send(`${stream}?protocols=2&topics=x`)).toEqual({ status: 400, word: 'version' });
  expect(await send(stream)).toEqual({ status: 400, word: 'version' });
  expect(await send(`${stream}?protocols=1&topics=UPPER`)).toEqual({ status: 404, word: 'topic' });
  const many = Array.from({ length: 257 }, (_, i) => `t${i}`).join();
  expect(await send(`${stream}?protocols=1&topics=${many}`)).toEqual({ status: 404, word: 'topic' });
  expect(await send('/.bloomery/peers/unknown')).toEqual({ status: 404, word: 'topic' });
  expect(await send(stream, 'DELETE')).toEqual({ status: 404, word: 'topic' });
  for (const pull of ['', '.', 'x', 'x.-1', 'x.NaN', 'a.b.c'])
    expect(await send(`${stream}?protocols=9,1&topics=x&pull=${pull}`), pull).toEqual({
      status: 200,
      word: undefined,
    });
});
