/** A new configuration for a running node: what it takes at once, and what it says of the rest. */

import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/node/config/node-config.ts';
import { bundleProgram, type RunningProgram, startProgram } from './cache-program.ts';
import { ask, cleanUp, scratchFolder, startOrigin, startTestNode, type TestNode, until } from './scratch.ts';

const folder = scratchFolder();

async function startWith(): Promise<{ node: TestNode; reload: (limits: string[]) => string[] }> {
  const origin = await startOrigin();
  const flags = { upstream: [origin.url], disk: false, listen: ['127.0.0.1:0'] };
  // Long enough that only limits that were reloaded can end a connection before the deadline of a
  // test.
  const limits = ['headTimeoutMs=20m', 'requestTimeoutMs=20m', 'idleTimeoutMs=20m'];
  const node = await startTestNode({ ...flags, limits });
  return { node, reload: (limits) => node.reload(loadConfig({ flags: { ...flags, limits } })) };
}

/** Everything that the node sends on a connection until it closes it. */
async function conversation(port: number, text: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  cleanUp(() => socket.destroy());
  socket.on('error', () => {});
  await once(socket, 'connect');
  socket.write(text);
  let heard = '';
  socket.on('data', (chunk) => {
    heard += chunk;
  });
  await once(socket, 'close');
  return heard;
}

describe('limits of a running node', () => {
  it('the time for a head', { timeout: 30_000 }, async () => {
    const { node, reload } = await startWith();
    expect(reload(['headTimeoutMs=100ms'])).toEqual([]);
    const heard = await conversation(node.port, 'GET /a HTTP/1.1\r\nHost: h\r\n');
    expect(heard).toMatch(/^HTTP\/1.1 408 /);
  });

  it('the time for a whole request', { timeout: 30_000 }, async () => {
    const { node, reload } = await startWith();
    reload(['requestTimeoutMs=200ms', 'headTimeoutMs=100ms']);
    await conversation(node.port, 'PUT /a HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nhalf');
  });

  it('the time between two requests', { timeout: 30_000 }, async () => {
    const { node, reload } = await startWith();
    reload(['idleTimeoutMs=200ms']);
    const heard = await conversation(node.port, 'GET /a HTTP/1.1\r\nHost: h\r\n\r\n');
    expect(heard).toMatch(/^HTTP\/1.1 200 /);
  });

  it('the time between two requests on the peer port, with and without workers', async () => {
    const file = join(folder, 'peers.json');
    const write = (idleTimeoutMs: string) =>
      writeFileSync(
        file,
        JSON.stringify({ limits: { idleTimeoutMs }, peerListen: '127.0.0.1:0', peerSecret }),
      );
    const peerSecret = join(folder, 'secret');
    writeFileSync(peerSecret, 'a secret of the whole fleet\n', { mode: 0o600 });
    const program = bundleProgram(join(folder, 'program'));
    for (const workers of [1, 2]) {
      write('20m');
      const node = await startProgram(program, { workers }, { file });
      const port = Number(String(node.events('listening')[0].peers).split(':').at(-1));
      write('200ms');
      node.child.kill('SIGHUP');
      await until('all to have it', () => node.events('reloaded').length === workers);
      const heard = await conversation(port, 'GET http://h/a HTTP/1.1\r\nHost: h\r\n\r\n');
      expect(heard).toMatch(/^HTTP\/1.1 504 /);
    }
  });

  it('connections of one client, and of all', async () => {
    const { node, reload } = await startWith();
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    cleanUp(() => agent.destroy());
    await ask(node.port, '/a', { agent });
    reload(['connectionsPerClient=1']);
    expect((await ask(node.port, '/a')).status).toBe(429);
    reload(['connectionsPerClient=1', 'connections=1']);
    expect((await ask(node.port, '/a')).status).toBe(503);
    reload([]);
    expect((await ask(node.port, '/a')).status).toBe(200);
    // The one that was there went on all the time.
    expect((await ask(node.port, '/a', { agent })).status).toBe(200);
  });

  it('the size of a head, larger and smaller, and requests on a connection', async () => {
    const { node, reload } = await startWith();
    // Of the node itself: an origin has a limit of its own.
    const size = async (bytes: number) =>
      (await ask(node.port, '/.bloomery/health', { headers: { 'X-Long': 'a'.repeat(bytes) } })).status;
    expect(await size(60_000)).toBe(431);
    reload(['headBytes=128KiB', 'requestsPerConnection=1']);
    expect(await size(60_000)).toBe(200);
    reload(['headBytes=2KiB', 'urlBytes=1KiB', 'requestsPerConnection=1']);
    expect(await size(3000)).toBe(431);
    const agent = new Agent({ keepAlive: true });
    cleanUp(() => agent.destroy());
    expect((await ask(node.port, '/a', { agent })).headers.connection).toBe('close');
  });
});

