import { Random } from '@bloomery/testkit/statistics';
import { describe, expect, test } from 'vitest';
import { CountingBloomFilter } from '../../filters/counting/counting-bloom-filter.ts';
import { hashKey, type KeyHash } from '../../kernel/batches/hash-key.ts';
import { finishSteps } from '../sets/steps.ts';
import { Publisher } from './publisher.ts';
import { SetPublisher } from './set-publisher.ts';
import { type PositionChange, SetSubscriber } from './set-subscriber.ts';
import { Subscriber } from './subscriber.ts';
import {
  type DeltaMessage,
  type FullMessage,
  questionOf,
  readSyncMessage,
  writeSyncMessage,
} from './sync-message.ts';

function publisherOf(count: number, universe = 2 ** 24, incarnation = 1): SetPublisher {
  const publisher = new SetPublisher({ incarnation, universe, keyId: 3 });
  publisher.resize(universe, hashes(0, count));
  return publisher;
}

function hashes(from: number, to: number): KeyHash[] {
  return Array.from({ length: to - from }, (_, i) => hashKey(from + i));
}

describe('SetSubscriber', () => {
  test('answers maybe until it is current, then exactly by its positions', () => {
    const publisher = publisherOf(1000);
    const subscriber = new SetSubscriber({ maxPositions: 2000 });
    expect([subscriber.current, subscriber.universe, subscriber.size]).toEqual([false, 0, 0]);
    expect(subscriber.hasHash(hashKey('absent'))).toBe(true);
    const outcome = subscriber.receive(publisher.answer(subscriber.request())!);
    expect(outcome).toEqual({ verdict: 'taken', status: 'current', changed: true });
    expect([subscriber.universe, subscriber.keyId]).toEqual([2 ** 24, 3]);
    expect(hashes(0, 1000).every((hash) => subscriber.hasHash(hash))).toBe(true);
    const found = hashes(10_000, 30_000).filter((hash) => subscriber.hasHash(hash)).length;
    expect(found).toBeLessThan(10); // 20,000 keys at a rate of 1000/2^24: 1.2 on average
    publisher.addHash(hashKey('absent'));
    publisher.publish(); // lost
    expect(subscriber.hasHash(hashKey('absent'))).toBe(false);
    expect(subscriber.receive(publisher.heartbeat())).toMatchObject({ verdict: 'missing', status: 'behind' });
    expect(subscriber.hasHash(hashKey('absent too'))).toBe(true);
  });

  test('tells what changed, so that a copy kept by the changes is the set', () => {
    const random = new Random(5);
    const publisher = publisherOf(3000);
    const copy = new Set<number>();
    const kinds: string[] = [];
    const onChange = (change: PositionChange) => {
      kinds.push(change.kind);
      if (change.kind === 'reset') {
        copy.clear();
        for (const position of subscriber.positions()) copy.add(position);
        return;
      }
      for (const position of change.removed) expect(copy.delete(position)).toBe(true);
      for (const position of change.added) expect(copy.size).toBeLessThan(copy.add(position).size + 1);
    };
    const subscriber = new SetSubscriber({ maxPositions: 1e5, onChange });
    subscriber.receive(publisher.full());
    const present = new Set(Array.from({ length: 3000 }, (_, i) => i));
    for (let round = 0; round < 40; round++) {
      for (let i = 0; i < 50; i++) {
        const key = random.below(6000);
        if (present.delete(key)) publisher.deleteHash(hashKey(key));
        else {
          present.add(key);
          publisher.addHash(hashKey(key));
        }
      }
      const message = publisher.publish()!;
      if (random.below(4) > 0) subscriber.receive(message);
    }
    const { reply } = subscriber.receive(publisher.heartbeat());
    if (reply !== undefined) subscriber.receive(publisher.answer(reply)!);
    expect([...copy].sort((a, b) => a - b)).toEqual([...subscriber.positions()]);
    expect([...present].every((key) => subscriber.hasHash(hashKey(key)))).toBe(true);
    expect(kinds[0]).toBe('reset');
    expect(kinds.slice(1).every((kind) => kind === 'changed')).toBe(true);
    subscriber.receive(
      publisher.resize(
        2 ** 30,
        [...present].map((key) => hashKey(key)),
      ),
    );
    expect(kinds.at(-1)).toBe('reset');
    expect([...copy]).toEqual([...subscriber.positions()]);
  });

  test('drops the set when a delta leads elsewhere, and asks as a new one', () => {
    const publisher = publisherOf(500);
    const other = publisherOf(500);
    other.addHash(hashKey('another'));
    const changes: PositionChange[] = [];
    const subscriber = new SetSubscriber({ maxPositions: 1000, onChange: (change) => changes.push(change) });
    subscriber.receive(publisher.full());
    publisher.addHash(hashKey('one'));
    publisher.publish();
    const delta = readSyncMessage(other.publish()!, 2) as DeltaMessage;
    const forged = writeSyncMessage({ ...delta, generation: publisher.generation }, 2);
    const outcome = subscriber.receive(forged);
    expect(outcome).toMatchObject({ verdict: 'conflict', status: 'empty', changed: true });
    expect(changes.map(({ kind }) => kind)).toEqual(['reset', 'reset']);
    expect([...subscriber.positions()]).toEqual([]);
    expect(subscriber.receive(publisher.answer(outcome.reply!)!)).toMatchObject({ status: 'current' });
  });

  test('refuses sets above its limit, and deltas that lead there', () => {
    const publisher = publisherOf(500);
    const small = new SetSubscriber({ maxPositions: 499 });
    expect(small.receive(publisher.full())).toMatchObject({ verdict: 'unreadable', problem: 'limit' });
    const subscriber = new SetSubscriber({ maxPositions: 500 });
    subscriber.receive(publisher.full());
    publisher.addHash(hashKey('one more'));
    expect(subscriber.receive(publisher.publish()!)).toMatchObject({ verdict: 'conflict' });
  });

  test('refuses a full state that is not the one announced', () => {
    const publisher = publisherOf(500);
    const told = readSyncMessage(publisher.full(), 2);
    const wrong = writeSyncMessage(
      { ...told, generation: { ...publisher.generation, sum: 1n } } as typeof told,
      2,
    );
    const subscriber = new SetSubscriber({ maxPositions: 1000 });
    expect(subscriber.receive(wrong)).toMatchObject({ verdict: 'unreadable', problem: 'payload' });
    expect(subscriber.hasHash(hashKey('any'))).toBe(true);
  });

  test('tells empty sets of two universes apart', () => {
    const publisher = publisherOf(0, 1000);
    const subscriber = new SetSubscriber({ maxPositions: 1000 });
    subscriber.receive(publisher.full());
    expect(subscriber.current).toBe(true);
    subscriber.receive(publisher.resize(5000, []));
    expect([subscriber.current, subscriber.universe]).toEqual([true, 5000]);
  });

  test('refuses the messages of version 1 with a typed error, and version 1 those of sets', () => {
    const publisher = publisherOf(500);
    const filter = new CountingBloomFilter({ counters: 1000, hashes: 3, trackChanges: true });
    const older = new Publisher({ filter, incarnation: 1 });
    const unreadable = { verdict: 'unreadable', problem: 'version', status: 'empty', changed: false };
    for (const message of [older.full(), older.heartbeat()]) {
      expect(new SetSubscriber({ maxPositions: 1000 }).receive(message)).toEqual(unreadable);
    }
    for (const message of [publisher.full(), publisher.heartbeat()]) {
      expect(new Subscriber().receive(message)).toEqual(unreadable);
    }
    expect(older.answer(new SetSubscriber({ maxPositions: 1000 }).request())).toBe(null);
  });
});

