import { expect, test } from 'vitest';
import { groupOf } from './group-of.ts';
import { isStronger, type LeaderClaim, MOST_EPOCH, stabilityOf } from './leader-claim.ts';
import { LeaderElection } from './leader-election.ts';

const options = { selfId: 'm', patienceMs: 10, holdMs: 100 };
const view = (nowMs: number, stability: number, ...others: [string, number][]) => ({
  nowMs,
  wallMs: 5000,
  stability,
  others: others.map(([id, each]) => ({ id, stability: each })),
});

test('isStronger orders claims by epoch, then by stability, then by name', () => {
  const claims: LeaderClaim[] = [
    { epoch: 2, leader: 'z', stability: 0 },
    { epoch: 1, leader: 'z', stability: 9 },
    { epoch: 1, leader: 'a', stability: 3 },
    { epoch: 1, leader: 'b', stability: 3 },
  ];
  for (const [i, strong] of claims.entries())
    for (const [j, weak] of claims.entries()) expect(isStronger(strong, weak), `${i} ${j}`).toBe(i < j);
  expect(isStronger(claims[3]!, null)).toBe(true);
});

test('the most stable node claims a vacant group after its patience, with the time as epoch', () => {
  const election = new LeaderElection(options);
  expect(election.look(view(0, 5, ['a', 4]))).toBe(null);
  expect(election.look(view(9, 5, ['a', 4]))).toBe(null);
  expect(election.look(view(10, 5, ['a', 4]))).toEqual({ epoch: 5, leader: 'm', stability: 5 });
  expect(election.isLeader).toBe(true);
  expect(election.look(view(1000, 5, ['a', 4]))).toBe(null);
});

test('a node that sees a more stable one, or one of its stability with a smaller name, waits', () => {
  for (const other of [
    ['z', 6],
    ['a', 5],
  ] as [string, number][]) {
    const election = new LeaderElection(options);
    for (const nowMs of [0, 10, 1000]) expect(election.look(view(nowMs, 5, other))).toBe(null);
  }
  const election = new LeaderElection(options);
  election.look(view(0, 5, ['z', 5]));
  expect(election.look(view(10, 5, ['z', 5]))).not.toBe(null);
});

test('a leader that is seen again within the patience stays, and one that is gone has a later epoch', () => {
  const election = new LeaderElection(options);
  election.hear({ epoch: 9, leader: 'a', stability: 4 });
  election.look(view(0, 5));
  expect(election.look(view(8, 5, ['a', 4]))).toBe(null);
  expect(election.look(view(12, 5))).toBe(null);
  expect(election.look(view(22, 5))).toEqual({ epoch: 10, leader: 'm', stability: 5 });
});

test('the patience goes on while another node is the most stable one for a moment', () => {
  const election = new LeaderElection(options);
  // At every second look another node has overtaken this one.
  for (const nowMs of [0, 4, 8]) {
    expect(election.look(view(nowMs, 5, ['z', 4]))).toBe(null);
    expect(election.look(view(nowMs + 2, 5, ['z', 6]))).toBe(null);
  }
  expect(election.look(view(11, 5, ['z', 6]))).toBe(null);
  expect(election.look(view(12, 5, ['z', 4]))).not.toBe(null);
});

test('a leader is challenged only after another was twice as stable for the whole hold', () => {
  const election = new LeaderElection(options);
  election.hear({ epoch: 9, leader: 'a', stability: 4 });
  for (let nowMs = 0; nowMs < 1000; nowMs += 50) {
    // Twice as stable for 50 ms at a time, and not for 100.
    expect(election.look(view(nowMs, nowMs % 100 === 0 ? 9 : 8, ['a', 4]))).toBe(null);
  }
  expect(election.look(view(2000, 9, ['a', 4]))).toBe(null);
  expect(election.look(view(2100, 9, ['a', 4]))).toMatchObject({ leader: 'm', epoch: 10 });
});

test('a leader steps down for a stronger claim, and ignores weaker and impossible ones', () => {
  const election = new LeaderElection(options);
  election.hear({ epoch: 5, leader: 'm', stability: 4 });
  expect(election.isLeader).toBe(true);
  for (const claim of [
    { epoch: 4, leader: 'a', stability: 99 },
    { epoch: 5, leader: 'a', stability: 3 },
    { epoch: MOST_EPOCH + 1, leader: 'a', stability: 1 },
    { epoch: Number.POSITIVE_INFINITY, leader: 'a', stability: 1 },
    { epoch: 6.5, leader: 'a', stability: 1 },
    { epoch: 6, leader: 'a', stability: -1 },
    { epoch: 6, leader: 'a', stability: 1e9 },
  ])
    expect(election.hear(claim)).toBe(false);
  expect(election.hear({ epoch: 5, leader: 'a', stability: 4 })).toBe(true);
  expect(election.isLeader).toBe(false);
});

test('stabilityOf is uptime up to a day, times the share of links that are up', () => {
  expect(stabilityOf({ uptimeMs: 60_000, linksUp: 1 })).toBe(60);
  expect(stabilityOf({ uptimeMs: 60_000, linksUp: 0.5 })).toBe(30);
  expect(stabilityOf({ uptimeMs: 1e12, linksUp: 1 })).toBe(86_400);
});

test('groupOf follows the label, else deals nodes, and a new group takes nodes but moves no other', () => {
  expect(groupOf({ id: 'n', label: 'rack-7' }, ['a', 'b'])).toBe('rack-7');
  expect(() => groupOf({ id: 'n', label: null }, [])).toThrow('expected a label or names of groups');
  const ids = Array.from({ length: 4000 }, (_, i) => `node-${i}`);
  const before = ids.map((id) => groupOf({ id, label: null }, ['a', 'b', 'c']));
  const after = ids.map((id) => groupOf({ id, label: null }, ['c', 'd', 'a', 'b']));
  const moved = ids.filter((_, i) => before[i] !== after[i]);
  expect(ids.every((_, i) => before[i] === after[i] || after[i] === 'd')).toBe(true);
  // A quarter of 4,000 with p = 1/4: sigma is 27.4, and five of them are 137.
  expect(Math.abs(moved.length - 1000)).toBeLessThan(137);
});