describe('what needs a restart', () => {
  it('is named as in the file, at a level that is seen', async () => {
    const node = await startTestNode({});
    const config = loadConfig({
      flags: {
        listen: ['127.0.0.1:1'],
        adminListen: '127.0.0.1:2',
        memory: '1GB',
        disk: join(folder, 'new'),
        diskSize: '1GB',
        workers: '2',
      },
    });
    const settings = ['listen', 'adminListen', 'memory', 'disk', 'diskSize', 'workers'];
    expect(node.reload(config)).toEqual(settings);
    expect(node.lines.find(({ event }) => event === 'needs-restart')).toMatchObject({
      level: 'warn',
      settings,
    });
    // Nothing of it was taken: so it is still what differs.
    expect(node.reload(config)).toEqual(settings);
  });

  it('warnings of the new configuration are told like those of the first', async () => {
    const node = await startTestNode({});
    node.reload(loadConfig({ flags: { disk: false, allowClient: ['all'] } }));
    expect(node.lines.find(({ event }) => event === 'configuration')).toMatchObject({
      warning: expect.stringContaining('every client that reaches this node'),
    });
  });
});

describe('a SIGHUP to a node with workers', () => {
  it('is told once what needs a restart; what cannot be opened is refused, and workers that die later come back', async () => {
    const program = bundleProgram(join(folder, 'program'));
    const file = join(folder, 'cache.json');
    const write = (settings: object) => writeFileSync(file, JSON.stringify(settings));
    write({ limits: { idleTimeoutMs: '20m' } });
    const node = await startProgram(program, { workers: 2 }, { file });
    write({ memory: '1GB', adminListen: '127.0.0.1:0', limits: { idleTimeoutMs: '150ms' } });
    node.child.kill('SIGHUP');
    await until('both to have it', () => node.events('reloaded').length === 2);
    expect(node.events('needs-restart')).toEqual([
      expect.objectContaining({ level: 'warn', settings: ['adminListen', 'memory'] }),
    ]);
    for (let i = 0; i < 2; i++) {
      await conversation(node.port, 'GET /.bloomery/health HTTP/1.1\r\nHost: h\r\n\r\n');
    }
    write({ accessLog: join(folder, 'no', 'such', 'file') });
    node.child.kill('SIGHUP');
    await until('the refusal', () => node.events('not-reloaded').length === 1);
    expect(node.events('not-reloaded')[0].problem).toMatch(/^Cannot open the access log .*: ENOENT/);
    process.kill(Number(node.events('listening')[0].pid), 'SIGKILL');
    await until('its return', () => node.events('worker-restarted').length === 1);
  });

  it('that comes while they start is not lost, nor for a worker that is just coming back', async () => {
    const program = bundleProgram(join(folder, 'program'));
    let early = 0;
    const firstListens = ({ child }: RunningProgram) => {
      early++;
      child.kill('SIGHUP');
    };
    const node = await startProgram(program, { workers: 2 }, { firstListens });
    expect(early).toBe(1);
    await until('both to have it', () => node.events('reloaded').length === 2);
    const [{ worker, pid }] = node.events('listening');
    process.kill(pid as number, 'SIGKILL');
    const timesOf = (name: string) => node.events(name).filter((event) => event.worker === worker).length;
    await until('it to be back', () => {
      if (timesOf('listening') === 2) return true;
      node.child.kill('SIGHUP');
      return false;
    });
    await until('it to have it', () => timesOf('reloaded') > 1);
  });
});
