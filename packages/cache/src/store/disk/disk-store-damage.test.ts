/**
 * Files that rot, are cut off, vanish, or are swapped: an error before a wrong byte, and the entry
 * is gone.
 */

import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { withEffort } from '@bloomery/testkit/effort';
import { until } from '@bloomery/testkit/eventually';
import { Random } from '@bloomery/testkit/statistics';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  bodyBytes,
  expectBytes,
  keysOf,
  pause,
  readAll,
  storeBody,
  storedResponse,
} from '../../../test/store/stored-responses.ts';
import { MemoryStore } from '../memory/memory-store.ts';
import { BodyError, type ResponseStore } from '../response-store.ts';
import { TieredStore } from '../tiered/tiered-store.ts';
import { DiskStore } from './disk-store.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bloomery-damage-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const open = () => DiskStore.open({ folder, capacityBytes: 2 ** 26, headCacheBytes: 0 });
const bodyFiles = () =>
  readdirSync(join(folder, 'bodies')).flatMap((part) =>
    readdirSync(join(folder, 'bodies', part)).map((name) => join(folder, 'bodies', part, name)),
  );
/** The packs, without the reserve that lies among them. */
const packFiles = () =>
  readdirSync(join(folder, 'packs'))
    .filter((name) => name !== 'reserve')
    .map((name) => join(folder, 'packs', name));

/** Reads until it fails. What came before is right; gives the error and how much that was. */
async function readUntilError(store: DiskStore, key: string, body: Uint8Array) {
  const [response] = await store.find(key);
  const reader = store.read(response);
  let at = 0;
  try {
    for (;;) {
      const bytes = await reader.next();
      if (bytes === null) return { at, error: undefined };
      expectBytes(bytes, body.subarray(at, at + bytes.length), `${key} from ${at}`);
      at += bytes.length;
    }
  } catch (error) {
    return { at, error: error as BodyError };
  } finally {
    reader.close();
  }
}

/** Checks that the store forgets the key soon, and does not list it any more. */
async function expectForgotten(store: DiskStore, key: string): Promise<void> {
  await until(`${key} is forgotten`, async () => (await store.find(key)).length === 0);
  expect(await store.find(key)).toEqual([]);
  expect(await keysOf(store)).not.toContain(key);
}

