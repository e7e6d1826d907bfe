import { describe, expect, it } from 'vitest';
import { cacheKey, originOf, resolvedKey } from './cache-key.ts';

describe('the primary key (RFC 9111, 2; RFC 9110, 4.2.3)', () => {
  it.each([
    ['http', 'Example.ORG', '/', 'http://example.org/'],
    ['http', 'example.org:80', '/a', 'http://example.org/a'],
    ['https', 'example.org:443', '/a', 'https://example.org/a'],
    ['https', 'example.org:80', '/a', 'https://example.org:80/a'],
    ['http', 'example.org:', '/a', 'http://example.org/a'],
    ['http', '[::1]', '/', 'http://[::1]/'],
    ['http', '[::1]:8080', '/', 'http://[::1]:8080/'],
    ['http', '[::1]:80', '/', 'http://[::1]/'],
    ['http', 'user:pw@example.org', '/', 'http://example.org/'],
    ['http', 'a', '', 'http://a/'],
    ['http', 'a', '?q', 'http://a/?q'],
    ['http', 'a', '/b?c=D&e#f', 'http://a/b?c=D&e'],
    ['http', 'a', '/%7Eb/../c//d', 'http://a/%7Eb/../c//d'],
    ['http', 'a', '/B', 'http://a/B'],
  ] as const)('%s %s %s', (scheme, authority, target, key) => {
    expect(cacheKey(scheme, authority, target)).toBe(key);
  });

  it('never makes one host of another, whatever stands for a target', () => {
    expect(originOf(cacheKey('http', 'a', '.evil.org/'))).toBe('http://a');
    expect(originOf(cacheKey('http', 'a', '*'))).toBe('http://a');
    expect(cacheKey('http', 'a', '*')).not.toBe(cacheKey('http', 'a', '/*'));
  });

  it('forgets nothing between calls', () => {
    expect(cacheKey('http', 'a', '/')).toBe('http://a/');
    expect(cacheKey('https', 'a', '/')).toBe('https://a/');
    expect(cacheKey('https', 'b', '/')).toBe('https://b/');
  });

  it.each([
    ['/x', 'http://a:8080/x'],
    ['x?y#z', 'http://a:8080/b/x?y'],
    ['', 'http://a:8080/b/c?d'],
    ['HTTPS://B:443/', 'https://b/'],
    ['//b/x', 'http://b/x'],
    ['mailto:x@y', null],
    ['http://[', null],
  ])('resolves %j', (reference, key) => {
    expect(resolvedKey('http://a:8080/b/c?d', reference)).toBe(key);
  });
});
