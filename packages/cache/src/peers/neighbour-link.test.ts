/** One neighbour's summary over a network in memory, with a publisher that the test drives. */

import { SimNetwork } from '@bloomery/sim';
import { VirtualClock } from '@bloomery/testkit/virtual-clock';
import { hashKey } from 'bloomery';
import { SetPublisher } from 'bloomery/wire';
import { expect, test, vi } from 'vitest';
import { NeighbourLink } from './neighbour-link.ts';
import { NeighbourSummaries } from './neighbour-summaries.ts';
import { SlicedWork } from './sliced-work.ts';
import { SUMMARY_TOPIC } from './summary-follower.ts';

const KEY_ID = 7;

async function linked(limitBytes: number, answers = true) {
  const clock = new VirtualClock();
  const network = new SimNetwork(clock.simulation);
  const holder = network.join({ id: 'holder', peers: ['sim:asker'] });
  const asker = network.join({ id: 'asker', peers: ['sim:holder'] });
  const subscribe = vi.spyOn(asker, 'subscribe');
  const publisher = new SetPublisher({
    incarnation: 1,
    publisherId: KEY_ID,
    universe: 2 ** 30,
    keyId: KEY_ID,
  });
  let requests = 0;
  holder.serve(SUMMARY_TOPIC, (body) => {
    requests++;
    return (answers ? publisher.answer(body) : null) ?? new Uint8Array(0);
  });
  const work = new SlicedWork(clock);
  const events: string[] = [];
  const summaries = new NeighbourSummaries({
    limitBytes,
    work,
    failed: (error) => {
      throw error;
    },
  });
  const link = new NeighbourLink(asker.peers()[0]!, {
    transport: asker,
    clock,
    work,
    summaries,
    keyIds: () => [KEY_ID],
    maxPositions: Math.floor(limitBytes / 5),
    event: (_level, name) => events.push(name),
  });
  asker.watchPeers((peer) => link.changed(peer));
  await clock.advance(1000);
  const [, , subscription] = subscribe.mock.calls[0]!;
  return { clock, holder, publisher, work, summaries, link, events, subscription, requests: () => requests };
}

function add(publisher: SetPublisher, from: number, to: number): void {
  for (let at = from; at < to; at++) publisher.addHash(hashKey(`key ${at}`));
}

test('NeighbourLink drops a summary that outgrows the memory by deltas, and asks again later', async () => {
  const limitBytes = 200_000;
  const { clock, holder, publisher, summaries, link, events, requests } = await linked(limitBytes);
  expect([link.masked, requests()]).toEqual([null, 1]);
  let most = 0;
  for (let size = 2000; size <= 60_000; size += 2000) {
    add(publisher, size - 2000, size);
    holder.publish(SUMMARY_TOPIC, publisher.publish()!);
    await clock.advance(250);
    most = Math.max(most, summaries.byteLength);
  }
  expect(most).toBeGreaterThan(limitBytes / 2);
  expect(most).toBeLessThanOrEqual(limitBytes);
  expect([link.masked, link.followers[0].positions, summaries.byteLength]).toEqual([
    'no memory for its summary',
    null,
    0,
  ]);
  expect([events, requests()]).toEqual([['summary-too-large'], 1]);
  // A minute later the summary is small again, and the next heartbeat brings it back.
  for (let at = 1000; at < 60_000; at++) publisher.deleteHash(hashKey(`key ${at}`));
  publisher.publish();
  await clock.advance(60_000);
  holder.publish(SUMMARY_TOPIC, publisher.heartbeat());
  await clock.advance(1000);
  expect([link.masked, link.followers[0].positions?.size, requests()]).toEqual([null, 1000, 2]);
});

test('NeighbourLink asks once a minute for a summary above the limit', async () => {
  const { clock, holder, publisher, summaries, link, events, requests } = await linked(100_000);
  add(publisher, 0, 50_000);
  publisher.publish();
  for (let seconds = 0; seconds < 130; seconds += 5) {
    holder.publish(SUMMARY_TOPIC, publisher.heartbeat());
    await clock.advance(5000);
  }
  expect([link.masked, summaries.byteLength]).toEqual(['no memory for its summary', 0]);
  expect(events.filter((name) => name === 'summary-too-large')).toHaveLength(3);
  // The first two are for a summary that the link had, and for the full state after that.
  expect(requests()).toBe(5);
});

