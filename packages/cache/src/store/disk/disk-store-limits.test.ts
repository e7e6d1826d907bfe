/**
 * Bounds: bytes, descriptors, the length of a body, the one owner of a folder, a disk that is full.
 */

import { execFileSync, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { until } from '@bloomery/testkit/eventually';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  bodyBytes,
  expectBytes,
  keysOf,
  readAll,
  storeBody,
  storedResponse,
} from '../../../test/store/stored-responses.ts';
import { BodyError } from '../response-store.ts';
import { DiskStore } from './disk-store.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bloomery-limits-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** The files below a folder that this process has open. */
function openBelow(folder: string): string[] {
  const targets = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return ''; // it was closed meanwhile
    }
  });
  return targets.filter((path) => path.startsWith(`${folder}/`));
}

/** Bytes as `du` would count them, without the sizes of folders. */
function bytesIn(path: string): number {
  let bytes = 0;
  for (const item of readdirSync(path, { withFileTypes: true })) {
    const at = join(path, item.name);
    bytes += item.isDirectory() ? bytesIn(at) : statSync(at).size;
  }
  return bytes;
}

test('all files together stay below the capacity, while entries come, are refreshed, and go', async () => {
  const capacityBytes = 3_000_000;
  const store = await DiskStore.open({ folder, capacityBytes });
  for (let i = 0; i < 600; i++) {
    const bodyLength = [0, 700, 9000, 31_000, 47_000, 120_000, 400_000][i % 7];
    await storeBody(store, { key: `k${i % 150}`, bodyLength, time: i });
    const [other] = await store.find(`k${(i * 7) % 150}`);
    if (other !== undefined) await store.refresh(other, { ...other, responseTime: other.responseTime + 1 });
    if (i % 20 === 0) expect(bytesIn(folder)).toBeLessThanOrEqual(capacityBytes);
  }
  expect(store.statistics.evictions).toBeGreaterThan(50);
  // It is full, not merely below.
  expect(store.statistics.bytes).toBeGreaterThan(0.5 * capacityBytes);
  await store.close();
  const smaller = await DiskStore.open({ folder, capacityBytes: 1_000_000 });
  expect(bytesIn(folder)).toBeLessThanOrEqual(1_000_000);
  expect(smaller.statistics.responses).toBeGreaterThan(3);
  await smaller.close();
});

test('what is used stays, what is not goes first', async () => {
  const store = await DiskStore.open({ folder, capacityBytes: 2_000_000 });
  await storeBody(store, { key: 'hot', bodyLength: 20_000, time: 1 });
  for (let i = 0; i < 300; i++) {
    await storeBody(store, { key: `cold${i}`, bodyLength: i % 2 === 0 ? 20_000 : 60_000, time: i });
    if (i % 5 === 0) expect(await store.find('hot'), `after ${i}`).toHaveLength(1);
  }
  expect(await store.find('cold3')).toEqual([]);
  expect(await store.find('cold299')).toHaveLength(1);
  await store.close();
});

test('equal bodies are one file, which goes with the last of them', async () => {
  const store = await DiskStore.open({ folder, capacityBytes: 2 ** 26 });
  const files = () => bytesIn(join(folder, 'bodies'));
  for (const key of ['a', 'b', 'c']) await storeBody(store, { key, bodyLength: 200_000, time: 1 });
  expect(files()).toBeLessThan(201_000);
  await store.removeKey('a');
  await store.removeKey('b');
  await store.close();
  const again = await DiskStore.open({ folder, capacityBytes: 2 ** 26 });
  expectBytes(await readAll(again.read((await again.find('c'))[0])), bodyBytes(200_000, 1));
  await again.removeKey('c');
  await until('the body file is removed', () => files() === 0);
  expect(files()).toBe(0);
  await again.close();
});

test('a store that cannot be opened leaves no descriptor open, and the folder free', async () => {
  const pack = join(folder, 'packs', '00000009');
  await (await DiskStore.open({ folder, capacityBytes: 2 ** 20 })).close();
  mkdirSync(join(pack, 'full'), { recursive: true });
  await expect(DiskStore.open({ folder, capacityBytes: 2 ** 20 })).rejects.toThrow(/directory/);
  await until('its files are closed', () => openBelow(folder).length === 0);
  rmSync(pack, { recursive: true });
  await (await DiskStore.open({ folder, capacityBytes: 2 ** 20 })).close();
});

