import { Random } from '@bloomery/testkit/statistics';
import { describe, expect, it } from 'vitest';
import { inBothKernels } from '../../../test/contracts/subject.ts';
import { BloomFilter } from '../../filters/bloom-filter.ts';
import { CountingBloomFilter } from '../../filters/counting/counting-bloom-filter.ts';
import { hashKey } from '../../kernel/batches/hash-key.ts';
import { decodeBits } from '../coding/bit-code.ts';
import { codingOf, expandFrame } from '../coding/compressed-frame.ts';
import { frameSum } from '../coding/snapshot.ts';
import { Publisher, type PublisherOptions } from './publisher.ts';
import { Subscriber } from './subscriber.ts';
import {
  type DeltaMessage,
  type FullMessage,
  type Generation,
  questionOf,
  readSyncMessage,
  writeSyncMessage,
} from './sync-message.ts';

function publisherOf(options: Partial<PublisherOptions> = {}, keys = 50, counters = 4000): Publisher {
  const filter = new CountingBloomFilter({ counters, hashes: 3, trackChanges: true });
  filter.addMany(Array.from({ length: keys }, (_, i) => `key-${i}`));
  return new Publisher({ filter, incarnation: 1, ...options });
}

function request(held?: Generation, publisherId = 0n): Uint8Array {
  return writeSyncMessage({ type: 'request', publisherId, held, heard: undefined });
}

function typeOf(message: Uint8Array | null): string | null {
  return message === null ? null : readSyncMessage(message).type;
}

