import { describe, expect, it } from 'vitest';
import { type FreshnessRule, matchesUrl } from './freshness-rules.ts';
import { formatHttpDate } from './http-date.ts';
import { DEFAULT_POLICY } from './policy-options.ts';
import { toStore } from './storing.ts';

const now = Date.UTC(2025, 0, 1);
const DAY = 86_400_000;
const key = 'http://mirror.example/pool/a.deb';
const DAILY: FreshnessRule = { pattern: '*.deb', minMs: DAY, fraction: null, maxMs: DAY };
const SQUID: FreshnessRule = { pattern: '*.deb', minMs: DAY, fraction: 0.2, maxMs: 30 * DAY };

/** The lifetime in days, or null if the response is not stored. */
function days(
  headers: string[],
  rules = [DAILY],
  { status = 200, request = [] as string[], url = key } = {},
): number | null {
  const stored = toStore(
    { method: 'GET', key: url, headers: request },
    { status, statusText: '', headers: ['Date', formatHttpDate(now), ...headers] },
    { requestTime: now, responseTime: now },
    { ...DEFAULT_POLICY, rules },
  );
  return stored === null ? null : stored.lifetimeMs / DAY;
}

describe('matchesUrl', () => {
  it.each<readonly [string, string, boolean]>([
    ['*.deb', key, true],
    ['*.deb', `${key}?token=1`, true],
    ['*.deb?*', `${key}?token=1`, true],
    ['*.deb', `${key}.asc`, false],
    ['*', key, true],
    ['/pool/*', key, true],
    ['/pool/*', 'http://mirror.example/other/pool/a', false],
    ['/pool/a.deb', key, true],
    ['/*', 'http://mirror.example/', true],
    ['mirror.example/*', key, true],
    ['*.example/*', key, true],
    ['example/*', key, false],
    ['http://mirror.example/*', key, true],
    ['https://mirror.example/*', key, false],
    ['*/pool/*.deb', key, true],
    ['*/pool/*/b/*.deb', key, false],
    ['*a*a*', 'http://a/', false],
    ['*.d.b', key, false],
  ])('%s and %s: %s', (pattern, url, expected) => {
    expect(matchesUrl(pattern, url)).toBe(expected);
  });
});

describe('a rule', () => {
  it('makes a response fresh whose origin says nothing', () => {
    expect(days([], [])).toBeNull();
    expect(days([])).toBe(1);
    expect(days(['ETag', '"a"'])).toBe(1);
    expect(days([], [DAILY], { url: 'http://mirror.example/InRelease' })).toBeNull();
  });

  it.each<readonly [string, string[], number]>([
    ['a tenth of a day ago', ['Last-Modified', formatHttpDate(now - DAY / 10)], 1],
    ['100 days ago', ['Last-Modified', formatHttpDate(now - 100 * DAY)], 20],
    ['a year ago', ['Last-Modified', formatHttpDate(now - 365 * DAY)], 30],
    ['tomorrow', ['Last-Modified', formatHttpDate(now + DAY)], 1],
    ['never', [], 1],
  ])('with percent and max, modified %s', (_name, headers, expected) => {
    expect(days(headers, [SQUID])).toBe(expected);
  });

  it('that matches first counts, and one of 0 forbids to guess', () => {
    const never = { ...DAILY, minMs: 0, maxMs: 0 };
    const modified = ['Last-Modified', formatHttpDate(now - 10 * DAY)];
    expect(days(modified, [])).toBe(1);
    expect(days(modified, [never, DAILY])).toBe(0);
  });

  it.each<readonly [string, string[], number | null]>([
    ['max-age', ['Cache-Control', 'max-age=60'], 60_000 / DAY],
    ['max-age=0 with a validator', ['Cache-Control', 'max-age=0', 'ETag', '"a"'], 0],
    ['Expires in the past', ['Expires', '0', 'ETag', '"a"'], 0],
    ['no-cache', ['Cache-Control', 'no-cache', 'ETag', '"a"'], 0],
    ['Pragma: no-cache', ['Pragma', 'no-cache', 'ETag', '"a"'], 0],
    ['no-store', ['Cache-Control', 'no-store'], null],
    ['private', ['Cache-Control', 'private'], null],
    ['Set-Cookie', ['Set-Cookie', 'a=1'], null],
  ])('never overrules %s', (_name, headers, expected) => {
    expect(days(headers)).toBe(expected);
  });

  it('is not for requests with Authorization, even if the response may be shared', () => {
    const request = ['Authorization', 'Basic eA=='];
    expect(days([], [DAILY], { request })).toBeNull();
    expect(days(['Cache-Control', 'public', 'ETag', '"a"'], [DAILY], { request })).toBe(0);
  });

  it.each([404, 410, 500, 503])('is not for %i', (status) => {
    expect(days(['ETag', '"a"'], [DAILY], { status }) ?? 0).toBe(0);
  });
});
