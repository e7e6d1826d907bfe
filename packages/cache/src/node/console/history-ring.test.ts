import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { HISTORY_COLUMNS, HistoryRing, type HistoryRow, percentile, type SavedRing } from './history-ring.ts';

const BOUNDS = [1, 10];
/** 12 sums, then three latency buckets. */
const tally = (local: number, fast = 0, slow = 0) =>
  Float64Array.from([local, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, fast, 0, slow]);
const sample = (at: number, local: number, fast = 0, slow = 0) => ({
  at,
  tally: tally(local, fast, slow),
  peersUp: 2,
});
const column = (name: (typeof HISTORY_COLUMNS)[number]) => HISTORY_COLUMNS.indexOf(name);
const brief = (rows: readonly HistoryRow[]) => rows.map((row) => [row[0], row[column('local')]]);

test('HistoryRing.take makes rows of differences, and counts the first one from zero', () => {
  const ring = new HistoryRing(10, 5, BOUNDS);
  expect(ring.take(sample(13, 4))).toBeNull();
  expect(ring.take(sample(19, 6))).toBeNull();
  const first = ring.take(sample(20, 7, 99, 1));
  expect(brief([first!])).toEqual([[10, 7]]);
  expect([first![column('p50Ms')], first![column('p99Ms')], first![column('peersUp')]]).toEqual([1, 1, 2]);
  const second = ring.take(sample(31, 7, 99, 101));
  expect(brief([second!])).toEqual([[20, 0]]);
  expect([second![column('p50Ms')], second![column('p99Ms')]]).toEqual([-1, -1]);
  const third = ring.take(sample(40, 9, 99, 101));
  expect(third![column('p50Ms')]).toBeNull();
  // The last row is that of the running step.
  expect(brief(ring.rows(sample(45, 12)))).toEqual([
    [10, 7],
    [20, 0],
    [30, 2],
    [40, 3],
  ]);
});

test('HistoryRing keeps the rows of its last steps, like a list of all of them', () => {
  const random = new Random(25);
  const ring = new HistoryRing(10, 7, BOUNDS);
  const all: { start: number; from: number; to: number }[] = [];
  let [at, local] = [1000, 0];
  for (let i = 0; i < 500; i++) {
    at += random.below(25);
    local += random.below(5);
    ring.take(sample(at, local));
    const start = Math.floor(at / 10) * 10;
    const last = all.at(-1);
    if (last !== undefined) last.to = local;
    if (last?.start !== start) all.push({ start, from: last === undefined ? 0 : local, to: local });
    const recent = all.filter((row) => row.start > start - 70);
    expect(brief(ring.rows(sample(at, local)))).toEqual(recent.map((row) => [row.start, row.to - row.from]));
  }
});

test('HistoryRing drops rows of the future when the clock goes back', () => {
  const ring = new HistoryRing(10, 5, BOUNDS);
  for (const at of [10, 20, 30, 40]) ring.take(sample(at, at));
  ring.take(sample(25, 45));
  expect(brief(ring.rows(sample(26, 50)))).toEqual([
    [10, 20],
    [20, 5],
  ]);
});

test('HistoryRing goes on with the running row of the node before it', () => {
  const before = new HistoryRing(10, 5, BOUNDS);
  before.take(sample(10, 1));
  before.take(sample(20, 3));
  before.take(sample(24, 8, 3, 0));
  const saved = JSON.parse(JSON.stringify(before.save())) as SavedRing;
  const soon = new HistoryRing(10, 5, BOUNDS);
  soon.load(saved, 27);
  soon.take(sample(27, 2, 0, 1));
  const row = soon.take(sample(30, 4, 0, 1));
  expect(brief([row!])).toEqual([[20, 5 + 4]]);
  expect([row![column('p50Ms')], row![column('p99Ms')]]).toEqual([1, -1]);
  const late = new HistoryRing(10, 5, BOUNDS);
  late.load(saved, 50);
  late.take(sample(50, 1));
  expect(brief(late.rows(sample(51, 1)))).toEqual([
    [10, 3],
    [20, 5],
    [50, 1],
  ]);
  const early = new HistoryRing(10, 5, BOUNDS);
  early.load(saved, 15);
  expect(brief(early.rows(sample(15, 0)))).toEqual([[10, 3]]);
});

test('HistoryRing has no row from before its own length, after a restart and after a gap', () => {
  const before = new HistoryRing(10, 5, BOUNDS);
  for (const at of [10, 20, 30]) before.take(sample(at, at));
  const saved = before.save();
  const briefAfter = (now: number) => {
    const ring = new HistoryRing(10, 5, BOUNDS);
    ring.load(saved, now);
    ring.take(sample(now, 1));
    return brief(ring.rows(sample(now, 1)));
  };
  expect(briefAfter(60)).toEqual([
    [20, 10],
    [30, 0],
    [60, 1],
  ]);
  expect(briefAfter(70)).toEqual([
    [30, 0],
    [70, 1],
  ]);
  expect(briefAfter(10_000)).toEqual([[10_000, 1]]);
  // The process was stopped for longer than the ring is long.
  before.take(sample(1000, 40));
  expect(brief(before.rows(sample(1001, 41)))).toEqual([[1000, 1]]);
});

test('HistoryRing.load refuses what is no ring, and takes nothing of it', () => {
  const good = { stepMs: 10, rows: [[10, ...Array(15).fill(1)]], open: null };
  const row = good.rows[0] as number[];
  const wrong: unknown[] = [
    null,
    [],
    'x',
    { ...good, stepMs: 20 },
    { ...good, rows: null },
    { ...good, rows: Array(6).fill(row) },
    { ...good, rows: [row.slice(1)] },
    { ...good, rows: [[11, ...row.slice(1)]] },
    { ...good, rows: [row, row] },
    { ...good, rows: [['10', ...row.slice(1)]] },
    { ...good, rows: [[...row.slice(0, 15), Number.POSITIVE_INFINITY]] },
    { ...good, rows: [[...row.slice(0, 15), {}]] },
    { ...good, open: {} },
    { ...good, open: { start: 10, tally: Array(15).fill(0), peersUp: 1 } },
    { ...good, open: { start: 20, tally: Array(14).fill(0), peersUp: 1 } },
    { ...good, open: { start: 20, tally: Array(15).fill(null), peersUp: 1 } },
  ];
  for (const saved of wrong) {
    const ring = new HistoryRing(10, 5, BOUNDS);
    expect(() => ring.load(saved as SavedRing, 100), JSON.stringify(saved)).toThrow(RangeError);
    expect(ring.save().rows).toEqual([]);
  }
  new HistoryRing(10, 5, BOUNDS).load(good as SavedRing, 100);
});

test('percentile is the upper bound of a bucket', () => {
  const of = (counts: readonly number[], share: number) =>
    percentile(Float64Array.from(counts), BOUNDS, share);
  expect(of([0, 0, 0], 0.5)).toBeNull();
  expect(of([1, 1, 0], 0.5)).toBe(1);
  expect(of([1, 2, 0], 0.5)).toBe(10);
  expect(of([99, 0, 1], 0.99)).toBe(1);
  expect(of([98, 0, 2], 0.99)).toBe(-1);
});
