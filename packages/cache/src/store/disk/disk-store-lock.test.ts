/** A store whose folder another process has taken: it finds that out, and writes nothing more. */

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '@bloomery/testkit/eventually';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { storeBody } from '../../../test/store/stored-responses.ts';
import { DiskStore } from './disk-store.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bloomery-disk-lock-'));
});
afterEach(() => {
  vi.useRealTimers();
  rmSync(folder, { recursive: true, force: true });
});

test('an owner that was silent for too long finds out by itself, and writes nothing more', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const store = await DiskStore.open({ folder, capacityBytes: 2 ** 20 });
  await storeBody(store, { key: 'a', bodyLength: 10, time: 1 });
  expect(await store.find('a')).toHaveLength(1);
  // Another has taken it, as after a silence of this one.
  const other = JSON.stringify({
    pid: 1,
    began: '1',
    boot: 'another',
    namespace: 'pid:[1]',
    socket: '',
    token: 'a',
  });
  writeFileSync(join(folder, 'lock'), other);
  vi.advanceTimersByTime(5_000);
  vi.useRealTimers();
  await until('the owner finds out', async () => (await store.find('a')).length === 0);
  expect(await store.find('a')).toEqual([]);
  await expect(storeBody(store, { key: 'b', bodyLength: 10, time: 1 })).rejects.toThrow(
    'another process has taken its folder',
  );
  await expect(store.removeKey('a')).rejects.toThrow('another process has taken its folder');
  await store.close();
  expect(readFileSync(join(folder, 'lock'), 'utf8')).toBe(other);
  expect(existsSync(join(folder, 'index', 'snapshot-00000002'))).toBe(false);
});