test('no more descriptors than allowed, and all get their bytes', async () => {
  const store = await DiskStore.open({ folder, capacityBytes: 2 ** 27, openBodies: 4 });
  const before = readdirSync('/proc/self/fd').length;
  let most = 0;
  await Promise.all(
    Array.from({ length: 30 }, async (_, i) => {
      await storeBody(store, { key: `k${i}`, bodyLength: 300_000, time: i, chunk: 50_000 });
      const [response] = await store.find(`k${i}`);
      const readers = [0, 1, 2].map(() => readAll(store.read(response)));
      most = Math.max(most, readdirSync('/proc/self/fd').length);
      for (const bytes of await Promise.all(readers)) expectBytes(bytes, bodyBytes(300_000, i));
    }),
  );
  expect(store.openBodies).toBe(0);
  // Four bodies, the log and the packs, and a directory that is being listed.
  expect(most - before).toBeLessThanOrEqual(4 + 8);
  await store.close();
});

test('a body that is too long is let through: readers get all, nothing is kept, memory is bounded', async () => {
  const store = await DiskStore.open({ folder, capacityBytes: 2 ** 26, maxObjectBytes: 400_000 });
  for (const expected of [5_000_000, undefined]) {
    const writer = store.create('k', expected);
    const body = bodyBytes(5_000_000, 3);
    const read = Promise.all([readAll(writer.read()), readAll(writer.read(450_000, 4_000_000))]);
    for (let at = 0; at < body.length; at += 65_536) await writer.write(body.slice(at, at + 65_536));
    expect(await writer.commit(storedResponse({ key: 'k', bodyLength: body.length, time: 1 }))).toBe(false);
    const [whole, part] = await read;
    expectBytes(whole, body);
    expectBytes(part, body.subarray(450_000, 4_000_000));
    // The beginning is gone by now: who comes is told, before the first byte.
    await expect((async () => writer.read().next())()).rejects.toMatchObject({ code: 'gone' });
  }
  expect(await store.find('k')).toEqual([]);
  expect(store.statistics.refused).toBe(2);
  await until('tmp is empty', () => readdirSync(join(folder, 'tmp')).length === 0);
  expect(readdirSync(join(folder, 'tmp'))).toEqual([]);
  expect(store.diskBytes).toBeLessThan(10_000);
  await store.close();
});

test('a reader that is slower than all others reads on after commit, removal and eviction', async () => {
  const store = await DiskStore.open({ folder, capacityBytes: 4_000_000, maxObjectBytes: 2_000_000 });
  const body = bodyBytes(1_500_000, 9);
  const writer = store.create('k', undefined);
  const slow = writer.read();
  for (let at = 0; at < body.length; at += 50_000) await writer.write(body.slice(at, at + 50_000));
  const first = await slow.next();
  const response = storedResponse({ key: 'k', bodyLength: body.length, time: 1 });
  expect(await writer.commit(response)).toBe(true);
  const stored = store.read(response);
  const second = await stored.next();
  await store.removeKey('k');
  for (let i = 0; i < 40; i++) await storeBody(store, { key: `x${i}`, bodyLength: 500_000, time: i });
  expectBytes(Buffer.concat([first!, await readAll(slow)]), body);
  expectBytes(Buffer.concat([second!, await readAll(stored)]), body);
  await until('all body files are closed', () => store.openBodies === 0);
  expect(store.openBodies).toBe(0);
  await store.close();
});

test('one owner: a second one is refused, the lock of a dead process is not', async () => {
  const store = await DiskStore.open({ folder, capacityBytes: 2 ** 20 });
  await expect(DiskStore.open({ folder, capacityBytes: 2 ** 20 })).rejects.toThrow(
    `process ${process.pid} has it open`,
  );
  await storeBody(store, { key: 'a', bodyLength: 10, time: 1 });
  await store.close();
  expect(existsSync(join(folder, 'lock'))).toBe(false);
  const dead = spawnSync(process.execPath, [
    '-e',
    'process.stdout.write(String(process.pid))',
  ]).stdout.toString();
  const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  for (const lock of [
    `{"pid":${dead},"began":"1","boot":"${boot}"}`,
    `{"pid":${process.pid},"began":"1","boot":"${boot}"}`,
    '{"pid":1,"began":"1","boot":"another"}',
    '{"pi',
    '',
  ]) {
    writeFileSync(join(folder, 'lock'), lock);
    // The machine was off in between.
    utimesSync(join(folder, 'lock'), new Date(0), new Date(0));
    const again = await DiskStore.open({ folder, capacityBytes: 2 ** 20 });
    expect(await again.find('a'), lock).toHaveLength(1);
    await again.close();
  }
  expect(readdirSync(folder).filter((name) => name.startsWith('lock'))).toEqual([]);
});

test('a folder with other things in it is refused and left alone', async () => {
  writeFileSync(join(folder, 'thesis.txt'), 'precious');
  await expect(DiskStore.open({ folder, capacityBytes: 2 ** 20 })).rejects.toThrow('thesis.txt');
  expect(readdirSync(folder)).toEqual(['thesis.txt']);
});

