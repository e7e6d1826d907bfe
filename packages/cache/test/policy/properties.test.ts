/**
 * Properties of every request and response, tried on many made at random (a fixed seed), and on
 * values made to hurt.
 */

import { cpuMs } from '@bloomery/testkit/cpu-time';
import { describe, expect, it } from 'vitest';
import { listMembers } from '../../src/policy/fields.ts';
import { NEVER_STALE, NO_CACHE } from '../../src/policy/freshness.ts';
import { parseHttpDate } from '../../src/policy/http-date.ts';
import {
  answerFrom,
  cacheKey,
  currentAge,
  DEFAULT_POLICY,
  decide,
  fieldValue,
  formatHttpDate,
  freshen,
  hitStatus,
  isFresh,
  keysToInvalidate,
  parseCacheControl,
  type RequestHead,
  requestFieldsToForward,
  secondsLeft,
  toStore,
  validationFields,
  variedBy,
  withBody,
} from '../../src/policy/index.ts';
import { requestedRanges } from '../../src/policy/ranges.ts';
import type { StoredResponse } from '../../src/policy/stored-response.ts';
import { parseDictionary } from '../../src/policy/structured-dictionary.ts';

const now = Date.UTC(2025, 0, 1);
const key = 'http://a/b';
const options = DEFAULT_POLICY;

