/** Nodes that announce, locate and withdraw over the simulated network, with cuts and crashes. */

import type { HostContext } from '@bloomery/sim';
import { rendezvousOrder } from '@bloomery/transport';
import { hashKey } from 'bloomery';
import { expect, test } from 'vitest';
import { lyingProgram, RouteFleet, routeProgram } from './route-fleet.ts';

test('a key is found by filters nearby and by the directory elsewhere, and absent keys are absent', async () => {
  const fleet = new RouteFleet(1, 24);
  await fleet.pass(5000);
  const numbers = Array.from({ length: 24 }, (_, i) => i);
  const announced = await fleet.during(() =>
    Promise.all(numbers.map((i) => fleet.node(i).announce(`key ${i}`))),
  );
  expect(announced).toEqual(numbers.map(() => true));
  await fleet.pass(3000);
  const answers = await fleet.during(() =>
    Promise.all(numbers.map((i) => fleet.node((i * 7 + 3) % 24).locate(`key ${i}`))),
  );
  const ways = { filters: 0, directory: 0, self: 0 };
  for (const [i, answer] of answers.entries()) {
    expect(answer).toMatchObject({ status: 'found', node: `n${i}` });
    if (answer.status === 'found') ways[answer.by]++;
  }
  expect(ways.filters).toBeGreaterThan(10);
  expect(await fleet.during(() => fleet.node(5).locate('key 5'))).toMatchObject({ by: 'self', hops: 0 });
  expect(await fleet.during(() => fleet.node(0).locate('nowhere'))).toMatchObject({ status: 'absent' });
});

test('a node that has just started, or knows no other member, says "unknown" and not "absent"', async () => {
  const finding = (context: HostContext) => routeProgram(context, () => [], 3000);
  const fleet = new RouteFleet(11, 3, { delayMs: 5 }, () => [], finding);
  // Members are heard by now, but there could be others.
  await fleet.pass(500);
  expect((await fleet.during(() => fleet.node(0).locate('nowhere'), 500)).status).toBe('unknown');
  await fleet.pass(3000);
  expect((await fleet.during(() => fleet.node(0).locate('nowhere'), 500)).status).toBe('absent');
  const alone = new RouteFleet(12, 1);
  await alone.pass(60_000);
  expect(await alone.during(() => alone.node(0).locate('nowhere'))).toMatchObject({
    status: 'unknown',
    why: 'no other member is known',
  });
});

test('a name that is no member is no answer, although a neighbour says it', async () => {
  const fleet = new RouteFleet(7, 6, { delayMs: 5 }, undefined, (context) =>
    context.transport.self.id === 'n5' ? lyingProgram(context, 'ghost') : routeProgram(context, undefined),
  );
  await fleet.pass(5000);
  await fleet.during(() => fleet.node(5).announce('bait'));
  await fleet.pass(3000);
  const answers = await fleet.during(() =>
    Promise.all([0, 1, 2, 3, 4].map((number) => fleet.node(number).locate('bait'))),
  );
  // The liar owns up to nothing when the directory's holders are asked, so no node can tell.
  for (const answer of answers) expect(answer.status).toBe('unknown');
});

test('a holder that runs is found behind three that crashed', async () => {
  const fleet = new RouteFleet(8, 12, { delayMs: 5 }, () => []);
  await fleet.pass(5000);
  const key = keyOwnedBy(['n10', 'n11'], fleet);
  await fleet.during(() => Promise.all([1, 2, 3, 4].map((number) => fleet.node(number).announce(key))));
  for (const number of [1, 2, 3]) fleet.hosts[number].crash();
  expect(await fleet.during(() => fleet.node(0).locate(key))).toMatchObject({ status: 'found', node: 'n4' });
});

test('a key with more holders than an answer names is not said to be absent by those', async () => {
  const fleet = new RouteFleet(9, 22, { delayMs: 5 }, () => []);
  await fleet.pass(5000);
  const key = keyOwnedBy(['n20', 'n21'], fleet);
  const holders = Array.from({ length: 19 }, (_, i) => i + 1);
  await fleet.during(() => Promise.all(holders.map((number) => fleet.node(number).announce(key))));
  // Those that are named first let go of it, without a word to the directory.
  for (const number of holders.slice(0, 16)) fleet.node(number).table.withdraw(hashKey(key));
  const answer = await fleet.during(() => fleet.node(0).locate(key));
  expect(answer.status).not.toBe('absent');
});

test('withdraw says whether it is confirmed when it is repeated', async () => {
  const fleet = new RouteFleet(10, 6, { delayMs: 5 }, () => []);
  await fleet.pass(5000);
  await fleet.during(() => fleet.node(3).announce('short-lived'));
  for (let i = 0; i < 6; i++) if (i !== 3) fleet.network.partition('sim:n3', `sim:n${i}`);
  expect(await fleet.during(() => fleet.node(3).withdraw('short-lived'))).toBe(false);
  expect(await fleet.during(() => fleet.node(3).withdraw('short-lived'))).toBe(false);
  for (let i = 0; i < 6; i++) if (i !== 3) fleet.network.heal('sim:n3', `sim:n${i}`);
  await fleet.pass(30_000);
  expect(await fleet.during(() => fleet.node(3).withdraw('short-lived'))).toBe(true);
});

