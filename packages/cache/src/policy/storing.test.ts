import { describe, expect, it } from 'vitest';
import { fieldValue } from './fields.ts';
import { HEURISTIC, IMMUTABLE, IMPERSONAL, NEVER_STALE, NO_CACHE } from './freshness.ts';
import { formatHttpDate } from './http-date.ts';
import { DEFAULT_POLICY } from './policy-options.ts';
import { expectedBodyLength, toStore, withBody } from './storing.ts';

const now = Date.UTC(2025, 0, 1);
const at = (seconds: number) => formatHttpDate(now + seconds * 1000);
const key = 'http://a/b';

/** The part of a response that is stored at `now`; fields as pairs in a row. */
function stored(
  headers: string[],
  { status = 200, method = 'GET', request = [] as string[], delayMs = 0, options = DEFAULT_POLICY } = {},
) {
  const times = { requestTime: now - delayMs, responseTime: now };
  return toStore({ method, key, headers: request }, { status, statusText: 'X', headers }, times, options);
}

const lifetime = (...headers: string[]) => (stored(headers)?.lifetimeMs ?? 0) / 1000;
const fresh = ['Cache-Control', 'max-age=60'];

describe('what may be stored (RFC 9111, 3)', () => {
  it.each<[string, string[]]>([
    ['max-age', ['Cache-Control', 'max-age=60']],
    ['s-maxage', ['Cache-Control', 's-maxage=60']],
    ['Expires', ['Expires', at(60)]],
    ['a validator and a status for guessing', ['Last-Modified', at(-60)]],
    ['no-cache with a tag', ['Cache-Control', 'no-cache', 'ETag', '"a"']],
    ['stale, but to be validated', ['Expires', at(-60), 'ETag', '"a"']],
    ['private="x": the rest (5.2.2.7)', ['Cache-Control', 'private="x", max-age=60']],
    ['no-store and must-understand (5.2.2.3)', ['Cache-Control', 'no-store, must-understand, max-age=60']],
    ['Set-Cookie with explicit freshness (7.3)', [...fresh, 'Set-Cookie', 'a=b']],
  ])('stores: %s', (_, headers) => {
    expect(stored(headers)).not.toBeNull();
  });

  it.each<[string, string[]]>([
    ['no-store', ['Cache-Control', 'max-age=60, no-store', 'Expires', at(60)]],
    ['private', ['Cache-Control', 'private, max-age=60']],
    ['Vary: *', [...fresh, 'Vary', '*']],
    ['private of a targeted field', ['CDN-Cache-Control', 'private', 'Cache-Control', 'max-age=60']],
    ['nothing said, nothing to ask with', []],
    ['never fresh, nothing to ask with', ['Cache-Control', 'max-age=0']],
    ['no-cache, nothing to ask with', ['Cache-Control', 'no-cache']],
  ])('does not store: %s', (_, headers) => {
    expect(stored(headers)).toBeNull();
  });

  it('does not store what a request with no-store brought (5.2.1.5)', () => {
    expect(stored(fresh, { request: ['cache-control', 'no-store'] })).toBeNull();
  });

  it.each(['HEAD', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'get', 'QUERY'])('does not store %s', (method) => {
    expect(stored(fresh, { method })).toBeNull();
  });

  it('does not store a GET with content', () => {
    expect(stored(fresh, { request: ['Content-Length', '5'] })).toBeNull();
    expect(stored(fresh, { request: ['transfer-encoding', 'chunked'] })).toBeNull();
    expect(stored(fresh, { request: ['Content-Length', '0'] })).not.toBeNull();
  });

  it('stores a POST that is what GET would give (RFC 9110, 9.3.3)', () => {
    const post = (headers: string[], status = 200) =>
      stored(headers, { method: 'POST', status, request: ['Content-Length', '5'] });
    expect(post([...fresh, 'Content-Location', '/b'])).toMatchObject({ key });
    expect(post([...fresh, 'Content-Location', 'http://A:80/b'])).not.toBeNull();
    expect(post(fresh)).toBeNull();
    expect(post([...fresh, 'Content-Location', '/c'])).toBeNull();
    expect(post([...fresh, 'Content-Location', 'http://b/b'])).toBeNull();
    expect(post([...fresh, 'Content-Location', '/b'], 201)).toBeNull();
    expect(post(['Last-Modified', at(-6000), 'Content-Location', '/b'])).toBeNull();
  });

  it.each<[string, boolean]>([
    ['max-age=60', false],
    ['max-age=60, proxy-revalidate', false],
    ['max-age=60, public', true],
    ['max-age=60, must-revalidate', true],
    ['s-maxage=60', true],
  ])('with Authorization and %s: %s (3.5)', (value, allowed) => {
    const result = stored(['Cache-Control', value], { request: ['Authorization', 'x'] });
    expect(result !== null).toBe(allowed);
  });

  it.each([
    200, 203, 204, 299, 300, 301, 302, 303, 307, 308, 403, 404, 410, 451, 499, 500, 502, 503, 504, 599,
  ])('stores %i with explicit freshness', (status) => {
    expect(stored(fresh, { status })).toMatchObject({ status });
  });

  it.each([100, 101, 103, 304, 400, 401, 407, 412, 413, 414, 416, 417, 421, 428, 429, 431, 511, 600, 999, 0])(
    'never stores %i',
    (status) => {
      expect(stored([...fresh, 'ETag', '"a"'], { status })).toBeNull();
    },
  );

  it.each([200, 203, 204, 300, 301, 308, 404, 405, 410, 501])('guesses for %i (RFC 9110, 15.1)', (status) => {
    expect(stored(['Last-Modified', at(-1000)], { status })).toMatchObject({
      lifetimeMs: 100_000,
      flags: HEURISTIC | IMPERSONAL,
    });
  });

  it.each([201, 202, 302, 303, 307, 403, 500, 502, 503, 504, 599])(
    'does not guess for %i, unless public',
    (status) => {
      expect(stored(['Last-Modified', at(-1000)], { status })).toBeNull();
      expect(stored(['Last-Modified', at(-1000), 'Cache-Control', 'public'], { status })).toMatchObject({
        lifetimeMs: 100_000,
      });
    },
  );

  it('does not store a status it does not understand with must-understand', () => {
    expect(stored(['Cache-Control', 'max-age=60, must-understand'], { status: 599 })).toBeNull();
    expect(stored(['Cache-Control', 'max-age=60, no-store, must-understand'], { status: 599 })).toBeNull();
    expect(stored(['Cache-Control', 'max-age=60, must-understand'], { status: 404 })).not.toBeNull();
  });
});