describe('a body file', () => {
  const LENGTH = 500_000;

  test('a flipped bit anywhere: what is before its block is right, then it is corrupt', {
    timeout: 60_000,
  }, async () => {
    const random = new Random(5);
    const store = await open();
    try {
      for (let i = 0; i < withEffort(20); i++) {
        const key = `http://a/${i}`;
        const { body } = await storeBody(store, { key, bodyLength: LENGTH, time: i });
        const [path] = bodyFiles();
        const bytes = readFileSync(path);
        const at = random.below(bytes.length);
        bytes[at] ^= 1 << random.below(8);
        writeFileSync(path, bytes);
        const result = await readUntilError(store, key, body);
        expect(result.error, `byte ${at}`).toBeInstanceOf(BodyError);
        expect(result.error!.code).toBe('corrupt');
        expect(result.at).toBeLessThanOrEqual(at < LENGTH ? Math.floor(at / 65536) * 65536 : 0);
        await expectForgotten(store, key);
        expect(store.statistics.corrupt).toBe(i + 1);
        await until('the body file is removed', () => bodyFiles().length === 0);
        expect(bodyFiles()).toEqual([]);
      }
    } finally {
      await store.close();
    }
  });

  test('cut off, empty, missing, or that of another body', async () => {
    const store = await open();
    try {
      const damages: [string, BodyError['code'], (path: string) => void][] = [
        ['cut', 'corrupt', (path) => truncateSync(path, 300_000)],
        ['trailer', 'corrupt', (path) => truncateSync(path, LENGTH + 3)],
        ['empty', 'corrupt', (path) => truncateSync(path, 0)],
        ['zeros', 'corrupt', (path) => writeFileSync(path, new Uint8Array(LENGTH + 88))],
        ['missing', 'gone', (path) => rmSync(path)],
      ];
      for (const [name, code, damage] of damages) {
        const { body } = await storeBody(store, { key: name, bodyLength: LENGTH, time: 1 });
        damage(bodyFiles()[0]);
        const { at, error } = await readUntilError(store, name, body);
        expect([name, at, error?.code]).toEqual([name, 0, code]);
        await expectForgotten(store, name);
      }
      const { body } = await storeBody(store, { key: 'one', bodyLength: LENGTH, time: 1 });
      const [one] = bodyFiles();
      await storeBody(store, { key: 'two', bodyLength: LENGTH, time: 2 });
      const two = bodyFiles().find((path) => path !== one)!;
      copyFileSync(two, one);
      const { at, error } = await readUntilError(store, 'one', body);
      expect([at, error?.code]).toEqual([0, 'corrupt']);
      await expectForgotten(store, 'one');
      expectBytes(await readAll(store.read((await store.find('two'))[0])), bodyBytes(LENGTH, 2));
    } finally {
      await store.close();
    }
  });

  test('a range that does not touch the damage is right; one that does is an error', async () => {
    const store = await open();
    try {
      const { body } = await storeBody(store, { key: 'k', bodyLength: LENGTH, time: 1 });
      const bytes = readFileSync(bodyFiles()[0]);
      bytes[3 * 65536 + 17] ^= 1;
      writeFileSync(bodyFiles()[0], bytes);
      const [response] = await store.find('k');
      expectBytes(await readAll(store.read(response, 100, 3 * 65536)), body.subarray(100, 3 * 65536));
      expectBytes(await readAll(store.read(response, 4 * 65536)), body.subarray(4 * 65536));
      await expect(readAll(store.read(response, 3 * 65536 + 100, 3 * 65536 + 101))).rejects.toThrow(
        BodyError,
      );
      await expectForgotten(store, 'k');
    } finally {
      await store.close();
    }
  });

  test('a good copy that came since is not dropped with the bad one, and all who share a bad one are', async () => {
    const store = await open();
    try {
      for (const key of ['a', 'b', 'c']) await storeBody(store, { key, bodyLength: LENGTH, time: 1 });
      expect(bodyFiles()).toHaveLength(1);
      const spoil = () => {
        const bytes = readFileSync(bodyFiles()[0]);
        bytes[0] ^= 1;
        writeFileSync(bodyFiles()[0], bytes);
      };
      spoil();
      // The same body comes again: it heals the file for all.
      await storeBody(store, { key: 'd', bodyLength: LENGTH, time: 1 });
      for (const key of ['a', 'b', 'c', 'd']) {
        expectBytes(await readAll(store.read((await store.find(key))[0])), bodyBytes(LENGTH, 1));
      }
      spoil();
      await readUntilError(store, 'b', bodyBytes(LENGTH, 1));
      for (const key of ['a', 'b', 'c', 'd']) await expectForgotten(store, key);
      expect(store.statistics.corrupt).toBe(1);
    } finally {
      await store.close();
    }
  });
});

test('a reader of an old, bad copy does not have the new one dropped', async () => {
  const store = await open();
  try {
    await storeBody(store, { key: 'a', bodyLength: 900_000, time: 1 });
    const [path] = bodyFiles();
    const bytes = readFileSync(path);
    bytes[890_000] ^= 1;
    writeFileSync(path, bytes);
    const reader = store.read((await store.find('a'))[0]);
    await reader.next();
    await storeBody(store, { key: 'b', bodyLength: 900_000, time: 1 });
    await expect(readAll(reader)).rejects.toMatchObject({ code: 'corrupt' });
    await pause(20);
    for (const key of ['a', 'b']) {
      expectBytes(await readAll(store.read((await store.find(key))[0])), bodyBytes(900_000, 1));
    }
  } finally {
    await store.close();
  }
});

describe('a pack', () => {
  test('a flipped bit anywhere costs the entry it is in, and no other', { timeout: 60_000 }, async () => {
    const random = new Random(7);
    for (let round = 0; round < withEffort(10); round++) {
      const store = await open();
      for (let i = 0; i < 5; i++) await storeBody(store, { key: `k${i}`, bodyLength: 1000 * i, time: i });
      await store.close();
      const path = packFiles().at(-1)!;
      const bytes = readFileSync(path);
      bytes[random.below(bytes.length)] ^= 1 << random.below(8);
      writeFileSync(path, bytes);
      const again = await open();
      let lost = 0;
      for (let i = 0; i < 5; i++) {
        const [response] = await again.find(`k${i}`);
        if (response === undefined) lost++;
        else expectBytes(await readAll(again.read(response)), bodyBytes(1000 * i, i));
      }
      expect(lost).toBe(1);
      expect(again.statistics.corrupt).toBe(1);
      await again.close();
      rmSync(folder, { recursive: true });
    }
  });

  test('found damaged by the change that takes it: told once, counted once', async () => {
    const store = await open();
    await storeBody(store, { key: 'a', bodyLength: 100, time: 1 });
    await storeBody(store, { key: 'b', bodyLength: 100, time: 2 });
    await store.close();
    const bytes = readFileSync(packFiles()[0]!);
    bytes[60] ^= 1;
    bytes[bytes.length - 1] ^= 1;
    writeFileSync(packFiles()[0]!, bytes);
    const again = await open();
    const told: string[] = [];
    again.watch((key, change) => told.push(`${change} ${key}`));
    expect(await again.removeKey('a')).toBe(1);
    // Replaced, so it was stored all the time.
    expect((await storeBody(again, { key: 'b', bodyLength: 10, time: 3 })).kept).toBe(true);
    await pause(20);
    expect([told, again.statistics.corrupt]).toEqual([['removed a', 'changed b'], 2]);
    await again.close();
  });

  test('cut off, or missing: what was in it is forgotten when the store is opened', async () => {
    const store = await open();
    await storeBody(store, { key: 'small', bodyLength: 1000, time: 1 });
    await storeBody(store, { key: 'large', bodyLength: 100_000, time: 1 });
    await store.close();
    truncateSync(packFiles()[0], 1100);
    const again = await open();
    expect([...(await keysOf(again))]).toEqual([]);
    expect(again.statistics).toMatchObject({ responses: 0, bytes: 0 });
    await storeBody(again, { key: 'new', bodyLength: 1000, time: 1 });
    await again.close();
    for (const path of packFiles()) rmSync(path);
    const third = await open();
    expect(third.statistics.responses).toBe(0);
    await third.close();
  });
});

