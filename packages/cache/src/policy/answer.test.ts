import { describe, expect, it } from 'vitest';
import { answerFrom } from './answer.ts';
import { fieldValue, fieldValues } from './fields.ts';
import { formatHttpDate } from './http-date.ts';
import { DEFAULT_POLICY } from './policy-options.ts';
import type { StoredResponse } from './stored-response.ts';
import { toStore, withBody } from './storing.ts';

const now = Date.UTC(2025, 0, 1);
const key = 'http://a/b';
const at = (seconds: number) => formatHttpDate(now + seconds * 1000);

function stored(headers: string[], { status = 200, length = 10, range = '' } = {}): StoredResponse {
  const result = toStore(
    { method: 'GET', key, headers: range === '' ? [] : ['Range', 'bytes=0-0'] },
    {
      status,
      statusText: 'Text',
      headers: ['Date', at(0), 'Cache-Control', 'max-age=60', 'Content-Type', 'text/plain', ...headers],
    },
    { requestTime: now, responseTime: now },
    DEFAULT_POLICY,
  );
  return length < 0 ? result! : withBody(result!, length);
}

const whole = stored(['ETag', '"a"', 'Last-Modified', at(-3000), 'Content-Length', '10']);

function answer(response: StoredResponse, request: string[] = [], method = 'GET', seconds = 5) {
  const context = { stale: false, status: 'c; hit' };
  return answerFrom(
    { method, key, headers: request },
    response,
    now + seconds * 1000,
    context,
    DEFAULT_POLICY,
  );
}

const body = (response: StoredResponse, request: string[]) => {
  const made = answer(response, request);
  if (made === null) return null;
  return made.body.kind === 'part'
    ? [made.status, made.body.start, made.body.end]
    : [made.status, made.body.kind];
};

describe('the plain answer (RFC 9111, 4)', () => {
  it('has the stored fields, Via, Age and Cache-Status', () => {
    const made = answer(whole)!;
    expect(made).toMatchObject({ status: 200, statusText: 'Text', body: { kind: 'all' } });
    expect(made.headers).toEqual([
      ...['Date', at(0), 'Cache-Control', 'max-age=60', 'Content-Type', 'text/plain', 'ETag', '"a"'],
      ...['Last-Modified', at(-3000), 'Via', '1.1 bloomery', 'Content-Length', '10'],
      ...['Age', '5', 'Cache-Status', 'c; hit'],
    ]);
  });

  it('is a new list each time', () => {
    answer(whole)!.headers.push('X', 'y');
    expect(fieldValue(answer(whole)!.headers, 'x')).toBeUndefined();
  });

  it('has a Content-Length that is ours', () => {
    expect(
      fieldValues(
        answer(stored(['Content-Length', '10', 'Content-Length', '10']))!.headers,
        'content-length',
      ),
    ).toEqual(['10']);
    expect(fieldValue(answer(stored([]))!.headers, 'content-length')).toBe('10');
    expect(fieldValue(answer(stored([], { length: -1 }))!.headers, 'content-length')).toBeUndefined();
    expect(
      fieldValue(answer(stored(['Content-Length', '7'], { length: -1 }))!.headers, 'content-length'),
    ).toBe('7');
  });

  it('has none where there can be no content (RFC 9110, 8.6)', () => {
    const made = answer(stored([], { status: 204, length: 0 }))!;
    expect(fieldValue(made.headers, 'content-length')).toBeUndefined();
    expect(made.body).toEqual({ kind: 'none' });
  });

  it('for HEAD has all but the body', () => {
    const made = answer(whole, ['Range', 'bytes=0-1'], 'HEAD')!;
    expect(made).toMatchObject({ status: 200, body: { kind: 'none' } });
    expect(fieldValue(made.headers, 'content-length')).toBe('10');
  });

  it('goes by the name of the one who answers', () => {
    const other = { ...DEFAULT_POLICY, name: 'other' };
    answer(whole);
    const made = answerFrom(
      { method: 'GET', key, headers: [] },
      whole,
      now,
      { stale: false, status: 's' },
      other,
    );
    expect(fieldValue(made!.headers, 'via')).toBe('1.1 other');
    expect(fieldValue(answer(whole)!.headers, 'via')).toBe('1.1 bloomery');
  });

  it.each([
    [0, '0'],
    [0.999, '0'],
    [59.5, '59'],
    [-60, '0'],
    [1e13, '2147483648'],
  ])('after %d s is %s old (5.1)', (seconds, age) => {
    expect(fieldValue(answer(whole, [], 'GET', seconds)!.headers, 'age')).toBe(age);
  });

  it('keeps what an inner cache said', () => {
    const made = answer(stored(['Cache-Status', 'inner; hit', 'Via', '1.1 inner']))!;
    expect(fieldValues(made.headers, 'cache-status')).toEqual(['inner; hit', 'c; hit']);
    expect(fieldValues(made.headers, 'via')).toEqual(['1.1 inner', '1.1 bloomery']);
  });
});

