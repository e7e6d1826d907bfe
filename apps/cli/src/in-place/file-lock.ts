/**
 * One writer at a time. Whoever changes a filter file holds `.name.bloomery-lock` beside it, from before it reads until
 * after it has written; two that add at once would each write what they had read, and the later one would undo the earlier.
 *
 * The lock is a symbolic link that points nowhere and whose target names the holder: process, when it started, host. Making
 * one is a single step that fails if there is one already, so no moment exists at which a lock stands there without its
 * holder's name (a file is made first and filled later). Where links are not possible it is a file.
 *
 * A killed process leaves its lock behind. A lock is stale if its process is gone: no such number, a zombie, or a process
 * that started at another time (numbers are given again). Two that find the same stale lock must not both remove it, or
 * the second removes the lock that the first has just taken. So a stale lock is removed only by the holder of
 * another lock, `…-lock-stale`, who looks once more before; that one is a lock like any other, and if its holder is killed
 * within those microseconds, it is removed in the same way under a lock of its own.
 *
 * What it does not do. Whether a process of another host is alive cannot be seen (a directory on a network), and neither is
 * one of another container, which may have the host's name and counts its processes anew: the name of a host has the
 * number of the process namespace behind it (pid_namespaces(7)). Their locks are respected until somebody removes them by
 * hand, and the error says how. Programs other than this one do not look at it.
 */

import { randomBytes } from 'node:crypto';
import { readFileSync, readlinkSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { warn } from '../terminal/warning.ts';
import { UsageError } from '../usage-error.ts';

export interface FileLock {
  /** Lets the next one in. Again is harmless. */
  release(): void;
}

export interface LockOptions {
  /** How long to wait for a holder that is alive. */
  readonly waitMs: number;
  /** Ends the wait without the lock. */
  readonly until?: () => boolean;
}

/**
 * Takes the lock of a file (its real place, no link), waiting if need be; undefined if `until` said so before. Says once
 * on standard error that it waits.
 */
export function lockFile(
  place: string,
  options: LockOptions & { until: () => boolean },
): FileLock | undefined;
export function lockFile(place: string, options: LockOptions): FileLock;
export function lockFile(place: string, { waitMs, until }: LockOptions): FileLock | undefined {
  const path = lockName(place);
  const start = performance.now();
  let told = false;
  for (;;) {
    const lock = tryLock(path);
    if (typeof lock !== 'string') return lock;
    if (until?.()) return undefined;
    const waited = performance.now() - start;
    if (waited >= waitMs) throw busy(place, lock, waitMs);
    if (!told && waited > QUIET_MS) {
      told = true;
      warn(`${place} is being changed by ${describe(lock)}; waiting for it`);
    }
    pause(Math.min(POLL_MS, waitMs - waited));
  }
}

/** The name of the lock of a file. */
export function lockName(place: string): string {
  return join(dirname(place), `.${basename(place)}.bloomery-lock`);
}

/** Lets others work for a while. */
export function pause(milliseconds: number): void {
  Atomics.wait(PAUSE, 0, 0, milliseconds);
}

const POLL_MS = 10;
const QUIET_MS = 500;
const PAUSE = new Int32Array(new SharedArrayBuffer(4));

/** The lock, or who holds it. */
function tryLock(path: string): FileLock | string {
  // Short: file systems keep links of up to 59 bytes without taking room for them.
  const own = `${process.pid} ${startOf(process.pid) ?? '?'} ${ownHost()} ${randomBytes(4).toString('hex')}`;
  for (;;) {
    if (create(path, own)) return { release: () => removeIf(path, own) };
    const holder = read(path);
    if (holder === undefined) continue; // released a moment ago
    if (isAlive(holder)) return holder;
    const breaking = tryLock(`${path}-stale`);
    if (typeof breaking === 'string') return breaking;
    removeIf(path, holder);
    breaking.release();
  }
}

function create(path: string, text: string): boolean {
  try {
    symlinkSync(text, path);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return false;
    // The path in the error is that of the target, which is no file.
    if (code === undefined || !NO_LINKS.includes(code)) throw Object.assign(error as Error, { path });
  }
  try {
    writeFileSync(path, text, { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** What file systems and systems without symbolic links answer. */
const NO_LINKS = ['EPERM', 'ENOSYS', 'EOPNOTSUPP', 'ENOTSUP', 'EINVAL'];

function read(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
  }
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function removeIf(path: string, text: string): void {
  if (read(path) === text) unlinkSync(path);
}

function isAlive(holder: string): boolean {
  const { pid, start, host } = fieldsOf(holder);
  // Not one of ours, or not to be seen from here: then it counts.
  if (!Number.isInteger(pid) || !isHere(host)) return true;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  const since = startOf(pid);
  return since === undefined || start === '?' || since === start;
}

function fieldsOf(holder: string): { pid: number; start: string; host: string } {
  const [, pid, start, host] = /^(\d+) (\S+) (\S+) [0-9a-f]{8}$/.exec(holder) ?? [];
  return { pid: pid === undefined ? Number.NaN : Number(pid), start: start ?? '?', host: host ?? '' };
}

/** The name of this host, and where the system has them the number of the process namespace: `name/4026531836`. */
function ownHost(): string {
  const space = ownNamespace();
  return space === undefined ? hostname() : `${hostname()}/${space}`;
}

/** Whether the processes of a lock can be seen from here. A name alone is of a system without namespaces. */
function isHere(host: string): boolean {
  return host === hostname() || host === ownHost();
}

function ownNamespace(): string | undefined {
  try {
    return /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0];
  } catch {
    return undefined;
  }
}

/** When a process started, in the system's own units, 'gone' for a zombie; undefined where the system does not say. */
function startOf(pid: number): string | undefined {
  let line: string;
  try {
    line = readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch {
    return undefined;
  }
  // proc(5): the state is field 3 and the start field 22; the name, field 2, may hold spaces and parentheses.
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ');
  return fields[0] === 'Z' || fields[0] === 'X' ? 'gone' : fields[19];
}

function describe(holder: string): string {
  const { pid, host } = fieldsOf(holder);
  if (Number.isNaN(pid)) return 'somebody else';
  if (isHere(host)) return `process ${pid}`;
  const [name] = host.split('/');
  return `process ${pid} ${name === hostname() ? 'of another container' : `on ${name}`}`;
}

function busy(place: string, holder: string, waitMs: number): UsageError {
  const { host } = fieldsOf(holder);
  const hint = isHere(host) ? '' : `; if that one is gone, remove ${lockName(place)}`;
  return new UsageError(
    `${place} is being changed by ${describe(holder)} and was not free within ${waitMs / 1000} s; ` +
      `nothing was changed, try again later or with a longer --wait${hint}`,
  );
}
