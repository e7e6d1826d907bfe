/**
 * Trace files as they are met: real logs, other formats, broken lines. Files of real traces are not
 * in the repository. BLOOMERY_DATA names the folder whose `traces` holds them; without it the tests
 * about them are skipped, and say so.
 */

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type ReadTraceOptions, readTrace } from './read-trace.ts';
import type { RecordedTrace } from './recorded-trace.ts';

const read = (text: string, options?: ReadTraceOptions) =>
  readTrace([{ path: 'x.log', parts: [Buffer.from(text, 'latin1')] }], options);

const LOG = [
  'a - - [01/Aug/1995:00:00:01 -0400] "GET /x HTTP/1.0" 200 100',
  'b - - [01/Aug/1995:00:00:02 -0400] "GET /y HTTP/1.0" 304 0',
  'a - - [01/Aug/1995:00:00:02 -0400] "POST /x HTTP/1.0" 200 5',
  'half a li',
  'c - - [01/Aug/1995:00:00:03 -0400] "GET /x HTTP/1.0" 404 9',
  'c - - [01/Aug/1995:00:00:04 -0400] "GET /x HTTP/1.0" 200 100',
].join('\n');

test('readTrace counts requests, skipped lines and malformed ones, with the place of the first', async () => {
  const { trace, report } = await read(`${LOG}\n\nbroken as well\n`);
  expect(report).toEqual({
    format: 'common',
    lines: 7,
    malformed: 2,
    firstMalformed: { path: 'x.log', line: 4, text: 'half a li' },
    skipped: { method: 1, status: 1 },
  });
  expect(trace).toMatchObject({ requests: 3, objects: 2, clients: 3 });
});

test.each([
  ['common', LOG],
  [
    'squid',
    '1066037222.352 126 192.0.2.7 TCP_MISS/200 30711 GET http://o.example/a - DIRECT/192.0.2.9 image/gif',
  ],
  ['bloomery', '2026-01-01T00:00:00.000Z 192.0.2.1 GET http://o.example/a 200 hit - 2326 0 1.5 - - 0 -'],
  [
    'bloomery-json',
    '{"at":"2026-01-01T00:00:00.000Z","client":"c","method":"GET","url":"/a","status":200,"bytesOut":3}',
  ],
  ['sizes', '1 0 68\n2 1 7454\n3 0 68'],
  ['names', 'one\ntwo\none'],
])('readTrace finds the format %s', async (format, text) => {
  expect((await read(text)).report).toMatchObject({ format });
});

test('readTrace reads several files as one trace, and numbers the lines of each', async () => {
  const { trace, report } = await readTrace([
    { path: 'one', parts: [Buffer.from('1 a 10\n2 b 10\n')] },
    { path: 'two', parts: [Buffer.from('3 a 10\nbroken\n')] },
  ]);
  expect(trace).toMatchObject({ requests: 3, objects: 2 });
  expect(report.firstMalformed).toEqual({ path: 'two', line: 2, text: 'broken' });
});

test('readTrace reads numbers of a binary file only if the caller says so', async () => {
  const numbers = '\0\0\0\u0001\0\0\0\u0002\0\0\0\u0001';
  expect((await read(numbers, { format: 'int32' })).trace).toMatchObject({ requests: 3, objects: 2 });
  await expect(read(numbers)).rejects.toMatchObject({ code: 'format' });
});

test.each([
  ['', 'empty', 'expected requests in the format "names", got an empty file (x.log)'],
  ['two words\nand more of them', 'format', 'got "two words" (x.log, line 1)'],
  [LOG.replaceAll('GET', 'PUT'), 'empty', 'got "half a li" (x.log, line 4)'],
  [
    LOG.replaceAll('GET', 'PUT').replace('half a li\n', ''),
    'empty',
    'got 5 lines with other methods or statuses (x.log)',
  ],
])('readTrace refuses a file without requests: %j', async (text, code, message) => {
  await expect(read(text)).rejects.toMatchObject({
    name: 'TraceError',
    code,
    message: expect.stringContaining(message),
  });
});

