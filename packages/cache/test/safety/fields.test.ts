/**
 * Poisoning by fields that are not part of the key, with a real origin that believes them; and
 * heads of responses.
 */

import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { Agent, request } from 'undici';
import { describe, expect, it } from 'vitest';
import { DEFAULT_POLICY } from '../../src/policy/policy-options.ts';
import { checkLimits } from '../../src/safety/limits.ts';
import { checkResponseHead, safeReason } from '../../src/safety/response-guard.ts';
import { explicitlyShareable, isUnkeyed, safeguardFields } from '../../src/safety/unkeyed-fields.ts';

/** Each with a value that has changed pages of real frameworks. */
const poison: readonly (readonly [string, string])[] = [
  ['X-Forwarded-Host', 'evil.example'],
  ['X-Forwarded-Proto', 'http'],
  ['X-Forwarded-Scheme', 'nothttps'],
  ['X-Forwarded-Port', '1'],
  ['X-Forwarded-Prefix', '/evil'],
  ['X-Forwarded-Server', 'evil.example'],
  ['X-Forwarded-SSL', 'off'],
  ['X-Forwarded-For', '127.0.0.1'],
  ['x-forwarded-anything', '1'],
  ['Forwarded', 'host=evil.example;proto=http'],
  ['X-Host', 'evil.example'],
  ['X-HTTP-Host-Override', 'evil.example'],
  ['X-Original-URL', '/admin'],
  ['X-Original-Host', 'evil.example'],
  ['X-Rewrite-URL', '/admin'],
  ['X-HTTP-Method-Override', 'POST'],
  ['X-HTTP-Method', 'PUT'],
  ['X-Method-Override', 'DELETE'],
  ['Front-End-Https', 'off'],
  ['X-Real-IP', '127.0.0.1'],
  ['True-Client-IP', '127.0.0.1'],
  ['Client-IP', '127.0.0.1'],
  ['X-Middleware-Subrequest', 'middleware'],
  ['X-Middleware-Prefetch', '1'],
  ['X-Invoke-Status', '888'],
  ['X-Invoke-Output', '/admin'],
  ['X-Now-Route-Matches', '1'],
  ['X-React-Router-SPA-Mode', 'yes'],
  ['X-React-Router-Prerender-Data', '%5B%22evil%22%5D'],
  ['X-Nuxt-No-SSR', '1'],
  ['X-Astro-Path', '/admin'],
  ['X-Astro-Locals', '{}'],
  ['X-Sendfile-Type', 'X-Accel-Redirect'],
  ['X-Accel-Mapping', '/=/evil/'],
  ['Surrogate-Capability', 'x="ESI/1.0"'],
  ['Proxy', 'http://evil.example/'],
  ['X_Forwarded_Host', 'evil.example'],
  ['Content-Type', 'invalid'],
  ['Content-Encoding', 'invalid'],
  ['Range', 'bytes=nonsense'],
  ['Range', 'lines=1-2'],
  ['Range', `bytes=${Array.from({ length: 100 }, (_, i) => `${i}-`).join()}`],
];

const harmless: readonly (readonly [string, string])[] = [
  ['Host', 'a.example'],
  ['Accept', '*/*'],
  ['Accept-Encoding', 'gzip, br'],
  ['Accept-Language', 'de'],
  ['User-Agent', 'x'],
  ['Referer', 'http://a.example/'],
  ['Origin', 'http://a.example'],
  ['Cookie', 'a=b'],
  ['Authorization', 'Basic YTpi'],
  ['Cache-Control', 'no-cache'],
  ['If-None-Match', '"a"'],
  ['If-Modified-Since', 'Mon, 16 Nov 2026 00:00:00 GMT'],
  ['Range', 'bytes=0-99'],
  ['Range', 'bytes=0-0, -1'],
  ['If-Range', '"a"'],
  ['Sec-Fetch-Mode', 'navigate'],
  ['X-Requested-With', 'XMLHttpRequest'],
  // These have a Vary.
  ['RSC', '1'],
  ['Next-Router-State-Tree', '%5B%5D'],
  ['Next-Router-Prefetch', '1'],
  ['Next-Url', '/'],
  ['X-Inertia', 'true'],
  ['Upgrade-Insecure-Requests', '1'],
  ['Via', '1.1 x'],
  ['Connection', 'close'],
  ['Content-Length', '0'],
];

