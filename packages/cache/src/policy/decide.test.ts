import { describe, expect, it } from 'vitest';
import { decide } from './decide.ts';
import { formatHttpDate } from './http-date.ts';
import { DEFAULT_POLICY } from './policy-options.ts';
import type { StoredResponse } from './stored-response.ts';
import { toStore, withBody } from './storing.ts';

const now = Date.UTC(2025, 0, 1);
const key = 'http://a/b';

function stored(headers: string[], request: string[] = [], status = 200, at = now): StoredResponse {
  const result = toStore(
    { method: 'GET', key, headers: request },
    { status, statusText: '', headers: ['Date', formatHttpDate(at), ...headers] },
    { requestTime: at, responseTime: at },
    DEFAULT_POLICY,
  );
  return withBody(result!, 10);
}

const cached = (value: string) => stored(['Cache-Control', value, 'ETag', '"a"']);

/** The decision `seconds` after it was stored, in short. */
function decision(
  response: StoredResponse | StoredResponse[],
  seconds: number,
  request: string[] = [],
  method = 'GET',
) {
  const list = Array.isArray(response) ? response : [response];
  const made = decide({ method, key, headers: request }, list, now + seconds * 1000, DEFAULT_POLICY);
  if (made.kind === 'serve')
    return `serve${made.stale ? ' stale' : ''}${made.background ? ' background' : ''}`;
  if (made.kind === 'fetch') return `fetch ${made.reason}${made.shareable ? ' shareable' : ''}`;
  if (made.kind === 'not-cached') return made.kind;
  return `validate ${made.reason}${made.fallback ? ' fallback' : ''}${made.errorFallback ? ' error' : ''}`;
}

describe('after a purge that this node missed', () => {
  it('validates what was stored before, never serves it stale, and serves what came later', () => {
    const response = cached('max-age=60, stale-while-revalidate=600, stale-if-error=600');
    const at = (validAfter: number, headers: string[] = []) =>
      decide({ method: 'GET', key, headers }, [response], now, {
        ...DEFAULT_POLICY,
        validAfter: () => validAfter,
      });
    expect(at(now).kind).toBe('serve');
    expect(at(now + 1)).toMatchObject({ kind: 'validate', fallback: false, errorFallback: false });
    expect(at(now + 1, ['Cache-Control', 'max-stale']).kind).toBe('validate');
    expect(at(now + 1, ['Cache-Control', 'only-if-cached']).kind).toBe('not-cached');
  });
});

describe('a response from the future', () => {
  it.each<readonly [string, number, string]>([
    ['max-age=86400', -60, 'serve'],
    ['max-age=86400', -60.001, 'validate stale fallback'],
    ['max-age=86400', -31_536_000, 'validate stale fallback'],
    ['max-age=86400, immutable', -61, 'validate stale fallback'],
    ['max-age=86400, must-revalidate', -61, 'validate stale'],
    ['max-age=86400, stale-while-revalidate=100', -100, 'serve stale background'],
    ['max-age=86400, stale-while-revalidate=100', -101, 'validate stale fallback'],
    ['max-age=86400, stale-if-error=100', -101, 'validate stale fallback'],
    ['max-age=0', -61, 'validate stale fallback'],
  ])('with %s, at %d s: %s', (value, seconds, expected) => {
    expect(decision(cached(value), seconds)).toBe(expected);
  });
});

