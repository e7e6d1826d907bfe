import { expectUniform } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { TraceRecorder } from './trace-recorder.ts';

function recorded(
  requests: number,
  client: (i: number) => string | null,
  timeMs: (i: number) => number | null,
) {
  const recorder = new TraceRecorder();
  for (let i = 0; i < requests; i++)
    recorder.add({ timeMs: timeMs(i), client: client(i), object: `o${i % 7}`, bytes: 100 });
  return recorder.finish();
}

test('RecordedTrace can be replayed as often as wanted, from several chunks', () => {
  const trace = recorded(
    50_000,
    (i) => `c${i % 11}`,
    (i) => i * 1000,
  ).deal({ nodes: 4 });
  const first = [...trace];
  expect(first).toHaveLength(50_000);
  expect([...trace]).toEqual(first);
  expect(first[49_999]).toEqual({
    timeMs: 49_999_000,
    node: (49_999 % 11) % 4,
    object: 49_999 % 7,
    bytes: 100,
  });
});

test('RecordedTrace.deal keeps each client at the node of its number modulo nodes', () => {
  const trace = recorded(
    100,
    (i) => `c${(i * i) % 13}`,
    (i) => i,
  );
  const order = [...new Set(Array.from({ length: 100 }, (_, i) => `c${(i * i) % 13}`))];
  const nodes = [...trace.deal({ nodes: 3 })].map(({ node }) => node);
  expect(nodes).toEqual(Array.from({ length: 100 }, (_, i) => order.indexOf(`c${(i * i) % 13}`) % 3));
});

test('RecordedTrace.deal deals in turn, or at random without a pattern, and the same for a seed', () => {
  const trace = recorded(
    64_000,
    () => null,
    () => null,
  );
  expect([...trace.deal({ nodes: 3, by: 'round-robin' })].slice(0, 5).map(({ node }) => node)).toEqual([
    0, 1, 2, 0, 1,
  ]);
  const nodesOf = (seed?: number) => Array.from(trace.deal({ nodes: 8, seed }), ({ node }) => node);
  const nodes = nodesOf();
  expect(nodesOf(1)).toEqual(nodes);
  expect(nodesOf(2)).not.toEqual(nodes);
  const counts = new Array(8).fill(0);
  const pairs = new Array(64).fill(0);
  for (const [i, node] of nodes.entries()) {
    counts[node]++;
    if (i % 2 === 1) pairs[nodes[i - 1] * 8 + node]++;
  }
  expectUniform(counts, 'requests of each node');
  expectUniform(pairs, 'pairs of nodes');
});

test('RecordedTrace.deal replaces times by a rate for each node', () => {
  const timed = recorded(
    3,
    () => 'c',
    (i) => i * 9000,
  );
  expect(Array.from(timed.deal({ nodes: 2, ratePerNode: 50 }), ({ timeMs }) => timeMs)).toEqual([0, 10, 20]);
  expect(Array.from(timed.deal({ nodes: 2 }), ({ timeMs }) => timeMs)).toEqual([0, 9000, 18_000]);
  const untimed = recorded(
    3,
    () => 'c',
    () => null,
  );
  expect(Array.from(untimed.deal({ nodes: 2 }), ({ timeMs }) => timeMs)).toEqual([0, 50, 100]);
});

test('RecordedTrace.deal refuses no nodes, and clients that are not there', () => {
  const trace = recorded(
    3,
    () => null,
    () => null,
  );
  expect(() => trace.deal({ nodes: 0 })).toThrow('Cannot deal a trace: expected at least 1 node, got 0');
  expect(() => trace.deal({ nodes: 2, by: 'clients' })).toThrow('expected clients in it, got none');
});
