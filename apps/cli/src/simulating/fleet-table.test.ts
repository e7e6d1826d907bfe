import type { FleetResult } from '@bloomery/cache/simulation';
import { expect, test } from 'vitest';
import { fleetLegend, fleetTable, fleetVerdict } from './fleet-table.ts';
import { shockOf, shockTable } from './replacement-shock.ts';

const none = {
  update: 0,
  query: 0,
  reply: 0,
  'owner-question': 0,
  'owner-answer': 0,
  'catch-up': 0,
  heartbeat: 0,
};

function result(localHits: number, neighbourHits: number, fields: Partial<FleetResult> = {}): FleetResult {
  const originFetches = 1000 - localHits - neighbourHits;
  return {
    requests: 1000,
    localHits,
    joinedFetches: 0,
    neighbourHits,
    originFetches,
    bytesBySource: { local: 0, neighbour: 0, origin: originFetches * 10_000 },
    falseHits: 0,
    lostHits: 0,
    messages: none,
    messageBytes: none,
    objectBytes: neighbourHits * 10_000,
    betweenGroups: { hits: 0, messages: 0, messageBytes: 0, objectBytes: 0, busiestLeader: 0 },
    roundTrips: 0,
    summaryMemory: null,
    latencyMs: { mean: 12.34, p50: 1, p99: 50 },
    skew: 1.2345,
    distinctObjects: 1,
    heldObjects: 1,
    stalenessMs: null,
    durationMs: 1000,
    series: [],
    ...fields,
  };
}

const alone = { name: 'alone', result: result(300, 0) };
const together = {
  name: 'summaries',
  result: result(250, 470, {
    messages: { ...none, update: 500, heartbeat: 99_999 },
    messageBytes: { ...none, update: 1_000_000 },
  }),
};

test('fleetTable has a row for each run, with the savings compared with the first', () => {
  expect(fleetTable([alone, together]).split('\n')).toEqual([
    'policy        own  neighbour  origin   saved  from origin  between  messages     wait  busiest',
    'alone      30.0 %      0.0 %  70.0 %       -      7.00 MB      0 B         0  12.3 ms     1.23',
    'summaries  25.0 %     47.0 %  28.0 %  60.0 %      2.80 MB  5.70 MB      0.50  12.3 ms     1.23',
  ]);
});

test('fleetLegend explains every column of fleetTable', () => {
  const [head] = fleetTable([alone]).split('\n');
  const names = fleetLegend()
    .split('\n')
    .map((line) => line.split('  ')[0]);
  expect(head.split(/ {2,}/)).toEqual(['policy', ...names]);
});

test('fleetVerdict says in a sentence what was saved', () => {
  expect(fleetVerdict(together, alone.result)).toBe(
    'With summaries, the origin sees 280 instead of 700 fetches (60.0 % saved) and sends 2.80 MB instead of 7.00 MB.',
  );
});

test('shockOf compares the series before and after its middle, and shockTable shows it', () => {
  const series = Array.from({ length: 40 }, (_, i) => ({
    requests: (i + 1) * 25,
    localShare: 0,
    neighbourShare: 0,
    originShare: i < 20 ? 0.1 : i < 25 ? 0.4 : 0.2,
  }));
  const { before, after, end } = shockOf({ series });
  // Averages of five equal numbers, up to the rounding of doubles.
  expect([before, after, end].map((share) => Number(share.toFixed(12)))).toEqual([0.1, 0.4, 0.2]);
  expect(shockTable([{ name: 'icp', result: result(1, 1, { series }) }])).toBe(
    'policy  before  right after  at the end\nicp     10.0 %       40.0 %      20.0 %',
  );
});
