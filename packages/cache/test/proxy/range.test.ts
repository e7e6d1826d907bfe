/** Ranges: from what is complete, from parts, and by completing a part. */

import { type OriginLab, startOrigin } from '@bloomery/testkit/origins/origin-lab';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MemoryStore } from '../../src/store/memory/memory-store.ts';
import { type ProxyLab, startProxy } from './proxy-lab.ts';

let origin: OriginLab;
let lab: ProxyLab;
const body = '0123456789abcdefghij';

beforeEach(async () => {
  origin = await startOrigin();
  lab = await startProxy();
  origin.on('/a', (request) => ranged(request.header('range'), request.header('if-range')));
});

afterEach(async () => {
  await lab.close();
  await origin.close();
});

/** A store whose place is used up at some piece of a body, as a disk's is. */
function fillingUp(full: (chunks: number) => boolean): MemoryStore {
  const store = new MemoryStore({ capacityBytes: 64 * 1024 * 1024 });
  const create = store.create.bind(store);
  store.create = (key, expected) => {
    const writer = create(key, expected);
    const write = writer.write.bind(writer);
    let chunks = 0;
    writer.write = (chunk) => {
      if (full(++chunks)) throw new Error('No space left');
      return write(chunk);
    };
    return writer;
  };
  return store;
}

let tag = '"1"';

function ranged(range: string | undefined, ifRange: string | undefined) {
  const headers = ['Cache-Control', 'max-age=60', 'ETag', tag, 'Content-Type', 'text/plain'];
  const parts = /^bytes=(\d+)-(\d*)$/.exec(range ?? '');
  if (parts === null || (ifRange !== undefined && ifRange !== tag)) return { headers, body };
  const start = Number(parts[1]);
  const end = parts[2] === '' ? body.length : Number(parts[2]) + 1;
  headers.push('Content-Range', `bytes ${start}-${end - 1}/${body.length}`);
  return { status: 206, headers, body: body.slice(start, end) };
}

