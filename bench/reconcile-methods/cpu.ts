/**
 * Processor time against n and d. All methods of a row run in turn, in one process, and the median
 * of the rounds counts.
 */

import { bloomSummary, ReconciliationTree } from '@bloomery/reconcile/one-way';
import { BloomFilter, hashKeys } from 'bloomery';
import { median } from '../shared/statistics.ts';
import { exactSession, setsOf } from './sets.ts';

const BITS = 8;
const LEVELS = [0, 2, 5];

function milliseconds(work: () => unknown): number {
  const start = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}

const cells = (...row: (string | number)[]) => `| ${row.join(' | ')} |`;
const shown = (ms: number) =>
  ms < 10 ? ms.toFixed(2) : ms < 100 ? ms.toFixed(1) : Math.round(ms).toLocaleString('en');

/** The rows of one n: for each d the times of every step. */
function rowsOf(n: number, rounds: number): string[] {
  const rows: string[] = [];
  for (const d of [10, 100, 1000, 10_000, 100_000].filter((d) => d <= n / 10)) {
    const times: number[][] = [];
    let shares: number[] = [];
    for (let round = rounds === 1 ? 0 : -1; round < rounds; round++) {
      const took: number[] = [];
      const sets = setsOf(n, d, round + 2);
      let filter = new BloomFilter({ bits: 1, hashes: 1 });
      took.push(milliseconds(() => (filter = bloomSummary(sets.there, { bitsPerKey: BITS }))));
      let passed = new Uint8Array(0);
      took.push(milliseconds(() => (passed = filter.hasMany(sets.here) as Uint8Array<ArrayBuffer>)));
      const hashes = hashKeys(sets.here, filter.scheme);
      took.push(milliseconds(() => filter.hasMany(hashes)));
      const theirs = new ReconciliationTree(sets.there);
      let mine = theirs;
      took.push(milliseconds(() => (mine = new ReconciliationTree(sets.here))));
      let summary = theirs.summary({ bitsPerKey: BITS });
      took.push(milliseconds(() => (summary = theirs.summary({ bitsPerKey: BITS }))));
      shares = [passed.reduce((sum, bit) => sum + 1 - bit, 0) / sets.onlyHere];
      for (const correction of LEVELS) {
        summary = theirs.summary({ bitsPerKey: BITS, correction });
        took.push(
          milliseconds(() => {
            shares.push(mine.surelyMissing(summary, { correction }).keys.length / sets.onlyHere);
          }),
        );
      }
      took.push(milliseconds(() => exactSession(sets, round + 2)));
      if (round >= 0) times.push(took);
    }
    const medians = times[0].map((_, i) => median(times.map((took) => took[i])));
    console.error(`n = ${n}, d = ${d}: ${medians.map(shown).join(' ')}`);
    rows.push(
      cells(
        n.toLocaleString('en'),
        d.toLocaleString('en'),
        ...medians.slice(0, 5).map(shown),
        ...LEVELS.map((_, i) => `${shown(medians[5 + i])} (${Math.round(100 * shares[1 + i])} %)`),
        shown(medians[8]),
      ),
    );
  }
  return rows;
}

export function cpuTable(sizes: readonly number[], rounds: number): string[] {
  return [
    '## Processor time',
    '',
    `Milliseconds, medians of ${rounds} rounds (3 for 1,000,000 keys, one for 10,000,000), keys of 8 bytes, summaries of ${BITS} bits`,
    'per key. d differences, half on each side. In brackets the share that was found in the last round; the plain filter finds',
    '98 %, the session all. "Hashes kept" asks the filter by hashes that were computed before, as a tree that is kept has them.',
    'The session is the sum of both sides, hashing included.',
    '',
    cells(
      'keys',
      'd',
      'Bloom: make',
      'Bloom: ask all',
      'hashes kept',
      'tree: build',
      'tree: summary',
      ...LEVELS.map((c) => `walk, c = ${c}`),
      'exact session',
    ),
    '|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|',
    ...sizes.flatMap((n) => rowsOf(n, n >= 1e7 ? 1 : n >= 1e6 ? 3 : rounds)),
  ];
}