inBothKernels('a publisher', () => {
  it('closes a generation with the changes since the last one', () => {
    const publisher = publisherOf();
    expect(publisher.generation).toEqual({
      epoch: 65536n,
      sequence: 0,
      sum: frameSum(publisher.filter.snapshot().encode()),
    });
    const before = publisher.filter.snapshot();
    publisher.add('new');
    publisher.delete('key-3');
    expect(publisher.changedCount()).toBe(6);
    const message = publisher.publish()!;
    expect(publisher.changedCount()).toBe(0);
    const after = publisher.filter.snapshot();
    const delta = readSyncMessage(message) as DeltaMessage;
    expect(delta).toMatchObject({ type: 'delta', publisherId: 0n, base: 0, question: undefined });
    expect(delta.generation).toEqual({ epoch: 65536n, sequence: 1, sum: frameSum(after.encode()) });
    expect(publisher.generation).toEqual(delta.generation);
    const changed = decodeBits(delta.code, before.bits);
    const [from, to] = [before.encode(), after.encode()];
    const bytes = new Uint8Array(changed.buffer);
    for (let i = 0; i < bytes.length; i++) expect(from[28 + i] ^ bytes[i]).toBe(to[28 + i]);
  });

  it('has nothing to publish where nothing changed in the end', () => {
    const publisher = publisherOf();
    expect(publisher.publish()).toBe(null);
    publisher.add('there and back');
    publisher.add('key-1'); // once more: no bit changes
    publisher.delete('there and back');
    expect(publisher.publish()).toBe(null);
    expect(publisher.generation.sequence).toBe(0);
  });

  it('gives a newcomer the full state, without what is not published', () => {
    const publisher = publisherOf();
    const published = publisher.filter.snapshot();
    publisher.add('not yet');
    const asked = request();
    const full = readSyncMessage(publisher.answer(asked)!) as FullMessage;
    expect(full).toMatchObject({
      type: 'full',
      generation: publisher.generation,
      question: questionOf(asked),
    });
    expect(BloomFilter.decode(expandFrame(full.frame)).equals(published)).toBe(true);
    expect(readSyncMessage(publisher.full())).toEqual({ ...full, question: undefined });
    publisher.publish();
    const later = readSyncMessage(publisher.full()) as FullMessage;
    expect(BloomFilter.decode(expandFrame(later.frame)).equals(publisher.filter.snapshot())).toBe(true);
  });

  it('tells who is current that it is', () => {
    const publisher = publisherOf();
    const asked = request(publisher.generation);
    expect(readSyncMessage(publisher.answer(asked)!)).toEqual({
      type: 'heartbeat',
      publisherId: 0n,
      generation: publisher.generation,
      question: questionOf(asked),
    });
    expect(readSyncMessage(publisher.heartbeat())).toMatchObject({ type: 'heartbeat', question: undefined });
  });

  it('sends one merged delta to who missed several, and it is the XOR of them', () => {
    const publisher = publisherOf();
    const first = publisher.generation;
    const from = publisher.filter.snapshot().encode();
    for (let i = 0; i < 5; i++) {
      publisher.add(`later-${i}`);
      if (i > 0) publisher.delete(`later-${i - 1}`);
      publisher.publish();
    }
    const delta = readSyncMessage(publisher.answer(request(first))!) as DeltaMessage;
    expect(delta).toMatchObject({ type: 'delta', base: 0, generation: publisher.generation });
    const bytes = new Uint8Array(decodeBits(delta.code, 4000).buffer);
    const to = publisher.filter.snapshot().encode();
    for (let i = 0; i < 500; i++) expect(from[28 + i] ^ bytes[i]).toBe(to[28 + i]);
    // Asked again it is the same, from memory; one generation later it is not.
    expect(publisher.answer(request(first))).toEqual(publisher.answer(request(first)));
    publisher.add('much later');
    publisher.publish();
    const next = readSyncMessage(publisher.answer(request(first))!) as DeltaMessage;
    expect(next.generation).toEqual(publisher.generation);
    expect(next.code).not.toEqual(delta.code);
  });

  it('sends the full state where the past is forgotten, by number or by bytes', () => {
    for (const options of [{ historyGenerations: 2 }, { historyBytes: 10 }]) {
      const publisher = publisherOf(options);
      const generations = [publisher.generation];
      for (let i = 0; i < 4; i++) {
        publisher.add(`later-${i}`);
        publisher.publish();
        generations.push(publisher.generation);
      }
      expect(publisher.historyLength).toBe('historyBytes' in options ? 1 : 2);
      const types = generations.map((held) => typeOf(publisher.answer(request(held))));
      expect(types.slice(0, 2)).toEqual(['full', 'full']);
      expect(types.slice(3)).toEqual(['delta', 'heartbeat']);
    }
    const usual = publisherOf();
    for (let i = 0; i < 70; i++) {
      usual.add(`later-${i}`);
      usual.publish();
    }
    expect(usual.historyLength).toBe(64);
    const without = publisherOf({ historyGenerations: 0 });
    const held = without.generation;
    without.add('x');
    expect(typeOf(without.publish())).toBe('delta');
    expect(typeOf(without.answer(request(held)))).toBe('full');
  });

  it('takes the smaller of delta and full state', () => {
    const publisher = publisherOf({}, 800);
    publisher.filter.clear();
    const message = publisher.publish()!;
    expect(typeOf(message)).toBe('full');
    expect(message.length).toBeLessThan(80);
    // Less and less is left: at first what went is smaller to say, in the end what stayed; never
    // the larger one.
    const sizes: [number, number][] = [];
    for (let left = 790; left > 0; left -= 60) {
      const one = publisherOf({ historyBytes: 10 ** 6 }, 800);
      const held = one.generation;
      one.deleteMany(Array.from({ length: 800 - left }, (_, i) => `key-${i}`));
      const pushed = one.publish()!.length;
      sizes.push([pushed, one.full().length]);
      expect(pushed).toBeLessThanOrEqual(one.full().length);
      expect(one.answer(request(held))).toHaveLength(pushed + 4); // and the question
    }
    expect(sizes.some(([pushed, full]) => pushed === full)).toBe(true);
    expect(sizes.some(([pushed, full]) => pushed < full)).toBe(true);
  });

  it('sends the full state to a subscriber that holds something else under a name of its own', () => {
    const publisher = publisherOf();
    const first = publisher.generation;
    publisher.add('x');
    publisher.publish();
    const now = publisher.generation;
    const cases: [Generation, string][] = [
      [first, 'delta'],
      [{ ...first, sum: first.sum + 1n }, 'full'],
      [{ ...now, sum: now.sum + 1n }, 'full'],
      [{ ...now, sequence: 2, sum: 5n }, 'full'],
      [{ ...now, sequence: 2 }, 'heartbeat'], // ahead, with the same bits
      [{ ...now, epoch: now.epoch + 1n, sequence: 0 }, 'heartbeat'],
      [{ ...first, epoch: now.epoch + 1n }, 'full'],
      [{ ...first, epoch: now.epoch - 1n }, 'full'],
      // An earlier life with the same bits.
      [{ ...now, epoch: now.epoch - 1n, sequence: 77 }, 'heartbeat'],
      [{ ...now, sequence: 0 }, 'heartbeat'],
      [{ epoch: 2n ** 64n - 1n, sequence: Number.MAX_SAFE_INTEGER, sum: 0n }, 'full'],
    ];
    for (const [held, type] of cases) expect(typeOf(publisher.answer(request(held)))).toBe(type);
  });

  it('begins a new epoch with another filter', () => {
    const publisher = publisherOf({ publisherId: 9 });
    publisher.add('x');
    publisher.publish();
    const before = publisher.generation;
    const larger = new CountingBloomFilter({ counters: 9000, hashes: 4, seed: 5, trackChanges: true });
    larger.addMany(['a', 'b']);
    const full = readSyncMessage(publisher.replace(larger)) as FullMessage;
    expect(publisher.filter).toBe(larger);
    expect(full).toMatchObject({ type: 'full', generation: { epoch: 65537n, sequence: 0 } });
    expect(BloomFilter.decode(expandFrame(full.frame)).equals(larger.snapshot())).toBe(true);
    expect(publisher.publish()).toBe(null);
    expect(typeOf(publisher.answer(request(before, 9n)))).toBe('full');
    publisher.addMany(['c']);
    expect(readSyncMessage(publisher.publish()!)).toMatchObject({
      type: 'delta',
      base: 0,
      generation: { epoch: 65537n, sequence: 1 },
    });
  });

  it('does not let other code take the changes of its filter, which subscribers would miss', () => {
    const publisher = publisherOf();
    const { filter } = publisher;
    const subscriber = new Subscriber();
    subscriber.receive(publisher.full());
    filter.add('new');
    expect(() => filter.takeChanges()).toThrow(
      new TypeError(
        'Cannot take changes: expected a filter without a publisher, got one that a publisher reads',
      ),
    );
    subscriber.receive(publisher.publish()!);
    expect([subscriber.status, subscriber.has('new')]).toEqual(['current', true]);
    // Another filter in its place gives it back. A copy was never taken.
    expect(filter.copy().takeChanges()).toEqual(Float64Array.of());
    publisher.replace(filter.copy());
    filter.add('newer');
    expect(filter.takeChanges().length).toBeGreaterThan(0);
  });

  it('is alone in taking the changes of its filter', () => {
    const publisher = publisherOf();
    const { filter } = publisher;
    const state = publisher.full();
    const other = new Publisher({ filter, incarnation: 1, publisherId: 2 });
    filter.add('x');
    expect(typeOf(other.publish())).toBe('delta');
    expect(() => publisher.publish()).toThrow(
      new TypeError(
        'Cannot publish: expected a filter of its own, got one that was given to another publisher (replace it)',
      ),
    );
    // The published state stays. The publisher goes on with a filter of its own, or with this one
    // again.
    expect(publisher.full()).toEqual(state);
    publisher.replace(filter.copy());
    publisher.add('y');
    expect(typeOf(publisher.publish())).toBe('delta');
    expect(publisher.generation.sum).toBe(frameSum(publisher.filter.snapshot().encode()));
    publisher.replace(filter);
    expect(publisher.publish()).toBe(null);
    expect(() => other.publish()).toThrow(TypeError);
  });

  it('has all that happens to the filter in its deltas', () => {
    const publisher = publisherOf();
    const other = new CountingBloomFilter({ counters: 4000, hashes: 3 });
    other.addMany(['p', 'q']);
    for (const change of [
      () => publisher.filter.merge(other),
      () => publisher.filter.clear(),
      () => publisher.filter.addMany(['r']),
    ]) {
      change();
      expect(publisher.publish()).not.toBe(null);
      expect(publisher.generation.sum).toBe(frameSum(publisher.filter.snapshot().encode()));
    }
  });

  it('codes in the fast way where that is asked for', () => {
    const publisher = publisherOf({ effort: 'fast' }, 20, 40_000);
    publisher.add('x');
    expect((readSyncMessage(publisher.publish()!) as DeltaMessage).code[0] & 7).toBe(5); // gaps
    expect(codingOf((readSyncMessage(publisher.full()) as FullMessage).frame)).toBe('gaps');
    expect(codingOf((readSyncMessage(publisherOf().full()) as FullMessage).frame)).toBe('range');
  });

  it('passes everything on to the filter', () => {
    const publisher = publisherOf();
    const hash = hashKey('hashed');
    expect(publisher.addHash(hash)).toBe(true);
    expect(publisher.filter.has('hashed')).toBe(true);
    expect(publisher.deleteHash(hash)).toBe(true);
    expect(publisher.addMany(['a', 'b'])).toBe(2);
    expect(publisher.deleteMany(['a', 'never'])).toBe(1);
    expect(publisher.delete('never')).toBe(false);
    expect(publisher.add('b')).toBe(false);
    expect(publisher.filter.count('b')).toBe(2);
    expect(String(publisher)).toBe(
      'Publisher(0, generation 65536/0, CountingBloomFilter(4000 counters of 4 bits, 3 hashes, classic, forge64/0))',
    );
  });

  it('answers nothing but requests to itself', () => {
    const publisher = publisherOf({ publisherId: 2n ** 64n - 1n });
    const id = 2n ** 64n - 1n;
    expect(typeOf(publisher.answer(request(undefined, id)))).toBe('full');
    expect(publisher.answer(request(undefined, 0n))).toBe(null);
    for (const message of [publisher.full(), publisher.heartbeat(), new Uint8Array(0)]) {
      expect(publisher.answer(message)).toBe(null);
    }
    expect(() => publisher.answer(undefined as never)).toThrow(TypeError);
  });

  it('is not moved by damaged requests or random bytes', () => {
    const publisher = publisherOf();
    const first = publisher.generation;
    publisher.add('x');
    publisher.publish();
    const state = publisher.full();
    const sound = [
      request(),
      request(first),
      writeSyncMessage({ type: 'request', publisherId: 0n, held: first, heard: publisher.generation }),
    ];
    for (const bytes of sound) {
      for (let length = 0; length < bytes.length; length++) {
        expect(publisher.answer(bytes.slice(0, length))).toBe(null);
      }
      for (let bit = 0; bit < 8 * bytes.length; bit++) {
        const flipped = bytes.slice();
        flipped[bit >> 3] ^= 1 << (bit & 7);
        expect(publisher.answer(flipped)).toBe(null);
      }
    }
    const random = new Random(7);
    for (let i = 0; i < 2000; i++) {
      const bytes = random.bytes(random.below(80));
      if (i % 2 === 0) bytes.set(sound[1].subarray(0, Math.min(6, bytes.length)));
      expect(publisher.answer(bytes)).toBe(null);
    }
    expect(publisher.full()).toEqual(state);
  });
});