describe('misses', () => {
  it('are told apart', () => {
    expect(decision([], 0)).toBe('fetch uri-miss shareable');
    expect(
      decision(stored(['Cache-Control', 'max-age=60', 'Vary', 'Foo'], ['Foo', '1']), 0, ['Foo', '2']),
    ).toBe('fetch vary-miss shareable');
  });

  it.each(['POST', 'PUT', 'DELETE', 'OPTIONS', 'M-SEARCH', 'get'])('%s is not answered', (method) => {
    expect(decision(cached('max-age=60'), 0, [], method)).toBe('fetch method');
  });

  it('leaves to the origin what only the origin may answer (RFC 9111, 4.3.2)', () => {
    expect(decision(cached('max-age=60'), 0, ['If-Match', '"a"'])).toBe('fetch bypass');
    expect(decision(cached('max-age=60'), 0, ['if-unmodified-since', formatHttpDate(now)])).toBe(
      'fetch bypass',
    );
  });

  it('does not answer a GET with content', () => {
    expect(decision(cached('max-age=60'), 0, ['Content-Length', '3'])).toBe('fetch bypass');
    expect(decision(cached('max-age=60'), 0, ['Transfer-Encoding', 'chunked'])).toBe('fetch bypass');
    expect(decision(cached('max-age=60'), 0, ['Content-Length', '0'])).toBe('serve');
  });

  it.each<[string[], string]>([
    [[], 'fetch uri-miss shareable'],
    [['Range', 'bytes=0-1'], 'fetch uri-miss'],
    [['If-None-Match', '"a"'], 'fetch uri-miss'],
    [['If-Modified-Since', 'x'], 'fetch uri-miss'],
    [['Cache-Control', 'no-store'], 'fetch uri-miss'],
    [['Cache-Control', 'no-cache'], 'fetch uri-miss'],
    [['Cache-Control', 'max-age=5'], 'fetch uri-miss shareable'],
    [['Cache-Control', 'only-if-cached'], 'not-cached'],
  ])('with %j: %s', (request, expected) => {
    expect(decision([], 0, request)).toBe(expected);
  });

  it('does not share the answer to HEAD', () => {
    expect(decision([], 0, [], 'HEAD')).toBe('fetch uri-miss');
  });
});

describe('what the origin says (RFC 9111, 4.2, 5.2.2; RFC 5861)', () => {
  it.each<[string, number, string]>([
    ['max-age=60', 0, 'serve'],
    ['max-age=60', 59.999, 'serve'],
    // Fresh as long as the lifetime is greater than the age: at 60 it is not.
    ['max-age=60', 60, 'validate stale fallback'],
    ['max-age=60, must-revalidate', 59, 'serve'],
    ['max-age=60, must-revalidate', 60, 'validate stale'],
    ['max-age=60, proxy-revalidate', 61, 'validate stale'],
    ['s-maxage=60', 59, 'serve'],
    ['s-maxage=60', 61, 'validate stale'],
    ['max-age=60, no-cache', 0, 'validate stale'],
    ['no-cache', 0, 'validate stale'],
    ['max-age=60, stale-while-revalidate=10', 70, 'serve stale background'],
    ['max-age=60, stale-while-revalidate=10', 70.001, 'validate stale fallback'],
    ['max-age=60, stale-while-revalidate=10, must-revalidate', 65, 'validate stale'],
    ['s-maxage=60, stale-while-revalidate=10', 65, 'validate stale'],
    ['max-age=60, stale-if-error=10', 70, 'validate stale fallback error'],
    ['max-age=60, stale-if-error=10', 70.001, 'validate stale fallback'],
    ['max-age=60, stale-if-error=10, must-revalidate', 65, 'validate stale'],
    ['no-cache, stale-if-error=10', 1, 'validate stale'],
    ['max-age=60, immutable', 61, 'validate stale fallback'],
  ])('%s after %d s: %s', (value, seconds, expected) => {
    expect(decision(cached(value), seconds)).toBe(expected);
  });

  it('answers HEAD from GET (RFC 9110, 9.3.2)', () => {
    expect(decision(cached('max-age=60'), 0, [], 'HEAD')).toBe('serve');
    expect(decision(cached('max-age=60'), 61, [], 'HEAD')).toBe('validate stale fallback');
  });

  it('is as old as Age says', () => {
    const response = stored(['Cache-Control', 'max-age=3600', 'Age', '3590', 'ETag', '"a"']);
    expect(decision(response, 9)).toBe('serve');
    expect(decision(response, 10)).toBe('validate stale fallback');
  });

  it('does not grow younger when the clock goes back a little', () => {
    expect(decision(cached('max-age=60'), -60)).toBe('serve');
    expect(decision(stored(['Cache-Control', 'max-age=60', 'Age', '70', 'ETag', '"a"']), -1000)).toBe(
      'validate stale fallback',
    );
  });
});

