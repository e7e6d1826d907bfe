import { expect, test } from 'vitest';
import { commonLog } from './common-log.ts';
import { CACHEABLE } from './trace-line.ts';

const parse = commonLog(CACHEABLE);
const line = (request: string, rest = '200 2326') =>
  `192.0.2.1 - - [10/Oct/2000:13:55:36 -0700] "${request}" ${rest}`;

test('commonLog reads client, time with its zone, object and length', () => {
  expect(parse(line('GET /a.gif HTTP/1.0'))).toEqual({
    timeMs: Date.parse('2000-10-10T20:55:36Z'),
    client: '192.0.2.1',
    object: '/a.gif',
    bytes: 2326,
  });
  expect(parse(line('GET /a.gif HTTP/1.0').replace('-0700', '+0530'))).toMatchObject({
    timeMs: Date.parse('2000-10-10T08:25:36Z'),
  });
});

test.each([
  ['combined fields', line('GET /a HTTP/1.1', '200 7 "http://r.example/" "Agent [x] \\"y\\""'), '/a'],
  ['HTTP/0.9', line('GET /a'), '/a'],
  ['HTTP/2', line('GET /a HTTP/2'), '/a'],
  ['spaces in the target', line('GET /a b.gif HTTP/1.0'), '/a b.gif'],
  ['escaped quotes', line('GET /a\\"b HTTP/1.0'), '/a\\"b'],
  ['an absolute target', line('GET http://o.example/a HTTP/1.1'), 'http://o.example/a'],
  ['a query', line('GET /a?b=[c] HTTP/1.1'), '/a?b=[c]'],
])('commonLog reads %s', (_, text, object) => {
  expect(parse(text)).toMatchObject({ client: '192.0.2.1', object });
});

test('commonLog takes a virtual host in front as a part of the object, and not an IPv6 client', () => {
  expect(parse(`www.example:443 ${line('GET /a HTTP/1.1')}`)).toMatchObject({
    client: '192.0.2.1',
    object: 'www.example:443/a',
  });
  expect(parse(line('GET /a HTTP/1.1').replace('192.0.2.1', '2001:db8::17'))).toMatchObject({
    client: '2001:db8::17',
    object: '/a',
  });
});

test('commonLog skips other methods and statuses, and says which', () => {
  expect(parse(line('POST /a HTTP/1.1'))).toBe('method');
  expect(parse(line('-', '408 -'))).toBe('method');
  expect(parse(line('GET /a HTTP/1.1', '404 120'))).toBe('status');
  expect(parse(line('GET /a HTTP/1.1', '206 120'))).toMatchObject({ bytes: 120 });
  expect(parse(line('GET /a HTTP/1.1', '304 -'))).toMatchObject({ bytes: null });
  expect(parse(line('GET /a HTTP/1.1', '200 -'))).toMatchObject({ bytes: 0 });
});

test.each([
  'uplherc.upl.com - - [01/Aug/1995:00:00:44 -0400] "GET /shuttle/missions',
  '/sts-71/sts-71-patch-small.gif HTTP/1.0" 200 12054',
  line('GET /a HTTP/1.0').replace('Oct', 'Okt'),
  line('GET /a HTTP/1.0', '200 12054x'),
  line('GET  HTTP/1.0'),
  '',
])('commonLog refuses %j', (text) => {
  expect(parse(text)).toBeNull();
});
