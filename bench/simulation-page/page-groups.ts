/**
 * The section of the page about fleets in groups: a table of all rows, and sentences that compare
 * the two ways between groups at each size. Rows that have not run are left out.
 */

import { type FleetResult, messageBytesOf, messagesOf } from '@bloomery/cache/simulation';
import { type ChurnFigures, churnTable } from '../simulation/churn-table.ts';
import { fleetRows } from '../simulation/fleet-rows.ts';
import { type Figure, latencyMs, localShare, originShare, skew } from './fleet-figures.ts';
import type { SimulatedRows } from './simulated-rows.ts';

const percent = (value: number) => `${(100 * value).toFixed(1)} %`;
const kilobytes = (bytes: number) => (bytes / 1000).toFixed(1);

const ownGroup: Figure = ({ neighbourHits, betweenGroups, requests }) =>
  (neighbourHits - betweenGroups.hits) / requests;
export const otherGroup: Figure = ({ betweenGroups, requests }) => betweenGroups.hits / requests;
export const roundTrips: Figure = (result) => result.roundTrips / result.requests;
const bytesBetween: Figure = ({ betweenGroups, requests }) =>
  (betweenGroups.objectBytes + betweenGroups.messageBytes) / requests;
const allBytes: Figure = (result) => (result.objectBytes + messageBytesOf(result)) / result.requests;
const bytesInside: Figure = (result) => allBytes(result)! - bytesBetween(result)!;
const leaderRate: Figure = ({ betweenGroups, durationMs }) =>
  betweenGroups.busiestLeader === 0 ? null : (1000 * betweenGroups.busiestLeader) / durationMs;
const nodeMemory: Figure = ({ summaryMemory }) => summaryMemory?.nodeBytes ?? null;
const leaderMemory: Figure = ({ summaryMemory }) => summaryMemory?.leaderBytes || null;

/** Messages that a node sends per second, heartbeats included. */
function messageRate(nodes: number): Figure {
  return (result: FleetResult) =>
    (1000 * (messagesOf(result) + result.messages.heartbeat)) / (nodes * result.durationMs);
}

type Column = readonly [title: string, figure: (nodes: number) => Figure, text: (value: number) => string];

const COLUMNS: readonly Column[] = [
  ['own cache', () => localShare, percent],
  ['own group', () => ownGroup, percent],
  ['other groups', () => otherGroup, percent],
  ['origin', () => originShare, percent],
  ['round trips', () => roundTrips, (value) => value.toFixed(2)],
  ['mean time', () => latencyMs, (ms) => `${ms.toFixed(1)} ms`],
  ['kB inside groups', () => bytesInside, kilobytes],
  ['kB between groups', () => bytesBetween, kilobytes],
  ['messages/s of a node', messageRate, (value) => value.toFixed(1)],
  ['skew', () => skew, (value) => value.toFixed(2)],
  ['kB of summaries', () => nodeMemory, kilobytes],
  ['more at a leader', () => leaderMemory, kilobytes],
  ['questions/s to a leader', () => leaderRate, (value) => value.toFixed(0)],
];

/** The lines of the section. */
export function groupSections(rows: SimulatedRows, churn: readonly ChurnFigures[]): string[] {
  const listed = fleetRows(false).filter(({ section }) => section === 'groups');
  const lines = listed.flatMap(({ name, nodes }) => {
    if (rows.results('groups', name).length === 0) return [];
    const cells = COLUMNS.map(([, figure, text]) => {
      const value = rows.mean('groups', name, figure(nodes));
      return value === null ? '–' : text(value);
    });
    return [`| ${name} | ${cells.join(' | ')} |`];
  });
  if (lines.length === 0) return [];
  return [
    ...verdicts(rows, [...new Set(listed.map(({ name }) => name.split(':')[0]!))]),
    '',
    `| | ${COLUMNS.map(([title]) => title).join(' | ')} |`,
    `|---|${'---:|'.repeat(COLUMNS.length)}`,
    ...lines,
    ...(churn.length === 0 ? [] : ['', ...churnLines(churn)]),
  ];
}

/** One sentence for each fleet that has both ways with groups of 32. */
function verdicts(rows: SimulatedRows, fleets: readonly string[]): string[] {
  return fleets.flatMap((fleet) => {
    const of = (way: string, figure: Figure) => rows.mean('groups', `${fleet}: groups of 32, ${way}`, figure);
    const [owner, union] = ['group owner', 'leader union'].map((way) => ({
      origin: of(way, originShare),
      trips: of(way, roundTrips),
      between: of(way, bytesBetween),
    }));
    const alone = of('nothing between', originShare);
    const all = [...Object.values(owner!), ...Object.values(union!), alone];
    if (all.some((value) => value === null)) return [];
    const better = owner!.origin! < union!.origin! ? 'a group owner serves' : 'leader unions serve';
    return [
      `- **${fleet}**, groups of 32: ${better} better. The origin sees ${percent(owner!.origin!)} of the requests with owners, ${percent(union!.origin!)} with unions and ${percent(alone!)} with nothing between the groups. A request waits for ${owner!.trips!.toFixed(2)} and ${union!.trips!.toFixed(2)} round trips. Unions move ${(100 * (1 - union!.between! / owner!.between!)).toFixed(0)} % fewer bytes between groups.`,
    ];
  });
}

function churnLines(churn: readonly ChurnFigures[]): string[] {
  return [
    'Nodes come and go for ten virtual minutes: 256 nodes in groups of 16, owners among the groups, down for a minute on',
    'average, half of the ends are crashes. Every request got its answer, except those that were open at a node that crashed, and',
    'no group had two leaders in one epoch. A leader that is back within half a minute stays the leader, so there are',
    'fewer re-elections than ends of leaders. A node has one request in 20 s, so caches are nearly empty, and the share of the',
    'origin is not that of the table above. Intervals are 95 % over the seeds.',
    '',
    ...churnTable(churn),
  ];
}
