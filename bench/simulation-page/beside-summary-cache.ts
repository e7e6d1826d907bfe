/**
 * The table of Summary Cache's headline figures (Fan, Cao, Almeida and Broder, IEEE/ACM
 * Transactions on Networking 8(3), 2000), with ours beside them. A figure of ours whose rows have
 * not run is a dash.
 */

import { type Figure, falseHits, messageBytes, messages, originShare } from './fleet-figures.ts';
import type { SimulatedRows } from './simulated-rows.ts';

/** Lost hits, relative to the hits that there would be without them. */
const lostOfHits: Figure = (result) => {
  const hits = result.requests - result.originFetches;
  return result.lostHits / (hits + result.lostHits);
};
const hitShare: Figure = (result) => 1 - (originShare(result) as number);

export function besideSummaryCache(rows: SimulatedRows): string[] {
  const at = (nodes: 16 | 64, name: string, figure: Figure): number | null =>
    nodes === 64 ? rows.mean('fleet', name, figure) : rows.mean('messages', `16 nodes: ${name}`, figure);
  /** Figures of two rows by one text, for both fleets. */
  const both = (name: string, figure: Figure, text: (ours: number, icp: number) => string): string | null => {
    const parts = ([16, 64] as const).flatMap((nodes) => {
      const [ours, icp] = [at(nodes, name, figure), at(nodes, 'ICP', figure)];
      return ours === null || icp === null ? [] : [`${text(ours, icp)} (${nodes} nodes)`];
    });
    return parts.length === 0 ? null : parts.join(', ');
  };
  const fewer = (ours: number, icp: number) => `${(icp / ours).toFixed(0)} times fewer`;
  const less = (ours: number, icp: number) => `${(100 * (1 - ours / icp)).toFixed(1)} % fewer`;
  const percent = (value: number, digits = 1) => `${(100 * value).toFixed(digits)} %`;
  const one = (value: number | null, text: (value: number) => string) =>
    value === null ? null : text(value);
  const named = (parts: readonly (readonly [string, string | null])[]) => {
    const there = parts.filter(([, text]) => text !== null);
    return there.length === 0 ? null : there.map(([name, text]) => `${name}: ${text}`).join('; ');
  };
  const lines: (readonly [what: string, theirs: string, setUp: string, ours: string | null])[] = [
    [
      'messages, compared with ICP',
      '25 to 60 times fewer',
      'five traces of 1996 to 1998 with 1.8 to 3.5 million requests, 4 to 16 proxies',
      named([
        ['single copies', both('single copies', messages, fewer)],
        ['everything kept, as there', both('all kept', messages, fewer)],
      ]),
    ],
    [
      'bytes between proxies without the objects, compared with ICP',
      'at least 50 % fewer',
      'the same',
      named([
        ['single copies', both('single copies', messageBytes, less)],
        ['everything kept', both('all kept', messageBytes, less)],
      ]),
    ],
    [
      'hit ratio, compared with ICP',
      'almost the same',
      'caches of 10 % of all bytes of the trace',
      both(
        'all kept',
        hitShare,
        (ours, icp) => `everything kept: ${percent(ours)} of requests, ICP ${percent(icp)}`,
      ),
    ],
    [
      'lost hits when updates wait for 1 % new documents',
      '0.1 to 0.3 % for three traces, 1.7 % for the fourth',
      'relative to the hits without delay',
      named([
        ['everything kept, 16 nodes', one(rows.mean('thresholds', 'all kept, 1 %', lostOfHits), percent2)],
        ['single copies, 16 nodes', one(rows.mean('thresholds', 'single copies, 1 %', lostOfHits), percent2)],
      ]),
    ],
    [
      'false hits with 100 proxies of a million pages',
      '4.7 % of requests',
      '16 bits per page',
      named([
        ['Summary Cache, 64 nodes', one(rows.mean('fleet', 'Summary Cache', falseHits), percent2)],
        ['single copies, 64 nodes', one(rows.mean('fleet', 'single copies', falseHits), percent2)],
      ]),
    ],
    [
      'messages of ICP, 4 proxies without any remote hit',
      '73 to 90 times those without ICP',
      'a synthetic load on real proxies',
      null,
    ],
  ];
  return [
    '| what | Summary Cache | the set-up there | here |',
    '|---|---|---|---|',
    ...lines.map(([what, theirs, setUp, ours]) => `| ${what} | ${theirs} | ${setUp} | ${ours ?? '–'} |`),
  ];
}

function percent2(value: number): string {
  return `${(100 * value).toFixed(2)} %`;
}
