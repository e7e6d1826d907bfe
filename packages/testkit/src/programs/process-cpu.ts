/**
 * CPU time of another process, in user and in kernel mode, with all its threads. It is read from
 * `/proc/PID/stat`, whose unit is 10 ms on every Linux that Node runs on (`USER_HZ` is part of the
 * kernel's interface). The kernel sums the exact time on the processor and rounds only the result,
 * so a process that runs for some microseconds at a time is counted in full. Other work on the
 * machine does not count.
 */

import { readFileSync } from 'node:fs';

const MS_PER_TICK = 10;
/** The places of utime and stime after the name of the program, which may contain blanks. */
const USER_FIELD = 11;
const SYSTEM_FIELD = 12;

export function processCpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return MS_PER_TICK * (Number(fields[USER_FIELD]) + Number(fields[SYSTEM_FIELD]));
}
