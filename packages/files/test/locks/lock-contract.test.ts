/**
 * The contract of the lock, for a single file and for a folder: one owner at a time, given back by
 * the kernel when the owner dies, never taken from an owner that lives, and respected across
 * versions.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@bloomery/testkit/eventually';
import { beforeEach, describe, expect, test } from 'vitest';
import { lockFile } from '../../src/lock/file-lock.ts';
import { FolderLock } from '../../src/lock/folder-lock.ts';
import { beginningOf, bootId, pidNamespace } from '../../src/lock/process-identity.ts';
import { containerPrefix, countAndDie, killed, scratchFolder, startHolder, type Use } from './lock-holder.ts';

interface LockUse {
  readonly use: Use;
  /** The place in a folder that is locked. */
  readonly placeIn: (folder: string) => string;
  readonly lockIn: (folder: string) => string;
  readonly take: (place: string) => Promise<{ release(): void } | undefined>;
  /** A lock as version 0.1.0 wrote it. */
  readonly writeOld: (path: string, owner: { pid: number; began: string }) => void;
}

const USES: readonly LockUse[] = [
  {
    use: 'file',
    placeIn: (folder) => join(folder, 'words.blm'),
    lockIn: (folder) => join(folder, '.words.blm.bloomery-lock'),
    take: (place) => lockFile(place, { waitMs: 0 }),
    writeOld: (path, { pid, began }) => {
      const space = /\d+/.exec(pidNamespace())?.[0];
      const host = space === undefined ? hostname() : `${hostname()}/${space}`;
      symlinkSync(`${pid} ${began || '?'} ${host} 01234567`, path);
    },
  },
  {
    use: 'folder',
    placeIn: (folder) => folder,
    lockIn: (folder) => join(folder, 'lock'),
    take: (place) => FolderLock.take(place),
    writeOld: (path, { pid, began }) => {
      const [boot, namespace] = [bootId(), pidNamespace()];
      writeFileSync(path, JSON.stringify({ pid, began, boot, namespace, socket: '', token: 'ab' }));
    },
  },
];

describe.each(USES)('the lock of a $use', ({ use, placeIn, lockIn, take, writeOld }) => {
  let folder: string;
  let place: string;
  beforeEach(() => {
    folder = scratchFolder();
    place = placeIn(folder);
  });
  const isHeldBy = (pid: number, where = '') =>
    expect(take(place)).rejects.toMatchObject({
      code: 'held',
      message: expect.stringContaining(`process ${pid}${where} has it`),
    });
  const takeAndRelease = async () => {
    (await take(place))!.release();
    expect(readdirSync(folder)).toEqual([]);
  };

  test('is had by one process at a time, and by the next when it is released', async () => {
    const { pid, release } = await startHolder(use, place);
    await isHeldBy(pid);
    await release();
    await takeAndRelease();
  });

  test('is had once within a process', async () => {
    const first = (await take(place))!;
    await isHeldBy(process.pid);
    first.release();
    first.release();
    await takeAndRelease();
  });

  test('is free after kill -9 of its holder', async () => {
    const { child } = await startHolder(use, place);
    await killed(child);
    expect(readdirSync(folder)).toHaveLength(2); // the lock and its socket
    await takeAndRelease();
  });

  test('stays with a holder that was stopped', async () => {
    const { child, pid, release } = await startHolder(use, place);
    child.kill('SIGSTOP');
    await eventually(() => /\) [Tt] /.test(readFileSync(`/proc/${pid}/stat`, 'latin1')));
    await isHeldBy(pid);
    child.kill('SIGCONT');
    await release();
    await takeAndRelease();
  });

  test('is free if the number of its holder is another process now', async () => {
    const { child, pid } = await startHolder(use, place);
    const text = readFileSync(lockIn(folder), 'utf8');
    await killed(child);
    const other = spawn('sleep', ['60']);
    await once(other, 'spawn');
    try {
      const stolen = text
        .replace(`"pid":${pid}`, `"pid":${other.pid}`)
        .replace(/"socket":"[^"]+"/, '"socket":""');
      expect(stolen).not.toBe(text);
      writeFileSync(lockIn(folder), stolen);
      await takeAndRelease();
      // The same number with its own beginning is a holder that lives.
      writeFileSync(lockIn(folder), stolen.replace(/"began":"\d+"/, `"began":"${beginningOf(other.pid!)}"`));
      await isHeldBy(other.pid!);
    } finally {
      await killed(other);
    }
    await takeAndRelease();
  });

  test('of another container stays with its holder, and is free when that is killed', async (context) => {
    const prefix = containerPrefix();
    if (prefix === undefined) context.skip('no namespaces here: unshare needs root');
    const { child, pid } = await startHolder(use, place, prefix);
    expect(pid).toBe(1);
    await isHeldBy(1, ' of another container');
    await killed(child);
    // The namespace ends a moment after `unshare`.
    const lock = await eventually(() => take(place).catch(() => undefined));
    lock.release();
  });

  test('that version 0.1.0 left is free if its holder is gone, and respected if it lives', async () => {
    const other = spawn('sleep', ['60']);
    await once(other, 'spawn');
    const owner = { pid: other.pid!, began: beginningOf(other.pid!) };
    writeOld(lockIn(folder), owner);
    await isHeldBy(owner.pid);
    await killed(other);
    await takeAndRelease();
    // The machine has given the number to this process since.
    writeOld(lockIn(folder), { pid: process.pid, began: '1' });
    await takeAndRelease();
  });

  test('is respected by version 0.1.0', async () => {
    const lock = (await take(place))!;
    const text = readFileSync(lockIn(folder), 'utf8');
    // The command respected what it did not understand, and understood nothing but this.
    expect(text).not.toMatch(/^(\d+) (\S+) (\S+) [0-9a-f]{8}$/);
    // The cache understood these fields.
    const { pid, began, boot, namespace, socket } = JSON.parse(text);
    expect({ pid, began, boot, namespace }).toEqual({
      pid: process.pid,
      began: beginningOf(process.pid),
      boot: bootId(),
      namespace: pidNamespace(),
    });
    if (use === 'folder') expect(socket).toMatch(/^lock-[0-9a-f]+\.sock$/);
    lock.release();
  });

  test('lets no update be lost, although every holder dies with it at last', async () => {
    const counter = join(scratchFolder(), 'counter');
    writeFileSync(counter, '0');
    await Promise.all(Array.from({ length: 4 }, () => countAndDie(use, place, counter, 12)));
    expect(readFileSync(counter, 'utf8')).toBe('48');
    await takeAndRelease();
  });

  test('of many that find it stale goes to one', async () => {
    for (let round = 0; round < 10; round++) {
      writeOld(lockIn(folder), { pid: process.pid, began: '1' });
      const results = await Promise.allSettled(Array.from({ length: 8 }, () => take(place)));
      const taken = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value!] : []));
      expect(taken).toHaveLength(1);
      taken[0].release();
      expect(readdirSync(folder)).toEqual([]);
    }
  });
});
