/**
 * The plan of a filter table: how many rows and hashes keep the number of false candidates down.
 *
 * The rate follows from the number of filters. A key that none of N filters holds is answered
 * "maybe" by N · f of them on average, whatever f one filter alone would be content with. Fan, Cao,
 * Almeida and Broder say it of their proxies (Summary Cache, IEEE/ACM ToN 2000, section V: 100
 * proxies with a load factor of 16 have false hits in 4.7 % of the requests, because 100 summaries
 * of 0.047 % are asked). 256 filters of 1.08 % give 2.8 false candidates for each absent key. So
 * the request is for false candidates per absent key, 0.02 by default, and each column gets
 * f = 0.02 / N.
 *
 * Each column is a classic filter, sized with its true rate (size-classic.ts). `maxHashes` is 8 by
 * default, because each hash is a row to fetch from memory: at 256 columns the fewest bits, 19.7
 * per key, need 14 hashes, 8 hashes need 21.8 bits, and 4 need 40.5.
 *
 * With too little memory for that, the best rate that the memory allows is planned instead, and
 * `met` says so. A table that has become too large at run time can be folded (survey 2.4 halves a
 * filter); `folded` tells what each fold costs. It is much: at 256 columns the first fold
 * multiplies the false candidates by 68, from 0.02 to 1.4, and the second one by 23.
 */

import { rowBitsFor, slicedBits } from '../kernel/bits/sliced.ts';
import { checkInteger, checkNumber, MAX_BITS } from './checks.ts';
import { sizeClassic } from './size-classic.ts';
import { rateTrue } from './true-rate.ts';

export interface TableRequest {
  /** The number of filters side by side. */
  readonly columns: number;
  /** The number of distinct keys of each of them, or of the fullest. */
  readonly keysPerColumn: number;
  /** Columns that may say "maybe" on average for a key that none of them holds. Default 0.02. */
  readonly falseCandidates?: number | undefined;
  /** Upper limit for the hashes. Default 8. */
  readonly maxHashes?: number | undefined;
  /** How often `fold` must be possible: rounds the rows up to a multiple of 2^folds. Default 4. */
  readonly folds?: number | undefined;
  /** The table must not be larger than this, even if the false candidates become more. */
  readonly memoryBytes?: number | undefined;
}

/** The size of a table, and the answers to expect of it. */
export interface TableSize {
  readonly rows: number;
  readonly memoryBytes: number;
  /** The rate of one column with `keysPerColumn` keys. */
  readonly falsePositiveRate: number;
  /** Columns that say "maybe" on average for a key that none of them holds. */
  readonly falseCandidates: number;
}

export interface TablePlan extends TableSize {
  readonly columns: number;
  readonly hashes: number;
  /** Bits of one column per key. */
  readonly bitsPerKey: number;
  /** Whether the false candidates are at most those asked for. False only if memory is short. */
  readonly met: boolean;
  /** The table after each fold that `folds` allows. */
  readonly folded: readonly TableSize[];
}

/** Plans the smallest table that keeps the false candidates, or the best one for the memory. */
export function planTable(request: TableRequest): TablePlan {
  for (const field of Object.keys(request)) {
    if (!FIELDS.includes(field)) {
      throw new TypeError(`Cannot plan a table: expected ${FIELDS.join(', ')}, got field '${field}'`);
    }
  }
  const { falseCandidates = 0.02, maxHashes = 8, folds = 4, memoryBytes } = request;
  const columns = checkInteger('columns', request.columns, 1);
  const n = checkInteger('keysPerColumn', request.keysPerColumn, 1);
  checkNumber('falseCandidates', falseCandidates, Number.MIN_VALUE, columns / 2);
  checkInteger('maxHashes', maxHashes, 1, 255);
  const multipleOf = 2 ** checkInteger('folds', folds, 0, 30);
  if (memoryBytes !== undefined) checkNumber('memoryBytes', memoryBytes, 1);

  const rowBits = rowBitsFor(columns);
  const mostBits = Math.min(MAX_BITS, memoryBytes === undefined ? MAX_BITS : 8 * memoryBytes);
  const mostRows = Math.floor((mostBits / rowBits - 2) / multipleOf) * multipleOf;
  if (mostRows < 1) {
    const least = Math.ceil(slicedBits({ rows: multipleOf, hashes: 1, rowBits }) / 8);
    throw new RangeError(`Cannot plan a table: expected at least ${least} memoryBytes, got ${memoryBytes}`);
  }
  const wanted = sizeClassic({
    capacity: n,
    falsePositiveRate: falseCandidates / columns,
    maxHashes,
    multipleOf,
  });
  const met = wanted.bits <= mostRows;
  const rows = met ? wanted.bits : mostRows;
  const hashes = met ? wanted.hashes : bestHashes(rows, n, maxHashes);
  const size = (rowCount: number): TableSize => {
    const falsePositiveRate = rateTrue(rowCount, hashes, n);
    return {
      rows: rowCount,
      memoryBytes: Math.ceil(slicedBits({ rows: rowCount, hashes, rowBits }) / 32) * 4,
      falsePositiveRate,
      falseCandidates: columns * falsePositiveRate,
    };
  };
  const folded = Array.from({ length: folds }, (_, i) => size(rows / 2 ** (i + 1)));
  return { ...size(rows), columns, hashes, bitsPerKey: rows / n, met, folded };
}

const FIELDS = ['columns', 'keysPerColumn', 'falseCandidates', 'maxHashes', 'folds', 'memoryBytes'];

/** The number of hashes with the lowest rate. */
function bestHashes(rows: number, n: number, maxHashes: number): number {
  let best = 1;
  for (let k = 2; k <= maxHashes; k++) if (rateTrue(rows, k, n) < rateTrue(rows, best, n)) best = k;
  return best;
}