describe('conditions (RFC 9111, 4.3.2; RFC 9110, 13.1)', () => {
  it.each<[string[], number]>([
    [['If-None-Match', '"a"'], 304],
    [['If-None-Match', 'W/"a"'], 304],
    [['If-None-Match', '"x", "a"'], 304],
    [['If-None-Match', '"a,b", W/"a"'], 304],
    [['If-None-Match', '"x"', 'If-None-Match', '"a"'], 304],
    [['If-None-Match', '*'], 304],
    [['If-None-Match', '"A"'], 200],
    [['If-None-Match', 'a'], 200],
    [['If-None-Match', '"x, a"'], 200],
    [['If-None-Match', ''], 200],
    [['If-Modified-Since', at(-3000)], 304],
    [['If-Modified-Since', at(-2000)], 304],
    [['If-Modified-Since', at(-3001)], 200],
    [['If-Modified-Since', 'Tuesday, 31-Dec-24 23:59:59 GMT'], 304],
    [['If-Modified-Since', 'yesterday'], 200],
    [['If-Modified-Since', at(0), 'If-Modified-Since', at(0)], 200],
    // If-None-Match alone decides.
    [['If-None-Match', '"a"', 'If-Modified-Since', at(-10000)], 304],
    [['If-None-Match', '"x"', 'If-Modified-Since', at(0)], 200],
    // A 304 comes before a range (RFC 9110, 13.2.2).
    [['If-None-Match', '"a"', 'Range', 'bytes=0-1'], 304],
    [['If-None-Match', '"x"', 'Range', 'bytes=0-1'], 206],
  ])('%j: %i', (request, status) => {
    expect(answer(whole, request)!.status).toBe(status);
  });

  it('compare weak tags weakly and unquoted ones as they are', () => {
    expect(answer(stored(['ETag', 'W/"a"']), ['If-None-Match', '"a"'])!.status).toBe(304);
    expect(answer(stored(['ETag', 'abc']), ['If-None-Match', 'abc'])!.status).toBe(304);
    expect(answer(stored(['ETag', 'abc']), ['If-None-Match', '"abc"'])!.status).toBe(200);
  });

  it('go by Date where there is no Last-Modified', () => {
    expect(answer(stored([]), ['If-Modified-Since', at(0)])!.status).toBe(304);
    expect(answer(stored([]), ['If-Modified-Since', at(-3000)])!.status).toBe(200);
  });

  it('do not count for errors and redirects (RFC 9110, 13.2.1)', () => {
    for (const status of [301, 404, 500]) {
      expect(answer(stored(['ETag', '"a"'], { status }), ['If-None-Match', '"a"'])!.status).toBe(status);
    }
  });

  it('make a 304 without what describes the content (RFC 9110, 15.4.5)', () => {
    const response = stored([
      ...[
        'ETag',
        '"a"',
        'Last-Modified',
        at(-1),
        'Content-Length',
        '10',
        'Content-Encoding',
        'gzip',
        'X-Y',
        'z',
      ],
      ...['Content-Location', '/c', 'Vary', 'q', 'Expires', at(5), 'Content-Language', 'en'],
    ]);
    const made = answer(response, ['If-None-Match', '"a"'])!;
    expect(made).toMatchObject({ status: 304, statusText: 'Not Modified', body: { kind: 'none' } });
    expect(made.headers.filter((_, i) => i % 2 === 0)).toEqual([
      ...[
        'Date',
        'Cache-Control',
        'ETag',
        'X-Y',
        'Content-Location',
        'Vary',
        'Expires',
        'Via',
        'Age',
        'Cache-Status',
      ],
    ]);
    const dated = answer(stored(['Last-Modified', at(-1)]), ['If-Modified-Since', at(0)])!;
    expect(fieldValue(dated.headers, 'last-modified')).toBe(at(-1));
  });
});