test('what a dead process left behind is swept', async () => {
  const store = await DiskStore.open({ folder, capacityBytes: 2 ** 26 });
  await storeBody(store, { key: 'a', bodyLength: 100_000, time: 1 });
  await store.close();
  const orphan = join(folder, 'bodies', '00', '0'.repeat(64));
  cpSync(join(folder, 'store.json'), orphan, { recursive: true });
  writeFileSync(join(folder, 'tmp', '7'), 'half a body');
  writeFileSync(join(folder, 'packs', '00000099'), 'no record');
  writeFileSync(join(folder, 'lock'), '{"pid":1,"began":"x"');
  const again = await DiskStore.open({ folder, capacityBytes: 2 ** 26 });
  expect(existsSync(orphan)).toBe(false);
  expect(readdirSync(join(folder, 'tmp'))).toEqual([]);
  expect(readdirSync(join(folder, 'packs'))).not.toContain('00000099');
  expectBytes(await readAll(again.read((await again.find('a'))[0])), bodyBytes(100_000, 1));
  await again.close();
});

test('a full disk: the write says so, nothing of it is left, and removals last', async (context) => {
  const mounted = join(folder, 'disk');
  const copy = join(folder, 'copy');
  execFileSync('mkdir', [mounted]);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', mounted], { stdio: 'pipe' });
  } catch (error) {
    context.skip(`cannot mount a small file system here (it takes root): ${(error as Error).message}`);
  }
  try {
    const path = join(mounted, 'store');
    // Twice in its life, so that removals are also of entries in an older log.
    const before = await DiskStore.open({ folder: path, capacityBytes: 2 ** 27 });
    await storeBody(before, { key: 'old', bodyLength: 20_000, time: 1 });
    await before.close();
    const store = await DiskStore.open({ folder: path, capacityBytes: 2 ** 27 });
    await storeBody(store, { key: 'kept', bodyLength: 100_000, time: 1 });
    // Another program takes the room that was free when the store was opened.
    const filler = join(mounted, 'filler');
    spawnSync('sh', ['-c', `cat /dev/zero > ${filler}`]);
    truncateSync(filler, statSync(filler).size - 600_000);
    const writer = store.create('large', undefined);
    const reader = writer.read();
    const following = readAll(reader).catch((error: unknown) => error);
    const failure = await (async () => {
      for (let i = 0; i < 13; i++) await writer.write(bodyBytes(65_536, i));
    })().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(BodyError);
    expect((failure as BodyError).code).toBe('write-failed');
    expect(await following).toMatchObject({ code: 'write-failed' });
    await until('tmp is empty', () => readdirSync(join(path, 'tmp')).length === 0);
    expect(readdirSync(join(path, 'tmp'))).toEqual([]);
    expect(store.openBodies).toBe(0);
    // To the last byte: first with small ones, then from outside.
    for (let i = 0; i < 150; i++) await storeBody(store, { key: `small${i}`, bodyLength: 1000, time: i });
    spawnSync('sh', ['-c', `cat /dev/zero >> ${filler}`]);
    expect((await storeBody(store, { key: 'more', bodyLength: 20_000, time: 1 })).kept).toBe(false);
    spawnSync('sh', ['-c', `cat /dev/zero >> ${filler}`]);
    // More than fit into the rest of the last page of the log. The others must be scratched out.
    // Some have been evicted, because the log found no room.
    const removed = ['old', ...Array.from({ length: 150 }, (_, i) => `small${i}`)];
    let count = 0;
    for (const key of removed) count += await store.removeKey(key);
    expect(count).toBeGreaterThan(60);
    const stored = await keysOf(store);
    expect([...stored].filter((key) => removed.includes(key))).toEqual([]);
    for (const key of stored) expect(await store.find(key)).toHaveLength(1);
    // As if the process had died now.
    cpSync(path, copy, { recursive: true, filter: (from) => !basename(from).startsWith('lock') });
    const again = await DiskStore.open({ folder: copy, capacityBytes: 2 ** 27 });
    for (const key of removed) expect(await again.find(key), key).toEqual([]);
    expect(await keysOf(again)).toEqual(stored);
    await again.close();
    await store.close();
  } finally {
    // Lazily: if the test failed, its store still has files open there.
    spawnSync('umount', ['-l', mounted]);
  }
});

test('who closes a store that is being closed waits as well', async () => {
  const store = await DiskStore.open({ folder, capacityBytes: 2 ** 24 });
  await storeBody(store, { key: 'a', bodyLength: 10, time: 1 });
  void store.close();
  await store.close();
  // The folder is free: the lock is the last thing to go.
  const again = await DiskStore.open({ folder, capacityBytes: 2 ** 24 });
  expect(await keysOf(again)).toEqual(new Set(['a']));
  await again.close();
});
