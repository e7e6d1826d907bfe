/** Bodies whose digest the caller computes: the store takes it, and computes none of its own. */

import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { bodyBytes, readAll, storedResponse } from '../../../test/store/stored-responses.ts';
import { MemoryStore } from '../memory/memory-store.ts';
import type { ResponseStore } from '../response-store.ts';
import { TieredStore } from '../tiered/tiered-store.ts';
import { DiskStore } from './disk-store.ts';

const LENGTH = 700_001;
const ALL = { admit: () => true, statistics: { admitted: 0, refused: 0, bytes: 0 } };

/** Writes a body in pieces, with its digest. Returns how often the store asked for the digest. */
async function write(store: ResponseStore, key: string, length: number | undefined): Promise<number> {
  const body = bodyBytes(LENGTH, 1);
  const hash = createHash('sha256');
  let calls = 0;
  const digest = () => {
    calls++;
    return hash.copy().digest();
  };
  const writer = store.create(key, length, { digest });
  for (let at = 0; at < LENGTH; at += 100_000) {
    const piece = body.subarray(at, at + 100_000);
    hash.update(piece);
    await writer.write(piece);
  }
  expect(await writer.commit(storedResponse({ key, bodyLength: LENGTH, time: 1 }))).toBe(true);
  return calls;
}

test.each(['disk', 'tiered, length known', 'tiered, length unknown'])(
  '%s: the digest is asked for once, and names the file',
  async (kind) => {
    const folder = mkdtempSync(join(tmpdir(), 'bloomery-digest-'));
    try {
      const disk = await DiskStore.open({ folder, capacityBytes: 2 ** 24 });
      const memory = new MemoryStore({ capacityBytes: 2 ** 20, maxBodyBytes: 300_000 });
      const store = kind === 'disk' ? disk : await TieredStore.open(memory, disk, { admission: ALL });
      expect(await write(store, 'a', kind.endsWith('unknown') ? undefined : LENGTH)).toBe(1);
      const hex = createHash('sha256').update(bodyBytes(LENGTH, 1)).digest('hex');
      const files = readdirSync(folder, { recursive: true }).map(String);
      expect(files.some((name) => name.replaceAll('/', '').includes(hex))).toBe(true);
      const [found] = await store.find('a');
      expect(Buffer.from(await readAll(store.read(found!))).equals(bodyBytes(LENGTH, 1))).toBe(true);
      await store.close();
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
);
