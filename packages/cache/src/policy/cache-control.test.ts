import { describe, expect, it } from 'vitest';
import {
  ABSENT,
  type Directives,
  INVALID,
  noDirectives,
  parseCacheControl,
  responseDirectives,
} from './cache-control.ts';
import { DEFAULT_POLICY } from './policy-options.ts';

/** Directives of a value that differ from those of an empty one. */
function read(value: string): Partial<Directives> {
  return changed(parseCacheControl(value));
}

function changed(directives: Directives): Partial<Directives> {
  const empty = noDirectives();
  return Object.fromEntries(
    Object.entries(directives).filter(([name, value]) => value !== empty[name as keyof Directives]),
  );
}

const LIMIT = 2 ** 31;

describe('Cache-Control (RFC 9111, 5.2)', () => {
  it.each<[string, Partial<Directives>]>([
    ['', {}],
    ['no-store', { noStore: true }],
    ['No-StOrE', { noStore: true }],
    ['no-cache', { noCache: true }],
    ['private', { private: true }],
    ['public', { public: true }],
    ['must-revalidate', { mustRevalidate: true }],
    ['proxy-revalidate', { proxyRevalidate: true }],
    ['must-understand', { mustUnderstand: true }],
    ['no-transform', { noTransform: true }],
    ['immutable', { immutable: true }],
    ['only-if-cached', { onlyIfCached: true }],
    ['max-age=3600', { maxAge: 3600 }],
    ['max-age=003600', { maxAge: 3600 }],
    ['s-maxage=1,max-age=2', { sMaxAge: 1, maxAge: 2 }],
    ['stale-while-revalidate=5, stale-if-error=6', { staleWhileRevalidate: 5, staleIfError: 6 }],
    ['min-fresh=7, max-stale=8', { minFresh: 7, maxStale: 8 }],
    ['max-stale', { maxStale: Number.POSITIVE_INFINITY }],
    ['max-stale=x', { maxStale: INVALID }],
    // Section 5.2: a recipient takes a token and a quoted string alike.
    ['max-age="3600"', { maxAge: 3600 }],
    // Names without meaning here.
    ['foobar, max-age=3600, x="max-age=1, no-store"', { maxAge: 3600 }],
    [', ,no-store,,', { noStore: true }],
    ['\tno-store\t', { noStore: true }],
  ])('reads %j', (value, directives) => {
    expect(read(value)).toEqual(directives);
  });

  it.each([
    ['max-age=2147483647', 2147483647],
    ['max-age=2147483648', LIMIT],
    ['max-age=2147483649', LIMIT],
    ['max-age=99999999999', LIMIT],
    [`max-age=${'9'.repeat(10_000)}`, LIMIT],
    [`max-age=${'0'.repeat(10_000)}5`, 5],
  ])('takes what is too large as 2^31 (1.2.2): %.30s', (value, seconds) => {
    expect(parseCacheControl(value).maxAge).toBe(seconds);
  });

  it.each([
    'max-age',
    'max-age=',
    'max-age=-3600',
    'max-age=+1',
    "max-age='3600'",
    'max-age=3600.0',
    'max-age=a3600',
    'max-age=3600a',
    'max-age=1e3',
    'max-age=0x10',
    'max-age =3600',
    'max-age= 3600',
    'max-age=36 00',
    'max-age="36',
    'max-age="36"00',
    'max-age=٣',
    // 4.2.1: two that differ.
    'max-age=1800, max-age=1',
    'max-age=1, max-age=1800',
    'max-age=5, max-age=x',
  ])('knows %j for unreadable, not for absent (4.2.1)', (value) => {
    expect(parseCacheControl(value).maxAge).toBe(INVALID);
  });

  it('takes the same value twice as that value', () => {
    expect(parseCacheControl('max-age=5, max-age=5, max-age="5"').maxAge).toBe(5);
    expect(parseCacheControl('').maxAge).toBe(ABSENT);
  });

  it('hears what forbids in any shape', () => {
    for (const value of [
      'no-store=1',
      'no-store="x"',
      'no-store x',
      'foo="bar, no-store',
      'a="b", no-store',
    ]) {
      expect(parseCacheControl(value).noStore, value).toBe(true);
    }
    expect(parseCacheControl('no-cache=').noCache).toBe(true);
    expect(parseCacheControl('private=""').private).toBe(true);
  });

  it('hears what allows only as it is written', () => {
    expect(parseCacheControl('public x').public).toBe(false);
    expect(parseCacheControl('public=1').public).toBe(false);
    expect(parseCacheControl('must-understand?').mustUnderstand).toBe(false);
    // It would lift a no-store.
    expect(parseCacheControl('no-store, must-understand=').mustUnderstand).toBe(false);
    expect(parseCacheControl('x="public"').public).toBe(false);
  });

  it('gives the fields not to be stored (3.1, 5.2.2.4, 5.2.2.7)', () => {
    const directives = parseCacheControl('no-cache="Set-Cookie, X-A", private=x-b, max-age=5');
    expect(directives.unstoredFields).toEqual(new Set(['set-cookie', 'x-a', 'x-b']));
    expect([directives.noCache, directives.private]).toEqual([false, false]);
  });

  it('takes the qualified form as unqualified where the rest would mean something else', () => {
    for (const names of ['vary', 'X-A, Content-Encoding', 'a b', ',', '"']) {
      expect(parseCacheControl(`no-cache="${names}"`), names).toMatchObject({
        noCache: true,
        unstoredFields: null,
      });
    }
  });
});