test('NeighbourLink lets 16 MiB of messages wait, and drops further ones', async () => {
  const { clock, holder, work, publisher, link, subscription } = await linked(1e6);
  const run = vi.spyOn(work, 'run');
  for (let count = 0; count < 5; count++) subscription.message(new Uint8Array(6 * 2 ** 20));
  expect(run.mock.calls).toHaveLength(2);
  await clock.advance(100);
  add(publisher, 0, 10);
  holder.publish(SUMMARY_TOPIC, publisher.publish()!);
  await clock.advance(100);
  expect(link.followers[0].positions?.size).toBe(10);
});

test('NeighbourLink ignores another kind of summary beside its own, and tells it once', async () => {
  const { clock, holder, publisher, link, events, subscription } = await linked(1e6);
  const other = publisher.full();
  other[4] = 3;
  for (let i = 0; i < 3; i++) subscription.message(other.slice());
  await clock.advance(100);
  expect([link.masked, events]).toEqual([null, ['summary-of-later-version']]);
  add(publisher, 0, 10);
  holder.publish(SUMMARY_TOPIC, publisher.publish()!);
  await clock.advance(100);
  expect(link.followers[0].positions?.size).toBe(10);
});

test('NeighbourLink says why a neighbour is masked that publishes only another kind of summary', async () => {
  const { clock, link, subscription, holder, publisher } = await linked(1e6, false);
  expect(link.masked).toBe('no summary yet');
  const other = publisher.full();
  other[4] = 3;
  subscription.message(other);
  await clock.advance(100);
  expect(link.masked).toBe('its summary is of a later version');
  holder.publish(SUMMARY_TOPIC, publisher.full());
  await clock.advance(100);
  expect(link.masked).toBeNull();
});

test('NeighbourLink takes a state that was left, and asks for the changes since it alone', async () => {
  const { clock, publisher, link, subscription, requests } = await linked(1e6);
  add(publisher, 0, 1000);
  publisher.publish();
  const left = publisher.full();
  add(publisher, 1000, 1010);
  publisher.publish();
  const answers: number[] = [];
  const answer = publisher.answer.bind(publisher);
  publisher.answer = (request) => {
    const bytes = answer(request);
    answers.push(bytes?.length ?? 0);
    return bytes;
  };
  const before = requests();
  // The transport tells the state, and then at once that the link is open.
  subscription.state!(left);
  subscription.open();
  await clock.advance(1000);
  expect(link.followers[0]!.positions?.size).toBe(1010);
  expect(requests() - before).toBe(1);
  expect(answers[0]).toBeLessThan(left.length / 10);
});

/** A publisher whose summary has this many of the positions of its universe. */
function filled(universe: number, positions: number): SetPublisher {
  const publisher = new SetPublisher({ incarnation: 2, publisherId: KEY_ID, universe, keyId: KEY_ID });
  for (let at = 0; publisher.size < positions; at++) publisher.addHash(hashKey(`key ${at}`));
  publisher.publish();
  return publisher;
}

test('NeighbourLink refuses a summary with more than half of its universe, all ones among them', async () => {
  for (const [universe, positions, isRefused] of [
    [1024, 1024, true],
    [1024, 513, true],
    [1024, 512, false],
    [1, 1, true],
  ] as const) {
    const { clock, holder, summaries, link, events } = await linked(1e6);
    holder.publish(SUMMARY_TOPIC, filled(universe, positions).full());
    await clock.advance(1000);
    const reason = isRefused ? 'its summary says "maybe" for more than half of all keys' : null;
    expect([link.masked, events], `${positions} of ${universe}`).toEqual([
      reason,
      isRefused ? ['summary-too-dense'] : [],
    ]);
    const found = summaries.candidates({ ...hashKey('key 0'), keyId: KEY_ID });
    expect(found).toHaveLength(isRefused ? 0 : 1);
  }
});

test('NeighbourLink refuses a delta that makes a summary too dense', async () => {
  const { clock, holder, link, events } = await linked(1e6);
  const publisher = filled(1024, 500);
  holder.publish(SUMMARY_TOPIC, publisher.full());
  await clock.advance(1000);
  expect([link.masked, link.followers[0].positions?.size]).toEqual([null, 500]);
  for (let at = 0; publisher.size < 600; at++) publisher.addHash(hashKey(`more ${at}`));
  holder.publish(SUMMARY_TOPIC, publisher.publish()!);
  await clock.advance(1000);
  expect([link.followers[0].positions, events]).toEqual([null, ['summary-too-dense']]);
});
