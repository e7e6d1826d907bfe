/**
 * Bytes of whole sessions, compared with what each method alone would take by its formula.
 * `bench/reconcile` compares them with the least that each method needs for the same sets.
 */

import { withEffort } from '@bloomery/testkit/effort';
import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { KeySet } from '../../src/index.ts';
import { carry, keyPair, pairOf, reconcileInLab } from '../session-lab.ts';

/** Bytes of hello, heads, requests for more, sum and verdict. */
const FRAMING = 90;

/** The least bytes of all methods, if the number of differences were known beforehand. */
function leastBytes(n: number, d: number): number {
  const told = (count: number) => (count * (Math.log2(n) + 5.5)) / 8;
  const symbols = (differences: number) => 8 * (1.36 * differences + 1.5 * Math.sqrt(differences));
  const methods = [
    symbols(d) + told(d / 2),
    (n * (Math.log2(n) + 9.5)) / 8 + told(d / 2),
    ...Array.from({ length: 60 }, (_, i) => {
      const bitsPerKey = (i + 1) / 4;
      const rate = 0.6185 ** bitsPerKey;
      const filters = (bitsPerKey * (n + n - d / 2 + (rate * d) / 2)) / 8;
      return filters + symbols(rate * d) + told((rate * d) / 2);
    }),
  ];
  return Math.min(...methods);
}

for (const n of [1000, 10_000]) {
  for (const share of [0.01, 0.03, 0.1, 0.3, 1]) {
    const d = share * n;
    test(`n ${n}, d ${d}: at most 10 % above the best method and the framing`, () => {
      const random = new Random(n + d);
      const all = Array.from({ length: withEffort(15, 15) }, () => {
        const { a, b } = keyPair(random, n, d);
        return reconcileInLab(a, b, random).bytes;
      });
      expect(quantile(all, 0.5)).toBeLessThan(1.1 * leastBytes(n, d) + FRAMING);
    });
  }
}

test('below 40 differences: at most 600 bytes in the median, 800 in 99 of 100', () => {
  const random = new Random(7);
  const all = Array.from({ length: withEffort(250, 250) }, () => {
    const { a, b } = keyPair(random, 1000, random.below(40));
    return reconcileInLab(a, b, random).bytes;
  });
  expect(quantile(all, 0.5)).toBeLessThan(600);
  expect(quantile(all, 0.99)).toBeLessThan(800);
});

test('a large filter is sized by all counters, with keys and with kept symbols', () => {
  const random = new Random(11);
  const pair = keyPair(random, 30_000, 9000);
  const secret = new Uint8Array(16);
  const kept = [pair.a, pair.b].map((keys) => {
    const set = new KeySet({ secret });
    set.addMany(keys);
    return set;
  });
  for (const [a, b] of [[pair.a, pair.b], kept]) {
    const [left, right] = pairOf(a, b, random);
    const summaries: Uint8Array[] = [];
    carry(left, right, (from, bytes) => {
      if (from === 'b' && bytes[0] === 2) summaries.push(bytes);
    });
    // Flags 8 and 16 together, after a type and a length of two bytes.
    expect(summaries.map((bytes) => bytes[3] & 24)).toEqual([24]);
    expect(summaries[0].length).toBeLessThan(270);
    expect(new Set(left.result.onlyHere)).toEqual(new Set(pair.onlyA));
    expect(left.result.method).toBe('filter');
    expect(left.progress.bytesSent + left.progress.bytesReceived).toBeLessThan(
      1.1 * leastBytes(30_000, 9000),
    );
  }
});

test('equal sets of 100,000 keys take 40 bytes', () => {
  const random = new Random(8);
  const { a, b } = keyPair(random, 100_000, 0);
  expect(reconcileInLab(a, b, random).bytes).toBe(40);
});

function quantile(values: readonly number[], share: number): number {
  return [...values].sort((a, b) => a - b)[Math.floor(share * (values.length - 1))];
}