describe('ranges', () => {
  it('come from a complete response', async () => {
    await lab.get(origin.url('/a'));
    const one = await lab.get(origin.url('/a'), ['Range', 'bytes=5-9']);
    expect([one.status, one.text, one.header('content-range')]).toEqual([206, '56789', 'bytes 5-9/20']);
    const last = await lab.get(origin.url('/a'), ['Range', 'bytes=-3']);
    expect(last.text).toBe('hij');
    const none = await lab.get(origin.url('/a'), ['Range', 'bytes=30-40']);
    expect([none.status, none.header('content-range')]).toEqual([416, 'bytes */20']);
    const changed = await lab.get(origin.url('/a'), ['Range', 'bytes=5-9', 'If-Range', '"0"']);
    expect([changed.status, changed.text]).toEqual([200, body]);
    expect(origin.count('/a')).toBe(1);
  });

  it('come several at once', async () => {
    await lab.get(origin.url('/a'));
    const reply = await lab.get(origin.url('/a'), ['Range', 'bytes=0-1, 8-9, 18-']);
    expect(reply.status).toBe(206);
    const boundary = /^multipart\/byteranges; boundary=(.+)$/.exec(reply.header('content-type')!)![1]!;
    const parts = reply.text.split(`--${boundary}`);
    expect(parts.length).toBe(5);
    expect(parts.slice(1, 4).map((part) => part.trim().split('\r\n\r\n')[1])).toEqual(['01', '89', 'ij']);
    expect(Number(reply.header('content-length'))).toBe(reply.body.length);
    expect(origin.count('/a')).toBe(1);
  });

  it.each([
    ['that cannot be stored', (chunks: number) => chunks > 1],
    ['that can', () => false],
  ])('come several at once from a body on its way %s', async (_what, full) => {
    await lab.close();
    lab = await startProxy({ store: fillingUp(full) });
    const size = 3_000_000;
    const whole = Buffer.alloc(size, 'x');
    for (const at of [0, 1_500_000, 2_999_998]) whole.write('ab', at);
    // It does not know ranges.
    origin.on('/large', {
      headers: ['Cache-Control', 'max-age=60', 'Content-Length', String(size)],
      body: whole,
    });
    const range = 'bytes=0-99999, 1500000-1500001, 2999998-2999999';
    const reply = await lab.get(origin.url('/large'), ['Range', range]);
    const boundary = /^multipart\/byteranges; boundary=(.+)$/.exec(reply.header('content-type')!)![1]!;
    const parts = reply.text.split(`--${boundary}`).map((part) => part.trim().split('\r\n\r\n')[1]);
    expect(parts.slice(1, 4)).toEqual([`ab${'x'.repeat(99_998)}`, 'ab', 'ab']);
    expect(origin.count('/large')).toBe(1);
  });

  it('are fetched as they are, stored, and serve smaller ones', async () => {
    const part = await lab.get(origin.url('/a'), ['Range', 'bytes=5-14']);
    expect([part.status, part.text]).toEqual([206, '56789abcde']);
    const smaller = await lab.get(origin.url('/a'), ['Range', 'bytes=6-8']);
    expect([smaller.status, smaller.text, smaller.header('content-range')]).toEqual([
      206,
      '678',
      'bytes 6-8/20',
    ]);
    expect(origin.count('/a')).toBe(1);
    const outside = await lab.get(origin.url('/a'), ['Range', 'bytes=0-8']);
    expect([outside.status, outside.text]).toEqual([206, '012345678']);
    expect(origin.count('/a')).toBe(2);
  });

  it.each([
    ['bytes=0-7', 'bytes=8-'],
    ['bytes=12-', 'bytes=0-11'],
  ])('a part (%s) is completed by the rest (%s) when all is wanted', async (first, rest) => {
    await lab.get(origin.url('/a'), ['Range', first]);
    const whole = await lab.get(origin.url('/a'));
    expect([whole.status, whole.text, whole.header('content-length')]).toEqual([200, body, '20']);
    expect(origin.requests[1]!.header('range')).toBe(rest);
    const again = await lab.get(origin.url('/a'));
    expect([again.status, again.text, again.header('content-range')]).toEqual([200, body, undefined]);
    expect(origin.count('/a')).toBe(2);
  });

  it('a part that is evicted while the rest is fetched: the whole is fetched, and no warning is logged', async () => {
    await lab.get(origin.url('/a'), ['Range', 'bytes=0-7']);
    origin.on('/a', async (request, count) => {
      if (count === 2) await lab.store.removeKey(origin.url('/a'));
      return ranged(request.header('range'), request.header('if-range'));
    });
    const whole = await lab.get(origin.url('/a'));
    expect([whole.status, whole.text, origin.count('/a')]).toEqual([200, body, 3]);
    const failed = lab.events.filter(({ name }) => name === 'stored-body-failed');
    expect(failed.map(({ level, fields }) => [level, fields.code])).toEqual([['debug', 'gone']]);
  });

  it('a useless answer that breaks off is no failure: the whole is fetched', async () => {
    await lab.get(origin.url('/a'), ['Range', 'bytes=0-7']);
    origin.on('/a', (request, count) =>
      count === 2
        ? { raw: (socket) => socket.end('HTTP/1.1 416 No\r\nContent-Length: 10\r\n\r\nshort') }
        : ranged(request.header('range'), request.header('if-range')),
    );
    const whole = await lab.get(origin.url('/a'));
    expect([whole.status, whole.text, origin.count('/a')]).toEqual([200, body, 3]);
  });

  it('a part of another version is replaced by all of the new one', async () => {
    await lab.get(origin.url('/a'), ['Range', 'bytes=0-7']);
    tag = '"2"';
    try {
      const whole = await lab.get(origin.url('/a'));
      expect([whole.status, whole.text, whole.header('etag')]).toEqual([200, body, '"2"']);
      expect((await lab.get(origin.url('/a'))).header('etag')).toBe('"2"');
      expect(origin.count('/a')).toBe(2);
    } finally {
      tag = '"1"';
    }
  });

  it('a part that came past the store does not take the place of the whole', async () => {
    await lab.get(origin.url('/a'));
    const past = await lab.get(origin.url('/a'), ['If-Match', '"1"', 'Range', 'bytes=0-1']);
    expect([past.status, past.text]).toEqual([206, '01']);
    expect(origin.count('/a')).toBe(2);
    expect((await lab.get(origin.url('/a'))).text).toBe(body);
    expect(origin.count('/a')).toBe(2);
  });

  it('a part that is not the one asked for goes to the client as it is', async () => {
    origin.on('/b', {
      status: 206,
      headers: ['Cache-Control', 'max-age=60', 'ETag', '"1"', 'Content-Range', 'bytes 10-11/20'],
      body: 'ab',
    });
    const reply = await lab.get(origin.url('/b'), ['Range', 'bytes=0-1']);
    expect([reply.status, reply.text, reply.header('content-range')]).toEqual([206, 'ab', 'bytes 10-11/20']);
  });
});