describe('lifetimes (RFC 9111, 4.2.1, 4.2.2)', () => {
  it.each<[number, string[]]>([
    [60, ['Cache-Control', 'max-age=60', 'Expires', at(-60)]],
    [60, ['Cache-Control', 'max-age=60', 'Expires', '0']],
    [0, ['Cache-Control', 'max-age=0', 'Expires', at(60)]],
    [5, ['Cache-Control', 'max-age=60, s-maxage=5']],
    [60, ['Cache-Control', 's-maxage=60, max-age=0', 'Expires', at(-10)]],
    [60, ['Expires', at(60), 'Date', at(0)]],
    [60, ['Expires', at(160), 'Date', at(100)]],
    [60, ['Expires', at(60)]],
    [10, ['Expires', at(10), 'Date', 'foo']],
    [0, ['Expires', at(300), 'Date', at(400)]],
    [0, ['Expires', at(0), 'Date', at(0)]],
    [60, ['Expires', at(60), 'Expires', at(60)]],
    [0, ['Expires', at(60), 'Expires', at(61)]],
    [0, ['Expires', '0', 'Last-Modified', at(-1000)]],
    [0, ['Cache-Control', 'max-age=x', 'Last-Modified', at(-1000)]],
    [0, ['Cache-Control', 'max-age=1, max-age=2', 'Expires', at(60)]],
    [2 ** 31, ['Cache-Control', 'max-age=99999999999']],
    // Guesses: a tenth, at most a day.
    [100, ['Last-Modified', at(-1000)]],
    [86_400, ['Last-Modified', at(-100 * 86_400)]],
    [0, ['Last-Modified', at(5)]],
    [0, ['Last-Modified', 'yesterday']],
    [0, ['Last-Modified', at(-1000), 'Pragma', 'no-cache']],
    [0, ['Last-Modified', at(-1000), 'Set-Cookie', 'a=b']],
    [60, ['Cache-Control', 'max-age=60', 'Pragma', 'no-cache']],
    // RFC 9213
    [60, ['CDN-Cache-Control', 'max-age=60', 'Cache-Control', 'no-store', 'Expires', at(-1)]],
    [1, ['CDN-Cache-Control', 'max-age=1', 'Cache-Control', 'max-age=60']],
    [0, ['CDN-Cache-Control', 'foo', 'Cache-Control', 'max-age=60', 'ETag', '"a"']],
    [0, ['CDN-Cache-Control', 'foo', 'Expires', at(60), 'ETag', '"a"']],
  ])('%d seconds: %j', (seconds, headers) => {
    expect(lifetime(...headers)).toBe(seconds);
  });

  it('sets flags and windows', () => {
    const flags = (value: string) => stored(['Cache-Control', value, 'ETag', '"a"'])?.flags;
    expect(flags('max-age=1')).toBe(IMPERSONAL);
    expect(flags('no-cache')).toBe(NO_CACHE | IMPERSONAL);
    expect(flags('max-age=1, must-revalidate')).toBe(NEVER_STALE | IMPERSONAL);
    expect(flags('max-age=1, proxy-revalidate')).toBe(NEVER_STALE | IMPERSONAL);
    expect(flags('s-maxage=1')).toBe(NEVER_STALE | IMPERSONAL);
    expect(flags('max-age=1, immutable')).toBe(IMMUTABLE | IMPERSONAL);
    expect(stored(['Cache-Control', 'max-age=1, stale-while-revalidate=2, stale-if-error=3'])).toMatchObject({
      staleWhileRevalidateMs: 2000,
      staleIfErrorMs: 3000,
    });
    expect(stored(['Cache-Control', 'max-age=1, stale-while-revalidate=x'])).toMatchObject({
      staleWhileRevalidateMs: 0,
    });
  });
});

