import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { readFileSync, renameSync } from 'node:fs';
import { Agent, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { selfSigned } from '@bloomery/testkit/programs/self-signed';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/node/config/node-config.ts';
import { Log } from '../../src/node/log/log.ts';
import { startNode } from '../../src/node/start-node.ts';
import { ask, cleanUp, scratchFolder, startOrigin, startTestNode, until } from './scratch.ts';

const folder = scratchFolder();

describe('a node', () => {
  it('answers from memory the second time, and says so in status and metrics', async () => {
    const origin = await startOrigin();
    const node = await startTestNode({ upstream: [`/x/=${origin.url}`] });
    const first = await ask(node.port, '/x/a');
    const second = await ask(node.port, '/x/a');
    expect([first.body, second.body]).toEqual(['/a 1', '/a 1']);
    expect(second.headers['cache-status']).toMatch(/; hit; ttl=/);
    expect(origin.asked).toEqual(['GET /a']);
    const status = JSON.parse((await ask(node.port, '/.bloomery/status')).body);
    expect(status).toMatchObject({
      state: 'running',
      forward: false,
      upstreams: [`/x/=${origin.url}`],
      requests: { total: 2, hit: 1, miss: 1 },
      hitRatio: 0.5,
      originFetches: 1,
      connections: 1,
      stores: { memory: { responses: 1 } },
      workers: [{ worker: 0, pid: process.pid, requests: 2 }],
    });
  });

  it('is a forward proxy that does not reach private addresses, unless told to', async () => {
    const origin = await startOrigin();
    const shut = await startTestNode({});
    const refused = await ask(shut.port, `${origin.url}a`);
    expect(refused.status).toBe(403);
    expect(refused.body).toContain('127.0.0.1 is a loopback address');
    const open = await startTestNode({ allowPrivate: true });
    expect((await ask(open.port, `${origin.url}a`)).body).toBe('/a 1');
    expect((await ask(open.port, `${origin.url}a`)).headers['cache-status']).toContain('; hit');
    // But never itself.
    const self = await ask(open.port, `http://127.0.0.1:${open.port}/.bloomery/status`);
    expect(self.status).toBe(403);
    expect(self.body).toContain('is this cache itself');
  });

  it('does not serve clients that are not allowed, nor show them its admin endpoints', async () => {
    const origin = await startOrigin();
    const node = await startTestNode({
      upstream: [origin.url],
      allowClient: ['10.0.0.0/8'],
      adminClient: ['10.0.0.0/8'],
    });
    expect((await ask(node.port, '/a')).status).toBe(403);
    for (const page of ['status', 'metrics']) {
      const { status, body } = await ask(node.port, `/.bloomery/${page}`);
      expect([status, body]).toEqual([403, 'Refused: 127.0.0.1 is not in --admin-client.\n']);
    }
    expect((await ask(node.port, '/.bloomery/health')).body).toBe('ok\n');
    expect(origin.asked).toEqual([]);
  });

  it('takes the next port when none was chosen, and says whose it is when one was', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    cleanUp(() => taken.close());
    const { port } = taken.address() as AddressInfo;
    await expect(startTestNode({ listen: [`127.0.0.1:${port}`] })).rejects.toThrow(
      `Cannot listen on 127.0.0.1:${port}: another program listens there already`,
    );
    const config = loadConfig({ flags: { disk: false, listen: [`127.0.0.1:${port}`], logLevel: 'error' } });
    const node = await startNode({ ...config, listenDefaulted: true });
    cleanUp(() => node.close(0));
    expect(node.listen[0].port).toBeGreaterThan(port);
  });

  it('speaks TLS, and takes a new certificate without a restart', async () => {
    const origin = await startOrigin();
    const pair = (name: string) => {
      const { cert, key } = selfSigned(folder, name);
      return { tlsCert: cert, tlsKey: key };
    };
    const [one, two] = [pair('one'), pair('two')];
    const flags = { upstream: [origin.url], disk: false, ...one };
    const node = await startTestNode(flags);
    const over = (files: { tlsCert: string }) =>
      ask(node.port, '/a', { secure: true, ca: readFileSync(files.tlsCert) } as never);
    expect(node.listen[0].secure).toBe(true);
    expect((await over(one)).body).toBe('/a 1');
    expect((await over(one)).headers['cache-status']).toContain('; hit');
    await expect(over(two)).rejects.toThrow(/self-signed|certificate/);
    node.reload(loadConfig({ flags: { ...flags, ...two, listen: [`127.0.0.1:${node.port}`] } }));
    expect((await over(two)).body).toBe('/a 1');
    await expect(over(one)).rejects.toThrow(/self-signed|certificate/);
  });
});

