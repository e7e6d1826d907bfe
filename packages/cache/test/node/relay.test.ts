/**
 * Two workers in one process: the real nodes, the real sockets between them; only the primary is
 * played by the test.
 */

import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { type IncomingMessage, type RequestListener, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { selfSigned } from '@bloomery/testkit/programs/self-signed';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/node/config/node-config.ts';
import { Log } from '../../src/node/log/log.ts';
import { type CacheNode, startNode } from '../../src/node/start-node.ts';
import { ownerOf, type Team } from '../../src/node/workers/team.ts';
import { ask, cleanUp, type Origin, scratchFolder, startOrigin, until } from './scratch.ts';

const folder = scratchFolder();
let pairs = 0;

interface Pair {
  readonly origin: Origin;
  readonly nodes: CacheNode[];
  /** Ports of the two nodes. */
  readonly ports: number[];
  /** A path that belongs to a worker. */
  pathOf(worker: number, name?: string): string;
  /** Takes the socket of a worker away, as if it were being restarted. */
  takeDown(worker: number): void;
  readonly accessLog: string;
}

async function startPair(listener?: RequestListener, flags: Record<string, unknown> = {}): Promise<Pair> {
  const origin = await startOrigin(listener);
  const sockets = join(folder, String(++pairs));
  const accessLog = `${sockets}.log`;
  const nodes: CacheNode[] = [];
  const config = loadConfig({
    flags: {
      listen: ['127.0.0.1:0'],
      upstream: [origin.url],
      disk: false,
      accessLog,
      logFormat: 'text',
      logLevel: 'error',
      ...flags,
    },
  });
  for (const index of [0, 1]) {
    const team: Team = {
      index,
      size: 2,
      socketPath: (worker) => `${sockets}-${worker}.sock`,
      removeKey: (owner, key) => nodes[owner].removeKey(key),
      collect: async () => ({ members: nodes.map((node) => node.report()), ended: null }),
      drained: async () => {},
    };
    nodes.push(
      await startNode(config, { team, log: new Log({ level: 'error', format: 'json', write: () => {} }) }),
    );
  }
  cleanUp(() => Promise.all(nodes.map((node) => node.close(0))));
  return {
    origin,
    nodes,
    ports: nodes.map((node) => node.listen[0].port),
    accessLog,
    takeDown: (worker) => rmSync(`${sockets}-${worker}.sock`),
    pathOf(worker, name = 'x') {
      for (let i = 0; ; i++) if (ownerOf(`${origin.url}${name}${i}`, 2) === worker) return `/${name}${i}`;
    },
  };
}

/** A connection of its own, and what has come over it. */
function dial(port: number): { readonly socket: Socket; readonly text: () => string } {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  socket.setEncoding('latin1').on('data', (chunk) => {
    text += chunk;
  });
  socket.on('error', () => {});
  cleanUp(() => socket.destroy());
  return { socket, text: () => text };
}

describe('a request for a key of another worker', () => {
  it('is answered by its owner, which alone stores it, and counted once', async () => {
    const { origin, nodes, ports, pathOf } = await startPair();
    const path = pathOf(1);
    const bodies = [
      (await ask(ports[0], path)).body,
      (await ask(ports[1], path)).body,
      (await ask(ports[0], path)).body,
    ];
    expect(new Set(bodies)).toEqual(new Set([`${path} 1`]));
    expect(origin.asked).toEqual([`GET ${path}`]);
    expect(nodes.map((node) => node.store.statistics.responses)).toEqual([0, 1]);
    const status = await nodes[0].status();
    expect(status.requests).toMatchObject({ total: 3, miss: 1, hit: 2 });
    expect(nodes[0].report().snapshot.relayed).toBe(2);
  });

  it('tells an origin of the operator that the client came over TLS', async () => {
    const schemes: unknown[] = [];
    const { cert, key } = selfSigned(folder, 'client');
    const { ports, pathOf } = await startPair(
      (incoming, response) => {
        schemes.push(incoming.headers['x-forwarded-proto']);
        response.end();
      },
      { trustForwarded: ['10.0.0.0/8'], listen: ['https://127.0.0.1:0'], tlsCert: cert, tlsKey: key },
    );
    for (const owner of [0, 1])
      await ask(ports[0], pathOf(owner), { method: 'POST', secure: true, rejectUnauthorized: false });
    expect(schemes).toEqual(['https', 'https']);
  });

  it('is fetched once for many at the same time, wherever they ask', async () => {
    const { origin, ports, pathOf } = await startPair((_request, response) => {
      setTimeout(() => response.writeHead(200, { 'Cache-Control': 'max-age=60' }).end('late'), 150);
    });
    const path = pathOf(0);
    const answers = await Promise.all(Array.from({ length: 30 }, (_, i) => ask(ports[i % 2], path)));
    expect(new Set(answers.map(({ body }) => body))).toEqual(new Set(['late']));
    expect(origin.asked).toHaveLength(1);
  });

  it('keeps method, fields, status and body as they are', async () => {
    const { ports, pathOf } = await startPair((incoming, response) => {
      const parts: Buffer[] = [];
      incoming.on('data', (part) => parts.push(part));
      incoming.on('end', () => {
        response.writeHead(418, 'Teapot Indeed', [
          'X-Twice',
          'one',
          'X-Twice',
          'two',
          'X-Saw',
          JSON.stringify(incoming.headers),
        ]);
        response.end(`${incoming.method} ${Buffer.concat(parts)}`);
      });
    });
    const headers = {
      'X-Own': 'kept',
      Connection: 'close, X-Hop',
      'X-Hop': 'gone',
      'Transfer-Encoding': 'chunked',
    };
    const answer = await ask(ports[0], pathOf(1), { method: 'PUT', headers, body: 'a body' });
    expect([answer.status, answer.body]).toEqual([418, 'PUT a body']);
    expect(answer.headers['x-twice']).toBe('one, two');
    const saw = JSON.parse(answer.headers['x-saw'] as string);
    expect(saw).toMatchObject({ 'x-own': 'kept' });
    expect(Object.keys(saw).filter((name) => /hop|relay/.test(name))).toEqual([]);
  });

  it('may be HEAD, conditional, for a range, or HTTP/1.0 without a Host', async () => {
    const { ports, pathOf, origin } = await startPair((_request, response) => {
      response
        .writeHead(200, { 'Cache-Control': 'max-age=60', ETag: '"v1"', 'Content-Length': 10 })
        .end('0123456789');
    });
    const path = pathOf(1);
    await ask(ports[0], path);
    const head = await ask(ports[0], path, { method: 'HEAD' });
    expect([head.status, head.headers['content-length'], head.body]).toEqual([200, '10', '']);
    expect((await ask(ports[0], path, { headers: { 'If-None-Match': '"v1"' } })).status).toBe(304);
    const range = await ask(ports[0], path, { headers: { Range: 'bytes=2-4' } });
    expect([range.status, range.headers['content-range'], range.body]).toEqual([206, 'bytes 2-4/10', '234']);
    const old = connect(ports[0], '127.0.0.1');
    old.write(`GET ${path} HTTP/1.0\r\n\r\n`);
    let text = '';
    for await (const chunk of old) text += chunk;
    expect(text).toMatch(/^HTTP\/1.1 200 OK\r\n.*; hit.*\r\n\r\n0123456789$/s);
    expect(origin.asked).toHaveLength(1);
  });

  it('shows the owner the address of the client', async () => {
    const { nodes, ports, pathOf, accessLog } = await startPair(undefined, { allowClient: ['loopback'] });
    await ask(ports[0], pathOf(1));
    await Promise.all(nodes.map((node) => node.close()));
    expect(readFileSync(accessLog, 'utf8')).toMatch(/^\S+ 127\.0\.0\.1 GET http.* 200 miss .*\n$/);
    const shut = await startPair(undefined, { allowClient: ['10.0.0.0/8'] });
    expect((await ask(shut.ports[0], shut.pathOf(1))).status).toBe(403);
  });

  it('cannot pretend to have been relayed', async () => {
    const seen: unknown[] = [];
    const { ports, pathOf, nodes, accessLog } = await startPair((incoming, response) => {
      seen.push(incoming.headers['bloomery-relayed-for']);
      response.end();
    });
    for (const worker of [0, 1])
      await ask(ports[0], pathOf(worker), { headers: { 'Bloomery-Relayed-For': '6.6.6.6 https' } });
    await Promise.all(nodes.map((node) => node.close()));
    expect(readFileSync(accessLog, 'utf8')).not.toContain('6.6.6.6');
    expect(seen).toEqual([undefined, undefined]);
  });

  it('breaks off when the body of the origin does: a part never looks whole', async () => {
    const { ports, pathOf } = await startPair((_request, response) => {
      // Chunked: without its last chunk, only the connection says that it is not all.
      response.writeHead(200, { 'Cache-Control': 'max-age=60' });
      response.write('a part');
      setTimeout(() => response.destroy(), 50);
    });
    await expect(ask(ports[0], pathOf(1))).rejects.toThrow(/aborted/);
  });

  it('ends at the origin when the client leaves', async () => {
    let left = false;
    const { ports, pathOf } = await startPair((_request, response) => {
      response.on('close', () => {
        left = true;
      });
      response.writeHead(200, { 'Cache-Control': 'no-store' });
      response.write('begin');
    });
    const client = request({ host: '127.0.0.1', port: ports[0], path: pathOf(1), agent: false });
    client.on('error', () => {});
    client.end();
    const [response] = (await once(client, 'response')) as [IncomingMessage];
    response.on('error', () => {});
    await once(response, 'data');
    client.destroy();
    await until('the origin to hear of it', () => left);
  });

  it('ends at the origin also when it waits behind another one on the connection of a client that leaves', async () => {
    const running = new Set<string>();
    const { ports, pathOf } = await startPair((incoming, response) => {
      const path = incoming.url as string;
      running.add(path);
      response.on('close', () => running.delete(path));
      // The first one is never answered; the others have begun.
      if (!path.startsWith('/first')) response.writeHead(200, { 'Cache-Control': 'no-store' }).write('begin');
    });
    const paths = [pathOf(0, 'first'), pathOf(1, 'second'), pathOf(1, 'third')];
    const { socket } = dial(ports[0]);
    for (const path of paths) socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
    await until('all to be asked for', () => running.size === paths.length);
    socket.resetAndDestroy();
    // The first one is not relayed, and is waited for, since it might be stored.
    await until('the origin to hear of it', () => !paths.slice(1).some((path) => running.has(path)), 20_000);
  });

  it('has its scheme in any case (RFC 9110, 4.2.3)', async () => {
    const { origin, ports } = await startPair(undefined, { forward: true, allowPrivate: true });
    const paths = [0, 1, 2, 3, 4, 5, 6, 7];
    for (const path of paths) {
      const target = `${origin.url.replace('http', 'HTTP')}${path}`;
      expect((await ask(ports[path % 2], target, { method: 'POST', body: 'x' })).status).toBe(200);
      await ask(ports[0], target);
      expect((await ask(ports[1], target)).headers['cache-status']).toContain('; hit');
    }
    expect(new Set(paths.map((path) => ownerOf(`${origin.url}${path}`, 2)))).toEqual(new Set([0, 1]));
  });

  it('has hints on the way to its answer only where they can be understood', async () => {
    const { ports, pathOf } = await startPair((incoming, response) => {
      const late = incoming.url?.startsWith('/late');
      if (!late) response.writeEarlyHints({ link: '</a.css>; rel=preload' });
      setTimeout(() => response.writeHead(200, { 'Content-Length': 4 }).end('body'), late ? 300 : 100);
    });
    const path = pathOf(1);
    const modern = dial(ports[0]);
    modern.socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
    await until('its answer', () => modern.text().endsWith('\r\n\r\nbody'));
    expect(modern.text()).toMatch(/^HTTP\/1\.1 103 .*\r\n\r\nHTTP\/1\.1 200 /s);
    // RFC 9110, 15.2
    const old = dial(ports[0]);
    old.socket.write(`GET ${path} HTTP/1.0\r\nHost: a\r\n\r\n`);
    await until('its answer', () => old.text().endsWith('\r\n\r\nbody'));
    expect(old.text()).toMatch(/^HTTP\/1\.1 200 /);
    // Behind another answer: not between its head and its body.
    const queued = dial(ports[0]);
    queued.socket.write(
      [pathOf(0, 'late'), path].map((each) => `GET ${each} HTTP/1.1\r\nHost: a\r\n\r\n`).join(''),
    );
    await until('both answers', () => queued.text().match(/\r\n\r\nbody/g)?.length === 2, 30_000);
    expect(queued.text()).not.toContain(' 103 ');
  });

  it('holds back a body that its client does not take', async () => {
    const total = 32 * 1024 * 1024;
    let sent = 0;
    const { ports, pathOf } = await startPair((_request, response) => {
      response.writeHead(200, { 'Content-Length': total, 'Cache-Control': 'no-store' });
      const chunk = Buffer.alloc(256 * 1024);
      const more = () => {
        while (sent < total) {
          sent += chunk.length;
          if (!response.write(chunk)) return;
        }
        response.end();
      };
      response.on('drain', more);
      more();
    });
    const client = request({ host: '127.0.0.1', port: ports[0], path: pathOf(1), agent: false });
    client.end();
    const [response] = (await once(client, 'response')) as [IncomingMessage];
    let before = -1;
    await until('all buffers to be full', async () => {
      const still = sent === before;
      before = sent;
      await new Promise((resolve) => setTimeout(resolve, 300));
      return still && sent === before;
    });
    // Buffers of sockets on the way: far less than all.
    expect(sent).toBeLessThan(total / 2);
    let got = 0;
    for await (const chunk of response) got += chunk.length;
    expect(got).toBe(total);
  });
});

describe('invalidation across workers', () => {
  it('reaches what a response names, wherever it is stored', async () => {
    const { origin, ports, pathOf } = await startPair((incoming, response) => {
      if (incoming.method === 'POST')
        response.writeHead(201, { Location: incoming.headers['x-made'] as string }).end();
      else response.writeHead(200, { 'Cache-Control': 'max-age=60' }).end(String(origin.asked.length));
    });
    const [here, there] = [pathOf(0), pathOf(1)];
    for (const path of [here, there])
      expect((await ask(ports[0], path)).headers['cache-status']).toContain('stored');
    // Belongs to the first, names one of the second.
    await ask(ports[0], here, { method: 'POST', headers: { 'X-Made': there } });
    for (const path of [here, there]) {
      await until(
        'it to be forgotten',
        async () =>
          !(await ask(ports[1], path, { headers: { 'Cache-Control': 'only-if-cached' } })).headers[
            'cache-status'
          ]?.includes('; hit'),
      );
    }
  });
});

describe('while the owner is down', () => {
  it('requests are passed to the origin, stored nowhere, and invalidate all the same', async () => {
    const { origin, nodes, ports, pathOf, takeDown } = await startPair();
    const path = pathOf(1);
    expect((await ask(ports[1], path)).body).toBe(`${path} 1`);
    takeDown(1);
    expect((await ask(ports[0], path)).body).toBe(`${path} 2`);
    expect((await ask(ports[0], path)).body).toBe(`${path} 3`);
    expect(nodes.map((node) => node.store.statistics.responses)).toEqual([0, 1]);
    // The owner has its own copy still, until something changes.
    expect((await ask(ports[1], path)).body).toBe(`${path} 1`);
    expect((await ask(ports[0], path, { method: 'POST', body: 'change' })).status).toBe(200);
    expect(origin.asked.at(-1)).toBe(`POST ${path}`);
    await until('the owner to forget', async () => nodes[1].store.statistics.responses === 0);
  });

  it.each(['Transfer-Encoding: chunked', 'Content-Length: 10'])(
    'an upload that has begun is passed on whole (%s)',
    async (framing) => {
      const bodies: string[] = [];
      const { ports, pathOf, takeDown } = await startPair(async (incoming, response) => {
        let body = '';
        for await (const chunk of incoming) body += chunk;
        bodies.push(body);
        response.end('done');
      });
      const piece = (text: string) => (framing.startsWith('T') ? `${text.length}\r\n${text}\r\n` : text);
      takeDown(1);
      const { socket, text } = dial(ports[0]);
      socket.write(`PUT ${pathOf(1)} HTTP/1.1\r\nHost: a\r\n${framing}\r\n\r\n${piece('first')}`);
      await new Promise((resolve) => setTimeout(resolve, 150));
      socket.write(piece('final') + (framing.startsWith('T') ? '0\r\n\r\n' : ''));
      await until('its answer', () => text().includes('done'), 30_000);
      expect(text()).toMatch(/^HTTP\/1\.1 200 /);
      expect(bodies).toEqual(['firstfinal']);
    },
  );

  it('an upload is not passed on when the owner had a part of it, whatever the method', async () => {
    let got = '';
    let whole = 0;
    const { nodes, ports, pathOf, origin } = await startPair((incoming, response) => {
      incoming.on('error', () => {});
      incoming.on('data', (chunk) => {
        got += chunk;
      });
      incoming.on('end', () => {
        whole++;
        response.end('done');
      });
    });
    const { socket, text } = dial(ports[0]);
    socket.write(`GET ${pathOf(1)} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n`);
    await until('the beginning to arrive', () => got === 'first');
    await nodes[1].close(0);
    socket.write('5\r\nfinal\r\n0\r\n\r\n');
    await until('an answer', () => text().includes('\r\n\r\n'), 30_000);
    expect(text()).toMatch(/^HTTP\/1\.1 502 /);
    expect([origin.asked.length, whole]).toEqual([1, 0]);
  });
});