test('readTrace ends when its signal says so', async () => {
  const controller = new AbortController();
  function* parts() {
    yield Buffer.from('one\n');
    controller.abort(new Error('enough'));
    for (;;) yield Buffer.from('two\n');
  }
  const reading = readTrace([{ path: 'x', parts: parts() }], { signal: controller.signal });
  await expect(reading).rejects.toThrow('enough');
});

const DATA = process.env.BLOOMERY_DATA;
const folder = join(DATA ?? '', 'traces');
const isThere = DATA !== undefined && existsSync(folder);

describe.skipIf(!isThere)(
  `real traces${isThere ? '' : ' (skipped: BLOOMERY_DATA names no folder with traces)'}`,
  () => {
    const file = (name: string) => {
      const path = join(folder, name);
      const bytes = () =>
        name.endsWith('.xz') ? execFileSync('xz', ['-dc', path], { maxBuffer: 1 << 28 }) : readFileSync(path);
      return { path, parts: [bytes()] };
    };

    test.each([
      ['request.trace.xz', undefined, 66_987, 36_815, 0.45],
      ['web07.trace.xz', 'int32', 76_118, 20_484, 0.731],
      ['web12.trace.xz', 'int32', 95_607, 13_756, 0.856],
      ['scarab-recs.trace.xz', 'int64', 1_245_184, 258_368, 0.793],
    ] as const)(
      '%s has the published numbers of requests and objects',
      async (name, format, requests, objects, ratio) => {
        const { trace, report } = await readTrace([file(name)], { format });
        expect(trace).toMatchObject({ requests, objects, clients: 0 });
        expect(report.malformed).toBe(0);
        // The published ratio has two digits; the others follow from requests and objects.
        expect(trace.maxHitRatio).toBeCloseTo(ratio, 2);
        if (name === 'request.trace.xz') expect(trace.objectBytes / 1e9).toBeCloseTo(0.28, 2); // published with two digits
        trace.close();
      },
    );

    const COMPLETE = { methods: new Set(['GET', 'HEAD']), statuses: new Set([200]) };

    test.each([
      ['elastic-apache_logs.log', 9124, 1342, 1670, [0.756, 0.702, 0.64], [0.097, 0.151, 0.213]],
      ['NASA_access_log_Aug95.sample', 1680, 424, 178, [0.592, 0.481, 0.369], [0.155, 0.267, 0.379]],
    ])(
      '%s dealt by clients gives the known local and neighbour hits',
      async (name, requests, objects, clients, local, neighbour) => {
        const { trace } = await readTrace([file(name)], { rules: COMPLETE });
        expect(trace).toMatchObject({ requests, objects, clients });
        for (const [i, nodes] of [4, 8, 16].entries()) {
          const hits = unlimitedHits(trace, nodes);
          // Known to three digits.
          expect(hits.local / requests).toBeCloseTo(local[i], 3);
          expect(hits.neighbour / requests).toBeCloseTo(neighbour[i], 3);
        }
      },
    );

    test('NASA_access_log_Aug95.sample has 89 malformed lines, cut in two, and they are counted', async () => {
      const { trace, report } = await readTrace([file('NASA_access_log_Aug95.sample')]);
      expect(report).toMatchObject({ lines: 1930, malformed: 89, skipped: { method: 0, status: 32 } });
      expect(trace.requests).toBe(1809);
    });
  },
);

/** Hits of caches that never evict: of the own node, and of any other. */
function unlimitedHits(trace: RecordedTrace, nodes: number): { local: number; neighbour: number } {
  const held = new Map<number, Set<number>>();
  const hits = { local: 0, neighbour: 0 };
  for (const { node, object } of trace.deal({ nodes })) {
    const holders = held.get(object) ?? new Set();
    if (holders.has(node)) hits.local++;
    else if (holders.size > 0) hits.neighbour++;
    held.set(object, holders.add(node));
  }
  return hits;
}
