/**
 * Harm that one tier must not do to the other: push out responses that are wanted for others that
 * are not, or pile up writes for a slow disk.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import {
  bodyBytes,
  expectBytes,
  readAll,
  storeBody,
  storedResponse,
} from '../../../test/store/stored-responses.ts';
import { DiskStore } from '../disk/disk-store.ts';
import { MemoryStore } from '../memory/memory-store.ts';
import type { BodyWriter } from '../response-store.ts';
import { TieredStore } from './tiered-store.ts';

const counts = { admitted: 0, refused: 0, bytes: 0 };
const cleanup: (() => unknown)[] = [];
afterEach(async () => {
  for (const one of cleanup.splice(0).reverse()) await one();
});

describe('bodies that are not admitted', () => {
  async function fullDisk() {
    const folder = mkdtempSync(join(tmpdir(), 'tiered-pressure-'));
    cleanup.push(() => rmSync(folder, { recursive: true, force: true }));
    const disk = await DiskStore.open({ folder, capacityBytes: 16_000_000, maxObjectBytes: 4_000_000 });
    // Until it is full: the first ones have been evicted by then.
    let time = 0;
    while (disk.statistics.evictions === 0) {
      await storeBody(disk, { key: `http://wanted/${time}`, bodyLength: 100_000, time: time++ });
    }
    const memory = new MemoryStore({ capacityBytes: 1_000_000, maxBodyBytes: 50_000 });
    const admission = { admit: (key: string) => key.startsWith('http://wanted/'), statistics: counts };
    const store = await TieredStore.open(memory, disk, { admission });
    cleanup.push(() => store.close());
    return { disk, store };
  }

  test('push nothing out, however many and however long; their readers get all', async () => {
    const { disk, store } = await fullDisk();
    const { responses, evictions } = disk.statistics;
    for (const [time, length] of [3_000_000, 300_000, 2_000_000, 700_000].entries()) {
      const key = `http://once/${time}`;
      const body = bodyBytes(length, time);
      const writer = store.create(key, time % 2 === 0 ? length : undefined);
      const following = readAll(writer.read());
      for (let at = 0; at < length; at += 50_000) await writer.write(body.slice(at, at + 50_000));
      expect(await writer.commit(storedResponse({ key, bodyLength: length, time }))).toBe(false);
      expectBytes(await following, body);
    }
    expect(disk.statistics).toMatchObject({ responses, evictions });
    // What is admitted does.
    expect((await storeBody(store, { key: 'http://wanted/more', bodyLength: 900_000, time: 77 })).kept).toBe(
      true,
    );
    expect(disk.statistics.evictions).toBeGreaterThan(evictions);
  });

  test('find some room on a full disk: one who reads slowly does not hold up the others', async () => {
    const { store } = await fullDisk();
    const body = bodyBytes(400_000, 5);
    const writer = store.create('http://once/slow', body.length);
    const slow = writer.read();
    const fast = readAll(writer.read());
    for (let at = 0; at < body.length; at += 50_000) await writer.write(body.slice(at, at + 50_000));
    await writer.commit(storedResponse({ key: 'http://once/slow', bodyLength: body.length, time: 5 }));
    expectBytes(await fast, body);
    expectBytes(await readAll(slow), body);
  });

  test('do not drop a body while a reader that began in memory has yet to read it', async () => {
    const { store } = await fullDisk();
    const body = bodyBytes(3_500_000, 6);
    const writer = store.create('http://once/moving', undefined);
    const write = async (from: number, to: number) => {
      for (let at = from; at < to; at += 20_000)
        await writer.write(body.slice(at, Math.min(to, at + 20_000)));
    };
    await write(0, 40_000);
    const slow = [writer.read(), writer.read(10_000), writer.read(0, 30_000), writer.read(100_000, 200_000)];
    expect((await slow[0]!.next())?.length).toBeGreaterThan(0);
    const fast = readAll(writer.read());
    const given = writer.read();
    await given.next();
    given.close();
    // The window of what is let through is full long before the end: the slow ones must come.
    const writing = write(40_000, body.length).then(() =>
      writer.commit(storedResponse({ key: 'http://once/moving', bodyLength: body.length, time: 6 })),
    );
    await new Promise((resolve) => setTimeout(resolve, 100));
    const rest = await Promise.all(slow.map((reader) => readAll(reader)));
    await writing;
    expectBytes(await fast, body);
    const firstLength = body.length - rest[0]!.length;
    expect(firstLength).toBeLessThan(40_001);
    expectBytes(rest[0]!, body.subarray(firstLength));
    expectBytes(rest[1]!, body.subarray(10_000));
    expectBytes(rest[2]!, body.subarray(0, 30_000));
    expectBytes(rest[3]!, body.subarray(100_000, 200_000));
  });

  test('are kept together only as far as there is room to spare', async () => {
    const disk = new MemoryStore({ capacityBytes: 4_000_000, maxBodyBytes: 1_000_000 });
    const slow = new SlowStore(disk);
    const memory = new MemoryStore({ capacityBytes: 1_000_000, maxBodyBytes: 50_000 });
    const store = await TieredStore.open(memory, slow.store, {
      admission: { admit: () => false, statistics: counts },
      spareBelow: 0.5,
    });
    cleanup.push(() => store.close());
    const commits = Array.from({ length: 6 }, async (_, i) => {
      const key = `http://once/${i}`;
      const writer = store.create(key, 500_000);
      await writer.write(bodyBytes(500_000, i));
      return writer.commit(storedResponse({ key, bodyLength: 500_000, time: i }));
    });
    await new Promise((resolve) => setTimeout(resolve, 20));
    slow.open();
    const kept = (await Promise.all(commits)).filter((one) => one).length;
    expect(kept).toBe(3);
    expect(disk.statistics.bytes).toBeLessThan(0.5 * disk.statistics.capacityBytes);
  });
});

describe('a disk that does not keep up', () => {
  async function slowTiers() {
    const disk = new MemoryStore({ capacityBytes: 10_000_000, maxBodyBytes: 1_000_000 });
    const slow = new SlowStore(disk);
    const memory = new MemoryStore({ capacityBytes: 5_000_000, maxBodyBytes: 50_000 });
    const store = await TieredStore.open(memory, slow.store, {
      admission: { admit: () => true, statistics: counts },
      maxCopyBytes: 100_000,
    });
    cleanup.push(() => store.close());
    return { disk, slow, memory, store };
  }

  test('bodies wait for it up to the limit; the rest stays in memory and is written at its next use', async () => {
    const { disk, slow, memory, store } = await slowTiers();
    const keys = Array.from({ length: 30 }, (_, i) => `http://a/${i}`);
    const stored = keys.map((key, time) => storeBody(store, { key, bodyLength: 20_000, time }));
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(slow.waitingBytes).toBe(100_000);
    slow.open();
    expect((await Promise.all(stored)).map(({ kept }) => kept)).toEqual(keys.map(() => true));
    await store.settled();
    expect(keys.filter((key) => disk.has(key))).toHaveLength(5);
    expect(keys.every((key) => memory.has(key))).toBe(true);
    for (const key of keys) {
      await store.find(key);
      await store.settled();
    }
    expect(keys.every((key) => disk.has(key))).toBe(true);
  });

  test('what is outdated on it goes, also if the newer one is not written', async () => {
    const { disk, slow, memory, store } = await slowTiers();
    slow.open();
    await storeBody(store, { key: 'http://a/', bodyLength: 1_000, time: 1 });
    expect(disk.has('http://a/')).toBe(true);
    slow.shut();
    const others = [1, 2].map((i) =>
      storeBody(store, { key: `http://b/${i}`, bodyLength: 50_000, time: 10 + i }),
    );
    const newer = storeBody(store, { key: 'http://a/', bodyLength: 2_000, time: 2 });
    await new Promise((resolve) => setTimeout(resolve, 20));
    slow.open();
    await Promise.all([...others, newer]);
    await store.settled();
    expect(disk.peek('http://a/')).toEqual([]);
    memory.removeKey('http://a/');
    expect(await store.find('http://a/')).toEqual([]);
  });
});

/** A disk whose commits wait until it is opened. */
class SlowStore {
  readonly store: MemoryStore;
  waitingBytes = 0;
  #gate = Promise.resolve();
  #open = () => {};

  constructor(store: MemoryStore) {
    this.store = store;
    this.shut();
    const create = store.create.bind(store);
    store.create = (...input) => {
      const writer = create(...input);
      const commit = writer.commit.bind(writer);
      (writer as BodyWriter).commit = async (response) => {
        this.waitingBytes += response.bodyLength;
        await this.#gate;
        this.waitingBytes -= response.bodyLength;
        return commit(response);
      };
      return writer;
    };
  }

  open(): void {
    this.#open();
  }

  shut(): void {
    this.#gate = new Promise((resolve) => {
      this.#open = resolve;
    });
  }
}
