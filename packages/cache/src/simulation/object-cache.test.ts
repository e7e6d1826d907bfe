import { Random } from '@bloomery/testkit/statistics';
import { describe, expect, test } from 'vitest';
import { storedResponse } from '../../test/store/stored-responses.ts';
import { asPeerCopy } from '../policy/peer-copy.ts';
import { MemoryStore } from '../store/memory/memory-store.ts';
import { responseCost } from '../store/memory/response-cost.ts';
import { ObjectCache } from './object-cache.ts';
import { keyOfObject } from './trace.ts';

describe('ObjectCache', () => {
  test.each([0, 0.1, 0.5])(
    'holds what a MemoryStore holds after the same operations, with %d of it for copies',
    (peerCopiesShare) => {
      const capacityBytes = 400_000;
      const store = new MemoryStore({ capacityBytes, peerCopiesShare, maxBodyBytes: capacityBytes });
      const cache = new ObjectCache({
        capacity: store.statistics.capacityBytes,
        expectedEntries: capacityBytes / 4096,
        copiesShare: peerCopiesShare,
      });
      const random = new Random(7);
      const sizes = Array.from({ length: 600 }, () => 100 + random.below(9000));
      let adopted = 0;
      const differences: number[] = [];
      for (let i = 0; i < 30_000; i++) {
        const object = Math.floor(600 * (random.below(1000) / 1000) ** 3);
        const key = keyOfObject(object);
        const wasCopies = cache.copies;
        if (cache.use(object) !== store.find(key).length > 0) differences.push(i);
        if (cache.copies < wasCopies) adopted++;
        if (cache.has(object) && random.below(20) > 0) continue;
        const body = new Uint8Array(sizes[object]!);
        const own = storedResponse({ key, bodyLength: body.length, time: i });
        const isCopy = random.below(2) === 0;
        const response = isCopy ? asPeerCopy(own) : own;
        const cost = responseCost(response, body);
        if (cache.put(object, cost, isCopy) !== store.put(response, body)) differences.push(i);
      }
      expect(differences).toEqual([]);
      expect([...cache.objects()].map(keyOfObject).sort()).toEqual([...store.keys()].sort());
      expect(cache.copies).toBe(store.statistics.copies);
      expect(store.statistics.evictions).toBeGreaterThan(1000);
      if (peerCopiesShare > 0) expect(adopted).toBeGreaterThan(100);
    },
  );

  test('tells each change once, so that a listener knows what is held', () => {
    const held = new Map<number, 'own' | 'copy'>();
    const wrong: string[] = [];
    const cache = new ObjectCache({
      capacity: 50,
      expectedEntries: 50,
      copiesShare: 0.2,
      listener: {
        added(object, isCopy) {
          if (held.has(object)) wrong.push(`${object} is added twice`);
          held.set(object, isCopy ? 'copy' : 'own');
        },
        adopted(object) {
          if (held.get(object) !== 'copy') wrong.push(`${object} is adopted`);
          held.set(object, 'own');
        },
        removed(object, wasCopy) {
          if (held.get(object) !== (wasCopy ? 'copy' : 'own')) wrong.push(`${object} is removed`);
          held.delete(object);
        },
      },
    });
    const random = new Random(3);
    for (let i = 0; i < 20_000; i++) {
      const object = random.below(120);
      if (!cache.use(object) || random.below(10) === 0) cache.put(object, 1, random.below(3) === 0);
      if (cache.size !== held.size) wrong.push(`${cache.size} are held at step ${i}`);
    }
    expect(wrong).toEqual([]);
    expect([...held.keys()].sort()).toEqual([...cache.objects()].sort());
    expect([...held.values()].filter((kind) => kind === 'copy').length).toBe(cache.copies);
    cache.clear();
    expect(held.size).toBe(0);
  });

  test('a large object evicts copies if there is nothing else, and tells that they were copies', () => {
    const removed: boolean[] = [];
    const cache = new ObjectCache({
      capacity: 10,
      expectedEntries: 10,
      copiesShare: 0.9,
      listener: { added() {}, adopted() {}, removed: (_, wasCopy) => removed.push(wasCopy) },
    });
    for (let object = 0; object < 9; object++) cache.put(object, 1, true);
    cache.put(9, 5, false);
    expect(removed).toEqual([true, true, true, true]);
    expect(cache.put(10, 11, false)).toBe(false);
    expect([...cache.objects()]).toEqual([4, 5, 6, 7, 8, 9]);
  });
});
