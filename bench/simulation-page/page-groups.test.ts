import { expect, test } from 'vitest';
import type { ChurnFigures } from '../simulation/churn-table.ts';
import { madeResult, NO_MESSAGES } from './made-result.ts';
import { groupSections } from './page-groups.ts';
import { type SimulatedRow, SimulatedRows } from './simulated-rows.ts';

/** A row of 1,000 requests, of which `origin` go to the origin. */
function row(name: string, origin: number, between: number, roundTrips: number): SimulatedRow {
  const result = madeResult(origin, {
    messages: { ...NO_MESSAGES, update: 64_000 },
    objectBytes: 2 * between,
    betweenGroups: { hits: 300, messages: 0, messageBytes: 0, objectBytes: between, busiestLeader: 0 },
    roundTrips,
    summaryMemory: { nodeBytes: 5000, leaderBytes: 0 },
    durationMs: 10_000,
  });
  return { section: 'groups', name, seed: 1, result };
}

const run: ChurnFigures = {
  seed: 1,
  upMinutes: 20,
  groups: 16,
  churnHours: 0.5,
  ends: 100,
  crashes: 50,
  leaderEnds: 16,
  leaderChanges: 8,
  requests: 1000,
  originFetches: 250,
  lostRequests: 2,
  p99Ms: 56,
};

test('groupSections says which way serves better, from the figures', () => {
  const rows = [
    row('64 nodes: groups of 32, nothing between', 400, 0, 900),
    row('64 nodes: groups of 32, leader union', 200, 6_000_000, 2500),
    row('64 nodes: groups of 32, group owner', 150, 12_000_000, 1000),
  ];
  const text = groupSections(new SimulatedRows(rows), []).join('\n');
  expect(text).toContain('- **64 nodes**, groups of 32: a group owner serves better.');
  expect(text).toContain('15.0 % of the requests with owners, 20.0 % with unions and 40.0 % with nothing');
  expect(text).toContain('waits for 1.00 and 2.50 round trips. Unions move 50 % fewer bytes');
  // Inside and between are halves; 64,000 messages of 64 nodes in 10 s are 100 per second and node.
  expect(text).toContain('| 64 nodes: groups of 32, group owner | 10.0 % | 45.0 % | 30.0 % | 15.0 % |');
  expect(text).toContain('| 12.0 | 12.0 | 100.0 | 1.00 | 5.0 | – | – |');
  expect(text).not.toContain('256 nodes');
  const other = [...rows.slice(0, 2), row('64 nodes: groups of 32, group owner', 250, 1, 1)];
  expect(groupSections(new SimulatedRows(other), []).join('\n')).toContain('leader unions serve better.');
});

test('groupSections leaves out rows and churn that have not run', () => {
  expect(groupSections(new SimulatedRows([]), [])).toEqual([]);
  const rows = new SimulatedRows([row('64 nodes: one mesh', 150, 0, 900)]);
  expect(groupSections(rows, []).join('\n')).not.toContain('serve');
  const text = groupSections(rows, [run]).join('\n');
  expect(text).toContain('| 20 minutes | 1 | 100 | 2.00 | 1.00 | 25.0 | 56 | 2.0 |');
});
