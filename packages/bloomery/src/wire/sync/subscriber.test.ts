import { withEffort } from '@bloomery/testkit/effort';
import { Random } from '@bloomery/testkit/statistics';
import { describe, expect, it } from 'vitest';
import { inBothKernels } from '../../../test/contracts/subject.ts';
import { BlockedBloomFilter } from '../../filters/blocked-bloom-filter.ts';
import { BloomFilter } from '../../filters/bloom-filter.ts';
import {
  CountingBloomFilter,
  type CountingFilterOptions,
} from '../../filters/counting/counting-bloom-filter.ts';
import { writeChecksum } from '../../frames/envelope.ts';
import { SecretKey } from '../../hashing/secret-key.ts';
import { hashKey } from '../../kernel/batches/hash-key.ts';
import { hashKeys } from '../../kernel/batches/hash-keys.ts';
import { packKeys } from '../../keys/packed-keys.ts';
import { compressFrame } from '../coding/compressed-frame.ts';
import { frameSum } from '../coding/snapshot.ts';
import type { SyncVerdict } from './follower.ts';
import { Publisher } from './publisher.ts';
import { Subscriber } from './subscriber.ts';
import { type Generation, readSyncMessage, type SyncMessage, writeSyncMessage } from './sync-message.ts';

const KEYS = Array.from({ length: 60 }, (_, i) => `key-${i}`);

function publisherOf(incarnation = 1, keys = KEYS, options: Partial<CountingFilterOptions> = {}): Publisher {
  const filter = new CountingBloomFilter({ counters: 2000, hashes: 3, trackChanges: true, ...options });
  filter.addMany(keys);
  return new Publisher({ filter, incarnation });
}

/** A subscriber that holds the publisher's last generation. */
function currentOf(publisher: Publisher): Subscriber {
  const subscriber = new Subscriber();
  expect(subscriber.receive(publisher.full())).toEqual({
    verdict: 'taken',
    status: 'current',
    changed: true,
  });
  return subscriber;
}

function publishing(publisher: Publisher, key: string): Uint8Array {
  publisher.add(key);
  return publisher.publish()!;
}

function heartbeatAfter(publisher: Publisher, key: string): Uint8Array {
  publishing(publisher, key);
  return publisher.heartbeat();
}

/** Effect of a message, in one string: verdict, status, and whether something is asked. */
function effect(subscriber: Subscriber, message: Uint8Array | null | undefined): string {
  const { verdict, status, reply } = subscriber.receive(message!);
  if (reply !== undefined) expect(reply).toEqual(subscriber.request());
  return `${verdict}, ${status}${reply === undefined ? '' : ', asks'}`;
}

function expectSame(subscriber: Subscriber, publisher: Publisher): void {
  expect(subscriber.status).toBe('current');
  expect(subscriber.generation).toEqual(publisher.generation);
  expect(subscriber.summary!.equals(publisher.filter.snapshot())).toBe(true);
}

/** The message with other contents, and a right checksum. */
function forged<T extends SyncMessage>(message: Uint8Array, change: (message: T) => object): Uint8Array {
  const read = readSyncMessage(message) as T;
  return writeSyncMessage({ ...read, ...change(read) });
}

