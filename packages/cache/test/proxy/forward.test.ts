/**
 * The proxy as a forward proxy: what goes to the origin, what comes back, and what is answered
 * here.
 */

import { type AddressInfo, connect, createServer } from 'node:net';
import { type OriginLab, startOrigin } from '@bloomery/testkit/origins/origin-lab';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AddressGuard } from '../../src/safety/address-guard.ts';
import { ClientGuard } from '../../src/safety/client-guard.ts';
import { eventually, type ProxyLab, rawConnection, startProxy } from './proxy-lab.ts';

let origin: OriginLab;
let lab: ProxyLab;

beforeEach(async () => {
  origin = await startOrigin();
  lab = await startProxy();
});

afterEach(async () => {
  await lab.close();
  await origin.close();
});

describe('a stored response', () => {
  it('is fetched once and then served from the store', async () => {
    origin.on('/a', { headers: ['Cache-Control', 'max-age=60', 'X-Test', 'one'], body: 'hello' });
    const first = await lab.get(origin.url('/a'));
    expect([first.status, first.text, first.header('x-test')]).toEqual([200, 'hello', 'one']);
    expect(first.header('cache-status')).toBe('bloomery; fwd=uri-miss; stored');
    const second = await lab.get(origin.url('/a'));
    expect([second.status, second.text]).toEqual([200, 'hello']);
    expect(second.header('cache-status')).toMatch(/^bloomery; hit; ttl=\d+$/);
    // Whole seconds: 0, unless the machine was busy.
    expect(second.header('age')).toMatch(/^\d$/);
    expect(origin.count('/a')).toBe(1);
    await eventually(() => lab.records.length === 2);
    const facts = lab.records.map((each) => [each.outcome, each.status, each.bytesOut, each.bytesFromOrigin]);
    expect(facts).toEqual([
      ['miss', 200, 5, 5],
      ['hit', 200, 5, 0],
    ]);
    expect(lab.records[0]).toMatchObject({
      client: '127.0.0.1',
      method: 'GET',
      url: origin.url('/a'),
      aborted: false,
    });
  });

  it('is fetched again when the clock was set back, and is then served from the store', async () => {
    origin.on('/a', (_, count) => ({ headers: ['Cache-Control', 'max-age=60'], body: `version ${count}` }));
    await lab.get(origin.url('/a'));
    expect((await lab.get(origin.url('/a'))).text).toBe('version 1');
    lab.advance(-365 * 86_400_000);
    for (let i = 0; i < 3; i++) expect((await lab.get(origin.url('/a'))).text).toBe('version 2');
  });

  it.each([400, 413, 414])('is never a %i, which one client may have caused for all', async (status) => {
    origin.on('/a', ({ header }) =>
      header('x-long') === undefined
        ? { headers: ['Cache-Control', 'max-age=60'], body: 'page' }
        : { status, headers: ['Cache-Control', 'public, max-age=60'], body: 'too long' },
    );
    expect((await lab.get(origin.url('/a'), ['X-Long', 'x'.repeat(9000)])).status).toBe(status);
    expect((await lab.get(origin.url('/a'))).text).toBe('page');
  });

  it('answers HEAD without a body', async () => {
    origin.on('/a', { headers: ['Cache-Control', 'max-age=60'], body: 'hello' });
    await lab.get(origin.url('/a'));
    const head = await lab.ask({ method: 'HEAD', target: origin.url('/a') });
    expect([head.status, head.text, head.header('content-length')]).toEqual([200, '', '5']);
    expect(origin.count('/a')).toBe(1);
  });

  it('keeps the fields that may not be stored from later requests, not from the first', async () => {
    origin.on('/a', {
      headers: ['Cache-Control', 'max-age=60, no-cache="set-cookie"', 'Set-Cookie', 'a=1'],
      body: 'hello',
    });
    const first = await lab.get(origin.url('/a'));
    expect(first.header('set-cookie')).toBe('a=1');
    const second = await lab.get(origin.url('/a'));
    expect([second.text, second.header('set-cookie')]).toEqual(['hello', undefined]);
    expect(origin.count('/a')).toBe(1);
  });

  it('answers conditional requests', async () => {
    origin.on('/a', { headers: ['Cache-Control', 'max-age=60', 'ETag', '"x"'], body: 'hello' });
    await lab.get(origin.url('/a'));
    const same = await lab.get(origin.url('/a'), ['If-None-Match', '"x"']);
    expect([same.status, same.text, same.header('etag')]).toEqual([304, '', '"x"']);
    const other = await lab.get(origin.url('/a'), ['If-None-Match', '"y"']);
    expect([other.status, other.text]).toEqual([200, 'hello']);
    expect(origin.count('/a')).toBe(1);
  });

  it('is told apart by Vary', async () => {
    origin.on('/a', (request) => ({
      headers: ['Cache-Control', 'max-age=60', 'Vary', 'Accept-Language'],
      body: `in ${request.header('accept-language')}`,
    }));
    for (const _ of [1, 2]) {
      for (const language of ['en', 'fr']) {
        const reply = await lab.get(origin.url('/a'), ['Accept-Language', language]);
        expect(reply.text).toBe(`in ${language}`);
      }
    }
    expect(origin.count('/a')).toBe(2);
  });
});