describe('what must not end a node', () => {
  it('a connection that could not be taken, for want of descriptors', async () => {
    const node = await startTestNode({ adminListen: '127.0.0.1:0' });
    const servers = new Set<Server>();
    const note = (message: unknown) => servers.add((message as { server: Server }).server);
    subscribe('http.server.request.start', note);
    cleanUp(() => unsubscribe('http.server.request.start', note));
    await ask(node.port, '/.bloomery/health');
    await ask(node.adminListen?.port as number, '/.bloomery/health');
    expect(servers.size).toBe(2);
    // As Node tells it when accept(2) fails.
    for (const server of servers)
      server.emit('error', Object.assign(new Error('accept EMFILE'), { code: 'EMFILE' }));
    expect(node.lines.filter(({ event }) => event === 'accept-failed')).toHaveLength(2);
    expect((await ask(node.adminListen?.port as number, '/.bloomery/health')).body).toBe('ok\n');
  });

  it('admin endpoints that cannot answer: 503 and a sentence', async () => {
    const team = {
      index: 0,
      size: 1,
      socketPath: () => join(folder, 'alone.sock'),
      removeKey: async () => 0,
      collect: async () => {
        throw new Error('The primary process did not answer in 3 s; ask again');
      },
      drained: async () => {},
    };
    const log = new Log({ level: 'error', format: 'json', write: () => {} });
    const node = await startNode(loadConfig({ flags: { disk: false, listen: ['127.0.0.1:0'] } }), {
      team,
      log,
    });
    cleanUp(() => node.close(0));
    expect(await ask(node.listen[0].port, '/.bloomery/metrics')).toMatchObject({
      status: 503,
      body: 'The primary process did not answer in 3 s; ask again\n',
    });
  });
});

describe('purging', () => {
  it('forgets a URL, by the name of the origin or by its own path', async () => {
    const origin = await startOrigin();
    const node = await startTestNode({ upstream: [`/x/=${origin.url}base/`] });
    const headers = { 'Bloomery-Admin': '1' };
    const purge = async (url: string) =>
      JSON.parse(
        (await ask(node.port, `/.bloomery/purge?url=${encodeURIComponent(url)}`, { method: 'POST', headers }))
          .body,
      );
    await ask(node.port, '/x/a?q=1');
    expect(await purge(`${origin.url}base/a?q=1`)).toEqual({ url: `${origin.url}base/a?q=1`, purged: 1 });
    expect((await ask(node.port, '/x/a?q=1')).body).toBe('/base/a?q=1 2');
    // In any spelling of the host.
    expect(await purge(`HTTP://127.1:${origin.port}/base/a?q=1`)).toMatchObject({ purged: 1 });
    expect((await ask(node.port, '/x/a?q=1')).body).toBe('/base/a?q=1 3');
    expect(await purge('/x/a?q=1')).toMatchObject({ purged: 1 });
    expect(await purge('/x/a?q=1')).toMatchObject({ purged: 0 });
    expect((await ask(node.port, '/x/a?q=1')).body).toBe('/base/a?q=1 4');
  });

  it('is refused for what is no URL, without the field, by GET, and from web pages', async () => {
    const node = await startTestNode({});
    const post = (path: string, headers: Record<string, string>, method = 'POST') =>
      ask(node.port, path, { method, headers });
    const path = '/.bloomery/purge?url=http%3A%2F%2Fa%2F';
    const admin = { 'Bloomery-Admin': '1' };
    expect(await post('/.bloomery/purge', admin)).toMatchObject({
      status: 400,
      body: expect.stringContaining('Expected the URL to forget'),
    });
    expect(await post('/.bloomery/purge?url=nothing', admin)).toMatchObject({
      status: 400,
      body: 'Cannot purge: expected an http or https URL, got "nothing"\n',
    });
    expect(await post('/.bloomery/purge?url=/a', admin)).toMatchObject({
      status: 400,
      body: expect.stringContaining('No upstream'),
    });
    expect(await post(path, {})).toMatchObject({
      status: 403,
      body: expect.stringContaining('the field Bloomery-Admin is missing'),
    });
    expect(await post(path, admin, 'GET')).toMatchObject({ status: 405, headers: { allow: 'POST' } });
    expect(await post(path, { ...admin, 'Sec-Fetch-Site': 'cross-site' })).toMatchObject({ status: 403 });
    expect(await post(path, {}, 'OPTIONS')).toMatchObject({ status: 405 });
    expect(await post(path, admin)).toMatchObject({ status: 200 });
  });
});

