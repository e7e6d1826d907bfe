/**
 * A disk that stutters: single reads, writes and syncs that fail while others do not. What went
 * does not come back, and no list has holes.
 */

import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type FaultyCall, faults } from '../../../test/store/faulty-files.ts';
import { keysOf, storeBody, storedResponse } from '../../../test/store/stored-responses.ts';
import type { StoredResponse } from '../../policy/stored-response.ts';
import { DiskStore } from './disk-store.ts';
import type { DiskStoreOptions } from './disk-store-options.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bloomery-stutter-'));
});
afterEach(() => {
  faults.decide = undefined;
  rmSync(folder, { recursive: true, force: true });
});

const open = (options: Partial<DiskStoreOptions> = {}) =>
  DiskStore.open({ folder: join(folder, 'store'), capacityBytes: 2 ** 24, headCacheBytes: 0, ...options });

/** Opens a copy of the folder, as after a crash of the process at this moment. */
async function afterCrash(options: Partial<DiskStoreOptions> = {}): Promise<DiskStore> {
  const copy = join(folder, 'copy');
  cpSync(join(folder, 'store'), copy, {
    recursive: true,
    filter: (from) => !basename(from).startsWith('lock'),
  });
  return DiskStore.open({ folder: copy, capacityBytes: 2 ** 24, ...options });
}

/**
 * The calls of one kind on packs fail by number, from the next on: 0 is the first. Gives how many
 * there were.
 */
function failPackCalls(call: FaultyCall, which: (number: number) => boolean): () => number {
  let count = 0;
  faults.decide = (made, path) => {
    if (made !== call || !path.includes('/packs/')) return undefined;
    return which(count++) ? 'EIO' : undefined;
  };
  return () => count;
}

/** Two variants of a key and another key, in a store that was just opened. */
async function stored(): Promise<{ store: DiskStore; first: StoredResponse }> {
  const before = await open();
  const variant = (name: string) => [['accept', name]] as const;
  const { response: first } = await storeBody(before, {
    key: 'a',
    bodyLength: 10,
    time: 1,
    varied: variant('x'),
  });
  await storeBody(before, { key: 'a', bodyLength: 10, time: 2, varied: variant('y') });
  await storeBody(before, { key: 'b', bodyLength: 10, time: 3 });
  await before.close();
  return { store: await open(), first };
}

const etags = async (store: DiskStore, key: string) => (await store.find(key)).map(({ etag }) => etag);

describe('one read fails, whichever: what is replaced or removed is gone', () => {
  // A change reads two records, and once more what could not be read; one that read all of them
  // twice would read four.
  const one = [0, 1, 2, 3];

  test.each(one)('commit, read %i', async (failing) => {
    const { store, first } = await stored();
    const calls = failPackCalls('read', (number) => number === failing);
    expect((await storeBody(store, { ...first, time: 7 })).kept).toBe(true);
    expect(calls()).toBeGreaterThanOrEqual(2);
    faults.decide = undefined;
    expect(await etags(store, 'a')).toEqual(['"7"', '"2"']);
    await store.close();
  });

  test.each(one)('remove, read %i', async (failing) => {
    const { store, first } = await stored();
    failPackCalls('read', (number) => number === failing);
    expect(await store.remove(first)).toBe(1);
    faults.decide = undefined;
    expect(await etags(store, 'a')).toEqual(['"2"']);
    await store.close();
  });

  test.each(one)('removeVariant, read %i', async (failing) => {
    const { store, first } = await stored();
    failPackCalls('read', (number) => number === failing);
    // Another response of the same variant.
    expect(await store.removeVariant({ ...first, responseTime: 5 })).toBe(1);
    faults.decide = undefined;
    expect(await etags(store, 'a')).toEqual(['"2"']);
    expect(await store.removeVariant({ ...first, responseTime: 5 })).toBe(0);
    await store.close();
  });

  test.each(one)('removeKey, read %i', async (failing) => {
    const { store } = await stored();
    failPackCalls('read', (number) => number === failing);
    const told: string[] = [];
    store.watch((key, change) => told.push(`${change} ${key}`));
    expect(await store.removeKey('a')).toBe(2);
    faults.decide = undefined;
    expect([await etags(store, 'a'), told]).toEqual([[], ['removed a']]);
    await store.close();
  });

  test.each(one)('refresh to the variant of another, read %i', async (failing) => {
    const { store, first } = await stored();
    const [second] = await store.find('a');
    failPackCalls('read', (number) => number === failing);
    expect(await store.refresh(second!, { ...second!, etag: '"9"', varied: first.varied })).toBe(true);
    faults.decide = undefined;
    expect(await etags(store, 'a')).toEqual(['"9"']);
    await store.close();
  });
});

