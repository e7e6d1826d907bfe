import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { type AskEnd, PeerScore } from './peer-score.ts';

function ask(score: PeerScore, end: AskEnd, { guessed = true, waitedMs = 5, now = 0 } = {}): void {
  score.begin();
  score.end(end, { guessed, waitedMs, now });
  if (end === 'hit') score.finish({ guessed });
}

function askBroken(score: PeerScore, now = 0): void {
  score.begin();
  score.end('hit', { guessed: true, waitedMs: 5, now });
  score.breakOff({ now });
}

test("guesses are counted by Squid's four names", () => {
  const score = new PeerScore();
  ask(score, 'hit');
  ask(score, 'hit');
  ask(score, 'refused');
  ask(score, 'refused-newer');
  for (let i = 0; i < 5; i++) score.countMiss();
  score.contradictMiss();
  expect(score.guesses).toEqual({ trueHits: 2, falseHits: 2, trueMisses: 4, falseMisses: 1, closeHits: 1 });
});

test('an object that the request cannot use is no false hit, no verdict and no failure', () => {
  const score = new PeerScore();
  for (let i = 0; i < 40; i++) ask(score, 'unusable', { waitedMs: 7 });
  expect(score.guesses).toMatchObject({ trueHits: 0, falseHits: 0 });
  expect([score.isDoubted, score.concurrent, score.latencies.quantileMs(0.5)]).toEqual([false, 0, 7]);
  for (let i = 0; i < 2; i++) ask(score, 'failed');
  ask(score, 'unusable');
  ask(score, 'failed');
  expect(score.isResting(0)).toBe(false);
});

test('an ask that no summary caused is no guess and no verdict', () => {
  const score = new PeerScore();
  for (let i = 0; i < 40; i++) ask(score, i % 2 ? 'refused' : 'hit', { guessed: false });
  expect(score.guesses).toEqual({ trueHits: 0, falseHits: 0, trueMisses: 0, falseMisses: 0, closeHits: 0 });
  for (let i = 0; i < 19; i++) ask(score, 'refused');
  expect(score.isDoubted).toBe(false);
});

test('a failure or a late head says nothing about the summary, and is counted apart', () => {
  const score = new PeerScore();
  ask(score, 'failed');
  ask(score, 'late');
  askBroken(score);
  ask(score, 'cancelled');
  expect(score.troubles).toEqual({ failed: 1, late: 1, broken: 1 });
  expect(score.guesses).toMatchObject({ trueHits: 1, falseHits: 0 });
});

test('a neighbour that refuses is doubted after 20 verdicts, and believed again after ten hits', () => {
  const score = new PeerScore();
  for (let i = 0; i < 19; i++) ask(score, 'refused');
  expect(score.isDoubted).toBe(false);
  ask(score, 'refused');
  expect(score.isDoubted).toBe(true);
  for (let i = 0; i < 9; i++) ask(score, 'hit');
  expect(score.isDoubted).toBe(true);
  ask(score, 'hit');
  expect(score.isDoubted).toBe(false);
});

test('half of the verdicts suffice, whatever came before them', () => {
  const score = new PeerScore();
  for (let i = 0; i < 100; i++) ask(score, 'hit');
  for (let i = 0; i < 10; i++) ask(score, 'refused');
  expect(score.isDoubted).toBe(false);
  ask(score, 'late');
  expect(score.isDoubted).toBe(true);
});

test('a refusal that a later summary explains is no verdict', () => {
  const score = new PeerScore();
  for (let i = 0; i < 100; i++) ask(score, 'refused-newer');
  expect(score.isDoubted).toBe(false);
});

test('bodies that break are verdicts against a neighbour, and failures in a row', () => {
  const score = new PeerScore();
  for (let i = 0; i < 10; i++) ask(score, 'hit');
  for (let i = 0; i < 10; i++) askBroken(score);
  expect(score.isDoubted).toBe(false);
  expect(score.isResting(0)).toBe(true);
  askBroken(score);
  expect(score.isDoubted).toBe(true);
});

