/**
 * Plain hits, whose heads are kept for a second: they must say what a head made again would say.
 */

import { describe, expect, it } from 'vitest';
import { answerFrom, DEFAULT_POLICY, hitStatus, toStore, withBody } from '../../src/policy/index.ts';
import { PlainHits } from '../../src/proxy/client/plain-hits.ts';
import { Router } from '../../src/proxy/route.ts';

const router = new Router({
  upstreams: [{ prefix: '/', origin: new URL('http://a.example') }],
  forward: true,
});

function stored(headers: readonly string[], status = 200) {
  const request = { method: 'GET', key: 'http://a.example/x', headers: [] };
  const times = { requestTime: 1_000_000, responseTime: 1_000_123 };
  const head = { status, statusText: 'OK', headers: ['Age', '3', 'Cache-Control', 'max-age=9', ...headers] };
  return withBody(toStore(request, head, times, DEFAULT_POLICY)!, 5);
}

describe('PlainHits', () => {
  const plain = { method: 'GET', key: 'http://a.example/x', headers: ['Accept', '*/*'] };
  const reverse = router.route('/x');
  const forward = router.route('http://a.example/x');
  if (!('key' in reverse && 'key' in forward)) throw new Error('no route');

  it('gives what is right at every millisecond', () => {
    const response = stored(['Content-Type', 'text/plain']);
    const hits = new PlainHits(DEFAULT_POLICY);
    let lists = new Set<unknown>();
    for (let now = 1_000_123; now < 1_006_000; now += 7) {
      const headers = hits.headersFor(plain, reverse, response, now);
      const status = hitStatus(DEFAULT_POLICY.name, response, now);
      const again = answerFrom(plain, response, now, { stale: false, status }, DEFAULT_POLICY);
      expect(headers).toEqual(again!.headers);
      lists.add(headers);
    }
    // A clock that goes back is no reason to be wrong.
    const early = hits.headersFor(plain, reverse, response, 1_000_124);
    expect(early).toContain('3');
    expect(lists.size).toBeLessThan(14);
    lists = new Set([1, 2, 3].map((ms) => hits.headersFor(plain, reverse, response, 1_002_200 + ms)));
    expect(lists.size).toBe(1);
  });

  it('leaves all that is not plain to others', () => {
    const hits = new PlainHits(DEFAULT_POLICY);
    const response = stored([]);
    const asked = (headers: string[], method = 'GET') =>
      hits.headersFor({ method, key: response.key, headers }, reverse, response, 1_001_000);
    expect(asked(['Range', 'bytes=0-1'])).toBeNull();
    expect(asked(['If-None-Match', '"x"'])).toBeNull();
    expect(asked(['If-Modified-Since', 'Mon, 16 Nov 2026 00:00:00 GMT'])).toBeNull();
    expect(asked([], 'HEAD')).toBeNull();
    expect(asked([])).not.toBeNull();
  });

  it('knows fields that look different from outside', () => {
    const hits = new PlainHits(DEFAULT_POLICY);
    const redirect = stored(['Location', 'http://a.example/y'], 301);
    expect(hits.headersFor(plain, forward, redirect, 1_001_000)).toContain('http://a.example/y');
    expect(hits.headersFor(plain, reverse, redirect, 1_001_000)).toBeNull();
  });
});