describe('ages (RFC 9111, 4.2.3, 5.1)', () => {
  it.each<[number, string[], number]>([
    [0, [], 0],
    [0, ['Date', at(0)], 0],
    [7200, ['Date', at(-7200)], 0],
    [0, ['Date', at(100)], 0],
    [0, ['Date', 'foo'], 0],
    [30, ['Date', at(0), 'Age', '30'], 0],
    [30, ['Date', at(-10), 'Age', '30'], 0],
    [40, ['Date', at(-40), 'Age', '30'], 0],
    [32, ['Date', at(0), 'Age', '30'], 2000],
    [2, ['Date', at(0)], 2000],
    [7200, ['Age', '7200, 0'], 0],
    [0, ['Age', '0, 7200'], 0],
    [7200, ['Age', '7200', 'Age', '0'], 0],
    [0, ['Age', '0', 'Age', '7200'], 0],
    [0, ['Age', 'abc'], 0],
    [0, ['Age', '-7200'], 0],
    [0, ['Age', '7200.0'], 0],
    [0, ['Age', '7200;foo=bar'], 0],
    [0, ['Age', ''], 0],
    [2147483647, ['Age', '2147483647'], 0],
    [2 ** 31, ['Age', '2147483648'], 0],
    [2 ** 31, ['Age', '9'.repeat(400)], 0],
  ])('%d seconds: %.60j, after %d ms', (seconds, headers, delayMs) => {
    expect(stored([...fresh, ...headers], { delayMs })!.initialAgeMs).toBe(seconds * 1000);
  });

  it('does not count the fraction of a second that Date cannot say', () => {
    const times = { requestTime: now + 990, responseTime: now + 999 };
    const response = { status: 200, statusText: '', headers: [...fresh, 'Date', at(0)] };
    expect(toStore({ method: 'GET', key, headers: [] }, response, times, DEFAULT_POLICY)!.initialAgeMs).toBe(
      9,
    );
  });
});

