import { describe, expect, it } from 'vitest';
import { fieldValue, fieldValues } from './fields.ts';
import { isFresh, mayKeep, NO_CACHE } from './freshness.ts';
import { formatHttpDate } from './http-date.ts';
import { DEFAULT_POLICY } from './policy-options.ts';
import type { StoredResponse } from './stored-response.ts';
import { toStore, withBody } from './storing.ts';
import { freshen, freshenByHead, validationFields } from './validation.ts';

const now = Date.UTC(2025, 0, 1);
const later = now + 100_000;
const key = 'http://a/b';
const at = (seconds: number) => formatHttpDate(now + seconds * 1000);

function stored(headers: string[], request: string[] = []): StoredResponse {
  const result = toStore(
    { method: 'GET', key, headers: request },
    { status: 200, statusText: 'OK', headers: ['Date', at(0), 'Cache-Control', 'max-age=60', ...headers] },
    { requestTime: now, responseTime: now },
    DEFAULT_POLICY,
  );
  return withBody(result!, 10);
}

const times = { requestTime: later, responseTime: later };
const validated = (old: StoredResponse, headers: string[], request: string[] = []) =>
  freshen(
    old,
    { method: 'GET', key, headers: request },
    { status: 304, statusText: '', headers },
    times,
    DEFAULT_POLICY,
  );

describe('the request (RFC 9111, 4.3.1)', () => {
  const request = {
    method: 'GET',
    key,
    headers: [
      'If-None-Match',
      '"mine"',
      'Range',
      'bytes=0-1',
      'If-Range',
      '"x"',
      'Abc',
      '1',
      'If-Modified-Since',
      'y',
    ],
  };

  it('has the stored validators in place of the client’s conditions', () => {
    expect(validationFields(request, stored(['ETag', '"a"', 'Last-Modified', at(-5)]))).toEqual([
      ...['Abc', '1', 'If-None-Match', '"a"', 'If-Modified-Since', at(-5)],
    ]);
    expect(validationFields(request, stored(['ETag', 'W/"a"']))).toEqual([
      'Abc',
      '1',
      'If-None-Match',
      'W/"a"',
    ]);
    expect(validationFields(request, stored([]))).toEqual(['Abc', '1']);
  });

  it('keeps the range if only a part is stored', () => {
    const part = { ...stored(['ETag', '"a"']), range: { start: 0, total: 20 } };
    expect(validationFields(request, part)).toEqual([
      'Range',
      'bytes=0-1',
      'Abc',
      '1',
      'If-None-Match',
      '"a"',
    ]);
  });
});

