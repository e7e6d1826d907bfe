/**
 * The sections of the page that follow from simulated rows, as Markdown lines: what cooperation
 * buys, and where it loses. Sentences are written from the figures, so they are true for the
 * figures at hand; a sentence whose rows have not run is left out. Without any rows there are no
 * sections.
 */

import { fleetRows } from '../simulation/fleet-rows.ts';
import {
  bytesBetween,
  type Figure,
  falseHits,
  latencyMs,
  localShare,
  lostHits,
  messages,
  neighbourShare,
  originShare,
  skew,
  stalenessMs,
} from './fleet-figures.ts';
import { growthTable, messageTable } from './page-messages.ts';
import type { SimulatedRows } from './simulated-rows.ts';

const percent = (digits: number) => (value: number) => `${(100 * value).toFixed(digits)} %`;
const fixed = (digits: number) => (value: number) => value.toFixed(digits);

const COLUMNS: readonly (readonly [title: string, figure: Figure, text: (value: number) => string])[] = [
  ['own cache', localShare, percent(1)],
  ['neighbour', neighbourShare, percent(1)],
  ['origin', originShare, percent(1)],
  ['kB between nodes per request', bytesBetween, (bytes) => (bytes / 1000).toFixed(1)],
  ['messages per request', messages, fixed(3)],
  ['false hits', falseHits, percent(2)],
  ['lost hits', lostHits, percent(2)],
  ['mean time', latencyMs, (ms) => `${ms.toFixed(1)} ms`],
  ['skew', skew, fixed(2)],
  [
    'staleness',
    stalenessMs,
    (ms) => (ms < 9950 ? `${(ms / 1000).toFixed(1)} s` : `${(ms / 1000).toFixed(0)} s`),
  ],
];

/** All policies in the fleet of 64 nodes. */
function fleetTable(rows: SimulatedRows): string[] {
  return [
    `| | ${COLUMNS.map(([title]) => title).join(' | ')} |`,
    `|---|${'---:|'.repeat(COLUMNS.length)}`,
    ...inOrder(rows.names('fleet')).map((name) => {
      const cells = COLUMNS.map(([, figure, text]) => {
        const value = rows.mean('fleet', name, figure);
        return value === null ? '–' : text(value);
      });
      return `| ${name} | ${cells.join(' | ')} |`;
    }),
  ];
}

/** The rows as bench/simulation/fleet-rows.ts lists them; the file has them by name. */
function inOrder(names: readonly string[]): string[] {
  const listed = fleetRows(false)
    .filter(({ section }) => section === 'fleet')
    .map(({ name }) => name);
  return listed.filter((name) => names.includes(name));
}

/** Sentences about the table of the fleet. */
function headlines(rows: SimulatedRows): string[] {
  const of = (name: string, figure: Figure) => rows.mean('fleet', name, figure);
  const share = percent(1);
  const lines: string[] = [];
  const say = (values: readonly (number | null)[], text: (...values: number[]) => string) => {
    if (values.every((value) => value !== null)) lines.push(`- ${text(...(values as number[]))}`);
  };
  say(
    [of('alone', originShare), of('consistent hashing', originShare), of('default settings', originShare)],
    (alone, hashing, ours) =>
      `Of all requests, ${share(alone)} go to the origin when nodes are alone, ${share(hashing)} with consistent hashing, and ${share(ours)} with Bloomery's default settings.`,
  );
  say(
    [of('single copies', originShare), of('consistent hashing', originShare)],
    (single, hashing) =>
      `With single copies it is ${share(single)}: ${(single / hashing).toFixed(2)} times the fetches of consistent hashing.`,
  );
  say(
    [of('single copies', skew), of('consistent hashing', skew)],
    (single, hashing) =>
      `The busiest node serves ${single.toFixed(2)} times the average with single copies, and ${hashing.toFixed(2)} times with consistent hashing.`,
  );
  say(
    [of('copies 10 %', bytesBetween), of('consistent hashing', bytesBetween), of('copies 10 %', localShare)],
    (copies, hashing, local) =>
      `A tenth of each cache for copies moves ${(100 * (1 - copies / hashing)).toFixed(0)} % fewer bytes between nodes than consistent hashing, and answers ${share(local)} of the requests in the own cache.`,
  );
  say(
    [of('ICP', messages), of('single copies', messages), of('default settings', messages)],
    (icp, single, ours) =>
      `ICP sends ${icp.toFixed(1)} messages per request. Summaries that wait for 1 % new objects send ${(icp / single).toFixed(0)} times fewer (single copies), and the default settings, which tell new objects within half a second and ask owners, ${(icp / ours).toFixed(1)} times fewer.`,
  );
  return lines;
}

