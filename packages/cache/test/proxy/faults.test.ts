/**
 * Origins that lie, stores that fail, clients that do not read: never wrong bytes, never a hang,
 * never a clean end too early.
 */

import type { Socket } from 'node:net';
import { type OriginLab, startOrigin } from '@bloomery/testkit/origins/origin-lab';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { StoredResponse } from '../../src/policy/stored-response.ts';
import { MemoryStore } from '../../src/store/memory/memory-store.ts';
import { BodyError, type BodyReader } from '../../src/store/response-store.ts';
import { eventually, type ProxyLab, rawConnection, startProxy } from './proxy-lab.ts';

let origin: OriginLab;
let lab: ProxyLab;

beforeEach(async () => {
  origin = await startOrigin();
  lab = await startProxy({
    limits: {
      originHeadTimeoutMs: 300,
      originIdleTimeoutMs: 300,
      responseHeadBytes: 4096,
      responseBodyBytes: 100_000_000,
      headerCount: 40,
    },
  });
});

afterEach(async () => {
  await lab.close();
  await origin.close();
});

const stored = () => lab.store.statistics.responses;
const HEAD = 'HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nDate: Mon, 16 Nov 2026 00:00:00 GMT\r\n';

describe('an origin that fails before its head is complete', () => {
  const says = (text: string, then: (socket: Socket) => void = (socket) => socket.end()) =>
    origin.on('/a', {
      raw: (socket) => {
        socket.write(text, () => then(socket));
      },
    });

  it.each([
    ['closes without a word', '', 502, 'connection_terminated'],
    ['closes within the head', 'HTTP/1.1 200 OK\r\nCache-', 502, 'http_response_incomplete'],
    ['speaks something else', 'SSH-2.0-OpenSSH_9.6\r\n', 502, 'http_protocol_error'],
    ['has a field without a name', `${HEAD}: x\r\n\r\n`, 502, 'http_protocol_error'],
    [
      'has two lengths',
      `${HEAD}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`,
      502,
      'http_protocol_error',
    ],
    [
      'has a length and chunks',
      `${HEAD}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      502,
      'http_protocol_error',
    ],
    [
      'has an endless head',
      `${HEAD}${'X-Long: 0123456789\r\n'.repeat(1000)}`,
      502,
      'http_response_header_section_size',
    ],
    ['has too many fields', `${HEAD}${'A: 1\r\n'.repeat(50)}\r\n`, 502, 'http_response_header_section_size'],
    [
      'switches protocols unasked',
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n',
      502,
      'http_protocol_error',
    ],
  ])('%s', async (_, text, status, code) => {
    says(text);
    const reply = await lab.get(origin.url('/a'));
    expect([reply.status, reply.header('proxy-status')]).toEqual([status, `bloomery; error=${code}`]);
    expect(reply.text).toMatch(/^http:\/\/127\.0\.0\.1:\d+: .+\n$/);
    expect(stored()).toBe(0);
    expect(lab.proxy.activity.fetches).toBe(0);
  });

  it('says nothing', async () => {
    says('', () => {});
    const reply = await lab.get(origin.url('/a'));
    expect([reply.status, reply.text]).toEqual([504, `${origin.origin}: no response within 300 ms\n`]);
    await eventually(() => origin.open === 0);
  });

  it('sends its head byte by byte', async () => {
    says('', (socket) => {
      const drip = setInterval(() => socket.write('H'), 20);
      socket.on('close', () => clearInterval(drip));
    });
    expect((await lab.get(origin.url('/a'))).status).toBeGreaterThanOrEqual(502);
  });

  it('has no address, or does not listen', async () => {
    const nowhere = await lab.get('http://no-such-name.invalid/');
    expect([nowhere.status, nowhere.header('proxy-status')]).toEqual([502, 'bloomery; error=dns_error']);
    const closed = await startOrigin();
    await closed.close();
    expect((await lab.get(closed.url('/a'))).status).toBe(502);
  });
});

describe('an origin that fails within the body', () => {
  it.each([
    ['is shorter than its length', `${HEAD}Content-Length: 10\r\n\r\nabc`, false],
    ['breaks off its chunks', `${HEAD}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n`, false],
    ['has a bad chunk', `${HEAD}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzzz\r\n`, false],
    ['is not stored and shorter', 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc', false],
    ['is reset without a length', `${HEAD}\r\nabc`, true],
  ])('%s: the client is cut off, nothing is stored', async (_, text, reset) => {
    origin.on('/a', {
      raw: (socket) => {
        socket.write(text, () => setTimeout(() => (reset ? socket.resetAndDestroy() : socket.end()), 50));
      },
    });
    const raw = await rawConnection(lab.port);
    raw.socket.write(`GET ${origin.url('/a')} HTTP/1.1\r\nHost: x\r\n\r\n`);
    const received = await raw.ended();
    // Either nothing was sent yet and the client is told, or the answer has no proper end.
    if (received.startsWith('HTTP/1.1 200')) {
      expect(received).not.toMatch(/\r\n0\r\n\r\n$/);
      expect(received.split('\r\n\r\n')[1]!.length).toBeLessThan(10 + 8);
    } else {
      expect(received).toMatch(/^HTTP\/1\.1 502 /);
    }
    expect(stored()).toBe(0);
    raw.socket.destroy();
    expect((await eventually(() => lab.records[0])).reason).toMatch(/^http_|aborted/);
    // The next one asks again.
    origin.on('/a', { headers: ['Cache-Control', 'max-age=60'], body: 'whole' });
    expect((await lab.get(origin.url('/a'))).text).toBe('whole');
  });

  it('a body that ends with the connection is complete, and stored', async () => {
    origin.on('/a', { raw: (socket) => socket.end(`${HEAD.replace(/Date.*\r\n/, '')}\r\nabc`) });
    expect((await lab.get(origin.url('/a'))).text).toBe('abc');
    expect(stored()).toBe(1);
  });

  it('bytes behind the length are not part of it', async () => {
    origin.on('/a', { raw: (socket) => socket.end(`${HEAD}Content-Length: 3\r\n\r\nabcdef`) });
    const reply = await lab.get(origin.url('/a'));
    expect(reply.text).toBe('abc');
    origin.on('/b', { headers: ['Cache-Control', 'max-age=60'], body: 'other' });
    expect((await lab.get(origin.url('/b'))).text).toBe('other');
  });

  it('stops in the middle', async () => {
    origin.on('/a', { raw: (socket) => socket.write(`${HEAD}Content-Length: 10\r\n\r\nabc`) });
    await expect(lab.get(origin.url('/a'))).rejects.toThrow();
    expect(stored()).toBe(0);
    expect((await eventually(() => lab.records[0])).aborted).toBe(true);
  });

  it('is longer than any body may be', async () => {
    await lab.close();
    lab = await startProxy({ limits: { responseBodyBytes: 10_000, storedObjectBytes: 5000 } });
    origin.on('/told', { headers: ['Cache-Control', 'max-age=60'], body: Buffer.alloc(20_000) });
    expect(await lab.get(origin.url('/told'))).toMatchObject({
      status: 502,
      text: expect.stringContaining('a body of more than 10000 bytes'),
    });
    origin.on('/untold', { headers: ['Cache-Control', 'max-age=60'], body: endless() });
    await expect(lab.get(origin.url('/untold'))).rejects.toThrow();
    expect(stored()).toBe(0);
    await eventually(() => lab.proxy.activity.fetches === 0);
  });

  it('is longer than what is stored: it streams through, its length told or not', async () => {
    await lab.close();
    lab = await startProxy({ limits: { storedObjectBytes: 5000 } });
    const body = Buffer.from(Array.from({ length: 300_000 }, (_, at) => at & 255));
    origin.on('/told', { headers: ['Cache-Control', 'max-age=60'], body });
    origin.on('/untold', () => ({ headers: ['Cache-Control', 'max-age=60'], body: split(body, 1000) }));
    for (const path of ['/told', '/untold']) {
      const replies = await Promise.all([1, 2, 3].map(() => lab.get(origin.url(path))));
      for (const reply of replies) expect(reply.body.equals(body)).toBe(true);
    }
    expect(stored()).toBe(0);
  });
});

/** A store whose bodies are not in memory and can be made to fail at a byte. */
class FragileStore extends MemoryStore {
  failAt = Number.POSITIVE_INFINITY;
  code: BodyError['code'] = 'corrupt';
  reads = 0;

  override bodyInMemory(): undefined {
    return undefined;
  }

  override read(response: StoredResponse, start = 0, end = Number.POSITIVE_INFINITY): BodyReader {
    this.reads++;
    const body = super.bodyInMemory(response);
    if (body === undefined) return super.read(response, start, end);
    const inner = body.subarray(start, Math.min(end, body.length));
    let at = 0;
    return {
      next: async () => {
        if (start + at >= this.failAt) throw new BodyError(this.code, 'The checksum of a block is wrong');
        if (at >= inner.length) return null;
        const size = Math.min(1000, inner.length - at, this.failAt - start - at);
        at += size;
        return inner.subarray(at - size, at);
      },
      close() {},
    };
  }
}

describe('a store that fails', () => {
  const body = Buffer.from(Array.from({ length: 50_000 }, (_, at) => (at * 7) & 255));
  let store: FragileStore;

  beforeEach(async () => {
    await lab.close();
    store = new FragileStore({ capacityBytes: 10_000_000 });
    lab = await startProxy({ store });
  });

  const script = (etag: string) =>
    origin.on('/a', (request) => {
      const range = /^bytes=(\d+)-(\d+)$/.exec(request.header('range') ?? '');
      const headers = ['Cache-Control', 'max-age=60', 'ETag', etag];
      if (range === null || request.header('if-range') !== etag) return { headers, body };
      const [start, end] = [Number(range[1]), Number(range[2]) + 1];
      headers.push('Content-Range', `bytes ${start}-${end - 1}/${body.length}`);
      return { status: 206, headers, body: body.subarray(start, end) };
    });

  it('before the first byte: the object is fetched again, unseen', async () => {
    script('"1"');
    await lab.get(origin.url('/a'));
    store.failAt = 0;
    const reply = await lab.get(origin.url('/a'));
    expect(reply.body.equals(body)).toBe(true);
    expect(origin.count('/a')).toBe(2);
    store.failAt = Number.POSITIVE_INFINITY;
    expect((await lab.get(origin.url('/a'))).body.equals(body)).toBe(true);
    expect(origin.count('/a')).toBe(2);
    expect(lab.events.map(({ name }) => name)).toEqual(['stored-body-failed']);
  });

  it('in the middle: the rest comes from the origin, if its tag is the same', async () => {
    script('"1"');
    await lab.get(origin.url('/a'));
    store.failAt = 7500;
    const reply = await lab.get(origin.url('/a'));
    expect(reply.body.equals(body)).toBe(true);
    expect(origin.requests[1]!.header('range')).toBe('bytes=7500-49999');
    expect(stored()).toBe(0);
  });

  it('in the middle of a range', async () => {
    script('"1"');
    await lab.get(origin.url('/a'));
    store.failAt = 7500;
    const reply = await lab.get(origin.url('/a'), ['Range', 'bytes=5000-19999']);
    expect([reply.status, reply.body.equals(body.subarray(5000, 20_000))]).toEqual([206, true]);
    expect(origin.requests[1]!.header('range')).toBe('bytes=7500-19999');
  });

  it.each([
    ['another version', '"1"', '"2"'],
    ['no strong tag', 'W/"1"', 'W/"1"'],
  ])('in the middle, and the origin has %s: the client is cut off', async (_, before, after) => {
    script(before);
    await lab.get(origin.url('/a'));
    store.failAt = 7500;
    script(after);
    const raw = await rawConnection(lab.port);
    raw.socket.write(`GET ${origin.url('/a')} HTTP/1.1\r\nHost: x\r\n\r\n`);
    const received = await raw.ended();
    const content = /\r\n\r\n([\s\S]*)/.exec(received)?.[1] ?? '';
    expect(content.length).toBeLessThan(body.length);
    expect(body.toString('latin1').startsWith(content)).toBe(true);
    raw.socket.destroy();
  });

  it('in the middle, and the origin ignores If-Range: bytes of another version are not taken', async () => {
    script('"1"');
    await lab.get(origin.url('/a'));
    store.failAt = 7500;
    origin.on('/a', {
      status: 206,
      headers: ['ETag', '"2"', 'Content-Range', `bytes 7500-${body.length - 1}/${body.length}`],
      body: Buffer.alloc(body.length - 7500, '!'),
    });
    await expect(lab.get(origin.url('/a'))).rejects.toThrow();
    expect(origin.count('/a')).toBe(2);
  });

  it('of which a stale response is gone when it should stand in', async () => {
    script('"1"');
    await lab.get(origin.url('/a'));
    store.failAt = 0;
    store.code = 'gone';
    lab.advance(61_000);
    origin.on('/a', { raw: (socket) => socket.destroy() });
    expect((await lab.get(origin.url('/a'))).status).toBe(502);
  });

  it('that cannot be asked is one that has nothing', async () => {
    script('"1"');
    store.find = () => Promise.reject(new Error('disk')) as unknown as readonly StoredResponse[];
    expect((await lab.get(origin.url('/a'))).body.equals(body)).toBe(true);
    expect(lab.events[0]).toMatchObject({ level: 'error', name: 'store-failed' });
  });
});

describe('a client that does not read', () => {
  it.each([
    ['stored', 'max-age=60'],
    ['not stored', 'no-store'],
  ])('is cut off: %s', async (_, control) => {
    await lab.close();
    const store = new MemoryStore({ capacityBytes: 200_000_000, maxBodyBytes: 100_000_000 });
    lab = await startProxy({ store, limits: { clientStallMs: 200 } });
    origin.on('/a', { headers: ['Cache-Control', control], body: Buffer.alloc(30_000_000) });
    const raw = await rawConnection(lab.port);
    raw.socket.pause();
    raw.socket.write(`GET ${origin.url('/a')} HTTP/1.1\r\nHost: x\r\n\r\n`);
    const record = await eventually(() => lab.records[0]);
    expect(record.aborted).toBe(true);
    expect(record.durationMs).toBeGreaterThan(190);
    await eventually(() => lab.proxy.activity.fetches === 0);
    raw.socket.destroy();
  });
});

async function* endless(): AsyncIterable<Uint8Array> {
  for (;;) yield Buffer.alloc(1000);
}

async function* split(body: Buffer, size: number): AsyncIterable<Uint8Array> {
  for (let at = 0; at < body.length; at += size) yield body.subarray(at, at + size);
}
