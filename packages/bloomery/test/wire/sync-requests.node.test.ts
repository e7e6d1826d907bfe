/**
 * How often a subscriber writes a request: only when it sends one, or has something new to tell.
 */

import { expect, test, vi } from 'vitest';
import { CountingBloomFilter } from '../../src/filters/counting/counting-bloom-filter.ts';
import { Publisher } from '../../src/wire/sync/publisher.ts';
import { Subscriber } from '../../src/wire/sync/subscriber.ts';
import type * as SyncMessages from '../../src/wire/sync/sync-message.ts';

const written: string[] = [];

vi.mock('../../src/wire/sync/sync-message.ts', async (original) => {
  const module = await original<typeof SyncMessages>();
  return {
    ...module,
    writeSyncMessage: (message: SyncMessages.SyncMessage) => {
      written.push(message.type);
      return module.writeSyncMessage(message);
    },
  };
});

test('an answer is compared with the request that was sent, and no second one is written', () => {
  const filter = new CountingBloomFilter({ counters: 500, hashes: 3, trackChanges: true });
  const publisher = new Publisher({ filter, incarnation: 1 });
  const subscriber = new Subscriber();
  const requests = () => written.filter((type) => type === 'request').length;

  const request = subscriber.request();
  const answer = publisher.answer(request)!;
  request.fill(0); // the caller's copy
  expect(subscriber.receive(answer).verdict).toBe('taken');
  expect(requests()).toBe(1);

  // Messages that were sent without a request need no request while the subscriber is current.
  for (let i = 0; i < 10; i++) {
    publisher.add(`key-${i}`);
    expect(subscriber.receive(publisher.publish()!).status).toBe('current');
    expect(subscriber.receive(publisher.heartbeat()).verdict).toBe('confirmed');
  }
  expect(requests()).toBe(1);

  // A lost generation: one request, which is sent, compared with the answer, and repeated as it is.
  publisher.add('lost');
  publisher.publish();
  const { reply } = subscriber.receive(publisher.heartbeat());
  expect(requests()).toBe(2);
  expect(subscriber.receive(publisher.heartbeat()).reply).toEqual(reply);
  expect(subscriber.receive(publisher.answer(reply!)!).status).toBe('current');
  expect(requests()).toBe(2);
});