test('a neighbour rests after three failures in a row, longer each time, at most 30 s', () => {
  const score = new PeerScore();
  let now = 0;
  ask(score, 'failed', { now });
  ask(score, 'late', { now });
  expect(score.isResting(now)).toBe(false);
  const rests: number[] = [];
  for (let i = 0; i < 7; i++) {
    ask(score, 'failed', { now });
    const begin = now;
    while (score.isResting(now)) now += 500;
    rests.push(now - begin);
  }
  expect(rests).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
  for (const answer of ['refused', 'refused-newer', 'hit'] as const) {
    ask(score, answer, { now });
    for (let i = 0; i < 2; i++) ask(score, 'failed', { now });
    expect(score.isResting(now)).toBe(false);
  }
});

test('sixteen requests under way overload a neighbour until one of them ends', () => {
  const score = new PeerScore();
  for (let i = 0; i < 15; i++) score.begin();
  expect(score.isOverloaded).toBe(false);
  score.begin();
  expect([score.isOverloaded, score.concurrent]).toEqual([true, 16]);
  score.end('cancelled', { guessed: true, waitedMs: 1, now: 0 });
  expect(score.isOverloaded).toBe(false);
});

test('a body that is still coming counts as a request under way', () => {
  const score = new PeerScore();
  for (let i = 0; i < 3; i++) score.begin();
  for (let i = 0; i < 3; i++) score.end('hit', { guessed: i > 0, waitedMs: 1, now: 0 });
  expect(score.concurrent).toBe(3);
  score.finish({ guessed: false });
  score.breakOff({ now: 0 });
  expect(score.concurrent).toBe(1);
});

test('the expected wait grows with the requests under way, and is forgotten after a minute', () => {
  const score = new PeerScore();
  expect(score.expectedMs(0)).toBe(0);
  ask(score, 'hit', { waitedMs: 8 });
  expect(score.expectedMs(0)).toBe(8);
  score.begin();
  score.begin();
  expect(score.expectedMs(60_000)).toBe(24);
  expect(score.expectedMs(60_001)).toBe(0);
});

test('a missed deadline counts as a latency, other ends and asks without a guess do not', () => {
  const score = new PeerScore();
  ask(score, 'late', { waitedMs: 20 });
  ask(score, 'cancelled', { waitedMs: 1 });
  ask(score, 'failed', { waitedMs: 0 });
  ask(score, 'hit', { waitedMs: 200, guessed: false });
  ask(score, 'late', { waitedMs: 200, guessed: false });
  expect(score.latencies.count).toBe(1);
  expect(score.latencies.quantileMs(0.5)).toBe(20);
});

test('a neighbour that forges is distrusted for a minute, then longer, at most 30 times in a day', () => {
  const score = new PeerScore();
  expect(score.distrustedMs(0)).toBe(0);
  const waits: number[] = [];
  let now = 0;
  while (now < 86_400_000) {
    score.distrust(now);
    waits.push(score.distrustedMs(now) / 60_000);
    now += score.distrustedMs(now);
    expect(score.distrustedMs(now)).toBe(0);
    expect(score.distrustedMs(now - 1)).toBe(1);
  }
  expect(waits.slice(0, 8)).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
  expect(score.forged).toBe(waits.length);
  expect(waits.length).toBeLessThanOrEqual(30);
});

test('a doubt says whether the neighbour was wrong or late', () => {
  const [wrong, late] = [new PeerScore(), new PeerScore()];
  for (let i = 0; i < 20; i++) {
    ask(wrong, i % 3 === 0 ? 'late' : 'refused');
    ask(late, i % 3 === 0 ? 'refused' : 'failed');
  }
  const later = 1e9;
  expect([wrong.isDoubted, wrong.isDoubtedAsLate, wrong.doubt(later)]).toEqual([
    true,
    false,
    'it was wrong too often',
  ]);
  expect([late.isDoubted, late.isDoubtedAsLate, late.doubt(later)]).toEqual([
    true,
    true,
    'it was late or failed too often',
  ]);
});

