import { expect, test } from 'vitest';
import { hashKey } from '../../kernel/batches/hash-key.ts';
import { LastAnswer } from './last-answer.ts';
import { SetPublisher } from './set-publisher.ts';
import { SetSubscriber } from './set-subscriber.ts';

test('LastAnswer gives copies of the last answer to the same request about the same generation', () => {
  const last = new LastAnswer();
  const [one, other] = [
    { epoch: 1n, sequence: 0, sum: 1n },
    { epoch: 1n, sequence: 1, sum: 2n },
  ];
  const [request, answer] = [Uint8Array.of(1, 2), Uint8Array.of(3, 4)];
  expect(last.to(request, one)).toBe(undefined);
  last.keep(request, one, answer);
  answer.fill(0);
  last.to(Uint8Array.of(1, 2), one)!.fill(9);
  expect(last.to(Uint8Array.of(1, 2), one)).toEqual(Uint8Array.of(3, 4));
  expect(last.to(Uint8Array.of(1, 3), one)).toBe(undefined);
  expect(last.to(Uint8Array.of(1, 2), other)).toBe(undefined);
  last.keep(request, other, new Uint8Array(5000));
  expect(last.to(request, other)).toBe(undefined);
});

test('SetPublisher answers the same request with the generation of the moment', () => {
  const publisher = new SetPublisher({ incarnation: 1, universe: 2 ** 24 });
  const request = new SetSubscriber({ maxPositions: 100 }).request();
  for (const key of ['a', 'b', 'c']) {
    publisher.addHash(hashKey(key));
    publisher.publish();
    for (let i = 0; i < 2; i++) {
      const subscriber = new SetSubscriber({ maxPositions: 100 });
      expect(subscriber.request()).toEqual(request);
      expect(subscriber.receive(publisher.answer(request)!).verdict).toBe('taken');
      expect([subscriber.current, subscriber.generation?.sum]).toEqual([true, publisher.generation.sum]);
    }
  }
});
