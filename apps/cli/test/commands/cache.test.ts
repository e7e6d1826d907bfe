/**
 * `bloomery cache` as a user runs it: a process of its own, with real signals. What a node does
 * inside is tested in packages/cache.
 */

import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type RequestOptions,
  request,
} from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { until } from '@bloomery/testkit/eventually';
import { afterEach, describe, expect, it } from 'vitest';
import { bloomery, COMMAND, temporaryFolder } from '../run-command.ts';

const folder = temporaryFolder();
const opened: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

interface Running {
  readonly child: ChildProcessWithoutNullStreams;
  readonly port: number;
  stdout: string;
  stderr: string;
  /** Lines of the log. */
  events(name: string): Record<string, unknown>[];
  /** The exit code, or the signal that ended the node. */
  end(): Promise<number | string>;
}

async function start(args: string[], env: Record<string, string> = {}): Promise<Running> {
  const child = spawn(process.execPath, [COMMAND, 'cache', '--no-disk', '--listen', '127.0.0.1:0', ...args], {
    cwd: folder,
    env: { ...process.env, ...env },
  });
  const ended = once(child, 'exit').then(([code, signal]) => (code ?? signal) as number | string);
  const running = {
    child,
    port: 0,
    stdout: '',
    stderr: '',
    events: (name: string) =>
      running.stderr
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line))
        .filter(({ event }) => event === name),
    end: () => ended,
  };
  child.stdout.on('data', (text) => {
    running.stdout += text;
  });
  child.stderr.on('data', (text) => {
    running.stderr += text;
  });
  opened.push(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  await until('the banner', () => running.stdout.includes('Ctrl-C ends it') || child.exitCode !== null);
  if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}: ${running.stderr}`);
  running.port = Number(/listens on https?:\/\/127\.0\.0\.1:(\d+)/.exec(running.stdout)?.[1]);
  return running;
}

async function startOrigin(listener: RequestListener): Promise<{ url: string; asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((incoming, response) => {
    asked.push(`${incoming.method} ${incoming.url}`);
    listener(incoming, response);
  });
  // Never: otherwise it closes a connection after 5 s, maybe while it is asked again.
  server.keepAliveTimeout = 0;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  opened.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, asked };
}

const cacheable: RequestListener = (incoming, response) => {
  response.writeHead(200, { 'Cache-Control': 'max-age=600' }).end(`body of ${incoming.url}`);
};

async function begin(port: number, path: string, options: RequestOptions = {}): Promise<IncomingMessage> {
  const client = request({ host: '127.0.0.1', port, path, agent: false, timeout: 20_000, ...options });
  client.on('timeout', () => client.destroy(new Error(`no answer for ${path}`)));
  client.end();
  const [response] = (await once(client, 'response')) as [IncomingMessage];
  return response;
}

async function ask(port: number, path: string, options: RequestOptions = {}) {
  const response = await begin(port, path, options);
  let body = '';
  for await (const chunk of response) body += chunk;
  return { status: response.statusCode, headers: response.headers, body };
}

describe('bloomery cache', () => {
  it('explains itself', () => {
    const { code, stdout } = bloomery(['cache', '--help']);
    expect(code).toBe(0);
    for (const text of [
      '--listen <address:port>',
      '--upstream',
      '--limit <name=value>',
      'Examples:',
      'SIGHUP',
    ])
      expect(stdout).toContain(text);
  });

  it('says what is wrong with its settings, and does not start', () => {
    const wrong = bloomery(['cache', '--memory', 'much', '--listen', 'here', '--no-disk']);
    expect(wrong.code).toBe(2);
    expect(wrong.stderr).toContain('2 settings are wrong:\n  --listen: expected an address and a port');
    expect(wrong.stderr).toContain('  --memory: expected a size such as 512MB or 2GiB, got "much"');
    expect(bloomery(['cache', '--memroy', '1GB']).stderr).toContain('Did you mean --memory?');
    const file = join(folder, 'wrong.json');
    writeFileSync(file, '{ "diskSiez": "1GB" }');
    expect(bloomery(['cache', '-c', file, '--check-config']).stderr).toContain(
      'unknown setting "diskSiez". Did you mean diskSize?',
    );
  });

  it('checks and prints settings without starting anything', () => {
    const { code, stdout } = bloomery([
      'cache',
      '--print-config',
      '--no-disk',
      '--upstream',
      '/a=http://h/',
      '--limit',
      'connections=9',
      '--limit',
      'connectionsPerClient=8',
      '--no-access-log',
    ]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      disk: false,
      upstream: { '/a': 'http://h/' },
      forward: false,
      accessLog: false,
      limits: { connections: 9, connectionsPerClient: 8 },
    });
    const file = join(folder, 'printed.json');
    writeFileSync(file, stdout);
    expect(bloomery(['cache', '--config', file, '--check-config'])).toMatchObject({
      code: 0,
      stdout: 'the settings are right\n',
    });
  });

  it('serves, prints how to use it, and stops at SIGTERM after the running answers', async () => {
    let finish = () => {};
    const origin = await startOrigin((_incoming, response) => {
      response.writeHead(200, { 'Content-Length': 10 });
      response.write('half ');
      finish = () => response.end('done!');
    });
    const cache = await start(['--upstream', `/x/=${origin.url}`]);
    for (const text of [
      `curl http://127.0.0.1:${cache.port}/x/`,
      '/.bloomery/status',
      '/.bloomery/metrics',
      'memory',
    ])
      expect(cache.stdout).toContain(text);
    expect((await ask(cache.port, '/.bloomery/health')).body).toBe('ok\n');
    const running = await begin(cache.port, '/x/slow');
    cache.child.kill('SIGTERM');
    await until('it to refuse', () =>
      ask(cache.port, '/.bloomery/health').then(
        () => false,
        () => true,
      ),
    );
    finish();
    let body = '';
    for await (const chunk of running) body += chunk;
    expect(body).toBe('half done!');
    expect(await cache.end()).toBe(0);
    expect(cache.events('stopped')).toMatchObject([{ cut: 0 }]);
  });

  it('ends at once at the second signal', async () => {
    const origin = await startOrigin((_incoming, response) => {
      response.writeHead(200, { 'Content-Length': 10 });
      response.write('half ');
    });
    const cache = await start(['--upstream', origin.url]);
    const running = await begin(cache.port, '/');
    running.on('error', () => {}).resume();
    cache.child.kill('SIGINT');
    await until('the first to be heard', () => cache.events('stopping').length === 1);
    cache.child.kill('SIGINT');
    expect(await cache.end()).toBe(130);
  });

  it('reads its configuration again at SIGHUP, and keeps the old one if the new one is wrong', async () => {
    const origin = await startOrigin(cacheable);
    const file = join(folder, 'live.json');
    const put = (content: unknown) => writeFileSync(file, JSON.stringify(content));
    put({ upstream: { '/a/': origin.url } });
    const cache = await start(['--config', file]);
    expect((await ask(cache.port, '/b/x')).status).toBe(404);
    put({ upstream: { '/a/': origin.url, '/b/': origin.url }, memory: '1GB' });
    cache.child.kill('SIGHUP');
    await until('the new configuration', () => cache.events('reloaded').length === 1);
    expect(cache.events('needs-restart')).toMatchObject([{ settings: ['memory'] }]);
    expect((await ask(cache.port, '/b/x')).body).toBe('body of /x');
    put({ upstream: 'nonsense' });
    cache.child.kill('SIGHUP');
    await until('the refusal', () => cache.events('not-reloaded').length === 1);
    expect(cache.events('not-reloaded')[0].problem).toContain('which is no URL');
    expect((await ask(cache.port, '/b/x')).status).toBe(200);
  });

  it('opens its access log again at SIGUSR1 and SIGUSR2, and no debugger', async () => {
    const origin = await startOrigin(cacheable);
    const log = join(folder, 'access.log');
    const cache = await start(['--upstream', origin.url, '--access-log', log, '--log-format', 'json']);
    for (const [number, signal] of (['SIGUSR1', 'SIGUSR2'] as const).entries()) {
      await ask(cache.port, `/${number}?secret=hidden`, { headers: { Authorization: 'Bearer hidden' } });
      renameSync(log, `${log}.${number}`);
      cache.child.kill(signal);
      await until('a new file', () => existsSync(log));
    }
    await ask(cache.port, '/2');
    cache.child.kill('SIGTERM');
    expect(await cache.end()).toBe(0);
    const paths = [`${log}.0`, `${log}.1`, log].map(
      (path) => new URL(JSON.parse(readFileSync(path, 'utf8')).url).pathname,
    );
    expect(paths).toEqual(['/0', '/1', '/2']);
    expect(cache.stderr + readFileSync(`${log}.0`, 'utf8')).not.toMatch(/hidden|Debugger listening/);
  });

  it('goes on when the reader of its output is gone', async () => {
    const cache = await start([]);
    cache.child.stdout.destroy();
    cache.child.stderr.destroy();
    cache.child.kill('SIGHUP');
    expect((await ask(cache.port, '/.bloomery/health')).status).toBe(200);
  });
});

