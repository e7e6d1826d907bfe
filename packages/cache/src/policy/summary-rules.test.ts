import { describe, expect, test } from 'vitest';
import {
  combine,
  DEFAULT_POLICY,
  freshen,
  type RequestHead,
  type ResponseHead,
  type SummaryOptions,
  shareableUntil,
  toStore,
  withBody,
} from './index.ts';
import { hasSecretQuery } from './secret-queries.ts';
import type { StoredResponse } from './stored-response.ts';

const NOW = Date.UTC(2026, 0, 1);
const TIMES = { requestTime: NOW, responseTime: NOW };
const NOTHING_SHARED = { share: [] };

interface Told {
  readonly key?: string;
  readonly asked?: string[];
  readonly status?: number;
  readonly control?: string;
  readonly more?: string[];
}

function stored(told: Told = {}): StoredResponse {
  const { key = 'http://a.example/b', asked = [], status = 200, control = 'max-age=60', more = [] } = told;
  const request: RequestHead = { method: 'GET', key, headers: asked };
  const headers = ['Cache-Control', control, 'ETag', '"1"', 'Content-Length', '10', ...more];
  const response: ResponseHead = { status, statusText: '', headers };
  const result = toStore(request, response, TIMES, DEFAULT_POLICY);
  if (result === null) throw new Error('Cannot test: expected a response that is stored');
  return withBody(result, 10);
}

const until = (told: Told, options: SummaryOptions = NOTHING_SHARED) => shareableUntil(stored(told), options);

describe('shareableUntil', () => {
  test('is the time at which the response becomes stale', () => {
    expect(until({})).toBe(NOW + 60_000);
    expect(until({ more: ['Age', '20'] })).toBe(NOW + 40_000);
    expect(until({ status: 301 })).toBe(NOW + 60_000);
    expect(until({ more: ['Vary', 'Accept-Encoding'], asked: ['Accept-Encoding', 'gzip'] })).toBe(
      NOW + 60_000,
    );
  });

  const never: [string, Told][] = [
    ['stale on arrival', { control: 'max-age=0' }],
    ['older than its lifetime', { more: ['Age', '60'] }],
    ['to be validated each time', { control: 'no-cache, max-age=60' }],
    ['asked for with credentials', { asked: ['Authorization', 'Basic x'], control: 'public, max-age=60' }],
    ['asked for with a cookie', { asked: ['Cookie', 'a=b'], control: 'public, max-age=60' }],
    ['with a cookie of its own', { more: ['Set-Cookie', 'a=b'] }],
    ['varying by cookies', { more: ['Vary', 'Cookie'] }],
    ['varying by credentials', { more: ['Vary', 'accept, authorization'] }],
    ['not found', { status: 404 }],
    ['with a secret in its query', { key: 'http://a.example/b?x=1&access_token=s' }],
    ['a part', { status: 206, asked: ['Range', 'bytes=0-9'], more: ['Content-Range', 'bytes 0-9/20'] }],
  ];
  test.each(never)('is null for a response that is %s', (_what, told) => {
    expect(until(told)).toBeNull();
  });

  test('is null for a response of a version that did not note the request', () => {
    expect(shareableUntil({ ...stored(), flags: 0 }, NOTHING_SHARED)).toBeNull();
  });

  test('lets secrets pass below a prefix that the operator shares, and nothing else', () => {
    const options = { share: ['http://a.example/signed/'] };
    expect(until({ key: 'http://a.example/signed/b?sig=1' }, options)).toBe(NOW + 60_000);
    expect(until({ key: 'http://a.example/b?sig=1' }, options)).toBeNull();
    expect(until({ key: 'https://a.example/signed/b?sig=1' }, options)).toBeNull();
    const asked = ['Authorization', 'Basic x'];
    expect(
      until({ key: 'http://a.example/signed/b', asked, control: 'public, max-age=60' }, options),
    ).toBeNull();
  });

  test('stays after a validation by a client without credentials, and ends after one with them', () => {
    const response: ResponseHead = {
      status: 304,
      statusText: '',
      headers: ['Cache-Control', 'public, max-age=60'],
    };
    const validated = (before: StoredResponse, headers: string[]) => {
      const request: RequestHead = { method: 'GET', key: before.key, headers };
      return freshen(before, request, response, TIMES, DEFAULT_POLICY)!;
    };
    const fresh = validated(stored(), []);
    expect(shareableUntil(fresh, NOTHING_SHARED)).toBe(NOW + 60_000);
    expect(shareableUntil(validated(fresh, ['Cookie', 'a=b']), NOTHING_SHARED)).toBeNull();
    const personal = stored({ asked: ['Cookie', 'a=b'], control: 'public, max-age=60' });
    expect(shareableUntil(validated(personal, []), NOTHING_SHARED)).toBeNull();
  });

  test('needs both parts of a combined response to be for all clients', () => {
    const part = (start: number, asked: string[] = []) =>
      stored({
        status: 206,
        asked: ['Range', `bytes=${start}-${start + 9}`, ...asked],
        control: 'public, max-age=60',
        more: ['Content-Range', `bytes ${start}-${start + 9}/20`],
      });
    const whole = (old: StoredResponse, fresh: StoredResponse) =>
      combine(old, fresh, { method: 'GET', key: old.key, headers: [] }, DEFAULT_POLICY)!.response;
    expect(shareableUntil(whole(part(0), part(10)), NOTHING_SHARED)).toBe(NOW + 60_000);
    expect(shareableUntil(whole(part(0, ['Cookie', 'a=b']), part(10)), NOTHING_SHARED)).toBeNull();
    expect(shareableUntil(whole(part(0), part(10, ['Cookie', 'a=b'])), NOTHING_SHARED)).toBeNull();
  });
});

describe('hasSecretQuery', () => {
  test.each([
    'token=1',
    'a=1&access_token=2',
    'a=1;accessToken=2',
    'X-Amz-Credential=a&X-Amz-Expires=60',
    'x-goog-signature=1',
    'sv=2020&se=x&sr=b&sig=1',
    'Expires=1&Signature=2&Key-Pair-Id=3',
    'md5=1&expires=2',
    'key=1',
    'api_key=1',
    'apikey=1',
    'auth%5Btoken%5D=1',
    'to%6Ben=1',
    'PHPSESSID=1',
    'password',
    'hdnts=exp=1~hmac=2',
    'q=eyJhbGciOiJIUzI1NiJ9.e30.x',
    'code=1&state=2',
  ])('finds a secret in %s', (query) => {
    expect(hasSecretQuery(`http://a.example/?${query}`)).toBe(true);
  });

  test.each([
    '',
    'v=5d41402abc4b2a76b9719d911017c592',
    'q=token',
    'author=x',
    'keyword=a',
    'design=1',
    'page=2&sort=key',
    'monkey=1',
    '%zz=1',
    '1700000000',
  ])('finds none in %s', (query) => {
    expect(hasSecretQuery(`http://a.example/token/?${query}`)).toBe(false);
  });

  test('takes no longer for a long query than its length', () => {
    expect(hasSecretQuery(`http://a.example/?${'a'.repeat(100_000)}&${'x=&'.repeat(30_000)}token`)).toBe(
      true,
    );
  });
});
