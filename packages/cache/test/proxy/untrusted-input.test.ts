/**
 * Untrusted input: one client's answer must not reach another, a part must not pass for a whole,
 * and no origin may end the process.
 */

import { type OriginLab, startOrigin } from '@bloomery/testkit/origins/origin-lab';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { OriginClient } from '../../src/proxy/origin/origin-client.ts';
import type { OriginFetch } from '../../src/proxy/origin/origin-fetch.ts';
import { AddressGuard } from '../../src/safety/address-guard.ts';
import { DEFAULT_LIMITS } from '../../src/safety/limits.ts';
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

describe('who asks', () => {
  it.each(['Cookie', 'Authorization'])(
    'a page that must be validated is not another client’s: %s',
    async (field) => {
      origin.on('/account', (request) => ({
        headers: [
          'Cache-Control',
          'no-cache, must-revalidate',
          'ETag',
          `"${request.header(field.toLowerCase())}"`,
        ],
        body: `of ${request.header(field.toLowerCase())}`,
        delayMs: 20,
      }));
      // All at once: most of them come before the first request was sent.
      const replies = await Promise.all(
        Array.from({ length: 20 }, (_, i) => lab.get(origin.url('/account'), [field, `user ${i}`])),
      );
      replies.forEach((reply, i) => {
        expect(reply.text).toBe(`of user ${i}`);
      });
    },
  );

  it('a cookie that came with a 304 goes to one client only', async () => {
    origin.on('/page', (request) =>
      request.header('if-none-match') === undefined
        ? { headers: ['Cache-Control', 'max-age=60', 'ETag', '"1"'], body: 'page' }
        : {
            status: 304,
            headers: ['Cache-Control', 'max-age=60', 'ETag', '"1"', 'Set-Cookie', 'session=new'],
          },
    );
    await lab.get(origin.url('/page'));
    await lab.get(origin.url('/page'), ['Cache-Control', 'no-cache', 'Cookie', 'session=old']);
    const other = await lab.get(origin.url('/page'));
    expect(other.text).toBe('page');
    expect(other.header('set-cookie')).toBeUndefined();
    expect(origin.count('/page')).toBe(2);
  });

  it('a cookie that came with a 304 is for the one whose request was validated', async () => {
    origin.on('/page', (request) =>
      request.header('if-none-match') === undefined
        ? {
            headers: ['Cache-Control', 'public, max-age=60', 'ETag', '"1"', 'Set-Cookie', 'first=1'],
            body: 'page',
          }
        : {
            status: 304,
            headers: [
              ...['Cache-Control', 'public, max-age=60, private="X-Balance"', 'ETag', '"1"'],
              ...['Set-Cookie', 'session=new', 'Set-Cookie', 'b=2', 'X-Balance', '7'],
              ...['Content-Encoding', 'gzip', 'Content-Length', '4'],
            ],
            delayMs: 50,
          },
    );
    const cookies = ({ rawHeaders }: { rawHeaders: readonly string[] }) =>
      rawHeaders.filter((_, at) => /^set-cookie$/i.test(rawHeaders[at - 1] ?? ''));
    await lab.get(origin.url('/page'));
    const conditions = [[], ['If-None-Match', '"1"'], ['Range', 'bytes=0-1']];
    for (const [at, fields] of conditions.entries()) {
      lab.advance(61_000);
      origin.advance(61_000);
      const owner = lab.get(origin.url('/page'), fields);
      await eventually(() => origin.count('/page') === at + 2);
      const [mine, other] = await Promise.all([owner, lab.get(origin.url('/page'))]);
      expect(mine.status).toBe([200, 304, 206][at]);
      expect(cookies(mine)).toEqual(['session=new', 'b=2']);
      expect([mine.header('x-balance'), mine.header('content-encoding')]).toEqual(['7', undefined]);
      expect([other.text, cookies(other), other.header('x-balance')]).toEqual([
        'page',
        ['first=1'],
        undefined,
      ]);
      const later = await lab.get(origin.url('/page'));
      expect([cookies(later), later.header('x-balance')]).toEqual([['first=1'], undefined]);
    }
    expect(origin.count('/page')).toBe(4);
  });

  it('and for that one alone when the 304 forbids to keep the page', async () => {
    origin.on('/page', (request) =>
      request.header('if-none-match') === undefined
        ? { headers: ['Cache-Control', 'max-age=60', 'ETag', '"1"'], body: 'page' }
        : { status: 304, headers: ['Cache-Control', 'no-store', 'ETag', '"1"', 'Set-Cookie', 'a=b'] },
    );
    await lab.get(origin.url('/page'));
    const owner = await lab.get(origin.url('/page'), ['Cache-Control', 'no-cache']);
    expect([owner.text, owner.header('set-cookie')]).toEqual(['page', 'a=b']);
  });

  it.each([
    ['Cache-Control', 'max-age=0'],
    ['Expires', 'Thu, 01 Jan 2015 00:00:00 GMT'],
    ['Expires', '0'],
  ])('a page asked for with a cookie is not shared by %s: %s', async (name, value) => {
    origin.on('/page', (request) => ({
      // A careless tag: the same for all.
      ...(request.header('if-none-match') === '"1"'
        ? { status: 304 }
        : { body: `of ${request.header('cookie')}` }),
      headers: [name, value, 'ETag', '"1"'],
    }));
    expect((await lab.get(origin.url('/page'), ['Cookie', 'user=1'])).text).toBe('of user=1');
    expect(await lab.store.find(origin.url('/page'))).toEqual([]);
    expect((await lab.get(origin.url('/page'), ['Cookie', 'user=2'])).text).toBe('of user=2');
  });
});

