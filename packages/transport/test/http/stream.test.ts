import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { until } from '@bloomery/testkit/eventually';
import { Recorder } from '@bloomery/testkit/transport/contract-net';
import { afterEach, expect, test } from 'vitest';
import { FleetKeyring } from '../../src/fleet-keyring.ts';
import { HTTP_LIMITS } from '../../src/http/http-limits.ts';
import { HttpTransport, RequestSigner, RequestVerifier } from '../../src/http/index.ts';
import { StreamServer } from '../../src/http/stream-server.ts';
import { readStreamQuery } from '../../src/http/stream-target.ts';
import { systemClock } from '../../src/index.ts';
import { newLife } from '../../src/link/new-life.ts';
import { HttpFleet, SECRET } from './http-fleet.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const endings: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

async function fleetOf(...names: string[]): Promise<HttpFleet> {
  const fleet = await HttpFleet.withNames(...names);
  endings.push(() => fleet.end());
  return fleet;
}

/** A proxy that passes a response on when the whole of it has come. */
async function holdingProxy(port: number): Promise<Server> {
  const server = createServer((request, response) => {
    const onward = httpRequest({
      host: '127.0.0.1',
      port,
      method: request.method,
      path: request.url,
      headers: request.headers,
    });
    request.pipe(onward);
    onward.on('error', () => response.destroy());
    response.on('close', () => onward.destroy());
    onward.on('response', (answer) => {
      const pieces: Buffer[] = [];
      answer.on('data', (piece) => pieces.push(piece));
      answer.on('error', () => response.destroy());
      answer.on('end', () =>
        response.writeHead(answer.statusCode ?? 502, answer.headers).end(Buffer.concat(pieces)),
      );
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  endings.push(async () => {
    server.closeAllConnections();
    server.close();
  });
  return server;
}

test('HttpTransport pulls through a proxy that holds streams back, without losing messages', async () => {
  const fleet = await fleetOf('a');
  const a = fleet.start('a', []);
  const proxy = await holdingProxy(fleet.relay('a').port);
  const address = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  // A pull that takes longer would end the link, and the messages of that time with it.
  const limits = { helloMs: 1000, firstPauseMs: 1, longestPauseMs: 2, pullMs: 10 };
  const b = new HttpTransport({ id: 'b', secret: SECRET, peers: [address], limits });
  endings.push(() => b.close());
  const on = new Recorder();
  b.subscribe(address, 'x', on);
  await until('the link pulls', () => on.count('open') === 1);
  expect(b.peers()[0]).toMatchObject({ state: 'up', id: 'a' });
  for (let i = 0; i < 20; i++) {
    a.publish('x', bytes(`${i}`));
    if (i % 5 === 0) await until('it has come', () => on.told.includes(`message ${i}`));
  }
  await until('all have come', () => on.messages.length === 20);
  expect(on.told).toEqual(['open', ...Array.from({ length: 20 }, (_, i) => `message ${i}`)]);
  // More messages than are kept for pulls: the subscriber is told to catch up.
  for (let i = 0; i < 100; i++) a.publish('x', bytes('burst'));
  await until('the gap is told', () => on.count('closed') === 1 && on.count('open') === 2);
  await a.close();
  await until('down', () => b.peers()[0].state === 'down');
});

test('HttpTransport goes back from pulls to a stream when that works again', async () => {
  const fleet = await fleetOf('a', 'b');
  const a = fleet.start('a', []);
  fleet.relay('a').setFaults({ toClient: { stallAfter: 0 } });
  const limits = { helloMs: 50, firstPauseMs: 1, longestPauseMs: 2, pullMs: 10, streamAgainMs: 100 };
  const b = fleet.start('b', ['a'], { limits });
  const on = new Recorder();
  b.subscribe(fleet.address('a'), 'x', on);
  // Streams and pulls are tried in turn, and none of them brings a hello.
  await until('a pull was tried', () => fleet.relay('a').recorded().includes('pull='));
  fleet.relay('a').setFaults();
  await until('the link is open', () => on.count('open') > on.count('closed'));
  const streams = () =>
    fleet.relay('a').connections.filter((each) => {
      return each.open && each.sent.toClient > 0 && !each.recorded().toServer.includes('pull=');
    });
  await until('the link has a stream', () => streams().length === 1);
  await until('the link is open', () => on.count('open') > on.count('closed'));
  const connections = fleet.relay('a').connections.length;
  a.publish('x', bytes('streamed'));
  await until('the message has come', () => on.told.includes('message streamed'));
  expect(fleet.relay('a').connections.length).toBe(connections);
});

test('HttpTransport cuts a subscriber that does not read, and the others hear on', async () => {
  const fleet = await fleetOf('a', 'b', 'c');
  const a = fleet.start('a', [], { limits: { queuedBytes: 9 * 1024 * 1024 } });
  const b = fleet.start('b', ['a']);
  const [heard, stuck] = [new Recorder(), await openStream(fleet, 'a', 'stuck')];
  b.subscribe(fleet.address('a'), 'x', heard);
  await until('open', () => heard.count('open') === 1);
  const message = new Uint8Array(4 * 1024 * 1024);
  for (let i = 1; i <= 8; i++) {
    a.publish('x', message);
    await until('the reader has it', () => heard.messages.length === i);
  }
  await closed(stuck);
  expect(stuck.complete).toBe(false);
  expect(heard.told).not.toContain('closed');
});

/** Waits for the end of a response. It is only seen by a reader that reads. */
async function closed(response: IncomingMessage): Promise<void> {
  response.on('error', () => {});
  response.resume();
  await new Promise((resolve) => response.on('close', resolve));
}

/** A stream that is open and not read. */
async function openStream(fleet: HttpFleet, name: string, node: string): Promise<IncomingMessage> {
  const { port } = fleet.relay(name);
  const host = `127.0.0.1:${port}`;
  const target = '/.bloomery/peers/stream?protocols=1&topics=x';
  const field = new RequestSigner(SECRET, node, systemClock).sign({ method: 'GET', target, host });
  const sent = httpRequest({
    host: '127.0.0.1',
    port,
    path: target,
    headers: { host, 'bloomery-peer': field },
    agent: false,
  });
  sent.on('error', () => {});
  sent.end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return response.pause();
}

test('HttpTransport keeps four streams of a node, and refuses beyond the number of all', async () => {
  const fleet = await fleetOf('a');
  fleet.start('a', [], { limits: { streams: 6 } });
  const own: IncomingMessage[] = [];
  for (let i = 0; i < 5; i++) own.push(await openStream(fleet, 'a', 'one'));
  await closed(own[0]);
  expect((await openStream(fleet, 'a', 'two')).statusCode).toBe(200);
  expect((await openStream(fleet, 'a', 'three')).statusCode).toBe(200);
  const refused = await openStream(fleet, 'a', 'four');
  expect([refused.statusCode, refused.headers['bloomery-refused']]).toEqual([503, 'busy']);
});

test('HttpTransport adds 29 bytes to a message of three thousand, all framing counted', async () => {
  const fleet = await fleetOf('a', 'b');
  const a = fleet.start('a', [], { limits: { heartbeatMs: 60_000 } });
  const b = fleet.start('b', ['a']);
  const on = new Recorder();
  b.subscribe(fleet.address('a'), 'x', on);
  await until('open', () => on.count('open') === 1);
  const [stream] = fleet.relay('a').connections;
  const before = stream.sent.toClient;
  for (let i = 1; i <= 3; i++) {
    a.publish('x', new Uint8Array(3000));
    await until('it has come', () => on.messages.length === i);
  }
  expect(stream.sent.toClient - before).toBe(3 * (3000 + 29));
});

test('HttpTransport sends 27 bytes for a heartbeat, and nothing else when idle', async () => {
  const fleet = await fleetOf('a', 'b');
  fleet.start('a', [], { limits: { heartbeatMs: 50 } });
  const b = fleet.start('b', ['a']);
  await until('up', () => b.peers()[0].state === 'up');
  const [stream] = fleet.relay('a').connections;
  const heard = () => stream.recorded().toClient;
  const hello = heard().length;
  await until('ten heartbeats', () => heard().length >= hello + 270);
  expect((heard().length - hello) % 27).toBe(0);
  expect(fleet.relay('a').connections.length).toBe(1);
});

test('HttpTransport tells subscriptions of heartbeats, which are no messages', async () => {
  const fleet = await fleetOf('a', 'b');
  fleet.start('a', [], { limits: { heartbeatMs: 50 } });
  const b = fleet.start('b', ['a']);
  const on = new Recorder();
  let heard = 0;
  b.subscribe(fleet.address('a'), 'x', {
    message: (bytes) => on.message(bytes),
    open: () => on.open(),
    closed: (why) => on.closed(why),
    heard: () => heard++,
  });
  await until('three heartbeats', () => heard >= 3);
  expect(on.told).toEqual(['open']);
});

test('HttpTransport does not take a node with its own name for itself', async () => {
  const fleet = await fleetOf('a', 'b');
  const a = fleet.start('a', ['b'], { id: 'same' });
  fleet.start('b', [], { id: 'same' });
  await until('the name is seen', () => a.peers()[0].why === 'another node has the name of this one');
  expect(a.peers()[0].state).toBe('down');
});

test('HttpTransport asks for a topic that is subscribed to later', async () => {
  const fleet = await fleetOf('a', 'b');
  const a = fleet.start('a', []);
  const b = fleet.start('b', ['a']);
  const states: string[] = [];
  b.watchPeers(({ state }) => states.push(state));
  await until('up', () => states.length === 1);
  const [x, y] = [new Recorder(), new Recorder()];
  b.subscribe(fleet.address('a'), 'x', x);
  await until('open', () => x.count('open') === 1);
  b.subscribe(fleet.address('a'), 'y', y);
  await until('open', () => y.count('open') === 1);
  a.publish('x', bytes('1'));
  a.publish('y', bytes('2'));
  await until('both have come', () => x.messages.length + y.messages.length === 2);
  expect(states).toEqual(['up']);
  expect(x.told).toEqual(['open', 'closed', 'open', 'message 1']);
  expect(y.told).toEqual(['open', 'message 2']);
});

test('HttpTransport hears a topic that is subscribed to while the stream is under way', async () => {
  const fleet = await fleetOf('a', 'b');
  const a = fleet.start('a', []);
  fleet.relay('a').setFaults({ toClient: { stallAfter: 0 } });
  const b = fleet.start('b', ['a']);
  await until('the stream was asked for', () => fleet.relay('a').recorded().includes('GET '));
  const on = new Recorder();
  b.subscribe(fleet.address('a'), 'x', on);
  fleet.relay('a').setFaults();
  await until('open', () => on.count('open') === 1);
  a.publish('x', bytes('1'));
  await until('the message has come', () => on.messages.length === 1);
});

test('HttpTransport does not take a pause of its own process for the silence of its neighbour', async () => {
  const fleet = await fleetOf('a', 'b');
  fleet.start('a', [], { limits: { heartbeatMs: 50 } });
  const b = fleet.start('b', ['a']);
  const states: string[] = [];
  b.watchPeers(({ state }) => states.push(state));
  await until('up', () => states.length === 1);
  const [stream] = fleet.relay('a').connections;
  // Longer than three heartbeats, in which neither timers nor bytes are served.
  for (const end = Date.now() + 400; Date.now() < end; );
  const before = stream.sent.toClient;
  await until('four more heartbeats', () => stream.sent.toClient >= before + 4 * 27);
  expect(states).toEqual(['up']);
});

test('HttpTransport opens streams at a limited pace to a neighbour that always asks for another one', async () => {
  const streams = new StreamServer({
    node: 'b',
    life: newLife(systemClock),
    keyring: FleetKeyring.of(SECRET),
    clock: systemClock,
    limits: HTTP_LIMITS,
  });
  const verifier = new RequestVerifier(SECRET, systemClock);
  let opened = 0;
  const server = createServer((request, response) => {
    const { method = '', url: target = '', headers } = request;
    const field = headers['bloomery-peer'] as string;
    const verdict = verifier.verify({ method, target, host: headers.host ?? '', field });
    const asked = readStreamQuery(new URL(target, 'http://b').searchParams);
    if ('refused' in verdict || typeof asked === 'string') return void response.destroy();
    opened++;
    streams.open({ ...verdict, ...asked }, response);
    streams.renew();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const pauses: number[] = [];
  const clock = {
    ...systemClock,
    random: () => 0.5,
    after: (ms: number, run: () => void) => {
      pauses.push(ms);
      return systemClock.after(ms, run);
    },
  };
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const limits = { helloMs: 1000 };
  const a = new HttpTransport({ id: 'a', secret: SECRET, peers: [address], clock, limits });
  endings.push(async () => {
    await a.close();
    streams.close();
    server.closeAllConnections();
    server.close();
  });
  await until('five streams', () => opened >= 5);
  // The first connection, and one after a twentieth of the time for a hello for each other stream.
  expect(pauses.filter((ms) => ms === 0).length).toBe(1);
  expect(pauses.filter((ms) => ms === 50).length).toBeGreaterThanOrEqual(4);
});
