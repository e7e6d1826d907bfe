import { describe, expect, test } from 'vitest';
import { SecretKey } from '../../hashing/secret-key.ts';
import { hashKey, type KeyHash } from '../../kernel/batches/hash-key.ts';
import { positionOf } from '../sets/positions.ts';
import { decodeSet } from '../sets/set-code.ts';
import { finishSteps, type Steps } from '../sets/steps.ts';
import { SetPublisher, type SetPublisherOptions } from './set-publisher.ts';
import { SetSubscriber } from './set-subscriber.ts';
import {
  type DeltaMessage,
  type FullMessage,
  type Generation,
  questionOf,
  readSyncMessage,
  writeSyncMessage,
} from './sync-message.ts';

const UNIVERSE = 2 ** 20;

function publisherOf(count: number, options: Partial<SetPublisherOptions> = {}): SetPublisher {
  const publisher = new SetPublisher({ incarnation: 1, universe: UNIVERSE, ...options });
  publisher.resize(publisher.universe, hashes(0, count));
  return publisher;
}

function hashes(from: number, to: number): KeyHash[] {
  return Array.from({ length: to - from }, (_, i) => hashKey(from + i));
}

function request(held?: Generation): Uint8Array {
  return writeSyncMessage({ type: 'request', publisherId: 0n, held, heard: undefined }, 2);
}

function read(message: Uint8Array | null) {
  return message === null ? null : readSyncMessage(message, 2);
}

/** The positions of a full state. */
function positionsIn(message: Uint8Array): number[] {
  return [...finishSteps(decodeSet((read(message) as FullMessage).frame, 1e6)).positions];
}

function positionsOf(all: readonly KeyHash[], universe = UNIVERSE): number[] {
  return [...new Set(all.map((hash) => positionOf(hash, universe)))].sort((a, b) => a - b);
}

/** Epochs, then sequences. */
function orderOf(message: Uint8Array): number {
  const { generation } = read(message) as DeltaMessage;
  return Number(generation.epoch) * 100 + generation.sequence;
}

/** Runs steps, and calls `between` after each of them. */
function withPauses<T>(steps: Steps<T>, between: () => void): T {
  let step = steps.next();
  for (; !step.done; step = steps.next()) between();
  return step.value;
}

test('a delta of 1 % of 100,000 keys at 1.08 % takes less than 2.95 kB, of 5 % less than 11.5', () => {
  for (const [share, most] of [
    [0.01, 2950],
    [0.05, 11_500],
  ]) {
    const count = 100_000;
    const publisher = publisherOf(count, { universe: Math.round(count / 0.0108) });
    const subscriber = new SetSubscriber({ maxPositions: 2 * count });
    subscriber.receive(publisher.full());
    for (const hash of hashes(0, share * count)) publisher.deleteHash(hash);
    for (const hash of hashes(count, count + share * count)) publisher.addHash(hash);
    const message = publisher.publish()!;
    expect(message.length).toBeLessThan(most);
    expect(subscriber.receive(message)).toMatchObject({ verdict: 'taken', status: 'current' });
    expect([...subscriber.positions()]).toEqual(
      positionsOf(hashes(share * count, count + share * count), publisher.universe),
    );
  }
});

