import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { AccessLog } from '../../node/log/access-log.ts';
import type { AnswerRecord } from '../../proxy/proxy-observer.ts';
import { nodeJsonLog, nodeLog, squidLog } from './cache-logs.ts';
import { CACHEABLE } from './trace-line.ts';

test("squidLog reads Squid's native log", () => {
  const parse = squidLog(CACHEABLE);
  const line =
    '1066037222.352    126 192.0.2.7 TCP_MISS/200 30711 GET http://o.example/a - DIRECT/192.0.2.9 image/gif';
  expect(parse(line)).toEqual({
    timeMs: 1_066_037_222_352,
    client: '192.0.2.7',
    object: 'http://o.example/a',
    bytes: 30_711,
  });
  expect(parse(line.replace('MISS/200', 'MISS/404'))).toBe('status');
  expect(parse(line.replace(' GET ', ' CONNECT '))).toBe('method');
  expect(parse(line.replace('/200', '/abc'))).toBeNull();
});

test.each([
  ['text', nodeLog(CACHEABLE)],
  ['json', nodeJsonLog(CACHEABLE)],
] as const)("the lines that a node's access log writes as %s are read", async (format, parse) => {
  const folder = mkdtempSync(join(tmpdir(), 'bloomery-cache-logs-'));
  try {
    const path = join(folder, 'access.log');
    const log = new AccessLog({ path, format, failed: () => {}, dropped: () => {} });
    log.add(ANSWER);
    log.add({ ...ANSWER, method: 'HEAD' });
    await log.close();
    const lines = readFileSync(path, 'latin1').trimEnd().split('\n');
    expect(lines.map(parse)).toEqual([
      { timeMs: ANSWER.at, client: '192.0.2.1', object: 'http://o.example/a', bytes: 2326 },
      'method',
    ]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('nodeJsonLog refuses other JSON and broken JSON', () => {
  const parse = nodeJsonLog(CACHEABLE);
  expect(parse('{"at":"2026-01-01T00:00:00.000Z"}')).toBeNull();
  expect(parse('{"at":')).toBeNull();
  expect(parse('[]')).toBeNull();
});

const ANSWER: AnswerRecord = {
  at: Date.parse('2026-01-02T03:04:05.678Z'),
  client: '192.0.2.1',
  method: 'GET',
  url: 'http://o.example/a',
  status: 200,
  outcome: 'hit',
  reason: '',
  bytesOut: 2326,
  bytesFromOrigin: 0,
  durationMs: 1.5,
  aborted: false,
};
