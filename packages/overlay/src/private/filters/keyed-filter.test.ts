import { expectBinomial, Random } from '@bloomery/testkit/statistics';
import { BloomFilter, intersectionEstimate, sizeEstimate } from 'bloomery';
import { describe, expect, test } from 'vitest';
import { keyedFilter, paddedSize, sharedKey } from './keyed-filter.ts';

/** The probability of an interval of five standard deviations. */
const FIVE_SIGMA = 1 - 5.7e-7;
const random = new Random(241);
const secret = random.bytes(16);
const contacts = Array.from({ length: 500 }, (_, i) => `friend${i}@example.org`);
const others = Array.from({ length: 20_000 }, (_, i) => `other${i}@example.org`);

describe('keyedFilter', () => {
  test('has every key for a friend, and about the rate of the others', () => {
    const frame = keyedFilter(contacts, { secret, from: 'ann', falsePositiveRate: 0.01 }).encode();
    const received = BloomFilter.decode(frame, { key: sharedKey(secret, 'ann') });
    expect(contacts.every((key) => received.has(key))).toBe(true);
    const wrong = others.filter((key) => received.has(key)).length;
    expectBinomial(wrong, others.length, 0.01, 'false positives');
  });

  test('gives equal bytes for equal sets, in any order', () => {
    const options = { secret, from: 'ann', padTo: 512 };
    const twice = [...contacts, ...contacts].reverse();
    expect(keyedFilter(twice, options).encode()).toEqual(keyedFilter(contacts, options).encode());
  });

  test('under another secret or another sender, members are found no more often than others', () => {
    const frame = keyedFilter(contacts, { secret, from: 'ann', falsePositiveRate: 0.1 }).encode();
    const filter = BloomFilter.decode(frame, { key: sharedKey(secret, 'ann'), shared: true });
    const { bits, hashes, buffer } = filter.share();
    const rate = filter.fill() ** hashes;
    for (const key of [sharedKey(secret, 'bob'), sharedKey(random.bytes(16), 'ann')]) {
      // The same bits, asked by a reader with a key of its own.
      const reader = new BloomFilter({ bits, hashes, key, ...(buffer && { buffer }) });
      expect(reader.onesCount()).toBe(filter.onesCount());
      const found = contacts.filter((contact) => reader.has(contact)).length;
      expectBinomial(found, contacts.length, rate, 'members under a guessed key');
      expect(() => BloomFilter.decode(frame, { key })).toThrow(expect.objectContaining({ code: 'key' }));
    }
  });

  test('filters of two senders under one secret share only chance', () => {
    const rate = 0.05;
    const [a, b] = ['ann', 'bob'].map((from) =>
      keyedFilter(contacts, { secret, from, falsePositiveRate: rate }),
    );
    const bytes = [a, b].map((filter) => filter.encode().subarray(-4 - Math.ceil(filter.bits / 8), -4));
    let shared = 0;
    for (let i = 0; i < a.bits; i++) {
      shared += (bytes[0][i >> 3] & bytes[1][i >> 3] & (1 << (i & 7))) === 0 ? 0 : 1;
    }
    expectBinomial(shared, a.bits, a.fill() * b.fill(), 'common ones of two senders');
  });

  test('filters of a group under one name estimate their overlap', () => {
    const key = sharedKey(secret, 'the group');
    const [a, b] = [contacts.slice(0, 400), contacts.slice(250)].map((keys) => {
      const filter = BloomFilter.forCapacity({ capacity: 1000, falsePositiveRate: 0.001, key });
      filter.addMany(keys);
      return filter;
    });
    const { value, low, high } = intersectionEstimate(a, b, { confidence: FIVE_SIGMA });
    expect(low).toBeLessThanOrEqual(150);
    expect(high).toBeGreaterThanOrEqual(150);
    expect(value).toBeGreaterThan(75);
  });

  test('padTo hides the number of keys: the ones are those of a full filter', () => {
    const few = keyedFilter(contacts.slice(0, 5), { secret, from: 'ann', padTo: 512 });
    const many = keyedFilter(contacts, { secret, from: 'ann', padTo: 512 });
    expect(few.bits).toBe(many.bits);
    expect(few.encode().length).toBe(many.encode().length);
    const { low, high } = sizeEstimate(few, { confidence: FIVE_SIGMA });
    expect(low).toBeLessThan(512);
    expect(high).toBeGreaterThan(512);
    expect(low).toBeGreaterThan(400);
    expect(() => keyedFilter(contacts, { secret, from: 'ann', padTo: 499 })).toThrow(
      /at least 500 keys, got 499/,
    );
  });

  test('refuses secrets and senders of a wrong shape', () => {
    expect(() => keyedFilter([], { secret: new Uint8Array(15), from: 'ann' })).toThrow(/16 bytes, got 15/);
    expect(() => sharedKey(secret, undefined as never)).toThrow(TypeError);
    expect(keyedFilter([], { secret, from: '' }).has('a@example.org')).toBe(false);
  });
});

test('paddedSize gives powers of two from 64 on', () => {
  expect([0, 1, 64, 65, 200, 1000, 1024].map(paddedSize)).toEqual([64, 64, 64, 128, 256, 1024, 1024]);
  expect(() => paddedSize(-1)).toThrow(RangeError);
  expect(() => paddedSize(1.5)).toThrow(RangeError);
});
