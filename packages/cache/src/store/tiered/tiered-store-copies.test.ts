/** Copies that came from neighbours, in a store with two tiers. */

import { describe, expect, test } from 'vitest';
import { storeBody } from '../../../test/store/stored-responses.ts';
import { isPeerCopy } from '../../policy/peer-copy.ts';
import { MemoryStore } from '../memory/memory-store.ts';
import { Admission } from './admission.ts';
import { TieredStore } from './tiered-store.ts';

const SHORT = 1000;
const LONG = 60_000;

async function tiers(peerCopiesShare = 0.1) {
  const memory = new MemoryStore({ capacityBytes: 1_000_000, maxBodyBytes: 50_000, peerCopiesShare });
  const disk = new MemoryStore({ capacityBytes: 10_000_000, maxBodyBytes: 1_000_000 });
  const store = await TieredStore.open(memory, disk, { admission: new Admission({ capacity: 1000 }) });
  const told: unknown[] = [];
  store.watch((key, change, response) => told.push([key, change, response && isPeerCopy(response)]));
  return { memory, disk, store, told, [Symbol.asyncDispose]: () => store.close() };
}

describe('copies in a tiered store', () => {
  test('reach the disk when they are used, without the mark, and are told then', async () => {
    await using lab = await tiers();
    const { store, disk, told } = lab;
    await storeBody(store, { key: 'a', bodyLength: SHORT, time: 1, copy: true });
    expect([told.splice(0), disk.has('a')]).toEqual([[['a', 'added', true]], false]);
    await store.find('a');
    await store.settled();
    expect(told.splice(0)).toEqual([['a', 'changed', false]]);
    expect(disk.peek('a').map(isPeerCopy)).toEqual([false]);
    expect(store.statistics.copies).toBe(0);
  });

  test('reach the disk when they are fetched for the second time', async () => {
    await using lab = await tiers();
    const { store, memory, disk } = lab;
    await storeBody(store, { key: 'a', bodyLength: SHORT, time: 1, copy: true });
    await storeBody(store, { key: 'a', bodyLength: SHORT, time: 2, copy: true });
    await store.settled();
    expect([memory.peek('a').map(isPeerCopy), disk.peek('a').map(isPeerCopy)]).toEqual([[false], [false]]);
  });

  test('that are long are kept at the second fetch, although there is room to spare at the first', async () => {
    await using lab = await tiers();
    const { store, disk } = lab;
    expect((await storeBody(store, { key: 'own', bodyLength: LONG, time: 1 })).kept).toBe(true);
    const wish = { key: 'a', bodyLength: LONG, copy: true };
    expect((await storeBody(store, { ...wish, time: 1 })).kept).toBe(false);
    expect(disk.has('a')).toBe(false);
    expect((await storeBody(store, { ...wish, time: 2 })).kept).toBe(true);
    expect(disk.peek('a').map(isPeerCopy)).toEqual([false]);
  });

  test('are never kept with a share of 0, unless they renew a response of this node', async () => {
    await using lab = await tiers(0);
    const { store } = lab;
    for (const bodyLength of [SHORT, LONG]) {
      for (const time of [1, 2, 3]) {
        const { kept } = await storeBody(store, { key: `a ${bodyLength}`, bodyLength, time, copy: true });
        expect([bodyLength, time, kept]).toEqual([bodyLength, time, false]);
      }
      const key = `own ${bodyLength}`;
      for (const time of [1, 2]) await storeBody(store, { key, bodyLength, time });
      const { response, kept } = await storeBody(store, { key, bodyLength, time: 3, copy: true });
      await store.settled();
      expect([kept, (await store.find(key)).map(({ etag }) => etag)]).toEqual([true, [response.etag]]);
    }
  });
});