describe('SetPublisher', () => {
  test('closes a generation with the changes, and has nothing to publish without', () => {
    const publisher = publisherOf(1000);
    const { epoch } = publisher.generation;
    expect(publisher.publish()).toBe(null);
    publisher.addHash(hashKey('there and back'));
    publisher.deleteHash(hashKey('there and back'));
    expect(publisher.publish()).toBe(null);
    publisher.addHash(hashKey('new'));
    expect(publisher.changedCount()).toBe(1);
    const delta = read(publisher.publish()) as DeltaMessage;
    expect(delta).toMatchObject({ type: 'delta', base: 0, generation: { epoch, sequence: 1 } });
    expect(publisher.generation).toEqual(delta.generation);
    expect(publisher.changedCount()).toBe(0);
  });

  test('gives the full state without changes that are not published', () => {
    const publisher = publisherOf(1000);
    publisher.addHash(hashKey('not yet'));
    publisher.deleteHash(hashKey(0));
    expect(positionsIn(publisher.full())).toEqual(positionsOf(hashes(0, 1000)));
    const asked = request();
    expect(read(publisher.answer(asked))).toMatchObject({ type: 'full', question: questionOf(asked) });
    expect(publisher.size).toBe(positionsOf(hashes(0, 1000)).length);
  });

  test('publishes additions before deletions', () => {
    const publisher = publisherOf(1000);
    publisher.addHash(hashKey(1000));
    publisher.deleteHash(hashKey(0));
    publisher.publish({ additionsOnly: true });
    expect(positionsIn(publisher.full())).toEqual(positionsOf(hashes(0, 1001)));
    expect(publisher.changedCount()).toBe(1);
    expect(publisher.publish({ additionsOnly: true })).toBe(null);
    publisher.publish();
    expect(positionsIn(publisher.full())).toEqual(positionsOf(hashes(1, 1001)));
  });

  test('keeps a position until the last key that has it is deleted', () => {
    const publisher = new SetPublisher({ incarnation: 1, universe: 2 });
    for (const hash of hashes(0, 50)) publisher.addHash(hash);
    publisher.publish();
    for (const hash of hashes(1, 50)) publisher.deleteHash(hash);
    publisher.publish();
    expect(positionsIn(publisher.full())).toEqual(positionsOf(hashes(0, 1), 2));
  });

  test('answers a subscriber that missed generations with one merged delta', () => {
    const publisher = publisherOf(2000);
    const subscriber = new SetSubscriber({ maxPositions: 1e6 });
    subscriber.receive(publisher.full());
    for (let round = 0; round < 30; round++) {
      for (const hash of hashes(50 * round, 50 * round + 50)) publisher.deleteHash(hash);
      for (const hash of hashes(2000 + 50 * round, 2050 + 50 * round)) publisher.addHash(hash);
      // Comes back: in a merged delta it is in neither list.
      publisher[round % 2 === 0 ? 'addHash' : 'deleteHash'](hashKey('now and then'));
      publisher.publish();
      if (round % 10 !== 9) continue;
      const { verdict, reply } = subscriber.receive(publisher.heartbeat());
      expect(verdict).toBe('missing');
      const answer = publisher.answer(reply!)!;
      expect(read(answer)).toMatchObject({ type: 'delta', base: subscriber.generation!.sequence });
      expect(subscriber.receive(answer)).toMatchObject({ verdict: 'taken', status: 'current' });
    }
    expect([...subscriber.positions()]).toEqual(positionsIn(publisher.full()));
    expect(read(publisher.answer(subscriber.request()))).toMatchObject({ type: 'heartbeat' });
  });

  test('answers with the full state where the history does not reach', () => {
    const publisher = publisherOf(2000, { historyGenerations: 2 });
    const first = publisher.generation;
    for (let round = 0; round < 3; round++) {
      publisher.addHash(hashKey(`more ${round}`));
      publisher.publish();
    }
    expect(publisher.historyLength).toBe(2);
    expect(read(publisher.answer(request(first)))).toMatchObject({ type: 'full' });
    expect(read(publisher.answer(request({ ...first, sequence: 1 })))).toMatchObject({ type: 'full' });
    expect(publisher.answer(Uint8Array.of(1, 2, 3))).toBe(null);
    expect(publisher.answer(publisher.heartbeat())).toBe(null);
    // A request of version 1 is none of this session.
    expect(
      publisher.answer(
        writeSyncMessage({ type: 'request', publisherId: 0n, held: undefined, heard: undefined }),
      ),
    ).toBe(null);
  });

  test('sends the full state where that is smaller than the changes', () => {
    const publisher = publisherOf(3000);
    for (const hash of hashes(0, 2990)) publisher.deleteHash(hash);
    expect(read(publisher.publish())).toMatchObject({ type: 'full' });
  });

  test('begins a new epoch in a wider universe', () => {
    const publisher = publisherOf(5000, { universe: 4096 });
    const before = publisher.generation;
    const message = publisher.resize(2 ** 40, hashes(0, 5000));
    expect(read(message)).toMatchObject({
      type: 'full',
      generation: { epoch: before.epoch + 1n, sequence: 0 },
    });
    expect(publisher.size).toBe(5000);
    for (const hash of hashes(0, 5000)) expect(publisher.deleteHash(hash)).toBe(true);
    expect(publisher.size).toBe(0);
  });

  test('refuses hashes of another scheme, if it was told which', () => {
    const key = new SecretKey(new Uint8Array(16).fill(7));
    const { scheme } = hashKey('any', { key });
    const publisher = new SetPublisher({ incarnation: 1, universe: UNIVERSE, scheme });
    expect(publisher.addHash(hashKey('a', { key }))).toBe(true);
    expect(() => publisher.addHash(hashKey('a'))).toThrow(RangeError);
    expect(() => publisher.resize(UNIVERSE, [hashKey('a')])).toThrow(RangeError);
  });

  test('refuses options that it cannot use', () => {
    const options = { incarnation: 1, universe: UNIVERSE };
    for (const wrong of [
      { universe: 0 },
      { universe: 2 ** 48 + 1 },
      { keyId: -1 },
      { keyId: 2 ** 32 },
      { incarnation: -1 },
    ]) {
      expect(() => new SetPublisher({ ...options, ...wrong })).toThrow(RangeError);
    }
    const misspelt = { ...options, univers: 5 };
    expect(() => new SetPublisher(misspelt)).toThrow(TypeError);
  });
});

