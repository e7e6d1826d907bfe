import { expectBinomial } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { NoisyFilters, noisyFilter } from './noisy-filters.ts';

const contacts = Array.from({ length: 200 }, (_, i) => `contact${i}@example.org`);
const others = Array.from({ length: 40_000 }, (_, i) => `other${i}@example.org`);

test('each noisy filter has half of all others in it, and five together 3 %', () => {
  const held = new NoisyFilters();
  expect([held.size, held.estimatedFalsePositiveRate(), held.has('anyone')]).toEqual([0, 1, true]);
  let rate = 1;
  for (let issue = 1; issue <= 5; issue++) {
    const filter = noisyFilter(contacts, { issue });
    // The fill of one filter is random: 50 % are its mean.
    expectBinomial(filter.onesCount(), filter.bits, 0.5, 'ones of one filter');
    rate *= filter.estimatedFalsePositiveRate();
    expect(held.add(filter)).toBe(true);
    const found = others.filter((key) => held.has(key)).length;
    expectBinomial(found, others.length, rate, `others that pass ${issue} filters`);
    expect(contacts.every((key) => held.has(key))).toBe(true);
  }
  expect(held.estimatedFalsePositiveRate()).toBe(rate);
  expect(held.size).toBe(5);
});

test('a filter with hash functions that are held already makes nothing sharper', () => {
  const held = new NoisyFilters();
  expect(held.add(noisyFilter(contacts, { issue: 1 }))).toBe(true);
  const rate = held.estimatedFalsePositiveRate();
  expect(held.add(noisyFilter(contacts, { issue: 1 }))).toBe(false);
  expect([held.size, held.estimatedFalsePositiveRate()]).toEqual([1, rate]);
});