inBothKernels('a subscriber', () => {
  it('answers "maybe" to everything until it is current', () => {
    const publisher = publisherOf();
    const subscriber = new Subscriber();
    const absent = ['absent-1', 'absent-2', 'absent-3'];
    const maybe = () => {
      expect(subscriber.has('absent-1')).toBe(true);
      expect(subscriber.hasHash(hashKey('absent-1'))).toBe(true);
      expect(subscriber.hasHash(hashKey('absent-1', { seed: 5 }))).toBe(true);
      for (const batch of [
        absent,
        new Set(absent),
        packKeys(absent),
        hashKeys(absent),
        hashKeys(absent, { seed: 5 }),
        { lines: Uint8Array.from('absent-1\nabsent-2\nabsent-3\n', (letter) => letter.charCodeAt(0)) },
      ]) {
        expect([...subscriber.hasMany(batch)]).toEqual([1, 1, 1]);
      }
      expect(subscriber.hasMany([])).toHaveLength(0);
    };
    expect([subscriber.status, subscriber.generation, subscriber.summary]).toEqual([
      'empty',
      undefined,
      undefined,
    ]);
    maybe();
    expect(effect(subscriber, publisher.answer(subscriber.request()))).toBe('taken, current');
    expectSame(subscriber, publisher);
    expect([...subscriber.hasMany(absent)]).toEqual([0, 0, 0]);
    expect([subscriber.has('absent-1'), subscriber.hasHash(hashKey('absent-1'))]).toEqual([false, false]);
    expect(subscriber.hasMany(KEYS).every((answer) => answer === 1)).toBe(true);
    publishing(publisher, 'x');
    expect(effect(subscriber, publisher.heartbeat())).toBe('missing, behind, asks');
    maybe();
    expect(subscriber.summary!.has('absent-1')).toBe(false); // the old one, for those who want it
  });

  it('follows delta after delta', () => {
    const publisher = publisherOf();
    const subscriber = currentOf(publisher);
    for (let i = 0; i < 50; i++) {
      publisher.add(`more-${i}`);
      if (i > 2) publisher.delete(`more-${i - 3}`);
      const before = subscriber.summary;
      const outcome = subscriber.receive(publisher.publish()!);
      expect(outcome).toEqual({ verdict: 'taken', status: 'current', changed: true });
      expect(subscriber.summary).not.toBe(before);
      expectSame(subscriber, publisher);
    }
  });

  it('passes over what it has, and asks about an old heartbeat only', () => {
    const publisher = publisherOf();
    const full = publisher.full();
    const beat = publisher.heartbeat();
    const subscriber = currentOf(publisher);
    const first = publishing(publisher, 'a');
    const second = publishing(publisher, 'b');
    expect(effect(subscriber, first)).toBe('taken, current');
    expect(effect(subscriber, second)).toBe('taken, current');
    expect(effect(subscriber, second)).toBe('confirmed, current');
    expect(effect(subscriber, publisher.heartbeat())).toBe('confirmed, current');
    expect(effect(subscriber, first)).toBe('old, current');
    expect(effect(subscriber, full)).toBe('old, current');
    expect(effect(subscriber, beat)).toBe('old, current, asks');
    expect(effect(subscriber, publisher.answer(subscriber.request()))).toBe('confirmed, current');
    expectSame(subscriber, publisher);
  });

  it('asks for what it missed, and gets it in one message', () => {
    const publisher = publisherOf();
    const subscriber = currentOf(publisher);
    publishing(publisher, 'a');
    const second = publishing(publisher, 'b');
    const outcome = subscriber.receive(second);
    expect(outcome).toMatchObject({ verdict: 'missing', status: 'behind', changed: false });
    const answer = publisher.answer(outcome.reply!)!;
    expect(readSyncMessage(answer)).toMatchObject({ type: 'delta', base: 0, generation: { sequence: 2 } });
    expect(effect(subscriber, answer)).toBe('taken, current');
    expectSame(subscriber, publisher);
    expect(effect(subscriber, answer)).toBe('confirmed, current');
  });

  it('stays behind while what it has heard of is not there', () => {
    const publisher = publisherOf();
    const subscriber = currentOf(publisher);
    const [one, two, three] = ['a', 'b', 'c'].map((key) => publishing(publisher, key));
    expect(effect(subscriber, three)).toBe('missing, behind, asks');
    const late = publisher.answer(subscriber.request());
    expect(effect(subscriber, one)).toBe('taken, behind, asks'); // progress, and not yet there
    expect(effect(subscriber, one)).toBe('old, behind, asks');
    // An answer of no use leads to no further question.
    expect(effect(subscriber, late)).toBe('missing, behind');
    expect(effect(subscriber, two)).toBe('taken, behind, asks');
    expect(effect(subscriber, three)).toBe('taken, current');
    expectSame(subscriber, publisher);
  });

  it('asks on after a late answer that brought it on, and is not enough', () => {
    const publisher = publisherOf();
    const subscriber = currentOf(publisher);
    const asked = subscriber.request();
    publishing(publisher, 'a');
    const late = publisher.answer(asked);
    publishing(publisher, 'b');
    expect(effect(subscriber, publisher.heartbeat())).toBe('missing, behind, asks');
    expect(effect(subscriber, late)).toBe('taken, behind, asks');
    expect(effect(subscriber, publisher.answer(subscriber.request()))).toBe('taken, current');
    expectSame(subscriber, publisher);
  });

  it('takes a later epoch at once, and asks about an earlier one', () => {
    const publisher = publisherOf();
    const subscriber = currentOf(publisher);
    const old = [publishing(publisher, 'a'), publisher.full(), publisher.heartbeat()];
    const other = new CountingBloomFilter({ counters: 5000, hashes: 5, seed: 3, trackChanges: true });
    other.addMany(['p', 'q']);
    expect(effect(subscriber, publisher.replace(other))).toBe('taken, current');
    expectSame(subscriber, publisher);
    expect(() => subscriber.hasHash(hashKey('p'))).toThrow(
      'Cannot use a hash: expected one by filter.scheme',
    );
    for (const message of old) expect(effect(subscriber, message)).toBe('old, current, asks');
    expectSame(subscriber, publisher);
  });

  it('follows a publisher that lost its counter and began again below', () => {
    const before = publisherOf(9);
    const subscriber = currentOf(before);
    const after = publisherOf(2, ['other', 'keys']);
    expect(effect(subscriber, after.full())).toBe('old, current, asks');
    expect(effect(subscriber, after.heartbeat())).toBe('old, current, asks');
    const answer = after.answer(subscriber.request());
    expect(effect(subscriber, answer)).toBe('taken, current');
    expectSame(subscriber, after);
    // The last words of the earlier life are above, so they count: it asks, and is put right.
    expect(effect(subscriber, before.heartbeat())).toBe('missing, behind, asks');
    expect(effect(subscriber, after.answer(subscriber.request()))).toBe('confirmed, current');
    expectSame(subscriber, after);
  });

  it('finds out a publisher that uses names again', () => {
    const before = publisherOf(1);
    for (const key of ['a', 'b', 'c']) publishing(before, key);
    const kinds: [string, (again: Publisher) => Uint8Array, string][] = [
      ['the same name', (again) => again.heartbeat(), 'conflict, empty, asks'],
      ['a full state of the same name', (again) => again.full(), 'conflict, empty, asks'],
      ['a later name', (again) => heartbeatAfter(again, 'z'), 'missing, behind, asks'],
      ['a delta from the same name', (again) => publishing(again, 'z'), 'conflict, empty, asks'],
    ];
    for (const [what, messageOf, expected] of kinds) {
      const again = publisherOf(1, ['other']);
      for (const key of ['d', 'e', 'f']) publishing(again, key);
      const subscriber = currentOf(before);
      expect(effect(subscriber, messageOf(again)), what).toBe(expected);
      expect(effect(subscriber, again.answer(subscriber.request())), what).toBe('taken, current');
      expectSame(subscriber, again);
    }
    // Below the name that it holds: a heartbeat makes it ask.
    const below = publisherOf(1, ['other']);
    const subscriber = currentOf(before);
    expect(effect(subscriber, below.heartbeat())).toBe('old, current, asks');
    expect(effect(subscriber, below.answer(subscriber.request()))).toBe('taken, current');
    expectSame(subscriber, below);
    // The same name for a summary of another size.
    const sized = publisherOf(1, KEYS, { counters: 3000 });
    const small = currentOf(publisherOf(1));
    expect(effect(small, publishing(sized, 'z'))).toBe('conflict, empty, asks');
    // Asked by name, the publisher says it by an answer: no detour.
    const again = publisherOf(1, ['other']);
    const asking = currentOf(publisherOf(1));
    expect(effect(asking, again.answer(asking.request()))).toBe('taken, current');
    expectSame(asking, again);
  });

  it('is not current with what it knows to be wrong, though it cannot read what is right', () => {
    // The name of what it holds, for a summary that is too large here, or keyed: the answer is of
    // no use, and proves enough.
    const key = new SecretKey(new Uint8Array(16));
    for (const [options, problem] of [
      [{ counters: 9000 }, 'limit'],
      [{ key }, 'key'],
    ] as const) {
      const subscriber = new Subscriber({ maxBytes: 300 });
      subscriber.receive(publisherOf(1).full());
      const again = publisherOf(1, ['other'], options);
      const answer = again.answer(subscriber.request())!;
      expect(subscriber.receive(answer)).toEqual({
        verdict: 'unreadable',
        status: 'empty',
        changed: true,
        problem,
      });
      expect(subscriber.has('other')).toBe(true);
    }
  });

  it('is not current with other bits than those that were announced under the name', () => {
    const before = publisherOf(1);
    const again = publisherOf(1, ['other']);
    const subscriber = currentOf(before);
    const late = publishing(before, 'a');
    publishing(again, 'b');
    expect(effect(subscriber, again.heartbeat())).toBe('missing, behind, asks');
    // The name is right, but the sum is not.
    expect(effect(subscriber, late)).toBe('taken, behind, asks');
    expect(subscriber.has('b')).toBe(true);
    expect(effect(subscriber, before.heartbeat())).toBe('old, behind, asks');
    expect(effect(subscriber, again.answer(subscriber.request()))).toBe('taken, current');
    expectSame(subscriber, again);
  });

  it('renames what it holds when the bits are the same', () => {
    const publisher = publisherOf(1);
    const subscriber = currentOf(publisher);
    const restarted = publisherOf(2); // with the same keys
    const { summary } = subscriber;
    const outcome = subscriber.receive(restarted.heartbeat());
    expect(outcome).toEqual({ verdict: 'taken', status: 'current', changed: false });
    expect(subscriber.summary).toBe(summary);
    expectSame(subscriber, restarted);
    // The bits come back within an epoch.
    publishing(restarted, 'a');
    restarted.delete('a');
    restarted.publish();
    expect(effect(subscriber, restarted.heartbeat())).toBe('taken, current');
    expect(subscriber.generation!.sequence).toBe(2);
    // Below, only an answer does it.
    const below = publisherOf(1);
    expect(effect(subscriber, below.heartbeat())).toBe('old, current, asks');
    const answer = below.answer(subscriber.request())!;
    expect(readSyncMessage(answer).type).toBe('heartbeat');
    expect(effect(subscriber, answer)).toBe('taken, current');
    expectSame(subscriber, below);
  });

  it('gets over a name that no publisher gave', () => {
    const publisher = publisherOf();
    const subscriber = currentOf(publisher);
    const bogus = forged<SyncMessage & { generation: Generation }>(
      publisher.heartbeat(),
      ({ generation }) => ({
        generation: { ...generation, epoch: 2n ** 64n - 1n, sequence: 2 ** 53 - 1 },
      }),
    );
    // The same bits under that name: taken, and put right by the first heartbeat.
    expect(effect(subscriber, bogus)).toBe('taken, current');
    expect(effect(subscriber, publisher.heartbeat())).toBe('old, current, asks');
    expect(effect(subscriber, publisher.answer(subscriber.request()))).toBe('taken, current');
    expectSame(subscriber, publisher);
    // Other bits: behind, until an answer says that there is nothing.
    const worse = forged<SyncMessage & { generation: Generation }>(
      publisher.heartbeat(),
      ({ generation }) => ({
        generation: { ...generation, sequence: 2 ** 53 - 1, sum: 5n },
      }),
    );
    expect(effect(subscriber, worse)).toBe('missing, behind, asks');
    expect(effect(subscriber, publisher.heartbeat())).toBe('old, behind, asks');
    expect(effect(subscriber, publisher.answer(subscriber.request()))).toBe('confirmed, current');
    expectSame(subscriber, publisher);
  });

  it('does not believe an answer to an earlier question', () => {
    const publisher = publisherOf();
    const subscriber = currentOf(publisher);
    const nothingNew = publisher.answer(subscriber.request());
    publishing(publisher, 'a');
    expect(effect(subscriber, publisher.heartbeat())).toBe('missing, behind, asks');
    expect(effect(subscriber, nothingNew)).toBe('old, behind');
    expect(effect(subscriber, publisher.answer(subscriber.request()))).toBe('taken, current');
    expect(effect(subscriber, nothingNew)).toBe('old, current');
    expectSame(subscriber, publisher);
  });

  it('does not go on asking a publisher whose answers bring nothing', () => {
    const publisher = publisherOf();
    const subscriber = currentOf(publisher);
    publishing(publisher, 'a');
    const strange = (request: Uint8Array) =>
      forged(publisher.heartbeat(), () => ({
        question: new DataView(request.buffer).getUint32(request.length - 4, true),
      }));
    expect(effect(subscriber, strange(subscriber.request()))).toBe('missing, behind');
    expect(effect(subscriber, strange(subscriber.request()))).toBe('missing, behind');
    // Nor does an answer below what is held make it current.
    const below = publisherOf(0, ['other']);
    const { length } = subscriber.request();
    const question = new DataView(subscriber.request().buffer).getUint32(length - 4, true);
    expect(
      effect(
        subscriber,
        forged(below.heartbeat(), () => ({ question })),
      ),
    ).toBe('missing, behind');
  });

  it('drops a summary that was tampered with as soon as a delta shows it', () => {
    const publisher = publisherOf();
    const subscriber = currentOf(publisher);
    subscriber.summary!.add('not the publisher’s');
    const outcome = subscriber.receive(publishing(publisher, 'a'));
    expect(outcome).toMatchObject({ verdict: 'conflict', status: 'empty', changed: true });
    expect(readSyncMessage(outcome.reply!)).toMatchObject({ held: undefined });
    expect(effect(subscriber, publisher.answer(outcome.reply!))).toBe('taken, current');
    expectSame(subscriber, publisher);
  });

  it('keeps to its publisher', () => {
    const filter = new CountingBloomFilter({ counters: 2000, hashes: 3, trackChanges: true });
    const other = new Publisher({ filter, incarnation: 500, publisherId: 7 });
    const publisher = publisherOf();
    const subscriber = currentOf(publisher);
    for (const message of [other.full(), other.heartbeat(), publishing(other, 'a'), subscriber.request()]) {
      expect(effect(subscriber, message)).toBe('foreign, current');
    }
    expect(effect(new Subscriber({ publisherId: 7n }), other.full())).toBe('taken, current');
    expect(other.answer(subscriber.request())).toBe(null);
  });

  it('keeps to its limit, and does not ask again for what is beyond it', () => {
    const publisher = publisherOf();
    const subscriber = new Subscriber({ maxBytes: 249 });
    const outcome = { verdict: 'unreadable', status: 'empty', changed: false, problem: 'limit' };
    expect(subscriber.receive(publisher.full())).toEqual(outcome);
    const plain = forged(publisher.full(), () => ({ frame: publisher.filter.snapshot().encode() }));
    expect(subscriber.receive(plain)).toEqual(outcome);
    const enough = new Subscriber({ maxBytes: 250 });
    expect(effect(enough, publisher.full())).toBe('taken, current');
    // A few bytes that stand for 8 GiB; and it stays at what it holds, knowing that there is more.
    const large = new Uint8Array(33);
    large.set(publisher.filter.snapshot().encode().subarray(0, 28));
    large.set([128], 6);
    large.set([0, 0, 0, 0, 16], 16);
    large.set([1], 28);
    const frame = forged<SyncMessage & { generation: Generation }>(publisher.full(), ({ generation }) => ({
      frame: large,
      generation: { ...generation, sequence: 1, sum: 1n },
    }));
    expect(enough.receive(frame)).toEqual({ ...outcome, status: 'behind' });
    expect(effect(enough, publisher.answer(enough.request()))).toBe('confirmed, current');
  });

  it('needs the key of a keyed summary', () => {
    const key = new SecretKey(Uint8Array.from({ length: 16 }, (_, i) => i));
    const publisher = publisherOf(1, KEYS, { key });
    expect(new Subscriber().receive(publisher.full())).toMatchObject({
      verdict: 'unreadable',
      problem: 'key',
    });
    const wrong = new SecretKey(new Uint8Array(16));
    expect(new Subscriber({ key: wrong }).receive(publisher.full())).toMatchObject({ problem: 'key' });
    const subscriber = new Subscriber({ key });
    expect(effect(subscriber, publisher.full())).toBe('taken, current');
    expect(effect(subscriber, publishing(publisher, 'a'))).toBe('taken, current');
    expectSame(subscriber, publisher);
    expect([subscriber.has('a'), subscriber.has('absent')]).toEqual([true, false]);
  });

  it('takes a plain frame as well, and no other structure', () => {
    const publisher = publisherOf();
    const plain = publisher.filter.snapshot().encode();
    expect(
      effect(
        new Subscriber(),
        forged(publisher.full(), () => ({ frame: plain })),
      ),
    ).toBe('taken, current');
    const blocked = new BlockedBloomFilter({ blocks: 4, hashes: 4 }).encode();
    for (const frame of [blocked, compressFrame(blocked), compressFrame(publisher.filter.encode())]) {
      const outcome = new Subscriber().receive(forged(publisher.full(), () => ({ frame })));
      expect(outcome).toEqual({
        verdict: 'unreadable',
        status: 'empty',
        changed: false,
        problem: 'structure',
      });
    }
    // Cut short before it was sent, not on its way: it would come again.
    expect(
      new Subscriber().receive(forged(publisher.full(), () => ({ frame: plain.subarray(0, 100) }))),
    ).toEqual({ verdict: 'unreadable', status: 'empty', changed: false, problem: 'truncated' });
    const damaged = plain.slice();
    damaged[50] ^= 1;
    expect(new Subscriber().receive(forged(publisher.full(), () => ({ frame: damaged })))).toEqual({
      verdict: 'unreadable',
      status: 'empty',
      changed: false,
      problem: 'checksum',
    });
    // A sound frame that is not the one that was announced.
    const other = new BloomFilter({ bits: 2000, hashes: 3 }).encode();
    expect(new Subscriber().receive(forged(publisher.full(), () => ({ frame: other })))).toMatchObject({
      verdict: 'unreadable',
      problem: 'payload',
    });
    expect(frameSum(plain)).toBe(publisher.generation.sum);
  });

  it('stays current and right whatever damaged bytes come, and asks where that may help', () => {
    const publisher = publisherOf();
    const subscriber = currentOf(publisher);
    const [answeredDelta, beat] = [publishing(publisher, 'a'), publisher.heartbeat()];
    expect(effect(subscriber, answeredDelta)).toBe('taken, current');
    const next = publisherOf();
    next.add('a');
    next.publish();
    const asked = next.generation;
    publishing(next, 'b');
    const messages = [
      publishing(next, 'c'), // a gap
      next.full(),
      next.heartbeat(),
      next.answer(writeSyncMessage({ type: 'request', publisherId: 0n, held: asked, heard: undefined }))!,
      beat,
    ];
    const seen = new Set<SyncVerdict>();
    const endure = (bytes: Uint8Array) => {
      const { verdict, status, changed, problem, reply } = subscriber.receive(bytes);
      seen.add(verdict);
      if (status !== 'current' || changed) expect([verdict, status, changed]).toEqual(['', 'current', false]);
      if ((reply !== undefined) !== (problem === 'checksum' || problem === 'truncated'))
        expect([problem, reply]).toBe('a reply to transit damage only');
    };
    for (const message of messages) {
      for (let length = 0; length < message.length; length++) endure(message.slice(0, length));
      for (let bit = 0; bit < 8 * message.length; bit++) {
        const flipped = message.slice();
        flipped[bit >> 3] ^= 1 << (bit & 7);
        endure(flipped);
      }
    }
    const random = new Random(3);
    for (let i = 0; i < 3000; i++) {
      const bytes = random.bytes(random.below(120));
      if (i % 2 === 0) bytes.set(messages[i % 5].subarray(0, Math.min(bytes.length, 6 + (i % 25))));
      endure(bytes);
    }
    expect([...seen].sort()).toEqual(['foreign', 'unreadable']);
    expectSame(subscriber, publisher);
    expect(subscriber.receive(Uint8Array.of(66, 76))).toMatchObject({ problem: 'truncated' });
  });

  it('is never wrong after messages that were forged with a right checksum', () => {
    // Not a promise against forgers, who can announce what they like; but no crash, and no bits but
    // those announced.
    const random = new Random(11);
    const publisher = publisherOf();
    for (let i = 0; i < withEffort(300); i++) {
      publisher.delete(`x-${i - 1}`);
      const subscriber = currentOf(publisherOf());
      const source = random.pick([publisher.full(), publishing(publisher, `x-${i}`), publisher.heartbeat()]);
      const bytes = source.slice(
        0,
        random.below(4) === 0 ? 20 + random.below(source.length - 19) : source.length,
      );
      for (let flips = random.below(4); flips >= 0; flips--)
        bytes[14 + random.below(bytes.length - 14)] = random.bits();
      if (bytes.length < 24) continue;
      const forgery = bytes.slice();
      const message = tryRead(withChecksum(forgery));
      const { verdict, status } = subscriber.receive(forgery);
      if (status === 'current' && verdict === 'taken') {
        expect(message).toBeDefined();
        expect(frameSum(subscriber.summary!.encode())).toBe(subscriber.generation!.sum);
      }
      expect(subscriber.has('key-1')).toBe(true);
    }
  });

  it('describes itself', () => {
    const subscriber = new Subscriber({ publisherId: 3 });
    expect(String(subscriber)).toBe('Subscriber(3, empty)');
    expect(String(currentOf(publisherOf()))).toBe(
      'Subscriber(0, current, generation 65536/0, BloomFilter(2000 bits, 3 hashes, classic, forge64/0))',
    );
  });
});

