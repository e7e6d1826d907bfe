import { describe, expect, it } from 'vitest';
import { formatHttpDate, parseHttpDate } from './http-date.ts';

const now = Date.UTC(2025, 0, 1);
const known = Date.UTC(1994, 10, 6, 8, 49, 37);

describe('dates (RFC 9110, 5.6.7)', () => {
  it.each([
    ['Sun, 06 Nov 1994 08:49:37 GMT', known],
    ['Sunday, 06-Nov-94 08:49:37 GMT', known],
    ['Sun Nov  6 08:49:37 1994', known],
    ['SUN, 06 nov 1994 08:49:37 gmt', known],
    ['Thu, 18 Aug 2050 02:01:18 GMT', Date.UTC(2050, 7, 18, 2, 1, 18)],
    ['Sun, 21 Nov 2286 04:46:39 GMT', Date.UTC(2286, 10, 21, 4, 46, 39)],
    ['Sat, 29 Feb 2020 00:00:00 GMT', Date.UTC(2020, 1, 29)],
    // A leap second counts as the one before.
    ['Sat, 31 Dec 2016 23:59:60 GMT', Date.UTC(2016, 11, 31, 23, 59, 59)],
    // Two digits: at most 50 years ahead.
    ['Thursday, 18-Aug-50 02:01:18 GMT', Date.UTC(2050, 7, 18, 2, 1, 18)],
    ['Wednesday, 01-Jan-75 00:00:00 GMT', Date.UTC(2075, 0, 1)],
    ['Thursday, 01-Jan-76 00:00:00 GMT', Date.UTC(1976, 0, 1)],
  ])('reads %s', (text, time) => {
    expect(parseHttpDate(text, now)).toBe(time);
  });

  it.each([
    '0',
    '-1',
    '',
    'never',
    '1994-11-06T08:49:37Z',
    'Sun, 06 Nov 1994 08:49:37 UTC',
    'Sun, 06 Nov 1994 08:49:37 AEST',
    'Sun, 06 Nov 1994 08:49:37 +0000',
    'Sun, 06 Nov 94 08:49:37 GMT',
    'Sun 06 Nov 1994 08:49:37 GMT',
    'Sun, 06  Nov  1994 08:49:37 GMT',
    'Sun, 06-Nov-1994 08:49:37 GMT',
    'Sun, 06 Nov 1994 08.49.37 GMT',
    'Sun, 06 Nov 1994 8:49:37 GMT',
    'Sun, 6 Nov 1994 08:49:37 GMT',
    'Sun, 31 Feb 1994 08:49:37 GMT',
    'Sun, 00 Nov 1994 08:49:37 GMT',
    'Mon, 29 Feb 2021 00:00:00 GMT',
    'Sun, 06 Nov 1994 24:00:00 GMT',
    'Sun, 06 Nov 1994 08:60:00 GMT',
    'Sun, 06 Nov 1994 08:49:61 GMT',
    'Foo, 06 Nov 1994 08:49:37 GMT',
    ' Sun, 06 Nov 1994 08:49:37 GMT',
    'Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:49:37 GMT',
  ])('refuses %j', (text) => {
    expect(parseHttpDate(text, now)).toBeNull();
  });

  it('writes what it reads', () => {
    for (const time of [0, known, now, Date.UTC(2099, 11, 31, 23, 59, 59)]) {
      expect(parseHttpDate(formatHttpDate(time), now)).toBe(time);
    }
    expect(formatHttpDate(known + 999)).toBe('Sun, 06 Nov 1994 08:49:37 GMT');
  });
});