const at = Date.UTC(2025, 0, 1);
const shareable = (...headers: string[]) =>
  explicitlyShareable({ status: 200, headers }, { requestTime: at, responseTime: at }, DEFAULT_POLICY);

describe('unkeyed fields', () => {
  it.each(poison.map((each) => [`${each[0]}: ${each[1].slice(0, 30)}`, each] as const))(
    '%s is dropped',
    (_name, field) => {
      for (const method of ['GET', 'HEAD']) {
        const safe = safeguardFields(['Host', 'a.example', ...field, 'Accept', '*/*'], method);
        expect(safe).toEqual({
          headers: ['Host', 'a.example', 'Accept', '*/*'],
          shareable: true,
          explicitOnly: false,
        });
      }
      const odd = safeguardFields([field[0].toUpperCase(), field[1]], 'GET');
      expect(odd.headers).toEqual([]);
    },
  );

  it('others stay, in their order and case', () => {
    const headers = harmless.flat();
    expect(safeguardFields(headers, 'GET').headers).toEqual(headers);
  });

  it('are left alone for methods whose answers are not shared', () => {
    const headers = poison.flat();
    expect(safeguardFields(headers, 'POST')).toEqual({ headers, shareable: false, explicitOnly: false });
  });

  it('make the answer to a POST one that is not stored for others', () => {
    for (const [name, value] of [...poison, ['Cookie', 'a=b'], ['Authorization', 'Basic YTpi']] as const) {
      // A body has a type and a coding.
      const stored = name.startsWith('Content-');
      expect(safeguardFields(['Host', 'a', name, value], 'POST').shareable, name).toBe(stored);
      expect(safeguardFields(['Host', 'a', name, value], 'PUT').shareable, name).toBe(false);
    }
    expect(safeguardFields(['X-Real-IP', '::1'], 'POST', new Set(['x-real-ip'])).shareable).toBe(true);
  });

  it('a body makes a GET unshareable, and keeps the fields that describe it', () => {
    const fat = ['Content-Length', '3', 'Content-Type', 'text/plain'];
    expect(safeguardFields(fat, 'GET')).toEqual({ headers: fat, shareable: false, explicitOnly: false });
    expect(safeguardFields(['Transfer-Encoding', 'chunked'], 'GET').shareable).toBe(false);
    expect(safeguardFields(['content-length', '000'], 'GET').shareable).toBe(true);
  });

  it('a cookie asks for the word of the origin', () => {
    expect(safeguardFields(['cOOkie', 'a=b'], 'GET')).toEqual({
      headers: ['cOOkie', 'a=b'],
      shareable: true,
      explicitOnly: true,
    });
    for (const value of [
      'public',
      'max-age=60',
      'no-transform, s-maxage=5',
      'Public,must-revalidate',
      'MAX-AGE=1',
    ]) {
      expect(shareable('Cache-Control', value), value).toBe(true);
    }
    for (const value of [
      ...['', 'no-transform', 'x-public', 'stale-if-error=5', 'notmax-age=5', 'publican'],
      ...['max-age=0', 'max-age=0, must-revalidate', 'max-age=x', 's-maxage=x', 'x="a, public, b"'],
    ]) {
      expect(shareable('Cache-Control', value), value).toBe(false);
    }
    expect(shareable('Cache-Control', 'public, max-age=0')).toBe(true);
    // Said to shared caches alone, and RFC 9111, 3.5 takes it for permission.
    expect(shareable('Cache-Control', 's-maxage=0')).toBe(true);
    // RFC 9213, 2.2: where there is a targeted field, it alone counts.
    expect(shareable('Cache-Control', 'max-age=60', 'CDN-Cache-Control', 'max-age=0')).toBe(false);
    expect(shareable('Cache-Control', 'max-age=0', 'CDN-Cache-Control', 'max-age=60')).toBe(true);
    expect(shareable('Last-Modified', 'Mon, 16 Nov 2015 00:00:00 GMT')).toBe(false);
    expect(shareable('Expires', 'Mon, 16 Nov 2026 00:00:00 GMT')).toBe(true);
    expect(shareable('Expires', 'Mon, 16 Nov 2015 00:00:00 GMT')).toBe(false);
    expect(shareable('Expires', '0')).toBe(false);
    expect(shareable('Cache-Control', 'public', 'Set-Cookie', 'a=b')).toBe(false);
  });

  it('those of a trusted proxy can be kept', () => {
    const keep = new Set(['x-forwarded-proto']);
    const safe = safeguardFields(
      ['X-Forwarded-Proto', 'https', 'X-Forwarded-Host', 'evil.example'],
      'GET',
      keep,
    );
    expect(safe.headers).toEqual(['X-Forwarded-Proto', 'https']);
    expect(isUnkeyed('x-forwarded-proto')).toBe(true);
    expect(isUnkeyed('accept')).toBe(false);
  });

  it('an origin that believes them all answers the same to a poisoned request', async () => {
    const origin = createHttpServer((req, res) => {
      // What a careless framework does: the page depends on every field but a few.
      const seen = req.rawHeaders
        .filter((_, i) => i % 2 === 0)
        .filter((name) => !/^(?:host|connection|accept)$/i.test(name));
      res.end(`page made of: ${seen.join()}`);
    });
    // Never: otherwise it closes a connection after 5 s, maybe while it is asked again.
    origin.keepAliveTimeout = 0;
    origin.listen(0, '127.0.0.1');
    await once(origin, 'listening');
    const url = `http://127.0.0.1:${(origin.address() as AddressInfo).port}/`;
    const agent = new Agent();
    const page = async (headers: string[]) =>
      (await request(url, { dispatcher: agent, headers })).body.text();
    const clean = await page(['Accept', '*/*']);
    for (const [name, value] of poison) {
      const sent = ['Accept', '*/*', name, value];
      expect(await page(sent)).not.toBe(clean);
      expect(await page(safeguardFields(sent, 'GET').headers), name).toBe(clean);
    }
    await agent.destroy();
    origin.closeAllConnections();
    origin.close();
  });
});

