/**
 * Operations at the same time in two tiers must come out as if they had happened one after the
 * other: the newer stays, and a listing of the keys misses none.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { bodyBytes, storeBody, storedResponse } from '../../../test/store/stored-responses.ts';
import { DiskStore } from '../disk/disk-store.ts';
import { MemoryStore } from '../memory/memory-store.ts';
import type { LowerStore } from '../response-store.ts';
import { TieredStore } from './tiered-store.ts';

const KEY = 'http://example.com/a';
const statistics = { admitted: 0, refused: 0, bytes: 0 };
const ALL = { admit: () => true, statistics };
const NONE = { admit: () => false, statistics };
const cleanup: (() => unknown)[] = [];
afterEach(async () => {
  for (const one of cleanup.splice(0).reverse()) await one();
});

async function openDisk(): Promise<{ readonly disk: DiskStore; readonly reopen: () => Promise<DiskStore> }> {
  const folder = mkdtempSync(join(tmpdir(), 'tiered-order-'));
  cleanup.push(() => rmSync(folder, { recursive: true, force: true }));
  const open = () => DiskStore.open({ folder, capacityBytes: 10_000_000, headCacheBytes: 0 });
  const reopen = async () => {
    const again = await open();
    cleanup.push(() => again.close());
    return again;
  };
  return { disk: await open(), reopen };
}

const timesOf = (list: readonly { readonly responseTime: number }[]) =>
  list.map(({ responseTime }) => responseTime);

test('an old response that is used while a newer one is being committed does not follow it to the disk', async () => {
  const { disk, reopen } = await openDisk();
  const memory = new MemoryStore({ capacityBytes: 1_000_000, maxBodyBytes: 6000 });
  const store = await TieredStore.open(memory, disk, { admission: NONE });
  const { response: old } = await storeBody(store, { key: KEY, bodyLength: 100, time: 1 });
  const writer = store.create(KEY, 300_000);
  await writer.write(bodyBytes(300_000, 2));
  const fresh = storedResponse({ key: KEY, bodyLength: 300_000, time: 2 });
  const committing = writer.commit(fresh);
  // Still the right answer, and its first use.
  expect(timesOf(await store.find(KEY))).toEqual([old.responseTime]);
  expect(await committing).toBe(true);
  await store.settled();
  expect(timesOf(await store.find(KEY))).toEqual([fresh.responseTime]);
  await store.close();
  expect(timesOf(await (await reopen()).find(KEY))).toEqual([fresh.responseTime]);
});

test('a refresh after the disk failed leaves nothing older there', async () => {
  const { disk, reopen } = await openDisk();
  const memory = new MemoryStore({ capacityBytes: 1_000_000 });
  const failing = new Proxy(disk, {
    get(target, name) {
      if (name === 'create' && broken) {
        return () => {
          throw new Error('input/output error');
        };
      }
      const value = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  let broken = false;
  const store = await TieredStore.open(memory, failing, { admission: ALL });
  const { response } = await storeBody(store, { key: KEY, bodyLength: 100, time: 1 });
  await store.settled();
  broken = true;
  await storeBody(store, { key: `${KEY}/other`, bodyLength: 100, time: 2 });
  await store.settled();
  expect(store.diskFailure).toBeDefined();
  expect(await store.refresh(response, { ...response, lifetimeMs: 0, responseTime: 3 })).toBe(true);
  await store.close();
  expect(timesOf(await (await reopen()).find(KEY)).includes(response.responseTime)).toBe(false);
});

test('a key that goes from tier to tier while keys are listed is given', async () => {
  const memory = new MemoryStore({ capacityBytes: 1_000_000 });
  const disk = new MemoryStore({ capacityBytes: 10_000_000 });
  const store = await TieredStore.open(memory, disk, { admission: NONE });
  cleanup.push(() => store.close());
  const put = (to: TieredStore | MemoryStore, key: string, time: number) =>
    storeBody(to, { key: `${KEY}/${key}`, bodyLength: 10, time });
  await put(disk, 'first', 1);
  await put(disk, 'moving', 2);
  await put(store, 'hot', 3);
  const given: string[] = [];
  const list = store.keys();
  for (let i = 0; i < 2; i++) given.push((await list.next()).value as string);
  // It is read and comes into memory; the disk drops it; then it is used, and goes back to the disk
  // when the list has passed there.
  await put(store, 'new', 4);
  const [moving] = await store.find(`${KEY}/moving`);
  store.bodyInMemory(moving!);
  await store.settled();
  disk.removeKey(`${KEY}/moving`);
  memory.rearm(`${KEY}/moving`);
  for await (const key of list) {
    given.push(key);
    if (key !== `${KEY}/new`) continue;
    expect(await store.find(`${KEY}/moving`)).toHaveLength(1);
    await store.settled();
    expect(disk.has(`${KEY}/moving`)).toBe(true);
  }
  expect(given).toContain(`${KEY}/moving`);
});

test('a slow look at the disk does not hide what came there meanwhile', async () => {
  const { disk } = await openDisk();
  const memory = new MemoryStore({ capacityBytes: 1_000_000, maxBodyBytes: 50_000 });
  let gate: Promise<void> | undefined;
  const slow = new Proxy(disk as LowerStore, {
    get(target, name) {
      const value = Reflect.get(target, name, target);
      if (name === 'find' && gate !== undefined) {
        const wait = gate;
        return async (key: string) => {
          const list = await target.find(key);
          await wait;
          return list;
        };
      }
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  const store = await TieredStore.open(memory, slow, { admission: ALL });
  cleanup.push(() => store.close());
  const variant = (name: string, bodyLength: number, time: number) =>
    storeBody(store, { key: KEY, bodyLength, time, varied: [['accept', name]] });
  await variant('one', 100, 1);
  // In both tiers, so that the disk must be asked until it is known that it has nothing more.
  const { response } = await variant('two', 90_000, 2);
  await store.remove(response);
  let open = () => {};
  gate = new Promise((resolve) => {
    open = resolve;
  });
  const looking = store.find(KEY);
  gate = undefined;
  await variant('two', 90_000, 3);
  open();
  await looking;
  const found = await store.find(KEY);
  expect(found.map(({ varied }) => varied[0]![1]).sort()).toEqual(['one', 'two']);
});

test('a listener that throws harms neither the store nor the others', async () => {
  const warnings: Error[] = [];
  const warn = (warning: Error) => warnings.push(warning);
  process.on('warning', warn);
  cleanup.push(() => process.off('warning', warn));
  const memory = new MemoryStore({ capacityBytes: 1_000_000 });
  const disk = new MemoryStore({ capacityBytes: 10_000_000 });
  const store = await TieredStore.open(memory, disk, { admission: ALL });
  cleanup.push(() => store.close());
  const told: string[] = [];
  store.watch(() => {
    throw new Error('a mistake in a listener');
  });
  store.watch((key, change) => told.push(`${change} ${key}`));
  expect((await storeBody(store, { key: KEY, bodyLength: 10, time: 1 })).kept).toBe(true);
  await store.settled();
  expect(told).toEqual([`added ${KEY}`]);
  expect(await store.removeKey(KEY)).toBe(1);
  expect(told).toEqual([`added ${KEY}`, `removed ${KEY}`]);
  expect(memory.statistics.responses + disk.statistics.responses).toBe(0);
  await new Promise((resolve) => setImmediate(resolve));
  expect(warnings.map(({ message }) => message)).toContain('a mistake in a listener');
});