test('a damaged store.json, or one of another version, empties the store', async () => {
  const store = await open();
  await storeBody(store, { key: 'a', bodyLength: 100_000, time: 1 });
  await store.close();
  writeFileSync(join(folder, 'store.json'), '{"version":');
  const again = await open();
  expect(again.statistics.responses).toBe(0);
  expect(bodyFiles()).toEqual([]);
  await storeBody(again, { key: 'a', bodyLength: 10, time: 1 });
  expect(await again.find('a')).toHaveLength(1);
  await again.close();
});

describe('a record that cannot be read for a while', () => {
  /**
   * A folder cannot be read as a file, and that is no sign that the file is gone (ENOENT): the disk
   * stutters, as it does without free descriptors.
   */
  async function whileUnreadable(work: (store: DiskStore) => Promise<void>): Promise<void> {
    const before = await open();
    for (const [time, key] of ['a', 'b'].entries()) await storeBody(before, { key, bodyLength: 10, time });
    await before.close();
    const store = await open();
    try {
      const [path] = packFiles();
      renameSync(path!, join(folder, 'pack'));
      mkdirSync(path!);
      await work(store);
      rmdirSync(path!);
      renameSync(join(folder, 'pack'), path!);
    } finally {
      await store.close();
    }
  }
  const response = storedResponse({ key: 'a', bodyLength: 10, time: 0 });

  test.each([
    ['remove', (store: ResponseStore) => store.remove(response)],
    ['removeKey', (store: ResponseStore) => store.removeKey('a')],
  ])('%s takes it all the same, and says so', async (_, remove) => {
    const told: string[] = [];
    await whileUnreadable(async (store) => {
      store.watch((key, change) => told.push(`${change} ${key}`));
      expect(await store.find('a')).toEqual([]);
      expect(await remove(store)).toBe(1);
      expect(await remove(store)).toBe(0);
    });
    expect(told).toEqual(['removed a']);
    const after = await open();
    expect(await after.find('a')).toEqual([]);
    expect(await after.find('b')).toHaveLength(1);
    await after.close();
  });

  test('a store with memory in front counts it, and leaves nothing outdated there', async () => {
    const admission = { admit: () => false, statistics: { admitted: 0, refused: 0, bytes: 0 } };
    await whileUnreadable(async (disk) => {
      const memory = new MemoryStore({ capacityBytes: 1_000_000 });
      // No body may wait for the disk, so what is there becomes outdated by what comes into memory.
      const store = await TieredStore.open(memory, disk, { admission, maxCopyBytes: 5 });
      expect(await store.removeKey('a')).toBe(1);
      expect((await storeBody(store, { key: 'b', bodyLength: 20, time: 7 })).kept).toBe(true);
      await store.settled();
    });
    const after = await open();
    expect(await keysOf(after)).toEqual(new Set());
    await after.close();
  });
});

test('a plain file among the folders of bodies is swept after a crash', async () => {
  const store = await open();
  await storeBody(store, { key: 'a', bodyLength: 100_000, time: 1 });
  await store.close();
  writeFileSync(join(folder, 'bodies', 'zz'), 'x');
  // Left behind by a process that died.
  writeFileSync(join(folder, 'lock'), '{}');
  const again = await open();
  expect(await again.find('a')).toHaveLength(1);
  expect(readdirSync(join(folder, 'bodies'))).not.toContain('zz');
  await again.close();
});