describe('what is kept (RFC 9111, 3.1)', () => {
  it('is end-to-end, without Age, and with Date', () => {
    const headers = ['Connection', 'x-a', 'X-A', '1', 'Keep-Alive', '5', 'Age', '3', 'X-B', '2', ...fresh];
    expect(stored(headers)!.headers).toEqual(['X-B', '2', ...fresh, 'Date', at(0)]);
    expect(fieldValue(stored([...fresh, 'Date', 'foo'])!.headers, 'date')).toBe(at(0));
    expect(fieldValue(stored([...fresh, 'Date', at(-1)])!.headers, 'date')).toBe(at(-1));
  });

  it('is not what no-cache="…" and private="…" name', () => {
    const headers = [
      'Cache-Control',
      'no-cache="x-a", private="ETag", max-age=60',
      'X-A',
      '1',
      'X-B',
      '2',
      'ETag',
      '"e"',
    ];
    const result = stored(headers)!;
    expect(fieldValue(result.headers, 'x-a')).toBeUndefined();
    expect(fieldValue(result.headers, 'x-b')).toBe('2');
    expect(result).toMatchObject({ etag: null, flags: IMPERSONAL });
  });

  it('survives JSON', () => {
    const result = withBody(stored([...fresh, 'Vary', 'a', 'ETag', '"x"', 'Last-Modified', at(-5)])!, 7);
    expect(JSON.parse(JSON.stringify(result))).toEqual(result);
    expect(result).toMatchObject({
      varied: [['a', null]],
      etag: '"x"',
      lastModified: now - 5000,
      bodyLength: 7,
    });
  });

  it('has a body of a length that can be', () => {
    for (const length of [-1, 0.5, Number.NaN, 2 ** 53]) {
      expect(() => withBody(stored(fresh)!, length)).toThrow(/expected a length of 0 or more bytes, got/);
    }
  });
});

describe('parts (RFC 9111, 3.3)', () => {
  const part = (headers: string[], request = ['Range', 'bytes=0-4']) =>
    stored([...fresh, ...headers], { status: 206, request });

  it('are stored if they say which', () => {
    expect(part(['Content-Range', 'bytes 0-4/10', 'Content-Length', '5'])).toMatchObject({
      range: { start: 0, total: 10 },
      bodyLength: -1,
    });
    expect(part(['Content-Range', 'bytes 0-4/10'])).not.toBeNull();
  });

  it.each<[string, string[]]>([
    ['no Content-Range', ['Content-Type', 'multipart/byteranges; boundary=x']],
    ['unknown length', ['Content-Range', 'bytes 0-4/*']],
    ['another length', ['Content-Range', 'bytes 4-9/10', 'Content-Length', '5']],
    ['behind the end', ['Content-Range', 'bytes 0-10/10']],
  ])('are not stored: %s', (_, headers) => {
    expect(part(headers)).toBeNull();
  });

  it('are not stored if no request asked for one', () => {
    expect(part(['Content-Range', 'bytes 0-4/10'], [])).toBeNull();
  });

  it.each<[number | null, number, string[]]>([
    [null, 200, []],
    [5, 200, ['Content-Length', '5']],
    [5, 200, ['Content-Length', '5, 5']],
    [-1, 200, ['Content-Length', '5', 'Content-Length', '6']],
    [-1, 200, ['Content-Length', 'x']],
    [-1, 200, ['Content-Length', '-1']],
    [5, 200, ['Content-Length', '5', 'Content-Range', 'bytes 0-1/2']],
    [2, 206, ['Content-Range', 'bytes 0-1/2']],
    [-1, 206, ['Content-Range', 'bytes 0-1/2', 'Content-Length', '3']],
  ])('expects %s bytes of a %i with %j', (length, status, headers) => {
    expect(expectedBodyLength({ status, headers })).toBe(length);
  });
});
