/** A disk that fails under a long body that clients follow. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { faults } from '../../../test/store/faulty-files.ts';
import { bodyBytes, expectBytes, readAll, storedResponse } from '../../../test/store/stored-responses.ts';
import { DiskStore } from '../disk/disk-store.ts';
import { MemoryStore } from '../memory/memory-store.ts';
import { TieredStore } from './tiered-store.ts';

const KEY = 'http://example.org/large';
const body = bodyBytes(3_000_000, 8);
let folder: string;
let store: TieredStore;
let disk: DiskStore;
let memory: MemoryStore;
let told: string[];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'bloomery-failing-'));
  disk = await DiskStore.open({ folder, capacityBytes: 2 ** 26 });
  memory = new MemoryStore({ capacityBytes: 2 ** 22, maxBodyBytes: 100_000 });
  told = [];
  store = await TieredStore.open(memory, disk, {
    admission: { admit: () => true, statistics: { admitted: 0, refused: 0, bytes: 0 } },
    onDiskFull: () => told.push('full'),
    onDiskFailure: () => told.push('broken'),
  });
});
afterEach(async () => {
  faults.decide = undefined;
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

const failWrites = (code: string) => {
  faults.decide = (call, path) => (call === 'writev' && path.includes('/tmp/') ? code : undefined);
};

test.each([
  ['full', 'ENOSPC'],
  ['broken', 'EIO'],
])(
  'the disk is %s in the middle of a body: its readers get every byte, and the node is told',
  async (what, code) => {
    const writer = store.create(KEY, undefined);
    const { spool } = writer;
    spool.attend({ abandoned: (reason) => writer.abort(reason) });
    const slow = writer.read();
    const fast = readAll(writer.read());
    const write = async (to: number): Promise<void> => {
      while (spool.open && writer.length < to) {
        const chunk = body.subarray(writer.length, writer.length + 50_000);
        await writer.write(chunk)?.catch(() => spool.room());
      }
    };
    await write(1_500_000);
    const first = (await slow.next())!;
    expect(spool.joinable).toBe(true);
    failWrites(code);
    // From here on the slow reader is in the way, so it must go on.
    const rest = readAll(slow);
    await write(body.length);
    expect([spool.joinable, told]).toEqual([false, [what]]);
    await writer.endUnkept();
    expectBytes(await fast, body);
    expectBytes(Buffer.concat([first, await rest]), body);
    expect([await store.find(KEY), disk.openBodies]).toEqual([[], 0]);
    expect(memory.inUse).toEqual({ readers: 0, pendingBytes: 0 });
  },
);

test('a body that is only written to be stored fails with the disk', async () => {
  failWrites('ENOSPC');
  const writer = disk.create(KEY, body.length);
  const following = readAll(writer.read()).catch((error: unknown) => error);
  await expect(writer.write(body)).rejects.toMatchObject({ code: 'write-failed' });
  expect(await following).toMatchObject({ code: 'write-failed' });
  expect(await writer.commit(storedResponse({ key: KEY, bodyLength: body.length, time: 1 }))).toBe(false);
});
