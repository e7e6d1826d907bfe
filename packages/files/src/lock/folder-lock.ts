/**
 * One process owns a folder. Two that write the same packs would each overwrite what the other wrote.
 *
 * ```
 * lock              who: process, when it began, boot of the machine, namespace of its number, and a token that nobody else has
 * lock-TOKEN.sock   a socket that this process listens on
 * ```
 * `lock` is made by linking a finished file to its name, so it is never seen half written, and only one of two can succeed. It is stale if its owner is
 * gone. Of what tells that, the first that says something counts:
 *
 * 1. The socket, on the same boot of the same machine. The kernel closes it however the process ends, and a name in a folder is the same in all
 *    containers that share the folder, where process numbers are not: in another namespace (pid_namespaces(7)) the owner has another number here, or that
 *    number is somebody else. A process that hangs still answers, because the kernel does.
 * 2. Its process, in the same namespace: no such number, or one that began at another time. For file systems without sockets.
 * 3. Its sign of life: every 5 s the owner writes its lock anew. If that was 30 s ago (by the clock of the file system), or is not seen for 30 s, it is gone. For
 *    another machine on a network file system, for the time before a reboot, and for containers on a file system without sockets.
 *
 * So who starts after kill -9 waits for nothing, also in another container; only after a reboot in less than 30 s, or where 3 is all there is, it waits.
 *
 * Two that find the same stale lock must not both remove it, or the second removes what the first has just made. So it is removed under a lock of
 * its own, `lock-stale`, after another look. An owner removes its own lock only. One that was stopped for so long that another took the folder finds that out
 * by the token and is told (`lost`).
 *
 * A lock of this very process is a lock: two stores in two workers would be as wrong as two processes.
 * Where it breaks down: between two machines, one of which hangs for half a minute and then goes on writing for up to 5 s.
 */

import { randomBytes } from 'node:crypto';
import {
  closeSync,
  fstatSync,
  linkSync,
  openSync,
  readFile,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  write,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorCode } from '../file-error.ts';
import { isAnswered, LockSocket } from './lock-socket.ts';

export interface FolderLockOptions {
  /** Another process has taken the folder, because this one was stopped for so long: nothing more may be written. */
  readonly lost?: () => void;
  /** An owner that cannot be seen is taken for gone after so long a silence. Default 30 s. */
  readonly silenceMs?: number;
}

interface Owner {
  readonly pid: number;
  readonly began: string;
  readonly boot: string;
  /** Empty: the system has none. */
  readonly namespace: string;
  /** Name of the socket in the folder; empty: it could not be made. */
  readonly socket: string;
}

const SIGN_OF_LIFE_MS = 5_000;
const SILENCE_MS = 30_000;
const ATTEMPTS = 20;

export class FolderLock {
  /** Whether the last owner went without closing. */
  readonly unclean: boolean;
  readonly #path: string;
  readonly #text: string;
  readonly #socket: LockSocket | undefined;
  readonly #fd: number;
  readonly #timer: NodeJS.Timeout;
  readonly #lost: (() => void) | undefined;
  #released = false;

  private constructor(candidate: Candidate, unclean: boolean, lost: (() => void) | undefined) {
    this.unclean = unclean;
    this.#path = join(candidate.folder, LOCK);
    this.#text = candidate.text;
    this.#socket = candidate.socket;
    this.#lost = lost;
    // By the name that stays: a descriptor of a name that is gone looks like a leak to whoever looks for them.
    this.#fd = openSync(this.#path, 'r+');
    this.#timer = setInterval(() => this.#live(), SIGN_OF_LIFE_MS);
    this.#timer.unref();
  }

  /** Rejects if another process has the folder. */
  static async take(folder: string, options: FolderLockOptions = {}): Promise<FolderLock> {
    const { lost, silenceMs = SILENCE_MS } = options;
    const token = randomBytes(8).toString('hex');
    const socket = await LockSocket.listen(folder, `lock-${token}.sock`);
    const owner = {
      pid: process.pid,
      began: beginning(process.pid),
      boot: bootId(),
      namespace: pidNamespace(),
      socket: socket?.name ?? '',
      token,
    };
    const path = join(folder, `lock-${token}`);
    const text = JSON.stringify(owner);
    const candidate: Candidate = { folder, path, text, socket, silenceMs, broken: false };
    try {
      writeFileSync(path, text, { flag: 'wx' });
      const other = await claim(candidate, LOCK);
      if (other === undefined) return new FolderLock(candidate, candidate.broken, lost);
      throw new FolderTaken(folder, `process ${other.pid}${whereOf(other)} has it open`);
    } catch (error) {
      socket?.close();
      throw error;
    } finally {
      rmSync(path, { force: true });
    }
  }