describe('what the cache sees and the origin does not', () => {
  const varied = () =>
    origin.on('/page', (request) => ({
      headers: ['Cache-Control', 'max-age=60', 'Vary', 'X-Tenant'],
      body: `for ${request.header('x-tenant')}`,
    }));

  it.each(['X-Tenant', 'keep-alive, x-tenant', 'close,X-TENANT'])(
    'a field that Connection names is not one it is stored by: %s',
    async (connection) => {
      varied();
      const poisoner = await lab.get(origin.url('/page'), ['Connection', connection, 'X-Tenant', '7']);
      expect(poisoner.text).toBe('for undefined');
      expect((await lab.get(origin.url('/page'), ['X-Tenant', '7'])).text).toBe('for 7');
      // It was stored as what it is: the answer for those without the field.
      expect((await lab.get(origin.url('/page'))).text).toBe('for undefined');
      expect(origin.count('/page')).toBe(2);
    },
  );

  it('nor is it when a second line names it', async () => {
    varied();
    const raw = await rawConnection(lab.port);
    raw.socket.write(
      `GET ${origin.url('/page')} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Tenant: 7\r\nConnection: X-Tenant\r\n\r\n`,
    );
    expect(await raw.ended()).toMatch(/for undefined$/);
    raw.socket.destroy();
    expect((await lab.get(origin.url('/page'), ['X-Tenant', '7'])).text).toBe('for 7');
  });

  it('nor when what is stored is chosen', async () => {
    varied();
    await lab.get(origin.url('/page'), ['X-Tenant', '7']);
    const reply = await lab.get(origin.url('/page'), ['Connection', 'X-Tenant', 'X-Tenant', '7']);
    expect(reply.text).toBe('for undefined');
  });

  it.each([
    'Cookie',
    'Authorization',
    'X-Forwarded-For',
    'X-Forwarded-Port',
    'True-Client-IP',
    'If-None-Match',
  ])('Connection cannot take away %s', async (name) => {
    varied();
    const reply = await lab.get(origin.url('/page'), ['Connection', name, name, 'x']);
    expect([reply.status, origin.count('/page')]).toEqual([400, 0]);
  });

  it.each([
    ['X-Forwarded-Host', 'evil.example', false],
    ['X-Original-URL', '/admin', false],
    ['X-HTTP-Method-Override', 'PUT', false],
    ['Cookie', 'a=b', false],
    ['Authorization', 'Basic YTpi', false],
    ['Content-Type', 'text/plain', true],
    ['X-Requested-With', 'XMLHttpRequest', true],
  ])('an answer to POST is stored for GET only if a GET could have had it: %s', async (name, value, kept) => {
    origin.on('/page', (request) => ({
      // Public: with credentials it may be stored by RFC 9111, 3.5.
      headers: ['Cache-Control', 'public, max-age=60', 'Content-Location', '/page'],
      body: `${request.method} ${request.header(name)}`,
    }));
    const posted = await lab.ask({
      method: 'POST',
      target: origin.url('/page'),
      headers: ['Content-Length', '1', name, value],
      body: 'x',
    });
    // The application gets the field all the same.
    expect(posted.text).toBe(`POST ${value}`);
    const reply = await lab.get(origin.url('/page'));
    expect(reply.text).toBe(kept ? `POST ${value}` : 'GET undefined');
  });
});

