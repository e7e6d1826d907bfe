/**
 * Neighbours and outsiders that mean harm, and the bound on what each of them costs, with the
 * production code of a node under a virtual clock. Other tests have the bounds on wrong bytes
 * (digests.test.ts), on stalls (continuing.test.ts, `decisions/peer-choice.test.ts`), on oversized
 * and dense summaries (`neighbour-link.test.ts`), and on forged and replayed requests
 * (`packages/transport/test/http/security.test.ts`).
 */

import { SimNetwork } from '@bloomery/sim';
import { expectBinomial } from '@bloomery/testkit/statistics';
import { VirtualClock } from '@bloomery/testkit/virtual-clock';
import { FleetKeyring } from '@bloomery/transport';
import { hashKey, type KeyHash } from 'bloomery';
import { SetPublisher, SetSubscriber } from 'bloomery/wire';
import { expect, onTestFinished, test } from 'vitest';
import type { QuestionEnd } from '../../src/peers/neighbour-port.ts';
import type { SummaryVersion } from '../../src/peers/objects/object-response.ts';
import { PeerHub } from '../../src/peers/peer-hub.ts';
import { SUMMARY_TOPIC } from '../../src/peers/summary-follower.ts';

const keyring = new FleetKeyring([new Uint8Array(32).fill(7)]);
const { summary: key, id: keyId } = keyring.first;
const hashOf = (url: string) => ({ ...hashKey(url, { key }), keyId });

/** A node with one neighbour, which the test drives. */
async function start() {
  const clock = new VirtualClock({ seed: 11 });
  const network = new SimNetwork(clock.simulation);
  const other = network.join({ id: 'other', peers: ['sim:node'] });
  const transport = network.join({ id: 'node', peers: ['sim:other'] });
  const event = () => {};
  const hub = new PeerHub({ transport, clock, keyring, budgetMs: 250, memoryBytes: 1e7, event });
  onTestFinished(() => hub.close());
  await clock.advance(1000);
  /** Publishes a message, and lets the node read it. */
  const tell = async (message: Uint8Array) => {
    other.publish(SUMMARY_TOPIC, message);
    await clock.advance(1000);
  };
  const follow = (publisher: SetPublisher) =>
    other.serve(SUMMARY_TOPIC, (request) => publisher.answer(request) ?? new Uint8Array());
  const finds = (url: string) => (hub.plan([hashOf(url)]).candidates ?? []).length > 0;
  /** The neighbour loses its link for as long as a node needs to notice, and has it again. */
  const reconnect = async () => {
    network.partition('sim:node', 'sim:other');
    await clock.advance(20_000);
    expect(transport.peers()[0]!.state).toBe('down');
    network.heal('sim:node', 'sim:other');
    await clock.advance(40_000);
    expect(transport.peers()[0]!.state).toBe('up');
  };
  return { clock, hub, tell, follow, finds, reconnect };
}

function publisherOf(urls: Iterable<string>, { universe = 2 ** 20, incarnation = 1 } = {}): SetPublisher {
  const publisher = new SetPublisher({ incarnation, publisherId: keyId, universe });
  for (const url of urls) publisher.addHash(hashOf(url));
  publisher.publish();
  return publisher;
}

function* urls(name: string, count: number): Generator<string> {
  for (let at = 0; at < count; at++) yield `http://${name}.example/${at}`;
}

/** Asks the neighbour at a number of misses, as the plan says, and counts the round trips. */
function askAtMisses(
  hub: PeerHub,
  names: Iterable<string>,
  end: QuestionEnd,
  summary: SummaryVersion | null = null,
): number {
  let trips = 0;
  for (const url of names)
    for (const { neighbour } of hub.plan([hashOf(url)]).asks) {
      const report = { neighbour, ask: 'stored', ms: 1, summary, keyId, isFalseMiss: false } as const;
      hub.report({ kind: 'asked', neighbour, ask: 'stored' });
      hub.report({ ...report, kind: 'answered', end });
      if (end === 'hit') hub.report({ kind: 'body', neighbour, ask: 'stored', end: 'whole', bytes: 1 });
      trips++;
    }
  return trips;
}

test('a neighbour that lies about all that it holds costs 20 round trips, then 1 miss in 32', async () => {
  const { hub, tell, follow } = await start();
  const publisher = publisherOf(urls('lie', 20_000), { universe: 2 ** 24 });
  follow(publisher);
  await tell(publisher.full());
  const [first, later] = [[...urls('lie', 20)], [...urls('lie', 20_000)].slice(20)];
  expect(askAtMisses(hub, first, 'refused')).toBe(20);
  const trips = askAtMisses(hub, later, 'refused');
  expectBinomial(trips, later.length, 1 / 32, 'round trips to a liar');
});

