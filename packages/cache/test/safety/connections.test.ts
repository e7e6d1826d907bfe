/** Limits of connections, of requests on one, and of waiting, against real sockets. */

import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { eventually } from '@bloomery/testkit/eventually';
import { afterEach, describe, expect, it } from 'vitest';
import { ConnectionCounter, clientKey, limitConnections } from '../../src/safety/connection-limits.ts';
import { guardServer } from '../../src/safety/guard-server.ts';
import { checkLimits, type Limits } from '../../src/safety/limits.ts';
import { applyServerSettings, serverOptions } from '../../src/safety/server-settings.ts';

const servers: Server[] = [];
const sockets: Socket[] = [];

afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function start(chosen: Partial<Limits>, shared = new ConnectionCounter(), handled: string[] = []) {
  const limits = checkLimits(chosen);
  const server = createServer(serverOptions(limits));
  applyServerSettings(server, limits);
  guardServer(server, {
    limits,
    name: () => 'test',
    request(req, res) {
      handled.push(req.url ?? '');
      res.end('served');
    },
  });
  const counts = limitConnections(server, { limits, plain: true, name: () => 'test' }, shared);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  servers.push(server);
  return { port: (server.address() as AddressInfo).port, counts, handled };
}

/**
 * Sends `bytes` and listens until the server closes the connection or `enough` holds. The deadline
 * is 30 s; the slowest answer here takes 3 s.
 */
async function talk(port: number, bytes: string, enough = (_text: string) => false, from?: string) {
  const socket = connect({ port, host: '127.0.0.1', ...(from === undefined ? {} : { localAddress: from }) });
  sockets.push(socket);
  let text = '';
  let closed = false;
  socket.on('error', () => {});
  socket.on('data', (chunk) => (text += chunk));
  socket.on('close', () => (closed = true));
  if (bytes !== '') socket.write(bytes);
  await eventually(() => closed || enough(text));
  return { socket, text: () => text, closed };
}

const served = (text: string) => text.includes('served');
const hello = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';

describe('connections', () => {
  it('in total: one more is told why and closed, and a place is free again when one ends', async () => {
    const { port, counts, handled } = await start({ connections: 3, connectionsPerClient: 3 });
    const held = await Promise.all([1, 2, 3].map(() => talk(port, '', () => counts.open === 3)));
    expect(held.map(({ closed }) => closed)).toEqual([false, false, false]);
    expect(counts).toMatchObject({ open: 3, clients: 1 });
    const refused = await talk(port, '');
    expect(refused.closed).toBe(true);
    expect(refused.text()).toMatch(/^HTTP\/1\.1 503 [\s\S]*Connection: close[\s\S]*Too many connections/);
    expect(counts).toMatchObject({ open: 3, refused: 1 });
    held[0]!.socket.destroy();
    await eventually(() => counts.open === 2);
    expect((await talk(port, hello, served)).text()).toMatch(/served/);
    expect(handled).toEqual(['/']);
  });

  it('per client: others still come', async () => {
    const { port, counts } = await start({ connections: 10, connectionsPerClient: 2 });
    await Promise.all([1, 2].map(() => talk(port, '', () => counts.open === 2)));
    const refused = await talk(port, '');
    expect(refused.closed).toBe(true);
    expect(refused.text()).toMatch(/^HTTP\/1\.1 429 /);
    // Another address of this machine.
    expect((await talk(port, hello, served, '127.0.0.2')).text()).toMatch(/served/);
    expect(counts).toMatchObject({ open: 3, clients: 2 });
  });

  it('a refused connection is never read, even if it sends at once', async () => {
    const { port, counts, handled } = await start({ connections: 1, connectionsPerClient: 1 });
    await talk(port, '', () => counts.open === 1);
    const results = await Promise.all(Array.from({ length: 20 }, () => talk(port, hello)));
    expect(results.every(({ closed }) => closed)).toBe(true);
    expect(handled).toEqual([]);
  });

  it('can be counted together over several servers, and leave nothing behind', async () => {
    const shared = new ConnectionCounter();
    const one = await start({ connections: 2, connectionsPerClient: 2 }, shared);
    const two = await start({ connections: 2, connectionsPerClient: 2 }, shared);
    const held = [
      await talk(one.port, '', () => shared.open === 1),
      await talk(two.port, '', () => shared.open === 2),
    ];
    expect((await talk(two.port, '')).text()).toMatch(/^HTTP\/1\.1 503 /);
    for (const { socket } of held) socket.destroy();
    await eventually(() => shared.open === 0);
    expect(shared).toMatchObject({ open: 0, clients: 0, refused: 1 });
  });

  it('are counted by IPv4 address, and by 64 bits of IPv6', () => {
    expect(clientKey('10.0.0.1')).toBe(clientKey('::ffff:10.0.0.1'));
    expect(clientKey('10.0.0.1')).not.toBe(clientKey('10.0.0.2'));
    expect(clientKey('2600:1:2:3::1')).toBe(clientKey('2600:1:2:3:ffff::2'));
    expect(clientKey('2600:1:2:3::1')).not.toBe(clientKey('2600:1:2:4::1'));
    expect(clientKey('')).toBe('unknown');
  });
});

