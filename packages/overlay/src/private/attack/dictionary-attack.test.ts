import { expectBinomial, Random } from '@bloomery/testkit/statistics';
import { BloomFilter } from 'bloomery';
import { describe, expect, test } from 'vitest';
import { noisyFilter } from '../filters/noisy-filters.ts';
import { RandomisedPublisher } from '../filters/randomised-publisher.ts';
import { DictionaryAttack } from './dictionary-attack.ts';

const dictionary = Array.from({ length: 20_000 }, (_, i) => `person${(i * 7919) % 20_000}@example.org`);
const contacts = dictionary.slice(5000, 5200);

describe('DictionaryAttack', () => {
  test('finds every contact in a plain filter, among as many others as the rate says', () => {
    const filter = BloomFilter.forCapacity({ capacity: contacts.length, falsePositiveRate: 0.01 });
    filter.addMany(contacts);
    const attack = new DictionaryAttack(dictionary);
    expect(attack.suspects()).toEqual([]);
    attack.intercept(filter);
    const suspects = attack.suspects();
    expect(contacts.every((contact) => suspects.includes(contact))).toBe(true);
    expectBinomial(suspects.length - 200, 19_800, filter.estimatedFalsePositiveRate(), 'others that pass');
  });

  test('filters with other hashes leave the product of their rates', () => {
    const attack = new DictionaryAttack(dictionary);
    let rate = 1;
    for (let issue = 1; issue <= 6; issue++) {
      const filter = noisyFilter(contacts, { issue });
      rate *= filter.estimatedFalsePositiveRate();
      attack.intercept(filter);
      expectBinomial(attack.suspects().length - 200, 19_800, rate, `others after ${issue} filters`);
    }
    expect(attack.best(200).every((key) => attack.suspects().includes(key))).toBe(true);
  });

  test('the odds that a randomised filter gives are those that come true', () => {
    const random = new Random(270);
    const attack = new DictionaryAttack(dictionary);
    const filter = new RandomisedPublisher({
      bits: 4000,
      hashes: 2,
      epsilon: 4,
      budget: 4,
      noiseSecret: random.bytes(16),
      salt: random.bytes(16),
    }).release(contacts);
    attack.interceptRandomised(filter);
    const p = filter.flipProbability;
    const suspects = new Set(attack.suspects());
    // Only keys with both bits set have a ratio above 1 here.
    expectBinomial(contacts.filter((key) => suspects.has(key)).length, 200, (1 - p) ** 2, 'contacts');
    const fill = filter.onesCount() / filter.bits;
    const others = dictionary.filter((key) => !contacts.includes(key));
    expectBinomial(others.filter((key) => suspects.has(key)).length, 19_800, fill ** 2, 'others');
  });
});
