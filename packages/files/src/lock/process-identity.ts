/**
 * Which process is meant by a number. Numbers are given again, they mean something else in another PID namespace
 * (pid_namespaces(7)), and all of them start again with the machine. So a process is named by four facts: the boot of the
 * machine, the namespace, the number in it, and the time at which the process began.
 *
 * Linux tells all of them in /proc. Elsewhere the boot is the name of the host, and namespace and beginning are unknown
 * (an empty string).
 */

import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { errorCode } from '../file-error.ts';

/**
 * What became of a process of this namespace. `gone`: no such number, a zombie, or the number is another process's now.
 * `unclear`: the number exists, and the system does not tell since when.
 */
export type ProcessState = 'same' | 'gone' | 'unclear';

/** `began` is what `beginningOf` gave when the process was alive; empty if it was unknown. */
export function processState(pid: number, began: string): ProcessState {
  if (!exists(pid)) return 'gone';
  const now = beginningOf(pid);
  if (now === ENDED) return 'gone';
  // It may have ended between the two looks.
  if (now === '') return exists(pid) ? 'unclear' : 'gone';
  if (began === '') return 'unclear';
  return now === began ? 'same' : 'gone';
}

/**
 * When a process began, in ticks since the boot: field 22 of its stat file (proc(5)). The name in field 2 may contain
 * blanks and parentheses. Empty if the system does not tell.
 */
export function beginningOf(pid: number): string {
  if (!isOurProc()) return '';
  const stat = textOf(`/proc/${pid}/stat`) ?? '';
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields[0] === 'Z' || fields[0] === 'X' ? ENDED : (fields[19] ?? '');
}

export function bootId(): string {
  return textOf('/proc/sys/kernel/random/boot_id')?.trim() ?? hostname();
}

/** For example `pid:[4026531836]`. Empty if the system has none. */
export function pidNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return '';
  }
}

const ENDED = 'ended';

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) !== 'ESRCH';
  }
}

/** False in a new PID namespace that still shows the /proc of the one above: its numbers are other processes. */
function isOurProc(): boolean {
  try {
    return readlinkSync('/proc/self') === String(process.pid);
  } catch {
    return false;
  }
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return undefined;
  }
}
