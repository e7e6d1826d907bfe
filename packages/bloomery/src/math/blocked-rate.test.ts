import { describe, expect, test } from 'vitest';
import {
  inBlockHit,
  inBlockRates,
  rateBlocked,
  rateOverLoads,
  rateSplitBlock,
  splitBlockRate,
} from './blocked-rate.ts';
import { rateExact } from './rates.ts';
import { rateTrue } from './true-rate.ts';

const relativeError = (got: number, want: number) => Math.abs(got / want - 1);

describe('known figures', () => {
  // Measured on implementations: 512-bit blocks, k = 6, 9.585 bits per key; split blocks of the
  // same size.
  test('1.15 % and 1.53 % at the space of a classic 1 % filter', () => {
    const n = 1_000_000;
    expect((100 * rateBlocked({ n, blocks: Math.round((n * 9.585) / 512), k: 6 })).toFixed(2)).toBe('1.15');
    expect((100 * rateSplitBlock({ n, blocks: Math.round((n * 9.585) / 256) })).toFixed(2)).toBe('1.53');
  });

  test('a single block is a classic filter of 512 bits', () => {
    for (const n of [1, 5, 50, 100]) {
      expect(relativeError(rateBlocked({ n, blocks: 1, k: 6 }), rateTrue(512, 6, n))).toBeLessThan(1e-6);
    }
    expect(rateBlocked({ n: 1, blocks: 1, k: 2, blockBits: 2 })).toBe(5 / 8);
  });

  test('the textbook rate inside a block would promise too much', () => {
    const [n, blocks, k] = [1_000_000, 43_000, 12];
    const flattering = rateOverLoads(n, blocks, (load) => rateExact(512, k, load));
    expect(rateBlocked({ n, blocks, k })).toBeGreaterThan(1.02 * flattering);
  });
});

describe('brute force', () => {
  test('all outcomes of 2 keys in 2 blocks of 3 bits, k = 2', () => {
    const [n, blocks, k, blockBits] = [2, 2, 2, 3];
    const choices = blocks * blockBits ** k;
    let sum = 0;
    for (let outcome = 0; outcome < choices ** (n + 1); outcome++) {
      const key = (i: number) => {
        const choice = Math.floor(outcome / choices ** i) % choices;
        const block = choice % blocks;
        const rest = Math.floor(choice / blocks);
        return [rest % blockBits, Math.floor(rest / blockBits)].map((bit) => block * blockBits + bit);
      };
      const bits = new Set([...key(0), ...key(1)]);
      if (key(2).every((bit) => bits.has(bit))) sum++;
    }
    const want = sum / choices ** (n + 1);
    expect(relativeError(rateBlocked({ n, blocks, k, blockBits }), want)).toBeLessThan(1e-12);
  });

  test('the binomial mean against a sum with exact binomial coefficients', () => {
    for (const [n, blocks] of [
      [30, 7],
      [200, 3],
      [60, 500],
    ] as const) {
      const rateAt = inBlockRates(5);
      let want = 0;
      let choose = 1n;
      for (let j = 0; j <= n; j++) {
        // C(n,j)(b-1)^(n-j)/b^n, with 30 digits.
        const weight =
          (choose * BigInt(blocks - 1) ** BigInt(n - j) * 10n ** 40n) / BigInt(blocks) ** BigInt(n);
        want += (Number(weight) / 1e40) * rateAt(j);
        choose = (choose * BigInt(n - j)) / BigInt(j + 1);
      }
      expect(relativeError(rateOverLoads(n, blocks, rateAt), want)).toBeLessThan(1e-9);
    }
  });
});

describe('properties', () => {
  test('in-block rates are the true rates of a small filter', () => {
    for (const k of [1, 6, 12, 24]) {
      const rateAt = inBlockRates(k);
      for (const load of [0, 1, 3, 20, 60, 150]) {
        const want = rateTrue(512, k, load);
        expect(Math.abs(rateAt(load) - want)).toBeLessThanOrEqual(1e-6 * want);
      }
      expect(rateAt(1e9)).toBe(1);
    }
    expect(relativeError(splitBlockRate(1), 2 ** -40)).toBeLessThan(1e-14);
  });

  test('monotone in keys and blocks, from nothing to full', () => {
    let before = 0;
    for (let n = 0; n < 60_000; n += 1500) {
      const rate = rateBlocked({ n, blocks: 300, k: 6 });
      expect(rate).toBeGreaterThanOrEqual(before);
      before = rate;
    }
    for (let blocks = 1; blocks < 300; blocks += 13) {
      expect(rateSplitBlock({ n: 500, blocks: blocks + 13 })).toBeLessThan(
        rateSplitBlock({ n: 500, blocks }),
      );
    }
    expect(rateBlocked({ n: 0, blocks: 10, k: 3 })).toBe(0);
  });

  test('up to ten thousand million keys', () => {
    expect(rateBlocked({ n: 1e10, blocks: 1, k: 6 })).toBe(1);
    expect(rateBlocked({ n: 1e10, blocks: 2, k: 6 })).toBe(1);
    // Many blocks: loads are Poisson, only n/blocks matters, up to a relative load²/n.
    const dense = rateBlocked({ n: 1e10, blocks: 2 ** 27, k: 8 });
    const sparse = rateBlocked({ n: 1e7, blocks: (2 ** 27 * 1e7) / 1e10 - 0.728, k: 8 });
    expect(relativeError(dense, sparse)).toBeLessThan(1e-4);
    expect(rateBlocked({ n: 1e10, blocks: 2 ** 32, k: 8 })).toBeLessThan(1e-8);
  });

  test('wrong arguments', () => {
    expect(() => rateBlocked({ n: 1, blocks: 0, k: 1 })).toThrow(
      new RangeError('Cannot use blocks: expected an integer of at least 1, got 0'),
    );
    expect(() => rateBlocked({ n: 1, blocks: 1, k: 0 })).toThrow(RangeError);
    expect(() => rateSplitBlock({ n: -1, blocks: 1 })).toThrow(RangeError);
  });
});

test('inBlockHit is the share of ones that one key leaves in its block, on average', () => {
  // Blocks of 512 bits: k = 2 sets one bit with probability 1/512, otherwise two.
  expect(relativeError(inBlockHit('blocked', 2), (1 + 511 / 512) / 512)).toBeLessThan(1e-15);
  expect(inBlockHit('blocked', 1)).toBe(1 / 512);
  expect(inBlockHit('split-block', 8)).toBe(8 / 256);
});