describe('bloomery cache --workers 2', () => {
  it('asks an origin once, whichever worker is asked, and reports as one', async () => {
    const origin = await startOrigin((incoming, response) => {
      setTimeout(() => cacheable(incoming, response), 200);
    });
    const args = [
      '--upstream',
      origin.url,
      '--workers',
      '2',
      '--disk',
      join(folder, 'disk'),
      '--disk-size',
      '50MB',
    ];
    const cache = await start(args);
    const paths = ['/a', '/b', '/c', '/d'];
    // Each on a connection of its own: they are handed round.
    const answers = await Promise.all(Array.from({ length: 40 }, (_, i) => ask(cache.port, paths[i % 4])));
    for (const [i, { body }] of answers.entries()) expect(body).toBe(`body of ${paths[i % 4]}`);
    expect([...origin.asked].sort()).toEqual(paths.map((path) => `GET ${path}`));
    const status = JSON.parse((await ask(cache.port, '/.bloomery/status')).body);
    expect(status.requests).toMatchObject({ total: 40, miss: 4, error: 0 });
    expect(status.requests.collapsed + status.requests.hit).toBe(36);
    expect(status.workers.map(({ worker }: { worker: number }) => worker)).toEqual([0, 1]);
    expect(status.stores.memory.responses).toBe(4);
    const relayed = /^bloomery_cache_relayed_total (\d+)$/m.exec(
      (await ask(cache.port, '/.bloomery/metrics')).body,
    )?.[1];
    // Half of 40, by how connections were handed round: some, and not all.
    expect(Number(relayed)).toBeGreaterThan(0);
    expect(Number(relayed)).toBeLessThan(40);
    // A purge reaches the owner, wherever it is asked for.
    const headers = { 'Bloomery-Admin': '1' };
    for (const path of paths) {
      const { body } = await ask(cache.port, `/.bloomery/purge?url=${path}`, { method: 'POST', headers });
      expect(JSON.parse(body)).toMatchObject({ purged: 1 });
    }
    // And so does an unsafe request.
    await ask(cache.port, '/a');
    await ask(cache.port, '/a', { method: 'POST' });
    await ask(cache.port, '/a');
    expect(origin.asked.slice(4)).toEqual(['GET /a', 'POST /a', 'GET /a']);
    // What was asked for again is on disk, each worker's in its folder, and there after a restart.
    for (const path of paths) for (let i = 0; i < 2; i++) await ask(cache.port, path);
    cache.child.kill('SIGTERM');
    expect(await cache.end()).toBe(0);
    const files = ['bloomery-cache.json', 'console-history.json', 'node-name', 'worker-0', 'worker-1'];
    expect(readdirSync(join(folder, 'disk')).sort()).toEqual(files);
    const later = await start(args);
    const { length } = origin.asked;
    for (const path of paths)
      expect((await ask(later.port, path)).headers['cache-status']).toContain('; hit');
    expect(origin.asked).toHaveLength(length);
  });

  it('restarts a worker that is killed, answers meanwhile, and leaves none behind', async () => {
    const origin = await startOrigin(cacheable);
    const cache = await start(['--upstream', origin.url, '--workers', '2']);
    const { workers } = JSON.parse((await ask(cache.port, '/.bloomery/status')).body) as {
      workers: { pid: number }[];
    };
    process.kill(workers[1].pid, 'SIGKILL');
    await until('its death to be seen', () => cache.events('worker-died').length === 1);
    for (let i = 0; i < 20; i++) expect((await ask(cache.port, `/${i}`)).body).toBe(`body of /${i}`);
    await until('its return', () => cache.events('worker-restarted').length === 1);
    const again = JSON.parse((await ask(cache.port, '/.bloomery/status')).body) as {
      workers: { pid: number }[];
    };
    expect(again.workers).toHaveLength(2);
    expect(again.workers[0].pid).toBe(workers[0].pid);
    expect(again.workers[1].pid).not.toBe(workers[1].pid);
    // Both serve and store again: the second time nothing is asked of the origin.
    for (let i = 0; i < 20; i++) await ask(cache.port, `/${i}`);
    const before = origin.asked.length;
    for (let i = 0; i < 20; i++)
      expect((await ask(cache.port, `/${i}`)).headers['cache-status']).toContain('; hit');
    expect(origin.asked.length).toBe(before);
    // The primary's end, whatever it is, is theirs.
    cache.child.kill('SIGKILL');
    await cache.end();
    await until('the workers to be gone', () => again.workers.every(({ pid }) => !isAlive(pid)));
    await expect(once(connect(cache.port, '127.0.0.1'), 'connect')).rejects.toThrow(/ECONNREFUSED/);
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // A zombie, for which no parent has waited, counts as gone.
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}
