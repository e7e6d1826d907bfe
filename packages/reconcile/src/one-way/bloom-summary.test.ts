import { expectBinomial } from '@bloomery/testkit/statistics';
import { BlockedBloomFilter, BloomFilter, packKeys } from 'bloomery';
import { expect, test } from 'vitest';
import { bloomSummary, surelyMissing } from './bloom-summary.ts';

const keys = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => `key ${from + i}`);

test('surelyMissing names keys that the sender lacks, all but the false positives', () => {
  const summary = BloomFilter.decode(bloomSummary(keys(0, 20_000), { bitsPerKey: 8, seed: 9 }).encode());
  const found = surelyMissing(keys(10_000, 40_000), summary);
  const named = new Set(found);
  expect(found).toEqual(keys(20_000, 40_000).filter((key) => named.has(key)));
  // (1 - e^(-6/8))^6, the rate of 6 hashes and 8 bits per key.
  expectBinomial(20_000 - found.length, 20_000, 0.021577, 'keys that were missed');
});

test('surelyMissing takes sets, generators and packed keys, and every structure with hasMany', () => {
  const filter = BlockedBloomFilter.forCapacity({ capacity: 10, falsePositiveRate: 1e-9 });
  filter.addMany(keys(0, 10));
  expect(surelyMissing(new Set(keys(8, 12)), filter)).toEqual(keys(10, 12));
  expect(surelyMissing(keys(8, 12).values(), filter)).toEqual(keys(10, 12));
  const packed = surelyMissing(packKeys(keys(8, 12)), bloomSummary(keys(0, 10), { bitsPerKey: 50 }));
  expect(packed.map((key) => String.fromCharCode(...(key as Uint8Array)))).toEqual(keys(10, 12));
});

test('a summary of nothing lets no key pass, and wrong arguments are refused', () => {
  expect(surelyMissing(keys(0, 5), bloomSummary([]))).toEqual(keys(0, 5));
  expect(bloomSummary(keys(0, 100)).bits).toBe(1000);
  expect(() => bloomSummary('abc')).toThrow(TypeError);
  expect(() => surelyMissing(5 as never, bloomSummary([]))).toThrow(
    'Cannot reconcile: expected an iterable of keys, got number',
  );
  expect(() => bloomSummary([], { bitsPerKey: Number.NaN })).toThrow(
    /bitsPerKey above 0 and up to 64, got NaN/,
  );
});
