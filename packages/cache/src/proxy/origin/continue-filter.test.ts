import { describe, expect, test } from 'vitest';
import { ContinueFilter } from './continue-filter.ts';

/** The bytes that come out for a response that arrives in pieces of the given length. */
function filtered(response: string, pieceBytes: number): { text: string; filter: ContinueFilter } {
  const filter = new ContinueFilter();
  filter.expectHead();
  let text = '';
  for (let at = 0; at < response.length; at += pieceBytes)
    text += filter.pass(Buffer.from(response.slice(at, at + pieceBytes), 'latin1')).toString('latin1');
  return { text, filter };
}

const FINAL = 'HTTP/1.1 200 OK\r\nContent-Length: 29\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nbody';

describe.each([1, 2, 3, 7, 12, 13, 100, 1000])('ContinueFilter, in pieces of %i bytes', (pieceBytes) => {
  test.each<readonly [string, string, string]>([
    ['no interim response', '', ''],
    ['a 100', 'HTTP/1.1 100 Continue\r\n\r\n', 'HTTP/1.1 199 Continue\r\n\r\n'],
    [
      'a 100 of HTTP/1.0 with fields',
      'HTTP/1.0 100\r\nA: \r\nB: 100\r\n\r\n',
      'HTTP/1.0 199\r\nA: \r\nB: 100\r\n\r\n',
    ],
    [
      'two of them around a 103',
      'HTTP/1.1 100 C\r\n\r\nHTTP/1.1 103 E\r\nLink: \r\r\n\r\nHTTP/1.1 100 C\r\n\r\n',
      'HTTP/1.1 199 C\r\n\r\nHTTP/1.1 103 E\r\nLink: \r\r\n\r\nHTTP/1.1 199 C\r\n\r\n',
    ],
  ])('%s, before a body that looks like one', (_name, interim, expected) => {
    const { text, filter } = filtered(interim + FINAL, pieceBytes);
    expect(text).toBe(expected + FINAL);
    const count = expected.split(' 199').length - 1;
    for (let i = 0; i < count; i++) expect(filter.takeContinue(199)).toBe(true);
    // A 199 of the origin itself stays one.
    expect(filter.takeContinue(199)).toBe(false);
  });
});

test('ContinueFilter: bytes outside of a response pass as they are', () => {
  const filter = new ContinueFilter();
  expect(filter.pass(Buffer.from('HTTP/1.1 100 C\r\n\r\n')).toString()).toBe('HTTP/1.1 100 C\r\n\r\n');
});

test('ContinueFilter: the first byte of a response is never held back', () => {
  const filter = new ContinueFilter();
  filter.expectHead();
  for (const byte of 'HTTP/1.1 1') expect(filter.pass(Buffer.from(byte)).toString()).toBe(byte);
  expect(filter.pass(Buffer.from('0'))).toHaveLength(0);
  expect(filter.pass(Buffer.from('3 Early')).toString()).toBe('03 Early');
});

test('ContinueFilter: a new request forgets what was held back before it', () => {
  const filter = new ContinueFilter();
  filter.expectHead();
  expect(filter.pass(Buffer.from('HTTP/1.1 10')).toString()).toBe('HTTP/1.1 1');
  filter.expectHead();
  expect(filter.pass(Buffer.from(FINAL)).toString()).toBe(FINAL);
});