describe('parts', () => {
  it('a part that is all of it answers who wants all of it', async () => {
    origin.on('/film', (request) =>
      request.header('range') === undefined
        ? { headers: ['Cache-Control', 'max-age=60', 'ETag', '"s"'], body: 'x'.repeat(1000) }
        : {
            status: 206,
            headers: ['Cache-Control', 'max-age=60', 'ETag', '"s"', 'Content-Range', 'bytes 0-999/1000'],
            body: 'x'.repeat(1000),
          },
    );
    const part = await lab.get(origin.url('/film'), ['Range', 'bytes=0-']);
    expect([part.status, part.header('content-range')]).toEqual([206, 'bytes 0-999/1000']);
    const whole = await lab.get(origin.url('/film'));
    expect([whole.status, whole.body.length, whole.header('content-range')]).toEqual([200, 1000, undefined]);
    expect(origin.count('/film')).toBe(1);
  });

  it.each([400, 600])('of which %i bytes of 500 come is never put together with another', async (count) => {
    origin.on('/film', (request) => {
      const range = request.header('range');
      const head = ['Cache-Control', 'max-age=60', 'ETag', '"s"'];
      if (range === 'bytes=500-') {
        return {
          status: 206,
          headers: [...head, 'Content-Range', 'bytes 500-999/1000'],
          body: 'b'.repeat(500),
        };
      }
      if (range === undefined) return { headers: head, body: 'a'.repeat(500) + 'b'.repeat(500) };
      return {
        raw: (socket) =>
          socket.end(
            `HTTP/1.1 206 Partial Content\r\nCache-Control: max-age=60\r\nETag: "s"\r\nContent-Range: bytes 0-499/1000\r\nTransfer-Encoding: chunked\r\n\r\n${count.toString(16)}\r\n${'a'.repeat(count)}\r\n0\r\n\r\n`,
          ),
      };
    });
    await lab.get(origin.url('/film'), ['Range', 'bytes=500-']);
    // Broken off where the head has promised a thousand bytes, else told.
    const outcome = await lab.get(origin.url('/film')).then(
      ({ status }) => status,
      () => 'broken off',
    );
    expect(['broken off', 502]).toContain(outcome);
    // And nothing of it stays: neither a whole, nor a longer part.
    const [stored, ...others] = await lab.store.find(origin.url('/film'));
    expect([stored?.range, stored?.bodyLength, others]).toEqual([{ start: 500, total: 1000 }, 500, []]);
  });
});

describe('an origin that closes while its body is held back', () => {
  // undici asserts that its parser is not paused when a connection ends: that would end the
  // process.
  it.each([
    ['Connection: close', 'Content-Length: 5\r\nConnection: close\r\n\r\nhello'],
    ['a body that the end of the connection ends', 'Connection: close\r\n\r\nhello'],
    ['chunks', 'Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n5\r\nhello\r\n0\r\n\r\n'],
    ['a connection that was to be kept', 'Content-Length: 5\r\n\r\nhello'],
  ])('%s: every byte arrives, and the node lives', async (_, rest) => {
    for (const when of ['head', 'data'] as const) {
      origin.on('/last', { raw: (socket) => socket.end(`HTTP/1.1 200 OK\r\n${rest}`) });
      const client = new OriginClient({
        limits: DEFAULT_LIMITS,
        addresses: new AddressGuard({ allowPrivate: true, allow: [], deny: [] }),
        problem: () => {},
      });
      let text = '';
      const ended = new Promise<string>((resolve, reject) => {
        const hold = () => {
          fetch.pause();
          setTimeout(() => fetch.resume(), 100);
        };
        const url = new URL(origin.url('/last'));
        const fetch: OriginFetch = client.fetch(
          {
            origin: url.origin,
            trusted: true,
            method: 'GET',
            path: '/last',
            host: url.host,
            headers: [],
            body: null,
            bodyLength: undefined,
          },
          {
            onHead: () => when === 'head' && hold(),
            onData: (chunk) => {
              text += chunk;
              if (when === 'data') hold();
            },
            onEnd: () => resolve(text),
            onError: reject,
          },
        );
      });
      expect(await ended).toBe('hello');
      client.close();
    }
  });
});
