/**
 * Meanings of the head of a response for the store, where it is not as simple as a 200: a 304
 * with a length, cookies without freshness, an older response that ends later, a part that ends
 * after the whole, updates that came to one person, a resource that is gone.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startOrigin } from '@bloomery/testkit/origins/origin-lab';
import { afterEach, describe, expect, it } from 'vitest';
import { AddressGuard } from '../../src/safety/address-guard.ts';
import { DiskStore } from '../../src/store/disk/disk-store.ts';
import { MemoryStore } from '../../src/store/memory/memory-store.ts';
import type { ResponseStore } from '../../src/store/response-store.ts';
import { eventually, startProxy } from './proxy-lab.ts';

let folder = '';
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function openStore(kind: string): Promise<ResponseStore> {
  if (kind === 'memory') return new MemoryStore({ capacityBytes: 64_000_000, maxBodyBytes: 8_000_000 });
  folder = mkdtempSync(join(tmpdir(), 'bloomery-verdicts-'));
  return DiskStore.open({ folder, capacityBytes: 64_000_000 });
}

describe.each(['memory', 'disk'])(
  'a 304 that tells the length of what it does not bring (RFC 9110, 8.6), store: %s',
  (kind) => {
    it.each([
      ['max-age=1', 100],
      ['max-age=1', 3_000_000],
      ['max-age=1, must-revalidate', 3_000_000],
    ])('validates what is stored: %s, %i bytes', async (control, size) => {
      await using origin = await startOrigin();
      await using lab = await startProxy({ store: await openStore(kind) });
      const body = 'x'.repeat(size);
      const headers = ['Cache-Control', control, 'ETag', '"1"'];
      origin.on('/a', (request) =>
        request.header('if-none-match') === '"1"'
          ? { status: 304, headers: [...headers, 'Content-Length', String(size)] }
          : { headers, body },
      );
      await lab.get(`${origin.origin}/a`);
      await eventually(() => lab.proxy.activity.flights === 0);
      for (let round = 0; round < 3; round++) {
        lab.advance(5000);
        const reply = await lab.get(`${origin.origin}/a`);
        expect(reply.status).toBe(200);
        expect(reply.text === body).toBe(true);
        expect(reply.header('cache-status')).toMatch(/fwd=stale; fwd-status=304/);
      }
      expect(origin.count('/a')).toBe(4);
      expect(lab.events.filter(({ level }) => level === 'error')).toEqual([]);
    });

    it('and goes to a client that asked with a condition of its own; so does a 204', async () => {
      await using origin = await startOrigin();
      await using lab = await startProxy({ store: await openStore(kind) });
      origin.on('/n', { status: 304, headers: ['ETag', '"1"', 'Content-Length', '9000'] });
      const reply = await lab.get(`${origin.origin}/n`, ['If-None-Match', '"1"']);
      expect(reply.status).toBe(304);
      origin.on('/none', {
        raw: (socket) =>
          socket.end('HTTP/1.1 204 No Content\r\nContent-Length: 5\r\nConnection: close\r\n\r\n'),
      });
      expect((await lab.get(`${origin.origin}/none`)).status).toBe(204);
    });
  },
);

describe('a cookie', () => {
  it.each([
    ['no Cache-Control', []],
    ['no-cache', ['Cache-Control', 'no-cache']],
    ['no-cache and max-age', ['Cache-Control', 'no-cache, max-age=600']],
    ['max-age=0', ['Cache-Control', 'max-age=0']],
    ['max-age=0 and stale-while-revalidate', ['Cache-Control', 'max-age=0, stale-while-revalidate=60']],
  ])('of a response with %s goes to one visitor', async (_name, control) => {
    await using origin = await startOrigin();
    await using lab = await startProxy();
    origin.on('/page', async (request, count) => {
      await sleep(30);
      return request.header('if-none-match') === '"1"'
        ? { status: 304, headers: ['ETag', '"1"'] }
        : { headers: [...control, 'ETag', '"1"', 'Set-Cookie', `sid=${count}`], body: 'page' };
    });
    const target = `${origin.origin}/page`;
    const crowd = await Promise.all([lab.get(target), lab.get(target), lab.get(target)]);
    const later = await lab.get(target);
    const known = await lab.get(target, ['Cookie', 'sid=mine']);
    const sids = [...crowd, later, known].map((reply) => reply.header('set-cookie'));
    expect(sids.every((sid) => sid !== undefined)).toBe(true);
    expect(new Set(sids).size).toBe(sids.length);
  });

  it('of a response that may be reused as it is, is stored with it, as RFC 9111, 7.3 has it', async () => {
    await using origin = await startOrigin();
    await using lab = await startProxy();
    origin.on('/page', {
      headers: ['Cache-Control', 'max-age=60', 'Set-Cookie', 'theme=dark'],
      body: 'page',
    });
    await lab.get(`${origin.origin}/page`);
    const hit = await lab.get(`${origin.origin}/page`);
    expect(hit.header('cache-status')).toContain('hit');
    expect(hit.header('set-cookie')).toBe('theme=dark');
  });
});

describe('a response that ends late', () => {
  it('does not take the place of a newer one', async () => {
    await using origin = await startOrigin();
    await using lab = await startProxy();
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    origin.on('/r', (_request, count) => {
      async function* body() {
        yield `v${count} `;
        if (count === 1) await held;
        yield 'end';
      }
      return { headers: ['Cache-Control', 'max-age=60', 'ETag', `"v${count}"`], body: body() };
    });
    const target = `${origin.origin}/r`;
    let begun = false;
    const first = lab.get(target, [], { onHead: () => (begun = true) });
    await eventually(() => begun);
    expect(lab.proxy.activity.flights).toBe(1);
    lab.advance(3000);
    expect((await lab.get(target, ['Cache-Control', 'no-cache'])).text).toBe('v2 end');
    expect((await lab.get(target)).text).toBe('v2 end');
    release();
    expect((await first).text).toBe('v1 end');
    await eventually(() => lab.proxy.activity.flights === 0);
    const after = await lab.get(target);
    expect(after.text).toBe('v2 end');
    expect(after.header('cache-status')).toContain('hit');
    expect(lab.proxy.activity.flights).toBe(0);
  });

  it.each(['memory', 'disk'])(
    'and is a part does not take the place of the whole, store: %s',
    async (kind) => {
      await using origin = await startOrigin();
      await using lab = await startProxy({ store: await openStore(kind) });
      const whole = 'x'.repeat(1000);
      const fields = ['Cache-Control', 'max-age=60', 'ETag', '"1"'];
      let release = () => {};
      const held = new Promise<void>((resolve) => {
        release = resolve;
      });
      origin.on('/p', async (request) => {
        if (request.header('range') === undefined) return { headers: fields, body: whole };
        await held;
        return { status: 206, headers: [...fields, 'Content-Range', 'bytes 0-0/1000'], body: 'x' };
      });
      const target = `${origin.origin}/p`;
      const part = lab.get(target, ['Range', 'bytes=0-0']);
      await eventually(() => origin.count('/p') === 1);
      await lab.get(target);
      await eventually(() => lab.proxy.activity.flights === 0);
      expect((await lab.get(target)).header('cache-status')).toContain('hit');
      release();
      expect((await part).text).toBe('x');
      await eventually(() => lab.proxy.activity.flights === 0);
      const after = await lab.get(target);
      expect(after.header('cache-status')).toContain('hit');
      expect(after.text).toBe(whole);
    },
  );
});

describe('what came to one person', () => {
  const DAY = 86_400_000;

  it('by a 304 is not told to others, unless the origin says that it is for all', async () => {
    await using origin = await startOrigin();
    await using lab = await startProxy();
    const modified = new Date(Date.now() - 10 * DAY).toUTCString();
    let control: string[] = [];
    origin.on('/g', (request) =>
      request.header('if-modified-since') !== undefined
        ? {
            status: 304,
            headers: [...control, 'Last-Modified', modified, 'X-User', request.header('cookie') ?? 'nobody'],
          }
        : { headers: ['Last-Modified', modified, 'X-User', 'first'], body: 'page' },
    );
    const target = `${origin.origin}/g`;
    const later = () => {
      lab.advance(2 * DAY);
      origin.advance(2 * DAY);
    };
    await lab.get(target);
    later();
    const alice = await lab.get(target, ['Cookie', 'user=alice']);
    expect(alice.header('x-user')).toBe('user=alice');
    const other = await lab.get(target);
    expect(other.header('cache-status')).toContain('hit');
    expect(other.header('x-user')).toBe('first');
    later();
    control = ['Cache-Control', 'public'];
    await lab.get(target, ['Cookie', 'user=bob']);
    expect((await lab.get(target)).header('x-user')).toBe('user=bob');
  });

  it('by HEAD is not told to others either', async () => {
    await using origin = await startOrigin();
    await using lab = await startProxy();
    const modified = new Date(Date.now() - 10 * DAY).toUTCString();
    origin.on('/g', (request) => ({
      headers: [
        'Last-Modified',
        modified,
        'Content-Length',
        '4',
        'X-User',
        request.header('cookie') ?? 'nobody',
      ],
      body: 'page',
    }));
    const target = `${origin.origin}/g`;
    await lab.get(target);
    await lab.ask({ target, method: 'HEAD', headers: ['Cookie', 'user=alice', 'Cache-Control', 'no-cache'] });
    await eventually(() => lab.proxy.activity.flights === 0);
    const hit = await lab.get(target);
    expect(hit.header('cache-status')).toContain('hit');
    expect(hit.header('x-user')).toBe('nobody');
  });
});

describe('a resource that is gone', () => {
  it.each([410, 404, 403, 301])(
    'by %i is not given out again when the origin cannot be reached',
    async (status) => {
      await using origin = await startOrigin();
      await using lab = await startProxy();
      origin.on('/d', (_request, count) =>
        count === 1
          ? { headers: ['Cache-Control', 'max-age=1', 'ETag', '"1"'], body: 'secret' }
          : count === 2
            ? { status, headers: ['Cache-Control', 'no-store'], body: 'gone' }
            : { raw: (socket) => socket.destroy() },
      );
      const target = `${origin.origin}/d`;
      await lab.get(target);
      lab.advance(5000);
      expect((await lab.get(target)).status).toBe(status);
      expect((await lab.get(target)).status).toBe(502);
    },
  );

  it('by 429 for the moment only, still is', async () => {
    await using origin = await startOrigin();
    await using lab = await startProxy();
    origin.on('/d', (_request, count) =>
      count === 1
        ? { headers: ['Cache-Control', 'max-age=1', 'ETag', '"1"'], body: 'page' }
        : count === 2
          ? { status: 429, body: 'later' }
          : { raw: (socket) => socket.destroy() },
    );
    const target = `${origin.origin}/d`;
    await lab.get(target);
    lab.advance(5000);
    expect((await lab.get(target)).status).toBe(429);
    expect((await lab.get(target)).text).toBe('page');
  });
});

it('a part that cannot be combined is not read to its end before the whole is asked for', {
  timeout: 10_000,
}, async () => {
  await using origin = await startOrigin();
  await using lab = await startProxy();
  const size = 4_000_000;
  let version = 1;
  let cut = false;
  origin.on('/c', (request) => {
    const fields = ['Cache-Control', 'max-age=60', 'ETag', `"${version}"`];
    const range = request.header('range');
    if (range === undefined) return { headers: fields, body: 'y'.repeat(size) };
    if (version === 1)
      return {
        status: 206,
        headers: [...fields, 'Content-Range', `bytes 0-99/${size}`],
        body: 'x'.repeat(100),
      };
    // Ignores If-Range, and takes its time.
    async function* body() {
      try {
        for (let sent = 0; sent < size - 100; sent += 1000) {
          yield Buffer.alloc(Math.min(1000, size - 100 - sent), 'y');
          await sleep(20);
        }
      } finally {
        cut = true;
      }
    }
    return {
      status: 206,
      headers: [
        ...fields,
        'Content-Range',
        `bytes 100-${size - 1}/${size}`,
        'Content-Length',
        String(size - 100),
      ],
      body: body(),
    };
  });
  const target = `${origin.origin}/c`;
  await lab.get(target, ['Range', 'bytes=0-99']);
  version = 2;
  const reply = await lab.get(target);
  expect(reply.status).toBe(200);
  expect(reply.text === 'y'.repeat(size)).toBe(true);
  await eventually(() => cut);
});

it.each([
  ['a 304 for something else', 'max-age=1'],
  ['a part that cannot be combined', 'max-age=60'],
])(
  'when the second try after %s fails, the client hears of it',
  { timeout: 10_000 },
  async (what, control) => {
    await using origin = await startOrigin();
    await using lab = await startProxy();
    const part = what.startsWith('a part');
    const size = 200_000;
    const fields = ['Cache-Control', `${control}, must-revalidate`];
    origin.on('/s', (_request, count) => {
      if (count > 2) return { raw: (socket) => socket.destroy() };
      if (!part)
        return count === 1
          ? { headers: [...fields, 'ETag', '"1"'], body: 'x' }
          : { status: 304, headers: ['ETag', '"9"'] };
      const [from, to] = count === 1 ? [0, 100] : [100, size];
      return {
        status: 206,
        headers: [...fields, 'ETag', `"${count}"`, 'Content-Range', `bytes ${from}-${to - 1}/${size}`],
        body: 'x'.repeat(to - from),
      };
    });
    const target = `${origin.origin}/s`;
    await lab.get(target, part ? ['Range', 'bytes=0-99'] : []);
    lab.advance(5000);
    const reply = await lab.get(target);
    expect(reply.status).toBe(502);
    expect(origin.count('/s')).toBeGreaterThan(2);
    expect(lab.proxy.activity).toMatchObject({ fetches: 0, flights: 0 });
  },
);

describe.each(['memory', 'disk'])('an old part that goes while the rest is fetched, store: %s', (kind) => {
  it.each([
    ['after', 'bytes=100000-299999'],
    ['before', 'bytes=0-199999'],
  ])('it comes %s the new bytes: the client gets all', async (_where, range) => {
    await using origin = await startOrigin();
    await using lab = await startProxy({ store: await openStore(kind) });
    const whole = Buffer.from(Array.from({ length: 300_000 }, (_, i) => (i * 31 + (i >> 8)) & 255));
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    origin.on('/c', (request, count) => {
      const fields = ['Cache-Control', 'max-age=60', 'ETag', '"1"'];
      const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(request.header('range') ?? '') ?? [];
      if (first === undefined) return { headers: fields, body: whole };
      const from = Number(first);
      const to = last === '' ? whole.length : Number(last) + 1;
      async function* body() {
        yield whole.subarray(from, from + 20_000);
        if (count > 1) await held;
        yield whole.subarray(from + 20_000, to);
      }
      const length = [
        'Content-Range',
        `bytes ${from}-${to - 1}/${whole.length}`,
        'Content-Length',
        String(to - from),
      ];
      return { status: 206, headers: [...fields, ...length], body: body() };
    });
    const target = `${origin.origin}/c`;
    await lab.get(target, ['Range', range]);
    const part = await eventually(async () => (await lab.store.find(target))[0]);
    expect(part.range).not.toBeNull();
    let begun = false;
    const getting = lab.get(target, [], { onHead: () => (begun = true) });
    await eventually(() => begun && origin.count('/c') === 2);
    // Evicted, for others want the room.
    await lab.store.remove(part);
    release();
    expect((await getting).body.equals(whole)).toBe(true);
  });
});

it('a fetch that was refused by the way it came does not fail those who come by another', async () => {
  await using origin = await startOrigin();
  await using lab = await startProxy({
    upstreams: [{ prefix: '/x/', origin: new URL(`http://localhost:${origin.port}/`) }],
    addresses: new AddressGuard({
      allowPrivate: false,
      allow: [],
      deny: [],
      resolve: (_host, _options, callback) =>
        setTimeout(() => callback(null, [{ address: '127.0.0.1', family: 4 }]), 200),
    }),
  });
  origin.on('/page', { headers: ['Cache-Control', 'max-age=60'], body: 'page' });
  const refused = lab.get(`http://localhost:${origin.port}/page`);
  await eventually(() => lab.proxy.activity.flights === 1);
  const allowed = await lab.get('/x/page');
  expect((await refused).status).toBe(403);
  expect(allowed.status).toBe(200);
});
