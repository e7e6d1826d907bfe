import { withEffort } from '@bloomery/testkit/effort';
import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { PrefixSums } from './prefix-sums.ts';

/** Addresses that cluster: few networks have most of the bytes. */
function traffic(count: number): { addresses: number[]; bytes: number[] } {
  const random = new Random(6);
  const skewed = (limit: number) => Math.floor(limit * (random.below(1 << 16) / 65_536) ** 4);
  const addresses = Array.from(
    { length: count },
    () => skewed(200) * 2 ** 24 + skewed(256) * 2 ** 16 + skewed(256) * 256 + skewed(256),
  );
  return { addresses, bytes: addresses.map(() => 40 + random.below(1461)) };
}

test('PrefixSums: no sum is too low, few are too high, and no heavy prefix is missing', () => {
  const { addresses, bytes } = traffic(withEffort(4000, 2000));
  const sums = new PrefixSums({ seed: 5n });
  sums.addMany(addresses, bytes);
  const total = bytes.reduce((sum, one) => sum + one, 0);
  expect(sums.total).toBe(total);
  const heavy = new Set(sums.heavy(0.01).map(({ address, length }) => `${address}/${length}`));
  let [asked, beyond] = [0, 0];
  for (const length of [8, 16, 24, 32]) {
    const truth = new Map<number, number>();
    for (const [i, address] of addresses.entries()) {
      const first = address - (address % 2 ** (32 - length));
      truth.set(first, (truth.get(first) ?? 0) + bytes[i]);
    }
    for (const [first, exact] of truth) {
      const atMost = sums.sum(first, length);
      asked++;
      if (atMost > exact + 0.01 * total) beyond++;
      if (atMost < exact) expect.fail(`${first}/${length}: ${atMost} < ${exact}`);
      if (exact >= 0.01 * total) expect(heavy.has(`${first}/${length}`)).toBe(true);
    }
  }
  expect(beyond).toBeLessThanOrEqual(0.01 * asked);
  expect(heavy.size).toBeGreaterThan(4);
  expect(heavy.size).toBeLessThan(400);
});

test('wrong lengths and shares are refused', () => {
  const sums = new PrefixSums({ seed: 1n });
  expect(sums.heavy(0.5)).toEqual([]);
  expect(() => sums.sum(0, 33)).toThrow(/expected a length from 0 to 32, got 33/);
  expect(() => sums.heavy(0)).toThrow(/expected a share above 0/);
});
