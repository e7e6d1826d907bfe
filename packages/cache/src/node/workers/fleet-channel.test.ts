import { VirtualClock } from '@bloomery/testkit/virtual-clock';
import { fleetKeys } from '@bloomery/transport';
import { expect, test } from 'vitest';
import { FleetChannel } from './fleet-channel.ts';
import type { FleetToPrimary } from './fleet-messages.ts';

const b = { id: 'b', address: 'http://b', keyId: 9 };
const plan = {
  asks: [{ neighbour: b, headDeadlineMs: 20, hedgeAfterMs: null }],
  afterwards: 'owner' as const,
};

const inBase64 = (text: string) => Buffer.from(text).toString('base64');

function channel() {
  const clock = new VirtualClock();
  const told: FleetToPrimary[] = [];
  /** The functions to call when the channel has taken a message. */
  const taken: (() => void)[] = [];
  const start = {
    name: 'a',
    secrets: [inBase64('a secret of sixteen bytes')],
    certificates: null,
    listen: null,
    news: { summaries: [{ keyId: 9, epoch: 1, sequence: 2 }], live: [], validAfter: 0 },
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

const hash = (low: number) => ({ keyId: 9, low, high: 7 });

test('changes are gathered for 10 ms, in their order', async () => {
  const { fleet, clock, told } = channel();
  fleet.keep(hash(1), 1000);
  fleet.drop(hash(1));
  fleet.keep(hash(2), 2000);
  await clock.advance(9);
  expect(told).toEqual([]);
  await clock.advance(1);
  expect(told).toEqual([{ kind: 'summary', changes: [9, 1, 7, 1000, 9, 1, 7, 0, 9, 2, 7, 2000] }]);
  fleet.keep(hash(3), 1);
  await clock.advance(10);
  expect(told).toHaveLength(2);
});

test('many changes do not wait, and their reader waits for the channel', async () => {
  const { fleet, clock, told, taken } = channel();
  for (let i = 0; i < 600; i++) fleet.keep(hash(i), 1);
  expect(told.map((message) => message.kind === 'summary' && message.changes.length)).toEqual([1024, 1024]);
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
  const asked = [fleet.plan([hash(1)]), fleet.plan([hash(2)], true)];
  const word = fleet.askOwner([hash(3)], 'c');
  expect(told).toEqual([
    { kind: 'plan', id: 1, hashes: [hash(1)] },
    { kind: 'plan', id: 2, hashes: [hash(2)], again: true },
    { kind: 'ask-owner', id: 3, hashes: [hash(3)], lost: 'c' },
  ]);
  fleet.receive({ kind: 'owner-said', id: 3, word: { owner: 'd', keyId: 9, answer: b } });
  fleet.receive({ kind: 'planned', id: 2, plan });
  fleet.receive({ kind: 'planned', id: 1, plan: { asks: [], afterwards: 'origin' } });
  expect(await Promise.all(asked)).toEqual([{ asks: [], afterwards: 'origin' }, plan]);
  expect(await word).toEqual({ owner: 'd', keyId: 9, answer: b });
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
  const [made, word] = [fleet.plan([hash(1)]), fleet.askOwner([hash(1)], null)];
  await clock.advance(250);
  expect(await made).toMatchObject({ asks: [], afterwards: 'origin' });
  expect(await word).toBeNull();
  fleet.receive({ kind: 'planned', id: 1, plan });
});

test('the news of the primary are known without asking', () => {
  const { fleet, told } = channel();
  const { id } = fleetKeys(Buffer.from('a secret of sixteen bytes'));
  expect([fleet.name, fleet.keyring.all.map((keys) => keys.id)]).toEqual(['a', [id]]);
  expect([fleet.summary(9), fleet.find('b')]).toEqual([{ keyId: 9, epoch: 1, sequence: 2 }, null]);
  const summaries = [
    { keyId: 8, epoch: 4, sequence: 1 },
    { keyId: 9, epoch: 1, sequence: 3 },
  ];
  fleet.receive({ kind: 'fleet-news', news: { summaries, live: [b], validAfter: 5 } });
  expect(fleet.validAfter).toBe(5);
  expect([fleet.summary(9), fleet.summary(8), fleet.summary(null)]).toEqual([
    summaries[1],
    summaries[0],
    summaries[0],
  ]);
  expect([fleet.find('b'), fleet.find('c')]).toEqual([b, null]);
  expect(told).toEqual([]);
});

test('secrets that the operator changed are those of the worker at once', () => {
  const { fleet } = channel();
  const texts = ['another secret of a fleet', 'a secret of sixteen bytes'];
  fleet.receive({ kind: 'fleet-secrets', secrets: texts.map(inBase64) });
  const ids = texts.map((text) => fleetKeys(Buffer.from(text)).id);
  expect(fleet.keyring.all.map(({ id }) => id)).toEqual(ids);
});

test('a purge is an order to the primary, and fails without an answer', async () => {
  const { fleet, told, clock } = channel();
  const reach = { confirmed: ['b'], waiting: [] };
  const purged = fleet.purge('http://a/', 1000);
  const [message] = told.filter(({ kind }) => kind === 'purge');
  expect(message).toMatchObject({ key: 'http://a/', waitMs: 1000 });
  fleet.receive({ kind: 'purge-reach', id: (message as { id: number }).id, reach });
  expect(await purged).toEqual(reach);
  const unanswered = fleet.purge('http://a/', 1000);
  const failed = expect(unanswered).rejects.toThrow(/primary/);
  await clock.advance(6000);
  await failed;
});