describe('SetPublisher in steps', () => {
  test('gives way in full states, and other generations may be closed meanwhile', () => {
    const publisher = publisherOf(19_999);
    publisher.addHash(hashKey(19_999));
    publisher.publish();
    const generation = publisher.generation;
    let pauses = 0;
    const message = withPauses(publisher.fullInSteps(), () => {
      publisher.addHash(hashKey(`meanwhile ${pauses++}`));
      publisher.publish();
    });
    expect(pauses).toBeGreaterThan(3);
    expect(read(message)).toMatchObject({ type: 'full', generation });
    expect(positionsIn(message)).toEqual(positionsOf(hashes(0, 20_000)));
    const later = Array.from({ length: pauses }, (_, i) => hashKey(`meanwhile ${i}`));
    expect(positionsIn(publisher.full())).toEqual(positionsOf([...hashes(0, 20_000), ...later]));
  });

  test('publishes the changes up to the beginning, whatever comes meanwhile', () => {
    const publisher = publisherOf(30_000);
    const subscriber = new SetSubscriber({ maxPositions: 1e6 });
    subscriber.receive(publisher.full());
    for (const hash of hashes(0, 9000)) publisher.deleteHash(hash);
    for (const hash of hashes(30_000, 39_000)) publisher.addHash(hash);
    let next = 0;
    const message = withPauses(publisher.publishInSteps(), () => {
      publisher.addHash(hashKey(next)); // back again
      publisher.deleteHash(hashKey(30_000 + next++)); // and gone again
    });
    expect(next).toBeGreaterThan(3);
    subscriber.receive(message!);
    expect([...subscriber.positions()]).toEqual(positionsOf(hashes(9000, 39_000)));
    subscriber.receive(publisher.publish()!);
    const now = [...hashes(0, next), ...hashes(9000, 30_000), ...hashes(30_000 + next, 39_000)];
    expect([...subscriber.positions()]).toEqual(positionsOf(now));
  });

  test('closes a generation for other calls that come while it is being closed', () => {
    for (const call of ['publish', 'full', 'answer', 'resize'] as const) {
      let isDone = false;
      for (let made = 1; !isDone; made++) {
        const publisher = publisherOf(1000);
        const subscriber = new SetSubscriber({ maxPositions: 1e6 });
        subscriber.receive(publisher.full());
        for (const hash of hashes(0, 625)) publisher.deleteHash(hash);
        for (const hash of hashes(1000, 1625)) publisher.addHash(hash);
        const steps = publisher.publishInSteps();
        for (let i = 0; i < made && !isDone; i++) isDone = steps.next().done === true;
        publisher.addHash(hashKey('later'));
        const now = [...hashes(625, 1625), hashKey('later')];
        const said =
          call === 'publish'
            ? publisher.publish()
            : call === 'full'
              ? publisher.full()
              : call === 'answer'
                ? publisher.answer(request())
                : publisher.resize(2 ** 40, now);
        const delta = isDone ? null : finishSteps(steps);
        // The order in which both were closed is told by their names.
        const messages = [said, delta].filter((message) => message !== null);
        messages.sort((a, b) => orderOf(a!) - orderOf(b!));
        for (const message of messages) subscriber.receive(message!);
        const { reply } = subscriber.receive(publisher.publish() ?? publisher.heartbeat());
        if (reply !== undefined) subscriber.receive(publisher.answer(reply)!);
        expect(subscriber.status).toBe('current');
        expect([...subscriber.positions()]).toEqual(positionsOf(now, publisher.universe));
      }
    }
  });

  test('publishes again from the beginning if another publication came in between', () => {
    const publisher = publisherOf(30_000);
    const subscriber = new SetSubscriber({ maxPositions: 1e6 });
    subscriber.receive(publisher.full());
    for (const hash of hashes(0, 9000)) publisher.deleteHash(hash);
    let isFirst = true;
    const message = withPauses(publisher.publishInSteps(), () => {
      if (!isFirst) return;
      isFirst = false;
      for (const hash of hashes(30_000, 30_100)) publisher.addHash(hash);
      subscriber.receive(publisher.publish({ additionsOnly: true })!);
    });
    expect(subscriber.receive(message!)).toMatchObject({ verdict: 'taken', status: 'current' });
    expect([...subscriber.positions()]).toEqual(positionsOf(hashes(9000, 30_100)));
  });

  test('resizes while keys come and go, whether or not the iterator sees them', () => {
    const publisher = publisherOf(20_000);
    const live = new Map(hashes(0, 20_000).map((hash, i) => [i, hash]));
    let next = 20_000;
    const message = withPauses(publisher.resizeInSteps(2 ** 40, live.values()), () => {
      for (const gone of [next - 20_000, 19_999 - (next - 20_000)]) {
        publisher.deleteHash(live.get(gone)!); // one that was visited, one that was not
        live.delete(gone);
      }
      live.set(next, hashKey(next));
      publisher.addHash(hashKey(next++));
      publisher.publish();
    });
    expect(next).toBeGreaterThan(20_003);
    expect(read(message)).toMatchObject({ type: 'full', generation: { sequence: 0 } });
    expect(positionsIn(publisher.full())).toEqual(positionsOf([...live.values()], 2 ** 40));
    expect(publisher.size).toBe(live.size);
    for (const hash of live.values()) expect(publisher.deleteHash(hash)).toBe(true);
  });

  test('gives up a resize when another one begins', () => {
    const publisher = publisherOf(10_000);
    const first = publisher.resizeInSteps(2 ** 30, hashes(0, 10_000));
    first.next();
    publisher.resize(2 ** 40, hashes(0, 10_000));
    expect(() => finishSteps(first)).toThrow('Cannot resize');
    expect(publisher.universe).toBe(2 ** 40);
  });
});