const PICTURES: readonly (readonly [file: string, alternative: string, words: string])[] = [
  [
    'simulation-sources',
    'Where answers come from',
    'Copies bring answers into the own cache, and fill the fleet with repetitions.',
  ],
  ['simulation-traffic', 'Bytes between nodes', 'With hashing nearly every answer crosses the network.'],
  [
    'simulation-thresholds',
    'Lost hits by the threshold',
    'Updates that wait save messages and lose hits: an object that a neighbour stored a moment ago is fetched again.',
  ],
  [
    'simulation-growth',
    'Messages by the number of nodes',
    'Both axes are logarithmic. Nodes hold 1,000 objects each here; [the results](../../bench/results/simulation.md) have the fitted powers.',
  ],
  [
    'simulation-shock',
    'The shock when nodes are replaced',
    'The nodes that start empty are filled by requests, whatever the policy.',
  ],
];

/** The sections, with the plots that could be drawn. */
export function resultSections(rows: SimulatedRows, drawn: readonly string[]): string[] {
  if (rows.names('fleet').length === 0) return [];
  return [
    '## What cooperation buys',
    '',
    '64 nodes with caches of 10,000 objects each, a million objects, Zipf 0.8. Together the caches hold 64 % of the objects if',
    'each is there once, so it matters how many copies of one object the fleet keeps.',
    '',
    ...headlines(rows),
    '',
    ...fleetTable(rows),
    '',
    'Rows send updates when 1 % of the objects are new, as Summary Cache does, and ask no owner, unless their name says so.',
    '"Default settings" are those of `bloomery cache`. Figures are means over the seeds; [the',
    'results](../../bench/results/simulation.md) have the intervals and the CPU time of each row.',
    '',
    ...PICTURES.filter(([file]) => drawn.includes(file)).flatMap(([file, alternative, words]) => [
      words,
      '',
      `![${alternative}](figures/${file}.svg)`,
      '',
    ]),
    ...messageTable(rows),
    ...growthTable(rows),
    '## Where it loses',
    '',
    ...losses(rows),
  ];
}

/** Comparisons with consistent hashing, whichever way they go. */
function losses(rows: SimulatedRows): string[] {
  const share = percent(1);
  const hashing = rows.mean('fleet', 'consistent hashing', originShare);
  const lines: string[] = [];
  const ours = ['single copies, owner', 'single copies', 'copies 10 %', 'default settings']
    .map((name) => ({ name, origin: rows.mean('fleet', name, originShare) }))
    .filter((row): row is { name: string; origin: number } => row.origin !== null);
  if (hashing !== null && ours.length > 0) {
    const best = ours.reduce((least, row) => (row.origin < least.origin ? row : least));
    lines.push(
      best.origin > hashing
        ? `- Consistent hashing fetches least from the origin: ${share(hashing)}, and the best row of summaries (${best.name}) ${share(best.origin)}. If a load balancer can hash before the caches, no cooperation is needed.`
        : `- The best row of summaries (${best.name}) fetches ${share(best.origin)} from the origin, and consistent hashing ${share(hashing)}.`,
    );
  }
  const published = rows.mean('fleet', 'Summary Cache', originShare);
  if (published !== null && hashing !== null) {
    lines.push(
      `- Summary Cache as published keeps a copy of everything. When the caches are small, it fetches ${share(published)} from the origin, ${(published / hashing).toFixed(1)} times as much as consistent hashing.`,
    );
  }
  const quiet = rows.mean('messages', '16 nodes: default settings, 1/s', messages);
  const icp = rows.mean('messages', '16 nodes: ICP', messages);
  if (quiet !== null && icp !== null) {
    lines.push(
      `- The default settings do not wait for 1 % new objects. Where each of 16 nodes has one request a second, they save few messages: ${(icp / quiet).toFixed(1)} times fewer than ICP.`,
    );
  }
  for (const name of ['consistent hashing', 'single copies', 'default settings']) {
    const [result] = rows.results('shock', name);
    if (result === undefined) continue;
    const { series } = result;
    const middle = Math.floor(series.length / 2);
    const [before, after, end] = [series[middle - 1], series[middle], series[series.length - 1]];
    lines.push(
      `- When a quarter of 16 nodes is replaced (${name}), the origin goes from ${share(before.originShare)} to ${share(after.originShare)}, and to ${share(end.originShare)} at the end.`,
    );
  }
  return lines;
}