describe('a publisher’s options', () => {
  const filter = new CountingBloomFilter({ counters: 64, hashes: 2, trackChanges: true });

  it('are checked', () => {
    const make = (options: object) => () => new Publisher({ filter, incarnation: 0, ...options });
    expect(make({ filter: new CountingBloomFilter({ counters: 64, hashes: 2 }) })).toThrow(
      new TypeError('Cannot use filter: expected trackChanges: true, got a filter without it'),
    );
    expect(make({ filter: new BloomFilter({ bits: 64, hashes: 2 }) })).toThrow(
      new TypeError('Cannot use filter: expected a CountingBloomFilter, got BloomFilter'),
    );
    expect(make({ incarnation: undefined })).toThrow('Cannot use incarnation: expected an integer');
    expect(make({ incarnation: 2 ** 48 })).toThrow(
      'Cannot use incarnation: expected an integer from 0 to 281474976710655, got 281474976710656',
    );
    expect(make({ publisherId: -1 })).toThrow(
      'Cannot use publisherId: expected an integer from 0 to 2^64 - 1, got -1',
    );
    expect(make({ publisherId: 2n ** 64n })).toThrow(RangeError);
    expect(make({ effort: 'tiny' })).toThrow("Cannot use effort: expected 'small' or 'fast', got tiny");
    expect(make({ historyGenerations: -1 })).toThrow('Cannot use historyGenerations: expected');
    expect(make({ historyBytes: 1.5 })).toThrow('Cannot use historyBytes: expected');
    expect(make({ epoch: 4 })).toThrow(/Cannot use Publisher: expected .*, got option 'epoch'/);
    expect(() => make({})().replace(new CountingBloomFilter({ counters: 64, hashes: 2 }))).toThrow(
      'trackChanges: true',
    );
  });

  it('leave it as it was where a replacement is refused', () => {
    const publisher = publisherOf();
    const { generation } = publisher;
    const state = publisher.full();
    const untracked = new CountingBloomFilter({ counters: 64, hashes: 2 });
    expect(() => publisher.replace(untracked)).toThrow(TypeError);
    expect([publisher.generation, publisher.full()]).toEqual([generation, state]);
    publisher.add('x');
    expect(typeOf(publisher.publish())).toBe('delta');
  });

  it('leave an incarnation 65535 replacements', () => {
    const publisher = new Publisher({ filter, incarnation: 2 ** 48 - 1 });
    for (let i = 1; i < 65_536; i++) publisher.replace(filter);
    expect(publisher.generation.epoch).toBe(2n ** 64n - 1n);
    expect(() => publisher.replace(filter)).toThrow(
      'Cannot begin an epoch: expected at most 65535 replacements, got one more (make a publisher of a new incarnation)',
    );
  });
});
