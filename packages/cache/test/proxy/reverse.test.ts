/**
 * The proxy before origins of its own: which upstream serves a path, and how the origin's URLs look
 * from outside.
 */

import { cpuMs } from '@bloomery/testkit/cpu-time';
import { startOrigin } from '@bloomery/testkit/origins/origin-lab';
import { describe, expect, it } from 'vitest';
import { mapFields, type Route, Router } from '../../src/proxy/route.ts';
import { AddressGuard } from '../../src/safety/address-guard.ts';
import { startProxy } from './proxy-lab.ts';

const upstream = (prefix: string, origin: string) => ({ prefix, origin: new URL(origin) });

describe('Router', () => {
  const router = new Router({
    upstreams: [
      upstream('/', 'http://root.example/'),
      upstream('/a', 'http://a.example:8080/base/'),
      upstream('/a/b/', 'https://b.example'),
    ],
    forward: true,
  });
  const to = (target: string) => {
    const route = router.route(target);
    return 'key' in route ? route.key : `${route.status} ${route.code}`;
  };

  it.each([
    ['/', 'http://root.example/'],
    ['/x?y', 'http://root.example/x?y'],
    ['/ab', 'http://root.example/ab'],
    ['/a', 'http://a.example:8080/base'],
    ['/a?q', 'http://a.example:8080/base?q'],
    ['/a/', 'http://a.example:8080/base/'],
    ['/a/c', 'http://a.example:8080/base/c'],
    ['/a/b', 'http://a.example:8080/base/b'],
    ['/a/b/', 'https://b.example/'],
    ['/a/b/c?d', 'https://b.example/c?d'],
    ['/a/../x', '400 dot-segments'],
    ['/a/%2E%2e/x', '400 dot-segments'],
    ['/a/...', 'http://a.example:8080/base/...'],
    ['//x', 'http://root.example//x'],
    ['http://Host.Example:80', 'http://host.example/'],
    ['HTTPS://host.example:443?q', 'https://host.example/?q'],
    ['http://host.example:81/a/../b', 'http://host.example:81/a/../b'],
    ['http://[::1]:81/', 'http://[::1]:81/'],
    ['http:///x', '400 bad-authority'],
    ['http://a b/', '400 bad-authority'],
    ['http://host:99999/', '400 bad-authority'],
    ['ftp://host/', '400 bad-target'],
    ['x', '400 bad-target'],
  ])('%s leads to %s', (target, expected) => {
    expect(to(target)).toBe(expected);
    // And a second time, from memory.
    expect(to(target)).toBe(expected);
    // A node of another group asks by the key.
    if (!/^\d/.test(expected)) expect(router.routeOfKey(expected)).toEqual(router.route(target));
  });

  it('leads from a key to the upstream that has it, and nowhere else without forward', () => {
    const upstreams = [upstream('/a', 'http://a.example/base/'), upstream('/a/b/', 'https://b.example')];
    const reverse = new Router({ upstreams, forward: false });
    const path = (key: string) => {
      const route = reverse.routeOfKey(key);
      return 'key' in route ? [route.origin, route.path, route.trusted] : route.status;
    };
    expect(path('http://a.example/base/x?y')).toEqual(['http://a.example', '/base/x?y', true]);
    expect(path('https://b.example/x')).toEqual(['https://b.example', '/x', true]);
    // The path below /a/b/ belongs to another upstream, so no client reaches this key.
    expect(path('http://a.example/base/b/x')).toBe(404);
    for (const key of ['http://a.example/', 'http://a.example/basement', 'http://a.example/base/../x'])
      expect(path(key), key).toBe(404);
    expect(path('http://169.254.169.254/latest')).toBe(404);
  });

  it('takes an absolute target for its path when it is no forward proxy', () => {
    const reverse = new Router({
      upstreams: [upstream('/a', 'http://a.example')],
      forward: false,
      isOwnHost: (host) => host === 'public.example',
    });
    expect(reverse.route('http://Public.example:8080/a/b')).toMatchObject({
      key: 'http://a.example/b',
      trusted: true,
    });
    expect(reverse.route('http://public.example/c')).toMatchObject({ status: 404, code: 'no-upstream' });
    expect(reverse.route('http://user@public.example/a')).toMatchObject({ status: 400 });
  });

  it('refuses an absolute target for another host when it is no forward proxy', () => {
    const reverse = new Router({ upstreams: [upstream('/', 'http://a.example')], forward: false });
    for (const host of ['elsewhere.example', 'a.example', '10.1.2.3', 'localhost.example'])
      expect(reverse.route(`http://${host}/b`), host).toMatchObject({ status: 421, code: 'misdirected' });
    for (const host of ['localhost', 'LOCALHOST:81', '127.0.0.1:8080', '[::1]'])
      expect(reverse.route(`http://${host}/b`), host).toMatchObject({ key: 'http://a.example/b' });
  });

  it('refuses upstreams that cannot be', () => {
    expect(() => new Router({ upstreams: [upstream('a', 'http://a.example')], forward: false })).toThrow(
      /begins with a slash, got "a"/,
    );
    expect(() => new Router({ upstreams: [upstream('/a', 'ftp://a.example')], forward: false })).toThrow(
      /http or https origin/,
    );
  });

  const mapped = (field: string, value: string, target = '/a/c') =>
    mapFields([field, value], router.route(target) as Route)[1];

  it.each([
    ['http://a.example:8080/base/d?e#f', '/a/d?e#f'],
    ['http://a.example:8080/base', '/a'],
    ['/base/d', '/a/d'],
    ['//a.example:8080/base/d', '/a/d'],
    ['http://a.example:8080/other', 'http://a.example:8080/other'],
    ['http://a.example:8080/basement', 'http://a.example:8080/basement'],
    ['https://a.example:8080/base/d', 'https://a.example:8080/base/d'],
    ['d', 'd'],
    ['?q', '?q'],
    ['mailto:a@b', 'mailto:a@b'],
    ['http://[', 'http://['],
  ])('maps Location %s to %s', (value, expected) => {
    expect(mapped('Location', value)).toBe(expected);
    expect(mapped('content-location', value)).toBe(expected);
  });

  it('never makes a host of a path', () => {
    expect(mapped('Location', 'http://root.example//evil.example/x', '/')).toBe('/.//evil.example/x');
    expect(mapped('Location', 'http://root.example', '/')).toBe('/');
  });

  it.each([
    ['5; url=http://a.example:8080/base/d', '5; url=/a/d'],
    ['0;URL="/base/d"', '0;URL="/a/d"'],
    ['5', '5'],
    ['5; url=d', '5; url=d'],
  ])('maps Refresh %s to %s', (value, expected) => {
    expect(mapped('Refresh', value)).toBe(expected);
  });

  it.each([
    `0; url="/${' '.repeat(60_000)}`,
    `0; url=/${' '.repeat(60_000)}x`,
    `0;${' '.repeat(60_000)}`,
    ' '.repeat(60_000),
    `0; url=${'"'.repeat(60_000)}`,
  ])('takes no longer for a Refresh than its length', async (value) => {
    // The pattern that trimmed by itself took seconds.
    expect(await cpuMs(() => mapped('Refresh', value))).toBeLessThan(300);
  });
});