test('a neighbour that lies gains nothing by connecting again and again, nor by being late', async () => {
  for (const end of ['refused', 'late', 'failed'] as const) {
    const { hub, tell, follow, reconnect } = await start();
    const publisher = publisherOf(urls('lie', 21_000), { universe: 2 ** 24 });
    follow(publisher);
    await tell(publisher.full());
    const all = [...urls('lie', 21_000)];
    let first = 0;
    // Three failures in a row make it rest, and the way back from that is to connect again.
    for (let at = 0; first < 20; at++) {
      first += askAtMisses(hub, all.slice(at, at + 1), end);
      if (at % 3 === 2) await reconnect();
    }
    expect(first).toBe(20);
    let trips = 0;
    for (let at = 0; at < 10; at++) {
      await reconnect();
      const { masked } = hub.peerReports()[0]!;
      expect(masked).toBe(end === 'refused' ? 'it was wrong too often' : 'it was late or failed too often');
      trips += askAtMisses(hub, all.slice(1000 + 2000 * at, 3000 + 2000 * at), end);
    }
    if (end === 'refused') expectBinomial(trips, 20_000, 1 / 32, 'round trips to a liar that reconnects');
    // It rests after three failures, so there are fewer.
    else expect(trips).toBeLessThanOrEqual(30);
  }
});

test('a neighbour that was late and had been right is asked again once it is back', async () => {
  const { clock, hub, tell, follow, reconnect } = await start();
  const publisher = publisherOf(urls('held', 100), { universe: 2 ** 24 });
  follow(publisher);
  await tell(publisher.full());
  const [url] = [...urls('held', 1)];
  for (let at = 0; at < 20; at++) askAtMisses(hub, [url!], 'hit');
  for (let at = 0; at < 11; at++) {
    expect(askAtMisses(hub, [url!], 'late')).toBe(1);
    // The longest rest is over.
    await clock.advance(31_000);
  }
  expect(hub.peerReports()[0]!.masked).toBe('it was late or failed too often');
  await reconnect();
  expect(hub.peerReports()[0]!.masked).toBe(null);
  expect(askAtMisses(hub, [url!], 'hit')).toBe(1);
});

test('a stale summary costs one round trip: the refusal tells that there is a later one', async () => {
  const { clock, hub, tell, follow } = await start();
  const publisher = publisherOf(urls('gone', 4000), { universe: 2 ** 24 });
  follow(publisher);
  await tell(publisher.full());
  for (const url of urls('gone', 4000)) publisher.deleteHash(hashOf(url));
  // The message about it is lost.
  publisher.publish();
  const { epoch, sequence } = publisher.generation;
  const later = { epoch: Number(epoch), sequence };
  let trips = 0;
  for (const url of urls('gone', 100)) {
    trips += askAtMisses(hub, [url], 'refused', later);
    await clock.advance(100);
  }
  expect(trips).toBe(1);
});

test('URLs aimed at a summary are candidates no more often than others', async () => {
  const { tell, follow, finds } = await start();
  const held = 10_000;
  const publisher = publisherOf(urls('held', held));
  follow(publisher);
  await tell(publisher.full());
  // The attacker knows every URL in the summary and the hash function, but not the secret.
  const guessed = new SetPublisher({ incarnation: 1, universe: 2 ** 20 });
  for (const url of urls('held', held)) guessed.addHash(hashKey(url));
  guessed.publish();
  const model = new SetSubscriber({ maxPositions: held });
  model.receive(guessed.full());
  const aimed: string[] = [];
  const matches = (hash: KeyHash) => model.hasHash(hash);
  for (let at = 0; aimed.length < 5000; at++) {
    const url = `http://aimed.example/${at}`;
    if (matches(hashKey(url))) aimed.push(url);
  }
  const { size, universe } = publisher;
  expectBinomial(aimed.filter(finds).length, aimed.length, size / universe, 'aimed URLs that are candidates');
});

test('a summary that is replayed brings nothing back, from the same life and from an earlier one', async () => {
  // The neighbour answers no questions, so that a state which was taken would stay.
  const { tell, finds } = await start();
  const earlier = publisherOf(urls('before', 10));
  const publisher = publisherOf(urls('old', 10), { incarnation: 2 });
  const recorded = [earlier.full(), publisher.full()];
  await tell(publisher.full());
  for (const url of urls('old', 10)) publisher.deleteHash(hashOf(url));
  publisher.addHash(hashOf('http://new.example/'));
  await tell(publisher.publish()!);
  const state = () => [
    finds('http://new.example/'),
    finds('http://old.example/1'),
    finds('http://before.example/1'),
  ];
  expect(state()).toEqual([true, false, false]);
  for (const message of recorded) {
    await tell(message);
    expect(state()).toEqual([true, false, false]);
  }
});
