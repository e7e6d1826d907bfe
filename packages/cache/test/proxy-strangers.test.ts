/** What a reader who distrusts the proxy found: one client's answer for another, parts that pass for a whole, an origin that ends the process. */

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { OriginClient } from '../src/proxy/origin-client.ts';
import type { OriginFetch } from '../src/proxy/origin-fetch.ts';
import { AddressGuard } from '../src/safety/address-guard.ts';
import { DEFAULT_LIMITS } from '../src/safety/limits.ts';
import { type OriginLab, startOrigin } from './origin-lab.ts';
import { type ProxyLab, startProxy } from './proxy-lab.ts';

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

  it('a cookie that came with a 304 is not everybody’s', async () => {
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
  // undici asserts that its parser is not paused when a connection ends: that would end the process.
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
