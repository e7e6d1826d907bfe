import { expect, test } from 'vitest';
import type { KeyBatch } from '../kernel/batches/batch.ts';
import type { Key } from '../keys/key.ts';
import { addFrom, type KeyStream } from './add-from.ts';
import { BloomFilter } from './bloom-filter.ts';
import { OverfullError } from './shared/fill-gauge.ts';

const KEYS = Array.from({ length: 3000 }, (_, i) => `key ${i}`);
const newFilter = () => BloomFilter.forCapacity({ capacity: 3000, falsePositiveRate: 0.001 });
const expected = newFilter();
const FRESH = expected.addMany(KEYS);

async function* slowly(keys: Iterable<Key>): AsyncGenerator<Key> {
  for (const key of keys) yield key;
}

/** Splits a text that comes in one piece into lines. */
function lines(): TransformStream<string, string> {
  return new TransformStream({
    transform(text, controller) {
      for (const line of text.split('\n')) controller.enqueue(line);
    },
  });
}

/** A stream without an async iterator, as in Safari; it notes whether it was cancelled. */
function bareStream(keys: readonly Key[]): KeyStream & { cancelled: boolean; locked: boolean } {
  let next = 0;
  const stream = {
    cancelled: false,
    locked: false,
    getReader() {
      stream.locked = true;
      return {
        read: async () =>
          next < keys.length ? { done: false, value: keys[next++] } : { done: true, value: undefined },
        cancel: async () => void (stream.cancelled = true),
        releaseLock: () => void (stream.locked = false),
      };
    },
  };
  return stream;
}

test('addFrom adds what addMany would, from async iterables, streams and iterables', async () => {
  const sources = [
    () => slowly(KEYS),
    () => new Blob([KEYS.join('\n')]).stream().pipeThrough(new TextDecoderStream()).pipeThrough(lines()),
    () => bareStream(KEYS),
    () => KEYS,
    () => new Set(KEYS),
  ];
  for (const source of sources) {
    const filter = newFilter();
    expect(await addFrom(filter, source() as AsyncIterable<Key>)).toBe(FRESH);
    expect(filter.equals(expected)).toBe(true);
  }
});

test('addFrom adds a key as soon as `flush` of them have come', async () => {
  const filter = newFilter();
  const seen: boolean[] = [];
  async function* watched(): AsyncGenerator<Key> {
    for (const key of ['a', 'b', 'c', 'd']) {
      yield key;
      seen.push(filter.has(key));
    }
  }
  expect(await addFrom(filter, watched(), { flush: 2 })).toBe(4);
  expect(seen).toEqual([false, true, false, true]);
});

test('addFrom takes keys of bytes from a source that uses one buffer for all', async () => {
  const filter = newFilter();
  const buffer = new Uint8Array(1);
  const source = (function* () {
    for (buffer[0] = 0; buffer[0] < 200; buffer[0]++) yield buffer;
  })();
  await addFrom(filter, slowly(source));
  for (let i = 0; i < 200; i++) expect(filter.has(Uint8Array.of(i))).toBe(true);
});

test('addFrom keeps the keys that came before a failure, and rejects with it', async () => {
  const filter = newFilter();
  async function* broken(): AsyncGenerator<Key> {
    yield 'before';
    throw new Error('line cut');
  }
  await expect(addFrom(filter, broken())).rejects.toThrow('line cut');
  expect(filter.has('before')).toBe(true);
});

test('addFrom gives up on its signal, and releases the stream', async () => {
  const stop = new AbortController();
  const stream = bareStream(KEYS);
  const filter = newFilter();
  const counting = {
    addMany(keys: KeyBatch) {
      stop.abort(new Error('enough'));
      return filter.addMany(keys);
    },
  };
  await expect(addFrom(counting, stream, { signal: stop.signal })).rejects.toThrow('enough');
  await expect.poll(() => [stream.cancelled, stream.locked]).toEqual([true, false]);
  expect(filter.has(KEYS[1023])).toBe(true);
});

test('addFrom passes on the refusal of an overfull filter', async () => {
  const strict = BloomFilter.forCapacity({ capacity: 2000, falsePositiveRate: 0.001, overfull: 'throw' });
  await expect(addFrom(strict, slowly(KEYS))).rejects.toThrow(OverfullError);
  expect(strict.has(KEYS[1999])).toBe(true);
});

test.each(['apple', Uint8Array.of(1), 7, null, {}])('addFrom refuses %o as a source', async (source) => {
  await expect(addFrom(newFilter(), source as never)).rejects.toThrow(
    /^Cannot add keys: expected an iterable/,
  );
});

test('structuredClone refuses a filter, whose bits it would lose', () => {
  expect(() => structuredClone(newFilter())).toThrow(/could not be cloned/);
});

test('JSON names the parameters and the hash of a filter', () => {
  const filter = new BloomFilter({ bits: 64, hashes: 3, seed: 2n ** 60n });
  expect(JSON.parse(JSON.stringify(filter))).toEqual({
    bits: 64,
    hashes: 3,
    layout: 'classic',
    scheme: 'forge64/1000000000000000',
  });
});

test('addMany names addFrom to a caller with an async iterable', () => {
  expect(() => newFilter().addMany(slowly(KEYS) as never)).toThrow(
    /expected an iterable.* \(addFrom takes async ones\)/,
  );
});