describe('what the client says (RFC 9111, 5.2.1)', () => {
  it.each<[string, string, number, string]>([
    ['max-age=60', 'nothing-to-see-here', 0, 'serve'],
    ['max-age=60', 'no-cache', 0, 'validate request'],
    ['max-age=60', 'max-age=0', 1, 'validate request fallback error'],
    ['max-age=60', 'max-age=10', 10, 'serve'],
    ['max-age=60', 'max-age=10', 11, 'validate request fallback error'],
    ['max-age=60', 'max-age=x', 1, 'validate request fallback error'],
    ['max-age=60, immutable', 'max-age=0', 1, 'serve'],
    ['max-age=60, immutable', 'no-cache', 1, 'validate request'],
    ['max-age=60', 'min-fresh=20', 40, 'serve'],
    ['max-age=60', 'min-fresh=20', 41, 'validate request fallback error'],
    ['max-age=60', 'min-fresh=99999999999', 0, 'validate request fallback error'],
    ['max-age=60', 'max-stale', 1_000_000, 'serve stale'],
    ['max-age=60', 'max-stale=10', 70, 'serve stale'],
    ['max-age=60', 'max-stale=10', 71, 'validate stale fallback'],
    ['max-age=60', 'max-stale=x', 61, 'validate stale fallback'],
    ['max-age=60, must-revalidate', 'max-stale', 61, 'validate stale'],
    ['s-maxage=60', 'max-stale', 61, 'validate stale'],
    ['no-cache', 'max-stale', 1, 'validate stale'],
    ['max-age=60', 'max-age=5, max-stale=10', 12, 'serve'],
    ['max-age=60', 'max-age=5, max-stale=10', 65, 'validate stale fallback'],
    ['max-age=60', 'max-age=70, max-stale=10', 65, 'serve stale'],
    ['max-age=60', 'stale-if-error=10', 65, 'validate stale fallback error'],
    ['max-age=60', 'no-cache, stale-if-error=10', 65, 'validate stale'],
    ['max-age=60', 'only-if-cached', 0, 'serve'],
    ['max-age=60', 'only-if-cached', 61, 'not-cached'],
    ['max-age=60', 'only-if-cached, max-stale', 61, 'serve stale'],
    ['max-age=60', 'only-if-cached, no-cache', 0, 'not-cached'],
    // no-store is about storing: what is stored may be used, but nothing is changed by the answer.
    ['max-age=60', 'no-store', 0, 'serve'],
    ['max-age=60', 'no-store', 61, 'fetch stale'],
    ['max-age=60, stale-while-revalidate=10', 'no-store', 61, 'serve stale'],
    ['max-age=60, stale-while-revalidate=10', 'only-if-cached', 61, 'serve stale'],
    ['max-age=60, stale-while-revalidate=10', 'max-age=60', 61, 'validate stale fallback'],
    ['max-age=60, stale-while-revalidate=10', 'min-fresh=1', 61, 'validate stale fallback'],
    ['max-age=60, stale-while-revalidate=10', 'no-cache', 61, 'validate stale'],
  ])('%s, asked with %s after %d s: %s', (value, asked, seconds, expected) => {
    expect(decision(cached(value), seconds, ['Cache-Control', asked])).toBe(expected);
  });

  it('hears Pragma where there is no Cache-Control (5.4)', () => {
    expect(decision(cached('max-age=60'), 0, ['Pragma', 'no-cache'])).toBe('validate request');
    expect(decision(cached('max-age=60'), 0, ['Pragma', 'foo'])).toBe('serve');
    expect(decision(cached('max-age=60'), 5, ['Pragma', 'max-age=1'])).toBe('serve');
    expect(decision(cached('max-age=60'), 0, ['Pragma', 'no-cache', 'Cache-Control', 'foo'])).toBe('serve');
  });

  it('does not mind credentials for what may be shared', () => {
    expect(decision(cached('max-age=60'), 0, ['Authorization', 'x', 'Cookie', 'y'])).toBe('serve');
  });
});

