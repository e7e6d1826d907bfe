/** The limit of open files, counted in the kernel's own list of them. */

import { mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { faults } from '../../../../test/store/faulty-files.ts';
import { pause } from '../../../../test/store/stored-responses.ts';
import { OpenFiles, type SharedFile } from './open-files.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bloomery-open-'));
});
afterEach(() => {
  faults.decide = undefined;
  rmSync(folder, { recursive: true, force: true });
});

function reallyOpen(): number {
  return readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(folder);
    } catch {
      return false;
    }
  }).length;
}

/** Asks for files 0 to `count`. */
function ask(files: OpenFiles, count: number): SharedFile[] {
  return Array.from({ length: count }, (_, i) => {
    const path = join(folder, String(i));
    writeFileSync(path, 'x');
    return files.acquire(String(i), path);
  });
}

test('a caller that leaves while it waits wakes no other one, and is told', async () => {
  const files = new OpenFiles(2);
  const asked = ask(files, 22);
  await Promise.all([asked[0]!.opening, asked[1]!.opening]);
  for (const file of asked.slice(12)) file.release();
  await expect(asked[12]!.opening).rejects.toMatchObject({ name: 'BodyError', code: 'gone' });
  await pause(20);
  expect([reallyOpen(), files.open]).toEqual([2, 2]);
  // Those who still wait come in their order, each when one goes.
  for (let i = 0; i < 12; i++) {
    await asked[i]!.opening;
    expect(asked.slice(i + 2).every(({ fd }) => fd < 0)).toBe(true);
    asked[i]!.release();
  }
  await pause(20);
  expect([reallyOpen(), files.open]).toEqual([0, 0]);
});

test('nothing is opened for those who left before, and no slot is lost with them', async () => {
  let opened = 0;
  faults.decide = (call, path) => {
    if (call === 'open' && path.startsWith(folder)) opened++;
    return undefined;
  };
  const files = new OpenFiles(1);
  const asked = ask(files, 40);
  opened = 0;
  // The first leaves while his file is being opened, all others but the last while they wait.
  for (const file of asked.slice(0, 39)) file.release();
  await asked[39]!.opening;
  await pause(20);
  expect([opened, reallyOpen(), files.open]).toEqual([2, 1, 1]);
  asked[39]!.release();
  expect(files.open).toBe(0);
});

test('a file that cannot be opened gives its slot to the next', async () => {
  const files = new OpenFiles(1);
  const missing = files.acquire('missing', join(folder, 'missing'));
  const [there] = ask(files, 1);
  await expect(missing.opening).rejects.toMatchObject({ code: 'ENOENT' });
  missing.release();
  await there!.opening;
  expect(files.open).toBe(1);
  there!.release();
  expect(files.open).toBe(0);
});