/** The part that stops each head; measured, so that a change of undici is noticed. */
const heads: readonly (readonly [name: string, head: string, by: 'undici' | 'guard' | 'nobody'])[] = [
  ['plain', 'Content-Length: 2\r\n', 'nobody'],
  ['obs-text in a value', 'Content-Length: 2\r\nX: caf\xe9\r\n', 'nobody'],
  ['chunked', 'Transfer-Encoding: chunked\r\n', 'nobody'],
  ['two equal lengths', 'Content-Length: 2\r\nContent-Length: 2\r\n', 'undici'],
  ['two different lengths', 'Content-Length: 2\r\nContent-Length: 3\r\n', 'undici'],
  ['list of lengths', 'Content-Length: 2, 2\r\n', 'undici'],
  ['length and chunked', 'Content-Length: 2\r\nTransfer-Encoding: chunked\r\n', 'undici'],
  ['chunked and length', 'Transfer-Encoding: chunked\r\nContent-Length: 2\r\n', 'undici'],
  ['chunked, gzip', 'Transfer-Encoding: chunked, gzip\r\n', 'guard'],
  ['gzip, chunked', 'Transfer-Encoding: gzip, chunked\r\n', 'guard'],
  ['gzip', 'Transfer-Encoding: gzip\r\n', 'guard'],
  ['identity', 'Transfer-Encoding: identity\r\n', 'guard'],
  ['obs-fold', 'X: a\r\n b\r\nContent-Length: 2\r\n', 'undici'],
  ['bare LF', 'X: a\nSet-Cookie: b\r\nContent-Length: 2\r\n', 'undici'],
  ['bare CR', 'X: a\rSet-Cookie: b\r\nContent-Length: 2\r\n', 'undici'],
  ['NUL', 'X: a\0b\r\nContent-Length: 2\r\n', 'undici'],
  ['DEL', 'X: a\x7fb\r\nContent-Length: 2\r\n', 'undici'],
  ['space before the colon', 'X : a\r\nContent-Length: 2\r\n', 'undici'],
  ['name with parentheses', 'X(y): a\r\nContent-Length: 2\r\n', 'undici'],
  ['too many fields', `${'a: b\r\n'.repeat(300)}Content-Length: 2\r\n`, 'guard'],
  ['too large', `a: ${'b'.repeat(70_000)}\r\nContent-Length: 2\r\n`, 'undici'],
  ['body above the limit', 'Content-Length: 99999999999999\r\n', 'guard'],
];

