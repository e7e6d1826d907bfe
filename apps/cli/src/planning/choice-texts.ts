/** Choices of a plan as text: the price of a choice, the ends of a range, the table of rates. */

import { formatTable } from '@bloomery/papers/drawing';
import type { Plan } from 'bloomery/math';
import { formatBytes, formatCount, formatRate } from '../terminal/format-values.ts';
import type { PlanPrice, RangeEnd, RateRow } from './plan-choices.ts';

/** The price of a choice, compared with the plan without it. */
export function priceText({ bits, falsePositiveRate, hashesSaved }: PlanPrice, best: Plan): string {
  const change = 100 * (bits - 1);
  const size =
    Math.abs(change) < 0.05
      ? 'the same bits'
      : `${Math.abs(change).toFixed(1)} % ${change > 0 ? 'more' : 'fewer'} bits`;
  const rate = `${falsePositiveRate.toFixed(2)} times the rate`;
  const more = hashesSaved < 0 ? 'more' : 'fewer';
  const hashes = hashesSaved === 0 ? 'as many hashes' : `${Math.abs(hashesSaved)} hashes ${more}`;
  return `${size}, ${rate}, ${hashes}; compared with ${formatCount(best.bits)} bits and ${best.hashes} hashes`;
}

/** The planned filter at both ends of a range of capacities. */
export function rangeText(ends: readonly RangeEnd[]): string {
  const fits = ends.some(({ fitProbability }) => fitProbability !== undefined);
  const rows = ends.map((end) => [
    formatCount(end.capacity),
    formatRate(end.falsePositiveRate),
    formatRate(end.expectedFill),
    formatBytes(end.messageBits / 8),
    ...(fits ? [formatRate(end.fitProbability ?? 0)] : []),
  ]);
  const head = ['keys', 'rate', 'fill', 'compressed', ...(fits ? ['fits'] : [])];
  return formatTable([head, ...rows], { right: [0, 1, 2, 3, 4] });
}

/** Rates by bits per key and hash functions. */
export function rateTableText(rows: readonly RateRow[]): string {
  const hashes = rows[0].rates.map((_, k) => `k = ${k + 1}`);
  const head = ['bits per key', 'best k', ...hashes];
  const cells = rows.map((row) => [`${row.bitsPerKey}`, `${row.bestHashes}`, ...row.rates.map(formatRate)]);
  return formatTable([head, ...cells], { right: head.map((_, i) => i) });
}
