import { expect, test } from 'vitest';
import { hashKey } from '../../kernel/batches/hash-key.ts';
import { SetPublisher } from '../sync/set-publisher.ts';
import { type PositionChange, SetSubscriber } from '../sync/set-subscriber.ts';
import { SharedSets } from './shared-sets.ts';

const UNIVERSE = 2 ** 30;

function publisherOf(count: number, incarnation = 1): SetPublisher {
  const publisher = new SetPublisher({ incarnation, universe: UNIVERSE });
  for (let i = 0; i < count; i++) publisher.addHash(hashKey(`key ${i}`));
  return publisher;
}

/** A subscriber with shared sets and one without, which are told the same. */
function pairs(count: number) {
  const shared = new SharedSets();
  return Array.from({ length: count }, () => {
    const changes: PositionChange[][] = [[], []];
    const [sharing, own] = changes.map((told, i) => {
      const options = { maxPositions: 1e5, onChange: (change: PositionChange) => told.push(change) };
      return new SetSubscriber(i === 0 ? { ...options, shared } : options);
    });
    return { sharing, own, changes };
  });
}

test('SharedSets give every subscriber the outcomes, positions and changes of a set of its own', () => {
  const publisher = publisherOf(500);
  const nodes = pairs(5);
  let step = 0;
  const send = (message: Uint8Array) => {
    step++;
    for (const [i, { sharing, own }] of nodes.entries()) {
      // Each misses other messages, and asks for them.
      if ((step * 7 + i * 3) % 11 === 0) continue;
      const [a, b] = [sharing.receive(Uint8Array.from(message)), own.receive(Uint8Array.from(message))];
      expect(a).toEqual(b);
      if (a.reply === undefined) continue;
      const answer = publisher.answer(a.reply)!;
      expect(sharing.receive(answer)).toEqual(own.receive(answer));
    }
  };
  for (let round = 0; round < 20; round++) {
    for (let i = 0; i < 5; i++) {
      publisher.addHash(hashKey(`new ${round} ${i}`));
      publisher.deleteHash(hashKey(`key ${5 * round + i}`));
    }
    const delta = publisher.publish()!;
    send(delta);
    if (round % 7 === 3) for (const message of [publisher.full(), publisher.heartbeat()]) send(message);
    if (round % 5 === 2) send(delta.subarray(0, 9));
  }
  for (const { sharing, own, changes } of nodes) {
    expect(sharing.generation).toEqual(own.generation);
    expect([...sharing.positions()]).toEqual([...own.positions()]);
    expect(changes[0]).toEqual(changes[1]);
    expect(changes[0].length).toBeGreaterThan(10);
  }
});

test('SharedSets hold one set for all subscribers, and keep that of a late one as it was', () => {
  const publisher = publisherOf(300);
  const [first, second, late] = pairs(3).map(({ sharing }) => sharing);
  const full = publisher.publish() && publisher.full();
  for (const each of [first, second, late]) each.receive(full!);
  expect(first.positions()).toBe(second.positions());
  const before = [...late.positions()];
  publisher.addHash(hashKey('one more'));
  const delta = publisher.publish()!;
  for (const each of [first, second]) each.receive(Uint8Array.from(delta));
  expect(first.positions()).toBe(second.positions());
  expect([first.size, late.size]).toEqual([301, 300]);
  expect([...late.positions()]).toEqual(before);
});

test('SharedSets decode a message that only claims the sum of another', () => {
  const publisher = publisherOf(300);
  publisher.publish();
  const full = publisher.full();
  const [honest, other] = pairs(2).map(({ sharing }) => sharing);
  expect(honest.receive(full).verdict).toBe('taken');
  const forged = Uint8Array.from(full);
  forged[forged.length - 10] ^= 1;
  expect(other.receive(forged)).toMatchObject({ verdict: 'unreadable', problem: 'checksum' });
  expect(other.receive(full).verdict).toBe('taken');
});

test('SharedSets do not let a subscriber past its own limit', () => {
  const shared = new SharedSets();
  const publisher = publisherOf(300);
  publisher.publish();
  const full = publisher.full();
  expect(new SetSubscriber({ maxPositions: 300, shared }).receive(full).verdict).toBe('taken');
  const small = new SetSubscriber({ maxPositions: 299, shared });
  expect(small.receive(full)).toMatchObject({ verdict: 'unreadable', problem: 'limit' });
});

test('SharedSets give messages of one publisher to its own subscribers only', () => {
  const shared = new SharedSets();
  const publisher = publisherOf(10);
  publisher.publish();
  const message = publisher.full();
  expect(new SetSubscriber({ maxPositions: 100, shared }).receive(message).verdict).toBe('taken');
  const other = new SetSubscriber({ maxPositions: 100, shared, publisherId: 7 });
  expect(other.receive(message).verdict).toBe('foreign');
});