describe('what goes on', () => {
  it('has the fields of the client, without those of the connection, and with Via', async () => {
    origin.on('/a', {});
    await lab.get(origin.url('/a?b=c'), [
      ...['Host', 'other.example', 'X-Keep', 'kept', 'Connection', 'close, X-Drop', 'X-Drop', 'dropped'],
      ...['TE', 'trailers', 'Proxy-Authorization', 'secret', 'Upgrade', 'websocket'],
    ]);
    const [request] = origin.requests;
    expect(request!.url).toBe('/a?b=c');
    // RFC 9112, 3.2.2: the host of the target, whatever Host says.
    expect(request!.header('host')).toBe(`127.0.0.1:${origin.port}`);
    expect(request!.header('x-keep')).toBe('kept');
    for (const name of ['x-drop', 'te', 'proxy-authorization', 'upgrade']) {
      expect(request!.header(name), name).toBeUndefined();
    }
    expect(request!.header('via')).toBe('1.1 bloomery');
  });

  it('comes back without the fields of the connection', async () => {
    origin.on('/a', { headers: ['Connection', 'close, X-Drop', 'X-Drop', '1', 'X-Keep', '2'], body: 'x' });
    const reply = await lab.get(origin.url('/a'));
    expect([reply.header('x-drop'), reply.header('x-keep'), reply.header('via')]).toEqual([
      undefined,
      '2',
      '1.1 bloomery',
    ]);
  });

  it('keeps repeated fields and bytes above 127', async () => {
    origin.on('/a', (request) => ({
      headers: ['Set-Cookie', 'a=1', 'Set-Cookie', 'b=2', 'X-Echo', request.header('x-latin')!],
      body: 'x',
    }));
    const reply = await lab.get(origin.url('/a'), ['X-Latin', 'caf\xe9']);
    expect(reply.rawHeaders.filter((_, at) => /set-cookie/i.test(reply.rawHeaders[at - 1] ?? ''))).toEqual([
      'a=1',
      'b=2',
    ]);
    expect(reply.header('x-echo')).toBe('caf\xe9');
  });

  it('streams a request body, with its length or in chunks', async () => {
    origin.on('/a', (request) => ({ body: `${request.header('content-length')} ${request.body.length}` }));
    const body = Buffer.alloc(300_000, 'y');
    const known = await lab.ask({
      method: 'POST',
      target: origin.url('/a'),
      body,
      headers: ['Content-Length', String(body.length)],
    });
    expect(known.text).toBe('300000 300000');
    const chunked = await lab.ask({
      method: 'PUT',
      target: origin.url('/a'),
      body,
      headers: ['Transfer-Encoding', 'chunked'],
    });
    expect(chunked.text).toBe('undefined 300000');
    const empty = await lab.ask({
      method: 'POST',
      target: origin.url('/a'),
      headers: ['Content-Length', '0'],
    });
    expect(empty.text).toBe('0 0');
  });

  it('waits for 100 Continue at this node, which then streams the body', async () => {
    origin.on('/a', (request) => ({ body: `${request.header('expect')} ${request.body}` }));
    const raw = await rawConnection(lab.port);
    raw.socket.write(
      `POST ${origin.url('/a')} HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n`,
    );
    await raw.until(/100 Continue\r\n\r\n/);
    raw.socket.write('hello');
    expect(await raw.until(/undefined hello/)).toMatch(/HTTP\/1\.1 200 OK/);
    raw.socket.destroy();
  });

  it('refuses a chunked body that is longer than allowed', async () => {
    await lab.close();
    lab = await startProxy({ limits: { requestBodyBytes: 1000 } });
    origin.on('/a', {});
    const reply = await lab.ask({
      method: 'POST',
      target: origin.url('/a'),
      body: Buffer.alloc(5000),
      headers: ['Transfer-Encoding', 'chunked'],
    });
    expect([reply.status, reply.text]).toEqual([
      413,
      'The body of the request is longer than the 1000 bytes allowed\n',
    ]);
  });

  it('forwards interim responses, and stores the final one', async () => {
    origin.on('/a', {
      interim: [{ status: 103, headers: ['Link', '</style.css>; rel=preload'] }, { status: 102 }],
      headers: ['Cache-Control', 'max-age=60'],
      body: 'final',
    });
    const first = await lab.get(origin.url('/a'));
    expect(first.interim.map(({ status }) => status)).toEqual([103, 102]);
    expect(first.interim[0]!.rawHeaders).toContain('</style.css>; rel=preload');
    expect([first.status, first.text]).toEqual([200, 'final']);
    const second = await lab.get(origin.url('/a'));
    expect([second.interim.length, second.text]).toEqual([0, 'final']);
    expect(origin.count('/a')).toBe(1);
  });

  // RFC 9110, 15.2: "A client MUST be able to parse one or more 1xx responses received prior to a
  // final response, even if the client does not expect one."
  it.each<readonly [string, readonly string[]]>([
    ['in one piece', ['HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n', 'FINAL']],
    ['byte by byte', [...'HTTP/1.1 100 Continue\r\n\r\n', 'FINAL']],
    ['after a 103', ['HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n', 'FINAL']],
  ])('takes a 100 that it did not ask for, %s, and stores the final response', async (_name, pieces) => {
    origin.on('/a', {
      raw: async (socket) => {
        const final = 'HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 5\r\n\r\nfinal';
        for (const piece of pieces)
          await new Promise((resolve) => socket.write(piece === 'FINAL' ? final : piece, resolve));
      },
    });
    // Twice on the same connection, and once from the store.
    for (const url of [`${origin.origin}/a?1`, `${origin.origin}/a?2`, `${origin.origin}/a?1`]) {
      const reply = await lab.get(url);
      expect([reply.status, reply.text]).toEqual([200, 'final']);
      expect(reply.interim.map(({ status }) => status)).not.toContain(100);
    }
    expect(origin.count('/a')).toBe(2);
    expect(origin.connections).toBe(1);
  });

  it('refuses an origin that sends 100 without end', async () => {
    origin.on('/a', { raw: (socket) => socket.write('HTTP/1.1 100 Continue\r\n\r\n'.repeat(40)) });
    const reply = await lab.get(`${origin.origin}/a`);
    expect([reply.status, reply.text]).toEqual([502, expect.stringMatching('at most 32 interim')]);
  });

  it('spares clients of HTTP/1.0 interim responses', async () => {
    origin.on('/a', { interim: [{ status: 103 }], body: 'final' });
    const raw = await rawConnection(lab.port);
    raw.socket.write(`GET ${origin.url('/a')} HTTP/1.0\r\n\r\n`);
    const text = await raw.ended();
    expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*final$/);
    raw.socket.destroy();
  });
});

