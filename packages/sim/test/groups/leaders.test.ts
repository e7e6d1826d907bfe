/** One leader per group and epoch after faults, and few changes of leaders under churn. */

import { LeaderBeats, type LeaderClaim } from '@bloomery/transport/membership';
import { expect, test } from 'vitest';
import { explore, failureText, SimNetwork, Simulation } from '../../src/index.ts';
import { leaderScenario } from './leader-protocol.ts';

const SEEDS = Array.from({ length: 12 }, (_, i) => i + 1);

test('after crashes, cuts, slow nodes and skewed clocks, all nodes agree on one leader that runs', async () => {
  const failure = await explore(leaderScenario({ faults: 12 }), { seeds: SEEDS });
  expect(failure === null ? '' : failureText(failure)).toBe('');
});

test('the leader of a quiet group is elected once, and never changes', async () => {
  const claims: LeaderClaim[] = [];
  const scenario = leaderScenario({ faults: 0, claimed: (claim) => claims.push(claim) });
  expect(await explore(scenario, { seeds: [1] })).toBe(null);
  expect(new Set(claims.map(({ epoch }) => epoch)).size).toBe(1);
});

test('an hour with forty crashes of eight nodes changes the leader seldom', async () => {
  const claims: LeaderClaim[] = [];
  const scenario = leaderScenario({
    faults: 40,
    faultyMs: 3_600_000,
    faultKinds: ['crash'],
    claimed: (claim) => claims.push(claim),
  });
  expect(await explore(scenario, { seeds: [1] })).toBe(null);
  const changes = new Set(claims.map(({ epoch }) => epoch)).size - 1;
  // There were 5 with this seed: one crash of eight hits the leader. Each of the 40 crashes and 40
  // returns could change a leader that is chosen again at once.
  expect(changes).toBeGreaterThan(0);
  expect(changes).toBeLessThanOrEqual(10);
});

test('beats that cannot be read are ignored', async () => {
  const simulation = new Simulation({ seed: 1 });
  const network = new SimNetwork(simulation);
  const liar = network.join({ id: 'liar', peers: [] });
  const transport = network.join({ id: 'n0', peers: ['sim:liar'] });
  const claims: LeaderClaim[] = [];
  const beats = new LeaderBeats({
    transport,
    clock: transport.clock,
    patienceMs: 20_000,
    claimed: (claim) => claims.push(claim),
  });
  const claim = { epoch: 7, leader: 'liar', stability: 3 };
  const texts = [
    '{',
    'null',
    '[]',
    '{"stability":"3","claim":null}',
    '{"stability":3}',
    ...[{ epoch: -1 }, { epoch: 2 ** 60 }, { leader: '' }, { leader: 7 }, { leader: 'x'.repeat(256) }].map(
      (bad) => JSON.stringify({ stability: 3, claim: { ...claim, ...bad } }),
    ),
  ];
  await simulation.run({ untilMs: 1000 });
  for (const text of texts) liar.publish('group-leader', new TextEncoder().encode(text));
  await simulation.run({ untilMs: 2000 });
  expect(beats.claim).toBe(null);
  expect(beats.members).toEqual(['n0']);
  liar.publish('group-leader', new TextEncoder().encode(JSON.stringify({ stability: 3, claim })));
  await simulation.run({ untilMs: 3000 });
  expect(beats.claim).toEqual(claim);
  expect(beats.members).toEqual(['n0', 'liar']);
  // A node that is silent is not seen any more, and this one leads in its place.
  await simulation.run({ untilMs: 60_000 });
  expect(claims).toHaveLength(1);
  expect(claims[0]!.epoch).toBeGreaterThan(7);
  beats.close();
});
