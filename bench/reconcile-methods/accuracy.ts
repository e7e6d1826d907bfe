/**
 * Shares of the differences that are found: by bits per key and correction level, and at the bytes
 * of the exact session. They depend on seeds alone, not on the machine.
 */

import {
  bestLeafBits,
  bloomSummary,
  expectedAccuracy,
  ReconciliationTree,
  surelyMissing,
} from '@bloomery/reconcile/one-way';
import { exactSession, setsOf } from './sets.ts';

const LEVELS = [0, 1, 2, 3, 4, 5];

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
const deviation = (values: readonly number[]) =>
  Math.sqrt(mean(values.map((value) => (value - mean(values)) ** 2)) / (values.length - 1));
const cells = (...row: (string | number)[]) => `| ${row.join(' | ')} |`;
const digits = (share: number) => share.toFixed(3);
const percent = (share: number) => {
  if (share === 0 || share === 1) return `${100 * share} %`;
  return `${(100 * share).toFixed(share < 0.1 || share > 0.985 ? 2 : 0)} %`;
};

/** The table of 2 to 8 bits per key and levels 0 to 5. */
export function accuracyTable(trials: number): string[] {
  const n = 10_000;
  const d = 200;
  const shares = new Map<string, number[]>();
  const visits = new Map<string, number[]>();
  const note = (map: Map<string, number[]>, what: string, value: number) =>
    map.set(what, [...(map.get(what) ?? []), value]);
  for (let trial = 0; trial < trials; trial++) {
    const { here, there, onlyHere } = setsOf(n, d, trial);
    const [mine, theirs] = [new ReconciliationTree(here), new ReconciliationTree(there)];
    for (const bits of [2, 4, 6, 8]) {
      for (const correction of LEVELS) {
        const summary = theirs.summary({ bitsPerKey: bits, correction });
        const { keys, visited } = mine.surelyMissing(summary, { correction });
        note(shares, `${bits} ${correction}`, keys.length / onlyHere);
        note(visits, `${bits} ${correction}`, visited);
      }
      const plain = surelyMissing(here, bloomSummary(there, { bitsPerKey: bits }));
      note(shares, `${bits} plain`, plain.length / onlyHere);
    }
  }
  const found = (what: string) => shares.get(what) ?? [];
  const shape = (bits: number, correction: number) => {
    const leafBits = bestLeafBits(n, bits, correction);
    return { size: n, leafBits, innerBits: bits - leafBits, correction };
  };
  const worst = Math.max(
    ...[2, 4, 6, 8].flatMap((bits) =>
      LEVELS.map((c) => Math.abs(mean(found(`${bits} ${c}`)) - expectedAccuracy(shape(bits, c)))),
    ),
  );
  const head = cells('bits per key', ...LEVELS.map((c) => `c = ${c}`), 'plain Bloom');
  const rule = '|---:|---:|---:|---:|---:|---:|---:|---:|';
  return [
    '## Share of the differences that a search finds',
    '',
    `${n.toLocaleString('en')} keys on each side, of which ${d / 2} are only there. Means of ${trials} trials, with the standard error of the`,
    'mean. The bits of a tree are divided between leaves and inner nodes by formula.',
    '',
    head,
    rule,
    ...[2, 4, 6, 8].map((bits) =>
      cells(
        bits,
        ...[...LEVELS, 'plain'].map((column) => {
          const values = found(`${bits} ${column}`);
          return `${digits(mean(values))} ± ${digits(deviation(values))}`;
        }),
      ),
    ),
    '',
    `The formula (\`expectedAccuracy\`) differs from these means by at most ${(100 * worst).toFixed(1)} points:`,
    '',
    head.replace(' | plain Bloom', ''),
    '|---:|---:|---:|---:|---:|---:|---:|',
    ...[2, 4, 6, 8].map((bits) =>
      cells(bits, ...LEVELS.map((c) => digits(expectedAccuracy(shape(bits, c))))),
    ),
    '',
    'Bits per key that the leaves get, and nodes that a search visits on average, of 19,999:',
    '',
    head.replace(' | plain Bloom', ''),
    '|---:|---:|---:|---:|---:|---:|---:|',
    ...[2, 4, 6, 8].map((bits) =>
      cells(
        bits,
        ...LEVELS.map(
          (c) => `${shape(bits, c).leafBits}, ${mean(visits.get(`${bits} ${c}`) ?? []).toFixed(0)}`,
        ),
      ),
    ),
  ];
}

/** At the bytes of the exact session: what the one-way methods find with as many. */
export function equalBytesTable(n: number, trials: number): string[] {
  const rows: string[] = [];
  for (const d of [10, 100, 1000, 10_000, 20_000, 100_000].filter((d) => d <= n)) {
    const found: Record<'bytes' | 'exact' | 'plain' | 'tree', number[]> = {
      bytes: [],
      exact: [],
      plain: [],
      tree: [],
    };
    let level = 0;
    for (let trial = 0; trial < trials; trial++) {
      const sets = setsOf(n, d, trial);
      const exact = exactSession(sets, trial);
      const bits = Math.min(64, (8 * exact.bytes) / n);
      found.bytes.push(exact.bytes);
      found.exact.push(exact.found / sets.onlyHere);
      const plain = surelyMissing(sets.here, bloomSummary(sets.there, { bitsPerKey: bits }));
      found.plain.push(plain.length / sets.onlyHere);
      level = bestLevel(n, bits);
      const summary = new ReconciliationTree(sets.there).summary({ bitsPerKey: bits, correction: level });
      const { keys } = new ReconciliationTree(sets.here).surelyMissing(summary, { correction: level });
      found.tree.push(keys.length / sets.onlyHere);
    }
    const bytes = mean(found.bytes);
    rows.push(
      cells(
        d.toLocaleString('en'),
        Math.round(bytes).toLocaleString('en'),
        ((8 * bytes) / n).toFixed(2),
        percent(mean(found.exact)),
        percent(mean(found.plain)),
        `${percent(mean(found.tree))} (c = ${level})`,
      ),
    );
  }
  return [
    '## Found at equal bytes',
    '',
    `${n.toLocaleString('en')} keys on each side, d differences, half on each side. The one-way methods get as many bytes as the exact session`,
    `takes in both directions. The session tells both sides, a filter tells one. Means of ${trials} trials. Trees use the level`,
    'c up to 10 that finds most by formula.',
    '',
    cells('d', 'bytes', 'bits per key', 'exact session', 'plain Bloom', 'tree'),
    '|---:|---:|---:|---:|---:|---:|',
    ...rows,
  ];
}

function bestLevel(size: number, bits: number): number {
  let best = 0;
  let most = -1;
  for (let correction = 0; correction <= 10; correction++) {
    const leafBits = bestLeafBits(size, bits, correction);
    const share = expectedAccuracy({ size, leafBits, innerBits: bits - leafBits, correction });
    if (share > most) [most, best] = [share, correction];
  }
  return best;
}