  /** Again is harmless. The lock of somebody else stays. */
  release(): void {
    if (this.#released) return;
    this.#released = true;
    clearInterval(this.#timer);
    closeSync(this.#fd);
    if (readText(this.#path) === this.#text) rmSync(this.#path, { force: true });
    this.#socket?.close();
  }

  #live(): void {
    readFile(this.#path, 'utf8', (error, text) => {
      if (this.#released) return;
      if (error === null && text !== this.#text) {
        clearInterval(this.#timer);
        this.#lost?.();
        return;
      }
      // The same bytes by the descriptor: whoever has the name now, this is our file. It needs no room, and the time is that of the file system.
      write(this.#fd, this.#text, 0, () => {});
    });
  }
}

const LOCK = 'lock';

/** Another process has the folder. */
export class FolderTaken extends Error {
  override readonly name = 'FolderTaken';
  /** Who, in words. */
  readonly who: string;

  constructor(folder: string, who: string) {
    super(`Cannot open the store in ${folder}: ${who}`);
    this.who = who;
  }
}

/** Whether a name in the folder belongs to a lock. */
export function isLockName(name: string): boolean {
  return /^lock(-[0-9a-z.-]+)?$/.test(name);
}

/** Who wants a lock: a file that needs only to be linked. */
interface Candidate {
  readonly folder: string;
  readonly path: string;
  readonly text: string;
  readonly socket: LockSocket | undefined;
  readonly silenceMs: number;
  /** A stale lock was found. */
  broken: boolean;
}

/** Takes a name in the folder, or gives who has it. */
async function claim(candidate: Candidate, name: string): Promise<Owner | undefined> {
  const { folder } = candidate;
  const path = join(folder, name);
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    try {
      linkSync(candidate.path, path);
      return undefined;
    } catch (error) {
      if (errorCode(error) !== 'EEXIST') throw error;
    }
    const text = readText(path);
    // Released a moment ago.
    if (text === undefined) continue;
    const other = parse(text);
    if (other !== undefined && (await isAlive(other, path, candidate))) {
      if (readText(path) === text) return other;
      continue;
    }
    candidate.broken = true;
    const stale = `${name}-stale`;
    const breaking = await claim(candidate, stale);
    if (breaking !== undefined) return breaking;
    if (readText(path) === text) {
      rmSync(path, { force: true });
      if (other !== undefined && other.socket !== '') rmSync(join(folder, other.socket), { force: true });
    }
    rmSync(join(folder, stale), { force: true });
  }
  throw new FolderTaken(folder, 'others are opening it as well');
}

async function isAlive(owner: Owner, path: string, { folder, ...mine }: Candidate): Promise<boolean> {
  if (owner.boot === bootId()) {
    const answered = owner.socket === '' ? undefined : await isAnswered(folder, owner.socket);
    if (answered !== undefined) return answered;
    if (owner.namespace === pidNamespace()) return isRunning(owner);
  }
  return !(await isSilent(path, mine.path, mine.silenceMs));
}

function isRunning({ pid, began }: Owner): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (errorCode(error) === 'ESRCH') return false;
  }
  return began === '' || began === beginning(pid);
}

/** `mine` was written just now: its time is what the file system takes for now. */
async function isSilent(path: string, mine: string, silenceMs: number): Promise<boolean> {
  const last = lastSign(path);
  if (last === undefined || statSync(mine).mtimeMs - last > silenceMs) return true;
  const until = performance.now() + silenceMs;
  while (performance.now() < until) {
    await sleep(Math.min(500, silenceMs / 10));
    if (lastSign(path) !== last) return false;
  }
  return true;
}

/** By a descriptor: a network file system may remember the times of a name, and asks anew when it is opened. */
function lastSign(path: string): number | undefined {
  let fd: number;
  try {
    fd = openSync(path, 'r');
  } catch {
    return undefined;
  }
  try {
    return fstatSync(fd).mtimeMs;
  } finally {
    closeSync(fd);
  }
}

function parse(text: string): Owner | undefined {
  try {
    const { pid, began, boot, namespace = pidNamespace(), socket = '' } = JSON.parse(text);
    if (!(Number.isSafeInteger(pid) && pid > 0)) return undefined;
    return {
      pid,
      began: String(began),
      boot: String(boot),
      namespace: String(namespace),
      socket: /^lock-[0-9a-f]+\.sock$/.test(socket) ? socket : '',
    };
  } catch {
    // Damaged: whoever wrote it linked it whole, so the machine went down since.
    return undefined;
  }
}

function whereOf({ boot, namespace }: Owner): string {
  if (boot !== bootId()) return ' of another machine';
  return namespace === pidNamespace() ? '' : ' of another container';
}

/** When a process began, in ticks since the boot: field 22 of its stat file (proc(5)). The name in field 2 may have blanks. A zombie has ended. */
function beginning(pid: number): string {
  const stat = readText(`/proc/${pid}/stat`) ?? '';
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields[0] === 'Z' || fields[0] === 'X' ? 'ended' : (fields[19] ?? '');
}

function bootId(): string {
  return readText('/proc/sys/kernel/random/boot_id')?.trim() ?? hostname();
}

function pidNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return '';
  }
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