describe('admin endpoints', () => {
  it('are not for names that lead here (DNS rebinding), nor through proxies', async () => {
    const node = await startTestNode({ adminHost: ['Cache.Example'] });
    const status = async (headers: Record<string, string>) =>
      (await ask(node.port, '/.bloomery/status', { headers })).status;
    for (const host of [
      '127.0.0.1',
      `127.0.0.1:${node.port}`,
      'localhost:1',
      '[::1]:80',
      'cache.example',
      'CACHE.example:99',
    ]) {
      expect(await status({ Host: host }), host).toBe(200);
    }
    for (const host of [
      'evil.example',
      'localhost.evil.example',
      '127.0.0.1.evil.example',
      'xlocalhost',
      '127.0.0.1x',
    ]) {
      expect(await status({ Host: host }), host).toBeGreaterThanOrEqual(400);
    }
    for (const name of [
      'Via',
      'Forwarded',
      'X-Forwarded-For',
      'X-Forwarded-Host',
      'X-Real-IP',
      'CF-Connecting-IP',
      'True-Client-IP',
    ])
      expect(await status({ [name]: '1.1 a' }), name).toBe(403);
    expect(await status({ 'Sec-Fetch-Site': 'same-site' })).toBe(403);
    expect(await status({ 'Sec-Fetch-Site': 'none' })).toBe(200);
  });

  it('cannot be read by other sites, and are not cached', async () => {
    const node = await startTestNode({});
    const { headers } = await ask(node.port, '/.bloomery/status');
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'cross-origin-resource-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
    });
    expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
    expect((await ask(node.port, '/.bloomery/nothing')).status).toBe(404);
    const head = await ask(node.port, '/.bloomery/metrics', { method: 'HEAD' });
    expect([head.status, head.body]).toEqual([200, '']);
  });

  it('are on a port of their own if asked for, and nowhere else', async () => {
    const origin = await startOrigin();
    const node = await startTestNode({ upstream: [origin.url], adminListen: '127.0.0.1:0' });
    expect((await ask(node.adminListen?.port as number, '/.bloomery/status')).status).toBe(200);
    // There it is a path of the origin.
    expect((await ask(node.port, '/.bloomery/status')).body).toBe('/.bloomery/status 1');
    for (const path of ['/anything', '/abcdefghi/status', '/.bloomery', 'http://h:8/status'])
      expect((await ask(node.adminListen?.port as number, path)).status, path).toBe(404);
  });
});

