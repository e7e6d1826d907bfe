import { describe, expect, test } from 'vitest';
import { DEFAULT_OBJECT_BYTES, TraceRecorder } from './trace-recorder.ts';

type Line = [timeMs: number | null, client: string | null, object: string, bytes: number | null];

function recorded(...lines: Line[]) {
  const recorder = new TraceRecorder();
  for (const [timeMs, client, object, bytes] of lines) recorder.add({ timeMs, client, object, bytes });
  return recorder.finish();
}

describe('TraceRecorder numbers', () => {
  const trace = recorded(
    [5000, 'p', 'a', 10],
    [6000, 'q', 'b', 20],
    [7000, 'p', 'a', 10],
    [8000, 'r', 'c', 30],
  );

  test('objects and clients in the order of first sight', () => {
    expect([...trace.deal({ nodes: 100 })]).toEqual([
      { timeMs: 0, node: 0, object: 0, bytes: 10 },
      { timeMs: 1000, node: 1, object: 1, bytes: 20 },
      { timeMs: 2000, node: 0, object: 0, bytes: 10 },
      { timeMs: 3000, node: 2, object: 2, bytes: 30 },
    ]);
    expect(trace).toMatchObject({ requests: 4, objects: 3, clients: 3, hasTimes: true, outOfOrder: 0 });
    expect(trace.maxHitRatio).toBe(0.25);
    expect(trace.objectBytes).toBe(60);
    expect(trace.requestedBytes).toBe(70);
  });

  test('more objects than its tables hold at first', () => {
    const lines = Array.from({ length: 5000 }, (_, i): Line => [null, null, `o${i % 2500}`, 5000 - i]);
    const many = recorded(...lines);
    expect(many.objects).toBe(2500);
    const requests = [...many.deal({ nodes: 1 })];
    // The longest body of each is the first one.
    expect(requests.map(({ object, bytes }) => bytes + object)).toEqual(Array(5000).fill(5000));
  });

  test('at most as many names as a Map holds', () => {
    const recorder = new TraceRecorder({ mostNames: 2 });
    const line = { timeMs: null, client: null, bytes: null };
    for (const object of ['a', 'b', 'a']) recorder.add({ ...line, object });
    expect(() => recorder.add({ ...line, object: 'c' })).toThrow(
      'Cannot read a trace: expected at most 2 distinct objects, got more',
    );
  });
});

describe('the length of an object', () => {
  test('is the longest that was logged, from the first request on', () => {
    const trace = recorded([0, 'p', 'a', 10], [1, 'p', 'a', 500], [2, 'p', 'a', null], [3, 'p', 'a', 20]);
    expect([...trace.deal({ nodes: 1 })].map(({ bytes }) => bytes)).toEqual([500, 500, 500, 500]);
    expect(trace.objectsWithoutLength).toBe(0);
  });

  test('is the average of the others if no line tells it, or the default', () => {
    const trace = recorded([0, 'p', 'a', 10], [1, 'p', 'b', null], [2, 'p', 'c', 30]);
    expect([...trace.deal({ nodes: 1 })].map(({ bytes }) => bytes)).toEqual([10, 20, 30]);
    expect(trace.objectsWithoutLength).toBe(1);
    const names = recorded([null, null, 'a', null]);
    expect([...names.deal({ nodes: 1 })][0].bytes).toBe(DEFAULT_OBJECT_BYTES);
  });
});

describe('times', () => {
  test('of one second are spread evenly over it', () => {
    const trace = recorded(
      [4000, 'p', 'a', 1],
      [4000, 'p', 'b', 1],
      [4000, 'p', 'c', 1],
      [4000, 'p', 'd', 1],
    );
    expect([...trace.deal({ nodes: 1 })].map(({ timeMs }) => timeMs)).toEqual([0, 250, 500, 750]);
  });

  test('with milliseconds stay within one', () => {
    const trace = recorded([4001, 'p', 'a', 1], [4001, 'p', 'b', 1], [4001.5, 'p', 'c', 1]);
    expect([...trace.deal({ nodes: 1 })].map(({ timeMs }) => timeMs)).toEqual([0, 0.25, 0.5]);
  });

  test('never go back, and lines that do so by more than a minute are counted', () => {
    const trace = recorded(
      [4000, 'p', 'a', 1],
      [6000, 'p', 'b', 1],
      [5000, 'p', 'c', 1],
      [6000, 'p', 'd', 1],
    );
    expect(trace.outOfOrder).toBe(0);
    expect([...trace.deal({ nodes: 1 })].map(({ timeMs }) => timeMs)).toEqual([
      0,
      2000,
      2000 + 1000 / 3,
      2000 + 2000 / 3,
    ]);
    const late = recorded([100_000, 'p', 'a', 1], [40_000, 'p', 'b', 1], [39_999, 'p', 'c', 1]);
    expect(late.outOfOrder).toBe(1);
  });
});
