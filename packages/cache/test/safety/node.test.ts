/**
 * The corpus of ambiguous and odd requests against a whole node, as an operator starts it: reverse
 * and forward proxy at once.
 */

import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, createServer as createRawServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/node/config/node-config.ts';
import { type CacheNode, startNode } from '../../src/node/start-node.ts';
import { AMBIGUOUS, LEGAL, LEGAL_ABSOLUTE } from './smuggling-corpus.ts';

let origin: Server;
let node: CacheNode;
let authority: string;
/** Requests that came to the origin whole, with the Host they had. */
let reached: string[] = [];
let begun: string[] = [];

beforeAll(async () => {
  origin = createServer((req, res) => {
    begun.push(req.url ?? '');
    req.resume();
    req.on('error', () => {});
    req.on('end', () => {
      reached.push(`${req.method} ${req.url} ${req.headers.host}`);
      res.end('from the origin');
    });
  });
  // Never: otherwise it closes a connection after 5 s, maybe while it is asked again.
  origin.keepAliveTimeout = 0;
  origin.listen(0, '127.0.0.1');
  await once(origin, 'listening');
  authority = `127.0.0.1:${(origin.address() as AddressInfo).port}`;
  node = await startNode(
    loadConfig({
      flags: {
        listen: '127.0.0.1:0',
        upstream: `/=http://${authority}`,
        forward: true,
        allowPrivate: true,
        disk: false,
        logLevel: 'error',
        limits: { headTimeoutMs: 1000, requestTimeoutMs: 1500 },
      },
    }),
  );
});

afterAll(async () => {
  await node?.close(0);
  origin.closeAllConnections();
  origin.close();
});

