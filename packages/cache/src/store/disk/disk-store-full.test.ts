/**
 * A file system that others have filled to the last byte while entries must go: what went does not
 * come back.
 */

import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { until } from '@bloomery/testkit/eventually';
import { afterEach, beforeEach, expect, type TestContext, test } from 'vitest';
import { keysOf, pause, storeBody } from '../../../test/store/stored-responses.ts';
import { DiskStore } from './disk-store.ts';

let folder: string;
let mounted: string;
beforeEach((context: TestContext) => {
  folder = mkdtempSync(join(tmpdir(), 'bloomery-full-'));
  mounted = join(folder, 'disk');
  mkdirSync(mounted);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=6m', 'tmpfs', mounted], { stdio: 'pipe' });
  } catch (error) {
    context.skip(`cannot mount a small file system here (it takes root): ${(error as Error).message}`);
  }
});
afterEach(() => {
  // Lazily: if a test failed, its store still has files open there.
  spawnSync('umount', ['-l', mounted]);
  rmSync(folder, { recursive: true, force: true });
});

/** Opens a copy of the folder, as after a crash of the process at this moment. */
async function afterCrash(path: string, capacityBytes: number): Promise<DiskStore> {
  const copy = join(folder, `copy-${basename(path)}`);
  rmSync(copy, { recursive: true, force: true });
  cpSync(path, copy, { recursive: true, filter: (from) => !basename(from).startsWith('lock') });
  return DiskStore.open({ folder: copy, capacityBytes });
}

/**
 * Large bodies with long heads, and between them small entries: to remove these makes garbage of no
 * more than a sixth of a pack.
 */
async function fill(store: DiskStore): Promise<{ large: string[]; small: string[] }> {
  const large: string[] = [];
  const small: string[] = [];
  for (let i = 0; i < 35; i++) {
    large.push(`http://large/${i}`);
    const headers = ['x-long', 'x'.repeat(5_000)];
    await storeBody(store, { key: large[i]!, bodyLength: 100_000, time: i, headers });
    for (let n = 0; n < 4; n++) {
      const key = `http://small/${small.length}`;
      await storeBody(store, { key, bodyLength: 10, time: i });
      small.push(key);
    }
  }
  return { large, small };
}

/**
 * Fills the file system, and the last page of the log: each removal takes 36 bytes of it, until it
 * takes no more, records are scratched out, and entries are evicted.
 */
async function fillUp(store: DiskStore, small: readonly string[]): Promise<void> {
  spawnSync('sh', ['-c', `cat /dev/zero > ${mounted}/filler`]);
  for (const key of small) await store.removeKey(key);
}

test('an entry evicted when the log took no more is gone forever, even if it was to be removed since', async () => {
  const path = join(mounted, 'store');
  const capacityBytes = 4_100_000;
  const store = await DiskStore.open({ folder: path, capacityBytes });
  try {
    const { large, small } = await fill(store);
    expect(store.statistics.evictions).toBe(0);
    await fillUp(store, small);
    await storeBody(store, { key: 'http://new/', bodyLength: 250_000, time: 1 });
    const left = await keysOf(store);
    const evicted = large.filter((key) => !left.has(key));
    expect(evicted.length).toBeGreaterThan(0);
    expect(evicted.length).toBeLessThanOrEqual(store.statistics.evictions);
    // Nothing is stored under it, so there is nothing to remove. It must not come back after that.
    expect(await store.removeKey(evicted[0]!)).toBe(0);
    const again = await afterCrash(path, capacityBytes);
    for (const key of [...evicted, ...small]) expect(await again.find(key), key).toEqual([]);
    expect(await keysOf(again)).toEqual(left);
    await again.close();
  } finally {
    await store.close();
  }
});

test('what the log missed is on the disk as soon as there is room again', async () => {
  const path = join(mounted, 'store');
  const capacityBytes = 16_000_000;
  const store = await DiskStore.open({ folder: path, capacityBytes });
  try {
    const { large, small } = await fill(store);
    await fillUp(store, small);
    rmSync(join(mounted, 'filler'));
    await storeBody(store, { key: 'http://new/', bodyLength: 100, time: 1 });
    let again = await afterCrash(path, capacityBytes);
    // What the log missed is written in the background.
    for (let i = 0; i < 500 && again.statistics.responses !== store.statistics.responses; i++) {
      await again.close();
      await pause(20);
      again = await afterCrash(path, capacityBytes);
    }
    // Those that could only be scratched out are not in the index any more.
    expect(again.statistics.responses).toBe(store.statistics.responses);
    const left = await keysOf(again);
    expect(left).toEqual(await keysOf(store));
    expect(left.has('http://new/')).toBe(true);
    expect(small.filter((key) => left.has(key))).toEqual([]);
    // Some were evicted to make room for the log, and not more than that.
    expect(large.filter((key) => left.has(key)).length).toBeGreaterThan(large.length / 2);
    await again.close();
  } finally {
    await store.close();
  }
});

test('the capacity falls when others fill the volume, and rises a minute after they left', async () => {
  let now = 0;
  const smaller: number[] = [];
  const store = await DiskStore.open({
    folder: join(mounted, 'store'),
    capacityBytes: 4_000_000,
    monotonic: () => now,
    onSmaller: (bytes) => smaller.push(bytes),
  });
  try {
    await fill(store);
    expect([store.statistics.capacityBytes, smaller]).toEqual([4_000_000, []]);
    spawnSync('sh', ['-c', `cat /dev/zero > ${mounted}/filler`]);
    expect((await storeBody(store, { key: 'http://refused/', bodyLength: 20_000, time: 1 })).kept).toBe(
      false,
    );
    expect(store.statistics.capacityBytes).toBeLessThan(3_900_000);
    expect(smaller.at(-1)).toBe(store.statistics.capacityBytes);
    // Room was made for the next one.
    expect((await storeBody(store, { key: 'http://kept/', bodyLength: 20_000, time: 1 })).kept).toBe(true);
    rmSync(join(mounted, 'filler'));
    now = 59_999;
    await storeBody(store, { key: 'http://early/', bodyLength: 100, time: 1 });
    expect(store.statistics.capacityBytes).toBeLessThan(3_900_000);
    now = 60_000;
    await storeBody(store, { key: 'http://later/', bodyLength: 100, time: 1 });
    await until('the volume was measured', () => store.statistics.capacityBytes === 4_000_000);
  } finally {
    await store.close();
  }
});
