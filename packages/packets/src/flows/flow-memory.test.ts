import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { exactCounts, keyOfFlow, SECRET, zipfPackets } from '../../test/flows/flow-streams.ts';
import { FlowMemory } from './flow-memory.ts';
import { MultistageFilter } from './multistage-filter.ts';
import { SampleAndHold } from './sample-and-hold.ts';

const THRESHOLD = 40_000;

function memory(options: { shielding?: boolean; preserve?: boolean; entries?: number }): FlowMemory {
  const admission = new MultistageFilter({ threshold: THRESHOLD, stages: 3, counters: 300, secret: SECRET });
  return new FlowMemory({ admission, threshold: THRESHOLD, entries: 2000, secret: SECRET, ...options });
}

/** Light flows with entries after each of two intervals of the same traffic. */
function afterTwoIntervals(options: { shielding?: boolean; preserve?: boolean }) {
  const flows = memory(options);
  const passed: number[] = [];
  for (const seed of [1, 2]) {
    if (seed === 2) flows.nextInterval();
    const packets = zipfPackets(20_000, 3000, 'mixed', seed);
    for (const { flow, bytes } of packets) flows.add(keyOfFlow(flow), bytes);
    const truth = exactCounts(packets);
    const heavy = [...truth].filter(([, { bytes }]) => bytes >= THRESHOLD).map(([flow]) => flow);
    const listed = new Set(flows.list().map(({ key }) => key[1]));
    for (const flow of heavy) expect(listed.has(flow)).toBe(true);
    for (const { key, counted } of flows.list()) {
      expect(counted).toBeLessThanOrEqual(truth.get(key[1])!.bytes);
    }
    passed.push(listed.size - heavy.length);
  }
  return passed;
}

test('shielding changes nothing inside one interval, and pays across two', () => {
  const plain = afterTwoIntervals({ shielding: false });
  const shielded = afterTwoIntervals({ shielding: true });
  const forgetful = afterTwoIntervals({ shielding: true, preserve: false });
  expect(shielded[0]).toBe(plain[0]);
  expect(forgetful[0]).toBe(plain[0]);
  // Light flows that pass in the second interval.
  expect(shielded[1]).toBeLessThan(0.8 * forgetful[1]);
  expect(plain[1]).toBeGreaterThan(shielded[1]);
});

test('a preserved flow is counted from its first packet on', () => {
  const flows = memory({});
  const key = keyOfFlow(1);
  for (let i = 0; i < 100; i++) flows.add(key, 1000);
  const [first] = flows.list();
  expect(first.counted).toBeLessThan(100_000);
  expect(flows.nextInterval()).toBe(1);
  expect(flows.list()).toEqual([]);
  for (let i = 0; i < 100; i++) expect(flows.add(key, 1000)).toBe(true);
  expect(flows.list()).toEqual([{ key, counted: 100_000 }]);
});

test('early removal keeps flows that came late, and a full memory refuses', () => {
  const admission = new MultistageFilter({ threshold: 1000, stages: 2, counters: 100, secret: SECRET });
  const flows = new FlowMemory({ admission, threshold: 1000, entries: 2, secret: SECRET, earlyRemoval: 150 });
  for (const flow of [1, 2, 3]) flows.add(keyOfFlow(flow), 1100);
  expect([flows.size, flows.refused]).toEqual([2, 1]);
  expect(flows.nextInterval()).toBe(2);
  flows.add(keyOfFlow(1), 200);
  flows.add(keyOfFlow(2), 100);
  expect(flows.nextInterval()).toBe(1);
});

test('with sample and hold it never counts more than the truth', () => {
  const random = new Random(4);
  const admission = new SampleAndHold({ sampling: 1e-4, random: () => (random.bits() >>> 0) / 2 ** 32 });
  const flows = new FlowMemory({ admission, threshold: THRESHOLD, entries: 5000, secret: SECRET });
  const packets = zipfPackets(10_000, 3000, 'mixed', 3);
  for (const { flow, bytes } of packets) flows.add(keyOfFlow(flow), bytes);
  const truth = exactCounts(packets);
  expect(flows.size).toBeGreaterThan(100);
  for (const { key, counted } of flows.list()) {
    expect(counted).toBeLessThanOrEqual(truth.get(key[1])!.bytes);
  }
});
