/** The table of groups under churn, for bench/results/churn.md and docs/guide/simulation.md. */

import { intervalText } from './row-statistics.ts';

/** The figures of one run. */
export interface ChurnFigures {
  readonly seed: number;
  /** Mean time for which a node runs. */
  readonly upMinutes: number;
  readonly groups: number;
  readonly churnHours: number;
  /** Nodes that stopped or crashed, and the crashes among them. */
  readonly ends: number;
  readonly crashes: number;
  /** Ends of nodes that led their group. */
  readonly leaderEnds: number;
  readonly leaderChanges: number;
  readonly requests: number;
  readonly originFetches: number;
  /** Requests that were open at a node that crashed. */
  readonly lostRequests: number;
  readonly p99Ms: number;
}

const COLUMNS: readonly (readonly [title: string, digits: number, of: (run: ChurnFigures) => number])[] = [
  ['ends of nodes, all groups', 0, ({ ends }) => ends],
  ['ends of leaders per group and hour', 2, (run) => perGroupHour(run, run.leaderEnds)],
  ['re-elections per group and hour', 2, (run) => perGroupHour(run, run.leaderChanges)],
  ['origin, %', 1, ({ originFetches, requests }) => (100 * originFetches) / requests],
  ['p99, ms', 0, ({ p99Ms }) => p99Ms],
  ['requests lost with their node', 1, ({ lostRequests }) => lostRequests],
];

/** One line for each mean time, with 95 % intervals over the seeds. */
export function churnTable(figures: readonly ChurnFigures[]): string[] {
  const times = [...new Set(figures.map(({ upMinutes }) => upMinutes))].sort((a, b) => b - a);
  return [
    `| a node runs for | seeds | ${COLUMNS.map(([title]) => title).join(' | ')} |`,
    `|---:|---:|${'---:|'.repeat(COLUMNS.length)}`,
    ...times.map((upMinutes) => {
      const runs = figures.filter((run) => run.upMinutes === upMinutes);
      const cells = COLUMNS.map(([, digits, of]) => intervalText(runs.map(of), digits));
      return `| ${upMinutes} minutes | ${runs.length} | ${cells.join(' | ')} |`;
    }),
  ];
}

function perGroupHour({ groups, churnHours }: ChurnFigures, count: number): number {
  return count / (groups * churnHours);
}
