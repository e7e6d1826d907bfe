import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { storeContract } from '../../../test/store/store-contract.ts';
import {
  bodyBytes,
  expectBytes,
  keysOf,
  readAll,
  storeBody,
  storedResponse,
} from '../../../test/store/stored-responses.ts';
import { DiskStore } from '../disk/disk-store.ts';
import { MemoryStore } from '../memory/memory-store.ts';
import { BodyError, type BodyWriter } from '../response-store.ts';
import { Admission } from './admission.ts';
import { TieredStore, type TieredStoreOptions } from './tiered-store.ts';

const EVERYTHING = { admit: () => true, statistics: { admitted: 0, refused: 0, bytes: 0 } };
const KEY = 'http://example.org/';

for (const [name, admission, keepsAll] of [
  ['TieredStore over memory, admitting all', () => EVERYTHING, true],
  ['TieredStore over memory, admitting at second sight', () => new Admission({ capacity: 1000 }), false],
] as const) {
  storeContract(
    name,
    async ({ capacityBytes, variantsPerKey }) => {
      const capacity = Math.floor(capacityBytes / 2);
      const memory = new MemoryStore({ capacityBytes: capacity, variantsPerKey, maxBodyBytes: 8_000 });
      const disk = new MemoryStore({ capacityBytes: capacity, variantsPerKey, maxBodyBytes: 1_000_000 });
      const store = await TieredStore.open(memory, disk, { admission: admission() });
      return { store, openReaders: () => memory.inUse.readers + disk.inUse.readers };
    },
    { keepsAll, countsOnce: false },
  );
}

for (const [name, admission, keepsAll] of [
  ['TieredStore over a disk, admitting all', () => EVERYTHING, true],
  ['TieredStore over a disk, admitting at second sight', () => new Admission({ capacity: 1000 }), false],
] as const) {
  storeContract(
    name,
    async ({ capacityBytes, variantsPerKey }) => {
      const folder = await mkdtemp(join(tmpdir(), 'tiered-'));
      const memory = new MemoryStore({
        capacityBytes: Math.floor(capacityBytes / 8),
        variantsPerKey,
        maxBodyBytes: 8_000,
      });
      const disk = await openDisk(folder, Math.floor((capacityBytes * 7) / 8), variantsPerKey);
      const store = await TieredStore.open(memory, disk, { admission: admission() });
      return {
        store,
        openReaders: () => memory.inUse.readers,
        dispose: () => rm(folder, { recursive: true, force: true }),
      };
    },
    { keepsAll, countsOnce: false, commands: 2000, smallCapacity: 8 * 2 ** 20 },
  );
}

