/**
 * The folder on disk: made, claimed by one node at a time, refused if it has other files in it, and
 * arranged for the number of workers.
 */

import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { FolderLock } from '@bloomery/files';
import { describe, expect, it } from 'vitest';
import { scratchFolder, startTestNode } from '../../test/node/scratch.ts';
import { claimConfiguredFolder, claimDiskFolder, FolderInUseError } from './claimed-folder.ts';

const folder = scratchFolder();

describe('the folder on disk', () => {
  async function rearranged(place: string, workers: number): Promise<boolean> {
    const claim = await claimDiskFolder(place, workers);
    claim.release();
    return claim.rearranged;
  }

  it('is made, and used by one node at a time', async () => {
    const place = join(folder, 'deep', 'cache');
    const first = await claimDiskFolder(place, 1);
    await expect(claimDiskFolder(place, 1)).rejects.toThrow(FolderInUseError);
    await expect(startTestNode({ disk: place })).rejects.toThrow(
      /is in use by another node \(process \d+ has it open\); choose another one with --disk, or --no-disk/,
    );
    first.release();
    const again = await claimDiskFolder(place, 1);
    expect(again.rearranged).toBe(false);
    again.release();
  });

  it('is told as impossible where none can be made', async () => {
    const blocked = join(folder, 'a-file');
    writeFileSync(blocked, '');
    await expect(claimDiskFolder(join(blocked, 'cache'), 1)).rejects.toThrow(
      /Cannot make the folder .*: ENOTDIR/,
    );
    await expect(claimDiskFolder(blocked, 1)).rejects.toThrow(/Cannot make the folder .*: EEXIST/);
    // Where Node's own way of making folders above a folder never ends.
    if (process.platform === 'linux')
      await expect(claimDiskFolder('/proc/bloomery/cache', 1)).rejects.toThrow(
        /Cannot make the folder .*: ENOENT; choose another one with --disk, or --no-disk/,
      );
  });

  it('is refused when it has other things in it', async () => {
    const place = join(folder, 'home');
    mkdirSync(place);
    writeFileSync(join(place, 'letter.txt'), 'dear');
    await expect(claimDiskFolder(place, 1)).rejects.toThrow(
      /expected an empty one, or .*, got other files in it \(letter.txt\)/,
    );
    expect(readFileSync(join(place, 'letter.txt'), 'utf8')).toBe('dear');
    expect(readdirSync(place)).toEqual(['letter.txt']);
  });

  it.skipIf(process.getuid === undefined).each<readonly [number, RegExp | null]>([
    [0o700, null],
    [0o755, null],
    [0o770, /its group can write in it \(mode 770\).*chmod 700/],
    [0o757, /every user can write in it \(mode 757\).*chmod 700/],
  ])('with mode %o, is warned of if others can write in it', async (mode, expected) => {
    const place = join(folder, `mode-${mode}`);
    mkdirSync(place);
    chmodSync(place, mode);
    const told = await warningsAbout(place);
    if (expected === null) expect(told).toEqual([]);
    else expect(told).toEqual([['disk-exposed', expect.stringMatching(expected)]]);
  });

  it.skipIf(process.getuid?.() !== 0)('is warned of if it belongs to another user', async () => {
    const place = join(folder, 'anothers');
    mkdirSync(place, { mode: 0o700 });
    chownSync(place, 12_345, 12_345);
    expect(await warningsAbout(place)).toEqual([
      ['disk-exposed', expect.stringMatching(/it belongs to user 12345/)],
    ]);
  });

  async function warningsAbout(place: string): Promise<unknown[]> {
    const told: unknown[] = [];
    const claim = await claimConfiguredFolder(
      { disk: { folder: place, bytes: 1e6 }, diskDefaulted: false, workers: 1 },
      { event: (_level, event, fields) => told.push([event, fields?.problem]) },
    );
    claim!.release();
    return told;
  }

  it('begins empty with another number of workers, for keys belong to others then', async () => {
    const place = join(folder, 'workers');
    (await claimDiskFolder(place, 2)).release();
    mkdirSync(join(place, 'worker-1', 'packs'), { recursive: true });
    expect(await rearranged(place, 2)).toBe(false);
    expect(existsSync(join(place, 'worker-1'))).toBe(true);
    // Not under another one's feet, wherever that one lives.
    const other = await FolderLock.take(place);
    await expect(claimDiskFolder(place, 3)).rejects.toThrow(FolderInUseError);
    expect(existsSync(join(place, 'worker-1'))).toBe(true);
    other.release();
    expect(await rearranged(place, 3)).toBe(true);
    expect(existsSync(join(place, 'worker-1'))).toBe(false);
    expect(readdirSync(place)).toEqual(['bloomery-cache.json', 'node-name']);
  });
});
