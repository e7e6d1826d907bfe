/** CONNECT: tunnels to allowed ports and addresses, both halves, idle ones, and refusals. */

import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, it } from 'vitest';
import { AddressGuard } from '../../src/safety/address-guard.ts';
import { ClientGuard } from '../../src/safety/client-guard.ts';
import { eventually, type ProxyLab, type ProxyLabOptions, rawConnection, startProxy } from './proxy-lab.ts';

let lab: ProxyLab | undefined;
let server: Server | undefined;
const sockets: Socket[] = [];

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await lab?.close();
  await new Promise<void>((resolve) => (server === undefined ? resolve() : server.close(() => resolve())));
  lab = server = undefined;
});

async function listen(handle: (socket: Socket) => void): Promise<number> {
  server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.push(socket);
    socket.on('error', () => {});
    handle(socket);
  });
  await new Promise<void>((resolve) => server!.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

async function tunnel(port: number, options: ProxyLabOptions = {}, early = '') {
  lab = await startProxy({ connectPorts: [port], ...options });
  const raw = await rawConnection(lab.port);
  sockets.push(raw.socket);
  raw.socket.write(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n${early}`);
  return raw;
}

describe('tunnels', () => {
  it('carry bytes both ways, also those sent with the request', async () => {
    const port = await listen((socket) => {
      socket.on('data', (chunk) => socket.write(`<${chunk}>`));
      socket.on('end', () => socket.end());
    });
    const raw = await tunnel(port, {}, 'early');
    await raw.until(/^HTTP\/1\.1 200 Connection Established\r\n\r\n<early>$/);
    raw.socket.write('later');
    await raw.until(/<later>$/);
    expect(lab!.proxy.activity.tunnels).toBe(1);
    raw.socket.destroy();
    const record = await eventually(() => lab!.records[0]);
    expect(record).toMatchObject({ method: 'CONNECT', outcome: 'tunnel', status: 200, bytesFromOrigin: 14 });
    await eventually(() => lab!.proxy.activity.tunnels === 0);
  });

  it('pass on a half-close, in both directions', async () => {
    const port = await listen((socket) => {
      let text = '';
      socket.on('data', (chunk) => {
        text += chunk;
      });
      socket.on('end', () => setTimeout(() => socket.end(`all: ${text}`), 50));
    });
    const raw = await tunnel(port);
    await raw.until(/\r\n\r\n$/);
    raw.socket.end('question');
    expect(await raw.ended()).toMatch(/\r\n\r\nall: question$/);
    const record = await eventually(() => lab!.records[0]);
    expect(record.aborted).toBe(false);
    expect(lab!.proxy.activity.tunnels).toBe(0);
  });

  it('stay open for the client when the origin has said all', async () => {
    let heard = '';
    const port = await listen((socket) => {
      socket.on('data', (chunk) => {
        heard += chunk;
      });
      socket.end('all I have to say');
    });
    const raw = await tunnel(port);
    await raw.until(/all I have to say$/);
    await eventually(() => raw.socket.readableEnded);
    raw.socket.write('one, ');
    await eventually(() => heard === 'one, ');
    raw.socket.end('two');
    await eventually(() => heard === 'one, two');
    await eventually(() => lab!.proxy.activity.tunnels === 0);
    expect(lab!.records[0]!.aborted).toBe(false);
  });

  it('carry much, at the pace of the slower side', async () => {
    const size = 5_000_000;
    const port = await listen((socket) => socket.end(Buffer.alloc(size, 'x')));
    const raw = await tunnel(port);
    raw.socket.pause();
    await new Promise((resolve) => setTimeout(resolve, 100));
    raw.socket.resume();
    raw.socket.end();
    const text = await raw.ended();
    expect(text.length).toBe('HTTP/1.1 200 Connection Established\r\n\r\n'.length + size);
  });

  it('end when neither side says anything', async () => {
    const port = await listen(() => {});
    const raw = await tunnel(port, { limits: { idleTimeoutMs: 150 } });
    await raw.until(/200/);
    const record = await eventually(() => lab!.records[0]);
    expect([record.reason, record.aborted]).toEqual(['idle', true]);
    expect(record.durationMs).toBeGreaterThan(140);
  });

  it('end on both sides when one side breaks', async () => {
    const port = await listen((socket) => socket.on('data', () => socket.resetAndDestroy()));
    const raw = await tunnel(port);
    await raw.until(/200/);
    raw.socket.write('x');
    await raw.ended();
    await eventually(() => lab!.proxy.activity.tunnels === 0);
  });

  it('end with the proxy', async () => {
    const port = await listen(() => {});
    const raw = await tunnel(port);
    await raw.until(/200/);
    await lab!.proxy.close();
    await raw.ended();
    expect(lab!.proxy.activity.tunnels).toBe(0);
  });

  const refused = async (options: ProxyLabOptions, target: string) => {
    lab = await startProxy(options);
    const raw = await rawConnection(lab.port);
    sockets.push(raw.socket);
    raw.socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\n`);
    return raw.ended();
  };

  it('are refused in words', async () => {
    expect(await refused({ connectPorts: [443] }, '127.0.0.1:25')).toMatch(
      /^HTTP\/1\.1 403 Forbidden\r\n[\s\S]*Tunnels to port 25 are not allowed here \(allowed: 443\)\n$/,
    );
    expect(lab!.records[0]).toMatchObject({ outcome: 'refused', status: 403, reason: 'port-not-allowed' });
    await lab!.close();
    const guard = new AddressGuard({ allowPrivate: false, allow: [], deny: [] });
    const address = await refused({ connectPorts: [443], addresses: guard }, '127.0.0.1:443');
    expect(address).toMatch(/^HTTP\/1\.1 403 [\s\S]*error=destination_ip_prohibited/);
    await lab!.close();
    expect(await refused({ connectPorts: [443], addresses: guard }, 'localhost:443')).toMatch(
      /^HTTP\/1\.1 403 /,
    );
    await lab!.close();
    expect(await refused({ forward: false }, '127.0.0.1:443')).toMatch(/^HTTP\/1\.1 405 /);
    await lab!.close();
    const clients = new ClientGuard({ allow: ['10.0.0.0/8'] });
    expect(await refused({ clients }, '127.0.0.1:443')).toMatch(/^HTTP\/1\.1 403 /);
    await lab!.close();
    expect(await refused({ connectPorts: [1] }, '127.0.0.1:1')).toMatch(
      /^HTTP\/1\.1 502 [\s\S]*127\.0\.0\.1:1: connection refused\n$/,
    );
    expect(lab!.records[0]).toMatchObject({ outcome: 'error', reason: 'connection_refused' });
  });

  it('to an address that does not answer time out, as a GET does', async () => {
    await using silent = await fullBacklog();
    const address = `127.0.0.1:${silent.port}`;
    const limits = { originConnectTimeoutMs: 200 };
    const text = await refused({ connectPorts: [silent.port], limits }, address);
    expect(text).toMatch(
      /^HTTP\/1\.1 504 Gateway Timeout\r\n[\s\S]*\r\nProxy-Status: \S+; error=connection_timeout\r\n/,
    );
    expect(text).toMatch(/\r\n\r\n127\.0\.0\.1:\d+: no connection within the time allowed\n$/);
    expect(lab!.records[0]).toMatchObject({ outcome: 'error', status: 504, reason: 'connection_timeout' });
    const get = await lab!.get(`http://${address}/`);
    expect([get.status, lab!.records[1]!.reason]).toEqual([504, 'connection_timeout']);
  });
});

/**
 * A port that listens and never accepts, with its backlog full: the system drops what asks for a
 * connection.
 */
async function fullBacklog(): Promise<AsyncDisposable & { readonly port: number }> {
  const listener = new Worker(
    `const { parentPort } = require('node:worker_threads');
    const server = require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
      parentPort.postMessage(server.address().port);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    });`,
    { eval: true },
  );
  const port = await new Promise<number>((resolve) => listener.once('message', resolve));
  const waiting: Socket[] = [];
  const connects = async (): Promise<boolean> => {
    const socket = connect({ port, host: '127.0.0.1' });
    waiting.push(socket.on('error', () => {}));
    return new Promise((resolve) => {
      // Not at once: after a pause of this process, a connection that is there is told after the
      // timer.
      const timer = setTimeout(() => setImmediate(() => resolve(false)), 100);
      socket.once('connect', () => {
        clearTimeout(timer);
        resolve(true);
      });
    });
  };
  let tries = 0;
  while (await connects())
    if (++tries > 20) throw new Error('Expected a backlog of 1 to be full after 20 connections');
  return {
    port,
    async [Symbol.asyncDispose]() {
      for (const socket of waiting) socket.destroy();
      await listener.terminate();
    },
  };
}
