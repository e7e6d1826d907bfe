import { withEffort } from '@bloomery/testkit/effort';
import { expectBinomial, Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { exactCounts, keyOfFlow, SECRET, zipfPackets } from '../../test/flows/flow-streams.ts';
import { passProbability } from './math/multistage.ts';
import { MultistageFilter, type MultistageFilterOptions } from './multistage-filter.ts';

function secretOf(random: Random): Uint8Array {
  return new Uint8Array(Int32Array.from({ length: 4 }, () => random.bits()).buffer);
}

function key(number: number): Int32Array {
  return Int32Array.of(1, number);
}

/** Probability that at least `least` of n flows fall into one of b counters. */
function upperTail(n: number, b: number, least: number): number {
  let term = (1 - 1 / b) ** n;
  let below = 0;
  for (let i = 0; i < least; i++) {
    below += term;
    term *= (n - i) / (i + 1) / (b - 1);
  }
  return 1 - below;
}

test('a parallel filter lets flows pass as often as the binomial distribution says', () => {
  // 200 flows of one unit; a flow passes if its counter in each stage has 6 or more of them.
  const trials = withEffort(600, 600);
  for (const stages of [1, 2, 3]) {
    const random = new Random(stages);
    let passed = 0;
    for (let i = 0; i < trials; i++) {
      const filter = new MultistageFilter({ threshold: 7, stages, counters: 50, secret: secretOf(random) });
      for (let flow = 1; flow <= 200; flow++) filter.offer(key(flow), 1);
      if (filter.offer(key(0), 1)) passed++;
    }
    expectBinomial(passed, trials, upperTail(200, 50, 6) ** stages, `${stages} stages`);
    // The bound of the paper holds for the flow of one unit, and is far from tight.
    expect(passed / trials).toBeLessThan(passProbability((7 * 50) / 201, stages, 1, 7));
  }
});

const FORMS: Partial<MultistageFilterOptions>[] = [{}, { update: 'conservative' }, { arrangement: 'serial' }];

test('no form misses a flow of T bytes, and no bound is below the truth', () => {
  for (const form of FORMS) {
    const random = new Random(11);
    for (let round = 0; round < withEffort(6, 3); round++) {
      const threshold = 500 + random.below(3000);
      const stages = 1 + random.below(4);
      const filter = new MultistageFilter({
        threshold,
        stages,
        counters: 20 + random.below(60),
        secret: secretOf(random),
        ...form,
      });
      const truth = new Map<number, number>();
      const passed = new Set<number>();
      for (let i = 0; i < 2000; i++) {
        const flow = Math.floor(random.below(300) * (random.below(1000) / 1000) ** 3);
        const bytes = 1 + random.below(100);
        truth.set(flow, (truth.get(flow) ?? 0) + bytes);
        // Without shielding every packet goes through the filter, so its bound covers all of them.
        if (filter.offer(key(flow), bytes)) passed.add(flow);
        if (truth.get(flow)! >= threshold + (form.arrangement === 'serial' ? stages * 100 : 0)) {
          expect(passed.has(flow)).toBe(true);
        }
        // Stage i of a serial filter counts what passed the stages before; the first counts all.
        if (i % 50 === 0) expect(filter.bound(key(flow))).toBeGreaterThanOrEqual(truth.get(flow)!);
      }
      expect(passed.size).toBeGreaterThan(0);
      filter.clear();
      expect(filter.bound(key(1))).toBe(0);
    }
  }
});

test('conservative update never counts more than plain update', () => {
  const options = { threshold: 1000, stages: 3, counters: 40, secret: new Uint8Array(16) };
  const plain = new MultistageFilter(options);
  const conservative = new MultistageFilter({ ...options, update: 'conservative' });
  const random = new Random(5);
  let less = 0;
  for (let i = 0; i < 1500; i++) {
    const flow = random.below(400);
    plain.offer(key(flow), 10);
    conservative.offer(key(flow), 10);
    expect(conservative.bound(key(flow))).toBeLessThanOrEqual(plain.bound(key(flow)));
    if (conservative.bound(key(flow)) < plain.bound(key(flow))) less++;
  }
  expect(less).toBeGreaterThan(800);
});

test('wrong options are refused', () => {
  const options = { threshold: 1000, stages: 3, counters: 40, secret: new Uint8Array(16) };
  expect(() => new MultistageFilter({ ...options, stages: 9 })).toThrow(/Cannot use stages: expected 1 to 8/);
  expect(() => new MultistageFilter({ ...options, counters: 0 })).toThrow(/Cannot use counters/);
  expect(() => new MultistageFilter({ ...options, threshold: 0 })).toThrow(/Cannot use threshold/);
  expect(() => new MultistageFilter({ ...options, arrangement: 'serial', update: 'conservative' })).toThrow(
    /Cannot use update/,
  );
});

test('the serial form lets more small flows pass than the parallel one, conservative update fewer', () => {
  const packets = zipfPackets(30_000, 20_000, 'mixed', 2);
  const total = packets.reduce((sum, { bytes }) => sum + bytes, 0);
  const truth = exactCounts(packets);
  const threshold = total / 400;
  const [parallel, conservative, serial] = FORMS.map((form) => {
    const filter = new MultistageFilter({ threshold, stages: 4, counters: 400, secret: SECRET, ...form });
    const light = new Set<number>();
    for (const { flow, bytes } of packets) {
      if (filter.offer(keyOfFlow(flow), bytes) && truth.get(flow)!.bytes < threshold) light.add(flow);
    }
    return light.size;
  });
  expect(conservative).toBeLessThan(parallel);
  expect(serial).toBeGreaterThan(1.5 * parallel);
});