describe('which of several (RFC 9111, 4, 4.1)', () => {
  const variant = (language: string, seconds = 0) =>
    stored(
      ['Cache-Control', 'max-age=60', 'Vary', 'Accept-Language', 'Content-Language', language],
      ['Accept-Language', language],
      200,
      now + seconds * 1000,
    );

  it('takes the one that matches, the most recent first', () => {
    const [de, en, newer] = [variant('de'), variant('en'), variant('en', 5)];
    const choose = (...list: StoredResponse[]) => {
      const made = decide(
        { method: 'GET', key, headers: ['accept-language', 'EN'] },
        list,
        now + 6000,
        DEFAULT_POLICY,
      );
      return made.kind === 'serve' ? made.response : made;
    };
    expect(choose(de, en, newer)).toBe(newer);
    expect(choose(newer, en, de)).toBe(newer);
    expect(choose(de)).toMatchObject({ kind: 'fetch', reason: 'vary-miss' });
  });

  it('takes the most recent of one with Vary and one without', () => {
    const plain = stored(['Cache-Control', 'max-age=60']);
    const made = decide(
      { method: 'GET', key, headers: ['Accept-Language', 'de'] },
      [plain, variant('de', 1)],
      now + 2000,
      DEFAULT_POLICY,
    );
    expect(made).toMatchObject({ kind: 'serve', response: { varied: [['accept-language', 'de']] } });
  });
});

describe('parts (RFC 9111, 3.3, 3.4)', () => {
  const part = (headers: string[], range = 'bytes 0-4/10', length = 5) => {
    const all = ['Cache-Control', 'max-age=60', 'Content-Range', range, ...headers];
    return { ...stored(all, ['Range', 'bytes=0-4'], 206), bodyLength: length };
  };

  it.each<[string[], string]>([
    [['Range', 'bytes=0-4'], 'serve'],
    [['Range', 'bytes=1-2, 4-4'], 'serve'],
    [['Range', 'bytes=20-'], 'serve'],
    [['Range', 'bytes=3-5'], 'fetch partial'],
    [['Range', 'bytes=-1'], 'fetch partial'],
    [['Range', 'garbage'], 'fetch partial'],
    [[], 'fetch partial'],
    [['If-None-Match', '"a"'], 'serve'],
    [['Range', 'bytes=0-1', 'If-Range', '"a"'], 'serve'],
    [['Range', 'bytes=0-1', 'If-Range', '"b"'], 'fetch partial'],
    [['Cache-Control', 'only-if-cached'], 'not-cached'],
  ])('bytes 0 to 4 for %j: %s', (request, expected) => {
    expect(decision(part(['ETag', '"a"']), 0, request)).toBe(expected);
  });

  it('answers no HEAD', () => {
    expect(decision(part([]), 0, [], 'HEAD')).toBe('fetch partial');
  });

  it('offers to complete what has a strong tag and one end', () => {
    const offered = (response: StoredResponse, request: string[] = []) => {
      const made = decide({ method: 'GET', key, headers: request }, [response], now, DEFAULT_POLICY);
      return made.kind === 'fetch' && made.partial !== undefined;
    };
    expect(offered(part(['ETag', '"a"']))).toBe(true);
    expect(offered(part(['ETag', '"a"'], 'bytes 5-9/10'))).toBe(true);
    expect(offered(part(['ETag', '"a"'], 'bytes 2-6/10'))).toBe(false);
    expect(offered(part(['ETag', 'W/"a"']))).toBe(false);
    expect(offered(part([]))).toBe(false);
    expect(offered(part(['ETag', '"a"']), ['Range', 'bytes=3-8'])).toBe(false);
    expect(offered(part(['ETag', '"a"']), ['Cache-Control', 'no-store'])).toBe(false);
  });

  it('prefers a whole to a newer part that is not enough', () => {
    const whole = cached('max-age=60');
    const newer = { ...part(['ETag', '"a"']), responseTime: now + 1 };
    for (const list of [
      [whole, newer],
      [newer, whole],
    ]) {
      expect(decision(list, 1)).toBe('serve');
    }
  });
});