describe('heads of responses', () => {
  const limits = checkLimits();
  let raw = '';
  const started = (async () => {
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => socket.end(Buffer.from(raw, 'latin1')));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    server.unref();
    return (server.address() as AddressInfo).port;
  })();

  const stoppedBy = async (text: string): Promise<'undici' | 'guard' | 'nobody'> => {
    raw = text;
    const agent = new Agent({
      headersTimeout: 2000,
      bodyTimeout: 2000,
      maxHeaderSize: limits.responseHeadBytes,
    });
    try {
      const answer = await request(`http://127.0.0.1:${await started}/`, {
        dispatcher: agent,
        responseHeaders: 'raw',
      });
      answer.body.on('error', () => {});
      answer.body.destroy();
      const headers = (answer.headers as unknown as (Buffer | string)[]).map((each) =>
        typeof each === 'string' ? each : each.toString('latin1'),
      );
      const why = checkResponseHead({ status: answer.statusCode, headers }, limits);
      if (why !== null)
        expect(why).toMatchObject({ status: 502, message: expect.stringMatching(/^The origin sent .*\.$/) });
      return why === null ? 'nobody' : 'guard';
    } catch {
      return 'undici';
    } finally {
      await agent.destroy();
    }
  };

  it.each(heads)('%s', async (_name, head, by) => {
    const body = /^Transfer-Encoding: chunked\r\n/.test(head) ? '2\r\nhi\r\n0\r\n\r\n' : 'hi';
    expect(await stoppedBy(`HTTP/1.1 200 OK\r\n${head}\r\n${body}`)).toBe(by);
  });

  it('status codes that do not exist are stopped', async () => {
    expect(await stoppedBy('HTTP/1.1 600 x\r\nContent-Length: 0\r\n\r\n')).toBe('guard');
    expect(await stoppedBy('HTTP/1.1 999 x\r\nContent-Length: 0\r\n\r\n')).toBe('guard');
    for (const status of [0, 99, 600, 200.5, Number.NaN]) {
      expect(checkResponseHead({ status, headers: [] })?.code).toBe('response-status');
    }
    for (const status of [100, 200, 304, 599]) expect(checkResponseHead({ status, headers: [] })).toBe(null);
  });

  it('all of it is seen by the guard alone as well', () => {
    const code = (...headers: string[]) => checkResponseHead({ status: 200, headers })?.code ?? null;
    expect(code('Content-Length', '2', 'content-length', '2')).toBe('response-length');
    expect(code('Content-Length', '2, 2')).toBe('response-length');
    expect(code('Content-Length', '2', 'Transfer-Encoding', 'chunked')).toBe('response-length');
    expect(code('X', 'a\r\nSet-Cookie: b')).toBe('response-header');
    expect(code('X\r\nY', 'a')).toBe('response-header');
    expect(code('X', '\u0100')).toBe('response-header');
    expect(code('X')).toBe('response-header');
    expect(code('X', 'y'.repeat(70_000))).toBe('response-head-too-large');
    expect(
      checkResponseHead({ status: 200, headers: ['Content-Length', '99999999999999'], method: 'HEAD' }),
    ).toBe(null);
  });

  it('a reason phrase is kept only if it can be sent', () => {
    expect(safeReason('Not Found')).toBe('Not Found');
    for (const reason of ['a\x01b', 'a\r\nX: y', '\u0100', 'O'.repeat(1000)])
      expect(safeReason(reason)).toBe('');
  });
});