describe('unsafe methods', () => {
  it('invalidate what is stored, before their answer is seen', async () => {
    let version = 1;
    origin.on('/a', (request) => {
      if (request.method === 'POST') version++;
      return { headers: ['Cache-Control', 'max-age=60'], body: `v${version}` };
    });
    expect((await lab.get(origin.url('/a'))).text).toBe('v1');
    const post = await lab.ask({
      method: 'POST',
      target: origin.url('/a'),
      body: 'x',
      headers: ['Content-Length', '1'],
    });
    expect([post.text, post.header('cache-status')]).toEqual(['v2', 'bloomery; fwd=method']);
    expect((await lab.get(origin.url('/a'))).text).toBe('v2');
  });

  it('do not when they fail', async () => {
    origin.on('/a', (request) => ({
      status: request.method === 'DELETE' ? 403 : 200,
      headers: ['Cache-Control', 'max-age=60'],
      body: 'x',
    }));
    await lab.get(origin.url('/a'));
    expect((await lab.ask({ method: 'DELETE', target: origin.url('/a') })).status).toBe(403);
    await lab.get(origin.url('/a'));
    expect(origin.requests.map(({ method }) => method)).toEqual(['GET', 'DELETE']);
  });

  it('are answered only when a slow store has forgotten', async () => {
    let forgotten = false;
    const { store } = lab;
    const removeKey = store.removeKey.bind(store);
    store.removeKey = async (key) => {
      await new Promise((resolve) => setTimeout(resolve, 100));
      forgotten = true;
      return removeKey(key);
    };
    origin.on('/a', { body: Buffer.alloc(100_000, 'x') });
    const reply = await lab.ask({
      method: 'POST',
      target: origin.url('/a'),
      headers: ['Content-Length', '0'],
    });
    expect([forgotten, reply.status, reply.body.length]).toEqual([true, 200, 100_000]);
  });

  it('keep a response that was on its way from being stored', async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    origin.on('/a', (request) => ({
      headers: ['Cache-Control', 'max-age=60'],
      body: request.method === 'GET' ? slowly(held) : 'posted',
    }));
    const slow = lab.get(origin.url('/a'));
    await eventually(() => origin.count('/a') === 1);
    await lab.ask({ method: 'POST', target: origin.url('/a'), headers: ['Content-Length', '0'] });
    release();
    expect((await slow).text).toBe('old');
    await lab.get(origin.url('/a'));
    expect(origin.requests.map(({ method }) => method)).toEqual(['GET', 'POST', 'GET']);
    expect(lab.proxy.activity.flights).toBe(0);
  });
});

