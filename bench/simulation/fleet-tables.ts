/**
 * The tables of simulated fleets, from the figures of rows that have run. A figure with several
 * seeds is a mean with its 95 % interval by Student's t. A row that has not run is left out, and
 * the page says how many are missing.
 */

import { messageBytesOf, messagesOf } from '@bloomery/cache/simulation';
import type { FleetRow, RowFigures, Section } from './fleet-rows.ts';
import { intervalText, powerFit } from './row-statistics.ts';

type Result = RowFigures['result'];

interface Column {
  readonly title: string;
  readonly digits: number;
  /** The figure of one run, or null if it has none. */
  readonly of: (result: Result) => number | null;
}

const perCent =
  (of: (result: Result) => number) =>
  (result: Result): number =>
    (100 * of(result)) / result.requests;
const perRequest =
  (of: (result: Result) => number) =>
  (result: Result): number =>
    of(result) / result.requests;

const LOCAL: Column = { title: 'local, %', digits: 1, of: perCent(({ localHits }) => localHits) };
const NEIGHBOUR: Column = {
  title: 'neighbour, %',
  digits: 1,
  of: perCent(({ neighbourHits }) => neighbourHits),
};
const ORIGIN: Column = { title: 'origin, %', digits: 2, of: perCent(({ originFetches }) => originFetches) };
const MESSAGES: Column = { title: 'messages/request', digits: 3, of: perRequest(messagesOf) };
const MESSAGE_BYTES: Column = {
  title: 'bytes of messages/request',
  digits: 0,
  of: perRequest(messageBytesOf),
};
const OBJECT_KB: Column = {
  title: 'kB of objects between nodes/request',
  digits: 2,
  of: perRequest(({ objectBytes }) => objectBytes / 1000),
};
const FALSE_HITS: Column = { title: 'false hits, %', digits: 2, of: perCent(({ falseHits }) => falseHits) };
const LOST_HITS: Column = { title: 'lost hits, %', digits: 2, of: perCent(({ lostHits }) => lostHits) };
const LATENCY: Column = { title: 'mean, ms', digits: 2, of: ({ latencyMs }) => latencyMs.mean };
const P50: Column = { title: 'p50, ms', digits: 1, of: ({ latencyMs }) => latencyMs.p50 };
const P99: Column = { title: 'p99, ms', digits: 1, of: ({ latencyMs }) => latencyMs.p99 };
const SKEW: Column = { title: 'skew', digits: 3, of: ({ skew }) => skew };
const DISTINCT: Column = {
  title: 'different objects held, thousands',
  digits: 0,
  of: ({ distinctObjects }) => distinctObjects / 1000,
};
const STALENESS: Column = { title: 'staleness, ms', digits: 0, of: ({ stalenessMs }) => stalenessMs };
const UPDATES: Column = {
  title: 'updates/request',
  digits: 3,
  of: perRequest(({ messages }) => messages.update),
};
const UPDATE_BYTES: Column = {
  title: 'bytes of an update',
  digits: 0,
  of: ({ messages, messageBytes }) => messageBytes.update / messages.update,
};
const OWNER: Column = {
  title: 'about owners/request',
  digits: 3,
  of: perRequest(({ messages }) => messages['owner-question'] + messages['owner-answer']),
};
const HEARTBEATS: Column = {
  title: 'heartbeats/request',
  digits: 3,
  of: perRequest(({ messages }) => messages.heartbeat),
};

const OTHER_GROUPS: Column = {
  title: 'of it from other groups, %',
  digits: 1,
  of: perCent(({ betweenGroups }) => betweenGroups.hits),
};
const ROUND_TRIPS: Column = {
  title: 'round trips',
  digits: 2,
  of: perRequest(({ roundTrips }) => roundTrips),
};
const BETWEEN_KB: Column = {
  title: 'kB between groups/request',
  digits: 2,
  of: perRequest(({ betweenGroups }) => (betweenGroups.objectBytes + betweenGroups.messageBytes) / 1000),
};

const HEAD = `# Simulated fleets

Written by \`npm run bench:simulation -- --write\` from bench/results/simulation.json. Zipf with exponent 0.8, objects of 30 kB
on average, the caches of a fleet hold 64 % of all objects together. Three quarters of the requests are warm-up. A neighbour is
1 ms away, the origin 50 ms. Messages are everything between nodes except the transfer of an object; heartbeats are counted
apart. Updates are sent at a threshold of 1 % alone and without the owner's flight, except in rows with "default settings" or
"owner" and in those of fleets in groups. Intervals are 95 % by Student's t over the seeds; a row without one has a single seed.`;