describe('metrics', () => {
  it('are lines of the exposition format, and add up', async () => {
    const origin = await startOrigin();
    const node = await startTestNode({ upstream: [origin.url] });
    await ask(node.port, '/a');
    await ask(node.port, '/a');
    await ask(node.port, '/b', { method: 'POST' });
    await ask(node.port, '/c', { headers: { Host: 'a b' } });
    const { headers, body } = await ask(node.port, '/.bloomery/metrics');
    expect(headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
    const samples = parseExposition(body);
    expect(samples.get('bloomery_cache_requests_total{outcome="hit"}')).toBe(1);
    expect(samples.get('bloomery_cache_requests_total{outcome="miss"}')).toBe(1);
    expect(samples.get('bloomery_cache_requests_total{outcome="bypass"}')).toBe(1);
    expect(samples.get('bloomery_cache_requests_total{outcome="refused"}')).toBe(1);
    expect(
      [...samples.keys()].filter((name) => name.startsWith('bloomery_cache_refused_total')),
    ).toHaveLength(1);
    expect(samples.get('bloomery_cache_origin_fetches_total')).toBe(2);
    expect(samples.get('bloomery_cache_request_duration_seconds_count{from="cache"}')).toBe(1);
    expect(samples.get('bloomery_cache_request_duration_seconds_bucket{from="cache",le="+Inf"}')).toBe(1);
    expect(samples.get('bloomery_cache_store_responses{tier="memory"}')).toBe(1);
    expect(samples.get('bloomery_cache_sent_bytes_total')).toBeGreaterThan(0);
    for (const name of ['process_resident_memory_bytes', 'nodejs_heap_used_bytes', 'process_open_fds'])
      expect(samples.get(name)).toBeGreaterThan(0);
  });
});

/** Parses the text format 0.0.4; throws at the first line that does not follow its grammar. */
function parseExposition(text: string): Map<string, number> {
  const samples = new Map<string, number>();
  const types = new Map<string, string>();
  const name = '[a-zA-Z_:][a-zA-Z0-9_:]*';
  const label = `[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\\\\n]|\\\\["\\\\n])*"`;
  const sample = new RegExp(
    `^(${name})(?:\\{(${label}(?:,${label})*)\\})? (-?(?:\\d+(?:\\.\\d+)?(?:e[+-]?\\d+)?|\\+Inf|NaN))$`,
  );
  if (!text.endsWith('\n')) throw new Error('the last line does not end');
  let current = '';
  for (const line of text.slice(0, -1).split('\n')) {
    const help = new RegExp(`^# HELP (${name}) [^\\n]+$`).exec(line);
    const type = new RegExp(`^# TYPE (${name}) (counter|gauge|histogram|summary|untyped)$`).exec(line);
    if (help !== null) current = help[1];
    else if (type !== null) {
      if (type[1] !== current || types.has(current)) throw new Error(`TYPE in the wrong place: ${line}`);
      types.set(current, type[2]);
    } else {
      const found = sample.exec(line);
      if (found === null) throw new Error(`no sample: ${line}`);
      const base =
        types.get(current) === 'histogram' ? found[1].replace(/_(bucket|sum|count)$/, '') : found[1];
      if (base !== current) throw new Error(`${line} stands under ${current}`);
      const key = found[2] === undefined ? found[1] : `${found[1]}{${found[2]}}`;
      if (samples.has(key)) throw new Error(`twice: ${key}`);
      samples.set(key, Number(found[3]));
    }
  }
  for (const [key, value] of samples) {
    const bucket = /^(.*_bucket)\{(.*),le="([^"]+)"\}$/.exec(key);
    if (
      bucket !== null &&
      bucket[3] === '+Inf' &&
      value !== samples.get(`${bucket[1].replace('_bucket', '_count')}{${bucket[2]}}`)
    )
      throw new Error(`${key} is not the count`);
  }
  return samples;
}

