/**
 * Validation of what is stale, what stands in when the origin fails, and revalidation in the
 * background.
 */

import { type OriginLab, startOrigin } from '@bloomery/testkit/origins/origin-lab';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually, type ProxyLab, startProxy } from './proxy-lab.ts';

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

/** On both clocks: the origin's Date must not lie in the proxy's past. */
const later = (ms: number) => {
  lab.advance(ms);
  origin.advance(ms);
};

const outcomes = () => lab.records.map(({ outcome }) => outcome);

describe('validation', () => {
  it('renews a stored response by a 304, and keeps its body', async () => {
    origin.on('/a', (request) =>
      request.header('if-none-match') === '"1"'
        ? { status: 304, headers: ['ETag', '"1"', 'Cache-Control', 'max-age=60', 'X-New', 'yes'] }
        : { headers: ['ETag', '"1"', 'Cache-Control', 'max-age=60'], body: 'hello' },
    );
    await lab.get(origin.url('/a'));
    later(61_000);
    const renewed = await lab.get(origin.url('/a'));
    expect([renewed.status, renewed.text, renewed.header('x-new')]).toEqual([200, 'hello', 'yes']);
    expect(renewed.header('cache-status')).toBe('bloomery; fwd=stale; fwd-status=304');
    const hit = await lab.get(origin.url('/a'));
    expect([hit.text, hit.header('x-new')]).toEqual(['hello', 'yes']);
    expect(origin.count('/a')).toBe(2);
    expect(outcomes()).toEqual(['miss', 'validated', 'hit']);
  });

  it('takes a new response in place of the old', async () => {
    origin.on('/a', (_, count) => ({
      headers: ['ETag', `"${count}"`, 'Cache-Control', 'max-age=60'],
      body: `version ${count}`,
    }));
    await lab.get(origin.url('/a'));
    later(61_000);
    expect((await lab.get(origin.url('/a'))).text).toBe('version 2');
    expect((await lab.get(origin.url('/a'))).text).toBe('version 2');
    expect(origin.count('/a')).toBe(2);
  });

  it("answers a client's own condition from the result", async () => {
    origin.on('/a', (request) =>
      request.header('if-none-match') === '"1"'
        ? { status: 304, headers: ['ETag', '"1"', 'Cache-Control', 'max-age=60'] }
        : { headers: ['ETag', '"1"', 'Cache-Control', 'max-age=60'], body: 'hello' },
    );
    await lab.get(origin.url('/a'));
    later(61_000);
    expect((await lab.get(origin.url('/a'), ['If-None-Match', '"1"'])).status).toBe(304);
    later(61_000);
    const other = await lab.get(origin.url('/a'), ['If-None-Match', '"0"']);
    expect([other.status, other.text]).toEqual([200, 'hello']);
  });

  it('asks again without conditions when a 304 is about something else', async () => {
    origin.on('/a', (request, count) =>
      count === 2
        ? { status: 304, headers: ['ETag', '"other"'] }
        : {
            headers: ['ETag', '"1"', 'Cache-Control', 'max-age=60'],
            body: `${count} ${request.header('if-none-match')}`,
          },
    );
    await lab.get(origin.url('/a'));
    later(61_000);
    expect((await lab.get(origin.url('/a'))).text).toBe('3 undefined');
    expect(origin.count('/a')).toBe(3);
  });

  it('forgets what the origin no longer wants stored', async () => {
    origin.on('/a', (_, count) => ({
      headers: ['ETag', `"${count}"`, 'Cache-Control', count === 1 ? 'max-age=60' : 'no-store'],
      body: `version ${count}`,
    }));
    await lab.get(origin.url('/a'));
    later(61_000);
    expect((await lab.get(origin.url('/a'))).text).toBe('version 2');
    expect(lab.store.statistics.responses).toBe(0);
  });

  it("passes on a 304 to the client's own condition when nothing is stored", async () => {
    origin.on('/a', { status: 304, headers: ['ETag', '"1"'] });
    const reply = await lab.get(origin.url('/a'), ['If-None-Match', '"1"']);
    expect([reply.status, reply.text]).toEqual([304, '']);
    expect(lab.store.statistics.responses).toBe(0);
  });

  it('is one for many that ask at once', async () => {
    origin.on('/a', (request) =>
      request.header('if-none-match') === '"1"'
        ? { status: 304, headers: ['Cache-Control', 'max-age=60'], delayMs: 100 }
        : { headers: ['ETag', '"1"', 'Cache-Control', 'max-age=60'], body: 'hello' },
    );
    await lab.get(origin.url('/a'));
    later(61_000);
    const replies = await Promise.all(Array.from({ length: 50 }, () => lab.get(origin.url('/a'))));
    expect(new Set(replies.map(({ text }) => text))).toEqual(new Set(['hello']));
    expect(origin.count('/a')).toBe(2);
  });
});

