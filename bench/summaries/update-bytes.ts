/** Bytes of deltas and full states by keys, rate and churn, against theory. */

import { planSummary } from 'bloomery/math';
import { bloomPair, setPair } from './summary-pair.ts';

/** The rate of table VI's m/n = 12, k = 3, and 0.02 false candidates over 256 neighbours. */
const RATES = [(1 - Math.exp(-3 / 12)) ** 3, 0.02 / 256];
const SHARES = [0.001, 0.01, 0.05];

export function updateBytesLines(sizes: readonly number[]): string[] {
  const lines = [
    '## Bytes of an update',
    '',
    'Measured sets, and measured filters in the fast coding (m/n = 12, k = 3), with what they take above theory.',
    '',
    '| keys | rate | c | set | theory | k = 2, theory | k = 3, theory | k = 3, measured | full set | theory |',
    '|---|---|---|---|---|---|---|---|---|---|',
  ];
  for (const keys of sizes) {
    for (const rate of RATES) {
      const set = setPair(keys, rate);
      const bloom = rate === RATES[0] ? bloomPair(keys, 12, 3) : null;
      for (const share of SHARES) {
        process.stderr.write(`${keys} keys at ${rate}, ${share}\n`);
        const { forms } = planSummary({ capacity: keys, falsePositiveRate: rate, changedFraction: share });
        const [theory, two, three] = forms;
        set.replace(share * keys);
        const delta = set.publish();
        set.receive(delta);
        bloom?.replace(share * keys);
        const bits = bloom?.publish();
        if (bits !== undefined) bloom?.receive(bits);
        const cells = [
          keys.toLocaleString('en'),
          `${Number((100 * rate).toPrecision(3))} %`,
          `${100 * share} %`,
          over(delta.length, theory.deltaBytes),
          bytes(theory.deltaBytes),
          bytes(two.deltaBytes),
          bytes(three.deltaBytes),
          bits === undefined ? '–' : over(bits.length, three.deltaBytes),
          over(set.full().length, theory.fullBytes),
          bytes(theory.fullBytes),
        ];
        lines.push(`| ${cells.join(' | ')} |`);
      }
    }
  }
  return [...lines, ''];
}

function bytes(count: number): string {
  return Math.round(count).toLocaleString('en');
}

function over(measured: number, theory: number): string {
  return `${bytes(measured)} (+${(100 * (measured / theory - 1)).toFixed(1)} %)`;
}