describe('SetSubscriber in steps', () => {
  test('takes a full state at the end, and other messages meanwhile', () => {
    const publisher = publisherOf(20_000);
    const subscriber = new SetSubscriber({ maxPositions: 1e6 });
    const first = publisher.full();
    publisher.addHash(hashKey('later'));
    const delta = publisher.publish()!;
    const second = publisher.full();
    const steps = subscriber.receiveInSteps(first);
    for (let i = 0; i < 3; i++) expect(steps.next().done).toBe(false);
    expect(subscriber.status).toBe('empty');
    expect(subscriber.receive(delta)).toMatchObject({ verdict: 'missing' });
    expect(subscriber.receive(second)).toMatchObject({ verdict: 'taken', status: 'current' });
    expect(finishSteps(steps)).toMatchObject({ verdict: 'old', status: 'current' });
    expect(subscriber.hasHash(hashKey('later'))).toBe(true);
  });

  test('finishes a delta before the next message, whose steps come in between', () => {
    const publisher = publisherOf(12_000);
    const changes: PositionChange[] = [];
    const subscriber = new SetSubscriber({ maxPositions: 1e6, onChange: (change) => changes.push(change) });
    subscriber.receive(publisher.full());
    for (const hash of hashes(0, 2500)) publisher.deleteHash(hash);
    for (const hash of hashes(12_000, 14_500)) publisher.addHash(hash);
    const first = publisher.publish()!;
    publisher.addHash(hashKey('later'));
    const second = publisher.publish()!;
    // However many steps the first delta has made, the second one finds it whole or not begun.
    let finished = 0;
    for (let made = 0; ; made++) {
      const other = new SetSubscriber({ maxPositions: 1e6 });
      const twin = publisherOf(12_000);
      other.receive(twin.full());
      const steps = other.receiveInSteps(first);
      for (let i = 0; i < made; i++) steps.next();
      const { verdict } = other.receive(second);
      const last = finishSteps(steps);
      if (last === undefined) {
        expect([verdict, made > 6]).toEqual(['taken', true]); // all steps were made before
        break;
      }
      if (verdict === 'taken') {
        finished++;
        expect([...other.positions()].length).toBe(publisher.size);
        expect(last.verdict).toBe('taken');
      } else expect([verdict, last.verdict]).toEqual(['missing', 'taken']);
      expect(other.receive(publisher.heartbeat()).verdict).toBe(
        verdict === 'taken' ? 'confirmed' : 'missing',
      );
    }
    expect(finished).toBeGreaterThan(2);
    expect(changes.length).toBe(1);
  });

  test('reads a delta again if the set moved on meanwhile', () => {
    const publisher = publisherOf(30_000);
    const subscriber = new SetSubscriber({ maxPositions: 1e6 });
    const twin = new SetSubscriber({ maxPositions: 1e6 });
    for (const each of [subscriber, twin]) each.receive(publisher.full());
    for (const hash of hashes(0, 9000)) publisher.deleteHash(hash);
    const delta = publisher.publish()!;
    const steps = subscriber.receiveInSteps(delta);
    steps.next();
    expect(subscriber.receive(delta)).toMatchObject({ verdict: 'taken' }); // the same, faster
    expect(finishSteps(steps)).toMatchObject({ verdict: 'confirmed', status: 'current' });
    twin.receive(delta);
    expect([...subscriber.positions()]).toEqual([...twin.positions()]);
  });

  test('reads a delta again if the state that it starts from is another one by then', () => {
    const publisher = publisherOf(30_000);
    const subscriber = new SetSubscriber({ maxPositions: 1e6 });
    const full = readSyncMessage(publisher.full(), 2) as FullMessage;
    subscriber.receive(publisher.full());
    for (const hash of hashes(0, 9000)) publisher.deleteHash(hash);
    const delta = publisher.publish()!;
    const steps = subscriber.receiveInSteps(delta);
    steps.next();
    subscriber.receive(delta);
    // A publisher that began again, as the answer that is believed: the first generation is back.
    const answer = { ...full, question: questionOf(subscriber.request()) };
    expect(subscriber.receive(writeSyncMessage(answer, 2))).toMatchObject({ verdict: 'taken' });
    expect(subscriber.generation).toEqual(full.generation);
    expect(finishSteps(steps)).toMatchObject({ verdict: 'taken', status: 'current' });
    expect(subscriber.size).toBe(publisher.size);
  });

  test('an iterator goes on over changes, and what came behind it was told', () => {
    const publisher = publisherOf(5000);
    const told = new Set<number>();
    const onChange = (change: PositionChange) => {
      if (change.kind === 'changed') for (const position of change.added) told.add(position);
    };
    const subscriber = new SetSubscriber({ maxPositions: 1e6, onChange });
    subscriber.receive(publisher.full());
    const seen = new Set<number>();
    let count = 0;
    for (const position of subscriber.positions()) {
      seen.add(position);
      if (++count % 100 !== 0) continue;
      for (const hash of hashes(5000 + count, 5010 + count)) publisher.addHash(hash);
      for (const hash of hashes(count - 100, count - 90)) publisher.deleteHash(hash);
      subscriber.receive(publisher.publish()!);
    }
    for (const position of subscriber.positions())
      expect(seen.has(position) || told.has(position)).toBe(true);
  });
});
