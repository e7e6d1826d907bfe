/** Survey 2.4: sizes of sets and of intersections, from zeros. */

import { estimateIntersectionSize, estimateSize, expectedInnerProduct } from 'bloomery/math';
import { type Compare, compareMean } from '../findings/comparison.ts';
import { measured, percent } from '../findings/numbers.ts';
import type { Section } from '../findings/section.ts';
import { fraction, job, N, type Results, resultOf, type Work } from '../trials/jobs.ts';
import { summarize } from '../trials/samples.ts';

export function estimatesWork(trials: number): Work[] {
  return SHARED.map((shared) => ({ job: pairJob(shared), trials: fraction(trials, 5) }));
}

const PAIR = { bits: 160_000, hashes: 5 } as const;
const SHARED = [0, 1000, 5000];

function pairJob(shared: number) {
  return job({ kind: 'pair', ...PAIR, keys: N, strangers: 0, shared });
}

export function estimates(results: Results, compare: Compare): Section {
  const { bits, hashes } = PAIR;
  const rows = SHARED.map((shared) => {
    const samples = resultOf(results, pairJob(shared));
    const [ones1, ones2, onesAnd] = (['ones1', 'ones2', 'onesAnd'] as const).map((name) =>
      samples.column(name),
    );
    const product = samples.summary('onesAnd');
    const expectation = expectedInnerProduct(bits, hashes, N, N, shared);
    const sizes = [...ones1].map((ones) => estimateSize({ bits, hashes, ones }));
    const overlaps = [...ones1].map((_, t) =>
      estimateIntersectionSize({ bits, hashes, ones1: ones1[t], ones2: ones2[t], onesAnd: onesAnd[t] }),
    );
    const size = summarize(sizes.map(({ value }) => value));
    const overlap = summarize(overlaps.map(({ value }) => value));
    const inside =
      overlaps.filter(({ low, high }) => low <= shared && shared <= high).length / samples.trials;
    compare(compareMean(`size estimate, ${shared} shared`, size, N));
    return [
      shared.toLocaleString('en'),
      expectation.toFixed(1),
      measured(product),
      compare(compareMean(`inner product, ${shared} shared`, product, expectation)),
      measured(size),
      `${size.deviation.toFixed(1)} (${sizes[0].standardError.toFixed(1)})`,
      measured(overlap),
      compare(compareMean(`intersection, ${shared} shared`, overlap, shared)),
      `${overlap.deviation.toFixed(1)} (${overlaps[0].standardError.toFixed(1)})`,
      percent(inside, 1),
    ];
  });
  return {
    title: 'Survey 2.4: sizes from zeros',
    text: [
      'Two filters of 160,000 bits, k = 5, of 10,000 elements each, some of which they share. The inner product (ones of the AND) against ' +
        'its expectation; |S| ≈ ln(Z/m)/(k·ln(1-1/m)) of the first filter; |S₁∩S₂| from the three zero counts, ' +
        '(1/m)(1-1/m)^(-k|S₁∩S₂|) ≈ (Z₁+Z₂-Z₁₂)/(Z₁Z₂), where Z₁₂ are the zeros of the AND. Standard deviations are measured, and ' +
        'in brackets what the library states beside the first of these estimates; the last column is how often its 95 % interval ' +
        'holds the truth.',
    ],
    tables: [
      {
        head: [
          'shared',
          'inner product',
          'measured',
          'σ',
          'size',
          'sd',
          'intersection',
          'σ',
          'sd',
          '95 % interval',
        ],
        rows,
        folds: [4, 6],
      },
    ],
  };
}
