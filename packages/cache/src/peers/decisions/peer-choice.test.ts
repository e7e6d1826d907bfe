import { readFileSync } from 'node:fs';
import { expectBinomial, Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import {
  type Candidate,
  CHOICE_REASONS,
  choosePeers,
  describePlan,
  type Miss,
  ownerDeadlineMs,
} from './peer-choice.ts';
import { type AskEnd, PeerScore } from './peer-score.ts';

function miss(candidates: readonly Candidate[], others: Partial<Miss> = {}): Miss {
  return {
    candidates,
    shareable: true,
    hasOwner: true,
    budgetMs: 250,
    mayHedge: true,
    now: 0,
    draw: 0.5,
    ...others,
  };
}

function ask(score: PeerScore, end: AskEnd, waitedMs = 5): void {
  score.begin();
  score.end(end, { guessed: true, waitedMs, now: 0 });
  if (end === 'hit') score.finish({ guessed: true });
}

/** A neighbour that answered each request in this time. */
function neighbour(peer: string, latencyMs: number, { asks = 64, masked = null as string | null } = {}) {
  const score = new PeerScore();
  for (let i = 0; i < asks; i++) ask(score, 'hit', latencyMs);
  return { peer, score, masked };
}

test('a miss without a candidate goes to the owner, and without an owner to the origin', () => {
  expect(choosePeers(miss([]))).toEqual({ asks: [], afterwards: 'owner', why: [] });
  expect(describePlan(choosePeers(miss([])))).toBe('no candidate; then owner');
  for (const others of [{ shareable: false }, { hasOwner: false }, { budgetMs: 19 }])
    expect(choosePeers(miss([], others)).afterwards).toBe('origin');
});

test('the owner has 100 ms of the usual budget, more of a larger one, and never below 20', () => {
  expect([20, 250, 1000, 10_000].map((budgetMs) => ownerDeadlineMs(budgetMs))).toEqual([20, 100, 400, 4000]);
  expect([0, 1].map((place) => ownerDeadlineMs(250, place))).toEqual([100, 50]);
  const [ask] = choosePeers(miss([neighbour('a', 200)], { budgetMs: 260 })).asks;
  expect(ask!.headDeadlineMs).toBeLessThanOrEqual(260 - 20);
});

test('the two nearest are asked, the nearest first', () => {
  const candidates = [neighbour('c', 9), neighbour('a', 2), neighbour('b', 4)];
  const plan = choosePeers(miss(candidates));
  expect(plan.asks.map(({ peer }) => peer)).toEqual(['a', 'b']);
  expect(describePlan(plan)).toBe('c: others are nearer, a: asked, b: asked; then owner');
});

test('requests under way make a neighbour farther', () => {
  const [a, b] = [neighbour('a', 2), neighbour('b', 5)];
  expect(choosePeers(miss([a, b])).asks[0]!.peer).toBe('a');
  for (let i = 0; i < 2; i++) a.score.begin();
  expect(choosePeers(miss([a, b])).asks[0]!.peer).toBe('b');
});

test('a neighbour without a measurement is tried first', () => {
  const plan = choosePeers(miss([neighbour('a', 1), neighbour('new', 0, { asks: 0 })]));
  expect(plan.asks[0]).toEqual({ peer: 'new', headDeadlineMs: 100, hedgeAfterMs: null });
});

test('the deadline is three medians, from 20 to 250 ms', () => {
  const deadlines = [1, 10, 60, 200].map(
    (ms) => choosePeers(miss([neighbour('a', ms)], { budgetMs: 1000 })).asks[0]!.headDeadlineMs,
  );
  expect(deadlines).toEqual([20, 30, 180, 250]);
});

test('deadlines and the question to the owner stay within the budget', () => {
  const candidates = [neighbour('a', 40), neighbour('b', 50)];
  expect(choosePeers(miss(candidates)).asks.map((one) => one.headDeadlineMs)).toEqual([120, 110]);
  const alone = choosePeers(miss(candidates, { shareable: false }));
  expect(alone.asks.map((one) => one.headDeadlineMs)).toEqual([120, 130]);
  const short = choosePeers(miss(candidates, { budgetMs: 155 }));
  expect(short.asks.map((one) => one.headDeadlineMs)).toEqual([120]);
  expect(short.why).toEqual([
    { peer: 'a', reason: 'asked' },
    { peer: 'b', reason: 'no time left' },
  ]);
});

test('at any budget and latency, the plan fits into the budget', () => {
  const random = new Random(7);
  for (let i = 0; i < 2000; i++) {
    const candidates = Array.from({ length: random.below(5) }, (_, at) =>
      neighbour(`n${at}`, random.below(120), { asks: random.below(3) * 20 }),
    );
    const budgetMs = random.below(400);
    const plan = choosePeers(miss(candidates, { budgetMs, shareable: random.below(2) === 0 }));
    const total = plan.asks.reduce(
      (sum, one) => sum + one.headDeadlineMs,
      plan.afterwards === 'owner' ? 20 : 0,
    );
    expect(total).toBeLessThanOrEqual(budgetMs);
    expect(plan.asks.length).toBeLessThanOrEqual(2);
    for (const one of plan.asks) expect(one.headDeadlineMs).toBeGreaterThanOrEqual(20);
    expect(plan.why.map(({ peer }) => peer)).toEqual(candidates.map(({ peer }) => peer));
  }
});

test('a hedge begins at the 95th percentile, if there is a second neighbour and the budget allows', () => {
  const slowTail = neighbour('a', 2, { asks: 60 });
  for (let i = 0; i < 4; i++) ask(slowTail.score, 'hit', 15);
  const second = neighbour('b', 50);
  expect(choosePeers(miss([slowTail, second])).asks.map((one) => one.hedgeAfterMs)).toEqual([15, null]);
  expect(choosePeers(miss([slowTail])).asks[0]!.hedgeAfterMs).toBeNull();
  expect(choosePeers(miss([slowTail, second], { mayHedge: false })).asks[0]!.hedgeAfterMs).toBeNull();
  expect(choosePeers(miss([neighbour('c', 2, { asks: 19 }), second])).asks[0]!.hedgeAfterMs).toBeNull();
});

test('neighbours that are masked, resting or overloaded are not asked, and the plan says why', () => {
  const [resting, overloaded] = [neighbour('r', 1), neighbour('o', 1)];
  for (let i = 0; i < 3; i++) ask(resting.score, 'failed');
  for (let i = 0; i < 16; i++) overloaded.score.begin();
  const plan = choosePeers(miss([neighbour('m', 1, { masked: 'closed' }), resting, overloaded]));
  expect(plan.asks).toEqual([]);
  expect(describePlan(plan)).toBe('m: masked, r: resting, o: overloaded; then owner');
});

test('a neighbour that sent a wrong digest is not asked, not even as a trial, until its time is over', () => {
  const forger = neighbour('forger', 1);
  forger.score.distrust(0);
  const candidates = [forger, neighbour('honest', 100)];
  for (const draw of [0, 0.5]) {
    const plan = choosePeers(miss(candidates, { draw, now: 59_999 }));
    expect(plan.asks.map(({ peer }) => peer)).toEqual(['honest']);
    expect(plan.why[0]).toEqual({ peer: 'forger', reason: 'distrusted' });
  }
  expect(choosePeers(miss(candidates, { now: 60_000 })).asks[0]!.peer).toBe('forger');
});

test('a liar costs 20 round trips, then one occasion of 32', () => {
  const random = new Random(3);
  const liar = neighbour('liar', 1, { asks: 0 });
  let asked = 0;
  const occasions = 20 + 32_000;
  for (let i = 0; i < occasions; i++) {
    const plan = choosePeers(miss([liar], { draw: random.below(2 ** 20) / 2 ** 20 }));
    if (plan.asks.length === 0) expect(plan.why[0]!.reason).toBe('not believed');
    else {
      expect(plan.why[0]!.reason).toBe(i < 20 ? 'asked' : 'trial');
      ask(liar.score, 'refused');
      asked++;
    }
    if (i === 19) expect(asked).toBe(20);
  }
  expectBinomial(asked - 20, 32_000, 1 / 32, 'trials of a liar');
});

test('a liar that was repaired comes back by itself', () => {
  const random = new Random(4);
  const node = neighbour('a', 1, { asks: 0 });
  for (let i = 0; i < 20; i++) ask(node.score, 'refused');
  let occasions = 0;
  for (; node.score.isDoubted; occasions++) {
    if (choosePeers(miss([node], { draw: random.below(1024) / 1024 })).asks.length > 0)
      ask(node.score, 'hit');
  }
  expect(occasions).toBeLessThan(1000);
});

test('docs/guide/fleet.md has the reasons of a choice, and no others', () => {
  const guide = readFileSync(new URL('../../../../../docs/guide/fleet.md', import.meta.url), 'utf8');
  const table = guide.slice(guide.indexOf('| reason | |'), guide.indexOf('### Three nodes'));
  const rows = [...table.matchAll(/^\| `([a-z ]+)` \| (.*) \|$/gm)].map(([, word, text]) => [word, text]);
  expect(rows).toEqual(Object.entries(CHOICE_REASONS));
});
