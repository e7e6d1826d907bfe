import { hashKey } from 'bloomery';
import { expect, test } from 'vitest';
import { storedResponse } from '../../test/store/stored-responses.ts';
import type { StoredResponse } from '../policy/stored-response.ts';
import { MemoryStore } from '../store/memory/memory-store.ts';
import type { ResponseStore } from '../store/response-store.ts';
import type { KeyedHash } from './neighbour-port.ts';
import { SummaryFeed } from './summary-feed.ts';

function commit(store: ResponseStore, response: StoredResponse): void {
  const writer = store.create(response.key, 0);
  writer.commit({ ...response, bodyLength: 0 });
}

function feedOf(store: ResponseStore, shareableUntil: (response: StoredResponse) => number | null) {
  const kept = new Map<string, number>();
  const hashes = (key: string) =>
    [1, 2].map((keyId) => {
      const { low, high } = hashKey(key, { seed: keyId });
      return { keyId, low, high };
    });
  const name = ({ keyId, low, high }: KeyedHash) => `${keyId}: ${high}/${low}`;
  const feed = new SummaryFeed({
    store,
    hashes,
    shareableUntil,
    sink: {
      keep: (hash, until) => kept.set(name(hash), until),
      drop: (hash) => kept.delete(name(hash)),
    },
    pause: async () => {},
    failed: (error) => {
      throw error;
    },
  });
  /** The time that was told for both hashes of a key. */
  const until = (key: string) => {
    const [first, second] = hashes(key).map((hash) => kept.get(name(hash)));
    expect(first).toBe(second);
    return first;
  };
  return { feed, kept, until };
}

test('SummaryFeed tells keys that are stored before it and after it, and forgets removed ones', async () => {
  const store = new MemoryStore({ capacityBytes: 1e6 });
  commit(store, storedResponse({ bodyLength: 0, time: 1000, key: 'http://a/1' }));
  const { feed, until, kept } = feedOf(store, () => 5);
  await feed.readAll();
  commit(store, storedResponse({ bodyLength: 0, time: 1000, key: 'http://a/2' }));
  expect([until('http://a/1'), until('http://a/2')]).toEqual([5, 5]);
  store.removeKey('http://a/1');
  expect([until('http://a/1'), until('http://a/2')]).toEqual([undefined, 5]);
  feed.close();
  commit(store, storedResponse({ bodyLength: 0, time: 1000, key: 'http://a/3' }));
  expect(kept.size).toBe(2);
});

test('SummaryFeed takes the latest time of several variants, and drops a key without any', async () => {
  const store = new MemoryStore({ capacityBytes: 1e6 });
  let times: Record<string, number | null> = { de: 10, en: 20 };
  const { until } = feedOf(store, ({ varied }) => times[varied[0]?.[1] ?? ''] ?? null);
  for (const language of ['de', 'en'])
    commit(
      store,
      storedResponse({
        bodyLength: 0,
        time: 1000,
        key: 'http://a/',
        varied: [['accept-language', language]],
      }),
    );
  expect(until('http://a/')).toBe(20);
  times = { de: null, en: null };
  commit(
    store,
    storedResponse({ bodyLength: 0, time: 1000, key: 'http://a/', varied: [['accept-language', 'de']] }),
  );
  expect(until('http://a/')).toBe(undefined);
});
