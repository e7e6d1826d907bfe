import { expect, test } from 'vitest';
import { formatDnsName, parseDnsName } from './dns-name.ts';

test.each([
  ['caches.internal:3129', { scheme: 'http', host: 'caches.internal', port: 3129, isService: false }],
  ['caches.internal', { scheme: 'http', host: 'caches.internal', port: null, isService: false }],
  ['https://Caches.Internal.:443', { scheme: 'https', host: 'caches.internal', port: 443, isService: false }],
  ['_b._tcp.x.internal', { scheme: 'http', host: '_b._tcp.x.internal', port: null, isService: true }],
  ['caches', { scheme: 'http', host: 'caches', port: null, isService: false }],
])('parseDnsName reads %s', (text, expected) => {
  expect(parseDnsName(text)).toEqual(expected);
  expect(parseDnsName(formatDnsName(parseDnsName(text)))).toEqual(expected);
});

test.each([
  '',
  ':3129',
  '10.0.0.1:3129',
  '[::1]:3129',
  '::1',
  'a..b',
  '-a.b',
  'a-.b',
  `${'a'.repeat(64)}.b`,
  `${'a.'.repeat(127)}ab`,
  'caches.internal:0',
  'caches.internal:65536',
  'caches.internal:99999999',
  'ftp://caches.internal',
  'http://user@caches.internal',
  'http://caches.internal/path',
  'caches internal',
  '_b._tcp.x.internal:3129',
])('parseDnsName refuses %j', (text) => {
  expect(() => parseDnsName(text)).toThrow(/^Cannot look up members: expected a name such as .+, got "/);
});
