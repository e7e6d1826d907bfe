import { describe, expect, test } from 'vitest';
import { keysOf, readAll, storeBody } from '../../../test/store/stored-responses.ts';
import { isPeerCopy } from '../../policy/peer-copy.ts';
import { MemoryStore } from './memory-store.ts';

const BODY = 4000;

/** Room for about 200 bodies, 20 of them copies. */
function smallStore(peerCopiesShare?: number): MemoryStore {
  return new MemoryStore({
    capacityBytes: 1_000_000,
    maxBodyBytes: 20_000,
    ...(peerCopiesShare === undefined ? {} : { peerCopiesShare }),
  });
}

const copy = (store: MemoryStore, name: string | number, bodyLength = BODY) =>
  storeBody(store, { key: `copy ${name}`, bodyLength, time: 1, copy: true });
const own = (store: MemoryStore, name: string | number) =>
  storeBody(store, { key: `own ${name}`, bodyLength: BODY, time: 1 });

describe('copies in a memory store', () => {
  test('take a tenth of it at most, and the oldest go first', async () => {
    const store = smallStore();
    for (let i = 0; i < 1000; i++) await copy(store, i);
    const { copies, copyBytes, responses, capacityBytes } = store.statistics;
    expect(copyBytes).toBeLessThanOrEqual(capacityBytes / 10);
    expect(copyBytes).toBeGreaterThan(capacityBytes / 10 - 2 * BODY);
    expect(responses).toBe(copies);
    const newest = Array.from({ length: copies }, (_, i) => `copy ${999 - i}`);
    expect(await keysOf(store)).toEqual(new Set(newest));
  });

  test('never displace ordinary responses once they have their share', async () => {
    const store = smallStore();
    for (let i = 0; i < 50; i++) await copy(store, i);
    for (let i = 0; i < 500; i++) await own(store, i);
    const before = new Set([...(await keysOf(store))].filter((key) => key.startsWith('own')));
    expect(before.size).toBeGreaterThan(150);
    for (let i = 0; i < 500; i++) await copy(store, `later ${i}`);
    const after = await keysOf(store);
    for (const key of before) expect(after.has(key), key).toBe(true);
    expect(store.statistics.bytes).toBeLessThanOrEqual(store.statistics.capacityBytes);
  });

  test('leave their share to others as long as there are none', async () => {
    const [without, reserved] = [smallStore(0), smallStore(0.9)];
    for (let i = 0; i < 500; i++) for (const store of [without, reserved]) await own(store, i);
    expect(reserved.statistics.responses).toBe(without.statistics.responses);
    // And are not in the way of an ordinary response that needs the room.
    const full = smallStore(0.9);
    for (let i = 0; i < 500; i++) await copy(full, i);
    for (let i = 0; i < 500; i++) await own(full, i);
    expect((await own(full, 'last')).kept).toBe(true);
  });

  test('become ordinary when they are used: marked no more, told, and safe from new copies', async () => {
    const store = smallStore();
    const told: unknown[] = [];
    store.watch((key, change, response) => told.push([key, change, response && isPeerCopy(response)]));
    const { response, body } = await copy(store, 'a');
    expect(told.splice(0)).toEqual([['copy a', 'added', true]]);
    const [found] = store.find('copy a');
    expect([found && isPeerCopy(found), store.statistics.copies]).toEqual([false, 0]);
    expect(told.splice(0)).toEqual([['copy a', 'changed', false]]);
    for (let i = 0; i < 100; i++) await copy(store, i);
    // Also for a caller that has the response from before.
    expect(await readAll(store.read(response))).toEqual(body);
    store.find('copy a');
    expect(told.filter((event) => (event as string[])[0] === 'copy a')).toEqual([]);
  });

  test('become ordinary when the origin has validated them', async () => {
    const store = smallStore();
    const wish = { key: 'copy v', bodyLength: BODY, copy: true };
    // With two variants, a look-up alone is no use.
    await storeBody(store, { ...wish, time: 1, varied: [['a', '1']] });
    const { response } = await storeBody(store, { ...wish, time: 2, varied: [['a', '2']] });
    expect(store.statistics.copies).toBe(2);
    expect(store.refresh(response, { ...response, flags: 0, responseTime: response.responseTime + 9 })).toBe(
      true,
    );
    expect(store.statistics).toMatchObject({ copies: 1, responses: 2 });
    store.removeKey('copy v');
    expect(store.statistics).toMatchObject({ copies: 0, copyBytes: 0, responses: 0, bytes: 0 });
  });

  test('are ordinary at once if they replace an ordinary response', async () => {
    const store = smallStore();
    await storeBody(store, { key: 'a', bodyLength: BODY, time: 1 });
    await storeBody(store, { key: 'a', bodyLength: BODY, time: 2, copy: true });
    expect(store.peek('a').map(isPeerCopy)).toEqual([false]);
    await copy(store, 'b');
    await copy(store, 'b', 100);
    expect(store.peek('copy b').map(isPeerCopy)).toEqual([true]);
  });

  test('are not kept with a share of 0, nor if one is larger than the share', async () => {
    const none = smallStore(0);
    expect((await copy(none, 'a')).kept).toBe(false);
    expect(none.find('copy a')).toEqual([]);
    const small = smallStore(0.01);
    expect((await copy(small, 'a', 20_000)).kept).toBe(false);
    expect((await copy(small, 'b')).kept).toBe(true);
  });

  test('refuse a share that is none', () => {
    for (const share of [-0.1, 0.91, Number.NaN])
      expect(() => smallStore(share)).toThrow(
        /^Cannot make a store: expected peerCopiesShare from 0 to 0.9, got/,
      );
  });
});
