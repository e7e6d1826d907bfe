import { withEffort } from '@bloomery/testkit/effort';
import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { compareIds } from './add-id.ts';
import type { LogEntry } from './log-entry.ts';
import { LogFollower } from './log-follower.ts';

const hashes = (n: number): LogEntry => ({ kind: 'hashes', words: Int32Array.of(n, n) });
const start = () => new LogFollower({ position: '0-0', entries: 0 });

test('a follower is fresh as of the look whose end it reaches', () => {
  const follower = start();
  expect(follower.freshAsOfMs).toBe(Number.NEGATIVE_INFINITY);
  follower.check({ last: '2-0', entries: 2 }, 100);
  follower.take('1-0', hashes(1));
  expect(follower.freshAsOfMs).toBe(Number.NEGATIVE_INFINITY);
  expect(follower.take('2-0', hashes(2))).toEqual({ work: 'add', words: Int32Array.of(2, 2) });
  expect(follower.freshAsOfMs).toBe(100);
  expect(follower.check({ last: '2-0', entries: 2 }, 200).work).toBe('nothing');
  expect(follower.freshAsOfMs).toBe(200);
});

test('a follower asks for a reload if the counts differ, in every way in which they can', () => {
  type Step = (follower: LogFollower) => { work: string };
  const look = (last: string, entries: number) => (f: LogFollower) => f.check({ last, entries }, 0);
  const read =
    (id: string, entry = hashes(1)) =>
    (f: LogFollower) =>
      f.take(id, entry);
  const cases: Step[][] = [
    // Trimmed past this reader, seen at the target.
    [look('5-0', 5), read('4-0'), read('5-0')],
    // The target was deleted.
    [look('5-0', 1), read('6-0')],
    // The end of the log comes before the target.
    [look('5-0', 1), (f) => f.endReply(true)],
    // The log says from inside that entries are missing.
    [read('9-0', { kind: 'trimmed', entries: 9 })],
    [read('9-0', { kind: 'merged', entries: 2 })],
    // The server went back.
    [read('9-0'), look('8-0', 1)],
    [read('9-0'), look('9-0', 3)],
    [read('9-0'), read('9-0')],
    [read('9-0', { kind: 'unknown', problem: 'x' })],
  ];
  for (const [i, steps] of cases.entries()) {
    const follower = start();
    const works = steps.map((step) => step(follower).work);
    expect(works.at(-1), `case ${i}`).toBe('reload');
    expect(works.slice(0, -1), `case ${i}`).not.toContain('reload');
  }
});

test('a reply that was cut off verifies nothing', () => {
  const follower = start();
  follower.take('1-0', hashes(1));
  follower.endReply(false);
  expect(follower.verified).toBe('0-0');
  follower.endReply(true);
  expect(follower.verified).toBe('1-0');
});

/**
 * A log that is written, trimmed by the rules, and now and then damaged against them, and a reader
 * that is sometimes slow. Whatever the follower calls verified or fresh must be complete.
 */
function play(seed: number): { gaps: number; reloads: number; fresh: number } {
  const random = new Random(seed);
  const chance = (p: number) => random.bits() / 2 ** 32 < p;
  let log: { id: string; entry: LogEntry; n: number }[] = [];
  let added = 0;
  let clock = 0;
  let lastId = '0-0';
  let snapshot = { at: '0-0', entries: 0, holds: new Set<number>() };
  const written: { n: number; atMs: number; id: string }[] = [];
  const append = (entry: LogEntry, n: number) => {
    added++;
    lastId = `${++clock}-0`;
    log.push({ id: lastId, entry, n });
    if (n > 0) written.push({ n, atMs: clock, id: lastId });
  };
  let follower = start();
  let held = new Set<number>();
  const result = { gaps: 0, reloads: 0, fresh: 0 };
  const missing = (isKnown: (w: { atMs: number; id: string }) => boolean) =>
    written.some((w) => isKnown(w) && !held.has(w.n));
  for (let step = 0; step < 400; step++) {
    clock++;
    if (chance(0.6)) append(hashes(step), step + 1);
    if (chance(0.06)) {
      // A snapshot of everything so far; the log keeps what came after the one before.
      const before = snapshot.at;
      const holds = new Set(written.map(({ n }) => n));
      snapshot = { at: lastId, entries: added, holds };
      append({ kind: 'trimmed', entries: added + 1 }, 0);
      log = log.filter(({ id }) => compareIds(id, before) >= 0);
    }
    // An operator who deletes an entry, against the rules. Snapshots heal that.
    if (chance(0.01) && log.length > 0) log.splice(random.below(log.length), 1);
    if (!chance(0.25)) continue;
    let needsReload =
      chance(0.7) && follower.check({ last: lastId, entries: added }, clock).work === 'reload';
    const limit = 1 + random.below(8);
    const reply = log.filter(({ id }) => compareIds(id, follower.position) > 0).slice(0, limit);
    for (const { id, entry, n } of reply) {
      if (needsReload) break;
      const { work } = follower.take(id, entry);
      if (work === 'reload') needsReload = true;
      if (work === 'add') held.add(n);
    }
    if (!needsReload) needsReload = follower.endReply(reply.length < limit).work === 'reload';
    if (needsReload) {
      result.reloads++;
      follower = new LogFollower({ position: snapshot.at, entries: snapshot.entries });
      held = new Set([...held, ...snapshot.holds]);
      continue;
    }
    const { freshAsOfMs } = follower;
    if (freshAsOfMs > 0) result.fresh++;
    if (missing(({ atMs }) => atMs <= freshAsOfMs)) result.gaps++;
  }
  return result;
}

test('a follower is never fresh with an entry missing, over seeded trimmings and deletions', () => {
  const totals = { gaps: 0, reloads: 0, fresh: 0 };
  for (let seed = 1; seed <= withEffort(200, 100); seed++) {
    const { gaps, reloads, fresh } = play(seed);
    expect(gaps, `seed ${seed}`).toBe(0);
    totals.reloads += reloads;
    totals.fresh += fresh;
  }
  // The faults happened, and so did freshness.
  expect(totals.reloads).toBeGreaterThan(100);
  expect(totals.fresh).toBeGreaterThan(1000);
});