test('publish() with mostBytes makes several deltas within it, each of which can be applied alone', () => {
  const publisher = publisherOf(100_000, { universe: 9_260_000 });
  const subscriber = new SetSubscriber({ maxPositions: 1e6 });
  subscriber.receive(publisher.full());
  const before = publisher.generation;
  for (const hash of hashes(0, 1000)) publisher.deleteHash(hash);
  for (const hash of hashes(100_000, 101_000)) publisher.addHash(hash);
  const pieces: number[] = [];
  for (;;) {
    const message = publisher.publish({ mostBytes: 1300 });
    if (message === null) break;
    expect(read(message)?.type).toBe('delta');
    expect(subscriber.receive(message)).toMatchObject({ verdict: 'taken', status: 'current' });
    expect(subscriber.generation).toEqual(publisher.generation);
    pieces.push(message.length);
  }
  expect(publisher.changedCount()).toBe(0);
  expect(Math.max(...pieces)).toBeLessThanOrEqual(1300);
  expect(pieces).toEqual([1093, 1142, 991]);
  // All changes in one delta, from the state before.
  const whole = publisher.answer(request(before))!;
  expect(whole.length).toBe(2868);
});

test('publish() with mostBytes leaves a subscriber that missed a piece to ask for the rest', () => {
  const publisher = publisherOf(5000);
  const subscriber = new SetSubscriber({ maxPositions: 1e6 });
  subscriber.receive(publisher.full());
  for (const hash of hashes(5000, 7000)) publisher.addHash(hash);
  const pieces: Uint8Array[] = [];
  for (
    let piece = publisher.publish({ mostBytes: 400 });
    piece !== null;
    piece = publisher.publish({ mostBytes: 400 })
  )
    pieces.push(piece);
  for (const [i, piece] of pieces.entries()) if (i !== 2) subscriber.receive(piece);
  expect(subscriber.current).toBe(false);
  subscriber.receive(publisher.answer(subscriber.request())!);
  expect(subscriber.generation).toEqual(publisher.generation);
});