describe('after a 304 (RFC 9111, 4.3.4)', () => {
  it.each<[string[], string[], boolean]>([
    [['ETag', '"a"'], ['ETag', '"a"'], true],
    [['ETag', '"a"'], ['ETag', '"b"'], false],
    [['ETag', '"a"'], ['ETag', 'W/"a"'], true],
    [['ETag', 'W/"a"'], ['ETag', 'W/"a"'], true],
    [['ETag', 'W/"a"'], ['ETag', 'W/"b"'], false],
    [['ETag', 'W/"a"'], ['ETag', '"a"'], true],
    // Many servers leave the validator out; the request named one response, so it is that one.
    [['ETag', '"a"'], [], true],
    [['Last-Modified', at(-5)], [], true],
    [['Last-Modified', at(-5)], ['Last-Modified', at(-5)], true],
    [['Last-Modified', at(-5)], ['Last-Modified', at(-4)], false],
    [['ETag', '"a"', 'Last-Modified', at(-5)], ['Last-Modified', at(-4)], false],
    // A strong tag never seen before: only if a date that is strong says the same.
    [['Last-Modified', at(-5)], ['ETag', '"new"'], false],
    [['Last-Modified', at(-5)], ['ETag', '"new"', 'Last-Modified', at(-5)], false],
    [['Last-Modified', at(-500)], ['ETag', '"new"', 'Last-Modified', at(-500)], true],
  ])('stored %j, answered %j: updated %s', (old, incoming, isUpdated) => {
    expect(validated(stored(old), incoming) !== null).toBe(isUpdated);
  });

  it('is not done by another status', () => {
    const request = { method: 'GET', key, headers: [] };
    const response = { status: 200, statusText: '', headers: [] };
    expect(freshen(stored(['ETag', '"a"']), request, response, times, DEFAULT_POLICY)).toBeNull();
  });

  it('is fresh again, with new and old fields (3.2)', () => {
    const old = stored(['ETag', '"a"', 'X-A', '1', 'X-A', '2', 'X-B', '3', 'Set-Cookie', 'a=b']);
    expect(isFresh(old, later)).toBe(false);
    const fresh = validated(old, [
      'Date',
      at(100),
      'X-A',
      '9',
      'set-cookie',
      'a=c',
      'Cache-Control',
      'max-age=5',
    ])!;
    expect(isFresh(fresh, later)).toBe(true);
    expect(fresh).toMatchObject({
      lifetimeMs: 5000,
      initialAgeMs: 0,
      responseTime: later,
      bodyLength: 10,
      status: 200,
    });
    expect(fieldValues(fresh.headers, 'x-a')).toEqual(['9']);
    expect(fieldValues(fresh.headers, 'x-b')).toEqual(['3']);
    // It was for the one who asked.
    expect(fieldValues(fresh.headers, 'set-cookie')).toEqual(['a=b']);
    expect(fieldValues(fresh.headers, 'etag')).toEqual(['"a"']);
    expect(fieldValues(fresh.headers, 'date')).toEqual([at(100)]);
  });

  it('keeps what describes the bytes that are here', () => {
    const old = stored([
      'ETag',
      '"a"',
      'Content-Length',
      '10',
      'Content-Encoding',
      'gzip',
      'Content-Type',
      'a/b',
    ]);
    const incoming = [
      'Content-Length',
      '0',
      'Content-Encoding',
      'br',
      'Content-Range',
      'x',
      'Content-Type',
      'c/d',
    ];
    const { headers } = validated(old, incoming)!;
    expect(fieldValue(headers, 'content-length')).toBe('10');
    expect(fieldValue(headers, 'content-encoding')).toBe('gzip');
    expect(fieldValue(headers, 'content-range')).toBeUndefined();
    expect(fieldValue(headers, 'content-type')).toBe('c/d');
  });

  it('takes no field that is for one hop', () => {
    const { headers } = validated(stored(['ETag', '"a"']), [
      'Connection',
      'x-c',
      'X-C',
      '1',
      'Keep-Alive',
      '5',
    ])!;
    expect(fieldValue(headers, 'x-c')).toBeUndefined();
    expect(fieldValue(headers, 'keep-alive')).toBeUndefined();
  });

  it('is as old as the 304, and of today if that has no Date', () => {
    expect(validated(stored(['ETag', '"a"']), ['Age', '7'])).toMatchObject({ initialAgeMs: 7000 });
    expect(fieldValue(validated(stored(['ETag', '"a"']), [])!.headers, 'date')).toBe(at(100));
  });

  it('is found by another Vary from now on', () => {
    const old = stored(['ETag', '"a"', 'Vary', 'Foo'], ['Foo', '1']);
    expect(validated(old, [], ['Foo', '1'])!.varied).toEqual([['foo', '1']]);
    expect(validated(old, ['Vary', 'Bar'], ['Foo', '1', 'Bar', '2'])!.varied).toEqual([['bar', '2']]);
    expect(validated(old, ['Vary', '*'], ['Foo', '1'])!.flags & NO_CACHE).toBe(NO_CACHE);
  });

  it.each<[string[], string[], boolean]>([
    [[], [], true],
    [['Cache-Control', 'no-store'], [], false],
    [['Cache-Control', 'private'], [], false],
    [['Cache-Control', 'max-age=5'], ['Authorization', 'x'], false],
    [['Cache-Control', 'max-age=5, public'], ['Authorization', 'x'], true],
  ])('with %j for %j may be kept: %s', (headers, request, keep) => {
    const fresh = validated(stored(['ETag', '"a"']), headers, request)!;
    expect(mayKeep(fresh)).toBe(keep);
    if (!keep) expect(fresh.flags & NO_CACHE).toBe(NO_CACHE);
  });
});

describe('after a HEAD (RFC 9111, 4.3.5)', () => {
  const old = stored(['ETag', '"a"', 'Last-Modified', at(-5), 'X-A', '1', 'Content-Length', '10']);
  const head = (headers: string[], status = 200) =>
    freshenByHead(
      old,
      { method: 'HEAD', key, headers: [] },
      { status, statusText: '', headers },
      times,
      DEFAULT_POLICY,
    );

  it('is updated by a 200 that describes the same', () => {
    for (const headers of [
      ['ETag', '"a"'],
      ['Last-Modified', at(-5), 'Content-Length', '10'],
    ]) {
      const fresh = head([...headers, 'X-A', '2', 'Cache-Control', 'max-age=1000'])!;
      expect(isFresh(fresh, later)).toBe(true);
      expect(fieldValues(fresh.headers, 'x-a')).toEqual(['2']);
    }
  });

  it('must be validated if the HEAD describes something else', () => {
    for (const headers of [
      ['ETag', '"b"'],
      ['Last-Modified', at(-4)],
      ['Content-Length', '11'],
      ['Content-Length', 'x'],
    ]) {
      const result = head([...headers, 'Cache-Control', 'max-age=1000'])!;
      expect(isFresh(result, now)).toBe(false);
      expect(result.flags & NO_CACHE).toBe(NO_CACHE);
      expect(fieldValue(result.headers, 'x-a')).toBe('1');
    }
  });

  it('is as it was after one that does not say which body it is about', () => {
    expect(head(['X-A', '2', 'Cache-Control', 'max-age=1000'])).toBeNull();
  });

  it('is as it was after anything but 200', () => {
    expect(head(['ETag', '"b"'], 410)).toBeNull();
    expect(head(['ETag', '"b"'], 503)).toBeNull();
  });
});
