import { Random } from '@bloomery/testkit/statistics';
import { BloomFilter } from 'bloomery';
import { expect, test } from 'vitest';
import { SharingError } from '../sharing-error.ts';
import { keyedFilter, sharedKey } from './keyed-filter.ts';
import { openSealed, sealFilter } from './sealed-filter.ts';

const random = new Random(280);
const secret = random.bytes(16);
const pair = { secret, from: 'ann@example.org' };
const filter = keyedFilter(['bob@example.org'], pair);
const sealed = sealFilter(filter, { ...pair, issued: 1_700_000_000 });

function codeOf(bytes: Uint8Array, options: Parameters<typeof openSealed>[1] = pair): string {
  try {
    openSealed(bytes, options);
    return 'opened';
  } catch (error) {
    if (error instanceof SharingError) return error.code;
    throw error;
  }
}

test('a sealed filter opens with its secret and its sender', () => {
  const opened = openSealed(sealed, pair);
  expect(opened.issued).toBe(1_700_000_000);
  expect(opened.filter.equals(filter)).toBe(true);
  expect(codeOf(sealed, { ...pair, from: 'bob@example.org' })).toBe('forged');
  expect(codeOf(sealed, { ...pair, secret: random.bytes(16) })).toBe('forged');
});

test('every prefix and every changed bit is refused', () => {
  for (let length = 0; length < sealed.length; length++) {
    expect(['malformed', 'forged']).toContain(codeOf(sealed.subarray(0, length)));
  }
  for (let bit = 0; bit < 8 * sealed.length; bit++) {
    const changed = sealed.slice();
    changed[bit >> 3] ^= 1 << (bit & 7);
    expect(['malformed', 'version', 'forged']).toContain(codeOf(changed));
  }
  expect(codeOf(new Uint8Array([...sealed, 0]))).toBe('forged');
});

test('a filter of everyone, made from the head of another frame, is refused', () => {
  // An attacker knows everything but the secret: it sets all bits of the frame.
  const forged = sealed.slice();
  forged.fill(255, -16 - 4 - Math.ceil(filter.bits / 8), -16 - 4);
  expect(codeOf(forged)).toBe('forged');
});

test('limits, and bytes that a friend sealed without being a filter', () => {
  expect(codeOf(sealed, { ...pair, maxBytes: sealed.length - 1 })).toBe('limit');
  expect(codeOf(sealed, { ...pair, maxBytes: sealed.length })).toBe('opened');
  expect(() => sealFilter(filter, { ...pair, issued: -1 })).toThrow(RangeError);
  expect(() => sealFilter(filter, { ...pair, from: 'eve', issued: 0 })).toThrow(/same secret and sender/);
  const other = BloomFilter.forCapacity({
    capacity: 9,
    falsePositiveRate: 0.1,
    key: sharedKey(random.bytes(16), 'x'),
  });
  expect(() => sealFilter(other, { ...pair, issued: 0 })).toThrow(RangeError);
});