describe('requests that wait for their answers on one connection', () => {
  /** `/held` is answered when the test says so, the rest at once. */
  async function startHolding(chosen: Partial<Limits>) {
    const limits = checkLimits(chosen);
    const server = createServer(serverOptions(limits));
    applyServerSettings(server, limits);
    const held: ServerResponse[] = [];
    const refused: string[] = [];
    guardServer(server, {
      limits,
      name: () => 'test',
      request(req, res) {
        if (req.url === '/held') held.push(res);
        else res.end('at once');
      },
      refused: (why) => refused.push(why.code),
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    servers.push(server);
    return { port: (server.address() as AddressInfo).port, held, refused };
  }

  const ask = 'GET /held HTTP/1.1\r\nHost: a\r\n\r\n';

  it('may be so many, again and again', async () => {
    const { port, held, refused } = await startHolding({ pipelinedRequests: 4 });
    const { socket, text } = await talk(port, ask.repeat(4), () => held.length === 4);
    for (let round = 1; round <= 3; round++) {
      await eventually(() => held.length === 4);
      for (const [at, res] of held.splice(0).reverse().entries()) res.end(`answer ${round}-${4 - at}`);
      await eventually(() => text().includes(`answer ${round}-4`));
      if (round < 3) socket.write(ask.repeat(4));
    }
    expect(text().match(/answer \d-\d/g)).toEqual(
      [1, 2, 3].flatMap((round) => [1, 2, 3, 4].map((n) => `answer ${round}-${n}`)),
    );
    expect(refused).toEqual([]);
  });

  it('one more is refused when those before it are answered, and ends the connection', async () => {
    const { port, held, refused } = await startHolding({ pipelinedRequests: 4 });
    const { socket, text } = await talk(port, ask.repeat(7), () => refused.length === 1);
    await eventually(() => held.length === 4);
    await eventually(() => refused.length === 1);
    expect(text()).toBe('');
    for (const res of held) res.end('answered');
    await once(socket, 'close');
    expect(text().match(/HTTP\/1\.1 \d+|answered/g)).toEqual([
      ...Array.from({ length: 4 }, () => ['HTTP/1.1 200', 'answered']).flat(),
      'HTTP/1.1 429',
    ]);
    expect(text()).toMatch(/Connection: close[\s\S]*expected at most 4 without an answer/);
    expect(refused).toEqual(['pipelining']);
    expect(held).toHaveLength(4);
  });

  it('those that are answered at once do not count', async () => {
    const { port, held, refused } = await startHolding({ pipelinedRequests: 4 });
    const { text } = await talk(port, hello.repeat(50), (heard) => heard.match(/at once/g)?.length === 50);
    expect(text().match(/at once/g)).toHaveLength(50);
    const behind = await talk(port, ask + hello.repeat(50), () => held.length === 1);
    expect(behind.text()).toBe('');
    held[0]!.end('held');
    await eventually(() => behind.text().match(/at once/g)?.length === 50);
    expect(refused).toEqual([]);
  });

  it('a client that goes on after the refusal is cut off', async () => {
    const { port, held, refused } = await startHolding({ pipelinedRequests: 4 });
    const { closed, text } = await talk(port, ask.repeat(100));
    expect(closed).toBe(true);
    expect(text()).toBe('');
    expect(held).toHaveLength(4);
    expect(refused).toEqual(['pipelining']);
  });
});

describe('settings', () => {
  it('a connection serves so many requests', async () => {
    const { port, handled } = await start({ requestsPerConnection: 3 });
    const { text } = await talk(port, hello.repeat(3), (heard) => heard.match(/served/g)?.length === 3);
    expect(text().match(/served/g)).toHaveLength(3);
    expect(text()).toMatch(/Connection: close/i);
    expect(handled).toHaveLength(3);
  });

  it.each([30, 31, 62])('fields beyond %i are refused, not dropped', async (headerCount) => {
    // Node gathers fields by 31, and keeps silent about those it drops.
    const { port, handled } = await start({ headerCount });
    const fields = (n: number) => `GET / HTTP/1.1\r\nHost: a\r\n${'a: b\r\n'.repeat(n - 1)}\r\n`;
    expect((await talk(port, fields(headerCount), served)).text()).toMatch(/^HTTP\/1\.1 200 /);
    for (const n of [headerCount + 1, headerCount + 2, 200]) {
      expect((await talk(port, fields(n))).text(), `${n} fields`).toMatch(/^HTTP\/1\.1 431 /);
    }
    expect(handled).toHaveLength(1);
  });

  it('an idle connection is closed', async () => {
    const { port } = await start({ idleTimeoutMs: 200 });
    const { text, closed } = await talk(port, hello);
    expect(text()).toMatch(/served/);
    expect(closed).toBe(true);
  });

  it('an idle connection stays open a little longer than its client was told', async () => {
    const { port } = await start({ idleTimeoutMs: 1000 });
    const began = performance.now();
    const { text, closed } = await talk(port, hello);
    expect(text()).toMatch(/^Keep-Alive: timeout=1\b/im);
    expect(closed).toBe(true);
    expect(performance.now() - began).toBeGreaterThan(2400);
  });

  it('bytes one by one do not keep a connection for longer than a head may take', async () => {
    const { port } = await start({ headTimeoutMs: 400, requestTimeoutMs: 800 });
    const talking = talk(port, 'GET / HTTP/1.1\r\nHost: a\r\nX: ');
    const drip = setInterval(() => sockets.at(-1)?.write('y'), 30);
    const { closed, text } = await talking;
    clearInterval(drip);
    expect(closed).toBe(true);
    expect(text()).toMatch(/^HTTP\/1\.1 408 [\s\S]*took too long/);
  });

  it('a body that does not come ends the connection', async () => {
    const limits = checkLimits({ headTimeoutMs: 300, requestTimeoutMs: 500 });
    const server = createServer(serverOptions(limits));
    applyServerSettings(server, limits);
    let aborted = false;
    guardServer(server, {
      limits,
      name: () => 'test',
      request(req, res) {
        req.on('error', () => (aborted = true));
        req.resume();
        req.on('end', () => res.end('whole'));
      },
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    servers.push(server);
    const port = (server.address() as AddressInfo).port;
    const { closed, text } = await talk(port, 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc');
    expect(closed).toBe(true);
    expect(text()).toMatch(/^HTTP\/1\.1 408 /);
    expect(aborted).toBe(true);
  });
});