test('a withdrawn key is absent, at once for the directory and after some intervals for filters', async () => {
  const fleet = new RouteFleet(2, 10);
  await fleet.pass(5000);
  await fleet.during(() => fleet.node(3).announce('short-lived'));
  await fleet.pass(2000);
  expect(await fleet.during(() => fleet.node(3).withdraw('short-lived'))).toBe(true);
  const answers = await fleet.during(() =>
    Promise.all([0, 1, 2].map((number) => fleet.node(number).locate('short-lived'))),
  );
  for (const answer of answers) expect(answer).toMatchObject({ status: 'absent' });
});

test('while a member is cut off, keys that are nowhere are unknown, and its own ones as well', async () => {
  const fleet = new RouteFleet(3, 8);
  await fleet.pass(5000);
  await fleet.during(() => fleet.node(7).announce('behind the cut'));
  await fleet.pass(2000);
  for (let i = 0; i < 7; i++) fleet.network.partition('sim:n7', `sim:n${i}`);
  // An announcement that its owners cannot confirm is not settled.
  expect(await fleet.during(() => fleet.node(7).announce('new behind the cut'))).toBe(false);
  await fleet.pass(5000);
  for (const key of ['behind the cut', 'new behind the cut', 'nowhere'])
    expect(await fleet.during(() => fleet.node(0).locate(key))).toMatchObject({ status: 'unknown' });
  for (let i = 0; i < 7; i++) fleet.network.heal('sim:n7', `sim:n${i}`);
  await fleet.pass(30_000);
  expect(await fleet.during(() => fleet.node(0).locate('new behind the cut'))).toMatchObject({ node: 'n7' });
  expect(await fleet.during(() => fleet.node(0).locate('nowhere'))).toMatchObject({ status: 'absent' });
});

test('a node that crashed is found again with the keys of its disk', async () => {
  const fleet = new RouteFleet(4, 12);
  await fleet.pass(5000);
  await fleet.during(() => fleet.node(2).announce('on disk'));
  fleet.hosts[2].crash();
  await fleet.pass(20_000);
  expect((await fleet.during(() => fleet.node(9).locate('on disk'))).status).toBe('unknown');
  (fleet.hosts[2].disk as Map<string, unknown>).set('keys', ['on disk']);
  fleet.hosts[2].restart();
  await fleet.pass(30_000);
  expect(await fleet.during(() => fleet.node(9).locate('on disk'))).toMatchObject({ node: 'n2' });
});

test('owners that lost their records say "unknown" until all members have told them again', async () => {
  const fleet = new RouteFleet(5, 6, { delayMs: 5 }, () => []);
  await fleet.pass(5000);
  const key = keyOwnedBy(['n2', 'n3'], fleet);
  expect(await fleet.during(() => fleet.node(0).announce(key))).toBe(true);
  for (const number of [2, 3]) fleet.hosts[number].crash({ losesDisk: true });
  await fleet.pass(100);
  for (const number of [2, 3]) fleet.hosts[number].restart();
  const statuses: string[] = [];
  for (let i = 0; i < 60; i++)
    fleet.simulation.after(100 * i, () => {
      void fleet
        .node(1)
        .locate(key)
        .then(({ status }) => statuses.push(status));
    });
  await fleet.pass(30_000);
  expect(statuses).toHaveLength(60);
  expect(new Set(statuses)).toEqual(new Set(['unknown', 'found']));
  expect(statuses.at(-1)).toBe('found');
});

test('lost, doubled, reordered and damaged messages delay answers, and make none wrong', async () => {
  const weather = { delayMs: 5, jitterMs: 20, loss: 0.2, duplication: 0.2, reordering: 0.2, damage: 0.05 };
  const fleet = new RouteFleet(6, 10, weather);
  await fleet.pass(10_000);
  const numbers = Array.from({ length: 10 }, (_, i) => i);
  await fleet.during(() => Promise.all(numbers.map((i) => fleet.node(i).announce(`key ${i}`))), 10_000);
  const bad = await fleet.during(
    () => Promise.all(numbers.map((i) => fleet.node((i + 3) % 10).locate(`key ${i}`))),
    10_000,
  );
  for (const [i, answer] of bad.entries()) if (answer.status === 'found') expect(answer.node).toBe(`n${i}`);
  fleet.network.setConditions({ delayMs: 5 });
  await fleet.pass(20_000);
  const good = await fleet.during(() =>
    Promise.all(numbers.map((i) => fleet.node((i + 3) % 10).locate(`key ${i}`))),
  );
  expect(good.map((answer) => answer.status === 'found' && answer.node)).toEqual(numbers.map((i) => `n${i}`));
});

/** A key whose two owners are these nodes. */
function keyOwnedBy(owners: readonly string[], { hosts }: RouteFleet): string {
  const ids = hosts.map(({ id }) => id);
  for (let i = 0; ; i++) {
    const key = `key ${i}`;
    const [first, second] = rendezvousOrder(hashKey(key), ids);
    if (owners.includes(first) && owners.includes(second)) return key;
  }
}
