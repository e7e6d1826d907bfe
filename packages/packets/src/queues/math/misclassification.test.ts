import { withEffort } from '@bloomery/testkit/effort';
import { expectBinomial, Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { keysFrom, TestItem } from '../../../test/queues/test-item.ts';
import { SfbQueue } from '../sfb/sfb-queue.ts';
import { filterMisclassified, levelsMisclassified } from './misclassification.ts';

const BAD_FLOWS = [1, 4, 10, 20];

/** Percent for 1, 4, 10 and 20 flows that do not respond, computed apart from this code. */
const KNOWN = [
  [2, 23, ['0.1890', '2.6535', '12.8785', '34.6860']],
  [8, 16, ['0.0000', '0.0007', '0.2615', '7.6282']],
  [4, 64, ['0.0000', '0.0014', '0.0451', '0.5329']],
  [1, 46, ['2.1739', '8.4162', '19.7312', '35.5692']],
] as const;

test.each(KNOWN)('levelsMisclassified has the known answers for %i levels of %i bins', (L, N, percent) => {
  expect(BAD_FLOWS.map((M) => (100 * levelsMisclassified(L, N, M)).toFixed(4))).toEqual(percent);
});

test('filterMisclassified is the share of all hash functions, counted one by one', () => {
  // Two counters for each of two flows, four counters: all 4^4 functions.
  let punished = 0;
  for (let code = 0; code < 256; code++) {
    const [a, b, c, d] = [code & 3, (code >> 2) & 3, (code >> 4) & 3, code >> 6];
    if ([a, b].every((place) => place === c || place === d)) punished++;
  }
  expect(filterMisclassified(4, 2, 1)).toBe(punished / 256);
});

const TRIALS = withEffort(2500, 1000);

/**
 * Trials in which a flow that never sent anything is punished, because `bad` flows do not respond.
 * Each trial has hash functions of its own.
 */
function measuredPunished(newQueue: () => SfbQueue<TestItem>, bad: number): number {
  let punished = 0;
  for (let trial = 0; trial < TRIALS; trial++) {
    const queue = newQueue();
    // Bins of one packet and a step of 1: the second packet of a flow drives its bins to 1.
    for (let flow = 1; flow <= bad; flow++) for (let i = 0; i < 2; i++) queue.enqueue(new TestItem(flow), 0);
    if (!queue.isPunished(bad)) expect.fail(`trial ${trial}: a bad flow is not punished`);
    if (queue.isPunished(0)) punished++;
  }
  return punished;
}

test.each(KNOWN)('SfbQueue punishes innocent flows as computed, %i levels of %i bins', (levels, bins) => {
  const random = new Random(levels * 1000 + bins);
  const options = { levels, bins, target: 1, max: 1000, increment: 1, limitPackets: 1000 };
  const nextKey = keysFrom(random);
  const newQueue = () => SfbQueue.linux<TestItem>({ ...options, random: () => 0.999, nextKey });
  for (const bad of BAD_FLOWS) {
    const p = levelsMisclassified(levels, bins, bad);
    expectBinomial(measuredPunished(newQueue, bad), TRIALS, p, `${levels} × ${bins}, ${bad} bad flows`);
  }
});

test.each([
  [46, 2],
  [128, 8],
  [64, 4],
])(
  'SfbQueue punishes innocent flows as computed, one filter of %i counters, %i per flow',
  (counters, hashes) => {
    const random = new Random(counters);
    const options = { counters, hashes, threshold: 1, delta: 1, limitPackets: 1000 };
    const nextKey = keysFrom(random);
    const newQueue = () => SfbQueue.survey<TestItem>({ ...options, random: () => 0.999, nextKey });
    for (const bad of BAD_FLOWS) {
      const p = filterMisclassified(counters, hashes, bad);
      expectBinomial(measuredPunished(newQueue, bad), TRIALS, p, `${counters}, ${hashes}, ${bad} bad flows`);
    }
  },
);
