/**
 * The corpus, byte by byte over real sockets, against a real server behind the guard with a real
 * origin behind it.
 */

import { once } from 'node:events';
import { createServer, request, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { until } from '@bloomery/testkit/eventually';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { guardServer } from '../../src/safety/guard-server.ts';
import { checkLimits } from '../../src/safety/limits.ts';
import type { Refusal } from '../../src/safety/refusal.ts';
import { applyServerSettings, serverOptions } from '../../src/safety/server-settings.ts';
import { AMBIGUOUS, LEGAL, LEGAL_ABSOLUTE } from './smuggling-corpus.ts';

const limits = checkLimits({ headTimeoutMs: 1000, requestTimeoutMs: 1500 });
let origin: Server;
let front: Server;
let authority: string;
/** Requests that came to the origin whole. */
let reached: string[] = [];
let handled: string[] = [];
let refusals: Refusal[] = [];
/** Ends the answer to `/slow`. */
let finishSlow = () => {};

beforeAll(async () => {
  origin = createServer((req, res) => {
    req.resume();
    req.on('error', () => {});
    req.on('end', () => {
      reached.push(`${req.method} ${req.url}`);
      if (req.url === '/slow') {
        res.write('first');
        finishSlow = () => res.end('last');
        return;
      }
      res.end('from the origin');
    });
  });
  origin.listen(0, '127.0.0.1');
  await once(origin, 'listening');
  const originPort = (origin.address() as AddressInfo).port;
  authority = `127.0.0.1:${originPort}`;

  front = createServer(serverOptions(limits));
  applyServerSettings(front, limits);
  guardServer(front, {
    limits,
    name: () => 'test',
    request(req, res) {
      handled.push(req.url ?? '');
      // Node's client puts no framing around a body of GET or DELETE unless it is told to.
      const framed = /content-length|transfer-encoding/i.test(req.rawHeaders.join());
      const out = request({
        port: originPort,
        host: '127.0.0.1',
        method: req.method,
        path: req.url,
        agent: false,
        headers: framed ? { 'Transfer-Encoding': 'chunked' } : {},
      });
      out.on('response', (answer) => {
        res.writeHead(answer.statusCode ?? 502);
        answer.pipe(res);
      });
      out.on('error', () => res.destroy());
      req.on('error', () => out.destroy());
      req.pipe(out);
    },
    connect(req, socket) {
      handled.push(`CONNECT ${req.url}`);
      socket.end('HTTP/1.1 200 OK\r\n\r\n');
    },
    refused: (why) => refusals.push(why),
  });
  front.listen(0, '127.0.0.1');
  await once(front, 'listening');
});

afterAll(async () => {
  for (const server of [front, origin]) {
    server.closeAllConnections();
    server.close();
  }
});

describe('ambiguous requests', () => {
  it('are at least 80, each with a name of its own', () => {
    expect(AMBIGUOUS.length).toBeGreaterThanOrEqual(80);
    expect(new Set(AMBIGUOUS.map((each) => each.name)).size).toBe(AMBIGUOUS.length);
  });

  it.each(AMBIGUOUS.map((each) => [each.name, each] as const))('%s', async (_name, each) => {
    reset();
    const smuggled = `GET /smuggled HTTP/1.1\r\nHost: ${authority}\r\n\r\n`;
    const { text, closed } = await send(each.bytes.replaceAll('{origin}', authority) + smuggled);
    expect(closed, 'the server closes').toBe(true);
    const statuses = [...text.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map((match) => Number(match[1]));
    expect(statuses).toHaveLength(1);
    expect(statuses[0]).toSatisfy(
      (status: number) => (status >= 400 && status < 500) || status === 501 || status === 505,
    );
    expect(text).toMatch(/\r\nConnection: close\r\n/i);
    // A sentence for people.
    expect(text.slice(text.indexOf('\r\n\r\n') + 4)).toMatch(/^[A-Z].*\.\n$/);
    expect(refusals).toHaveLength(1);
    // What was not handed on cannot come later.
    if (each.body) await settle();
    expect(reached).toEqual([]);
    // Only a head whose body turned out wrong was handed on; what stood behind it never was.
    expect(handled).toEqual(each.body ? ['/chunks'] : []);
  });
});

describe('legal requests', () => {
  it('are at least 30', () => expect(LEGAL.length).toBeGreaterThanOrEqual(30));

  it.each(LEGAL.map((each) => [each.name, each] as const))('%s', async (_name, each) => {
    reset();
    const { text } = await send(each.bytes.replaceAll('{origin}', authority), /from the origin/);
    expect(text).toMatch(/HTTP\/1\.1 200 /);
    expect(refusals).toEqual([]);
    expect(reached).toHaveLength(1);
  });

  it.each(LEGAL_ABSOLUTE.map((each) => [each.name, each] as const))('%s', async (_name, each) => {
    reset();
    const { text } = await send(each.bytes.replaceAll('{origin}', authority), /from the origin/);
    expect(text).toMatch(/HTTP\/1\.1 200 /);
    expect(refusals).toEqual([]);
  });

  it('several on one connection', async () => {
    reset();
    const one = `GET /1 HTTP/1.1\r\nHost: ${authority}\r\n\r\n`;
    const { text } = await send(
      one + one.replace('/1', '/2') + one.replace('/1', '/3'),
      /(?:from the origin[\s\S]*){3}/,
    );
    expect(text.match(/HTTP\/1\.1 200 /g)).toHaveLength(3);
    expect(reached.sort()).toEqual(['GET /1', 'GET /2', 'GET /3']);
  });

  it('a tunnel', async () => {
    reset();
    const { text } = await send(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`, /200 OK/);
    expect(text).toMatch(/^HTTP\/1\.1 200 /);
    expect(handled).toEqual([`CONNECT ${authority}`]);
  });
});

describe('what follows', () => {
  it('a legal request is answered before the refusal of the next', async () => {
    reset();
    const good = `GET /good HTTP/1.1\r\nHost: ${authority}\r\n\r\n`;
    const bad = `GET /bad HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n`;
    const { text, closed } = await send(good + bad + good.replace('good', 'later'));
    expect(text.match(/HTTP\/1\.1 \d{3}/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 400']);
    expect(closed).toBe(true);
    expect(reached).toEqual(['GET /good']);
  });

  it.each<readonly [string, string, string]>([
    ['garbage', '', 'GARBAGE\r\n\r\n'],
    ['garbage that is no method', '', '\x00\xff\x7f'],
    ['another protocol', '', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['a head without end', '', `GET / HTTP/1.1\r\nX: ${'x'.repeat(40_000)}`],
    [
      'a request, behind Connection: close',
      'Connection: close\r\n',
      'GET /later HTTP/1.1\r\nHost: a\r\n\r\n',
    ],
    ['a line ending, behind Connection: close', 'Connection: close\r\n', '\r\n'],
  ])(
    'behind a legal request, %s: the first has its whole answer, and the connection ends',
    async (_name, field, bytes) => {
      reset();
      const one = `GET /1 HTTP/1.1\r\nHost: ${authority}\r\n\r\n`;
      const two = `GET /2 HTTP/1.1\r\nHost: ${authority}\r\n${field}\r\n`;
      for (const requests of [two, one + two]) {
        reset();
        const count = requests === two ? 1 : 2;
        const { text, closed } = await send(requests + bytes);
        expect(closed).toBe(true);
        expect(text.match(/HTTP\/1\.1 \d{3}/g)).toEqual(Array(count).fill('HTTP/1.1 200'));
        expect(text.match(/from the origin/g)).toHaveLength(count);
        expect(reached.sort()).toEqual(['GET /1', 'GET /2'].slice(-count));
        expect(refusals.length).toBeLessThanOrEqual(1);
      }
    },
  );

  it('garbage while an answer is being sent: the rest of it comes', async () => {
    reset();
    const socket = connect((front.address() as AddressInfo).port, '127.0.0.1');
    socket.write(`GET /slow HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
    let text = '';
    let told = false;
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      if (!/first/.test(text) || told) return;
      told = true;
      socket.write('GARBAGE\r\n\r\n');
      void until('the garbage was read', () => refusals.length > 0).then(() => finishSlow());
    });
    await once(socket, 'close');
    expect(text).toMatch(/first[\s\S]*last/);
    expect(refusals).toHaveLength(1);
  });

  it('garbage without end behind a request disconnects the client', async () => {
    reset();
    const socket = connect((front.address() as AddressInfo).port, '127.0.0.1');
    socket.on('error', () => {});
    socket.write(`GET /slow HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
    const more = () => {
      if (!socket.destroyed) socket.write('GARBAGE\r\n\r\n'.repeat(1000), () => setImmediate(more));
    };
    socket.once('data', more);
    await once(socket, 'close');
  });

  it('a silent connection is closed with 408', async () => {
    reset();
    const { text, closed } = await send('');
    expect(closed).toBe(true);
    expect(text).toMatch(/^HTTP\/1\.1 408 /);
  });

  it('a head that never ends is closed with 408', async () => {
    reset();
    const { text, closed } = await send('GET / HTTP/1.1\r\nX: ');
    expect(closed).toBe(true);
    expect(text).toMatch(/^HTTP\/1\.1 408 /);
  });
});

function reset(): void {
  reached = [];
  handled = [];
  refusals = [];
}

/** Long enough for a request that was handed on to come to the origin on this machine. */
const settle = () => new Promise((resolve) => setTimeout(resolve, 15));

/** All that comes back until the server closes, or `until` is seen, or time is over. */
function send(bytes: string, until?: RegExp): Promise<{ text: string; closed: boolean }> {
  return new Promise((resolve) => {
    const socket = connect((front.address() as AddressInfo).port, '127.0.0.1');
    let text = '';
    const finish = (closed: boolean) => {
      clearTimeout(timer);
      socket.destroy();
      resolve({ text, closed });
    };
    const timer = setTimeout(() => finish(false), 30_000);
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      if (until?.test(text)) finish(false);
    });
    socket.on('error', () => {});
    socket.on('close', () => finish(true));
    socket.write(Buffer.from(bytes, 'latin1'));
  });
}
