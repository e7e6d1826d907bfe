import { SimNetwork, Simulation } from '@bloomery/sim';
import { hashKey } from 'bloomery';
import { SetPublisher, SetSubscriber } from 'bloomery/wire';
import { expect, test } from 'vitest';
import { SUMMARY_TOPIC } from '../peers/summary-follower.ts';
import { CountedTransport } from './counted-transport.ts';
import { FleetCounts } from './fleet-counts.ts';

test('CountedTransport counts the messages that arrive, by their kinds', async () => {
  const simulation = new Simulation({ seed: 1 });
  const network = new SimNetwork(simulation);
  const advance = (ms: number) => simulation.run({ untilMs: simulation.elapsedMs + ms });
  const ids = ['a', 'b', 'c', 'd'];
  const counts = new FleetCounts(ids.length, Number.POSITIVE_INFINITY);
  const arrived = { published: 0, publishedBytes: 0, asked: 0, askedBytes: 0 };
  const [a, b] = ids.map((id) => {
    const peers = ids.filter((other) => other !== id).map((other) => `sim:${other}`);
    const node = new CountedTransport(network.join({ id, peers }), counts);
    for (const peer of peers)
      node.subscribe(peer, SUMMARY_TOPIC, {
        message: ({ length }) => {
          arrived.published++;
          arrived.publishedBytes += length;
        },
        open() {},
        closed() {},
      });
    const answer = (body: Uint8Array) => {
      arrived.asked++;
      arrived.askedBytes += body.length;
      return new Uint8Array(7);
    };
    node.serve(SUMMARY_TOPIC, answer);
    node.serve('owner', answer);
    return node;
  }) as [CountedTransport, CountedTransport];
  await advance(100);

  const publisher = new SetPublisher({ incarnation: 1, universe: 2 ** 20 });
  publisher.addHash(hashKey('x'));
  const update = publisher.publish()!;
  const beat = publisher.heartbeat();
  a.publish(SUMMARY_TOPIC, update);
  a.publish(SUMMARY_TOPIC, beat);
  await advance(10);
  network.crash('sim:d');
  await advance(60_000);
  a.publish(SUMMARY_TOPIC, beat);
  const options = { timeoutMs: 1000 };
  const request = new SetSubscriber({ maxPositions: 10 }).request();
  const asking = [
    b.request('sim:a', SUMMARY_TOPIC, request, options),
    b.request('sim:c', 'owner', new Uint8Array(10), options),
  ];
  await advance(1000);
  await Promise.all(asking);

  const { messages, messageBytes } = counts.result(0, { distinct: 0, all: 0 });
  expect(messages).toEqual({
    update: 3,
    query: 0,
    reply: 0,
    'owner-question': 1,
    'owner-answer': 1,
    'catch-up': 2,
    heartbeat: 3 + 2,
  });
  expect(messages.update + messages.heartbeat).toBe(arrived.published);
  expect(messageBytes.update + messageBytes.heartbeat).toBe(arrived.publishedBytes);
  expect(messages['catch-up'] + messages['owner-question']).toBe(arrived.asked + 1);
  expect(messageBytes['catch-up'] + messageBytes['owner-question']).toBe(arrived.askedBytes + 7);
  expect(messageBytes['owner-answer']).toBe(7);
});