describe('ranges (RFC 9110, 14, 15.3.7)', () => {
  it('of one part', () => {
    const made = answer(whole, ['Range', 'bytes=2-4'])!;
    expect(made).toMatchObject({
      status: 206,
      statusText: 'Partial Content',
      body: { kind: 'part', start: 2, end: 5 },
    });
    expect(fieldValue(made.headers, 'content-range')).toBe('bytes 2-4/10');
    expect(fieldValues(made.headers, 'content-length')).toEqual(['3']);
    expect(fieldValue(made.headers, 'etag')).toBe('"a"');
    expect(fieldValue(made.headers, 'age')).toBe('5');
  });

  it.each<[string, unknown[]]>([
    ['bytes=1-', [206, 1, 10]],
    ['bytes=-1', [206, 9, 10]],
    ['bytes=10-', [416, 'none']],
    ['bytes=5-1', [200, 'all']],
    ['bytes=0-4,5-9', [206, 0, 10]],
    ['pages=1', [200, 'all']],
  ])('%s: %j', (range, expected) => {
    expect(body(whole, ['Range', range])).toEqual(expected);
  });

  it('unsatisfiable says how long it is (15.5.17)', () => {
    const made = answer(whole, ['Range', 'bytes=10-'])!;
    expect(fieldValue(made.headers, 'content-range')).toBe('bytes */10');
    expect(fieldValues(made.headers, 'content-length')).toEqual(['0']);
    expect(fieldValue(made.headers, 'content-type')).toBeUndefined();
  });

  it('of several parts (15.3.7.2)', () => {
    const made = answer(whole, ['Range', 'bytes=8-9, 0-1'])!;
    expect(made.status).toBe(206);
    if (made.body.kind !== 'parts') throw new Error(`expected parts, got ${made.body.kind}`);
    expect(fieldValue(made.headers, 'content-range')).toBeUndefined();
    const [type] = fieldValues(made.headers, 'content-type');
    const boundary = /^multipart\/byteranges; boundary=([\w-]{1,70})$/.exec(type!)![1];
    const bytes = '0123456789';
    const text = `${made.body.parts.map((p) => p.head + bytes.slice(p.start, p.end)).join('')}${made.body.tail}`;
    expect(text).toBe(
      `\r\n--${boundary}\r\nContent-Type: text/plain\r\nContent-Range: bytes 8-9/10\r\n\r\n89` +
        `\r\n--${boundary}\r\nContent-Type: text/plain\r\nContent-Range: bytes 0-1/10\r\n\r\n01\r\n--${boundary}--\r\n`,
    );
    expect(made.body.contentLength).toBe(text.length);
    expect(fieldValues(made.headers, 'content-length')).toEqual([String(text.length)]);
  });

  it.each<[string, number]>([
    ['"a"', 206],
    ['W/"a"', 200],
    ['"b"', 200],
    [at(-3000), 206],
    [at(-2999), 200],
    ['garbage', 200],
  ])('if If-Range %s: %i (13.1.5)', (value, status) => {
    expect(answer(whole, ['Range', 'bytes=0-1', 'If-Range', value])!.status).toBe(status);
  });

  it('not if the stored tag is weak, or the date too young to be strong', () => {
    const weak = stored(['ETag', 'W/"a"', 'Last-Modified', at(-1)]);
    for (const value of ['"a"', 'W/"a"', at(-1)]) {
      expect(answer(weak, ['Range', 'bytes=0-1', 'If-Range', value])!.status).toBe(200);
    }
  });

  it('only of a 200, and only if the length is known', () => {
    expect(body(stored([], { status: 404 }), ['Range', 'bytes=0-1'])).toEqual([404, 'all']);
    expect(body(stored([], { length: -1 }), ['Range', 'bytes=0-1'])).toEqual([200, 'all']);
    expect(body(stored(['Content-Length', '7'], { length: -1 }), ['Range', 'bytes=-1'])).toEqual([206, 6, 7]);
  });
});

describe('answers from parts', () => {
  const part = stored(['Content-Range', 'bytes 4-9/20', 'ETag', '"a"'], {
    status: 206,
    length: 6,
    range: 'x',
  });

  it.each<[string[], unknown[] | null]>([
    [
      ['Range', 'bytes=4-9'],
      [206, 0, 6],
    ],
    [
      ['Range', 'bytes=6-8'],
      [206, 2, 5],
    ],
    [['Range', 'bytes=3-5'], null],
    [['Range', 'bytes=8-10'], null],
    [['Range', 'bytes=4-'], null],
    [['Range', 'bytes=-1'], null],
    [
      ['Range', 'bytes=5-5, 30-'],
      [206, 1, 2],
    ],
    [['Range', 'bytes=5-5, 12-13'], null],
    [
      ['Range', 'bytes=20-'],
      [416, 'none'],
    ],
    [['Range', 'nonsense'], null],
    [[], null],
    [
      ['If-None-Match', '"a"'],
      [304, 'none'],
    ],
    [['Range', 'bytes=4-4', 'If-Range', '"b"'], null],
  ])('bytes 4 to 9 of 20 for %j: %j', (request, expected) => {
    expect(body(part, request)).toEqual(expected);
  });

  it('have a Content-Range of their own', () => {
    const made = answer(part, ['Range', 'bytes=6-8'])!;
    expect(fieldValues(made.headers, 'content-range')).toEqual(['bytes 6-8/20']);
    expect(fieldValues(made.headers, 'content-length')).toEqual(['3']);
  });
});
