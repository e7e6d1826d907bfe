import { VirtualClock } from '@bloomery/testkit/virtual-clock';
import { expect, test } from 'vitest';
import { FleetChannel } from './fleet-channel.ts';
import type { FleetToPrimary } from './fleet-messages.ts';

const b = { id: 'b', address: 'http://b' };
const plan = {
  asks: [{ neighbour: b, headDeadlineMs: 20, hedgeAfterMs: null }],
  afterwards: 'owner' as const,
};

function channel() {
  const clock = new VirtualClock();
  const told: FleetToPrimary[] = [];
  /** The functions to call when the channel has taken a message. */
  const taken: (() => void)[] = [];
  const start = {
    name: 'a',
    secret: Buffer.from('a secret of sixteen bytes').toString('base64'),
    listen: null,
    news: { summary: { epoch: 1, sequence: 2 }, live: [] },
  };
  const fleet = new FleetChannel({
    start,
    clock,
    budgetMs: 250,
    // As over the channel of Node.
    tell: (message, done) => {
      told.push(JSON.parse(JSON.stringify(message)) as FleetToPrimary);
      if (done !== undefined) taken.push(done);
    },
  });
  return { fleet, clock, told, taken };
}

/** More than the halves, as the real hashes have. */
const hash = (low: number) => ({ low, high: 7, scheme: 'unsendable' });

test('changes are gathered for 10 ms, in their order', async () => {
  const { fleet, clock, told } = channel();
  fleet.keep(hash(1), 1000);
  fleet.drop(hash(1));
  fleet.keep(hash(2), 2000);
  await clock.advance(9);
  expect(told).toEqual([]);
  await clock.advance(1);
  expect(told).toEqual([{ kind: 'summary', changes: [1, 7, 1000, 1, 7, 0, 2, 7, 2000] }]);
  fleet.keep(hash(3), 1);
  await clock.advance(10);
  expect(told).toHaveLength(2);
});

test('many changes do not wait, and their reader waits for the channel', async () => {
  const { fleet, clock, told, taken } = channel();
  for (let i = 0; i < 600; i++) fleet.keep(hash(i), 1);
  expect(told.map((message) => message.kind === 'summary' && message.changes.length)).toEqual([768, 768]);
  let isSettled = false;
  const settled = fleet.settled().then(() => {
    isSettled = true;
  });
  taken[0]!();
  await clock.advance(0);
  expect(isSettled).toBe(false);
  taken[1]!();
  await settled;
  await fleet.settled();
  await clock.advance(10);
  expect(told).toHaveLength(3);
});

test('plans and words of owners come from the primary, each to its question', async () => {
  const { fleet, clock, told } = channel();
  const asked = [fleet.plan(hash(1)), fleet.plan(hash(2), true)];
  const word = fleet.askOwner(hash(3), 'c');
  expect(told).toEqual([
    { kind: 'plan', id: 1, hash: { low: 1, high: 7 } },
    { kind: 'plan', id: 2, hash: { low: 2, high: 7 }, again: true },
    { kind: 'ask-owner', id: 3, hash: { low: 3, high: 7 }, lost: 'c' },
  ]);
  fleet.receive({ kind: 'owner-said', id: 3, word: { owner: 'd', answer: b } });
  fleet.receive({ kind: 'planned', id: 2, plan });
  fleet.receive({ kind: 'planned', id: 1, plan: { asks: [], afterwards: 'origin' } });
  expect(await Promise.all(asked)).toEqual([{ asks: [], afterwards: 'origin' }, plan]);
  expect(await word).toEqual({ owner: 'd', answer: b });
  expect(clock.pending).toBe(0);
  fleet.done('d', hash(3));
  fleet.gaveUp('d', hash(4), 'left');
  fleet.report({ kind: 'asked', neighbour: b, ask: 'stored' });
  expect(told.slice(3)).toEqual([
    { kind: 'done', owner: 'd', hash: { low: 3, high: 7 } },
    { kind: 'gave-up', owner: 'd', hash: { low: 4, high: 7 }, why: 'left' },
    { kind: 'neighbour-report', report: { kind: 'asked', neighbour: b, ask: 'stored' } },
  ]);
});

test('without an answer within the budget the origin is asked, and a late answer is ignored', async () => {
  const { fleet, clock } = channel();
  const [made, word] = [fleet.plan(hash(1)), fleet.askOwner(hash(1), null)];
  await clock.advance(250);
  expect(await made).toMatchObject({ asks: [], afterwards: 'origin' });
  expect(await word).toBeNull();
  fleet.receive({ kind: 'planned', id: 1, plan });
});

test('the news of the primary are known without asking', () => {
  const { fleet, told } = channel();
  expect([fleet.name, Buffer.from(fleet.secret).toString()]).toEqual(['a', 'a secret of sixteen bytes']);
  expect([fleet.summary, fleet.find('b')]).toEqual([{ epoch: 1, sequence: 2 }, null]);
  fleet.receive({ kind: 'fleet-news', news: { summary: { epoch: 1, sequence: 3 }, live: [b] } });
  expect([fleet.summary, fleet.find('b'), fleet.find('c')]).toEqual([{ epoch: 1, sequence: 3 }, b, null]);
  expect(told).toEqual([]);
});