test('no read works: removeVariant takes what may be it, and a new response is not a new key', async () => {
  const { store, first } = await stored();
  const told: string[] = [];
  store.watch((key, change) => told.push(`${change} ${key}`));
  failPackCalls('read', () => true);
  expect(await store.removeVariant(first)).toBe(2);
  expect((await storeBody(store, { key: 'b', bodyLength: 10, time: 7 })).kept).toBe(true);
  faults.decide = undefined;
  expect([await etags(store, 'a'), await etags(store, 'b')]).toEqual([[], ['"7"']]);
  expect(told).toEqual(['removed a', 'changed b']);
  await store.close();
});

describe('all keys', () => {
  async function fifty(): Promise<DiskStore> {
    const store = await open();
    for (let i = 0; i < 50; i++) await storeBody(store, { key: `k${i}`, bodyLength: 100, time: i });
    return store;
  }

  test('while no record can be read: an error, and no list with holes', async () => {
    const store = await fifty();
    failPackCalls('read', () => true);
    await expect(keysOf(store)).rejects.toThrow(/^Cannot list all keys: expected .* entry 1, got EIO/);
    faults.decide = undefined;
    expect((await keysOf(store)).size).toBe(50);
    await store.close();
  });

  test('without free descriptors for a moment: all of them', async () => {
    const before = await fifty();
    await before.close();
    const store = await open();
    const calls = failPackCalls('open', (number) => number < 3);
    expect((await keysOf(store)).size).toBe(50);
    expect(calls()).toBe(4);
    await store.close();
  });
});

describe('a move that finds no room', () => {
  const options = { capacityBytes: 300_000, inlineBytes: 3000 };

  /** Nearly full, and a third of each pack is garbage. Gives the keys that are there. */
  async function withGarbage(): Promise<{ store: DiskStore; there: string[] }> {
    const store = await open(options);
    const keys: string[] = [];
    while (store.diskBytes < 255_000) {
      keys.push(`k${keys.length}`);
      await storeBody(store, { key: keys.at(-1)!, bodyLength: 2000, time: keys.length });
    }
    for (let i = 0; i < keys.length; i += 3) await store.removeKey(keys[i]!);
    return { store, there: keys.filter((key) => store.has(key)) };
  }

  test('what goes is in the log before it is gone in memory', async () => {
    const { store, there } = await withGarbage();
    const early: string[] = [];
    let logged = 0;
    let moves = 0;
    faults.decide = (call, path) => {
      if (call !== 'writev') return undefined;
      if (path.includes('/packs/')) {
        moves++;
        return 'ENOSPC';
      }
      // The first write of the log after it: nothing may have gone yet.
      if (path.includes('/index/') && moves === 1 && logged++ === 0) {
        early.push(...there.filter((key) => !store.has(key)));
      }
      return undefined;
    };
    await storeBody(store, { key: 'new', bodyLength: 70_000, time: 1 });
    faults.decide = undefined;
    const gone = there.filter((key) => !store.has(key));
    expect([logged > 0, gone.length > 0, early]).toEqual([true, true, []]);
    const again = await afterCrash(options);
    for (const key of gone) expect(await again.find(key), key).toEqual([]);
    await again.close();
    await store.close();
  });

  test('if neither log nor pack can be written, entries stay', async () => {
    const { store, there } = await withGarbage();
    faults.decide = (call, path) =>
      call === 'writev' && !path.includes('/store/tmp/') ? 'ENOSPC' : undefined;
    expect((await storeBody(store, { key: 'new', bodyLength: 70_000, time: 1 })).kept).toBe(false);
    faults.decide = undefined;
    for (const key of there) expect(await store.find(key), key).toHaveLength(1);
    await store.close();
  });
});

test('a sync that fails: what was not kept is not in the log', async () => {
  const options = { syncRemovals: true };
  const store = await open(options);
  await storeBody(store, { key: 'a', bodyLength: 100, time: 1 });
  const bytes = store.diskBytes;
  faults.decide = (call) => (call === 'fdatasync' ? 'EIO' : undefined);
  expect((await storeBody(store, { key: 'a', bodyLength: 200, time: 2 })).kept).toBe(false);
  faults.decide = undefined;
  expect(await etags(store, 'a')).toEqual(['"1"']);
  const again = await afterCrash(options);
  expect(await etags(again, 'a')).toEqual(['"1"']);
  await again.close();
  // The record is in its pack, as garbage; the log is as long as it was.
  const record = 32 + JSON.stringify(storedResponse({ key: 'a', bodyLength: 200, time: 2 })).length + 200;
  expect(store.diskBytes - bytes).toBeLessThan(record);
  await store.close();
});
