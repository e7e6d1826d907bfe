import { describe, expect, test } from 'vitest';
import {
  askFields,
  fieldsThatCount,
  isAskable,
  isSelectedBySentFields,
  keyOfTarget,
  type ObjectAsk,
  readAsk,
} from './object-request.ts';

const stored: ObjectAsk = { kind: 'stored', waitMs: 0, rest: null };

describe('askFields', () => {
  test('sends fields that select a variant, and none that is private or unknown', () => {
    const secrets = [
      ...['Authorization', 'Bearer secret', 'Cookie', 'sid=secret', 'Proxy-Authorization', 'Basic secret'],
      ...[
        'X-Api-Key',
        'secret',
        'Referer',
        'http://a/?secret',
        'From',
        'secret',
        'X-Forwarded-For',
        'secret',
      ],
      ...['Cache-Control', 'max-age=5, x="secret"', 'Via', '1.1 secret', 'If-None-Match', '"secret"'],
    ];
    const fields = askFields(['Accept-Encoding', 'gzip', ...secrets, 'Accept-Language', 'de'], stored);
    expect(fields.join()).not.toContain('secret');
    expect(fields).toEqual([
      ...['Accept-Encoding', 'gzip', 'Accept-Language', 'de'],
      ...['Cache-Control', 'max-age=5', 'Bloomery-Ask', 'stored'],
    ]);
  });

  test('sends the limits on age and freshness; an unreadable one is the strictest', () => {
    const wishes = (value: string) => askFields(['Cache-Control', value], stored)[1];
    expect(wishes('min-fresh=3')).toBe('min-fresh=3');
    expect(wishes('max-age=x')).toBe('max-age=0');
    expect(wishes('max-stale')).toBe('stored');
  });
});

describe('readAsk', () => {
  test('reads every question that askFields writes', () => {
    const asks: ObjectAsk[] = [
      stored,
      { kind: 'coming', waitMs: 180, rest: null },
      { kind: 'stored', waitMs: 0, rest: { start: 1000, etag: '"v1"' } },
      { kind: 'coming', waitMs: 0, rest: { start: 0, etag: '"\u00e9"' } },
    ];
    for (const ask of asks) expect(readAsk(askFields(['Accept', '*/*'], ask))).toEqual(ask);
  });

  test('ignores parameters of later versions, and bounds the wait', () => {
    expect(readAsk(['Bloomery-Ask', 'coming; wait=7; hops=2'])).toMatchObject({ kind: 'coming', waitMs: 7 });
    expect(readAsk(['Bloomery-Ask', 'coming; wait=999999999'])).toMatchObject({ waitMs: 60_000 });
  });

  test('refuses what it cannot read', () => {
    const ask = ['Bloomery-Ask', 'stored'];
    const wrong = [
      [],
      ['Bloomery-Ask', 'fetch'],
      ['Bloomery-Ask', 'stored, coming'],
      [...ask, ...ask],
      [...ask, 'Range', 'bytes=5-'],
      [...ask, 'Range', 'bytes=5-', 'If-Range', 'W/"v1"'],
      [...ask, 'Range', 'bytes=5-', 'If-Range', '"a" "b"'],
      [...ask, 'Range', 'bytes=5-9', 'If-Range', '"v1"'],
      [...ask, 'Range', 'bytes=5-,7-', 'If-Range', '"v1"'],
      [...ask, 'Range', 'bytes=5-', 'Range', 'bytes=6-', 'If-Range', '"v1"'],
      [...ask, 'Range', 'bytes=5-', 'If-Range', '"v1"', 'If-Range', '"v2"'],
    ];
    for (const headers of wrong) expect([headers, readAsk(headers)]).toEqual([headers, null]);
  });

  test('reads mutated questions without an error, and never more than they say', () => {
    const text = 'coming; wait=180';
    for (let at = 0; at < text.length; at++) {
      for (let char = 0x20; char < 0x7f; char++) {
        const mutated = text.slice(0, at) + String.fromCharCode(char) + text.slice(at + 1);
        const ask = readAsk(['Bloomery-Ask', mutated]);
        if (ask === null) continue;
        expect(ask.kind).toBe('coming');
        expect(ask.waitMs).toBeLessThanOrEqual(60_000);
      }
    }
  });
});

describe('keyOfTarget', () => {
  test('accepts a key in its normal form only', () => {
    for (const key of ['http://a/', 'https://a:8443/b?c=d', 'http://[::1]:80/x'.replace(':80', '')])
      expect(keyOfTarget(key)).toBe(key);
    const wrong = [
      ...['/a', 'http://A/', 'http://a', 'http://a:80/', 'ftp://a/', 'http://u@a/', 'http://a/#b', '*', ''],
    ];
    for (const target of wrong) expect([target, keyOfTarget(target)]).toEqual([target, null]);
  });
});

describe('isAskable', () => {
  test('is true for plain GETs for the whole, whatever credentials they have', () => {
    const get = (...headers: string[]) => isAskable({ method: 'GET', headers });
    expect(get('Accept', '*/*')).toBe(true);
    expect(get('Authorization', 'x', 'Cookie', 'y')).toBe(true);
    expect(get('Cache-Control', 'max-age=3')).toBe(true);
    expect(get('Range', 'bytes=0-1')).toBe(false);
    expect(get('If-None-Match', '"a"')).toBe(false);
    expect(get('If-Modified-Since', 'x')).toBe(false);
    expect(get('If-Match', '"a"')).toBe(false);
    expect(get('Cache-Control', 'no-cache')).toBe(false);
    expect(get('Cache-Control', 'no-store')).toBe(false);
    expect(get('Content-Length', '4')).toBe(false);
    expect(isAskable({ method: 'HEAD', headers: [] })).toBe(false);
    expect(isAskable({ method: 'POST', headers: [] })).toBe(false);
  });
});

describe('isSelectedBySentFields', () => {
  test('is false if the response varies by a field of the request that stayed here', () => {
    const selected = (vary: string, ...headers: string[]) => isSelectedBySentFields(['Vary', vary], headers);
    expect(isSelectedBySentFields([], ['Cookie', 'a'])).toBe(true);
    expect(selected('Accept-Encoding', 'Accept-Encoding', 'gzip')).toBe(true);
    expect(selected('Cookie', 'Accept', '*/*')).toBe(true);
    expect(selected('Cookie', 'Cookie', 'a')).toBe(false);
    expect(selected('Accept, X-Tenant', 'X-Tenant', '7')).toBe(false);
    expect(selected('*')).toBe(false);
  });
});

describe('fieldsThatCount', () => {
  test('keeps fields that select and those of the protocol, and drops what a neighbour adds', () => {
    const asked = askFields(['Accept', 'a'], { kind: 'stored', waitMs: 0, rest: { start: 1, etag: '"e"' } });
    const sent = ['Host', 'x', ...asked, 'Cookie', 'c', 'X-Tenant', '7'];
    expect(fieldsThatCount(sent)).toEqual(fieldsThatCount(asked));
    expect(fieldsThatCount(asked)).toHaveLength(8);
  });
});
