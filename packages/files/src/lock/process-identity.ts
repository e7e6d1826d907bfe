/**
 * Identifies the process behind a number. Numbers are reused, they mean something else in another
 * PID namespace (pid_namespaces(7)), and all of them start again after a reboot. So a process is
 * identified by four facts: the boot of the machine, the namespace, the number in it, and the time
 * at which the process began.
 *
 * Linux has all of them in /proc. Elsewhere the boot is the name of the host, and namespace and
 * beginning are unknown (an empty string).
 */

import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { errorCode } from '../file-error.ts';

/**
 * State of a process of this namespace. `gone` means that there is no such number, or a zombie, or
 * that another process has the number now. `unclear` means that the number exists, and the system
 * does not tell since when.
 */
export type ProcessState = 'same' | 'gone' | 'unclear';

/**
 * Compares a process with an earlier record. `began` is the result of `beginningOf` while the
 * process was alive; empty if it was unknown.
 */
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
 * Start of a process, in ticks since the boot: field 22 of its stat file (proc(5)). The name in
 * field 2 may contain blanks and parentheses. Empty if the system does not tell.
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

/**
 * Whether /proc belongs to this PID namespace. A new namespace may still show the /proc of its
 * parent, whose numbers mean other processes.
 */
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
