/**
 * The size of a binary fuse table (kernel/tables/fuse.ts): the smallest with which the first
 * attempt at solving succeeds 99 times in a hundred.
 *
 * There are two forms. Up to about 2600 keys the table is a single stretch of four segments. With
 * four positions per key, spread over the whole table, peeling works up to 0.7723 keys per slot,
 * that is down to 1.295 slots per key (Molloy 2005, Cores in Random Hypergraphs and Boolean
 * Formulas), and random sets need some 1.5 sqrt(n) + 14 slots more. Beyond, the table is a chain of
 * overlapping stretches, the fuse. It burns from both ends, and reaches 0.9768 keys per slot, 1.024
 * slots per key; with fewer slots there is no solution at all (Walzer 2021, Peeling Close to the
 * Orientability Threshold). Three segments are lost at the end of the chain, and a finite-size term
 * fits n^(2/3). The coefficients are fitted to tables that failed once in a hundred attempts or
 * less. Measured results:
 *
 *     keys     slots/key     second attempts in %
 *     20       2.4           1.0
 *     100      1.6           0.28
 *     1000     1.36          0.23
 *     11,500   1.212         under 0.1
 *     100,000  1.118         under 0.3
 *     1 M      1.0705        under 1 (none in 120)
 *     10 M     1.048         none in 5
 *
 * The formula of the paper for four positions gives 1.357 for 1000, 1.204 for 11,500, 1.122 for
 * 100,000 and 1.075 from 600,000 on. It rounds the segments to powers of two; kernel/tables/fuse.ts
 * explains what that does to some numbers of keys.
 */

import { type FuseShape, MOST_FUSE_KEYS } from '../kernel/tables/fuse.ts';
import { checkInteger } from './checks.ts';

/**
 * The table for n different keys in attempt 0, 1, … From the fourth attempt on it grows by 3 % each
 * time.
 */
export function fuseShape(n: number, attempt = 0): FuseShape {
  checkInteger('keys', n, 0, MOST_FUSE_KEYS);
  if (n < 2) return { segments: 1, segmentLength: n };
  const growth = 1.03 ** Math.max(0, attempt - 2);
  const stretch = Math.ceil((growth * (1.295 * n + 1.5 * Math.sqrt(n) + 14)) / 4);
  const segments = Math.round(3.41 * n ** 0.2875);
  const link = Math.ceil((growth * n * (1.027 + 2.6 / Math.cbrt(n))) / segments);
  return n >= SHORTEST_CHAIN && (segments + 3) * link < 4 * stretch
    ? { segments, segmentLength: link }
    : { segments: 1, segmentLength: stretch };
}

/** With fewer keys the formula for chains does not apply. */
const SHORTEST_CHAIN = 2000;

/**
 * The columns of a band (kernel/tables/band.ts) for n different keys in attempt 0, 1, … There are
 * as many as keys, and a few more from 621 keys on, where windows of 64 columns begin to be too
 * narrow. The number is fitted to systems of which about a quarter has a solution. From the ninth
 * attempt on it grows.
 */
export function bandColumns(n: number, attempt = 0): number {
  return n + Math.floor(2.6e-6 * n * n) + Math.max(0, attempt - 7) * Math.ceil(n / 200);
}
