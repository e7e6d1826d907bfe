/**
 * One process owns a folder. Two that write the same packs would each overwrite what the other wrote.
 *
 * `lock` says who: process number, when that process began, and which boot of the machine it was (of /proc, where that exists). It is made by linking a
 * finished file to its name, so it is never seen half written, and only one of two can succeed. A lock whose process is gone is stale: it
 * is renamed away, and only who renamed that very lock goes on. A process number that was given out again is told by its beginning.
 *
 * A lock of this very process is a lock: two stores in two workers would be as wrong as two processes.
 * Where it breaks down: a folder shared by two machines over a network file system. The lock of the other machine looks stale.
 */

import { randomBytes } from 'node:crypto';
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorCode } from './file-io.ts';

interface Owner {
  readonly pid: number;
  readonly began: string;
  readonly boot: string;
}

export class FolderLock {
  /** Whether the last owner went without closing. */
  readonly unclean: boolean;
  readonly #path: string;

  private constructor(path: string, unclean: boolean) {
    this.#path = path;
    this.unclean = unclean;
  }

  static take(folder: string): FolderLock {
    const path = join(folder, 'lock');
    const mine = join(folder, `lock-${process.pid}-${randomBytes(4).toString('hex')}`);
    const owner: Owner = { pid: process.pid, began: beginning(process.pid), boot: bootId() };
    writeFileSync(mine, JSON.stringify(owner), { flag: 'wx' });
    let unclean = false;
    try {
      for (let attempt = 0; attempt < 5; attempt++) {
        try {
          linkSync(mine, path);
          return new FolderLock(path, unclean);
        } catch (error) {
          if (errorCode(error) !== 'EEXIST') throw error;
        }
        const text = readText(path);
        if (text === undefined) continue;
        const other = parse(text);
        if (other !== undefined && isAlive(other)) {
          throw new Error(`Cannot open the store in ${folder}: process ${other.pid} has it open`);
        }
        unclean = true;
        putAway(path, `${mine}-stale`, text);
      }
      throw new Error(`Cannot open the store in ${folder}: others are opening it as well`);
    } finally {
      rmSync(mine, { force: true });
    }
  }

  release(): void {
    rmSync(this.#path, { force: true });
  }
}

/** Renames the stale lock away. If it was another one by then, it is put back. */
function putAway(path: string, away: string, stale: string): void {
  try {
    renameSync(path, away);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return;
    throw error;
  }
  if (readText(away) !== stale) linkSync(away, path);
  rmSync(away, { force: true });
}

function isAlive({ pid, began, boot }: Owner): boolean {
  if (boot !== bootId()) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (errorCode(error) === 'ESRCH') return false;
  }
  return began === '' || began === beginning(pid);
}

function parse(text: string): Owner | undefined {
  try {
    const { pid, began, boot } = JSON.parse(text);
    if (Number.isSafeInteger(pid) && pid > 0) return { pid, began: String(began), boot: String(boot) };
  } catch {
    // Damaged: whoever wrote it linked it whole, so the machine went down since.
  }
  return undefined;
}

/** When a process began, in ticks since the boot: field 22 of its stat file (proc(5)). The name in field 2 may have blanks. */
function beginning(pid: number): string {
  const stat = readText(`/proc/${pid}/stat`) ?? '';
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
}

function bootId(): string {
  return readText('/proc/sys/kernel/random/boot_id')?.trim() ?? '';
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