describe('a subscriber’s options', () => {
  it('are checked', () => {
    const make = (options: object) => () => new Subscriber(options);
    expect(make({ publisherId: 1.5 })).toThrow(
      'Cannot use publisherId: expected an integer from 0 to 2^64 - 1, got 1.5',
    );
    expect(make({ maxBytes: -1 })).toThrow('Cannot use maxBytes: expected a number of at least 0, got -1');
    expect(make({ maxBytes: Number.NaN })).toThrow(
      'Cannot use maxBytes: expected a number of at least 0, got NaN',
    );
    expect(make({ maxBytes: Number.POSITIVE_INFINITY })).not.toThrow();
    expect(make({ key: 'secret' })).toThrow('expected a key by new SecretKey(bytes), got string');
    expect(make({ seed: 4 })).toThrow(/Cannot use Subscriber: expected .*, got option 'seed'/);
    expect(() => new Subscriber().receive('BLMS' as never)).toThrow(TypeError);
    expect(() => new Subscriber().hasMany('key' as never)).toThrow(TypeError);
  });
});

function withChecksum(bytes: Uint8Array): Uint8Array {
  writeChecksum(bytes);
  return bytes;
}

function tryRead(bytes: Uint8Array): SyncMessage | undefined {
  try {
    return readSyncMessage(bytes);
  } catch {
    return undefined;
  }
}