describe('TieredStore', () => {
  let cleanup: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const one of cleanup.reverse()) await one();
    cleanup = [];
  });

  async function tiers(options: Partial<TieredStoreOptions> = {}, disk: MemoryStore = largeStore()) {
    const memory = new MemoryStore({ capacityBytes: 1_000_000, maxBodyBytes: 50_000 });
    const store = await TieredStore.open(memory, disk, {
      admission: new Admission({ capacity: 1000 }),
      ...options,
    });
    cleanup.push(() => store.close());
    return { memory, disk, store };
  }

  test('what comes once stays in memory; what is used, or fetched again, goes to the disk', async () => {
    const { memory, disk, store } = await tiers();
    const { response, body } = await storeBody(store, { key: KEY, bodyLength: 1000, time: 1 });
    await store.settled();
    expect([memory.has(KEY), disk.has(KEY)]).toEqual([true, false]);
    expect(store.find(KEY)).toEqual([response]);
    await store.settled();
    expect(disk.has(KEY)).toBe(true);
    expectBytes(await readAll(disk.read(response)), body);

    const other = `${KEY}other`;
    await storeBody(store, { key: other, bodyLength: 1000, time: 2 });
    memory.removeKey(other);
    await storeBody(store, { key: other, bodyLength: 1000, time: 3 });
    expect(disk.has(other)).toBe(true);
  });

  test('one-hit wonders do not reach the disk, but at the rate of the filter', async () => {
    const { disk, store } = await tiers({
      admission: new Admission({ capacity: 5000, falsePositiveRate: 0.001 }),
    });
    for (let i = 0; i < 2000; i++) await storeBody(store, { key: `${KEY}${i}`, bodyLength: 100, time: i });
    expect(disk.statistics.responses).toBeLessThan(10);
    expect(store.statistics.refused).toBeGreaterThan(1990);
  });

  test('a long body is kept at first sight while the disk has room to spare', async () => {
    const { disk, store } = await tiers(
      { spareBelow: 0.5 },
      new MemoryStore({ capacityBytes: 2_000_000, maxBodyBytes: 500_000 }),
    );
    for (const [i, kept] of [true, true, false].entries()) {
      const writer = store.create(`${KEY}${i}`, 400_000);
      await writer.write(bodyBytes(400_000, i));
      expect(await writer.commit(storedResponse({ key: `${KEY}${i}`, bodyLength: 400_000, time: i }))).toBe(
        kept,
      );
      expect(disk.has(`${KEY}${i}`)).toBe(kept);
    }
  });

  test.each([
    ['of known length', 400_000],
    ['of unknown length', undefined],
  ])('a long body %s is spooled at first sight and kept at second', async (_, expectedLength) => {
    const { memory, disk, store } = await tiers({ spareBelow: 0 });
    const body = bodyBytes(400_000, 5);
    const response = storedResponse({ key: KEY, bodyLength: body.length, time: 5 });
    for (const kept of [false, true]) {
      const writer = store.create(KEY, expectedLength);
      const followers = [
        readAll(writer.read()),
        readAll(writer.read(399_000)),
        readAll(writer.read(40_000, 60_000)),
      ];
      for (let at = 0; at < body.length; at += 9_000) {
        await writer.write(body.slice(at, at + 9_000));
        expect(writer.length).toBe(Math.min(body.length, at + 9_000));
      }
      followers.push(readAll(writer.read(10)));
      expect(await writer.commit(response)).toBe(kept);
      expectBytes((await followers[0])!, body);
      expectBytes((await followers[1])!, body.subarray(399_000));
      expectBytes((await followers[2])!, body.subarray(40_000, 60_000));
      expectBytes((await followers[3])!, body.subarray(10));
      expect(await store.find(KEY)).toEqual(kept ? [response] : []);
    }
    expect([memory.has(KEY), disk.has(KEY)]).toEqual([false, true]);
    expectBytes(await readAll(store.read(response)), body);
    expect(memory.has(KEY), 'too long for memory').toBe(false);
    expect(memory.inUse).toEqual({ readers: 0, pendingBytes: 0 });
  });

  test('a hit on disk brings it into memory', async () => {
    const disk = largeStore();
    const { response, body } = await storeBody(disk, { key: KEY, bodyLength: 5000, time: 1 });
    const { memory, store } = await tiers({}, disk);
    expect(await store.find(KEY)).toEqual([response]);
    expectBytes(await readAll(store.read(response, 0, 100)), body.subarray(0, 100));
    await store.settled();
    expect(memory.has(KEY), 'after a part of it').toBe(false);
    expectBytes(await readAll(store.read(response)), body);
    await store.settled();
    expect(memory.has(KEY), 'after all of it').toBe(true);
    expect(store.find(KEY), 'at once').toEqual([response]);
    expectBytes(memory.bodyInMemory(response)!, body);
  });

  test('variants in different tiers are found together', async () => {
    const disk = largeStore();
    await storeBody(disk, { key: KEY, bodyLength: 10, time: 1, varied: [['a', '1']] });
    await storeBody(disk, { key: KEY, bodyLength: 10, time: 3, varied: [['a', '3']] });
    const { memory, store } = await tiers({}, disk);
    memory.put(storedResponse({ key: KEY, bodyLength: 10, time: 2, varied: [['a', '2']] }), bodyBytes(10, 2));
    const found = await store.find(KEY);
    expect(found.map(({ varied }) => varied[0]![1])).toEqual(['3', '2', '1']);
    for (const one of found) {
      await readAll(store.read(one));
      await store.settled();
    }
    expect(memory.peek(KEY)).toHaveLength(3);
    expect(store.find(KEY)).toHaveLength(3);
    expect(await store.removeKey(KEY)).toBe(3);
    expect(await store.find(KEY)).toEqual([]);
  });

  test('a variant that leaves memory while it is written to the disk is found there', async () => {
    const { memory, store } = await tiers({ admission: EVERYTHING });
    await storeBody(store, { key: KEY, bodyLength: 10, time: 1, varied: [['a', '1']] });
    const response = storedResponse({ key: KEY, bodyLength: 10, time: 2, varied: [['a', '2']] });
    const writer = store.create(KEY, 10);
    await writer.write(bodyBytes(10, 2));
    const committed = writer.commit(response);
    memory.remove(response);
    await store.find(KEY);
    expect(await committed).toBe(true);
    expect(await store.find(KEY)).toHaveLength(2);
  });

  test('an outdated copy on disk does not come back when memory forgets the newer one', async () => {
    const { memory, store } = await tiers();
    await storeBody(store, { key: KEY, bodyLength: 100, time: 1 });
    store.find(KEY);
    await store.settled();
    const { response } = await storeBody(store, { key: KEY, bodyLength: 200, time: 2 });
    memory.removeKey(KEY);
    expect(await store.find(KEY)).toEqual([response]);
    // A long one takes the place of a short one in memory, too.
    await readAll(store.read(response));
    await store.settled();
    const long = await storeBody(store, { key: KEY, bodyLength: 100_000, time: 3 });
    expect(long.kept).toBe(true);
    expect(await store.find(KEY)).toEqual([long.response]);
  });

  test('a key on disk is written through, also when admission has forgotten it', async () => {
    const { memory, disk, store } = await tiers({ admission: { ...EVERYTHING, admit: () => false } });
    for (const settle of [true, false]) {
      await storeBody(store, { key: KEY, bodyLength: 100, time: 1 });
      store.find(KEY);
      // Written already, or about to be.
      if (settle) await store.settled();
      const { response } = await storeBody(store, { key: KEY, bodyLength: 200, time: 2 });
      await store.settled();
      expect(disk.peek(KEY)).toEqual([response]);
      memory.removeKey(KEY);
      expect(await store.find(KEY)).toEqual([response]);
      await store.removeKey(KEY);
    }
  });

  test('a removal undoes a copy that is under way', async () => {
    const { disk, store } = await tiers();
    for (let i = 0; i < 20; i++) {
      const { response } = await storeBody(store, { key: KEY, bodyLength: 100, time: i });
      store.find(KEY);
      if (i % 2 === 0) expect(await store.remove(response)).toBe(1);
      else expect(await store.removeKey(KEY)).toBe(1);
      await store.settled();
      expect(disk.has(KEY)).toBe(false);
      expect(await store.find(KEY)).toEqual([]);
    }
  });

  test('a removal undoes a promotion that is under way', async () => {
    const { memory, disk, store } = await tiers();
    for (let i = 0; i < 20; i++) {
      const { response } = await storeBody(disk, { key: KEY, bodyLength: 100, time: i });
      const reading = readAll(store.read(response));
      if (i % 2 === 0) await reading;
      await store.removeKey(KEY);
      await reading;
      await store.settled();
      expect([memory.has(KEY), disk.has(KEY)]).toEqual([false, false]);
    }
  });

  test('what the disk evicted is written again when it is used again', async () => {
    const { disk, store } = await tiers();
    await storeBody(store, { key: KEY, bodyLength: 100, time: 1 });
    store.find(KEY);
    await store.settled();
    disk.removeKey(KEY);
    store.find(KEY);
    await store.settled();
    expect(disk.has(KEY)).toBe(true);
  });

  test('a disk that fails: memory goes on, the owner is told once, lost keys are reported', async () => {
    const disk = new FailingStore({ capacityBytes: 10_000_000 });
    await storeBody(disk, { key: `${KEY}cold`, bodyLength: 100, time: 1 });
    const failures: Error[] = [];
    const { store } = await tiers(
      { admission: EVERYTHING, onDiskFailure: (error) => failures.push(error) },
      disk,
    );
    const seen: string[] = [];
    store.watch((key, change) => seen.push(`${change} ${key.slice(KEY.length)}`));
    disk.failing = true;
    for (let i = 0; i < 3; i++) {
      const { response, body, kept } = await storeBody(store, {
        key: `${KEY}${i}`,
        bodyLength: 100,
        time: i,
      });
      expect(kept).toBe(true);
      expectBytes(await readAll(store.read(response)), body);
    }
    expect(failures).toHaveLength(1);
    expect(store.diskFailure).toMatchObject({ code: 'write-failed' });
    expect(await store.find(`${KEY}cold`)).toEqual([]);
    expect(seen.sort()).toEqual(['added 0', 'added 1', 'added 2', 'removed cold']);
    expect(await keysOf(store)).toEqual(new Set([0, 1, 2].map((i) => `${KEY}${i}`)));
    // What is invalidated must not come back at the next start.
    expect(await store.removeKey(`${KEY}cold`)).toBeGreaterThanOrEqual(0);
    expect(disk.has(`${KEY}cold`)).toBe(false);
    // A long body is let through, without the disk.
    const long = await storeBody(store, { key: `${KEY}long`, bodyLength: 300_000, time: 9, chunk: 10_000 });
    expect(long.kept).toBe(false);
  });

  test('a disk that fails under a long body: its readers get the error, the rest goes on', async () => {
    const disk = new FailingStore({ capacityBytes: 10_000_000 });
    const { store } = await tiers({ admission: EVERYTHING }, disk);
    const writer = store.create(KEY, 200_000);
    const follower = readAll(writer.read()).catch((error: unknown) => error);
    await writer.write(bodyBytes(1000, 1));
    disk.failing = true;
    await expect(writer.write(bodyBytes(1000, 2))).rejects.toMatchObject({ code: 'write-failed' });
    writer.abort(new Error('the disk failed'));
    expect(await follower).toBeInstanceOf(BodyError);
    expect(store.diskFailure).toBeDefined();
    expect((await storeBody(store, { key: KEY, bodyLength: 100, time: 1 })).kept).toBe(true);
  });

  test('a disk that failed under another body: the readers of a complete long body get all of it', async () => {
    const disk = new FailingStore({ capacityBytes: 10_000_000 });
    const { store } = await tiers({ admission: EVERYTHING }, disk);
    const [body, other] = [store.create(KEY, 200_000), store.create(`${KEY}other`, 200_000)];
    const follower = readAll(body.read());
    const bytes = bodyBytes(200_000, 1);
    await body.write(bytes);
    disk.failing = true;
    await expect(other.write(bodyBytes(1000, 2))).rejects.toMatchObject({ code: 'write-failed' });
    other.abort(new Error('the disk failed'));
    expect(store.diskFailure).toBeDefined();
    expect(await body.commit(storedResponse({ key: KEY, bodyLength: 200_000, time: 1 }))).toBe(false);
    expectBytes(await follower, bytes);
  });

  test('damage on a real disk: an error, and it is gone everywhere', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tiered-'));
    cleanup.push(() => rm(folder, { recursive: true, force: true }));
    const disk = await openDisk(folder, 16 * 2 ** 20, 8);
    const memory = new MemoryStore({ capacityBytes: 1_000_000, maxBodyBytes: 50_000 });
    const store = await TieredStore.open(memory, disk, { admission: EVERYTHING });
    cleanup.push(() => store.close());
    const { response, body, kept } = await storeBody(store, { key: KEY, bodyLength: 300_000, time: 1 });
    expect(kept).toBe(true);
    expectBytes(await readAll(store.read(response)), body);
    const seen: string[] = [];
    store.watch((key, change) => seen.push(`${change} ${key}`));
    const bodies = join(folder, 'bodies');
    for (const path of await readdir(bodies, { recursive: true, withFileTypes: true })) {
      if (!path.isFile()) continue;
      const file = join(path.parentPath ?? path.path, path.name);
      const bytes = await readFile(file);
      bytes[150_000]! ^= 1;
      await writeFile(file, bytes);
    }
    const damaged = await readAll(store.read(response)).catch((error: unknown) => error);
    expect(damaged).toMatchObject({ code: 'corrupt' });
    await store.settled();
    expect(await store.find(KEY)).toEqual([]);
    expect(store.statistics.corrupt).toBe(1);
    expect(seen).toEqual([`removed ${KEY}`]);
  });

  test('what was used is there after a restart; what came once is not', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tiered-'));
    cleanup.push(() => rm(folder, { recursive: true, force: true }));
    const open = async () =>
      TieredStore.open(
        new MemoryStore({ capacityBytes: 1_000_000 }),
        await openDisk(folder, 16 * 2 ** 20, 8),
        {
          admission: new Admission({ capacity: 1000 }),
        },
      );
    const before = await open();
    const { response, body } = await storeBody(before, { key: KEY, bodyLength: 3000, time: 1 });
    await storeBody(before, { key: `${KEY}once`, bodyLength: 3000, time: 2 });
    await before.find(KEY);
    await before.close();
    const after = await open();
    cleanup.push(() => after.close());
    expect(await keysOf(after)).toEqual(new Set([KEY]));
    const [found] = await after.find(KEY);
    expect(found).toEqual(response);
    expectBytes(await readAll(after.read(found!)), body);
  });
});

function largeStore(): MemoryStore {
  return new MemoryStore({ capacityBytes: 10_000_000, maxBodyBytes: 1_000_000 });
}

/** A disk of which no more can be written when it fails. */
class FailingStore extends MemoryStore {
  failing = false;

  override create(...input: Parameters<MemoryStore['create']>) {
    const writer = super.create(...input);
    const write = writer.write.bind(writer);
    (writer as BodyWriter).write = (chunk) => {
      if (!this.failing) return write(chunk);
      const error = new BodyError('write-failed', 'Cannot write a body to the disk: no space left on device');
      writer.abort(error);
      return Promise.reject(error);
    };
    return writer;
  }
}

function openDisk(folder: string, capacityBytes: number, variantsPerKey: number): Promise<DiskStore> {
  return DiskStore.open({ folder, capacityBytes, variantsPerKey });
}
