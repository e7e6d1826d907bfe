import { describe, expect, it } from 'vitest';
import type { AnswerRecord } from '../../proxy/proxy-observer.ts';
import { renderMetrics } from '../metrics/metrics-text.ts';
import { mergeSnapshots, NodeCounters } from '../metrics/node-counters.ts';
import { ownerOf } from '../workers/team.ts';
import { Log } from './log.ts';
import { publicFields, publicUrl } from './log-privacy.ts';

describe('what is left out of logs', () => {
  it('users, passwords and the values of queries', () => {
    expect(publicUrl('http://user:pass@host:81/a/b?token=1&x&y=2#f')).toBe(
      'http://host:81/a/b?token=…&x&y=…',
    );
    expect(publicUrl('/a?key=1')).toBe('/a?key=…');
    expect(publicUrl('http://host/a@b')).toBe('http://host/a@b');
    expect(publicUrl('http://a@b@host/')).toBe('http://host/');
    expect(publicUrl('host:443')).toBe('host:443');
    // Refused requests are logged as well.
    expect(publicUrl('user:pass@host:443')).toBe('host:443');
    expect(publicUrl('user:pass@host/a@b?x=1')).toBe('host/a@b?x=…');
    expect(publicUrl('/a#access_token=1')).toBe('/a');
    expect(publicUrl('/@scope/a')).toBe('/@scope/a');
    expect(publicUrl('*')).toBe('*');
  });

  it('fields by their names, and URLs inside of messages', () => {
    const fields = publicFields({
      authorization: 'Basic abc',
      headers: { Cookie: 'a=b', accept: '*/*', deep: { token: 1 } },
      problem: Object.assign(new Error('cannot reach http://u:p@h/x?token=abc now'), { code: 'EFAIL' }),
      list: ['http://h/?a=abc', 1],
      bytes: 12n,
    });
    expect(fields).toEqual({
      authorization: '[removed]',
      headers: { Cookie: '[removed]', accept: '*/*', deep: '[object]' },
      problem: 'cannot reach http://h/x?token=… now (EFAIL)',
      list: ['http://h/?a=…', 1],
      bytes: '12',
    });
  });

  it('what is too long', () => {
    expect(publicUrl(`http://h/${'a'.repeat(100_000)}`).length).toBeLessThan(2100);
    expect(publicUrl(`http://h/?${'a='.repeat(100_000)}`).length).toBeLessThan(4100);
    expect(String(publicFields({ text: 'a'.repeat(100_000) }).text).length).toBeLessThan(2100);
  });
});

describe('the log', () => {
  function record(format: 'json' | 'text', level: 'debug' | 'info' = 'info') {
    const lines: string[] = [];
    let now = Date.UTC(2030, 0, 1);
    const log = new Log({
      level,
      format,
      fields: { worker: 1 },
      clock: () => now,
      write: (line) => lines.push(line),
    });
    return {
      lines,
      log,
      wait: (ms: number) => {
        now += ms;
      },
    };
  }

  it('is JSON, a line for each event of its level', () => {
    const { lines, log } = record('json');
    log.event('debug', 'not-this');
    log.event('warn', 'origin-failed', { url: 'http://h/?a=1', ms: 5 });
    expect(lines).toEqual([
      '{"time":"2030-01-01T00:00:00.000Z","level":"warn","event":"origin-failed","worker":1,"url":"http://h/?a=…","ms":5}\n',
    ]);
    log.change({ level: 'debug', format: 'text' });
    log.event('debug', 'this');
    expect(lines[1]).toBe('2030-01-01T00:00:00.000Z debug this worker=1\n');
  });

  it('is one line also for text that is not', () => {
    const { lines, log } = record('text');
    log.event('info', 'x', { a: 'one\ntwo\u001b[31m', b: 'plain', c: 'two words', d: ['l'], e: undefined });
    expect(lines[0]).toBe(
      '2030-01-01T00:00:00.000Z info  x worker=1 a="one\\ntwo\\u001b[31m" b=plain c="two words" d="[\\"l\\"]"\n',
    );
  });

  it('does not let one kind of event flood it, and counts what it left out', () => {
    const { lines, log, wait } = record('json');
    for (let i = 0; i < 1000; i++) log.event('warn', 'flood');
    log.event('warn', 'other');
    expect(lines).toHaveLength(51);
    wait(1000);
    log.event('warn', 'flood');
    expect(JSON.parse(lines[51])).toMatchObject({ event: 'events-left-out', of: 'flood', count: 950 });
    expect(JSON.parse(lines[52])).toMatchObject({ event: 'flood' });
  });
});

