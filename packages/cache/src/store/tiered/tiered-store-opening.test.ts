/** The start over a disk with many entries: what it has is known without reading one of them. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { bodyBytes, storeBody, storedResponse } from '../../../test/store/stored-responses.ts';
import { DiskStore } from '../disk/disk-store.ts';
import { MemoryStore } from '../memory/memory-store.ts';
import { TieredStore } from './tiered-store.ts';

const ENTRIES = 20_000;
const NOTHING = { admit: () => false, statistics: { admitted: 0, refused: 0, bytes: 0 } };
const keyOf = (i: number) => `http://example.org/${i}`;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bloomery-opening-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Bytes this process has read, by proc(5). */
function bytesRead(): number {
  return Number(/^rchar: (\d+)$/m.exec(readFileSync('/proc/self/io', 'utf8'))![1]);
}

test(`${ENTRIES} entries on disk: none is read, and all are known`, async () => {
  const filling = await DiskStore.open({ folder, capacityBytes: 2 ** 30 });
  const body = bodyBytes(100, 1);
  for (let i = 0; i < ENTRIES; ) {
    const commits: (Promise<boolean> | boolean)[] = [];
    for (const end = i + 64; i < ENTRIES && i < end; i++) {
      const writer = filling.create(keyOf(i), body.length);
      await writer.write(body);
      commits.push(writer.commit(storedResponse({ key: keyOf(i), bodyLength: body.length, time: i })));
    }
    await Promise.all(commits);
  }
  await filling.close();

  const disk = await DiskStore.open({ folder, capacityBytes: 2 ** 30 });
  let listed = 0;
  const keys = disk.keys.bind(disk);
  disk.keys = async function* () {
    for await (const key of keys()) {
      listed++;
      yield key;
    }
  };
  const before = bytesRead();
  const memory = new MemoryStore({ capacityBytes: 1_000_000 });
  const store = await TieredStore.open(memory, disk, { admission: NOTHING });
  try {
    // Heads and bodies are 8 MB; what is counted here is what the test runner reads meanwhile.
    expect([listed, bytesRead() - before < 1_000_000]).toEqual([0, true]);
    for (let i = 0; i < ENTRIES; i += 997) expect(await store.find(keyOf(i))).toHaveLength(1);
    // A key on disk is known to be there from the first moment: it is written through, and no
    // observer is told of it as new.
    const told: string[] = [];
    store.watch((key, change) => told.push(`${change} ${key}`));
    const { response } = await storeBody(store, { key: keyOf(5), bodyLength: 200, time: 9_999 });
    await storeBody(store, { key: 'http://example.org/new', bodyLength: 200, time: 1 });
    await store.settled();
    expect(told).toEqual([`changed ${keyOf(5)}`, 'added http://example.org/new']);
    expect(await disk.find(keyOf(5))).toEqual([response]);
  } finally {
    await store.close();
  }
});