describe('reverse proxy', () => {
  it('serves several origins by prefix, and maps their redirects back, stored or not', async () => {
    await using one = await startOrigin();
    await using two = await startOrigin();
    // Upstreams are the operator's choice: the guard of untrusted addresses does not apply.
    await using lab = await startProxy({
      upstreams: [upstream('/', one.origin), upstream('/two', `${two.origin}/inner/`)],
      addresses: new AddressGuard({ allowPrivate: false, allow: [], deny: [] }),
    });
    one.on('/x', (request) => ({ body: `one for ${request.header('host')}` }));
    two.on('/inner/x', {
      status: 301,
      headers: ['Location', `${two.origin}/inner/y`, 'Cache-Control', 'max-age=60'],
    });
    expect((await lab.get('/x', ['Host', 'public.example'])).text).toBe(`one for 127.0.0.1:${one.port}`);
    for (const _ of ['fetched', 'stored']) {
      const reply = await lab.get('/two/x');
      expect([reply.status, reply.header('location')]).toEqual([301, '/two/y']);
    }
    expect(two.count('/inner/x')).toBe(1);
    // By a forward request it is the same stored response, unmapped.
    const forward = await lab.get(`${two.origin}/inner/x`);
    expect(forward.header('location')).toBe(`${two.origin}/inner/y`);
    expect(two.count('/inner/x')).toBe(1);
    const refused = await lab.get(`${two.origin}/inner/z`);
    expect(refused.status).toBe(403);
  });

  it('says in words that nothing is there', async () => {
    await using lab = await startProxy({ upstreams: [upstream('/a', 'http://127.0.0.1:1')], forward: false });
    const reply = await lab.get('/b');
    expect([reply.status, reply.text]).toEqual([404, 'No upstream of this node serves "/b"\n']);
    expect(reply.header('content-type')).toBe('text/plain; charset=utf-8');
    expect(reply.header('cache-control')).toBe('no-store');
    const down = await lab.get('/a');
    expect([down.status, down.text]).toEqual([502, 'http://127.0.0.1:1: connection refused\n']);
    expect(down.header('proxy-status')).toBe('bloomery; error=connection_refused');
    expect(lab.records.map(({ outcome, reason }) => [outcome, reason])).toEqual([
      ['refused', 'no-upstream'],
      ['error', 'connection_refused'],
    ]);
  });
});