test('a neighbour that comes back is believed if it was late, and had given objects before', () => {
  const score = new PeerScore();
  for (let i = 0; i < 20; i++) ask(score, 'hit');
  for (let i = 0; i < 20; i++) ask(score, i % 2 === 0 ? 'late' : 'failed');
  expect([score.isDoubted, score.isResting(0)]).toEqual([true, true]);
  score.comeBack();
  expect([score.isDoubted, score.isResting(0), score.doubt(0)]).toEqual([false, false, null]);
  // The objects that it gave are used up.
  for (let i = 0; i < 20; i++) ask(score, 'late');
  score.comeBack();
  expect([score.isDoubted, score.isResting(0)]).toEqual([true, false]);
});

test('a doubted neighbour is believed after one answer in time if it was late, and had given objects', () => {
  const score = new PeerScore();
  for (let i = 0; i < 20; i++) ask(score, 'hit');
  for (let i = 0; i < 11; i++) ask(score, 'late');
  expect(score.isDoubted).toBe(true);
  ask(score, 'hit');
  expect(score.isDoubted).toBe(false);
});

test('a neighbour that was wrong, broke its bodies or never gave anything stays doubted', () => {
  const bad = { refused: ask, damaged: askDamaged, late: ask } as const;
  for (const [end, fail] of Object.entries(bad)) {
    const score = new PeerScore();
    // One that is late has given nothing before.
    if (end !== 'late') for (let i = 0; i < 100; i++) ask(score, 'hit');
    for (let i = 0; i < 20; i++) fail(score, end as AskEnd);
    for (let i = 0; i < 5; i++) score.comeBack();
    expect([end, score.isDoubted]).toEqual([end, true]);
    // Nor does it help to leave the fleet.
    expect([end, score.isTainted, score.rejoined().isDoubted]).toEqual([end, true, true]);
  }
});

function askDamaged(score: PeerScore): void {
  score.begin();
  score.end('hit', { guessed: true, waitedMs: 5, now: 0 });
  score.breakOff({ now: 0, isDamaged: true });
}

test('rejoined keeps distrust and verdicts, and no counts', () => {
  const score = new PeerScore();
  for (let i = 0; i < 3; i++) ask(score, 'hit');
  expect(score.isTainted).toBe(false);
  score.begin();
  score.distrust(0);
  const again = score.rejoined();
  expect([again.forged, again.distrustedMs(0), again.concurrent]).toEqual([1, 60_000, 0]);
  expect(again.guesses.trueHits).toBe(0);
  again.distrust(60_000);
  expect(again.distrustedMs(60_000)).toBe(120_000);
  // The request of before ends.
  again.end('failed', { guessed: true, waitedMs: 1, now: 0 });
  expect(again.concurrent).toBe(0);
});

test('no way to reconnect, lie, be late and be right costs more than two round trips an object, and 20', () => {
  const random = new Random(32);
  for (let trial = 0; trial < 300; trial++) {
    let score = new PeerScore();
    // Each neighbour has its own habits, from one that is mostly right to one that never is.
    const [right, late, back] = [random.below(60), random.below(100), random.below(50)];
    let given = 0;
    let wasted = 0;
    for (let occasion = 0; occasion < 2000; occasion++) {
      if (random.below(100) < back) {
        if (random.below(2) === 0) score.comeBack();
        else score = score.rejoined();
      }
      // Occasions at which a doubted neighbour is tried count for themselves.
      const isTrial = score.isDoubted;
      if (isTrial && random.below(32) > 0) continue;
      if (random.below(100) < right) {
        ask(score, 'hit');
        given++;
      } else {
        ask(score, random.below(100) < late ? 'late' : 'refused');
        if (!isTrial) wasted++;
      }
    }
    expect(wasted, `${right} ${late} ${back}`).toBeLessThanOrEqual(20 + 2 * given);
    if (given === 0) expect(wasted).toBeLessThanOrEqual(20);
  }
});
