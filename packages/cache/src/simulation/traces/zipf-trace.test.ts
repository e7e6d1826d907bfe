import { expectBinomial, expectNormal, expectUniform } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { ObjectSizes } from './object-sizes.ts';
import { zipfTrace } from './zipf-trace.ts';

const OPTIONS = { objects: 1000, requests: 100_000, nodes: 8, seed: 5 };

function probability(rank: number): number {
  let sum = 0;
  for (let r = 1; r <= 1000; r++) sum += r ** -0.8;
  return rank ** -0.8 / sum;
}

test('zipfTrace has the asked number of requests, at nodes chosen evenly, with one length per object', () => {
  const trace = [...zipfTrace(OPTIONS)];
  expect(trace).toHaveLength(100_000);
  const counts = new Array(8).fill(0);
  for (const { node } of trace) counts[node]++;
  const sizes = new ObjectSizes(5);
  expect(trace.filter(({ object, bytes }) => bytes !== sizes.bytesOf(object))).toEqual([]);
  expectUniform(counts, 'requests of nodes');
  expectBinomial(
    trace.filter(({ object }) => object === 0).length,
    100_000,
    probability(1),
    'the top object',
  );
});

test('zipfTrace has arrivals as a Poisson process of the rate', () => {
  const trace = [...zipfTrace({ ...OPTIONS, ratePerNode: 50 })];
  const gaps = trace.slice(1).map(({ timeMs }, i) => timeMs - trace[i].timeMs);
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(0);
  const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
  expectNormal(mean, 2.5, 2.5 / Math.sqrt(gaps.length), 'mean gap');
  const long = gaps.filter((gap) => gap > 5).length;
  expectBinomial(long, gaps.length, Math.exp(-2), 'gaps of more than twice the mean');
});

test('zipfTrace can be replayed, and another number of nodes asks for the same objects', () => {
  const trace = zipfTrace({ ...OPTIONS, requests: 1000 });
  expect([...trace]).toEqual([...trace]);
  const more = [...zipfTrace({ ...OPTIONS, requests: 1000, nodes: 64 })];
  expect(more.map(({ object }) => object)).toEqual(Array.from(trace, ({ object }) => object));
  expect(Math.max(...more.map(({ node }) => node))).toBeGreaterThan(8);
  const other = [...zipfTrace({ ...OPTIONS, requests: 1000, seed: 6 })];
  expect(other.map(({ object }) => object)).not.toEqual(Array.from(trace, ({ object }) => object));
});

test('zipfTrace with tastes asks at each group for the object that the group likes best', () => {
  const trace = [...zipfTrace({ ...OPTIONS, nodes: 16, tastes: { groups: 8, share: 0.7 } })];
  for (let group = 0; group < 8; group++) {
    const own = trace.filter(({ node }) => Math.floor(node / 2) === group);
    const best = group * 125;
    // By its taste it is the first; otherwise it has the rank that it has for all.
    const p = 0.7 * probability(1) + 0.3 * probability(best + 1);
    expectBinomial(own.filter(({ object }) => object === best).length, own.length, p, `group ${group}`);
  }
});

test('zipfTrace refuses a trace that cannot be', () => {
  expect(() => zipfTrace({ ...OPTIONS, nodes: 0 })).toThrow('Cannot make a trace: expected requests, nodes');
  expect(() => zipfTrace({ ...OPTIONS, objects: 0 })).toThrow('expected at least 1 rank, got 0');
});
