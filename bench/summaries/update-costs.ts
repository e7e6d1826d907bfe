/**
 * CPU time of an update by the number of keys (survey 4 asks what it costs to keep the summary of a
 * cache current): rebuilding a filter, a counting filter, and a set of positions. First with a
 * fixed number of changes, where the cost of the set should not depend on the keys; then with a
 * fixed share of the keys.
 */

import { BloomFilter } from 'bloomery';
import { compressFrame, expandFrame } from 'bloomery/wire';
import { median } from '../shared/statistics.ts';
import { bloomPair, hashes, type SummaryPair, setPair } from './summary-pair.ts';

const RATE = (1 - Math.exp(-3 / 12)) ** 3;
/** Keys that are replaced where their number is fixed. */
const REPLACED = 1000;

interface Cost {
  readonly publish: number[];
  readonly receive: number[];
}

export function updateCostsLines(sizes: readonly number[], rounds: number): string[] {
  const lines = [
    '## CPU time of an update',
    '',
    `Milliseconds at the publisher / at the subscriber, median of ${rounds} rounds that run all ways in turn. Counting the`,
    'changes as they come is part of the publisher. Rebuilding reads all keys.',
    '',
    '| keys | replaced | set of positions | counting filter (m/n = 12, k = 3) | rebuilt filter |',
    '|---|---|---|---|---|',
  ];
  const fixed: { keys: number; cost: Cost }[] = [];
  for (const keys of sizes) {
    for (const count of [REPLACED, keys / 100].filter((each, i) => i === 0 || each !== REPLACED)) {
      process.stderr.write(`${keys} keys, ${count} replaced\n`);
      const ways = [setPair(keys, RATE), bloomPair(keys, 12, 3), rebuiltPair(keys)];
      const costs = ways.map((): Cost => ({ publish: [], receive: [] }));
      // A rebuild of a million keys takes a second.
      const most = keys * rounds > 1e7 ? Math.ceil(1e7 / keys) : rounds;
      for (let round = 0; round < most; round++) {
        for (const [i, way] of ways.entries()) update(way, count, costs[i]);
      }
      if (count === REPLACED) fixed.push({ keys, cost: costs[0] });
      const cells = costs.map(({ publish, receive }) => `${ms(publish)} / ${ms(receive)}`);
      lines.push(`| ${keys.toLocaleString('en')} | ${count.toLocaleString('en')} | ${cells.join(' | ')} |`);
    }
  }
  return [...lines, '', ...fitLines(fixed), ''];
}

/** How the cost of a fixed number of changes grows with the keys: the slope of the logarithms. */
function fitLines(fixed: readonly { keys: number; cost: Cost }[]): string[] {
  const slope = (part: keyof Cost) => {
    const points = fixed.map(({ keys, cost }) => [Math.log(keys), Math.log(median(cost[part]))]);
    const [meanX, meanY] = [0, 1].map(
      (i) => points.reduce((sum, point) => sum + point[i], 0) / points.length,
    );
    const above = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0);
    return above / points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
  };
  return [
    `With ${REPLACED.toLocaleString('en')} keys replaced, the cost of a set grows as n^${slope('publish').toFixed(2)} at the publisher and n^${slope('receive').toFixed(2)} at the subscriber.`,
  ];
}

function update(way: SummaryPair, count: number, cost: Cost): void {
  const start = cpuMs();
  way.replace(count);
  const message = way.publish();
  const sent = cpuMs();
  way.receive(message);
  cost.publish.push(sent - start);
  cost.receive.push(cpuMs() - sent);
}

/** A filter that is built again from all keys and sent whole, as Squid does. */
function rebuiltPair(keys: number): SummaryPair {
  let first = 0;
  const full = () => {
    const filter = new BloomFilter({ bits: 12 * keys, hashes: 3 });
    for (const hash of hashes(first, first + keys)) filter.addHash(hash);
    return compressFrame(filter.encode(), { effort: 'fast' });
  };
  return {
    replace: (count) => {
      first += count;
    },
    publish: full,
    receive: (message) => BloomFilter.decode(expandFrame(message)),
    full,
  };
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

function ms(times: readonly number[]): string {
  return median(times).toPrecision(3);
}