describe('when the origin fails', () => {
  const failing = (headers: string, failure: Parameters<OriginLab['on']>[1]) => {
    origin.on('/a', (request, count) =>
      count === 1
        ? { headers: ['ETag', '"1"', 'Cache-Control', headers], body: 'hello' }
        : typeof failure === 'function'
          ? failure(request, count)
          : failure,
    );
  };

  it('serves stale for an error, within stale-if-error', async () => {
    failing('max-age=60, stale-if-error=100', { status: 503, body: 'down' });
    await lab.get(origin.url('/a'));
    later(61_000);
    const stale = await lab.get(origin.url('/a'));
    expect([stale.status, stale.text]).toEqual([200, 'hello']);
    expect(stale.header('cache-status')).toBe('bloomery; fwd=stale; fwd-status=503; detail=origin-error');
    later(100_000);
    const down = await lab.get(origin.url('/a'));
    expect([down.status, down.text]).toEqual([503, 'down']);
  });

  it('serves stale when it cannot be reached, unless that is forbidden', async () => {
    failing('max-age=60', { raw: (socket) => socket.destroy() });
    await lab.get(origin.url('/a'));
    later(61_000);
    const stale = await lab.get(origin.url('/a'));
    expect([stale.status, stale.text]).toEqual([200, 'hello']);
    expect(outcomes().at(-1)).toBe('stale');
    await lab.close();
    lab = await startProxy();
    failing('max-age=60, must-revalidate', { raw: (socket) => socket.destroy() });
    const fresh = await startOrigin();
    fresh.on('/b', {
      headers: ['ETag', '"1"', 'Cache-Control', 'max-age=60, must-revalidate'],
      body: 'hello',
    });
    await lab.get(fresh.url('/b'));
    later(61_000);
    await fresh.close();
    const refused = await lab.get(fresh.url('/b'));
    expect([refused.status, refused.header('proxy-status')]).toEqual([
      502,
      'bloomery; error=connection_refused',
    ]);
  });

  it('passes an error on when nothing may stand in', async () => {
    failing('max-age=60', { status: 500, body: 'broken' });
    await lab.get(origin.url('/a'));
    later(61_000);
    const reply = await lab.get(origin.url('/a'));
    expect([reply.status, reply.text]).toEqual([500, 'broken']);
  });
});

describe('stale-while-revalidate', () => {
  it('answers at once, and asks once meanwhile', async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    origin.on('/a', async (_, count) => {
      if (count === 2) await held;
      return {
        headers: ['ETag', `"${count}"`, 'Cache-Control', 'max-age=60, stale-while-revalidate=600'],
        body: `version ${count}`,
      };
    });
    await lab.get(origin.url('/a'));
    later(61_000);
    const stale = await Promise.all(Array.from({ length: 20 }, () => lab.get(origin.url('/a'))));
    expect(new Set(stale.map(({ text }) => text))).toEqual(new Set(['version 1']));
    await eventually(() => origin.count('/a') === 2);
    release();
    await eventually(() => lab.proxy.activity.flights === 0);
    expect((await lab.get(origin.url('/a'))).text).toBe('version 2');
    expect(origin.count('/a')).toBe(2);
  });

  it('leaves what is stored alone when the origin fails', async () => {
    origin.on('/a', (_, count) =>
      count === 1
        ? {
            headers: ['ETag', '"1"', 'Cache-Control', 'max-age=60, stale-while-revalidate=600'],
            body: 'hello',
          }
        : { status: 500 },
    );
    await lab.get(origin.url('/a'));
    later(61_000);
    expect((await lab.get(origin.url('/a'))).text).toBe('hello');
    await eventually(() => origin.count('/a') === 2 && lab.proxy.activity.flights === 0);
    expect((await lab.get(origin.url('/a'))).text).toBe('hello');
  });
});
