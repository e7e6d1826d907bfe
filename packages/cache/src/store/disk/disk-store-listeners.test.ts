/**
 * Events that listeners are told, damage included. If a listener throws, the store goes on, log and
 * memory agree, the others are told, and the process is warned.
 */

import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { faults } from '../../../test/store/faulty-files.ts';
import { keysOf, pause, storeBody } from '../../../test/store/stored-responses.ts';
import { DiskStore } from './disk-store.ts';

test('what a listener throws stops nothing', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'bloomery-listeners-'));
  const warnings: Error[] = [];
  const warned = (warning: Error) => warnings.push(warning);
  process.on('warning', warned);
  try {
    const store = await DiskStore.open({ folder, capacityBytes: 2 ** 24 });
    for (const key of ['a', 'b']) await storeBody(store, { key, bodyLength: 10, time: 1 });
    const told: string[] = [];
    store.watch((key) => {
      throw new Error(`no ${key}`);
    });
    store.watch((key, change) => told.push(`${change} ${key}`));
    const results = await Promise.all([
      store.removeKey('a'),
      store.removeKey('b'),
      storeBody(store, { key: 'c', bodyLength: 10, time: 2 }).then(({ kept }) => kept),
    ]);
    expect(results).toEqual([1, 1, true]);
    expect(told.sort()).toEqual(['added c', 'removed a', 'removed b']);
    expect(await keysOf(store)).toEqual(new Set(['c']));
    await store.close();
    const again = await DiskStore.open({ folder, capacityBytes: 2 ** 24 });
    expect(await keysOf(again)).toEqual(new Set(['c']));
    await again.close();
    await pause(1);
    expect(warnings.map(({ message }) => message).sort()).toEqual(['no a', 'no b', 'no c']);
  } finally {
    process.off('warning', warned);
    rmSync(folder, { recursive: true, force: true });
  }
});

test('a damaged entry that goes with its pack before its turn to be dropped: its key is told all the same, once', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'bloomery-listeners-'));
  const options = { folder, capacityBytes: 300_000, inlineBytes: 3000, headCacheBytes: 0 };
  try {
    const before = await DiskStore.open(options);
    const keys: string[] = [];
    while (before.diskBytes < 255_000) {
      keys.push(`k${keys.length}`);
      await storeBody(before, { key: keys.at(-1)!, bodyLength: 2000, time: keys.length });
    }
    await before.close();
    // The last byte of each pack is one of the body of its last record.
    for (const name of readdirSync(join(folder, 'packs'))) {
      const path = join(folder, 'packs', name);
      const bytes = readFileSync(path);
      bytes[bytes.length - 1] ^= 1;
      writeFileSync(path, bytes);
    }
    const store = await DiskStore.open(options);
    const told: string[] = [];
    store.watch((key, change) => told.push(`${change} ${key}`));
    // The log takes its time, until all that is damaged is found and waits for its turn; before it
    // comes who wants room, by which packs are moved.
    let goOn = () => {};
    const found = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    let waited = false;
    faults.decide = (call, path) => {
      if (waited || call !== 'writev' || !path.includes('/index/')) return undefined;
      waited = true;
      return found;
    };
    for (let i = 0; i < keys.length; i += 3) if (store.has(keys[i]!)) void store.removeKey(keys[i]!);
    const large = storeBody(store, { key: 'large', bodyLength: 70_000, time: 1 });
    await Promise.all(keys.map((key) => store.find(key)));
    expect(store.statistics.corrupt).toBeGreaterThan(3);
    goOn();
    await large;
    await pause(20);
    const gone = keys.filter((key) => !store.has(key)).map((key) => `removed ${key}`);
    expect([waited, gone.length > keys.length / 3]).toEqual([true, true]);
    expect(told.filter((what) => what.startsWith('removed')).sort()).toEqual(gone.sort());
    await store.close();
  } finally {
    faults.decide = undefined;
    rmSync(folder, { recursive: true, force: true });
  }
});