describe('targeted fields (RFC 9213)', () => {
  const of = (...headers: string[]) => responseDirectives(headers, DEFAULT_POLICY);

  it('takes a targeted field instead of Cache-Control', () => {
    const { directives, targeted } = of('Cache-Control', 'no-store', 'CDN-Cache-Control', 'max-age=60');
    expect(targeted).toBe(true);
    expect(changed(directives)).toEqual({ maxAge: 60 });
    expect(
      of('CDN-Cache-Control', 'private, no-cache', 'CDN-Cache-Control', 'no-store').directives,
    ).toMatchObject({
      private: true,
      noCache: true,
      noStore: true,
    });
  });

  it.each(['', 'max-age=60, &&&', 'MAX-AGE=60', 'max-age =60', 'max-age=60,'])(
    'ignores %j (2.1)',
    (value) => {
      const { directives, targeted } = of('CDN-Cache-Control', value, 'Cache-Control', 'max-age=1');
      expect([targeted, directives.maxAge]).toEqual([false, 1]);
    },
  );

  it.each(['max-age="60"', 'max-age=60.0', 'max-age=-1', 'max-age=sixty', 'max-age=(60)', 'max-age'])(
    'finds no seconds in %j',
    (value) => {
      expect(of('CDN-Cache-Control', value, 'Cache-Control', 'max-age=1').directives.maxAge).toBe(INVALID);
    },
  );

  it('goes by the order of the list of targets (2.2)', () => {
    const options = { ...DEFAULT_POLICY, targetedFields: ['Mine-Cache-Control', 'CDN-Cache-Control'] };
    const headers = ['CDN-Cache-Control', 'max-age=1', 'mine-cache-control', 'max-age=2'];
    expect(responseDirectives(headers, options).directives.maxAge).toBe(2);
    expect(responseDirectives(headers, { ...options, targetedFields: [] }).targeted).toBe(false);
  });

  it('reads names of fields as a String and does nothing for ?0', () => {
    const { directives } = of('CDN-Cache-Control', 'no-cache="x-a", no-store=?0, max-age=99999999999');
    expect(changed(directives)).toEqual({ unstoredFields: new Set(['x-a']), maxAge: LIMIT });
  });
});