/** A linear congruential generator: the same run each time. */
function generator(seed: number) {
  let state = seed;
  const below = (limit: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
  const one = <T>(list: readonly T[]): T => list[below(list.length)]!;
  const some = <T>(list: readonly T[], most: number): T[] =>
    Array.from({ length: below(most + 1) }, () => one(list));
  return { below, one, some };
}

const seconds = ['0', '1', '60', '3600', '2147483648', '99999999999999999999', '-1', 'x', '', '"60"', '1.5'];
const dates = [-1e6, -3600, -60, 0, 60, 3600].map((s) => formatHttpDate(now + s * 1000)).concat('0', 'foo');
const flags = [
  ...['no-cache', 'private', 'public', 'must-revalidate', 'proxy-revalidate', 'immutable', 'foo="a, b"'],
  ...['no-cache="x-a"', 'private="x-a"', 'NO-CACHE', 'must-understand=', '"', 'x=\\', 'no-transform'],
];
const timed = ['max-age', 's-maxage', 'stale-while-revalidate', 'stale-if-error', 'Max-Age'];
const asked = [
  'no-cache',
  'max-age=0',
  'max-age=60',
  'max-stale',
  'max-stale=60',
  'min-fresh=60',
  'only-if-cached',
  'foo',
];
const tags = ['"a"', 'W/"a"', '"b"', 'a', '*', '', '"a", "b"'];
const ranges = [
  'bytes=0-4',
  'bytes=-3',
  'bytes=5-',
  'bytes=50-',
  'bytes=0-1,4-5',
  'bytes=9-0',
  'x',
  'bytes=0-0,1-1,8-',
];

type Random = ReturnType<typeof generator>;

function directives({ one, some }: Random): string {
  return [...some(flags, 3), ...some(timed, 2).map((name) => `${name}=${one(seconds)}`)].join(', ');
}

function randomResponse(random: Random) {
  const { below, one } = random;
  const headers = ['X-A', '1', 'Content-Type', 'text/plain'];
  if (below(4) > 0) headers.push('Cache-Control', directives(random));
  if (below(6) === 0) headers.push('CDN-Cache-Control', directives(random));
  if (below(3) > 0) headers.push('Date', one(dates));
  if (below(3) === 0) headers.push('Expires', one(dates));
  if (below(3) === 0) headers.push('Last-Modified', one(dates));
  if (below(2) === 0) headers.push('ETag', one(tags));
  if (below(4) === 0) headers.push('Age', one(seconds));
  if (below(4) === 0) headers.push('Vary', one(['Foo', '*', 'Accept-Encoding, Foo', '', 'a b']));
  const part = below(4) === 0;
  if (part)
    headers.push('Content-Range', one(['bytes 0-4/10', 'bytes 5-9/10', 'bytes 2-6/10', 'bytes 0-4/*']));
  const status = part ? 206 : one([200, 200, 200, 204, 301, 404, 500, 503, 599, 304, 416]);
  return { status, statusText: 'X', headers };
}

function randomRequest({ below, one, some }: Random): RequestHead {
  const headers = ['Host', 'a', 'Accept-Encoding', one(['gzip, br', 'br,gzip', 'identity'])];
  if (below(3) === 0) headers.push('Cache-Control', some(asked, 2).join(', '));
  if (below(4) === 0) headers.push('If-None-Match', one(tags));
  if (below(4) === 0) headers.push('If-Modified-Since', one(dates));
  if (below(2) === 0) headers.push('Range', one(ranges));
  if (below(4) === 0) headers.push('If-Range', one([...tags, ...dates]));
  if (below(4) === 0) headers.push('Foo', one(['1', '2']));
  if (below(8) === 0) headers.push('Authorization', 'x');
  if (below(20) === 0) headers.push('If-Match', '"a"');
  return { method: one(['GET', 'GET', 'GET', 'HEAD', 'POST']), key, headers };
}

function* randomStored(random: Random, rounds: number): IterableIterator<StoredResponse> {
  for (let i = 0; i < rounds; i++) {
    const responseTime = now + random.below(2000);
    const times = { requestTime: responseTime - random.below(5000), responseTime };
    const stored = toStore(
      { ...randomRequest(random), method: 'GET' },
      randomResponse(random),
      times,
      options,
    );
    if (stored !== null) yield withBody(stored, stored.range === null ? 10 : 5);
  }
}

describe('properties', () => {
  it('never stores what says no-store or private', () => {
    const random = generator(1);
    for (let i = 0; i < 1000; i++) {
      const response = randomResponse(random);
      const word = random.one(['no-store', 'No-Store', 'private', 'PRIVATE']);
      const headers = response.headers.slice();
      const values = fieldValue(headers, 'cache-control')?.replace(/"/g, '');
      const all = random.below(2) ? `${word}, ${values ?? ''}` : `${values ?? ''}, ${word}`;
      const plain = headers.filter((_, at) => !/cache-control/i.test(headers[at - (at % 2)]!));
      const request = { ...randomRequest(random), method: 'GET' };
      const times = { requestTime: now, responseTime: now };
      expect(
        toStore(request, { ...response, headers: [...plain, 'cache-control', all] }, times, options),
      ).toBeNull();
    }
  });

  it('has ages and lifetimes that are finite, not negative, and survive JSON', () => {
    let count = 0;
    for (const stored of randomStored(generator(2), 800)) {
      count++;
      for (const value of [
        stored.initialAgeMs,
        stored.lifetimeMs,
        stored.staleWhileRevalidateMs,
        stored.staleIfErrorMs,
      ]) {
        expect(Number.isFinite(value) && value >= 0).toBe(true);
      }
      for (const later of [-1e12, -1, 0, 1, 1e12]) {
        expect(currentAge(stored, now + later)).toBeGreaterThanOrEqual(0);
        expect(Number.isSafeInteger(secondsLeft(stored, now + later))).toBe(true);
      }
      expect(JSON.parse(JSON.stringify(stored))).toEqual(stored);
    }
    expect(count).toBeGreaterThan(200);
  });

  it('serves only what may be served, and always has an answer for it', () => {
    const random = generator(3);
    const seen = new Map<string, number>();
    for (const stored of randomStored(random, 2500)) {
      const request = randomRequest(random);
      const time = now + random.one([0, 1000, 30_000, 61_000, 4_000_000]);
      const made = decide(request, [stored], time, options);
      seen.set(made.kind, (seen.get(made.kind) ?? 0) + 1);
      if (made.kind !== 'serve') continue;
      expect(['GET', 'HEAD']).toContain(request.method);
      expect(made.stale).toBe(!isFresh(stored, time));
      expect(stored.flags & NO_CACHE).toBe(0);
      if (made.stale) expect(stored.flags & NEVER_STALE).toBe(0);
      if (made.background) expect(made.stale).toBe(true);
      const context = { stale: made.stale, status: hitStatus('c', stored, time) };
      const answer = answerFrom(request, stored, time, context, options);
      expect(answer).not.toBeNull();
      const { body, headers } = answer!;
      const length = fieldValue(headers, 'content-length');
      if (body.kind === 'part') {
        expect(body.start >= 0 && body.start < body.end && body.end <= stored.bodyLength).toBe(true);
        expect(length).toBe(String(body.end - body.start));
      } else if (body.kind === 'parts') {
        const bytes = body.parts.reduce(
          (sum, part) => sum + part.head.length + part.end - part.start,
          body.tail.length,
        );
        expect([length, bytes]).toEqual([String(bytes), body.contentLength]);
      } else if (body.kind === 'all') {
        expect(length).toBe('10');
      }
      expect(Number(fieldValue(headers, 'age'))).toBeGreaterThanOrEqual(0);
      // A store that kept it as JSON decides the same.
      expect(decide(request, [JSON.parse(JSON.stringify(stored))], time, options)).toEqual(made);
    }
    for (const kind of ['serve', 'validate', 'fetch', 'not-cached'])
      expect(seen.get(kind), kind).toBeGreaterThan(10);
  });

  it('validates with what is stored, and is never younger than the answer', () => {
    const random = generator(4);
    for (const stored of randomStored(random, 800)) {
      const request = { ...randomRequest(random), method: 'GET' };
      const fields = validationFields(request, stored);
      expect(fieldValue(fields, 'if-none-match')).toBe(stored.etag ?? undefined);
      expect(fieldValue(fields, 'if-match')).toBeUndefined();
      const times = { requestTime: now + 1e6, responseTime: now + 1e6 };
      const response = { ...randomResponse(random), status: 304 };
      const fresh = freshen(stored, request, response, times, options);
      if (fresh === null) continue;
      expect(fresh).toMatchObject({
        key,
        status: stored.status,
        bodyLength: stored.bodyLength,
        range: stored.range,
      });
      expect(fresh.initialAgeMs).toBeGreaterThanOrEqual(0);
      expect(fieldValue(fresh.headers, 'content-range')).toBe(fieldValue(stored.headers, 'content-range'));
    }
  });
});

describe('values made to hurt', () => {
  const length = 1 << 17;
  const fill = (pattern: string) => pattern.repeat(Math.ceil(length / pattern.length));
  const patterns = [
    'a,',
    '"',
    'a="',
    'a="b',
    '\\"',
    'no-cache="a,',
    ' ',
    ', ',
    '=',
    'a=1;',
    'max-age=1,',
    '\\',
    '0',
    'W/"a",',
    'a;q=',
    '-',
    '\0',
  ];

  it.each(patterns)('128 KB of %j takes linear time', async (pattern) => {
    const value = fill(pattern);
    const took = await cpuMs(() => {
      parseCacheControl(value);
      parseDictionary(value);
      listMembers(value);
      variedBy(['Vary', value], ['a', value]);
      variedBy(['Vary', 'Accept-Encoding, Foo'], ['Accept-Encoding', value, 'Foo', value]);
      parseHttpDate(value, now);
      requestedRanges(`bytes=${value}`, 10);
      cacheKey('http', value, value);
      requestFieldsToForward(['Connection', value, 'Via', value], options);
      keysToInvalidate(
        { method: 'POST', key, headers: [] },
        { status: 200, statusText: '', headers: ['Location', 'x'] },
      );
    });
    // Quadratic time would be 17 billion steps; linear time is some milliseconds.
    expect(took).toBeLessThan(5000);
  });

  it('no value of any field throws', () => {
    const random = generator(5);
    const names = [
      ...[
        'Cache-Control',
        'CDN-Cache-Control',
        'Expires',
        'Date',
        'Age',
        'Last-Modified',
        'ETag',
        'Vary',
        'Pragma',
      ],
      ...[
        'Content-Range',
        'Content-Length',
        'Connection',
        'Content-Location',
        'Location',
        'Range',
        'If-Range',
      ],
      ...['If-None-Match', 'If-Modified-Since', 'Accept-Encoding', 'Via', ''],
    ];
    const characters = 'aZ09=,;"\\/*-: \t\0\x7fé€-bytes';
    const noise = () =>
      Array.from({ length: random.below(12) }, () => characters[random.below(characters.length)]).join('');
    const fields = () => Array.from({ length: random.below(8) }, () => [random.one(names), noise()]).flat();
    for (let i = 0; i < 1500; i++) {
      const request = { method: random.one(['GET', 'POST', 'HEAD']), key, headers: fields() };
      const response = {
        status: random.one([200, 206, 304, 404]),
        statusText: '',
        headers: [...fields(), 'Cache-Control', 'max-age=60'],
      };
      const times = { requestTime: now, responseTime: now };
      keysToInvalidate(request, response);
      requestFieldsToForward(request.headers, options);
      const stored = toStore(request, response, times, options);
      if (stored === null) continue;
      const whole = withBody(stored, 5);
      const other = { method: 'GET', key, headers: fields() };
      decide(other, [whole], now, options);
      answerFrom(other, whole, now, { stale: false, status: '' }, options);
      freshen(whole, other, { status: 304, statusText: '', headers: fields() }, times, options);
    }
  });
});
