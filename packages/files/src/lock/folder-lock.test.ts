/**
 * The owner of a folder: seen across containers, released by the kernel, and never replaced while
 * it lives.
 */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { eventually } from '@bloomery/testkit/eventually';
import { buildSync } from 'esbuild';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { FolderLock } from './folder-lock.ts';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const CHILD = `
import { FolderLock } from './folder-lock.ts';
await FolderLock.take(process.argv[2]);
process.stdout.write('taken ' + process.pid);
setInterval(() => {}, 1000);
`;

let scratch: string;
let script: string;
let folder: string;
const children = new Set<ChildProcess>();
beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), 'bloomery-lock-'));
  script = join(scratch, 'child.mjs');
  buildSync({
    stdin: { contents: CHILD, resolveDir: HERE, loader: 'ts' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    outfile: script,
  });
});
afterAll(() => rmSync(scratch, { recursive: true, force: true }));
beforeEach(() => {
  folder = mkdtempSync(join(scratch, 'folder-'));
});
afterEach(() => {
  for (const child of children) child.kill('SIGKILL');
  children.clear();
});

/** A process that has taken the folder. Gives its number as it sees itself. */
async function holder(command: string[]): Promise<{ child: ChildProcess; pid: number }> {
  const child = spawn(command[0]!, [...command.slice(1), process.execPath, script, folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.add(child);
  let said = '';
  child.stdout!.on('data', (text) => {
    said += text;
  });
  await eventually(() => said.startsWith('taken'));
  return { child, pid: Number(said.slice(6)) };
}

async function killed(child: ChildProcess, pid = child.pid!): Promise<void> {
  const over = new Promise((resolve) => child.once('close', resolve));
  process.kill(pid, 'SIGKILL');
  await over;
}

const locks = () => readdirSync(folder).filter((name) => name.startsWith('lock'));
const lock = () => readFileSync(join(folder, 'lock'), 'utf8');

test('a process that lives keeps it; after kill -9 the next one has it at once', async () => {
  const { child, pid } = await holder(['env']);
  await expect(FolderLock.take(folder)).rejects.toThrow(`process ${pid} has it open`);
  // One that hangs lives.
  process.kill(pid, 'SIGSTOP');
  await expect(FolderLock.take(folder)).rejects.toThrow(`process ${pid} has it open`);
  await killed(child, pid);
  const start = performance.now();
  const taken = await FolderLock.take(folder);
  expect(performance.now() - start).toBeLessThan(1000);
  expect(taken.unclean).toBe(true);
  taken.release();
  expect(locks()).toEqual([]);
});

test('a process of another container keeps it, whatever its number is here; when it is killed, the next one has it at once', async (context) => {
  // The first process of a namespace has number 1, which is another process here.
  const command = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc'];
  if (spawnSync(command[0]!, [...command.slice(1), 'true']).status !== 0)
    context.skip('no namespaces here: unshare needs root');
  const { child, pid } = await holder(command);
  expect(pid).toBe(1);
  await expect(FolderLock.take(folder)).rejects.toThrow('process 1 of another container has it open');
  await killed(child);
  let start = 0;
  // The namespace ends a moment after `unshare`.
  const taken = await eventually(() => {
    start = performance.now();
    return FolderLock.take(folder).catch(() => undefined);
  });
  expect(performance.now() - start).toBeLessThan(1000);
  taken.release();
});

test('only the own lock is released', async () => {
  const first = await FolderLock.take(folder);
  const text = lock();
  writeFileSync(join(folder, 'lock'), text.replace(/"token":"\w+"/, '"token":"0123"'));
  const another = lock();
  expect(another).not.toBe(text);
  first.release();
  expect(lock()).toBe(another);
  first.release();
  rmSync(join(folder, 'lock'));
  expect(locks()).toEqual([]);
});

test('of many that find a stale lock, one has it', async () => {
  for (let round = 0; round < 5; round++) {
    writeFileSync(join(folder, 'lock'), 'damaged');
    const results = await Promise.allSettled(Array.from({ length: 8 }, () => FolderLock.take(folder)));
    const taken = results.filter((result) => result.status === 'fulfilled');
    expect(taken).toHaveLength(1);
    taken[0]!.value.release();
    expect(locks()).toEqual([]);
  }
});

test('a folder with a long name', async () => {
  folder = join(folder, 'x'.repeat(120), 'y'.repeat(120));
  mkdirSync(folder, { recursive: true });
  const taken = await FolderLock.take(folder);
  expect(JSON.parse(lock()).socket).not.toBe('');
  await expect(FolderLock.take(folder)).rejects.toThrow(`process ${process.pid} has it open`);
  taken.release();
  expect(locks()).toEqual([]);
});

describe('an owner that cannot be seen', () => {
  // A lock of another machine: its boot is another one, and its socket answers no process here.
  const other = JSON.stringify({
    pid: 1,
    began: '1',
    boot: 'another',
    namespace: 'pid:[1]',
    socket: '',
    token: 'a',
  });
  const write = () => writeFileSync(join(folder, 'lock'), other);

  test('has it as long as it gives signs of life', async () => {
    write();
    const beating = setInterval(write, 50);
    try {
      await expect(FolderLock.take(folder, { silenceMs: 1000 })).rejects.toThrow(
        'process 1 of another machine has it open',
      );
      expect(lock()).toBe(other);
    } finally {
      clearInterval(beating);
    }
  });

  test('has lost it after a silence, at once if that is over', async () => {
    write();
    const start = performance.now();
    const taken = await FolderLock.take(folder, { silenceMs: 300 });
    expect(performance.now() - start).toBeGreaterThan(290);
    taken.release();
    write();
    const before = (Date.now() - 60_000) / 1000;
    utimesSync(join(folder, 'lock'), before, before);
    const again = performance.now();
    (await FolderLock.take(folder)).release();
    expect(performance.now() - again).toBeLessThan(1000);
  });
});

test('holds no file that has no name any more', async (context) => {
  if (!existsSync('/proc/self/fd')) context.skip('no /proc here');
  const taken = await FolderLock.take(folder);
  const open = readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)];
    } catch {
      return [];
    }
  });
  expect(open.filter((path) => path.startsWith(folder))).toEqual([join(folder, 'lock')]);
  taken.release();
});