/** The whole page, for the rows that have run. */
export function fleetPage(rows: readonly FleetRow[], figures: readonly RowFigures[]): string {
  const of = (section: Section) => rows.filter((row) => row.section === section);
  const missing = rows.filter((row) => resultsOf(row, figures).length < row.seeds.length);
  const parts = [
    HEAD,
    missing.length === 0 ? '' : `${missing.length} of ${rows.length} rows have not run with all their seeds.`,
    section('64 nodes of 10,000 objects each', fleetSection(of('fleet'), figures)),
    section('Messages', messageSection([...of('fleet'), ...of('messages')], of('growth'), figures)),
    section('Forms of updates', plainTable(of('forms'), figures, [UPDATES, UPDATE_BYTES, ORIGIN])),
    section(
      'Lost hits by the threshold of updates',
      plainTable(of('thresholds'), figures, THRESHOLD_COLUMNS),
    ),
    section('A quarter of the nodes is replaced', shockTable(of('shock'), figures)),
    section('Growth with the number of nodes', growthSection(of('growth'), figures)),
    section('Fleets in groups', plainTable(of('groups'), figures, GROUP_COLUMNS)),
    section('CPU time of the rows', costTable(rows, figures)),
  ];
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

const THRESHOLD_COLUMNS = [LOST_HITS, FALSE_HITS, ORIGIN, UPDATES, MESSAGE_BYTES, STALENESS];

const GROUP_COLUMNS = [
  ...[LOCAL, NEIGHBOUR, OTHER_GROUPS, ORIGIN, ROUND_TRIPS, OBJECT_KB, BETWEEN_KB],
  ...[MESSAGES, LOST_HITS, FALSE_HITS, SKEW],
];

function section(title: string, lines: readonly string[]): string {
  return lines.length === 0 ? '' : `## ${title}\n\n${lines.join('\n')}`;
}

function fleetSection(rows: readonly FleetRow[], figures: readonly RowFigures[]): string[] {
  const first = plainTable(rows, figures, [LOCAL, NEIGHBOUR, ORIGIN, LOST_HITS, FALSE_HITS, SKEW, DISTINCT]);
  if (first.length === 0) return [];
  return [
    ...first,
    '',
    ...plainTable(rows, figures, [OBJECT_KB, MESSAGES, MESSAGE_BYTES, STALENESS, LATENCY, P50, P99]),
    '',
    ...comparisons(rows, figures),
  ];
}

/** The sentences that compare rows with consistent hashing. */
function comparisons(rows: readonly FleetRow[], figures: readonly RowFigures[]): string[] {
  const ratio = (name: string, { of }: Column): string | null => {
    const [one, other] = [name, 'consistent hashing'].map((each) => {
      const row = rows.find((candidate) => candidate.name === each);
      return row === undefined ? [] : resultsOf(row, figures);
    });
    if (one!.length === 0 || one!.length !== other!.length) return null;
    return intervalText(
      one!.map((result, i) => of(result)! / of(other![i]!)!),
      3,
    );
  };
  const lines: [string, string | null][] = [
    [
      'Origin fetches of single copies, over those of consistent hashing (wanted: at most 1.1)',
      ratio('single copies', ORIGIN),
    ],
    ['Skew of single copies, over that of consistent hashing', ratio('single copies', SKEW)],
    [
      'Object bytes between nodes with copies 10 %, over those of consistent hashing (wanted: at most 0.7)',
      ratio('copies 10 %', OBJECT_KB),
    ],
    ['Origin fetches with copies 10 %, over those of consistent hashing', ratio('copies 10 %', ORIGIN)],
    [
      'Origin fetches with default settings, over those of consistent hashing',
      ratio('default settings', ORIGIN),
    ],
  ];
  return lines.filter(([, value]) => value !== null).map(([text, value]) => `- ${text}: ${value}.`);
}

/** `more`: rows of ICP for nodes of other sizes. */
function messageSection(
  rows: readonly FleetRow[],
  more: readonly FleetRow[],
  figures: readonly RowFigures[],
): string[] {
  const icpOf = ({ nodes, capacity }: FleetRow) => {
    const row = [...rows, ...more].find(
      (each) => each.nodes === nodes && each.capacity === capacity && each.policy.kind === 'icp',
    );
    return row === undefined ? [] : resultsOf(row, figures);
  };
  const lines: string[] = [];
  for (const row of rows) {
    const results = resultsOf(row, figures);
    const icp = icpOf(row);
    if (results.length === 0 || icp.length === 0 || row.policy.kind !== 'summaries') continue;
    const fewer = results.map((result, i) => MESSAGES.of(icp[i % icp.length]!)! / MESSAGES.of(result)!);
    const bytes = results.map(
      (result, i) => MESSAGE_BYTES.of(icp[i % icp.length]!)! / MESSAGE_BYTES.of(result)!,
    );
    const shown = [MESSAGES, UPDATES, OWNER, HEARTBEATS].map((column) => cell(results, column));
    lines.push(
      `| ${row.nodes} | ${row.capacity.toLocaleString('en')} | ${row.name} | ${row.rate} | ${intervalText(fewer, 1)} | ${intervalText(bytes, 2)} | ${shown.join(' | ')} |`,
    );
  }
  if (lines.length === 0) return [];
  return [
    "ICP's messages per request over those of the row, and the same for their bytes.",
    '',
    '| nodes | objects of each | row | requests/s per node | times fewer messages | times fewer bytes | messages/request | updates/request | about owners/request | heartbeats/request |',
    '|---:|---:|---|---:|---:|---:|---:|---:|---:|---:|',
    ...lines,
  ];
}

function plainTable(
  rows: readonly FleetRow[],
  figures: readonly RowFigures[],
  columns: readonly Column[],
): string[] {
  const lines = rows.flatMap((row) => {
    const results = resultsOf(row, figures);
    if (results.length === 0) return [];
    return [`| ${row.name} | ${columns.map((column) => cell(results, column)).join(' | ')} |`];
  });
  if (lines.length === 0) return [];
  return [
    `| | ${columns.map(({ title }) => title).join(' | ')} |`,
    `|---|${columns.map(() => '---:|').join('')}`,
    ...lines,
  ];
}

/** Shares of origin fetches before and after the shock, which is in the middle of the series. */
function shockTable(rows: readonly FleetRow[], figures: readonly RowFigures[]): string[] {
  const lines = rows.flatMap((row) => {
    const [result] = resultsOf(row, figures);
    if (result === undefined) return [];
    const { series } = result;
    const middle = Math.floor(series.length / 2);
    const points = [-1, 0, 1, 2, 4, 9].map((at) => series[middle + at]);
    return [
      `| ${row.name} | ${points.map((point) => (point === undefined ? '–' : (100 * point.originShare).toFixed(1))).join(' | ')} |`,
    ];
  });
  if (lines.length === 0) return [];
  const [first] = figures.filter(({ section }) => section === 'shock');
  const window = first?.result.series[0]?.requests ?? 0;
  return [
    `16 nodes of 10,000 objects, of which 4 are replaced by empty ones at once. Origin fetches in %, in windows of ${window.toLocaleString('en')} requests.`,
    '',
    '| | before | 1st window after | 2nd | 3rd | 5th | 10th |',
    '|---|---:|---:|---:|---:|---:|---:|',
    ...lines,
  ];
}

function growthSection(rows: readonly FleetRow[], figures: readonly RowFigures[]): string[] {
  const columns = [ORIGIN, MESSAGES, UPDATES, MESSAGE_BYTES, OBJECT_KB, FALSE_HITS, SKEW];
  const table = plainTable(rows, figures, columns);
  if (table.length === 0) return [];
  const families = new Map<string, FleetRow[]>();
  for (const row of rows) {
    const family = row.name.replace(/, \d+$/, '');
    families.set(family, [...(families.get(family) ?? []), row]);
  }
  const fits = [...families].flatMap(([family, members]) => {
    const fitted = [MESSAGES, MESSAGE_BYTES, OBJECT_KB].flatMap(({ title, of }) => {
      const points = members.flatMap((row) => {
        const [result] = resultsOf(row, figures);
        const value = result === undefined ? null : of(result);
        return value === null || value <= 0 ? [] : [{ x: row.nodes, y: value }];
      });
      return points.length < 3 ? [] : [`${title} ${powerFit(points)}`];
    });
    return fitted.length === 0 ? [] : [`- ${family}: ${fitted.join('; ')}.`];
  });
  return [
    'Nodes of 1,000 objects each. Below the table, a power of the number of nodes N is fitted to each cost.',
    '',
    ...table,
    '',
    ...fits,
  ];
}

function costTable(rows: readonly FleetRow[], figures: readonly RowFigures[]): string[] {
  const lines = rows.flatMap((row) => {
    const times = figures
      .filter(({ section: where, name }) => where === row.section && name === row.name)
      .map(({ cpuSeconds }) => cpuSeconds);
    if (times.length === 0) return [];
    const mean = times.reduce((sum, time) => sum + time, 0) / times.length;
    const perMillion = (1e6 * mean) / row.requests;
    return [
      `| ${row.section} | ${row.name} | ${row.nodes} | ${row.requests.toLocaleString('en')} | ${mean.toFixed(0)} | ${perMillion.toFixed(0)} |`,
    ];
  });
  if (lines.length === 0) return [];
  return [
    '| table | row | nodes | requests | CPU, s | CPU per million requests, s |',
    '|---|---|---:|---:|---:|---:|',
    ...lines,
  ];
}

function resultsOf(row: FleetRow, figures: readonly RowFigures[]): Result[] {
  return row.seeds.flatMap((seed) => {
    const found = figures.find(
      (each) => each.section === row.section && each.name === row.name && each.seed === seed,
    );
    return found === undefined ? [] : [found.result];
  });
}

function cell(results: readonly Result[], { of, digits }: Column): string {
  const values = results.map(of);
  if (values.some((value) => value === null)) return '–';
  return intervalText(values as number[], digits);
}