const ANSWER: AnswerRecord = {
  at: 0,
  client: '',
  method: 'GET',
  url: '',
  status: 200,
  outcome: 'hit',
  reason: '',
  bytesOut: 10,
  bytesFromOrigin: 0,
  durationMs: 0.7,
  aborted: false,
};
const FACTS = {
  processes: 1,
  startedAt: 1000,
  heapUsedBytes: 1,
  residentBytes: 2,
  openDescriptors: 3,
  cpuMicros: 4,
  eventLoopP50Ms: 5,
  eventLoopP99Ms: 6,
  eventLoopMaxMs: 7,
};
const STORE = {
  responses: 1,
  bytes: 2,
  capacityBytes: 3,
  evictions: 4,
  corrupt: 5,
  refused: 6,
  copies: 7,
  copyBytes: 8,
};

describe('counters', () => {
  it('put a duration into its bucket, up to and including the bound', () => {
    const counters = new NodeCounters();
    for (const durationMs of [0, 0.5, 0.6, 10, 10_000, 10_001]) counters.answered({ ...ANSWER, durationMs });
    const { latency } = counters.snapshot({}, 0, FACTS);
    expect(latency.cache).toEqual([2, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1]);
  });

  it('of several processes add up, and the worst delay stays', () => {
    const [one, two] = [new NodeCounters(), new NodeCounters()];
    one.answered(ANSWER);
    two.answered({ ...ANSWER, outcome: 'refused', reason: 'a "quote" \\ and\nline', status: 403 });
    two.answered({ ...ANSWER, outcome: 'miss', bytesFromOrigin: 10, aborted: true });
    const merged = mergeSnapshots([
      one.snapshot({ memory: STORE }, 1, FACTS),
      two.snapshot({ memory: STORE, disk: STORE }, 2, {
        ...FACTS,
        startedAt: 500,
        eventLoopMaxMs: 70,
        openDescriptors: -1,
      }),
    ]);
    expect(merged).toMatchObject({
      bytesOut: 30,
      bytesFromOrigin: 10,
      originFetches: 1,
      aborted: 1,
      accessLogDropped: 3,
      stores: { memory: { responses: 2, refused: 12 }, disk: { responses: 1 } },
      process: {
        processes: 2,
        startedAt: 500,
        residentBytes: 4,
        eventLoopP50Ms: 5,
        eventLoopMaxMs: 70,
        openDescriptors: -1,
      },
    });
    const text = renderMetrics(merged, { name: 'n', version: 'v' });
    expect(text).toContain('bloomery_cache_refused_total{reason="a \\"quote\\" \\\\ and\\nline"} 1\n');
    expect(text).not.toContain('process_open_fds');
  });
});

describe('who owns a key', () => {
  it('is one of them, always the same, and each has his part', () => {
    const counts = [0, 0, 0];
    for (let i = 0; i < 30_000; i++) counts[ownerOf(`http://host/${i}`, 3)]++;
    // Binomial: 10,000 ± 5 × 82.
    for (const count of counts) expect(Math.abs(count - 10_000)).toBeLessThan(410);
    expect(ownerOf('http://host/', 1)).toBe(0);
    expect(ownerOf('http://host/a', 5)).toBe(ownerOf('http://host/a', 5));
  });
});
