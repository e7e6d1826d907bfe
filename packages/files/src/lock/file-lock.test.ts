/**
 * The lock of a single file where the usual form of a lock is impossible, and where something else
 * has its name.
 */

import { execFileSync } from 'node:child_process';
import fs, {
  closeSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { lockFile, lockName } from './file-lock.ts';
import { bootId, pidNamespace } from './process-identity.ts';

let folder: string;
let place: string;
const { chmodSync, linkSync } = fs;
const makeLink = fs.symlinkSync;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bloomery-file-lock-'));
  place = join(folder, 'words.blm');
});
afterEach(() => {
  Object.assign(fs, { chmodSync, linkSync, symlinkSync: makeLink });
  syncBuiltinESMExports();
  rmSync(folder, { recursive: true, force: true });
});

const take = async () => (await lockFile(place, { waitMs: 0 }))!;
const SHORT = /^\d+ \d+ \S+ [0-9a-f]{8}$/;

async function expectShortLock(): Promise<void> {
  const lock = await take();
  expect(readlinkSync(lockName(place))).toMatch(SHORT);
  await expect(take()).rejects.toThrow(`process ${process.pid} has it`);
  lock.release();
}

const refuse = () => {
  throw Object.assign(new Error('EPERM: operation not permitted'), { code: 'EPERM' });
};

test('a file system without hard links: the lock has the short form', async () => {
  fs.linkSync = refuse;
  syncBuiltinESMExports();
  await expectShortLock();
  expect(readdirSync(folder)).toEqual([]);
});

test('a file system without links and modes: the lock is a file of the short form', async () => {
  Object.assign(fs, { linkSync: refuse, symlinkSync: refuse, chmodSync: refuse });
  syncBuiltinESMExports();
  const lock = await take();
  expect(readFileSync(lockName(place), 'utf8')).toMatch(SHORT);
  await expect(take()).rejects.toThrow(`process ${process.pid} has it`);
  lock.release();
  expect(readdirSync(folder)).toEqual([]);
});

test('a full disk: the lock has the short form, which takes no room', async (context) => {
  const disk = join(folder, 'disk');
  mkdirSync(disk);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', disk], { stdio: 'pipe' });
  } catch {
    context.skip('cannot mount a small file system here: it takes root');
  }
  try {
    const filler = openSync(join(disk, 'filler'), 'w');
    expect(() => {
      for (;;) writeSync(filler, Buffer.alloc(4096));
    }).toThrow(/ENOSPC/);
    closeSync(filler);
    place = join(disk, 'words.blm');
    await expectShortLock();
    expect(readdirSync(disk)).toEqual(['filler']);
  } finally {
    execFileSync('umount', [disk]);
  }
});

test('the name of the file may be as long as its lock allows', async () => {
  place = join(folder, 'x'.repeat(255 - '..bloomery-lock'.length));
  const lock = await take();
  expect(readdirSync(folder)).toHaveLength(2);
  lock.release();
  expect(readdirSync(folder)).toEqual([]);
});

test('other users can read who holds it, whatever the umask', async () => {
  const before = process.umask(0o077);
  try {
    const lock = await take();
    expect(lstatSync(lockName(place)).mode & 0o777).toBe(0o644);
    lock.release();
  } finally {
    process.umask(before);
  }
});

test('a folder in which nothing can be made: the error of the system, with the name of the lock', async () => {
  place = join(folder, 'missing', 'words.blm');
  await expect(take()).rejects.toMatchObject({ code: 'ENOENT', path: lockName(place) });
});

describe('what has the name of the lock', () => {
  test('a pipe is respected and not waited for', async () => {
    execFileSync('mkfifo', [lockName(place)]);
    await expect(take()).rejects.toThrow('another process has it');
  });

  test('a file that cannot be understood is free when it has not changed for a second', async () => {
    for (const text of ['', '{"pid":', '{"pid":-1}', 'rubbish', 'null']) {
      writeFileSync(lockName(place), text);
      utimesSync(lockName(place), 1, 1);
      (await take()).release();
      expect(readdirSync(folder)).toEqual([]);
    }
    writeFileSync(lockName(place), '');
    const start = performance.now();
    (await take()).release();
    expect(performance.now() - start).toBeGreaterThan(900);
  });

  test('a link that cannot be understood is respected', async () => {
    symlinkSync('somewhere else', lockName(place));
    await expect(take()).rejects.toThrow('another process has it');
  });

  const record = (fields: object) =>
    JSON.stringify({
      pid: 2 ** 22 + 1,
      began: '1',
      boot: bootId(),
      namespace: pidNamespace(),
      host: hostname(),
      socket: '',
      token: 'ab',
      signs: false,
      ...fields,
    });

  test.each([
    ['another machine', { boot: 'other', host: 'far.example' }, 'process 4194305 on far.example has it'],
    ['another container', { namespace: 'pid:[1]' }, 'process 4194305 of another container has it'],
    [
      'a container before the last boot',
      { boot: 'other', namespace: 'pid:[1]' },
      'process 4194305 of another machine has it',
    ],
  ])(
    'a lock of %s is respected, because nothing tells that its owner is gone',
    async (_, fields, message) => {
      writeFileSync(lockName(place), record(fields));
      utimesSync(lockName(place), 1, 1);
      await expect(take()).rejects.toThrow(message);
    },
  );

  test('a lock of this host before its last boot is free', async () => {
    writeFileSync(lockName(place), record({ boot: 'before', pid: process.pid }));
    (await take()).release();
  });
});

test('what a claimant left that was killed before it had the lock goes with the next stale lock', async () => {
  const left = join(folder, '.bloomery-lock-0123456789abcdef');
  const owner = { pid: process.pid, began: '1', boot: bootId(), namespace: pidNamespace() };
  const stale = JSON.stringify({ ...owner, token: '0123456789abcdef' });
  for (const path of [left, `${left}.sock`]) writeFileSync(path, stale);
  writeFileSync(lockName(place), JSON.stringify(owner));
  utimesSync(left, 1, 1);
  // Too young: its process may be on its way to the lock.
  writeFileSync(join(folder, '.bloomery-lock-1123456789abcdef'), JSON.stringify(owner));
  (await take()).release();
  expect(readdirSync(folder)).toEqual(['.bloomery-lock-1123456789abcdef']);
});