describe('ambiguous requests', () => {
  it.each(AMBIGUOUS.map((each) => [each.name, each] as const))('%s', async (_name, each) => {
    reset();
    const smuggled = `GET /smuggled HTTP/1.1\r\nHost: ${authority}\r\n\r\n`;
    const { text, closed } = await send(each.bytes.replaceAll('{origin}', authority) + smuggled);
    expect(closed, 'the node closes').toBe(true);
    const statuses = [...text.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map((match) => Number(match[1]));
    expect(statuses.length).toBeLessThanOrEqual(1);
    // The proxy may have begun to answer, or have cut the connection, when a body turns out to be
    // wrong.
    if (!each.body) expect(statuses).toHaveLength(1);
    for (const status of statuses) expect(status >= 400 && status !== 502 && status !== 500, text).toBe(true);
    await settle();
    expect(reached).toEqual([]);
    expect(begun.filter((url) => url !== '/chunks')).toEqual([]);
  });
});

describe('legal requests', () => {
  it.each([...LEGAL, ...LEGAL_ABSOLUTE].map((each) => [each.name, each] as const))(
    '%s',
    async (_name, each) => {
      reset();
      // OPTIONS * asks the node itself (RFC 9110, 9.3.7), which has nothing to say but 204.
      const own = each.name === 'OPTIONS *';
      const { text } = await send(
        each.bytes.replaceAll('{origin}', authority),
        own ? /\r\n\r\n/ : /from the origin/,
      );
      expect(text).toMatch(own ? /^HTTP\/1\.1 204 / : /HTTP\/1\.1 200 /);
      expect(reached).toHaveLength(own ? 0 : 1);
      for (const request of reached) expect(request.endsWith(` ${authority}`), request).toBe(true);
    },
  );
});

describe('addresses', () => {
  const get = (url: string, to = node) =>
    send(`GET ${url} HTTP/1.1\r\nHost: x.example\r\nConnection: close\r\n\r\n`, undefined, to);

  it('a node that was not told otherwise reaches nothing on its own machine or network', async () => {
    const careful = await startNode(
      loadConfig({ flags: { listen: '127.0.0.1:0', forward: true, disk: false, logLevel: 'error' } }),
    );
    reset();
    const port = authority.split(':')[1];
    try {
      for (const host of [
        '127.0.0.1',
        'localhost',
        '127.1',
        '2130706433',
        '0x7f.1',
        '0177.0.0.1',
        '[::1]',
        '[::ffff:127.0.0.1]',
        '[::ffff:7f00:1]',
        '[64:ff9b::7f00:1]',
        '0.0.0.0',
        '169.254.169.254',
        '10.0.0.1',
      ]) {
        const { text } = await get(`http://${host}:${port}/`, careful);
        expect(text, host).toMatch(/^HTTP\/1\.1 403 /);
      }
      const tunnel = `CONNECT localhost:443 HTTP/1.1\r\nHost: localhost:443\r\n\r\n`;
      expect((await send(tunnel, undefined, careful)).text).toMatch(/^HTTP\/1\.1 403 /);
    } finally {
      await careful.close(0);
    }
    expect(begun).toEqual([]);
  });

  it('metadata services stay shut when private networks are open', async () => {
    expect((await get('http://169.254.169.254/latest/meta-data/')).text).toMatch(/^HTTP\/1\.1 403 /);
  });

  it('a node does not fetch from itself', async () => {
    const port = node.listen[0]!.port;
    for (const host of ['127.0.0.1', 'localhost', '127.1', '[::ffff:127.0.0.1]']) {
      expect((await get(`http://${host}:${port}/`)).text, host).toMatch(/^HTTP\/1\.1 403 /);
    }
  });
});

describe('poisoning', () => {
  it.each([
    'X-Forwarded-Host: evil.example',
    'X-Forwarded-Scheme: nothttps',
    'X-Original-URL: /admin',
    'X-Rewrite-URL: /admin',
    'X-HTTP-Method-Override: DELETE',
    'Forwarded: host=evil.example',
    'X_Forwarded_Host: evil.example',
    'Content-Type: invalid',
  ])('%s does not reach a page that others get', async (field) => {
    const seen: string[] = [];
    const believer = createServer((req, res) => {
      seen.push(req.rawHeaders.join('|').toLowerCase());
      res.setHeader('Cache-Control', 'max-age=60');
      res.end('the page');
    });
    believer.listen(0, '127.0.0.1');
    await once(believer, 'listening');
    const host = `127.0.0.1:${(believer.address() as AddressInfo).port}`;
    const page = (extra: string) =>
      send(`GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\n${extra}\r\n`, /the page/);
    expect((await page(`${field}\r\n`)).text).toMatch(/^HTTP\/1\.1 200 /);
    expect((await page('')).text).toMatch(/hit/);
    believer.closeAllConnections();
    believer.close();
    expect(seen).toHaveLength(1);
    const name = field.slice(0, field.indexOf(':')).toLowerCase();
    expect(seen[0]!.split('|').filter((_, i) => i % 2 === 0)).not.toContain(name);
    expect(seen[0]).not.toMatch(/evil|admin|invalid|nothttps/);
  });

  it('the answer to a GET with a body is not given to others', async () => {
    let fetches = 0;
    const echo = createServer((req, res) => {
      fetches++;
      let body = '';
      req.on('data', (chunk) => (body += chunk));
      req.on('end', () => res.setHeader('Cache-Control', 'max-age=60').end(`the page${body}`));
    });
    echo.listen(0, '127.0.0.1');
    await once(echo, 'listening');
    const host = `127.0.0.1:${(echo.address() as AddressInfo).port}`;
    const head = `GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\n`;
    await send(`${head}Content-Length: 5\r\n\r\n evil`, /the page/);
    expect((await send(`${head}\r\n`, /the page/)).text).not.toMatch(/evil/);
    expect(fetches).toBe(2);
    echo.closeAllConnections();
    echo.close();
  });
});

describe('responses that undici lets through', () => {
  it.each([
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n',
    'HTTP/1.1 999 OK\r\nContent-Length: 12\r\n',
    'HTTP/1.1 099 OK\r\nContent-Length: 12\r\n',
    'HTTP/1.1 200 OK\r\nContent-Length: 99999999999999\r\n',
  ])('%j becomes 502', async (head) => {
    const liar = createRawServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => socket.end(`${head}Cache-Control: max-age=60\r\n\r\n2\r\nhi\r\n0\r\n\r\n`));
    });
    liar.listen(0, '127.0.0.1');
    await once(liar, 'listening');
    const host = `127.0.0.1:${(liar.address() as AddressInfo).port}`;
    try {
      const { text } = await send(
        `GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
      );
      expect(text).toMatch(/^HTTP\/1\.1 502 /);
    } finally {
      liar.close();
    }
  });
});

function reset(): void {
  reached = [];
  begun = [];
}

const settle = () => new Promise((resolve) => setTimeout(resolve, 5));

function send(bytes: string, until?: RegExp, to = node): Promise<{ text: string; closed: boolean }> {
  return new Promise((resolve) => {
    const socket = connect(to.listen[0]!.port, '127.0.0.1');
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
