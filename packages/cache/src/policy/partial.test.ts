import { describe, expect, it } from 'vitest';
import { fieldValue, fieldValues } from './fields.ts';
import { formatHttpDate } from './http-date.ts';
import { combine, completionFields } from './partial.ts';
import { DEFAULT_POLICY } from './policy-options.ts';
import type { StoredResponse } from './stored-response.ts';
import { toStore, withBody } from './storing.ts';

const now = Date.UTC(2025, 0, 1);
const key = 'http://a/b';
const request = { method: 'GET', key, headers: ['Range', 'bytes=0-0', 'If-None-Match', '"z"', 'X', 'y'] };
const bytes = '0123456789';

function part(
  start: number,
  end: number,
  headers: string[] = ['ETag', '"a"'],
  at = now,
  total = 10,
): StoredResponse {
  const result = toStore(
    request,
    {
      status: 206,
      statusText: 'Partial Content',
      headers: [
        ...['Date', formatHttpDate(at), 'Cache-Control', 'max-age=60', 'Content-Length', String(end - start)],
        ...['Content-Range', `bytes ${start}-${end - 1}/${total}`, ...headers],
      ],
    },
    { requestTime: at, responseTime: at },
    DEFAULT_POLICY,
  );
  return withBody(result!, end - start);
}

const joined = (old: StoredResponse, fresh: StoredResponse) => combine(old, fresh, request, DEFAULT_POLICY);

describe('asking for the rest (RFC 9110, 13.1.5, 14.2)', () => {
  it('asks for the end, or for the beginning, on condition that it is the same', () => {
    expect(completionFields(request, part(0, 5))).toEqual(['X', 'y', 'Range', 'bytes=5-', 'If-Range', '"a"']);
    expect(completionFields(request, part(5, 10))).toEqual([
      'X',
      'y',
      'Range',
      'bytes=0-4',
      'If-Range',
      '"a"',
    ]);
  });

  it('does not ask for what could not be used', () => {
    expect(completionFields(request, part(2, 5))).toBeNull();
    expect(completionFields(request, part(0, 5, []))).toBeNull();
    expect(completionFields(request, part(0, 5, ['ETag', 'W/"a"']))).toBeNull();
  });
});

describe('putting together (RFC 9111, 3.4)', () => {
  it('makes a whole', () => {
    const made = joined(
      part(0, 5, ['ETag', '"a"', 'X-A', '1', 'X-B', '2']),
      part(5, 10, ['ETag', '"a"', 'X-A', '3'], now + 1000),
    )!;
    expect(made.pieces).toEqual([
      { from: 'old', start: 0, end: 5 },
      { from: 'new', start: 0, end: 5 },
    ]);
    expect(made.response).toMatchObject({
      status: 200,
      statusText: 'OK',
      range: null,
      bodyLength: 10,
      responseTime: now + 1000,
    });
    expect(fieldValues(made.response.headers, 'x-a')).toEqual(['3']);
    expect(fieldValues(made.response.headers, 'x-b')).toEqual(['2']);
    expect(fieldValues(made.response.headers, 'content-length')).toEqual(['10']);
    expect(fieldValue(made.response.headers, 'content-range')).toBeUndefined();
  });

  it('makes a larger part', () => {
    const made = joined(part(2, 5), part(5, 7))!;
    expect(made.response).toMatchObject({ status: 206, range: { start: 2, total: 10 }, bodyLength: 5 });
    expect(fieldValues(made.response.headers, 'content-range')).toEqual(['bytes 2-6/10']);
    expect(fieldValues(made.response.headers, 'content-length')).toEqual(['5']);
  });

  it('knows the length of a part that is still coming', () => {
    expect(joined(part(0, 5), { ...part(5, 10), bodyLength: -1 })!.response.bodyLength).toBe(10);
  });

  it('gives the right bytes of any two parts that touch, and nothing if they do not', () => {
    const wrong: string[] = [];
    const intervals = Array.from({ length: 36 }, (_, i) => [Math.floor(i / 6), (i % 6) + 1] as const).filter(
      ([start, end]) => start < end,
    );
    for (const [a, b] of intervals) {
      for (const [c, d] of intervals) {
        const made = joined(part(a, b), part(c, d));
        const source = { old: bytes.slice(a, b), new: bytes.slice(c, d) };
        const text = made?.pieces.map((piece) => source[piece.from].slice(piece.start, piece.end)).join('');
        const expected = c > b || a > d ? undefined : bytes.slice(Math.min(a, c), Math.max(b, d));
        if (text !== expected || made?.response.bodyLength !== expected?.length) {
          wrong.push(`${a}-${b} and ${c}-${d}: expected ${expected}, got ${text}`);
        }
      }
    }
    expect(wrong).toEqual([]);
  });

  it('refuses what may be of two versions', () => {
    expect(joined(part(0, 5), part(5, 10, ['ETag', '"b"']))).toBeNull();
    expect(joined(part(0, 5, ['ETag', 'W/"a"']), part(5, 10, ['ETag', 'W/"a"']))).toBeNull();
    expect(joined(part(0, 5, []), part(5, 10, []))).toBeNull();
    expect(joined(part(0, 5), part(5, 11, ['ETag', '"a"'], now, 11))).toBeNull();
    const same = ['Last-Modified', formatHttpDate(now - 1e6)];
    expect(joined(part(0, 5, same), part(5, 10, same))).toBeNull();
  });
});
