/**
 * Other processes for the tests of locks: each takes a lock, says so, and holds it until it is told
 * or killed.
 */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';
import { afterAll, afterEach } from 'vitest';

export type Use = 'file' | 'folder';

/**
 * Says `taken PID`; releases the lock when it is told to. With a counter file it adds 1 to it so
 * many times.
 */
const HOLDER = `
import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { FolderLock } from './lock/folder-lock.ts';
import { lockFile } from './lock/file-lock.ts';

const [use, place, counter, times] = process.argv.slice(2);

async function take() {
  if (use === 'file') return lockFile(place, { waitMs: 60_000 });
  for (;;) {
    try {
      return await FolderLock.take(place);
    } catch (error) {
      if (error.code !== 'held') throw error;
      await sleep(3);
    }
  }
}

if (counter === undefined) {
  const lock = await take();
  console.log('taken ' + process.pid);
  process.stdin.once('data', () => {
    lock.release();
    console.log('released');
    process.exit();
  });
} else {
  for (let i = 0; i < Number(times); i++) {
    const lock = await take();
    const value = Number(readFileSync(counter, 'utf8'));
    await sleep(1);
    writeFileSync(counter, String(value + 1));
    // The last time it dies with the lock in its hands.
    if (i === Number(times) - 1) process.kill(process.pid, 'SIGKILL');
    lock.release();
  }
}
`;

const scratch = mkdtempSync(join(tmpdir(), 'bloomery-locks-'));
const script = join(scratch, 'holder.mjs');
buildSync({
  stdin: {
    contents: HOLDER,
    resolveDir: fileURLToPath(new URL('../../src', import.meta.url)),
    loader: 'ts',
  },
  bundle: true,
  platform: 'node',
  format: 'esm',
  outfile: script,
});

const running = new Set<ChildProcess>();
afterEach(async () => {
  await Promise.all([...running].map((child) => killed(child)));
});
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

/** A folder that goes when the tests of the file are over. */
export function scratchFolder(): string {
  return mkdtempSync(join(scratch, 'place-'));
}

export interface Holder {
  readonly child: ChildProcess;
  /** The number of the process as it sees itself. */
  readonly pid: number;
  release(): Promise<void>;
}

/** Starts a process that takes the lock; waits until it has it. */
export async function startHolder(use: Use, place: string, prefix: readonly string[] = []): Promise<Holder> {
  const [command, ...args] = [...prefix, process.execPath, script, use, place];
  const child = start(command, args);
  const lines = createInterface({ input: child.stdout! });
  const [line] = await once(lines, 'line');
  return {
    child,
    pid: Number(/^taken (\d+)$/.exec(line)?.[1]),
    release: async () => {
      child.stdin!.write('\n');
      await once(lines, 'line');
      await once(child, 'close');
    },
  };
}

/**
 * Starts a process that adds 1 to the number in a file so many times, and dies with the lock in its
 * hands.
 */
export async function countAndDie(use: Use, place: string, counter: string, times: number): Promise<void> {
  const child = start(process.execPath, [script, use, place, counter, String(times)]);
  child.stdout!.resume();
  await once(child, 'close');
  if (child.signalCode !== 'SIGKILL') throw new Error(`a counting process ended with code ${child.exitCode}`);
}

/** kill -9, and waits for the end. */
export async function killed(child: ChildProcess): Promise<void> {
  running.delete(child);
  if (child.exitCode !== null || child.signalCode !== null) return;
  const over = once(child, 'close');
  child.kill('SIGKILL');
  await over;
}

/**
 * Runs a command in a PID namespace of its own, as a container does; undefined if that is not
 * allowed here.
 */
export function containerPrefix(): readonly string[] | undefined {
  const prefix = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc'];
  return spawnSync(prefix[0], [...prefix.slice(1), 'true']).status === 0 ? prefix : undefined;
}

function start(command: string, args: readonly string[]): ChildProcess {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  running.add(child);
  return child;
}