describe('what ends here', () => {
  it('only-if-cached, when it is not', async () => {
    const reply = await lab.get(origin.url('/a'), ['Cache-Control', 'only-if-cached']);
    expect([reply.status, reply.text]).toEqual([504, 'Not stored here, and only-if-cached was asked for\n']);
    expect(origin.requests).toEqual([]);
  });

  it('OPTIONS and TRACE with Max-Forwards: 0; others count down', async () => {
    origin.on('/a', (request) => ({ headers: ['X-Left', request.header('max-forwards') ?? 'none'] }));
    const options = await lab.ask({
      method: 'OPTIONS',
      target: origin.url('/a'),
      headers: ['Max-Forwards', '0'],
    });
    expect([options.status, options.header('allow')?.includes('GET')]).toEqual([204, true]);
    const trace = await lab.ask({
      method: 'TRACE',
      target: origin.url('/a'),
      headers: ['Max-Forwards', '0', 'X-Seen', 'yes', 'Cookie', 'secret'],
    });
    expect([trace.status, trace.header('content-type')]).toEqual([200, 'message/http']);
    expect(trace.text).toContain('X-Seen: yes\r\n');
    expect(trace.text).not.toContain('secret');
    expect(origin.requests).toEqual([]);
    const on = await lab.ask({ method: 'OPTIONS', target: origin.url('/a'), headers: ['Max-Forwards', '3'] });
    expect(on.header('x-left')).toBe('2');
  });

  it('OPTIONS *', async () => {
    expect((await lab.ask({ method: 'OPTIONS', target: '*' })).status).toBe(204);
  });

  it('a request that has been here before', async () => {
    const reply = await lab.get(origin.url('/a'), ['Via', '1.0 other, 1.1 bloomery']);
    expect(reply.status).toBe(508);
    expect(reply.text).toMatch(/has been here before/);
    expect(origin.requests).toEqual([]);
    expect((await lab.get(origin.url('/a'), ['Via', '1.1 bloomery2'])).status).toBe(404);
  });

  it('a loop that really is one', async () => {
    // A wire whose other end is the node itself.
    const wire = createServer((socket) => {
      socket.on('error', () => {});
      const other = connect(looped.port, '127.0.0.1');
      other.on('error', () => {});
      socket.pipe(other).pipe(socket);
    });
    await new Promise<void>((resolve) => wire.listen(0, '127.0.0.1', resolve));
    const { port } = wire.address() as AddressInfo;
    const looped = await startProxy({
      upstreams: [{ prefix: '/', origin: new URL(`http://127.0.0.1:${port}`) }],
    });
    expect((await looped.get('/x')).status).toBe(508);
    expect(looped.records.length).toBeLessThanOrEqual(2);
    await looped.close();
    wire.close();
  });

  it('clients and addresses that are not allowed', async () => {
    await lab.close();
    lab = await startProxy({ clients: new ClientGuard({ allow: ['10.0.0.0/8'] }) });
    const client = await lab.get(origin.url('/a'));
    expect([client.status, client.text]).toEqual([403, 'This node does not serve your address\n']);
    await lab.close();
    lab = await startProxy({ addresses: new AddressGuard({ allowPrivate: false, allow: [], deny: [] }) });
    const address = await lab.get(origin.url('/a'));
    expect([address.status, address.text.includes('127.0.0.1')]).toEqual([403, true]);
    expect(address.header('proxy-status')).toBe('bloomery; error=destination_ip_prohibited');
    const named = await lab.get(`http://localhost:${origin.port}/a`);
    expect(named.status).toBe(403);
    expect(origin.requests).toEqual([]);
  });

  it('a target without a host, or with a user', async () => {
    expect((await lab.get('/somewhere')).status).toBe(404);
    expect((await lab.get('http://user@127.0.0.1/')).status).toBe(400);
  });
});

async function* slowly(held: Promise<void>): AsyncIterable<string> {
  yield 'o';
  await held;
  yield 'ld';
}
