import { describe, expect, it } from 'vitest';
import { keysToInvalidate } from './invalidation.ts';

const keys = (method: string, status: number, headers: string[] = []) =>
  keysToInvalidate({ method, key: 'http://a/b/c', headers: [] }, { status, statusText: '', headers });

describe('invalidation (RFC 9111, 4.4)', () => {
  it.each(['POST', 'PUT', 'DELETE', 'PATCH', 'M-SEARCH', 'UNKNOWN', 'get'])(
    '%s invalidates its URI',
    (method) => {
      expect(keys(method, 200)).toEqual(['http://a/b/c']);
      expect(keys(method, 303)).toEqual(['http://a/b/c']);
    },
  );

  it.each(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PROPFIND', 'QUERY'])('%s is safe', (method) => {
    expect(keys(method, 200)).toEqual([]);
  });

  it.each([100, 400, 404, 500, 503])('an answer of %i invalidates nothing', (status) => {
    expect(keys('POST', status, ['Location', '/x'])).toEqual([]);
  });

  it('takes Location and Content-Location along, of the same origin only', () => {
    expect(keys('POST', 201, ['Location', '/x?y#z', 'content-location', 'd'])).toEqual([
      'http://a/b/c',
      'http://a/x?y',
      'http://a/b/d',
    ]);
    for (const other of [
      'http://b/x',
      'https://a/x',
      'http://a:81/x',
      '//b/',
      'http://a@b/',
      'http://[',
      'data:x',
    ]) {
      expect(keys('POST', 201, ['Location', other]), other).toEqual(['http://a/b/c']);
    }
    expect(keys('PUT', 204, ['Location', 'HTTP://A:80/x'])).toContain('http://a/x');
  });
});
