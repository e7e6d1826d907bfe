/** A pack that is being deleted, and packs that are closed, are not opened any more. */

import { mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { pause } from '../../../../test/store/stored-responses.ts';
import { Packs } from './packs.ts';

test('a read while a pack is deleted, or after the close, leaves no file open', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'bloomery-packs-'));
  const open = () =>
    readdirSync('/proc/self/fd').filter((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`).startsWith(folder);
      } catch {
        return false;
      }
    }).length;
  const packs = new Packs(folder, 1e6);
  try {
    const { pack } = await packs.append([Buffer.from('abc')]);
    expect(String(await packs.read(pack, 1, 2))).toBe('bc');
    const removed = packs.remove(pack);
    await expect(packs.read(pack, 0, 3)).rejects.toMatchObject({ code: 'ENOENT' });
    await removed;
    await pause(10);
    expect(open()).toBe(0);
    const next = await packs.append([Buffer.from('def')]);
    packs.close();
    await expect(packs.read(next.pack, 0, 3)).rejects.toThrow('expected an open store');
    await pause(10);
    expect(open()).toBe(0);
  } finally {
    packs.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
