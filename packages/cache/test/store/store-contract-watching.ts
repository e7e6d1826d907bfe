/**
 * The part of the contract of a store that is about listeners, statistics, eviction and the end.
 * See store-contract.ts.
 */

import { describe, expect, test } from 'vitest';
import type { StoredResponse } from '../../src/policy/stored-response.ts';
import type { ContractContext } from './store-contract.ts';
import { bodyBytes, expectBytes, keysOf, readAll, storeBody } from './stored-responses.ts';

export function watchingContract({
  fresh,
  keepsAll,
  countsOnce,
  smallCapacity,
  key: KEY,
}: ContractContext): void {
  describe('watching and counting', () => {
    test('listeners learn of keys and of what changes under them, and not after they stopped', async () => {
      const store = await fresh();
      const seen: string[] = [];
      const stop = store.watch((key, change) => seen.push(`${change} ${key}`));
      await storeBody(store, { key: 'http://a/', bodyLength: 10, time: 1, varied: [['a', '1']] });
      await storeBody(store, { key: 'http://a/', bodyLength: 10, time: 2, varied: [['a', '2']] });
      const { response } = await storeBody(store, {
        key: 'http://a/',
        bodyLength: 10,
        time: 3,
        varied: [['a', '1']],
      });
      await storeBody(store, { key: 'http://b/', bodyLength: 10, time: 4 });
      await store.refresh(response, { ...response, responseTime: response.responseTime + 1 });
      for (const one of await store.find('http://a/')) await store.remove(one);
      stop();
      await store.removeKey('http://b/');
      const expected = [
        'added http://a/',
        'changed http://a/',
        'changed http://a/',
        'added http://b/',
        'changed http://a/',
        'changed http://a/',
        'removed http://a/',
      ];
      if (keepsAll) expect(withoutRepeats(seen)).toEqual(withoutRepeats(expected));
      else expect(expected).toEqual(expect.arrayContaining(seen));
    });

    test('listeners get the response that is new, and none when one went', async () => {
      const store = await fresh();
      const told: [string, StoredResponse | undefined][] = [];
      store.watch((_key, change, response) => told.push([change, response]));
      const last = () => told.splice(0).at(-1);
      const first = await storeBody(store, { key: KEY, bodyLength: 10, time: 1, varied: [['a', '1']] });
      if (!first.kept) return;
      expect(last()).toEqual(['added', first.response]);
      const second = await storeBody(store, { key: KEY, bodyLength: 10, time: 2, varied: [['a', '2']] });
      expect(last()).toEqual(['changed', second.response]);
      const third = await storeBody(store, { key: KEY, bodyLength: 12, time: 3, varied: [['a', '1']] });
      expect(last()).toEqual(['changed', third.response]);
      const renewed = { ...third.response, responseTime: third.response.responseTime + 1 };
      await store.refresh(third.response, renewed);
      expect(last()).toEqual(['changed', renewed]);
      await store.remove(second.response);
      expect(last()).toEqual(['changed', undefined]);
      await store.removeKey(KEY);
      expect(last()).toEqual(['removed', undefined]);
    });

    test('bytes and responses are counted, and go when they go', async () => {
      const store = await fresh();
      const empty = store.statistics;
      let stored = 0;
      for (let i = 0; i < 20; i++) {
        const { kept } = await storeBody(store, { key: `http://a/${i}`, bodyLength: 5000, time: i });
        if (kept) stored++;
      }
      const full = store.statistics;
      if (countsOnce) expect(full.responses).toBe(stored);
      expect(full.bytes - empty.bytes).toBeGreaterThanOrEqual(stored * 5000);
      expect(full.bytes).toBeLessThanOrEqual(full.capacityBytes);
      for (let i = 0; i < 20; i++) await store.removeKey(`http://a/${i}`);
      expect(store.statistics.responses).toBe(0);
      expect(store.statistics.bytes).toBeLessThan(empty.bytes + stored * 500);
    });

    test('under pressure something goes, the bound holds, and what stays is right', async () => {
      const store = await fresh({ capacityBytes: smallCapacity, variantsPerKey: 8 });
      const present = new Set<string>();
      store.watch((key, change) => {
        if (change === 'added') {
          expect(present.has(key), `${key} added twice`).toBe(false);
          present.add(key);
        } else if (change === 'changed') {
          expect(present.has(key), `${key} changed but never added`).toBe(true);
        } else {
          expect(present.delete(key), `${key} removed but never added`).toBe(true);
        }
      });
      const bodyLength = Math.floor(smallCapacity / 40);
      for (let i = 0; i < 200; i++) {
        await storeBody(store, { key: `http://a/${i}`, bodyLength, time: i, chunk: 8192 });
        expect(store.statistics.bytes).toBeLessThanOrEqual(store.statistics.capacityBytes);
      }
      const keys = await keysOf(store);
      expect(keys).toEqual(present);
      expect(keys.size).toBeLessThan(41);
      if (keepsAll) {
        expect(keys.size).toBeGreaterThan(10);
        expect(store.statistics.evictions).toBeGreaterThan(150);
      }
      for (const key of keys) {
        const [found] = await store.find(key);
        expectBytes(await readAll(store.read(found!)), bodyBytes(bodyLength, Number(key.slice(9))));
      }
    });

    test('close may come while bodies are written and read', async () => {
      const store = await fresh();
      const { response } = await storeBody(store, {
        key: KEY,
        bodyLength: 100_000,
        time: 1,
        chunk: 10_000,
      });
      const writer = store.create(`${KEY}2`, undefined);
      await writer.write(bodyBytes(1000, 1));
      const reader = store.read(response);
      const follower = writer.read(1000);
      const waiting = (async () => follower.next())().catch((error: unknown) => error);
      await store.close();
      writer.abort(new Error('the node stops'));
      await waiting;
      follower.close();
      reader.close();
    });
  });
}

/** A change may be told twice. */
function withoutRepeats(events: readonly string[]): readonly string[] {
  return events.filter((event, i) => event !== events[i - 1]);
}