describe('stopping', () => {
  /** An origin that sends half of a body, and the rest when told to. */
  async function slowOrigin() {
    const waiting: ServerResponse[] = [];
    const origin = await startOrigin((_request, response) => {
      response.writeHead(200, { 'Content-Length': 10, 'Cache-Control': 'max-age=60' });
      response.write('half ');
      waiting.push(response);
    });
    return { origin, finish: () => waiting.splice(0).map((response) => response.end('done!')) };
  }

  async function beginDownload(port: number, agent?: Agent): Promise<IncomingMessage> {
    const client = request({
      host: '127.0.0.1',
      port,
      path: '/slow',
      ...(agent === undefined ? {} : { agent }),
    });
    client.on('error', () => {});
    client.end();
    const [response] = (await once(client, 'response')) as [IncomingMessage];
    return response;
  }

  it('finishes running answers, and takes no new connections', async () => {
    const { origin, finish } = await slowOrigin();
    const node = await startTestNode({ upstream: [origin.url] });
    const agent = new Agent({ keepAlive: true });
    cleanUp(() => agent.destroy());
    const response = await beginDownload(node.port, agent);
    const idle = connect(node.port, '127.0.0.1');
    await once(idle, 'connect');
    const closing = node.close(10_000);
    idle.on('error', () => {}).resume();
    await until('the idle connection to be closed', () => idle.destroyed);
    await expect(ask(node.port, '/b')).rejects.toThrow(/ECONNREFUSED/);
    finish();
    let body = '';
    for await (const chunk of response) body += chunk;
    expect(body).toBe('half done!');
    await closing;
    expect(node.lines.map(({ event }) => event)).toContain('stopped');
    expect(node.lines.find(({ event }) => event === 'stopped')).toMatchObject({ cut: 0 });
  });

  it('cuts what is left at the deadline, so that no client takes it for whole', {
    timeout: 50_000,
  }, async () => {
    const { origin } = await slowOrigin();
    const node = await startTestNode({ upstream: [origin.url] });
    const response = await beginDownload(node.port);
    await node.close(200);
    await expect(
      (async () => {
        for await (const _ of response);
      })(),
    ).rejects.toThrow(/aborted/);
    expect(node.lines.find(({ event }) => event === 'stopped')).toMatchObject({ cut: 1 });
  });

  it('ends tunnels at the deadline', async () => {
    const echo = createServer((socket) => socket.pipe(socket)).listen(0, '127.0.0.1');
    await once(echo, 'listening');
    cleanUp(() => echo.close());
    const { port } = echo.address() as AddressInfo;
    const node = await startTestNode({ allowPrivate: true, connectPorts: String(port) });
    const client: Socket = connect(node.port, '127.0.0.1');
    client.write(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`);
    const [head] = await once(client, 'data');
    expect(String(head)).toMatch(/^HTTP\/1.1 200/);
    const closed = once(client, 'close');
    client.resume();
    await node.close(100);
    await closed;
  });

  it('says so to load balancers while it does', async () => {
    const { origin, finish } = await slowOrigin();
    const node = await startTestNode({ upstream: [origin.url] });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    cleanUp(() => agent.destroy());
    const response = await beginDownload(node.port);
    // A connection with a request on it stays open long enough to be asked on.
    const busy = connect(node.port, '127.0.0.1');
    busy.write('GET /.bloomery/health HTTP/1.1\r\nHost: localhost\r\n');
    await until('the connection to be there', async () => (await node.status()).connections === 2);
    const closing = node.close(10_000);
    let text = '';
    busy.on('data', (chunk) => {
      text += chunk;
    });
    busy.write('\r\n');
    await once(busy, 'close');
    expect(text).toMatch(/^HTTP\/1.1 503 .*Connection: close.*stopping\n$/s);
    finish();
    response.resume();
    await closing;
  });
});

describe('reloading', () => {
  it('changes what can be changed, and says what cannot', async () => {
    const [one, two] = [await startOrigin(), await startOrigin()];
    const node = await startTestNode({ upstream: [`/a/=${one.url}`] });
    await ask(node.port, '/a/x');
    const config = loadConfig({
      flags: {
        upstream: [`/a/=${one.url}`, `/b/=${two.url}`],
        disk: false,
        listen: ['127.0.0.1:1'],
        memory: '1GB',
        logLevel: 'warn',
      },
    });
    expect(node.reload(config)).toEqual(['listen', 'memory']);
    expect((await ask(node.port, '/b/x')).body).toBe('/x 1');
    // The store is the same.
    expect((await ask(node.port, '/a/x')).headers['cache-status']).toContain('; hit');
    expect((await node.status()).upstreams).toHaveLength(2);
  });

  it('does not cut what runs', async () => {
    let finish = () => {};
    const origin = await startOrigin((_request, response) => {
      response.write('half ');
      finish = () => response.end('done');
    });
    const flags = { upstream: [origin.url], disk: false };
    const node = await startTestNode(flags);
    const answer = ask(node.port, '/a');
    await until('the request to be there', () => origin.asked.length === 1);
    node.reload(loadConfig({ flags }));
    await new Promise((resolve) => setTimeout(resolve, 1500));
    finish();
    expect((await answer).body).toBe('half done');
  });

  it('changes nothing if something cannot be opened', async () => {
    const origin = await startOrigin();
    const node = await startTestNode({ upstream: [origin.url] });
    const config = loadConfig({
      flags: {
        upstream: ['http://127.0.0.1:1/'],
        disk: false,
        accessLog: join(folder, 'no', 'such', 'folder'),
      },
    });
    expect(() => node.reload(config)).toThrow(/ENOENT/);
    expect((await ask(node.port, '/a')).body).toBe('/a 1');
  });
});

describe('the access log', () => {
  it('has a line for each answer without secrets, and is opened again for logrotate', async () => {
    const origin = await startOrigin();
    const path = join(folder, 'access.log');
    const node = await startTestNode({
      upstream: [origin.url],
      accessLog: path,
      logFormat: 'text',
      logLevel: 'debug',
    });
    const headers = { Authorization: 'Bearer topsecret1', Cookie: 'session=topsecret2' };
    await ask(node.port, '/a?token=topsecret3&page', { headers });
    renameSync(path, `${path}.1`);
    node.reopenLogs();
    await ask(node.port, '/b');
    await node.close();
    const [before, after] = [readFileSync(`${path}.1`, 'utf8'), readFileSync(path, 'utf8')];
    expect(before).toMatch(
      /^\S+Z 127\.0\.0\.1 GET http:\/\/127\.0\.0\.1:\d+\/a\?token=…&page 200 \w+ \S+ 26 26 [\d.]+ - authorization 0 -\n$/,
    );
    expect(after).toMatch(
      /^\S+Z 127\.0\.0\.1 GET http:\/\/127\.0\.0\.1:\d+\/b 200 miss \S+ 4 4 [\d.]+ - - 0 -\n$/,
    );
    expect(before + after + JSON.stringify(node.lines)).not.toContain('topsecret');
  });

  it('is JSON if asked for', async () => {
    const origin = await startOrigin();
    const path = join(folder, 'access.json');
    const node = await startTestNode({ upstream: [origin.url], accessLog: path, logFormat: 'json' });
    await ask(node.port, '/a');
    await node.close();
    expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({
      client: '127.0.0.1',
      method: 'GET',
      status: 200,
      outcome: 'miss',
      aborted: false,
    });
  });
});

describe('the disk', () => {
  it('has after a restart what was asked for twice before', async () => {
    const origin = await startOrigin();
    const flags = { upstream: [origin.url], disk: join(folder, 'lasting'), diskSize: '50MB' };
    const first = await startTestNode(flags);
    for (let i = 0; i < 2; i++) await ask(first.port, '/a');
    await ask(first.port, '/once');
    // Written behind the answer.
    await until('it to be on disk', async () => (await first.status()).stores.disk.responses === 1);
    await first.close();
    const second = await startTestNode(flags);
    expect(second.lines.find(({ event }) => event === 'disk-opened')).toMatchObject({ responses: 1 });
    const again = await ask(second.port, '/a');
    expect([again.body, again.headers['cache-status']]).toEqual(['/a 1', expect.stringContaining('; hit')]);
    expect((await ask(second.port, '/once')).body).toBe('/once 3');
    const headers = { 'Bloomery-Admin': '1' };
    await ask(second.port, '/.bloomery/purge?url=/a', { method: 'POST', headers });
    await second.close();
    const third = await startTestNode(flags);
    expect((await ask(third.port, '/a')).body).toBe('/a 4');
  });
});
